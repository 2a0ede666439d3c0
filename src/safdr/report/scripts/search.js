// The best set of a size, as constraints and wishes allow: all sets where they are few, else greedy steps and swaps.

// Sets that are tried one by one; places to climb from, and multiplications that take some tenths of a second.
const MOST_SETS = 30000;
const MOST_STARTS = 120;
const MOST_WORK = 5e7;
// A step counts as better where it raises the value by more than this share of it.
const BETTER = 1e-9;

function makeSearch(criterion) {
  const { features, valued } = criterion, n = features.length;
  const every = features.map((_, i) => i), factor = criterion.makeFactor();
  const isApart = new Set(criterion.data.rivals.flatMap(([i, j]) => [i * n + j, j * n + i]));
  const sizeOf = (subset) => subset.reduce((sum, i) => sum + features[i].count, 0);
  const without = (subset, member) => subset.filter((i) => i !== member);
  const clashes = (subset, feature) => isApart.size === 0 ? [] : subset.filter((i) => isApart.has(i * n + feature));

  // Wishes are "in" or "out", by feature; constraints wish too.
  const fixedBy = (wishes) => every.filter((i) => features[i].required || wishes.get(i) === "in");
  const freeBy = (wishes) => every.filter((i) => !features[i].required && !wishes.has(i));

  // Features that could join a set, with the value then; the best first.
  function ranked(subset, candidates) {
    const found = [];
    factor.restart(subset);
    for (const feature of candidates) {
      if (subset.includes(feature) || clashes(subset, feature).length) continue;
      if (factor.push(feature)) found.push({ feature, value: factor.value });
      factor.pop();
    }
    return found.sort((x, y) => y.value - x.value);
  }

  // The best of them that leaves no other without anything of its own, or with the wrong sign.
  function bestOf(subset, candidates, least = -Infinity) {
    for (const each of ranked(subset, candidates)) {
      if (each.value <= least) return null;
      if (valued([...subset, each.feature]).isAllowed) return each;
    }
    return null;
  }

  // What would best take the place of a member, of those that count the same.
  function inPlaceOf(subset, member, free, least) {
    const same = free.filter((i) => features[i].count === features[member].count && !subset.includes(i));
    return bestOf(without(subset, member), same, least);
  }

  const replacement = (subset, member, wishes) => inPlaceOf(subset, member, freeBy(wishes));

  function grown(start, size, free) {
    let subset = start;
    for (let room = size - sizeOf(subset); room > 0; room = size - sizeOf(subset)) {
      const next = bestOf(subset, free.filter((i) => features[i].count <= room));
      if (next === null) return null;
      subset = [...subset, next.feature];
    }
    return subset;
  }

  function pruned(start, size, free) {
    let subset = start;
    for (let over = sizeOf(subset) - size; over > 0; over = sizeOf(subset) - size) {
      const rests = free.filter((i) => subset.includes(i) && features[i].count <= over).map((i) => without(subset, i));
      if (!rests.length) return null;
      const values = rests.map((rest) => valued(rest).value);
      subset = rests[values.indexOf(Math.max(...values))];
    }
    const isAllowed = !subset.some((i) => clashes(subset, i).length) && valued(subset).isAllowed;
    return isAllowed && sizeOf(subset) === size ? subset : null;
  }

  // Each member gives way to what is better in its place, until none does.
  function climbed(start, free) {
    let subset = start, { value } = valued(start);
    for (let unchanged = 0; unchanged < start.length;) {
      const [member, ...rest] = subset;
      const least = value + BETTER * Math.abs(value);
      const found = free.includes(member) ? inPlaceOf(subset, member, free, least) : null;
      unchanged = found === null ? unchanged + 1 : 1;
      value = found?.value ?? value;
      subset = [...rest, found?.feature ?? member];  // its turn comes again after all others
    }
    return { subset, value };
  }

  // Every set of the size, or null where there are too many of them.
  function bestOfAll(size, fixed, free, mostSets) {
    if (ways(free.length, size - sizeOf(fixed)) > mostSets || free.some((i) => features[i].count !== 1)) return null;
    const members = every.filter((i) => fixed.includes(i) || free.includes(i));
    let best = { subset: null, value: -Infinity }, tried = 0;
    function descend(at, room, adds) {
      if (at === members.length) {
        if (room > 0) return;
        tried += 1;
        if (adds && factor.value > best.value && valued(factor.members).isAllowed) best = { subset: [...factor.members], value: factor.value };
        return;
      }
      const feature = members[at], isFixed = fixed.includes(feature);
      if (isFixed || (room > 0 && !clashes(factor.members, feature).length)) {
        const addsToo = factor.push(feature);
        descend(at + 1, isFixed ? room : room - 1, adds && addsToo);
        factor.pop();
      }
      if (!isFixed && room < members.length - at) descend(at + 1, room, adds);
    }
    factor.restart([]);
    descend(0, size - sizeOf(fixed), true);
    return best.subset === null ? null : { ...best, tried, how: "tried" };
  }

  // Down from all features, up from the chosen ones, from each and from pairs; as many starts as time allows.
  function bestByGreed(size, fixed, free) {
    const columns = criterion.nColumns / n, work = 3 * size * free.length * columns * (size * columns) ** 2;
    const nStarts = Math.min(MOST_STARTS, 2 + Math.floor(MOST_WORK / work)), all = [...fixed, ...free];
    const chosen = [...fixed, ...free.filter((i) => features[i].chosen)];
    const pairs = free.flatMap((i, at) => free.slice(at + 1).map((j) => [...fixed, i, j]));
    const ends = n ** 2 * criterion.nColumns ** 3 / 12 < MOST_WORK ? [pruned(all, size, free)] : [];
    for (const start of [chosen, fixed, ...free.map((i) => [...fixed, i]), ...pairs].slice(0, nStarts)) {
      ends.push(sizeOf(start) > size ? pruned(start, size, free) : grown(start, size, free));
    }
    let best = null;
    const seen = new Set();
    for (const end of ends) {
      const key = end === null ? "" : [...end].sort((i, j) => i - j).join();
      if (end === null || sizeOf(end) !== size || seen.has(key)) continue;
      seen.add(key);
      const found = climbed(end, free);
      if (best === null || found.value > best.value) best = { ...found, how: "greedy" };
    }
    return best;
  }

  // The proven ones of the report are of all features, not of these alone.
  function proven(size, wishes) {
    const known = criterion.data.proven;
    const fits = (set) => [...wishes].every(([i, wish]) => (wish === "in") === set.includes(i)) && valued(set).isAllowed;
    const subset = size === known.size ? known.sets.find(fits) : undefined;
    return subset === undefined ? null : { subset, value: valued(subset).value, how: "proven" };
  }

  // {subset, value, how}: how is "proven", "tried" (all sets, as many as `tried`) or "greedy". Null where there is none.
  function best(size, wishes, mostSets = MOST_SETS) {
    const fixed = fixedBy(wishes);
    if (sizeOf(fixed) > size || fixed.some((i) => clashes(fixed, i).length)) return null;
    const free = freeBy(wishes).filter((i) => !clashes(fixed, i).length);
    return proven(size, wishes) ?? bestOfAll(size, fixed, free, mostSets) ?? bestByGreed(size, fixed, free);
  }

  return { best, replacement, ranked, clashes, sizeOf };
}

function ways(n, k) {
  if (k < 0 || k > n) return 0;
  let product = 1;
  for (let i = 1; i <= k; i++) product = product * (n - k + i) / i;
  return Math.round(product);
}
