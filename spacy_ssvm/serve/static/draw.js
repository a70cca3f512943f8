/** Drawings of a layer: words with labels under them, spans, sentence starts, and trees as displaCy draws them. */

const SVG = "http://www.w3.org/2000/svg";
const WORD_GAP = 34, CHARACTER = 8.6, MIN_WIDTH = 52, LEVEL = 34, TIP = 5, UNDER = 46;

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  return fill(made, attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value == null) continue;
    made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

/** c0 for what is doubtful to c4 for what is certain. */
const shade = (item) => `c${Math.min(4, Math.floor(item.confidence * 5))}`;

export function certainty(item, hasProbabilities) {
  if (item.score == null) return item.confidence >= 1 ? "nothing else is possible" : "no score";
  return hasProbabilities ? `probability ${(100 * item.score).toFixed(1)} %` : `margin ${item.score.toFixed(2)}`;
}

function described(item, component) {
  return `${certainty(item, component.has_probabilities)}${item.is_taught ? ", taught" : ""}`;
}

/** The words of a text as a list to choose from; `of` maps the start of a word to its item, if labels stand under it. */
function wordList(analysis, layer, label) {
  const under = layer.kind !== "entities" && layer.kind !== "sentences";
  return element("div", {
    class: under ? "words under" : "words",
    role: "listbox",
    "aria-multiselectable": "true",
    "aria-orientation": "horizontal",
    "aria-label": label,
  });
}

function wordElement(word, number, classes, spoken, ...children) {
  return element(
    "span",
    { role: "option", "aria-selected": "false", tabindex: "-1", class: classes, "data-word": number, "aria-label": spoken },
    ...children,
  );
}

function gapBefore(analysis, number) {
  const previous = analysis.words[number - 1];
  return previous ? slice(analysis.text, previous.end, analysis.words[number].start) : "";
}

/** Characters of a text as the server counts them, which are those of Unicode. */
export function slice(text, start, end) {
  return Array.from(text).slice(start, end).join("");
}

export function drawEntities(analysis, layer, component) {
  const list = wordList(analysis, layer, "Words. Arrow keys move, with Shift they select several, Enter asks why.");
  let open = null;
  let around = list;
  analysis.words.forEach((word, number) => {
    if (open && word.start >= open.end) {
      around.append(element("span", { class: "tag", "aria-hidden": "true" }, open.label));
      around = list;
      open = null;
    }
    const gap = gapBefore(analysis, number);
    if (gap) around.append(gap);
    const item = layer.items.find((other) => other.start === word.start);
    if (item) {
      open = item;
      around = element("span", {
        role: "group",
        class: `entity ${shade(item)}${item.is_taught ? " taught" : ""}`,
        "aria-label": `${item.label}, ${described(item, component)}`,
        title: described(item, component),
      });
      list.append(around);
    }
    const spoken = open ? `${word.text}, ${open.label}` : word.text;
    around.append(wordElement(word, number, "word", spoken, word.text));
  });
  if (open) around.append(element("span", { class: "tag", "aria-hidden": "true" }, open.label));
  return list;
}

export function drawTags(analysis, layer, component) {
  const list = wordList(analysis, layer, "Words with their labels. Arrow keys move, Enter asks why.");
  const items = new Map(layer.items.map((item) => [item.start, item]));
  analysis.words.forEach((word, number) => {
    if (word.is_space) {
      if (word.text.includes("\n")) list.append(element("br"));
      return;
    }
    const item = items.get(word.start);
    const tag = item && element("span", { class: `tag ${shade(item)}` }, item.label || "–");
    const spoken = item ? `${word.text}: ${item.label}, ${described(item, component)}` : word.text;
    const drawn = wordElement(word, number, `word${item?.is_taught ? " taught" : ""}`, spoken, word.text, tag);
    if (item) drawn.title = described(item, component);
    list.append(drawn, " ");
  });
  return list;
}

export function drawSentences(analysis, layer, component) {
  const list = wordList(analysis, layer, "Words. Arrow keys move, Enter asks why a sentence starts there.");
  const items = new Map(layer.items.map((item) => [item.start, item]));
  analysis.words.forEach((word, number) => {
    const gap = gapBefore(analysis, number);
    if (gap) list.append(gap);
    const item = items.get(word.start);
    const classes = item ? `word start ${shade(item)}${item.is_taught ? " taught" : ""}` : "word";
    const spoken = item ? `${word.text}, starts a sentence, ${described(item, component)}` : word.text;
    const drawn = wordElement(word, number, classes, spoken, word.text);
    if (item) drawn.title = described(item, component);
    list.append(drawn);
  });
  return list;
}

