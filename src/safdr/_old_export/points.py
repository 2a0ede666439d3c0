"""Points of a scorecard: log-odds on a scale that people agree on, shared out over the features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, log

import numpy as np

from safdr.errors import ParameterError
from safdr._old_table.recipe import FloatArray


@dataclass(frozen=True)
class Scale:
    """How log-odds become points.

    Odds are those of the first class against the second, the one whose log-odds the model gives:
    of good against bad. `base_points` are the points at odds of `base_odds` to one; each doubling
    of the odds adds `pdo` points, or takes them, where it is negative.
    """

    pdo: float = 20.0
    base_points: float = 600.0
    base_odds: float = 50.0
    # Whether the points of each feature are rounded to whole ones.
    whole: bool = False

    def __post_init__(self) -> None:
        for name in ("pdo", "base_points", "base_odds"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
                raise ParameterError(name, "must be a finite number; got {value!r}.", value=value)
        if self.pdo == 0:
            raise ParameterError(
                "pdo", "must not be 0: it is what points rise by where odds double, such as 20."
            )
        if self.base_odds <= 0:
            raise ParameterError(
                "base_odds",
                "must be above 0: it is how many of the first class there are for one of the "
                "second, such as 50; got {value:g}.",
                value=self.base_odds,
            )

    @property
    def factor(self) -> float:
        """Points for each unit of the log-odds of the first class."""
        return self.pdo / log(2.0)

    @property
    def offset(self) -> float:
        """Points where both classes are as likely."""
        return self.base_points - self.factor * log(self.base_odds)

    def in_words(self, first: str, second: str) -> str:
        """What points mean, for people."""
        change = "more" if self.pdo > 0 else "fewer"
        rounded = " Those of each feature are rounded to whole ones." if self.whole else ""
        return (
            f"{self.base_points:g} points stand for {self.base_odds:g} of {first} to one of "
            f"{second}; {abs(self.pdo):g} {change} double these odds.{rounded}"
        )

    def of_log_odds(self, log_odds: FloatArray) -> FloatArray:
        """Exact points of log-odds of the second class."""
        return self.offset - self.factor * log_odds


@dataclass(frozen=True)
class Points:
    """Points of a model: those of a typical row, and what each feature adds to them.

    A feature adds `per_unit` points for each unit that it is above its typical value (0 for what is
    0 or 1). In all, unless they are rounded, they are those of the model's log-odds.
    """

    scale: Scale
    base: float
    per_unit: tuple[float, ...]
    typical: tuple[float, ...]

    @classmethod
    def of_model(
        cls,
        scale: Scale,
        intercept: float,
        coefficients: Sequence[float],
        typical: Sequence[float],
    ) -> Points:
        """The points of log-odds that are linear in the features."""
        at_typical = intercept + float(np.dot(coefficients, typical))
        base = float(scale.of_log_odds(np.array(at_typical)))
        return cls(
            scale,
            float(np.floor(base + 0.5)) if scale.whole else base,
            tuple(-scale.factor * float(c) for c in coefficients),
            tuple(map(float, typical)),
        )

    @property
    def pairs(self) -> Iterator[tuple[float, float]]:
        """Points for a unit, and from which value on it is counted, of each feature."""
        return zip(self.per_unit, self.typical, strict=True)

    def added(self, values: FloatArray) -> FloatArray:
        """What each feature of each row adds."""
        exact = (values - np.array(self.typical)) * np.array(self.per_unit)
        return np.floor(exact + 0.5) if self.scale.whole else exact

    def total(self, values: FloatArray) -> FloatArray:
        """Points of each row."""
        total: FloatArray = self.base + self.added(values).sum(axis=1)
        return total

    def rounding(self, values: FloatArray, exact: FloatArray) -> tuple[float, float]:
        """By how many points rows differ from exact ones: at most, and on average."""
        error = np.abs(self.total(values) - exact)
        return float(error.max(initial=0.0)), float(error.mean()) if len(error) else 0.0


def typical_values(values: FloatArray) -> FloatArray:
    """The median of each feature; 0 of those that are 0 or 1 alone."""
    medians = np.median(values, axis=0)
    flags = np.isin(values, (0.0, 1.0)).all(axis=0)
    return np.where(flags, 0.0, medians)
