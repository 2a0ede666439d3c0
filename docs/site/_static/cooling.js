// Replicas of a search that the engine did, step by step; see docs/site_cooling.py for the data.
(() => {
  "use strict";
  const data = window.safdrCooling;
  const slider = document.getElementById("cooling-step");
  const play = document.getElementById("cooling-play");
  const told = document.getElementById("cooling-told");
  const SVG = "http://www.w3.org/2000/svg";

  function add(parent, name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  // ---- Values: dots on a line, piled up where they would cover each other.
  const WIDTH = 420, LEFT = 12, RIGHT = 12, FLOOR = 118, DOT = 3.5;
  const lowest = Math.min(...data.values.flat()), highest = Math.max(data.best, ...data.values.flat());
  const x = (value) => LEFT + ((value - lowest) / (highest - lowest)) * (WIDTH - LEFT - RIGHT);
  const values = document.getElementById("cooling-values");
  add(values, "line", { x1: LEFT, x2: WIDTH - RIGHT, y1: FLOOR + 6, y2: FLOOR + 6, class: "rule" });
  for (let value = Math.ceil(lowest); value <= highest; value += 1) {
    add(values, "text", { x: x(value), y: FLOOR + 22, "text-anchor": "middle" }, value);
  }
  add(values, "line", { x1: x(data.best), x2: x(data.best), y1: 6, y2: FLOOR + 6, class: "best" });
  const dots = data.values[0].map(() => add(values, "circle", { r: DOT, cx: 0, cy: FLOOR, class: "dot" }));

  // ---- Features: the most held at the end come first.
  const held = (step) => {
    const counts = new Array(data.names.length).fill(0);
    for (const subset of data.subsets[step]) for (const feature of subset) counts[feature] += 1;
    return counts;
  };
  const last = held(data.subsets.length - 1);
  const order = last.map((_, i) => i).sort((a, b) => last[b] - last[a] || a - b);
  const features = document.getElementById("cooling-features");
  const bars = new Map(order.map((feature, row) => {
    const y = 14 * row;
    add(features, "text", { x: 146, y: y + 10, "text-anchor": "end" }, data.names[feature]);
    return [feature, add(features, "rect", { x: 152, y: y + 1, width: 0, height: 11, class: "bar" })];
  }));

  function show(step) {
    const piles = new Map();
    const places = data.values[step].map((value, i) => [value, i]).sort((a, b) => a[0] - b[0]);
    for (const [value, i] of places) {
      const slot = Math.round(x(value) / (2 * DOT));
      const height = piles.get(slot) ?? 0;
      piles.set(slot, height + 1);
      dots[i].setAttribute("cx", x(value));
      dots[i].setAttribute("cy", FLOOR - Math.min(height * 2 * DOT * 0.75, FLOOR - DOT));
    }
    held(step).forEach((count, feature) => bars.get(feature).setAttribute("width", (count / 50) * 260));
    const mean = data.values[step].reduce((a, b) => a + b, 0) / data.values[step].length;
    const apart = new Set(data.subsets[step].map((subset) => subset.join())).size;
    told.value = `Step ${step} of ${data.values.length - 1}: β = ${data.beta[step].toFixed(1)}, ` +
      `mean value ${mean.toFixed(2)}, ${apart} different subsets` +
      (step ? `, ${Math.round(100 * data.acceptance[step])} % of swaps accepted` : " (random)");
  }

  let timer = null;
  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }
  slider.max = data.values.length - 1;
  slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
  play.addEventListener("click", () => {
    if (timer !== null) return stop();
    if (slider.value === slider.max) slider.value = 0;
    play.textContent = "Pause";
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      show(Number(slider.value));
      if (slider.value === slider.max) stop();
    }, 300);
  });
  show(0);
})();
