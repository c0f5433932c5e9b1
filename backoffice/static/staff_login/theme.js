// Light or dark, as chosen in the back office, whose pages keep the choice under this name; else as the system has it.
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  function follow() {
    let chosen = "auto";
    try {
      chosen = JSON.parse(window.localStorage.getItem("adminTheme")) || "auto";
    } catch {
      // Nothing kept, or nothing to read it with.
    }
    document.documentElement.classList.toggle("dark", chosen === "dark" || (chosen === "auto" && dark.matches));
  }
  follow();
  dark.addEventListener("change", follow);
})();
