/** The page: which text and which component are shown, what is selected, and what is asked and taught about it. */

import { get, newId, post } from "./api.js";
import { certainty, drawEntities, drawSentences, drawTags, drawTrees, element, slice } from "./draw.js";

const by = (id) => document.getElementById(id);
const DRAWN = { entities: drawEntities, sentences: drawSentences, arcs: drawTrees };
const NAMES = {
  entities: "Entities", tags: "Tags", morphology: "Morphology", lemmas: "Lemmas", sentences: "Sentences", arcs: "Trees",
};
const HINTS = {
  entities: "Select words with the mouse, or with Shift and the arrow keys, and give them a label, old or new.",
  tags: "Choose a word to ask why it has its tag, or to give it another one.",
  morphology: "Choose a word to ask why it has its label, or to give it another one.",
  lemmas: "Choose a word to ask why it has its lemma, or to give it another one.",
  sentences: "Choose a word, and teach whether a sentence starts there.",
  arcs: "Choose an arc or a word, and then another head or another label.",
};

const MAX_LINES = 6; // Of what has changed in a text.

let state = null;
let analysis = null;
let shown = null; // The name of the component that is shown.
let selection = null; // { start, end, label, head, item }

const component = () => state.components.find((other) => other.name === shown);
const layer = () => analysis?.layers.find((other) => other.component === shown);

// Messages

function say(text, isError = false) {
  const status = by("status");
  status.textContent = text;
  status.classList.toggle("error", isError);
}

/** What a component warns of where it learns. */
function note(messages) {
  by("notes").replaceChildren(...messages.map((message) => element("p", {}, message)));
}

let running = 0;

/** Runs what a button asks for; errors are shown, and the page goes on. */
function guarded(action) {
  return async (...given) => {
    running += 1;
    document.body.setAttribute("aria-busy", "true");
    try {
      await action(...given);
    } catch (error) {
      say(error.message, true);
    } finally {
      running -= 1;
      if (!running) document.body.removeAttribute("aria-busy");
    }
  };
}

// What is shown

async function refresh() {
  state = await get("api/state");
  by("pipeline").textContent = state.pipeline;
  shown ??= (state.components.find((other) => other.kind === "entities") ?? state.components[0]).name;
  drawTabs();
  drawFigures();
}

function drawTabs() {
  by("tabs").replaceChildren(
    ...state.components.map((other) => {
      const chosen = other.name === shown;
      const tab = element(
        "button",
        { type: "button", role: "tab", id: `tab-${other.name}`, "aria-selected": String(chosen), tabindex: chosen ? "0" : "-1", "aria-controls": "panel" },
        sameKind(other) ? `${NAMES[other.kind]} (${other.name})` : NAMES[other.kind],
      );
      tab.addEventListener("click", () => show(other.name));
      return tab;
    }),
  );
  by("panel").setAttribute("aria-labelledby", `tab-${shown}`);
  by("hint").textContent = HINTS[component().kind];
  by("none").hidden = component().kind !== "entities";
  by("head-field").hidden = component().kind !== "arcs";
  const options = component().labels.map((label) => element("option", { value: label }));
  by("labels").replaceChildren(...options);
}

const sameKind = (one) => state.components.some((other) => other !== one && other.kind === one.kind);

by("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const names = state.components.map((other) => other.name);
  show(names[(names.indexOf(shown) + step + names.length) % names.length]);
  by(`tab-${shown}`).focus();
});

function show(name) {
  shown = name;
  select(null);
  by("ranked").replaceChildren();
  drawTabs();
  draw();
}

function draw() {
  const panel = by("panel");
  by("legend").hidden = !analysis;
  if (!analysis) return;
  by("place").textContent = `text ${analysis.number} of ${state.n_texts}`;
  const of = layer();
  const tagLayer = analysis.layers.find((other) => other.kind === "tags") ?? analysis.layers.find((other) => other.kind === "morphology");
  const tags = new Map((tagLayer?.items ?? []).map((item) => [item.start, item.label]));
  const drawn = (DRAWN[of.kind] ?? drawTags)(analysis, of, component(), tags);
  const missed = of.missed.map((item) =>
    element("p", { class: "missed" }, `Taught, but not predicted: ${phrase(item)}`));
  panel.replaceChildren(drawn, ...missed);
  drawn.querySelector("[data-word]")?.setAttribute("tabindex", "0");
  by("accept").textContent = of.is_accepted ? "Accepted; next" : "All right, next";
}

