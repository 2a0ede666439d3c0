"""The linear model in a result: its terms, its outputs, and both evaluated in NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

FloatArray = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]

OUTPUTS = {"identity": ["prediction"], "logit": ["log_odds", "probability"]}


class ExportError(ValueError):
    """A result that cannot be exported, with the reason."""


@dataclass(frozen=True)
class Points:
    """Points of a scorecard: ``offset - factor * log_odds``."""

    points_to_double: float = 20.0
    base_points: float = 600.0
    base_odds: float = 50.0

    @property
    def factor(self) -> float:
        """Points for one unit of the log-odds."""
        return self.points_to_double / math.log(2)

    @property
    def offset(self) -> float:
        """Points at even odds."""
        return self.base_points - self.factor * math.log(self.base_odds)


@dataclass(frozen=True)
class Term:
    """A column, or whether it equals a value, with its coefficients.

    `fill` stands for a missing value; without it, a missing value has no prediction.
    """

    column: str
    equals: Any
    coefficients: tuple[float, ...]
    low: float
    high: float
    fill: float | None
    sd: float

    @property
    def is_text(self) -> bool:
        """Return True if the column is compared with a text."""
        return isinstance(self.equals, str)

    def clip(self, value: float) -> float:
        """Return the value between the ends of the training range."""
        return min(max(float(value), self.low), self.high)

    def values(self, columns: Columns) -> FloatArray:
        """Return the term of rows; NaN for a missing value without a fill."""
        given = columns[self.column]
        if self.is_text:
            missing = np.array([each is None or each == "" for each in given], dtype=bool)
            x = np.array([each == self.equals for each in given], dtype=np.float64)
        else:
            x = np.array([math.nan if each is None else each for each in given], dtype=np.float64)
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
    # How the table writes numbers that it holds as text, by column; exports expect numbers.
    examples: Mapping[str, str]
    points: Points | None = None

    @property
    def columns(self) -> list[str]:
        """Columns that the terms read, each once."""
        return list(dict.fromkeys(term.column for term in self.terms))

    @property
    def numbers_in_text(self) -> str:
        """A remark on columns that must be converted before, in ASCII on one line, or nothing."""
        listed = ", ".join(f"{name!a} ({text!a})" for name, text in self.examples.items())
        return f"Pass these columns as numbers: {listed}." if listed else ""

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
        total = np.tile(self.intercepts, (_n_rows(columns), 1))
        for term in self.terms:
            total = total + np.outer(term.values(columns), term.coefficients)
        return total

    def numbers(self, sums: FloatArray) -> FloatArray:
        """Return the numeric outputs of rows, one column each."""
        if self.link == "softmax":
            return np.asarray(softmax(sums, axis=1))
        if self.link == "identity":
            return sums if self.limits is None else np.clip(sums, *self.limits)
        found = [sums, expit(sums)]
        if self.points:
            found.append(self.points.offset - self.points.factor * sums)
        return np.hstack(found)

    def size(self, columns: Columns) -> FloatArray:
        """Return the sum of the sizes of all parts of a score, which rounding grows with."""
        found = np.full(_n_rows(columns), np.abs(self.intercepts).max())
        for term in self.terms:
            found += np.abs(term.values(columns)) * np.abs(term.coefficients).max()
        return found


def read_model(content: Mapping[str, Any], points: Sequence[float] | None = None) -> Model:
    """Read the model of a result, or say why it cannot be exported."""
    model, target = content.get("model", {}), content["target"]
    if model.get("link") not in (*OUTPUTS, "softmax") or "terms" not in model:
        raise ExportError(
            f"Only linear models can be exported; this model is {model.get('kind', 'unknown')!r}. "
            "Save the fitted selector with joblib instead."
        )
    if not model["terms"]:
        raise ExportError("The model has no features, so that there is nothing to export.")
    if points is not None and model["link"] != "logit":
        raise ExportError(
            f"Points need a logistic model of two classes; this model is {model['kind']!r}. "
            "Export it as .py, .sql or .onnx without points."
        )
    listed = content.get("data", {}).get("columns", [])
    terms = tuple(map(_read_term, model["terms"]))
    return Model(
        link=model["link"],
        intercepts=tuple(map(float, model["intercepts"])),
        terms=terms,
        classes=tuple(target.get("classes", ())),
        target=str(target.get("name", "target")),
        limits=tuple(map(float, model["range"])) if "range" in model else None,  # type: ignore[arg-type]
        names=frozenset(each["name"] for each in listed) | {term.column for term in terms},
        examples={
            each["name"]: each["example"]
            for each in listed
            if "example" in each and any(term.column == each["name"] for term in terms)
        },
        points=None if points is None else Points(*map(float, points)),
    )


def _read_term(term: Mapping[str, Any]) -> Term:
    found = Term(
        column=term["column"],
        equals=term.get("equals"),
        coefficients=tuple(map(float, term["coefficients"])),
        low=float(term.get("low", -math.inf)),
        high=float(term.get("high", math.inf)),
        fill=None,
        sd=float(term.get("sd", 1.0)),
    )
    return replace(found, fill=found.clip(term["missing"])) if "missing" in term else found


def evaluate(content: Mapping[str, Any], columns: Any) -> FloatArray:
    """Return the linear scores of rows, given as columns of values by name."""
    model = read_model(content)
    return model.sums({name: as_array(columns[name]) for name in model.columns})


def as_array(values: Any) -> NDArray[Any]:
    """Return the values of a column of any kind of table."""
    listed = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    found = np.empty(len(listed), dtype=object)
    found[:] = [None if each != each else each for each in listed]
    return found


def example_rows(model: Model, n_rows: int = 300) -> dict[str, NDArray[Any]]:
    """Return rows made from the terms: within the range, beyond it, missing, and each category."""
    rng = np.random.default_rng(0)
    return {name: as_array(_example_column(model, name, n_rows, rng)) for name in model.columns}


def _example_column(model: Model, name: str, n_rows: int, rng: Any) -> list[Any]:
    terms = [term for term in model.terms if term.column == name]
    missing = [] if any(term.fill is None for term in terms) else [None]
    values: list[Any] = [term.equals for term in terms if term.equals is not None]
    if values:
        other = "another value" if terms[0].is_text else max(map(float, values)) + 1.0
        values.append(False if values == [True] else other)
    else:
        (term, *_) = terms
        middle, scale = term.clip(term.fill or 0.0), term.sd or 1.0
        ends = [each for each in (term.low, term.high) if math.isfinite(each)]
        values = [*ends, *(each + side * scale for each in ends for side in (-1, 1))]
        values += (middle + scale * rng.normal(size=20)).tolist()
    choices = [*values, *missing]
    return [choices[i] for i in rng.integers(len(choices), size=n_rows)]


def unused(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return the names with as many underscores as no other name has, whatever the case."""
    known = {name.casefold() for name in taken}
    found = []
    for name in names:
        while name.casefold() in known:
            name += "_"
        known.add(name.casefold())
        found.append(name)
    return found


def _n_rows(columns: Columns) -> int:
    return len(next(iter(columns.values())))
