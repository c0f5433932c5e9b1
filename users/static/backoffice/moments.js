// Shows every <time data-moment> in the zone of the reader's browser; its title keeps UTC.
(() => {
  "use strict";
  document.addEventListener("DOMContentLoaded", () => {
    const language = document.documentElement.lang || undefined;
    const form = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
    for (const time of document.querySelectorAll("time[data-moment]")) {
      const instant = new Date(time.dateTime);
      if (!Number.isNaN(instant.getTime())) time.textContent = form.format(instant);
    }
  });
})();