function phrase(item) {
  const text = slice(analysis.text, item.start, item.end);
  if (!item.label) return `${text} → no entity`;
  if (item.head == null || item.head === item.start) return `${text} → ${item.label}`;
  return `${text} → ${item.label} of ${wordAt(item.head)?.text}`;
}

const wordAt = (start) => analysis.words.find((word) => word.start <= start && start < word.end);

function drawFigures() {
  const one = component();
  const percent = (value) => (value == null ? "–" : `${(100 * value).toFixed(1)} %`);
  const rows = [
    ["Corrections", String(state.n_corrections)],
    ["Texts accepted", `${one.n_accepted}, ${one.n_right} of them right from the start`],
    ["Right before correction", `${percent(one.accuracy)}; the last 20: ${percent(one.recent)}`],
    ["Pipeline", state.is_saved ? "saved" : "not saved since the last correction"],
  ];
  by("figures").replaceChildren(
    element("dl", {}, ...rows.flatMap(([term, value]) => [element("dt", {}, term), element("dd", {}, value)])),
  );
}

async function open(document) {
  analysis = await get(`api/texts/${document}`);
  select(null);
  by("ranked").replaceChildren();
  draw();
}

async function openNumber(number) {
  const { texts } = await get("api/texts", { offset: Math.max(0, number - 1), limit: 1 });
  if (!texts.length) throw new Error("there is no such text");
  await open(texts[0].document);
  say("");
}

// Selection

function select(found) {
  selection = found;
  by("answer").replaceChildren();
  note([]);
  by("teach").textContent = "Teach";
  by("label-field").hidden = component().kind === "sentences";
  const isNothing = !found;
  for (const id of ["why", "teach", "none"]) by(id).disabled = isNothing;
  for (const drawn of by("panel").querySelectorAll(".chosen")) drawn.classList.remove("chosen");
  for (const drawn of by("panel").querySelectorAll('[aria-selected="true"]')) drawn.setAttribute("aria-selected", "false");
  if (isNothing) {
    by("selected").textContent = "Select a word, a span or an arc.";
    by("label").value = "";
    by("head").replaceChildren();
    return;
  }
  const words = wordsIn(found.start, found.end);
  for (const number of words) {
    for (const drawn of by("panel").querySelectorAll(`[data-word="${number}"], [data-arc="${number}"]`)) {
      if (drawn.getAttribute("role") === "option") drawn.setAttribute("aria-selected", "true");
      else drawn.classList.add("chosen");
    }
  }
  const { item } = found;
  const text = slice(analysis.text, found.start, found.end);
  by("selected").textContent = item
    ? `${phrase(item)} (${certainty(item, component().has_probabilities)})`
    : `“${text}” ${component().kind === "entities" ? "is no entity" : ""}`;
  by("label").value = item?.label ?? "";
  if (component().kind === "sentences") {
    by("teach").textContent = item ? "Teach: no sentence starts here" : "Teach: a sentence starts here";
  }
  if (component().kind === "arcs") drawHeads(found);
}

function wordsIn(start, end) {
  return analysis.words.flatMap((word, number) => (word.start < end && start < word.end ? [number] : []));
}

function drawHeads(found) {
  const word = wordAt(found.start);
  const options = analysis.words
    .filter((other) => other.sentence === word.sentence && !other.is_space)
    .map((other) => {
      const text = other.start === word.start ? "none: it is the root" : other.text;
      return element("option", { value: other.start, selected: other.start === found.item?.head }, text);
    });
  by("head").replaceChildren(...options);
}

/** Selects a word or, if it is in one, the item that it is in. */
function choose(number) {
  const word = analysis.words[number];
  const item = layer().items.find((other) => other.start <= word.start && word.end <= other.end);
  select({ start: item?.start ?? word.start, end: item?.end ?? word.end, item });
}

/** Selects characters, which may cut words: the server snaps them to words, and says so. */
function chooseRange(start, end) {
  const item = layer().items.find((other) => other.start === start && other.end === end);
  select({ start, end, item });
}

/** The character that a place in the document stands for. */
function character(node, offset) {
  const drawn = (node.nodeType === Node.TEXT_NODE ? node.parentElement : node)?.closest?.("[data-word]");
  if (!drawn) return null;
  const word = analysis.words[Number(drawn.dataset.word)];
  if (node.nodeType !== Node.TEXT_NODE) return offset === 0 ? word.start : word.end;
  return word.start + Array.from(node.data.slice(0, offset)).length;
}

