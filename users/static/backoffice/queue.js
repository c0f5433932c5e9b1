// Choosing rows of the queue and approving them together. Without it the dialog stands open below the list.
(() => {
  "use strict";

  function approval(form) {
    const ticks = [...document.querySelectorAll('input[name="chosen"]')];
    const all = document.getElementById("queue-all");
    const bar = form.querySelector(".queue-bar");
    const dialog = form.querySelector("dialog");
    const wasAsked = dialog.hasAttribute("data-open");

    function show() {
      const chosen = ticks.filter((tick) => tick.checked);
      const odd = chosen.filter((tick) => tick.dataset.hints !== "0").length;
      bar.hidden = chosen.length === 0;
      bar.querySelector("[data-number]").textContent = chosen.length;
      bar.querySelector("[data-with-hints]").hidden = odd === 0;
      bar.querySelector("[data-number-with-hints]").textContent = odd;
      form.querySelector("[data-warns]").hidden = odd === 0;
      all.checked = chosen.length === ticks.length;
      all.indeterminate = chosen.length > 0 && !all.checked;
    }

    function tickAll(checked) {
      for (const tick of ticks) tick.checked = checked;
      show();
    }

    dialog.close();
    all.hidden = false;
    form.querySelector("[data-closes]").hidden = false;
    all.addEventListener("change", () => tickAll(all.checked));
    for (const tick of ticks) tick.addEventListener("change", show);
    form.querySelector("[data-opens]").addEventListener("click", () => dialog.showModal());
    form.querySelector("[data-closes]").addEventListener("click", () => dialog.close());
    form.querySelector("[data-unticks]").addEventListener("click", () => {
      tickAll(false);
      all.focus();
    });
    show();
    if (wasAsked) dialog.showModal();
  }

  // A second press while the first is under way would do nothing good.
  function once(form) {
    let isSent = false;
    form.addEventListener("submit", (event) => {
      if (isSent) event.preventDefault();
      isSent = true;
    });
    // Back in the browser brings the page as it was left.
    window.addEventListener("pageshow", () => {
      isSent = false;
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const form of document.querySelectorAll("form[data-once]")) once(form);
    const form = document.getElementById("queue-approval");
    if (form) approval(form);
  });
})();
