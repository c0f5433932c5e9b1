// Copy buttons: <button type="button" data-copies="id of the text" data-copied="Copied" hidden>.
// Without this file, or without a clipboard, they stay hidden.
(() => {
  "use strict";
  const SHOWN_MS = 2500;

  async function copy(button) {
    const source = document.getElementById(button.dataset.copies);
    const label = button.querySelector("[data-label]") ?? button;
    button.dataset.before ??= label.textContent;
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
    } catch {
      // Not permitted: select the text for copying by keyboard.
      window.getSelection().selectAllChildren(source);
      return;
    }
    label.textContent = button.dataset.copied;
    window.setTimeout(() => { label.textContent = button.dataset.before; }, SHOWN_MS);
  }

  document.addEventListener("DOMContentLoaded", () => {
    if (!navigator.clipboard) return;
    for (const button of document.querySelectorAll("[data-copies]")) {
      button.hidden = false;
      button.addEventListener("click", () => copy(button));
    }
  });
})();
