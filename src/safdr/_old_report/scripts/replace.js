// What may join a set, and what would best replace a member of it, as constraints allow.

function makeReplacements(criterion) {
  const { features, valued } = criterion, n = features.length;
  const every = features.map((_, i) => i), factor = criterion.makeFactor();
  const isApart = new Set(criterion.data.rivals.flatMap(([i, j]) => [i * n + j, j * n + i]));
  const sizeOf = (subset) => subset.reduce((sum, i) => sum + features[i].count, 0);
  const clashes = (subset, feature) => isApart.size === 0 ? [] : subset.filter((i) => isApart.has(i * n + feature));

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

  // The best that counts as much as the member and leaves no other collinear or with the wrong sign.
  function replacement(subset, member) {
    const rest = subset.filter((i) => i !== member);
    const same = every.filter((i) => !features[i].required && features[i].count === features[member].count && !subset.includes(i));
    return ranked(rest, same).find(({ feature }) => valued([...rest, feature]).isAllowed) ?? null;
  }

  return { replacement, ranked, clashes, sizeOf };
}
