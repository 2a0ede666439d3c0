// The panel: what is ticked, what it is worth, and what to do about it.

// Features beside the chosen ones that are seen at once.
const N_OTHERS = 8;

function makePanel(root, data) {
  const criterion = makeCriterion(data), replacements = makeReplacements(criterion);
  const { features } = criterion, name = (i) => features[i].label;
  const every = features.map((_, i) => i), start = every.filter((i) => features[i].chosen);
  const reference = criterion.measure(start), score = data.score_name;
  let current = start;

  // ---- What is said of a set

  // A change of R² is told as it is, one of J as a share of it.
  function change(value, from) {
    if (data.kind === "r2") return signed(value - from, 4);
    return from > 0 ? percent((value - from) / from) : signed(value - from, 3);
  }

  function worth(measured) {
    const parts = score === null || data.kind === "r2" ? [] : [`${score} ${fixed(measured.score, 4)}`];
    return [`${data.symbol} ${significant(measured.value)}`, ...parts].join(", ");
  }

  function compared(measured) {
    const text = change(measured.value, reference.value);
    if (!/[1-9]/.test(text)) return "as good as the chosen set";
    return `${text.slice(1)} ${text[0] === "+" ? "above" : "below"} the chosen set`;
  }

  function offer(found, words) {
    const button = element("button", { type: "button" }, "Put it in");
    button.addEventListener("click", () => {
      take([...current, found.feature], [named(name(found.feature)), " is in."]);
      boxes.get(found.feature).focus();
    });
    return [words, named(name(found.feature)), ` (${data.symbol} ${significant(found.value)}). `, button];
  }

  // ---- What can be done

  function take(subset, ...sentences) {
    current = [...subset].sort((i, j) => i - j);
    update(sentences);
  }

  function toggle(feature, isIn) {
    if (!isIn) {
      const rest = current.filter((i) => i !== feature);
      const found = replacements.replacement(current, feature);
      take(rest, ["Without ", named(name(feature)), "."], ...(found ? [offer(found, "Best in its place: ")] : []));
      return;
    }
    const rivals = replacements.clashes(current, feature);
    const sentences = [[named(name(feature)), " is in."]];
    if (rivals.length) sentences.push([...listed(rivals.map(name)), rivals.length > 1 ? " are" : " is", " out: constraints keep them apart."]);
    take([...current.filter((i) => !rivals.includes(i)), feature], ...sentences);
  }

  // ---- What is seen

  const boxes = new Map(), cells = new Map();
  const says = element("div", { role: "status", "aria-live": "polite", class: "says" });
  const values = element("tbody");
  const hasScore = score !== null;
  const reset = element("button", { type: "button" }, "Back to the chosen set");

  // In the order of what they mean to the chosen set: members by what it loses without, others by what they save.
  function ordered() {
    const rank = new Map();
    for (const i of start) rank.set(i, -criterion.measure(start.filter((j) => j !== i)).value);
    for (const member of start) {
      for (const { feature, value } of replacements.ranked(start.filter((j) => j !== member), every.filter((i) => !start.includes(i)))) {
        rank.set(feature, Math.max(value, rank.get(feature) ?? -Infinity));
      }
    }
    const others = every.filter((i) => !start.includes(i));
    const byRank = (i, j) => (rank.get(j) ?? -Infinity) - (rank.get(i) ?? -Infinity) || i - j;
    return [...[...start].sort(byRank), ...others.sort(byRank)];
  }

  function row(i) {
    const feature = features[i], id = `what-if-${i}`;
    const box = element("input", { type: "checkbox", id });
    box.addEventListener("change", () => toggle(i, box.checked));
    const changes = [element("td"), element("td")];
    const instead = element("span", { class: "instead" });
    boxes.set(i, box);
    cells.set(i, { changes, instead });
    const label = element("label", { for: id }, box, named(feature.label));
    return element("tr", { "data-feature": i, class: feature.chosen ? "chosen" : null },
      element("th", { scope: "row" }, label, instead), ...(hasScore && data.kind !== "r2" ? changes : changes.slice(0, 1)));
  }

  // The rows after the first few wait behind a button.
  function folded(rows) {
    const later = rows.slice(Math.max(start.length + N_OTHERS, 0));
    if (later.length < 3) return [];
    const more = element("button", { type: "button", class: "more" }, `Show ${later.length} more`);
    later.forEach((each) => { each.hidden = true; });
    more.addEventListener("click", () => {
      later.forEach((each) => { each.hidden = false; });
      later[0].querySelector("input").focus();
      more.remove();
    });
    return [more];
  }

  // Up and down, from row to row.
  function move(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step || event.target.type !== "checkbox") return;
    const all = [...root.querySelectorAll("tr:not([hidden]) input[type=checkbox]:not(:disabled)")];
    all[Math.min(all.length - 1, Math.max(0, all.indexOf(event.target) + step))].focus();
    event.preventDefault();
  }

  function line(title, ...texts) {
    return element("tr", {}, element("th", { scope: "row" }, title), ...texts.map((text) => element("td", {}, text)));
  }

  function update(sentences) {
    const measured = criterion.measure(current), inside = new Set(current);
    const isStart = current.join() === start.join();
    const lines = [line("features", `${replacements.sizeOf(current)}`, `${replacements.sizeOf(start)}`, "")];
    lines.push(line(data.value_name, significant(measured.value), significant(reference.value), isStart ? "" : change(measured.value, reference.value)));
    if (hasScore && data.kind !== "r2") {
      lines.push(line(data.score_title, fixed(measured.score, 4), fixed(reference.score, 4), isStart ? "" : signed(measured.score - reference.score, 4)));
    }
    for (const { title, value } of data.measured) lines.push(line(title, isStart ? fixed(value, 4) : "not measured", fixed(value, 4), ""));
    values.replaceChildren(...lines);
    const last = isStart ? `This is the chosen set: ${worth(measured)}.` : `${worth(measured)}; ${compared(measured)}.`;
    const verb = (some, one, more) => [...listed(some.map(name)), some.length > 1 ? more : one];
    const faults = [];
    if (measured.collinear.length) faults.push([...verb(measured.collinear, " follows", " follow"), " from the others, and adds nothing."]);
    if (measured.misled.length) faults.push([...verb(measured.misled, " has", " have"), " another sign than asked for, in the discriminant."]);
    says.replaceChildren(...[...sentences.slice(0, 1), [last], ...sentences.slice(1), ...faults].map((each) => element("p", {}, ...each)));
    for (const i of every) updateRow(i, inside.has(i), measured);
  }

  function updateRow(i, isIn, measured) {
    const box = boxes.get(i), { changes, instead } = cells.get(i);
    box.checked = isIn;
    box.disabled = features[i].required;
    const other = criterion.measure(isIn ? current.filter((j) => j !== i) : [...current, i]);
    const idle = !isIn && other.collinear.includes(i), closed = !isIn && replacements.clashes(current, i).length > 0;
    changes[0].textContent = closed ? "–" : idle ? "nothing" : change(other.value, measured.value);
    changes[1].textContent = closed || idle || !hasScore ? "" : signed(other.score - measured.score, 4);
    const found = isIn && !features[i].required ? replacements.replacement(current, i) : null;
    instead.replaceChildren(...(found ? ["or ", named(name(found.feature)), `: ${change(found.value, measured.value)}`] : []));
  }

  reset.addEventListener("click", () => take(start));
  root.addEventListener("keydown", move);
  const rows = ordered().map(row);
  const heads = data.kind === "r2" ? ["change of R²"] : ["change of J", ...(hasScore ? [`of ${score}`] : [])];
  root.replaceChildren(
    says,
    element("div", { class: "answer" },
      element("table", { "data-table": "what-if" },
        element("thead", {}, element("tr", {}, element("td"), ...["this set", "chosen set", "change"].map((text) => element("th", { scope: "col" }, text)))),
        values),
      element("p", { class: "controls" }, reset)),
    element("table", { "data-table": "what-if-features" },
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "in the set"),
        ...heads.map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...rows)),
    ...folded(rows));
  update([]);
  return { criterion, get current() { return current; } };
}

for (const root of document.querySelectorAll("[data-what-if]")) {
  const panel = makePanel(root, JSON.parse(document.getElementById(root.dataset.whatIf).textContent));
  // For those who would rather ask by program: the console of the browser, and tests.
  globalThis.safdrWhatIf = { panel, makeCriterion, makeReplacements, normalShare };
  document.querySelectorAll("[data-needs-script]").forEach((each) => { each.remove(); });
}
