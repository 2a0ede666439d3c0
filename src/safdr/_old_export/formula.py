"""The model as a formula on columns of the table: what every export writes down."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from safdr._old_export.errors import ExportError
from safdr._old_export.points import Points, Scale, typical_values
from safdr._old_table.recipe import Feature, FloatArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Term:
    """A feature, its coefficient in each sum, and between what its values count."""

    feature: Feature
    coefficients: tuple[float, ...]
    low: float = -np.inf
    high: float = np.inf

    @property
    def is_clipped(self) -> bool:
        """Whether a value can lie beyond; a level is 0 or 1, and both were seen."""
        return self.feature.kind == "number" and bool(np.isfinite([self.low, self.high]).all())

    def values(self, table: pa.Table) -> FloatArray:
        """What coefficients are multiplied with, of each row of a table."""
        return np.clip(self.feature.values(table), self.low, self.high)


@dataclass(frozen=True)
class Formula:
    """Intercepts and sums of terms: one sum, or one for each of more than two classes."""

    # One for each chosen feature.
    terms: tuple[Term, ...]
    # What sums are where all features are 0.
    intercepts: tuple[float, ...]
    # The column that is predicted.
    target: str
    # Its classes: of two, the sum is the log-odds of the second; a number has none.
    classes: tuple[str, ...]
    # Name of the table, for exports that need one.
    table: str
    # Points of a scorecard, where they are asked for.
    points: Points | None = None
    # Range to which the prediction of a number is clipped.
    low: float = -np.inf
    high: float = np.inf

    def __post_init__(self) -> None:
        numbers = [self.intercepts, *(term.coefficients for term in self.terms)]
        if not np.isfinite(numbers).all():
            raise ExportError(
                "The model has coefficients that are not finite; there is no formula."
            )
        if any(not term.feature.column for term in self.terms):
            raise ExportError(
                "A chosen feature comes from a column without a name, which no formula can refer "
                "to. Give the column a name."
            )
        if self.points is not None and len(self.classes) != 2:
            raise ExportError(
                "Points are for two classes: they stand for odds of one against the other."
            )

    def with_points(self, scale: Scale, table: pa.Table) -> Formula:
        """The same formula with points, counted from the typical values of a table."""
        values = np.column_stack([term.values(table) for term in self.terms])
        coefficients = [term.coefficients[0] for term in self.terms]
        typical = typical_values(values)
        points = Points.of_model(scale, self.intercepts[0], coefficients, typical.tolist())
        return self.with_these(points)

    def with_these(self, points: Points) -> Formula:
        """The same formula with points."""
        return replace(self, points=points)

    @property
    def is_clipped(self) -> bool:
        """Return True if the prediction is clipped to a range."""
        return bool(np.isfinite([self.low, self.high]).all())

    @property
    def columns(self) -> dict[str, Feature]:
        """The columns that the formula reads, each with a feature made from it."""
        return {term.feature.column: term.feature for term in reversed(self.terms)}

    def expected(self) -> dict[str, str]:
        """Columns of text that were read as numbers, and how; for those who pass numbers."""
        return {
            name: feature.reading.shown
            for name, feature in self.columns.items()
            if feature.reading.mark is not None
        }

    def sums(self, table: pa.Table) -> FloatArray:
        """The sums of each row of a table."""
        total = np.tile(np.array(self.intercepts), (table.num_rows, 1))
        for term in self.terms:
            total += np.outer(term.values(table), term.coefficients)
        return total

    def magnitude(self, table: pa.Table) -> FloatArray:
        """The sums of the sizes of all terms of each row, which say how far they are rounded."""
        total = np.tile(np.abs(self.intercepts), (table.num_rows, 1))
        for term in self.terms:
            total += np.abs(np.outer(term.values(table), term.coefficients))
        return total


def value_limits(estimator: Any) -> list[tuple[float, float]]:
    """Between what the values of each chosen feature count."""
    model = estimator.estimator_
    low, high = np.full((2, model.n_features_in_), [[-np.inf], [np.inf]])
    if hasattr(model, "data_min_"):
        low, high = model.data_min_, model.data_max_
    if estimator.clip_limits_ is not None:
        # Those of a model that does not extrapolate are at most these.
        least, most = estimator.clip_limits_[:, estimator.subset_]
        low, high = np.maximum(low, least), np.minimum(high, most)
    return [*zip(low.tolist(), high.tolist(), strict=True)]


def target_range(estimator: Any) -> tuple[float, float]:
    """Return the range to which the model clips its predictions."""
    model = estimator.estimator_
    if not getattr(model, "clip", False):
        return -np.inf, np.inf
    return float(model.target_min_), float(model.target_max_)


def whole_text(text: str) -> str:
    """The text, if UTF-8 can hold it; the name of a file may be of other bytes."""
    if any("\ud800" <= each <= "\udfff" for each in text):
        raise ExportError(f"There is no way to write half a character (a surrogate) in {text!r}.")
    return text


def unused_names(wanted: Iterable[str], taken: set[str]) -> list[str]:
    """Names that no column has, compared as databases do: without regard to case."""
    folded, found = {name.casefold() for name in taken}, []
    for name in wanted:
        while name.casefold() in folded:
            name += "_"
        folded.add(name.casefold())
        found.append(name)
    return found
