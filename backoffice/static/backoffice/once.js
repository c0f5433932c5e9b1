// Forms with data-once are submitted once, however often their button is pressed.
(() => {
  "use strict";

  function submitOnce(form) {
    const disable = (disabled) => form.querySelectorAll("button").forEach((button) => { button.disabled = disabled; });
    // Later: a disabled button's value is not submitted.
    form.addEventListener("submit", () => window.setTimeout(() => disable(true)));
    window.addEventListener("pageshow", () => disable(false));
  }

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("form[data-once]").forEach(submitOnce));
})();
