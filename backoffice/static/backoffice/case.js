// The case page: decision forms open as modal dialogs.
// Without this file the same links lead to the same forms, further down the page.
(() => {
  "use strict";
  const OTHER = "other";

  function open(dialog) {
    dialog.removeAttribute("open");
    dialog.showModal();
  }

  // A link that acts on the page is a button for assistive technology and for the space bar.
  function asButton(link, press) {
    link.setAttribute("role", "button");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      press();
    });
    link.addEventListener("keydown", (event) => {
      if (event.key === " ") {
        event.preventDefault();
        press();
      }
    });
  }

  // The server requires a note for this reason too.
  function requireNote(form) {
    const note = form.elements.namedItem("note");
    if (!note || note.required) return;
    const optional = form.querySelector("[data-optional]");
    form.addEventListener("change", () => {
      note.required = form.elements.namedItem("reason_code").value === OTHER;
      optional.hidden = note.required;
    });
  }

  // As its first button does.
  function sendByKeyboard(form) {
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.repeat || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      form.requestSubmit(form.querySelector("button:not([disabled])"));
    });
  }

  // The template of the chosen code: its message and fields take the place of another template's, not of the person's.
  function fillInTemplates(form) {
    if (!form.dataset.templates) return;
    const templates = JSON.parse(form.dataset.templates);
    const message = form.elements.namedItem("message");
    const boxes = [...form.querySelectorAll('[name="fields_asked"]')];
    let chosen = form.elements.namedItem("code").value;
    const explain = (template) => {
      form.querySelector("[data-meaning]").textContent = template.meaning;
      form.querySelector("[data-means]").hidden = !template.meaning;
    };
    if (chosen) explain(templates[chosen]);
    form.addEventListener("change", (event) => {
      if (event.target.name !== "code") return;
      const before = templates[chosen] || { message: "", fields: [] };
      const template = templates[event.target.value];
      chosen = event.target.value;
      if (message.value === "" || message.value === before.message) message.value = template.message;
      if (boxes.every((box) => box.checked === before.fields.includes(box.value))) {
        boxes.forEach((box) => { box.checked = template.fields.includes(box.value); });
      }
      explain(template);
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-dialog]").forEach((link) => {
      link.setAttribute("aria-haspopup", "dialog");
      asButton(link, () => open(document.getElementById(link.dataset.dialog)));
    });
    document.querySelectorAll("[data-closes]").forEach((link) => asButton(link, () => link.closest("dialog").close()));
    document.querySelectorAll("dialog form").forEach(requireNote);
    document.querySelectorAll("dialog form").forEach(fillInTemplates);
    document.querySelectorAll("dialog form, .case-add-note form").forEach(sendByKeyboard);
    document.querySelectorAll("dialog[open]").forEach(open);
    document.querySelector("[data-focused]")?.focus();
  });
})();
