// Enhancements of the docs' pages, which work without JavaScript.

// A link to an operation from when the reference was one page leads to its entry there, which links to its page.
const moved = document.getElementById(location.hash.slice(1));
if (moved?.matches("[data-moved]")) location.replace(moved.querySelector("a").href);

// A link to a folded section unfolds it.
function unfold() {
  const folded = document.getElementById(location.hash.slice(1))?.querySelector(":scope > details");
  if (folded) folded.open = true;
}
addEventListener("hashchange", unfold);
unfold();

// A copy button for each code block.
function addCopyButton(figure) {
  const text = figure.querySelector("pre").textContent;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", `Copy ${figure.dataset.name}`);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    document.getElementById("said").textContent = `${figure.dataset.name}: copied`;
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  figure.querySelector("figcaption").append(button);
}

function addCopyButtons(within) {
  // Browsers have a clipboard in secure contexts only.
  if (navigator.clipboard) within.querySelectorAll(".code").forEach(addCopyButton);
}

addCopyButtons(document);

// Select a language in all tabs at once.
document.addEventListener("change", ({target}) => {
  if (!target.matches(".tabs > input")) return;
  const before = target.getBoundingClientRect().top;
  for (const other of document.querySelectorAll(`.tabs > input[value="${CSS.escape(target.value)}"]`)) other.checked = true;
  // Keep the clicked tab in place if panels above it change their height.
  window.scrollBy({top: target.getBoundingClientRect().top - before, behavior: "instant"});
});

// Keep long code in view when it is folded again.
for (const whole of document.querySelectorAll(".code > .whole")) {
  whole.addEventListener("toggle", () => { if (!whole.open) whole.scrollIntoView({block: "nearest"}); });
}

// Mark the current section in the table of contents.
const links = new Map(Array.from(document.querySelectorAll(".beside a[href^='#']"), (link) => [link.hash.slice(1), link]));
const sections = Array.from(links.keys(), (id) => document.getElementById(id)).filter(Boolean);

function showPlace() {
  const above = sections.filter((section) => section.getBoundingClientRect().top < innerHeight / 4);
  const atEnd = scrollY > 0 && innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
  const here = atEnd ? sections.at(-1) : above.at(-1) ?? sections[0];
  for (const [id, link] of links) {
    const isHere = id === here?.id;
    if (isHere === link.hasAttribute("aria-current")) continue;
    link.toggleAttribute("aria-current", isHere);
    if (!isHere) continue;
    link.setAttribute("aria-current", "location");
    const list = link.closest(".beside");
    const [top, bottom] = [link.offsetTop - list.offsetTop, link.offsetTop - list.offsetTop + link.offsetHeight];
    if (top < list.scrollTop || bottom > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 3;
  }
}

if (sections.length) {
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; showPlace(); });
  }, {passive: true});
  showPlace();
}

// On a phone, a link closes the table of contents.
for (const list of document.querySelectorAll("details.contents")) {
  list.addEventListener("click", ({target}) => { if (target.closest("a")) list.open = false; });
}
