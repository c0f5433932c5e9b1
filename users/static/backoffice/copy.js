// Buttons that copy: <button type="button" data-copies="id of what is copied" data-copied="Copied" hidden>.
// Without this file, or where the browser has no clipboard, they stay hidden and the text is selected by hand.
(() => {
  "use strict";
  const SHOWN_MS = 2500;

  async function copy(button) {
    const source = document.getElementById(button.dataset.copies);
    const label = button.querySelector("[data-label]") ?? button;
    const before = button.dataset.before ?? label.textContent;
    button.dataset.before = before;
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      label.textContent = button.dataset.copied;
    } catch {
      // Refused: select it, so that the keyboard can copy it.
      window.getSelection().selectAllChildren(source);
      return;
    }
    window.setTimeout(() => { label.textContent = before; }, SHOWN_MS);
  }

  document.addEventListener("DOMContentLoaded", () => {
    if (!navigator.clipboard) return;
    for (const button of document.querySelectorAll("[data-copies]")) {
      button.hidden = false;
      button.addEventListener("click", () => copy(button));
    }
  });
})();
