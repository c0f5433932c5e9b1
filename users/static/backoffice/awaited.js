// Refreshes an element that has data-awaited, until the page no longer says so.
(() => {
  "use strict";
  const INTERVAL_MS = 2000;
  const MOST = 60;

  async function refresh(id, left) {
    const shown = document.getElementById(id);
    if (!left || !shown.hasAttribute("data-awaited")) return;
    try {
      const answer = await fetch(window.location.href);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById(id);
      // Without it the session has ended.
      if (!fresh) return;
      if (fresh.outerHTML !== shown.dataset.source) {
        shown.dataset.source = fresh.outerHTML;
        shown.toggleAttribute("data-awaited", fresh.hasAttribute("data-awaited"));
        shown.replaceChildren(...fresh.childNodes);
      }
    } catch {
      // Not reached: the next attempt may succeed.
    }
    window.setTimeout(() => refresh(id, left - 1), INTERVAL_MS);
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const shown of document.querySelectorAll("[data-awaited][id]")) {
      window.setTimeout(() => refresh(shown.id, MOST), INTERVAL_MS);
    }
  });
})();
