document.addEventListener("DOMContentLoaded", () => {
  // The examples show the address of the service that serves this page, instead of a placeholder.
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    texts.currentNode.data = texts.currentNode.data.replaceAll("https://partners.example", location.origin);
  }
  // What Sphinx leaves out for screen readers and keyboards.
  for (const caption of document.querySelectorAll(".caption[role=heading]")) caption.ariaLevel = "2";
  for (const code of document.querySelectorAll("pre")) code.tabIndex = 0;
});
