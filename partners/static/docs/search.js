// Shows what the search finds while words are typed. Without a script the form leads to the page of the results.

const WAIT_MS = 150;
const form = document.querySelector(".search");
const input = form.elements.q;
const found = form.querySelector(".found");
let waiting = 0;
let asking = new AbortController();

function stopAsking() {
  asking.abort();
  clearTimeout(waiting);
}

function close() {
  stopAsking();
  found.hidden = true;
}

async function show() {
  asking.abort();
  asking = new AbortController();
  const query = input.value.trim();
  if (!query) return close();
  try {
    const answer = await fetch(`${form.action}?${new URLSearchParams({q: query})}`, {signal: asking.signal});
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const results = page.getElementById("results");
    const count = results?.children.length ?? 0;
    found.replaceChildren(results ? document.adoptNode(results) : document.createTextNode("Nothing was found."));
    found.hidden = false;
    document.getElementById("said").textContent = `${count} result${count === 1 ? "" : "s"}`;
  } catch (error) {
    if (error.name !== "AbortError") close();
  }
}

input.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(show, WAIT_MS);
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
    // Results that come now would replace the one that has the focus.
    stopAsking();
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
