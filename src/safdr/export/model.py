"""The linear model in a result: its terms, its outputs, and both evaluated in NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

FloatArray = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]

OUTPUTS = {
    "identity": ["prediction"],
    "log": ["prediction"],
    "log_hazard": ["risk_score"],
    "logit": ["log_odds", "probability"],
}


class ExportError(ValueError):
    """A result that cannot be exported, with the reason."""


@dataclass(frozen=True)
class Term:
    """A column, or whether it equals a value, with its coefficients.

    `fill` replaces a missing value; without it, a missing value has no prediction.
    """

    column: str
    equals: Any
    coefficients: tuple[float, ...]
    low: float
    high: float
    fill: float | None

    @property
    def is_text(self) -> bool:
        """Return True if the column is compared with a text."""
        return isinstance(self.equals, str)

    def clip(self, value: float) -> float:
        """Return the value between the ends of the training range."""
        return min(max(float(value), self.low), self.high)

    def values(self, columns: Columns) -> FloatArray:
        """Return the term of rows; NaN for a missing value without a fill."""
        column = columns[self.column]
        if self.is_text:
            missing = np.array([value is None or value == "" for value in column], dtype=bool)
            x = np.array([value == self.equals for value in column], dtype=np.float64)
        else:
            x = column.astype(np.float64)
            missing = ~np.isfinite(x)
            x = x if self.equals is None else (x == float(self.equals)).astype(np.float64)
        clipped = np.clip(x, self.low, self.high)
        return np.where(missing, math.nan if self.fill is None else self.fill, clipped)


@dataclass(frozen=True)
class Model:
    """What every export reads."""

    link: str
    intercepts: tuple[float, ...]
    terms: tuple[Term, ...]
    classes: tuple[Any, ...]
    target: str
    limits: tuple[float, float] | None
    names: frozenset[str]
    # For people: columns that must be converted before, in ASCII on one line; or nothing.
    remark: str
    # The reference value of each category.
    references: Mapping[str, str]
    # Offset and factor of a scorecard: points = offset - factor * log-odds.
    points: tuple[float, float] | None

    @property
    def columns(self) -> list[str]:
        """Columns that the terms read, each once."""
        return list(dict.fromkeys(term.column for term in self.terms))

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs that no column of the table has."""
        if self.link == "softmax":
            names = ["prediction", *(f"probability_{label}" for label in self.classes)]
        else:
            names = [*OUTPUTS[self.link], *(["points"] if self.points else [])]
        return unused(names, self.names)

    def sums(self, columns: Columns) -> FloatArray:
        """Return the linear scores of rows, one column for each intercept."""
        weights = np.array([term.coefficients for term in self.terms])
        return self._values(columns) @ weights + self.intercepts

    def size(self, columns: Columns) -> FloatArray:
        """Return the sum of the sizes of all parts of a score, which rounding grows with."""
        weights = np.array([np.abs(term.coefficients).max() for term in self.terms])
        return np.abs(self._values(columns)) @ weights + np.abs(self.intercepts).max()

    def _values(self, columns: Columns) -> FloatArray:
        return np.column_stack([term.values(columns) for term in self.terms])

    def numbers(self, sums: FloatArray) -> FloatArray:
        """Return the numeric outputs of rows, one column each."""
        if self.link == "softmax":
            return np.asarray(softmax(sums, axis=1))
        if self.link == "log":
            return np.asarray(np.exp(sums))
        if self.link in ("identity", "log_hazard"):
            return sums if self.limits is None else np.clip(sums, *self.limits)
        offset, factor = self.points or (0.0, 0.0)
        outputs = [sums, expit(sums), offset - factor * sums]
        return np.hstack(outputs if self.points else outputs[:2])


def read_model(content: Mapping[str, Any], points: Sequence[float] | None = None) -> Model:
    """Read the model of a result; raise an error with the reason if it cannot be exported."""
    model, target = content["model"], content["target"]
    if model.get("link") not in (*OUTPUTS, "softmax") or "terms" not in model:
        raise ExportError(
            "Only linear models of classes or of one continuous target can be exported; this "
            f"model is {model['kind']!r}. Save the fitted selector with joblib instead."
        )
    if points is not None and model["link"] != "logit":
        raise ExportError(
            f"Points need a logistic model of two classes; this model is {model['kind']!r}. "
            "Export it as .py, .sql or .onnx without points."
        )
    columns = content.get("data", {}).get("columns", [])
    terms = tuple(map(_read_term, model["terms"]))
    used = {term.column for term in terms}
    examples = [c for c in columns if "example" in c and c["name"] in used]
    listed = ", ".join(f"{c['name']!a} ({c['example'].replace('→', '->')!a})" for c in examples)
    return Model(
        link=model["link"],
        intercepts=tuple(map(float, model["intercepts"])),
        terms=terms,
        classes=tuple(target.get("classes", ())),
        target=str(target.get("name", "target")),
        limits=tuple(map(float, model["range"])) if "range" in model else None,  # type: ignore[arg-type]
        names=frozenset(used.union(column["name"] for column in columns)),
        remark=f"Pass these columns as numbers: {listed}." if listed else "",
        references={
            c["name"]: c["reference"] for c in columns if "reference" in c and c["name"] in used
        },
        points=None if points is None else _offset_and_factor(*points),
    )


def _offset_and_factor(to_double: float, base: float, odds: float) -> tuple[float, float]:
    factor = to_double / math.log(2)
    return base - factor * math.log(odds), factor


def _read_term(term: Mapping[str, Any]) -> Term:
    low, high = float(term.get("low", -math.inf)), float(term.get("high", math.inf))
    return Term(
        column=term["column"],
        equals=term.get("equals"),
        coefficients=tuple(map(float, term["coefficients"])),
        low=low,
        high=high,
        fill=min(max(float(term["missing"]), low), high) if "missing" in term else None,
    )


def as_array(values: Any) -> NDArray[Any]:
    """Return the values of a column of any kind of table; None if missing."""
    listed = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    array = np.empty(len(listed), dtype=object)
    array[:] = [None if value != value else value for value in listed]
    return array


def example_rows(model: Model, n_rows: int = 300) -> dict[str, NDArray[Any]]:
    """Return rows made from the terms: within the range, beyond it, missing, and each category."""
    rng = np.random.default_rng(0)
    columns = {}
    for name in model.columns:
        choices = _examples([term for term in model.terms if term.column == name])
        columns[name] = as_array(choices[i] for i in rng.integers(len(choices), size=n_rows))
    return columns


def _examples(terms: Sequence[Term]) -> list[Any]:
    """Return values of a column: all that its terms compare, or the ends and beyond."""
    first = terms[0]
    missing = [] if any(term.fill is None for term in terms) else [None]
    if first.equals is not None:
        # "0", 0 or False is another value.
        return [*(term.equals for term in terms), type(first.equals)(0), *missing]
    low, high = max(first.low, -1e3), min(first.high, 1e3)
    return [*np.linspace(1.5 * low - 0.5 * high, 1.5 * high - 0.5 * low, 41).tolist(), *missing]


def unused(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return the names with as many underscores as no other name has, whatever the case."""
    known = {name.casefold() for name in taken}
    free = []
    for name in names:
        while name.casefold() in known:
            name += "_"
        known.add(name.casefold())
        free.append(name)
    return free
