// Draws a group's last minutes, and draws them anew when there are new ones.
"use strict";

(() => {
  const section = document.querySelector("[data-minutes]");
  if (!section) return;
  const picked = document.getElementById("window");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const charts = new Map();
  const backlog = [];
  let newest = null;

  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const CODES = ["bad", "warn", "third", "second", "quiet"];

  const LINES = {
    creates: () => [
      line("reached", newest.reached, "first", { fill: true }),
      line("allowed", newest.allowed, "second", { stepped: "after", borderDash: [5, 4] }),
    ],
    latency: () => [line("p50", newest.p50_s.map(millis), "first"), line("p95", newest.p95_s.map(millis), "warn")],
    errors: () => Object.entries(newest.faults).map(([code, values], i) => line(code, values, CODES[i % CODES.length])),
    throttle: () => [
      line("kept by the throttle", newest.throttled, "bad"),
      line("hedges sent", newest.hedges_sent, "first"),
      line("hedges won", newest.hedges_won, "good"),
      line("chunks sent again", newest.deferred, "warn"),
    ],
    backlog: () => [{ ...line("chunks waiting", [], "third", { fill: true }), data: backlog, pointRadius: backlog.length > 1 ? 0 : 3 }],
  };

  const millis = (seconds) => seconds === null ? null : seconds * 1000;

  function line(label, values, colour, more = {}) {
    const stroke = ink(colour);
    return {
      label,
      data: values.map((y, i) => ({ x: newest.at[i] * 1000, y })),
      borderColor: stroke,
      backgroundColor: more.fill ? `color-mix(in srgb, ${stroke} 18%, transparent)` : stroke,
      borderWidth: 2,
      pointRadius: values.length === 1 ? 3 : 0,
      pointHitRadius: 12,
      tension: more.stepped ? 0 : 0.25,
      cubicInterpolationMode: "monotone",
      ...more,
    };
  }

  function options() {
    const grid = { color: ink("line"), drawTicks: false };
    const ticks = { color: ink("quiet"), maxTicksLimit: 5, padding: 6 };
    return {
      animation: still.matches ? false : { duration: 250 },
      responsive: true,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      scales: {
        x: { type: "time", time: { minUnit: "minute", tooltipFormat: "HH:mm" }, grid: { display: false }, border: { color: ink("line") }, ticks: { ...ticks, maxRotation: 0, autoSkipPadding: 16 } },
        y: { beginAtZero: true, suggestedMax: 1, grid, border: { display: false }, ticks },
      },
      plugins: { legend: { align: "start", labels: { color: ink("text"), boxWidth: 12, boxHeight: 3 } } },
    };
  }

  function draw() {
    for (const [name, lines] of Object.entries(LINES)) {
      const figure = document.getElementById(`chart-${name}`);
      const datasets = lines();
      const drawn = datasets.some((each) => each.data.some((point) => point.y !== null));
      figure.classList.toggle("blank", !drawn);
      figure.querySelector(".empty").textContent = name === "errors" && newest.at.length ? "No errors" : "Nothing measured yet";
      describe(figure, datasets);
      const chart = charts.get(name);
      if (!chart) charts.set(name, new Chart(figure.querySelector("canvas"), { type: "line", data: { datasets }, options: options() }));
      else {
        chart.data.datasets.forEach((old, i) => { if (datasets[i]) datasets[i].hidden = old.hidden; });
        chart.data.datasets = datasets;
        chart.options = options();
        chart.update();
      }
    }
    section.dataset.drawn = String(newest.at.length);
  }

  // Tells those who do not see the chart what it ends in.
  function describe(figure, datasets) {
    const title = figure.querySelector("b").textContent;
    const last = datasets.map(({ label, data }) => {
      const point = data.findLast?.((each) => each.y !== null);
      return point ? `${label} ${Number(point.y.toPrecision(3))}` : `${label} not measured`;
    });
    figure.querySelector("canvas").setAttribute("aria-label", `${title}: ${last.join(", ") || "none"}`);
  }

  async function take(answer) {
    newest = await answer.json();
    backlog.push({ x: newest.now * 1000, y: newest.waiting });
    if (backlog.length > 720) backlog.shift();
    draw();
  }

  const address = () => new URL(`${section.dataset.minutes}?minutes=${picked.value}`, location.href);
  const minutes = window.injector.follow(address, take, 5000);
  picked.addEventListener("change", minutes.soon);
  dark.addEventListener("change", () => newest && draw());
  minutes.ask();
})();
