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