export function drawTrees(analysis, layer, component, tags) {
  const sentences = new Map();
  analysis.words.forEach((word, number) => {
    if (word.is_space) return;
    if (!sentences.has(word.sentence)) sentences.set(word.sentence, []);
    sentences.get(word.sentence).push({ ...word, number });
  });
  const drawn = [...sentences.values()].map((words, number) => tree(words, number, layer, component, tags));
  return element("div", {}, ...drawn);
}

function tree(words, number, layer, component, tags) {
  const places = new Map();
  let x = 10;
  words.forEach((word, place) => {
    const width = Math.max(MIN_WIDTH, Array.from(word.text).length * CHARACTER) + WORD_GAP;
    places.set(word.start, { ...word, place, x: x + width / 2, width });
    x += width;
  });
  const items = layer.items.filter((item) => places.has(item.start) && places.has(item.head));
  const arcs = items.filter((item) => item.head !== item.start).map((item) => {
    const [left, right] = [places.get(item.start), places.get(item.head)].sort((a, b) => a.place - b.place);
    return { item, left, right, level: 1 };
  });
  arcs.sort((a, b) => a.right.place - a.left.place - (b.right.place - b.left.place));
  arcs.forEach((arc, at) => {
    const inside = arcs.slice(0, at).filter((o) => o.left.place < arc.right.place && arc.left.place < o.right.place);
    arc.level = 1 + Math.max(0, ...inside.map((other) => other.level));
  });
  const levels = Math.max(1, ...arcs.map((arc) => arc.level));
  const base = levels * LEVEL + 14;
  const figure = svg("svg", {
    width: Math.ceil(x + 10),
    height: base + UNDER,
    role: "group",
    "aria-label": `Tree of sentence ${number + 1}`,
  });
  const roots = new Map(items.filter((item) => item.head === item.start).map((item) => [item.start, item]));
  for (const place of places.values()) figure.append(node(place, base, roots.get(place.start), component, tags));
  for (const arc of arcs) figure.append(arcOf(arc, base, places, component));
  return element(
    "div",
    { class: "tree", tabindex: "0", role: "region", "aria-label": `Sentence ${number + 1}, scrolls sideways` },
    figure,
  );
}

function node(place, base, root, component, tags) {
  const under = root ? `${root.label}${root.is_taught ? " ✓" : ""}` : tags.get(place.start) ?? "";
  const spoken = root ? `${place.text}, root, ${described(root, component)}` : place.text;
  return svg(
    "g",
    { class: "node", role: "button", tabindex: "0", "data-word": place.number, "aria-label": spoken },
    svg("rect", { x: place.x - place.width / 2 + 6, y: base + 4, width: place.width - 12, height: 38, rx: 4 }),
    svg("text", { x: place.x, y: base + 20 }, place.text),
    svg("text", { x: place.x, y: base + 37, class: "tag" }, under),
  );
}

function arcOf({ item, left, right, level }, base, places, component) {
  const [dependent, head] = [places.get(item.start), places.get(item.head)];
  const shift = (place) => {
    // Ends of arcs of one word stand beside each other.
    const other = place === left ? right : left;
    return place.x + (other.place > place.place ? 1 : -1) * (place === dependent ? 3 : 9);
  };
  const [x1, x2] = [shift(left), shift(right)];
  const top = base - level * LEVEL;
  const round = Math.min(16, (x2 - x1) / 2);
  const path = `M${x1},${base} V${top + round} Q${x1},${top} ${x1 + round},${top} H${x2 - round} Q${x2},${top} ${x2},${
    top + round
  } V${base}`;
  const tip = shift(dependent);
  const width = Array.from(item.label).length * 7 + 8;
  const middle = (x1 + x2) / 2;
  return svg(
    "g",
    {
      class: `arc ${shade(item)}${item.is_taught ? " taught" : ""}`,
      role: "button",
      tabindex: "0",
      "data-arc": dependent.number,
      "aria-label": `${item.label} of ${head.text}: ${dependent.text}, ${described(item, component)}`,
    },
    svg("title", {}, `${item.label}: ${described(item, component)}`),
    svg("path", { d: path }),
    svg("path", { d: path, class: "reach" }),
    svg("path", { class: "tip", d: `M${tip - TIP},${base - TIP - 1} h${2 * TIP} L${tip},${base + 3} z` }),
    svg("rect", { class: "relation-back", x: middle - width / 2, y: top - 9, width, height: 17, rx: 3 }),
    svg("text", { class: "relation", x: middle, y: top + 4 }, `${item.label}${item.is_taught ? " ✓" : ""}`),
  );
}
