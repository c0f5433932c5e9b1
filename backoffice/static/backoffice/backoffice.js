// The script of every page of the back office and of the staff login: one file, as an office opens many pages from one
// address. Each part is one behaviour, and does nothing on a page without its elements.

// The Content-Security-Policy forbids htmx's own style and eval. The staff login is without htmx.
if (window.htmx) {
  window.htmx.config.includeIndicatorStyles = false;
  window.htmx.config.allowEval = false;
}

// Copy buttons: <button type="button" data-copies="id of the text" data-copied="Copied" hidden>, or data-copies-text="the text".
// Without this file, or without a clipboard, they stay hidden.
(() => {
  "use strict";
  const SHOWN_MS = 2500;

  async function copy(button) {
    const source = document.getElementById(button.dataset.copies);
    const label = button.querySelector("[data-label]") ?? button;
    button.dataset.before ??= label.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copiesText ?? source.textContent.trim());
    } catch {
      // Not permitted: select the text for copying by keyboard.
      if (source) window.getSelection().selectAllChildren(source);
      return;
    }
    label.textContent = button.dataset.copied;
    window.setTimeout(() => { label.textContent = button.dataset.before; }, SHOWN_MS);
  }

  document.addEventListener("DOMContentLoaded", () => {
    if (!navigator.clipboard) return;
    for (const button of document.querySelectorAll("[data-copies], [data-copies-text]")) {
      button.hidden = false;
      button.addEventListener("click", () => copy(button));
    }
  });
})();

// Reloads a page while it has an element with data-awaited: the server knows for how long.
(() => {
  "use strict";
  const INTERVAL_MS = 2000;

  document.addEventListener("DOMContentLoaded", () => {
    if (document.querySelector("[data-awaited]")) window.setTimeout(() => window.location.reload(), INTERVAL_MS);
  });
})();

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

// A form with data-submits is submitted once the page is there: it answers with a file, and the page stays.
(() => {
  "use strict";

  document.addEventListener("DOMContentLoaded", () => document.querySelector("form[data-submits]")?.requestSubmit());
})();

// SimpleBar's name for scrollable regions in the page's language: its own is English.
// <div data-scrollable="the name">
(() => {
  "use strict";

  // This listener is called before SimpleBar's, whose script is at the end of the page.
  document.addEventListener("DOMContentLoaded", () => {
    const named = document.querySelector("[data-scrollable]");
    if (named && window.SimpleBar) window.SimpleBar.defaultOptions.ariaLabel = named.dataset.scrollable;
  });
})();

// What a person types into the text areas of a form with data-draft survives a session that ends before it is sent: this
// tab keeps it until the server says that it took it (data-taken), or until somebody signs out.
// data-draft: the person's id. Nobody is shown what another person typed.
(() => {
  "use strict";
  const PREFIX = "draft:";
  const SENT = "draft-sent";
  const channel = new BroadcastChannel("drafts");

  function forget(wanted) {
    Object.keys(window.sessionStorage).filter((key) => key.startsWith(PREFIX) && wanted(key)).forEach((key) => window.sessionStorage.removeItem(key));
  }

  // One key for the same form on the page of the case and on that of the user.
  function keyOf(form, id) {
    return `${PREFIX}${form.dataset.draft}:${new URL(form.action).pathname}#${id}`;
  }

  function keep(form) {
    for (const area of form.querySelectorAll("textarea")) {
      const key = keyOf(form, area.id);
      if (area.value === "") area.value = window.sessionStorage.getItem(key) ?? "";
      area.addEventListener("input", () => window.sessionStorage.setItem(key, area.value));
    }
    form.addEventListener("submit", () => window.sessionStorage.setItem(SENT, keyOf(form, "")));
  }

  function forgetTaken() {
    const sent = window.sessionStorage.getItem(SENT);
    if (sent === null || !document.querySelector("[data-taken]")) return;
    forget((key) => key.startsWith(sent));
    window.sessionStorage.removeItem(SENT);
  }

  channel.addEventListener("message", () => forget(() => true));
  document.addEventListener("DOMContentLoaded", () => {
    for (const form of document.querySelectorAll('form[action$="/logout/"]')) {
      form.addEventListener("submit", () => {
        forget(() => true);
        channel.postMessage("signed out");
      });
    }
    forgetTaken();
    const forms = document.querySelectorAll("form[data-draft]");
    if (forms.length > 0) forget((key) => !key.startsWith(`${PREFIX}${forms[0].dataset.draft}:`));
    forms.forEach(keep);
  });
})();

// Single-key shortcuts of a page with data-shortcuts: a key clicks the element with that data-shortcut. The dialog that lists them can turn them off:
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
    if (!document.querySelector("[data-shortcuts]")) return;
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
      // A summary has opened its form.
      if (target.parentElement.open) target.parentElement.querySelector("textarea")?.focus();
    });
  });
})();

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
