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
