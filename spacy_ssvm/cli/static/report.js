for (const section of document.querySelectorAll("section")) {
  const form = section.querySelector(".filter");
  if (!form) continue;
  const [kind, text, output] = ["select", "input", "output"].map((name) => form.querySelector(name));
  const sentences = [...section.querySelectorAll(".mistakes > details")];
  const words = sentences.map((sentence) => sentence.querySelector("summary").textContent.toLowerCase());
  const filter = () => {
    const wanted = text.value.trim().toLowerCase();
    sentences.forEach((sentence, i) => {
      const kinds = sentence.dataset.kinds.split(" ");
      sentence.hidden = (kind.value !== "" && !kinds.includes(kind.value)) || !words[i].includes(wanted);
    });
    output.value = `${sentences.filter((sentence) => !sentence.hidden).length} of ${sentences.length} shown`;
  };
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  section.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-kind]");
    if (!button) return;
    kind.value = button.dataset.kind;
    text.value = "";
    filter();
    form.scrollIntoView();
    kind.focus({ preventScroll: true });
  });
  filter();
}
