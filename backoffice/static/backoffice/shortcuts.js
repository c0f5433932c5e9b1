// Single-key shortcuts: a key clicks the element with that data-shortcut. The dialog that lists them can turn them off:
// WCAG 2.1.4, for speech input and switch devices.
(() => {
  "use strict";
  const STORAGE_KEY = "shortcutsOff";
  const HELP = "?";

  function isOff() {
    try {
      return window.localStorage.getItem(STORAGE_KEY) === "1";
    } catch {
      return false;
    }
  }

  function store(off) {
    try {
      window.localStorage.setItem(STORAGE_KEY, off ? "1" : "0");
    } catch {
      // No storage: the choice holds for this page only.
    }
  }

  // A field in a dialog that was just closed keeps the focus until the next repaint.
  function isBusy(target) {
    if (document.querySelector("dialog[open]")) return true;
    const field = target.closest("input, textarea, select, [contenteditable]");
    return field !== null && field.closest("dialog") === null;
  }

  document.addEventListener("DOMContentLoaded", () => {
    // The dialog is on the case page alone; what it says holds for all pages.
    const enabled = document.getElementById("shortcuts-on");
    if (enabled) {
      enabled.checked = !isOff();
      enabled.addEventListener("change", () => store(!enabled.checked));
      document.querySelector("[data-dialog='shortcuts']").hidden = false;
    }
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || isBusy(event.target)) return;
      const key = event.key.toLowerCase();
      if (isOff() && key !== HELP) return;
      const target = [...document.querySelectorAll("[data-shortcut]")].find((element) => element.dataset.shortcut === key);
      if (!target) return;
      event.preventDefault();
      target.click();
    });
  });
})();
