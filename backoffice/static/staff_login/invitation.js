// Sends the token of an invitation's link: it is in the fragment, so that no server, proxy or other page gets its URL.
(() => {
  "use strict";
  const token = window.location.hash.slice(1);
  if (!token) return;
  // Neither in the history of the browser.
  window.history.replaceState(null, "", window.location.pathname);
  document.getElementById("token").value = token;
  document.getElementById("invitation").requestSubmit();
})();
