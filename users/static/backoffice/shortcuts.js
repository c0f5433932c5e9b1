// Single-key shortcuts: a key presses the element whose data-shortcut it is. The list of them (dialog#shortcuts)
// has a switch, since single keys get in the way of those who dictate or use a switch device (WCAG 2.1.4).
(() => {
  "use strict";
  const KEPT = "shortcutsOff";
  const HELP = "?";

  function isOff() {
    try {
      return window.localStorage.getItem(KEPT) === "1";
    } catch {
      return false;
    }
  }

  function keep(off) {
    try {
      window.localStorage.setItem(KEPT, off ? "1" : "0");
    } catch {
      // A browser that keeps nothing: the switch holds for this page only.
    }
  }

  // Typing in a field is typing, and a dialog has keys of its own. A field of a dialog just closed keeps the focus
  // until the browser draws the page again: nobody types there.
  function isBusy(target) {
    if (document.querySelector("dialog[open]")) return true;
    const field = target.closest("input, textarea, select, [contenteditable]");
    return field !== null && field.closest("dialog") === null;
  }

  document.addEventListener("DOMContentLoaded", () => {
    const use = document.getElementById("shortcuts-on");
    use.checked = !isOff();
    use.addEventListener("change", () => keep(!use.checked));
    document.querySelector("[data-dialog='shortcuts']").hidden = false;
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || isBusy(event.target)) return;
      const key = event.key.toLowerCase();
      if (!use.checked && key !== HELP) return;
      const pressed = [...document.querySelectorAll("[data-shortcut]")].find((one) => one.dataset.shortcut === key);
      if (!pressed) return;
      event.preventDefault();
      pressed.click();
    });
  });
})();
