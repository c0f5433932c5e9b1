// Shows results while typing. Without JavaScript the form opens the results page.

const WAIT_MS = 150;
const form = document.querySelector(".search");
const input = form.elements.q;
const found = form.querySelector(".found");
let timer = 0;
let pending = new AbortController();

function cancel() {
  pending.abort();
  clearTimeout(timer);
}

function close() {
  cancel();
  found.hidden = true;
}

async function show() {
  pending.abort();
  pending = new AbortController();
  const query = input.value.trim();
  if (!query) return close();
  try {
    const response = await fetch(`${form.action}?${new URLSearchParams({q: query})}`, {signal: pending.signal});
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const results = page.getElementById("results");
    const count = results?.children.length ?? 0;
    found.replaceChildren(results ? document.adoptNode(results) : document.createTextNode("No results."));
    found.hidden = false;
    document.getElementById("said").textContent = `${count} result${count === 1 ? "" : "s"}`;
  } catch (error) {
    if (error.name !== "AbortError") close();
  }
}

input.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(show, WAIT_MS);
});

// Arrows move through the results, Escape closes them.
form.addEventListener("keydown", (event) => {
  const links = found.hidden ? [] : [...found.querySelectorAll("a")];
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (event.key === "Escape" && !found.hidden) {
    event.preventDefault();
    close();
    input.focus();
  } else if (step && links.length) {
    event.preventDefault();
    // New results would replace the one with the focus.
    cancel();
    (links[links.indexOf(document.activeElement) + step] ?? input).focus();
  }
});

form.addEventListener("focusout", ({relatedTarget}) => {
  if (!form.contains(relatedTarget)) close();
});
found.addEventListener("pointerdown", (event) => event.preventDefault());
found.addEventListener("click", ({target}) => { if (target.closest("a")) close(); });

addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, textarea, [contenteditable]");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  input.focus();
});
