// A passkey that was refused, or a person who changed their mind, is said on the page and not in the console.
document.addEventListener("allauth.error", function (event) {
  const place = document.getElementById("login-error");
  if (!place) return;
  event.preventDefault();
  place.hidden = false;
  place.focus();
});
