"use strict";
(() => {
  // A column with a smaller share of residual variance adds nothing.
  const COLLINEAR = 1e-9;
  const data = JSON.parse(document.getElementById("what-if-data").textContent);
  const decoded = (packed) => new Float64Array(Uint8Array.from(atob(packed), (c) => c.charCodeAt(0)).buffer);
  const lower = decoded(data.A), D = decoded(data.D), nOutputs = data.n_outputs;
  const A = (i, j) => (i < j ? lower[j * (j + 1) / 2 + i] : lower[i * (i + 1) / 2 + j]);
  const features = data.features, every = features.map((_, i) => i), first = [0];
  features.forEach((each, i) => first.push(first[i] + each.n_columns));
  const apart = new Set(data.apart.flatMap(([i, j]) => [`${i},${j}`, `${j},${i}`]));
  const clashes = (set, i) => set.some((j) => apart.has(`${i},${j}`));
  const start = every.filter((i) => features[i].selected);
  let current = start;

  // trace(D' A^-1 D) of some features less their cost, by Cholesky; a column that follows from others adds nothing.
  function value(set) {
    const columns = [], rows = [], Z = [];
    let sum = 0;
    for (const i of [...set].sort((a, b) => a - b)) {
      sum -= features[i].cost;
      for (let column = first[i]; column < first[i + 1]; column++) {
        const row = [];
        let rest = A(column, column);
        columns.forEach((other, a) => {
          let x = A(column, other);
          for (let b = 0; b < a; b++) x -= row[b] * rows[a][b];
          row.push(x / rows[a][a]);
          rest -= row[a] ** 2;
        });
        if (rest <= COLLINEAR * A(column, column)) continue;
        row.push(Math.sqrt(rest));
        const z = [];
        for (let k = 0; k < nOutputs; k++) {
          let x = D[column * nOutputs + k];
          for (let a = 0; a < columns.length; a++) x -= row[a] * Z[a][k];
          z.push(x / row[columns.length]);
          sum += z[k] ** 2;
        }
        columns.push(column); rows.push(row); Z.push(z);
      }
    }
    return sum;
  }

  // The best feature in place of a member.
  function replacement(set, member) {
    const rest = set.filter((i) => i !== member);
    const free = every.filter((i) => !set.includes(i) && !clashes(rest, i));
    return free.map((i) => ({ feature: i, value: value([...rest, i]) })).sort((x, y) => y.value - x.value)[0];
  }

  // ---- What is shown

  const minus = (shown) => shown.replace("-", "\u2212");
  const number = (x) => minus(Math.abs(x) >= 1e4 || (x !== 0 && Math.abs(x) < 1e-3) ? x.toPrecision(4) : x.toFixed(Math.max(0, 3 - Math.floor(Math.log10(Math.abs(x) || 1)))));
  const percent = (share) => `${(100 * share).toFixed(Math.abs(share) < 0.01 ? 2 : 1)}\u00a0%`;
  function change(to, from) {
    const shown = data.kind === "r2" || from <= 0 ? (to - from).toFixed(4) : percent(to / from - 1);
    return /[1-9]/.test(shown) ? minus(to > from ? `+${shown}` : shown) : shown.replace("-", "");
  }
  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, each] of Object.entries(attributes)) made.setAttribute(name, each);
    made.append(...children);
    return made;
  }
  // Lines break at spaces and underscores.
  const named = (i) => element("bdi", {}, ...features[i].name.split(/(?<=_)/).flatMap((part) => [part, element("wbr", {})]));

  const says = element("p", { role: "status", class: "says" });
  const reset = element("button", { type: "button" }, "Back to the selected features");
  reset.addEventListener("click", () => { current = start; update(); });
  const rows = every.map((i) => {
    const box = element("input", { type: "checkbox" });
    box.addEventListener("change", () => {
      current = box.checked ? [...current, i] : current.filter((j) => j !== i);
      update();
    });
    const cell = element("td", {}), instead = element("td", {});
    const label = element("label", {}, box, named(i));
    return { box, cell, instead, row: element("tr", {}, element("th", { scope: "row" }, label), cell, instead) };
  });

  function update() {
    const now = value(current), before = value(start);
    const size = `${current.length} feature${current.length === 1 ? "" : "s"}`;
    const isStart = current.length === start.length && start.every((i) => current.includes(i));
    says.textContent = `${size}: ${data.criterion} ${number(now)}` + (isStart ? ", the selected ones." : `, ${change(now, before)} against the selected ones (${number(before)}).`);
    rows.forEach(({ box, cell, instead }, i) => {
      const isIn = current.includes(i), closed = !isIn && clashes(current, i);
      box.checked = isIn;
      box.disabled = features[i].required || closed;
      cell.textContent = closed ? "excluded" : change(value(isIn ? current.filter((j) => j !== i) : [...current, i]), now);
      const other = isIn && !features[i].required ? replacement(current, i) : undefined;
      instead.replaceChildren(...(other ? [named(other.feature), ` ${change(other.value, now)}`] : []));
    });
  }

  const gain = (i) => (start.includes(i) ? Number.MAX_VALUE : value([...start, i]));
  const order = every.map((i) => [i, gain(i)]).sort((x, y) => y[1] - x[1] || x[0] - y[0]).map(([i]) => i);
  const body = element("tbody", {}, ...order.map((i) => rows[i].row));
  const heads = ["in the subset", "change", "best replacement"].map((head) => element("th", { scope: "col" }, head));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body);
  document.getElementById("panel").replaceChildren(says, reset, element("div", { class: "scroll" }, table));
  update();
})();