by("panel").addEventListener("mouseup", () => {
  const range = window.getSelection();
  if (!analysis || !range || range.isCollapsed || component().kind !== "entities") return;
  const ends = [character(range.anchorNode, range.anchorOffset), character(range.focusNode, range.focusOffset)];
  if (ends.includes(null) || ends[0] === ends[1]) return;
  chooseRange(Math.min(...ends), Math.max(...ends));
});

by("panel").addEventListener("click", guarded(async (event) => {
  const range = window.getSelection();
  if (range && !range.isCollapsed && component().kind === "entities" && selection) return;
  const inEntity = event.target.closest(".entity")?.querySelector("[data-word]");
  const drawn = event.target.closest("[data-arc]") ?? event.target.closest("[data-word]") ?? inEntity;
  if (drawn) await chooseDrawn(drawn);
}));

async function chooseDrawn(drawn) {
  const number = Number(drawn.dataset.arc ?? drawn.dataset.word);
  choose(number);
  if (drawn.getAttribute("role") === "option") focusWord(drawn, false);
  if (selection.item) await why();
}

function focusWord(drawn, scrolls = true) {
  for (const other of by("panel").querySelectorAll('[role="option"][tabindex="0"]')) other.tabIndex = -1;
  drawn.tabIndex = 0;
  drawn.focus({ preventScroll: !scrolls });
}

by("panel").addEventListener("keydown", guarded(async (event) => {
  const drawn = event.target.closest('[role="option"], [role="button"]');
  if (!drawn) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    if (selection && event.shiftKey) by("label").focus();
    else await chooseDrawn(drawn);
    return;
  }
  if (drawn.getAttribute("role") !== "option") return;
  const all = [...by("panel").querySelectorAll('[role="option"]')];
  const at = all.indexOf(drawn);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to == null || !all[to]) return;
  event.preventDefault();
  if (event.shiftKey && component().kind === "entities") {
    const anchor = selection?.anchor ?? Number(drawn.dataset.word);
    const words = [anchor, Number(all[to].dataset.word)].sort((a, b) => a - b).map((number) => analysis.words[number]);
    chooseRange(words[0].start, words[1].end);
    selection.anchor = anchor;
  }
  focusWord(all[to]);
}));

// Ask

function question() {
  const kind = component().kind;
  const asked = {
    document: analysis.document,
    component: shown,
    start: selection.start,
    end: selection.end,
    label: kind === "sentences" ? "S" : by("label").value.trim(),
  };
  if (kind === "arcs") asked.head = Number(by("head").value);
  return asked;
}

async function why() {
  const asked = question();
  if (!asked.label) throw new Error("Give a label to ask why it is, or why it is not.");
  if (asked.head === asked.start) asked.label = "ROOT";
  const found = await post("api/explain", asked);
  const reasons = found.reasons.map((reason) => {
    const side = reason.gain >= 0 ? "for" : "against";
    return element(
      "li",
      {},
      element("span", { class: `gain ${side}` }, `${reason.gain >= 0 ? "+" : "−"}${Math.abs(reason.gain).toFixed(2)}`),
      element("span", {}, `${reason.says} `, element("span", { class: "where" }, `(at “${reason.word}”: ${reason.label}, not ${reason.other})`)),
    );
  });
  const title = found.is_predicted ? `Why ${found.title}` : `Why not ${found.title}`;
  by("answer").replaceChildren(
    element("h3", {}, title),
    element("p", { class: "quiet" }, sentence(found.verdict)),
    element("ul", { class: "reasons", "aria-label": "Reasons, the strongest first" }, ...reasons),
  );
}

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

by("why").addEventListener("click", guarded(why));

by("best").addEventListener("click", guarded(async () => {
  if (!analysis) throw new Error("there is no text yet");
  const found = await post("api/best", { document: analysis.document, component: shown, k: 5 });
  const key = (item) => `${item.start} ${item.end} ${item.label} ${item.head}`;
  const first = new Set(found[0]?.items.map(key));
  const rows = found.map(({ behind, items }, rank) => {
    const own = new Set(items.map(key));
    const differs = rank === 0 ? [] : [
      ...items.filter((item) => !first.has(key(item))).map((item) => element("ins", {}, ` + ${phrase(item)}`)),
      ...found[0].items.filter((item) => !own.has(key(item)) && isSpan()).map((item) => element("del", {}, ` ${phrase(item)}`)),
    ];
    const says = rank === 0 ? "the analysis that is shown" : `${behind.toFixed(2)} behind:`;
    return element("li", {}, says, ...differs);
  });
  by("ranked").replaceChildren(...rows);
}));

