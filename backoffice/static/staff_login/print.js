// Print buttons: <button type="button" data-prints hidden>. Without this file they stay hidden.
(() => {
  "use strict";

  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-prints]")) {
      button.hidden = false;
      button.addEventListener("click", () => window.print());
    }
  });
})();
