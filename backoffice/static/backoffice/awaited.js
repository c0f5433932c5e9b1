// Reloads a page while it has an element with data-awaited: the server knows for how long.
(() => {
  "use strict";
  const INTERVAL_MS = 2000;

  document.addEventListener("DOMContentLoaded", () => {
    if (document.querySelector("[data-awaited]")) window.setTimeout(() => window.location.reload(), INTERVAL_MS);
  });
})();
