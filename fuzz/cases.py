"""Random problems: nasty columns, targets, weights, constraints and parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

CONTAINERS = ("array", "array", "pandas", "polars", "sparse", "fortran")


@dataclass
class Case:
    """One problem. `X` is dense; `container` is what the selector gets."""

    X: np.ndarray
    y: np.ndarray
    # 0 for a continuous target.
    n_classes: int
    size: int
    weight: np.ndarray | None = None
    container: str = "array"
    # Parameters of `Constraints`.
    rules: dict[str, Any] = field(default_factory=dict)
    cost: np.ndarray | None = None
    class_weight: Any = None
    C: float = np.inf
    shrinkage: Any = 1e-6
    # Parameters of `Annealing`.
    annealing: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    @property
    def costs(self) -> np.ndarray:
        """Cost of each feature."""
        return np.zeros(self.n_features) if self.cost is None else self.cost

    def table(self) -> Any:
        """Return the rows in their container."""
        X = self.X
        names = [f"f{j}" for j in range(self.n_features)]
        if self.container == "pandas":
            return pd.DataFrame(X, columns=names)
        if self.container == "polars":
            return pl.DataFrame({name: X[:, j] for j, name in enumerate(names)})
        if self.container == "sparse":
            return sparse.csr_array(X)
        return np.asfortranarray(X) if self.container == "fortran" else X

    def row_weights(self) -> np.ndarray:
        """Return the weights of the rows times those of the classes."""
        weight = np.ones(len(self.y)) if self.weight is None else self.weight.astype(float)
        if self.class_weight == "balanced":
            totals = {c: weight[self.y == c].sum() for c in np.unique(self.y)}
            share = weight.sum() / len(totals)
            weight = weight * share / np.array([totals[c] for c in self.y])
        elif self.class_weight is not None:
            weight = weight * np.array([self.class_weight.get(c, 1.0) for c in self.y])
        return weight

    def training_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, targets and weights of the rows that count."""
        weight = self.row_weights()
        kept = weight > 0
        return self.X[kept], self.y[kept], weight[kept]

    def units(self) -> list[tuple[int, ...]]:
        """Return the groups, and each other column."""
        groups = [tuple(group) for group in self.rules.get("groups", [])]
        grouped = {j for group in groups for j in group}
        return groups + [(j,) for j in range(self.n_features) if j not in grouped]

    def size_of(self, subset: Any) -> int:
        """Return the number of features of a subset; a group counts one."""
        return sum(set(subset).issuperset(unit) for unit in self.units())

    def is_allowed(self, subset: Any) -> bool:
        """Return True if a subset of any size keeps the rules."""
        chosen = set(subset)
        whole = all(chosen.issuperset(u) or chosen.isdisjoint(u) for u in self.units())
        rivals = [chosen.intersection(one) for one in self.rules.get("at_most_one_of", [])]
        return (
            whole
            and chosen.issuperset(self.rules.get("always_include", []))
            and chosen.isdisjoint(self.rules.get("never_include", []))
            and all(len(both) <= 1 for both in rivals)
        )

    def allowed(self) -> list[tuple[int, ...]]:
        """Return all subsets of the size, by trying every selection."""
        subsets = (
            tuple(sorted(j for unit in some for j in unit))
            for some in combinations(self.units(), self.size)
        )
        return [subset for subset in subsets if self.is_allowed(subset)]

    def contradicts_itself(self) -> bool:
        """Return True if the rules are refused at any size."""
        include = set(self.rules.get("always_include", []))
        exclude = set(self.rules.get("never_include", []))
        groups = [set(group) for group in self.rules.get("groups", [])]
        for one in self.rules.get("at_most_one_of", []):
            brought = include.union(*(g for g in groups if g & include))
            if len(brought & set(one)) > 1 or any(len(g & set(one)) > 1 for g in groups):
                return True
        return bool(include & exclude) or any(0 < len(g & exclude) < len(g) for g in groups)


def make_case(rng: np.random.Generator, n_features: int | None = None) -> Case:
    """Return a problem that is well posed, except that its rules may allow nothing."""
    n_classes = int(rng.choice([0, 0, 2, 2, 2, 3, 4, 5]))
    n_features = n_features or int(rng.integers(2, 9))
    n_rows = int(rng.choice([3, 6, 15, 40])) + 4 * max(n_classes, 1)
    codes = rng.permutation(np.arange(n_rows) % max(n_classes, 1))
    X = random_columns(rng, codes, n_features)
    y = random_labels(rng, codes, n_classes) if n_classes else random_outputs(rng, X)
    case = Case(
        X,
        y,
        n_classes,
        size=1,
        weight=random_weights(rng, codes),
        container=str(rng.choice(CONTAINERS)),
        rules=random_rules(rng, n_features),
        shrinkage=float(rng.choice([1e-6, 1e-6, 1e-3, 0.1])),
        annealing=random_annealing(rng),
        seed=int(rng.integers(2**31)),
    )
    if rng.random() < 0.15:
        case.cost = rng.integers(0, 3, n_features) / 20
    if n_classes and rng.random() < 0.25:
        some = {label: float(rng.uniform(0.2, 5)) for label in np.unique(y).tolist()[:2]}
        case.class_weight = "balanced" if rng.random() < 0.5 else some
    if case.weight is not None and not np.ptp(case.X[case.weight > 0], axis=0).any():
        case.weight = None  # nothing would vary
    case.size = int(rng.integers(1, len(case.units()) + 1))
    return case


