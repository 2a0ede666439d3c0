// J(S) = trace(D_S'·A_SS⁻¹·D_S) of some features, by a Cholesky factor that grows and shrinks at its end.

// Numbers that Python wrote as base64 of little-endian doubles.
function decoded(text) {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
}

// The share of a normal distribution below x: a series near 0, a continued fraction in the tail.
function normalShare(x) {
  if (x < 0) return 1 - normalShare(-x);
  const density = Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
  if (x < 3) {
    let term = x, sum = x;
    for (let i = 3; term > 1e-17 * sum; i += 2) sum += term *= x * x / i;
    return 0.5 + density * sum;
  }
  let tail = x;
  for (let i = 60; i > 0; i--) tail = x + i / tail;
  return 1 - density / tail;
}

function makeCriterion(data) {
  const triangle = decoded(data.A), D = decoded(data.D), nOutputs = data.n_outputs;
  const features = data.features, first = [0];
  for (const feature of features) first.push(first.at(-1) + feature.indices.length);
  const nColumns = first.at(-1);
  const signs = features.flatMap((feature) => feature.signs), hasSigns = nOutputs === 1 && signs.some(Boolean);
  const A = new Float64Array(nColumns * nColumns);
  for (let i = 0, at = 0; i < nColumns; i++) {
    for (let j = 0; j <= i; j++) A[i * nColumns + j] = A[j * nColumns + i] = triangle[at++];
  }

  // Features in the order in which they were pushed; Z'·Z is what they explain.
  function makeFactor() {
    const L = new Float64Array(nColumns * nColumns), Z = new Float64Array(nColumns * nOutputs);
    const columns = [], members = [], marks = [];
    let value = 0;

    // One column; whether it has variance of its own.
    function pushColumn(column) {
      const at = columns.length, row = at * nColumns;
      const variance = A[column * nColumns + column];
      let own = variance;
      for (let i = 0; i < at; i++) {
        let sum = A[column * nColumns + columns[i]];
        const other = i * nColumns;
        for (let k = 0; k < i; k++) sum -= L[row + k] * L[other + k];
        L[row + i] = sum / L[other + i];
        own -= L[row + i] ** 2;
      }
      const isCollinear = own <= data.collinear_tol && own < 0.5 * variance;
      if (own <= 1e-13 * variance) return false;  // nothing is left but rounding
      L[row + at] = Math.sqrt(own);
      for (let k = 0; k < nOutputs; k++) {
        let rest = D[column * nOutputs + k];
        for (let i = 0; i < at; i++) rest -= L[row + i] * Z[i * nOutputs + k];
        Z[at * nOutputs + k] = rest / L[row + at];
        value += Z[at * nOutputs + k] ** 2;
      }
      columns.push(column);
      return !isCollinear;
    }

    return {
      // Whether the feature adds something of its own: a group does where one of its columns does.
      push(feature) {
        marks.push([columns.length, value]);
        members.push(feature);
        value -= features[feature].cost;
        let adds = false;
        for (let j = first[feature]; j < first[feature + 1]; j++) adds = pushColumn(j) || adds;
        return adds;
      },
      pop() {
        members.pop();
        [columns.length, value] = marks.pop();
      },
      // Begin anew with some features.
      restart(subset) {
        columns.length = members.length = marks.length = value = 0;
        return subset.filter((feature) => !this.push(feature));
      },
      members,
      get value() { return value; },
      // Columns whose coefficient, in L⁻ᵀ·Z = A⁻¹·D, has another sign than it must.
      get wrong() {
        const weights = [];
        for (let i = columns.length - 1; i >= 0; i--) {
          let rest = Z[i];
          for (let k = i + 1; k < columns.length; k++) rest -= L[k * nColumns + i] * weights[k];
          weights[i] = rest / L[i * nColumns + i];
        }
        return columns.filter((column, i) => signs[column] * weights[i] < 0);
      },
      get explained() { return Z.subarray(0, columns.length * nOutputs); },
    };
  }

  const own = makeFactor();

  // Of a subset: its value less cost, what follows from others, and what has the wrong sign.
  function valued(subset) {
    const collinear = own.restart([...subset].sort((i, j) => i - j));
    const wrong = hasSigns ? own.wrong : [];
    const misled = subset.filter((i) => wrong.some((column) => column >= first[i] && column < first[i + 1]));
    return { value: own.value, collinear, misled, isAllowed: collinear.length + misled.length === 0 };
  }

  // The same, and the score that it stands for.
  function measure(subset) {
    return { ...valued(subset), score: score(own.explained) };
  }

  const means = data.class_means === null ? null : decoded(data.class_means);

  function score(explained) {
    if (data.kind === "r2") return explained.reduce((sum, z) => sum + z * z, 0);
    if (data.kind !== "fisher") return null;
    const n = data.shares.length;
    // Means of the classes in units in which A is the identity.
    const places = data.shares.map((_, c) => {
      const place = [];
      for (let i = 0; i < explained.length; i += nOutputs) {
        let sum = 0;
        for (let k = 0; k < nOutputs; k++) sum += explained[i + k] * means[k * n + c];
        place.push(sum);
      }
      return place;
    });
    let total = 0;
    for (let c = 0; c < n; c++) {
      for (let other = 0; other < c; other++) {
        const apart = places[c].reduce((sum, x, i) => sum + (x - places[other][i]) ** 2, 0);
        const weight = data.shares[other] / (1 - data.shares[c]) + data.shares[c] / (1 - data.shares[other]);
        total += weight / n * normalShare(Math.sqrt(n / 2 * apart));
      }
    }
    return total;
  }

  return { data, features, makeFactor, valued, measure, nColumns };
}
