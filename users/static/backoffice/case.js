// The case page: dialogs open over the page, and a decision is sent once.
// Without this file the same links show the same forms, further down the page.
(() => {
  "use strict";
  const OTHER = "other";

  function open(dialog) {
    dialog.removeAttribute("open");
    dialog.showModal();
  }

  function opener(link) {
    // It acts on the page and leads nowhere: a button to those who cannot see it, and to the space bar.
    link.setAttribute("role", "button");
    link.setAttribute("aria-haspopup", "dialog");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      open(document.getElementById(link.dataset.dialog));
    });
    link.addEventListener("keydown", (event) => {
      if (event.key === " ") {
        event.preventDefault();
        link.click();
      }
    });
  }

  function closer(link) {
    link.setAttribute("role", "button");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      link.closest("dialog").close();
    });
  }

  // A reason that says nothing by itself needs a note; the server asks for it too.
  function noteOf(form) {
    const note = form.elements.namedItem("note");
    if (!note || note.required) return;
    const word = form.querySelector("[data-optional]");
    const optional = word.textContent;
    form.addEventListener("change", () => {
      note.required = form.elements.namedItem("reason_code").value === OTHER;
      word.hidden = note.required;
      word.textContent = optional;
    });
  }

  function once(form) {
    const buttons = form.querySelectorAll("button");
    // After the browser has taken the pressed button's value along.
    form.addEventListener("submit", () => window.setTimeout(() => buttons.forEach((b) => { b.disabled = true; })));
    window.addEventListener("pageshow", () => buttons.forEach((b) => { b.disabled = false; }));
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-dialog]").forEach(opener);
    document.querySelectorAll("[data-closes]").forEach(closer);
    document.querySelectorAll("form[data-once]").forEach((form) => { once(form); noteOf(form); });
    document.querySelectorAll("dialog[open]").forEach(open);
    document.querySelector("[data-focused]")?.focus();
  });
})();
