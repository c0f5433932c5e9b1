// The dashboard's charts, drawn with Unfold's Chart.js from the JSON on the page.
// The tables have the same figures.
(() => {
  "use strict";

  // By outcome, for the light and the dark theme.
  const OUTCOMES = {
    active: ["#0e7490", "#4bb4c9"],
    rejected: ["#b45309", "#f59e0b"],
    suspended: ["#6d28d9", "#a78bfa"],
    closed: ["#4b5563", "#9ca3af"],
    pendingCompliance: ["#15803d", "#4ade80"],
  };
  const LATE = ["#b91c1c", "#f87171"];
  const IN_TIME = OUTCOMES.active;
  const SLOW = ["#94a3b8", "#64748b"];

  let drawn = [];

  function theme() {
    const style = getComputedStyle(document.body);
    const dark = document.documentElement.classList.contains("dark");
    return {
      pick: (pair) => pair[dark ? 1 : 0],
      text: style.getPropertyValue(dark ? "--color-base-300" : "--color-base-700"),
      line: style.getPropertyValue(dark ? "--color-base-700" : "--color-base-200"),
      font: style.fontFamily,
    };
  }

  function options(colors, { stacked = false, legend = true, axis = "", rotation = 0, skip = true } = {}) {
    const ticks = { color: colors.text, font: { family: colors.font }, precision: 0, maxRotation: rotation, autoSkip: skip, autoSkipPadding: rotation ? 2 : 12 };
    return {
      responsive: true,
      maintainAspectRatio: false,
      animation: false,
      interaction: { mode: "index", intersect: false },
      plugins: {
        legend: { display: legend, position: "bottom", labels: { color: colors.text, font: { family: colors.font }, boxWidth: 12, boxHeight: 12, usePointStyle: true } },
      },
      scales: {
        x: { stacked, ticks, grid: { display: false }, border: { color: colors.line } },
        y: { stacked, beginAtZero: true, ticks, grid: { color: colors.line }, border: { display: false }, title: { display: Boolean(axis), text: axis, color: colors.text } },
      },
    };
  }

  const bars = { pointStyle: "rectRounded", borderRadius: 3, maxBarThickness: 56 };

  // A line of Chart.js joins the middles of the categories, and of a single one it is a point.
  const linesFromEdgeToEdge = {
    id: "linesFromEdgeToEdge",
    afterDatasetsDraw(chart) {
      const { ctx, chartArea } = chart;
      for (const { type, index, data: [point] } of chart.getSortedVisibleDatasetMetas()) {
        if (type !== "line") continue;
        const { borderColor, borderDash, borderWidth } = chart.data.datasets[index];
        ctx.save();
        ctx.strokeStyle = borderColor;
        ctx.lineWidth = borderWidth;
        ctx.setLineDash(borderDash);
        ctx.beginPath();
        ctx.moveTo(chartArea.left, point.y);
        ctx.lineTo(chartArea.right, point.y);
        ctx.stroke();
        ctx.restore();
      }
    },
  };

  const charts = {
    waiting: (data, colors) => ({
      type: "bar",
      data: {
        labels: data.labels,
        datasets: [{ ...bars, label: data.title, data: data.values, backgroundColor: data.late.map((late) => colors.pick(late ? LATE : IN_TIME)) }],
      },
      options: options(colors, { legend: false, skip: false, rotation: 50 }),
    }),
    backlog: (data, colors) => ({
      type: "line",
      data: {
        labels: data.labels,
        datasets: [{ label: data.title, data: data.values, borderColor: colors.pick(IN_TIME), backgroundColor: colors.pick(IN_TIME), borderWidth: 2, pointRadius: data.values.length > 31 ? 0 : 2 }],
      },
      options: options(colors, { legend: false }),
    }),
    decisions: (data, colors) => ({
      type: "bar",
      data: {
        labels: data.labels,
        datasets: data.series
          .filter((one) => one.values.some((value) => value > 0))
          .map((one) => ({ ...bars, label: one.title, data: one.values, backgroundColor: colors.pick(OUTCOMES[one.name]) })),
      },
      options: options(colors, { stacked: true }),
    }),
    partners: (data, colors) => ({
      type: "bar",
      data: {
        labels: data.labels,
        datasets: [
          { ...bars, label: data.median.title, data: data.median.values, backgroundColor: colors.pick(IN_TIME) },
          { ...bars, label: data.ninetieth.title, data: data.ninetieth.values, backgroundColor: colors.pick(SLOW) },
          { type: "line", label: data.target.title, data: data.labels.map(() => data.target.value), borderColor: colors.pick(LATE), backgroundColor: colors.pick(LATE), borderDash: [6, 4], borderWidth: 1.5, showLine: false, pointRadius: 0, pointStyle: "line" },
        ],
      },
      options: options(colors, { axis: data.unit, rotation: 50 }),
      plugins: [linesFromEdgeToEdge],
    }),
  };

  // A bar leads to the list of what it counts, as the row of the table does. The past's backlog has no list.
  function linked(config, { urls }) {
    if (!urls) return config;
    config.options.onClick = (_event, [bar]) => { if (bar) window.location.assign(urls[bar.index]); };
    config.options.onHover = (event, [bar]) => { event.native.target.style.cursor = bar ? "pointer" : ""; };
    return config;
  }

  function draw() {
    const source = document.getElementById("dashboard-charts");
    if (!source || typeof Chart === "undefined") return;
    const data = JSON.parse(source.textContent);
    const colors = theme();
    drawn.forEach((chart) => chart.destroy());
    drawn = [...document.querySelectorAll("canvas[data-chart]")].map(
      (canvas) => new Chart(canvas, linked(charts[canvas.dataset.chart](data[canvas.dataset.chart], colors), data[canvas.dataset.chart])),
    );
  }

  document.addEventListener("DOMContentLoaded", () => {
    draw();
    // The theme can be switched on the page.
    const root = document.documentElement;
    new MutationObserver(draw).observe(root, { attributeFilter: ["class"] });
    // Paper is white.
    let wasDark = false;
    window.addEventListener("beforeprint", () => {
      wasDark = root.classList.contains("dark");
      root.classList.remove("dark");
      draw();
    });
    window.addEventListener("afterprint", () => root.classList.toggle("dark", wasDark));
  });
})();
