"""The model as a formula on columns of the table: what every export writes down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from safdr.export.errors import ExportError
from safdr.table.recipe import Feature, FloatArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Term:
    """A feature, its coefficient, and between what its values count."""

    feature: Feature
    coefficient: float
    low: float = -np.inf
    high: float = np.inf

    @property
    def is_clipped(self) -> bool:
        """Whether a value can lie beyond; a level is 0 or 1, and both were seen."""
        return self.feature.kind == "number" and bool(np.isfinite([self.low, self.high]).all())

    def values(self, table: pa.Table) -> FloatArray:
        """What the coefficient is multiplied with, of each row of a table."""
        return np.clip(self.feature.values(table), self.low, self.high)


@dataclass(frozen=True)
class Formula:
    """Log-odds of the positive class: an intercept and a sum of terms."""

    # One for each chosen feature.
    terms: tuple[Term, ...]
    # Log-odds where all features are 0.
    intercept: float
    # The column that is predicted.
    target: str
    # Its two classes.
    negative: str
    positive: str
    # Name of the table, for exports that need one.
    table: str

    def __post_init__(self) -> None:
        numbers = [self.intercept, *(term.coefficient for term in self.terms)]
        if not np.isfinite(numbers).all():
            raise ExportError(
                "The model has coefficients that are not finite; there is no formula."
            )
        if any(not term.feature.column for term in self.terms):
            raise ExportError(
                "A chosen feature comes from a column without a name, which no formula can refer "
                "to. Give the column a name."
            )

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

    def log_odds(self, table: pa.Table) -> FloatArray:
        """The log-odds of each row of a table."""
        total = np.full(table.num_rows, self.intercept)
        for term in self.terms:
            total += term.coefficient * term.values(table)
        return total

    def magnitude(self, table: pa.Table) -> FloatArray:
        """The sum of the sizes of all terms of each row, which says how far its sum is rounded."""
        total = np.full(table.num_rows, abs(self.intercept))
        for term in self.terms:
            total += np.abs(term.coefficient * term.values(table))
        return total

    def probability(self, table: pa.Table) -> FloatArray:
        """The probability of the positive class of each row of a table."""
        return np.asarray(expit(self.log_odds(table)))


def whole_text(text: str) -> str:
    """The text, if UTF-8 can hold it; the name of a file may be of other bytes."""
    if any("\ud800" <= each <= "\udfff" for each in text):
        raise ExportError(f"There is no way to write half a character (a surrogate) in {text!r}.")
    return text


def unused_name(wanted: str, taken: set[str]) -> str:
    """A name that no column has, compared as databases do: without regard to case."""
    folded = {name.casefold() for name in taken}
    while wanted.casefold() in folded:
        wanted += "_"
    return wanted
