"""Random problems for the estimators: nasty columns, targets, weights, constraints, parameters."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from safdr import Annealing, Constraints

CONTAINERS = ("array", "array", "pandas", "polars", "sparse", "fortran")


@dataclass
class Case:
    """One problem. `X` is dense; `container` says how the estimator gets it."""

    X: np.ndarray
    y: np.ndarray
    classes: int  # 0: measured outputs
    weight: np.ndarray | None
    size: int
    container: str
    rules: dict[str, Any]
    parameters: dict[str, Any]
    class_weight: Any = None

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    def table(self, X: np.ndarray | None = None) -> Any:
        """The rows in their container."""
        X = self.X if X is None else X
        names = [f"f{j}" for j in range(X.shape[1])]
        if self.container == "pandas":
            return pd.DataFrame(X, columns=names)
        if self.container == "polars":
            return pl.DataFrame({name: X[:, j] for j, name in enumerate(names)})
        if self.container == "sparse":
            return sparse.csr_array(X)
        return np.asfortranarray(X) if self.container == "fortran" else X

    def row_weights(self) -> np.ndarray:
        """Weights of the rows, those of the classes multiplied in."""
        weight = np.ones(len(self.y)) if self.weight is None else self.weight.astype(float)
        if self.class_weight == "balanced":
            totals = {c: weight[self.y == c].sum() for c in np.unique(self.y)}
            share = weight.sum() / len(totals)
            weight = weight * share / np.array([totals[c] for c in self.y])
        elif self.class_weight is not None:
            weight = weight * np.array([self.class_weight.get(c, 1.0) for c in self.y])
        return weight

    def units(self) -> list[tuple[int, ...]]:
        """Groups, and the other columns by themselves."""
        groups = [tuple(group) for group in self.rules.get("groups", [])]
        grouped = {j for group in groups for j in group}
        return groups + [(j,) for j in range(self.n_features) if j not in grouped]

    def counts(self, unit: tuple[int, ...]) -> int:
        """What a unit counts towards the size."""
        return len(unit) if self.rules.get("count_by") == "column" else 1

    @property
    def limits(self) -> dict[str, Any]:
        """The rules as parameters of an estimator."""
        rules = dict(self.rules)
        cost = {"feature_cost": rules.pop("feature_cost")} if "feature_cost" in rules else {}
        return {"constraints": Constraints(**rules), **cost}

    def keeps_rules(self, subset: tuple[int, ...]) -> bool:
        """Whether the columns are allowed together, whatever they count."""
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
        """All subsets of the size, by trying every selection of units."""
        units, found = self.units(), []
        for n in range(1, len(units) + 1):
            for some in combinations(units, n):
                if sum(map(self.counts, some)) == self.size:
                    subset = tuple(sorted(j for unit in some for j in unit))
                    if self.keeps_rules(subset):
                        found.append(subset)
        return found

    def contradicts_itself(self) -> bool:
        """Whether the rules are refused, whatever the size."""
        include = set(self.rules.get("always_include", []))
        exclude = set(self.rules.get("never_include", []))
        groups = [set(group) for group in self.rules.get("groups", [])]
        for one in self.rules.get("at_most_one_of", []):
            brought = include.union(*(g for g in groups if g & include))
            if len(brought & set(one)) > 1 or any(len(g & set(one)) > 1 for g in groups):
                return True
        return bool(include & exclude) or any(0 < len(g & exclude) < len(g) for g in groups)


def make(rng: np.random.Generator) -> Case:
    """A problem that is well posed, but for the rules, which may allow nothing."""
    n_classes = int(rng.choice([0, 0, 2, 2, 2, 3, 4, 5]))
    n_features = int(rng.integers(2, 9))
    n_rows = int(rng.choice([3, 6, 15, 40])) + 4 * max(n_classes, 1)
    codes = rng.permutation(np.arange(n_rows) % max(n_classes, 1))
    X = random_columns(rng, codes, n_features)
    y = random_labels(rng, codes, n_classes) if n_classes else random_outputs(rng, X)
    case = Case(
        X=X,
        y=y,
        classes=n_classes,
        weight=random_weights(rng, codes),
        size=1,
        container=str(rng.choice(CONTAINERS)),
        rules=random_rules(rng, n_features),
        parameters=_parameters(rng, n_classes) | {"C": np.inf},
    )
    if n_classes and rng.random() < 0.25:
        some = {label: float(rng.uniform(0.2, 5)) for label in np.unique(y).tolist()[:2]}
        case.class_weight = "balanced" if rng.random() < 0.5 else some
    if case.weight is not None and not np.ptp(case.X[case.weight > 0], axis=0).any():
        case.weight = None  # nothing would vary
    most = sum(map(case.counts, case.units()))
    case.size = int(rng.integers(1, most + 1))
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
    """Constraints on the subsets and costs of features, often none."""
    rules: dict[str, Any] = {}
    order = rng.permutation(n_features).tolist()
    if rng.random() < 0.3:
        cut = int(rng.integers(1, n_features + 1))
        rules["groups"] = [order[:cut], order[cut : cut + 2]] if cut < n_features else [order]
        rules["count_by"] = str(rng.choice(["group", "column"]))
    if rng.random() < 0.2:
        rules["always_include"] = order[: int(rng.integers(1, 3))]
    if rng.random() < 0.2:
        rules["never_include"] = rng.permutation(n_features)[:1].tolist()
    if rng.random() < 0.2 and n_features > 2:
        pairs = [rng.choice(n_features, 2, replace=False).tolist() for _ in range(2)]
        rules["at_most_one_of"] = pairs
    if rng.random() < 0.15:
        rules["feature_cost"] = (rng.integers(0, 3, n_features) / 20).tolist()
    return rules


def _parameters(rng: np.random.Generator, n_classes: int) -> dict[str, Any]:
    quiet = rng.random() < 0.5
    annealing = Annealing(
        n_replicas=int(rng.choice([20, 30])),
        sweeps=float(rng.choice([0.5, 1.0, 2.0])),
        temperature_step=float(rng.choice([0.3, 0.7])),
        max_steps=int(rng.choice([30, 60])),
        n_batches=1 if quiet else int(rng.integers(2, 5)),
        batch_fraction=1.0 if quiet else 0.5,
        batch_draw=str(rng.choice(["step", "step", "proposal"])),
        screen=[None, None, "auto", 3][rng.integers(4)],
    )
    return {
        "annealing": annealing,
        "criterion": str(rng.choice(["auto", "fisher" if n_classes else "r2"])),
        "ridge": float(rng.choice([1e-6, 1e-6, 1e-3, 0.1])),
        "random_state": int(rng.integers(2**31)),
    }
