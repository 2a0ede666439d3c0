"""Two classes: log-odds, points of a scorecard, and probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from safdr._old_export.errors import ExportError
from safdr._old_export.log_odds import LogOdds
from safdr._old_export.points import Points
from safdr._old_table.recipe import FloatArray

if TYPE_CHECKING:
    from safdr._old_export.onnx import Graph
    from safdr._old_export.sql import Query


class ScoredPoints(LogOdds):
    """As log-odds and probability, and points in between, added up feature by feature."""

    about = "log-odds, points of a scorecard, and the probability of one class"
    python = (
        LogOdds.python.partition("def outputs(row):")[0]
        + '''\
# {about_points}
BASE_POINTS = {base}
# Of each of TERMS: points for a unit, and from which value on it is counted.
POINTS = {points}


def points(row):
    """Points of a row, a mapping from column to value."""
    return total(BASE_POINTS, points_by_term(row))


def points_by_term(row):
    """What each of TERMS adds to BASE_POINTS."""
    pairs = zip(TERMS, POINTS)
    exact = [p * (_feature(row, t[0], *t[2:]) - typical) for t, (p, typical) in pairs]
    return [math.floor(p + 0.5) for p in exact] if {whole} else exact


def outputs(row):
    z = log_odds(row)
    return z, points(row), _logistic(z)
'''
    )

    @property
    def points(self) -> Points:
        """How the features share them."""
        assert self.formula.points is not None
        return self.formula.points

    @property
    def added(self) -> Sequence[str]:
        """Three columns."""
        return "log_odds", "points", "probability"

    def constants(self) -> dict[str, str]:
        """Points besides."""
        return super().constants() | {
            "about_points": self.points.scale.in_words(*map(ascii, self.formula.classes)),
            "base": repr(self.points.base),
            "points": repr([*self.points.pairs]),
            "whole": str(self.points.scale.whole),
        }

    def about_query(self, query: Query) -> str:
        """A comment on the points."""
        return f"-- {self.points.scale.in_words(*map(query.comment, self.formula.classes))}\n"

    def beside_log_odds(self, query: Query) -> str:
        """The points, feature by feature."""
        return f",\n    {query.points(self.points)}\n    AS {query.names[1]}"

    def nodes(self, graph: Graph, sums: str) -> list[Any]:
        """There are none."""
        raise ExportError(
            "Points can be written as .py, .sql or .csv, not as .onnx. Leave --points out, or name "
            "another file."
        )

    def wanted(self, sums: FloatArray) -> FloatArray:
        """Points are those of the log-odds."""
        log_odds, probability = super().wanted(sums).T
        return np.column_stack([log_odds, self.points.scale.of_log_odds(log_odds), probability])

    def allowed(self, sums: FloatArray, rounding: FloatArray) -> FloatArray:
        """Points as the log-odds, in their unit; whole ones are half a point off for each term."""
        of_sums, of_probability = super().allowed(sums, rounding).T
        scale = self.points.scale
        of_points = abs(scale.factor) * of_sums * (1.0 + abs(self.points.base))
        of_points += 0.5 * (1 + len(self.formula.terms)) if scale.whole else 0.0
        return np.column_stack([of_sums, of_points, of_probability])