const isSpan = () => ["entities", "sentences"].includes(component().kind);

// Teach

async function teach(label) {
  const asked = { ...question(), label, id: newId() };
  const found = await post("api/corrections", asked);
  const text = slice(analysis.text, found.start, found.end);
  const snapped = found.is_snapped ? ` The selection cut a word: it was taken for “${text}”.` : "";
  say(`Learnt in ${found.milliseconds} ms (${found.milliseconds_in_all} ms until it was on the disk).${snapped}`);
  await afterwards();
  choose(wordsIn(found.start, found.end)[0]);
  note(found.messages);
}

/** Shows the text anew, and what has changed elsewhere. */
async function afterwards(document = analysis.document) {
  await refresh();
  await open(document);
  drawTabs();
  const found = await get("api/changes");
  const elsewhere = found.changes.filter((change) => change.document !== analysis.document);
  const rows = elsewhere.slice(0, 50).map((change) => {
    const button = element("button", { type: "button" }, `text ${change.number}`);
    button.addEventListener("click", guarded(async () => {
      await open(change.document);
      show(change.component);
    }));
    const lines = [
      ...change.gone.map((text) => element("div", {}, element("del", {}, text))),
      ...change.new.map((text) => element("div", {}, element("ins", {}, `+ ${text}`))),
    ];
    const more = lines.splice(MAX_LINES).length;
    return element("li", {}, button, ...lines, more ? element("div", { class: "quiet" }, `and ${more} more`) : null);
  });
  const title = elsewhere.length
    ? `Changed in ${new Set(elsewhere.map((change) => change.document)).size} other texts`
    : "Nothing else changed";
  by("changes").replaceChildren(
    element("h3", {}, `${title} of ${found.n_watched} (compared in ${Math.round(found.milliseconds)} ms)`),
    element("ul", { class: "diff" }, ...rows),
  );
}

by("item").addEventListener("submit", guarded(async (event) => {
  event.preventDefault();
  if (!selection) return;
  const kind = component().kind;
  if (kind === "sentences") return teach(selection.item ? "I" : "S");
  const label = by("label").value.trim();
  if (!label && kind === "arcs" && Number(by("head").value) === selection.start) return teach("ROOT");
  if (!label) throw new Error("Give a label to teach.");
  return teach(label);
}));
by("none").addEventListener("click", guarded(() => teach("")));

by("accept").addEventListener("click", guarded(async () => {
  if (!analysis) throw new Error("there is no text yet");
  const { document } = analysis;
  const found = await post("api/accept", { id: newId(), document, component: shown });
  const next = await get("api/suggestion", { component: shown, after: document });
  await afterwards(next.document ?? document);
  say(`Learnt in ${found.milliseconds} ms. ${next.document ? `Next: text ${analysis.number}, of ${next.n_left} that are left.` : "No text is left."}`);
  note(found.messages);
}));

by("undo").addEventListener("click", guarded(async () => {
  const found = await post("api/undo", { id: newId() });
  shown = found.component;
  await afterwards(found.document);
  say(`Undone in ${found.milliseconds} ms: predictions are those of before. ${found.number} corrections are left.`);
}));

// Texts and files

by("new").addEventListener("submit", guarded(async (event) => {
  event.preventDefault();
  analysis = await post("api/texts", { text: by("new-text").value });
  await refresh();
  select(null);
  by("ranked").replaceChildren();
  draw();
  say(`Analysed: ${analysis.words.length} words.`);
}));
by("previous").addEventListener("click", guarded(() => openNumber((analysis?.number ?? 2) - 1 || 1)));
by("next").addEventListener("click", guarded(() => openNumber((analysis?.number ?? 0) + 1)));
by("suggest").addEventListener("click", guarded(async () => {
  const found = await get("api/suggestion", { component: shown, after: analysis?.document });
  if (!found.document) throw new Error("No text is left that was not taught: give a file by --texts, or type one.");
  await open(found.document);
  say(`Suggested: text ${analysis.number}, of ${found.n_left} that are left.`);
}));
by("export").addEventListener("click", guarded(async () => {
  const found = await post("api/export");
  say(`Exported ${found.n_texts} texts: ${found.files.join(", ")}`);
}));
by("save").addEventListener("click", guarded(async () => {
  const found = await post("api/save");
  await refresh();
  say(`Saved: ${found.files.join(", ")}`);
}));

guarded(async () => {
  await refresh();
  if (state.n_texts) await openNumber(1);
})();