def random_columns(rng: np.random.Generator, codes: np.ndarray, n_features: int) -> np.ndarray:
    """Columns of many kinds; some tell the classes apart."""
    n = len(codes)
    columns: list[np.ndarray] = []
    # All kinds, or mostly zeros, for which sparse rows are summed in their own way.
    kinds = "nnnnbcthkdls" if rng.random() < 0.8 else "rrrrrrnkds"
    while len(columns) < n_features:
        kind = rng.choice(list(kinds))
        signal = codes * rng.choice([0.0, 0.5, 1.5])
        if kind == "n":
            column = rng.normal(size=n) + signal
        elif kind == "b":
            column = (rng.random(n) < 0.2 + 0.5 * (signal > 0.5)).astype(float)
        elif kind == "c":
            column = rng.poisson(1.0 + signal).astype(float)
        elif kind == "t":
            column = rng.standard_t(1.1, size=n) + signal
        elif kind == "h":  # far from zero, up to a hundred million times the spread
            column = rng.normal(size=n) + 10.0 ** rng.integers(2, 9)
        elif kind == "k":
            column = np.full(n, rng.choice([0.0, 0.1, -7.0]))
        elif kind == "r":
            column = np.where(rng.random(n) < 0.15, rng.normal(size=n) + signal, 0.0)
        elif kind == "s":  # separates the first class from the others, all but exactly
            column = (codes > 0) + rng.choice([0.0, 1e-6]) * rng.normal(size=n)
        elif kind == "d" and columns:
            column = columns[rng.integers(len(columns))].copy()
        elif kind == "l" and len(columns) > 1:
            column = columns[-1] - 2.0 * columns[-2]
        else:
            continue
        columns.append(column * rng.choice([1.0, 1.0, 1e-6, 1e5, -3.0]))
    X = np.column_stack(columns)
    if not np.ptp(X, axis=0).any():
        X[:, 0] = rng.normal(size=n)
    return X


def random_labels(rng: np.random.Generator, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Labels of some type."""
    names = [
        np.arange(n_classes),
        np.array(["no", "yes", "maybe", "ä", "z"])[:n_classes],
        np.arange(n_classes) * 2.0 - 1.0,
        np.arange(n_classes) == 1 if n_classes == 2 else np.arange(n_classes) + 10,
    ]
    return names[rng.integers(len(names))][codes]


def random_outputs(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """One to three outputs that the columns explain in part."""
    n_outputs = int(rng.integers(1, 4))
    scale = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    y = Z @ rng.normal(size=(X.shape[1], n_outputs)) * (rng.random(n_outputs) < 0.8)
    y = y + rng.choice([0.01, 1.0]) * rng.normal(size=y.shape)
    y = y * rng.choice([1.0, 1e-5, 1e7]) + rng.choice([0.0, 1e3])
    return y[:, 0] if n_outputs == 1 and rng.random() < 0.8 else y


def random_weights(rng: np.random.Generator, codes: np.ndarray) -> np.ndarray | None:
    """None, whole numbers with some zeros, or numbers over some orders of magnitude."""
    kind = rng.integers(4)
    n = len(codes)
    if kind < 2:
        return None
    if kind == 2:
        weight = rng.integers(1, 4, n)
        for label in np.unique(codes):  # two rows of each class stay
            rows = np.flatnonzero(codes == label)[2:]
            weight[rows[rng.random(len(rows)) < 0.1]] = 0
        return weight
    return 10.0 ** rng.uniform(-float(rng.choice([0.3, 2.0])), 0.0, n)


def random_rules(rng: np.random.Generator, n_features: int) -> dict[str, Any]:
    """Return parameters of `Constraints`, often none."""
    rules: dict[str, Any] = {}
    order = rng.permutation(n_features).tolist()
    if rng.random() < 0.3:
        cut = int(rng.integers(1, n_features + 1))
        rules["groups"] = [order[:cut], order[cut : cut + 2]] if cut < n_features else [order]
    if rng.random() < 0.2:
        rules["always_include"] = order[: int(rng.integers(1, 3))]
    if rng.random() < 0.2:
        rules["never_include"] = rng.permutation(n_features)[:1].tolist()
    if rng.random() < 0.2 and n_features > 2:
        pairs = [rng.choice(n_features, 2, replace=False).tolist() for _ in range(2)]
        rules["at_most_one_of"] = pairs
    return rules


def random_annealing(rng: np.random.Generator) -> dict[str, Any]:
    """Return parameters of `Annealing`."""
    has_batches = rng.random() < 0.5
    return {
        "n_replicas": int(rng.choice([20, 30])),
        "sweeps": float(rng.choice([0.5, 1.0, 2.0])),
        "temperature_step": float(rng.choice([0.3, 0.7])),
        "max_steps": int(rng.choice([30, 60])),
        "n_batches": int(rng.integers(2, 5)) if has_batches else 1,
        "batch_fraction": 0.5 if has_batches else 1.0,
        "screen": [None, None, "auto", 3][rng.integers(4)],
    }
