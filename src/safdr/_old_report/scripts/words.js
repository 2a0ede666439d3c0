// Numbers and sentences of the panel, as the rest of the page writes them. Names are text, never markup.

// Characters of a name, as in the sentences of the page.
const LONGEST = 48;

const minus = (text) => text.replace("-", "−");
const fixed = (value, places) => minus(value.toFixed(places));
const percent = (share) => Math.abs(share) < 5e-5 ? "0\u00a0%" : `${share > 0 ? "+" : ""}${fixed(100 * share, Math.abs(share) < 0.1 ? 2 : 1)}\u00a0%`;
const counted = (n, noun) => `${n.toLocaleString("en").replace(/,/g, "\u2009")} ${noun}${n === 1 ? "" : "s"}`;

function signed(value, places) {
  const text = fixed(value, places);
  return /[1-9]/.test(text) ? (value > 0 ? `+${text}` : text) : text.replace("−", "");
}

// Four digits that count.
function significant(value) {
  if (value === 0) return "0";
  const places = 3 - Math.floor(Math.log10(Math.abs(value)));
  return places < 0 || places > 8 ? minus(value.toPrecision(4)) : fixed(value, places);
}

// An element with attributes and children; text is put in as text.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// A name, kept apart from the direction of its neighbours; of a long one the two ends, and all of it on hover.
function named(name) {
  const letters = Array.from(name), half = LONGEST / 2;
  if (letters.length <= LONGEST) return element("bdi", {}, name);
  return element("bdi", { title: name }, `${letters.slice(0, half).join("")}…${letters.slice(1 - half).join("")}`);
}

// Names one after the other.
function listed(names) {
  return names.flatMap((name, i) => [...(i ? [i === names.length - 1 ? " and " : ", "] : []), named(name)]);
}
