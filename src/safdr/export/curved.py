"""Two classes, recalibrated: the sum of terms goes through a curve before it is log-odds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from safdr.export.log_odds import LogOdds, probability
from safdr.measures.recalibration import Curve
from safdr.table.recipe import FloatArray

if TYPE_CHECKING:
    from safdr.export.onnx import Graph
    from safdr.export.sql import Query


class CurvedLogOdds(LogOdds):
    """As log-odds and probability, which a curve makes of the sums."""

    about = "the recalibrated log-odds and the probability of one class"
    python = LogOdds.python.replace(
        '''def log_odds(row):
    """Log-odds of CLASSES[1] for a row, a mapping from column to value."""
''',
        '''# Recalibration: slope, from and to which sum it counts.
CURVE_INTERCEPT = {curve_intercept}
PIECES = {pieces}


def log_odds(row):
    """Log-odds of CLASSES[1] for a row, a mapping from column to value."""
    z = sum_of_terms(row)
    return total(CURVE_INTERCEPT, [slope * min(max(z, low), high) for slope, low, high in PIECES])


def sum_of_terms(row):
    """What the features add up to, before recalibration."""
''',
    )

    @property
    def curve(self) -> Curve:
        """The curve."""
        assert self.formula.curve is not None
        return self.formula.curve

    @property
    def pieces(self) -> list[tuple[float, float, float]]:
        """Pieces that change anything."""
        return [piece for piece in self.curve.pieces if piece[0] != 0]

    @property
    def added_by_queries(self) -> Sequence[str]:
        """The sum comes first."""
        return "sum_of_terms", *self.added

    def constants(self) -> dict[str, str]:
        """The curve besides."""
        pieces = repr(self.pieces).replace("inf", "math.inf")
        return super().constants() | {
            "curve_intercept": repr(self.curve.intercept),
            "pieces": pieces,
        }

    def select(self, query: Query) -> str:
        """Sums within, log-odds around them, the probability around these."""
        negative, positive = map(query.comment, self.formula.classes)
        total, log_odds, _ = query.names
        largest = query.largest
        bent = "\n".join(
            f"      + {_literal(slope)} * ({_within(f'summed.{total}', low, high)})"
            for slope, low, high in self.pieces
        )
        return f"""\
-- Log-odds and probability that {query.comment(self.formula.target)} is {positive} and not \
{negative},
-- recalibrated: a curve of straight pieces makes log-odds of the sum of terms.
{query.head}SELECT
  scored.*,
{probability(query, log_odds)}
FROM (
  SELECT
    summed.*,
    CASE WHEN summed.{total} BETWEEN -{largest} AND {largest} THEN
      {_literal(self.curve.intercept)}
{bent}
    END AS {log_odds}
  FROM (
    SELECT
      rows_to_score.*,
      {query.total(0)}
      AS {total}
    FROM {query.table} AS rows_to_score
  ) AS summed
) AS scored
"""

    def nodes(self, graph: Graph, sums: str) -> list[Any]:
        """A clipped copy of the sums for each piece."""
        found = graph.constant(np.array([[self.curve.intercept]]))
        most = sys.float_info.max
        for slope, low, high in self.pieces:
            ends = [graph.constant(np.array(end)) for end in (max(low, -most), min(high, most))]
            clipped = graph.node("Clip", [sums, *ends])
            part = graph.node("Mul", [clipped, graph.constant(np.array([[slope]]))])
            found = graph.node("Add", [part, found])
        return super().nodes(graph, found)

    def numbers(self, row: Sequence[Any]) -> Sequence[Any]:
        """Log-odds and probability come last."""
        return row[-2:]

    def allowed(self, sums: FloatArray, rounding: FloatArray) -> FloatArray:
        """The curve makes more of what sums are rounded by."""
        steepest = max((slope for slope, *_ in self.pieces), default=0.0)
        largest = sum(abs(s * k) for s, *ends in self.pieces for k in ends if np.isfinite(k))
        own = (abs(self.curve.intercept) + largest) * np.finfo(np.float64).eps
        return super().allowed(sums, steepest * rounding + own * (len(self.pieces) + 1))


def _within(value: str, low: float, high: float) -> str:
    """A value moved between two ends."""
    cases = ""
    if np.isfinite(low):
        cases += f" WHEN {value} < {_literal(low)} THEN {_literal(low)}"
    if np.isfinite(high):
        cases += f" WHEN {value} > {_literal(high)} THEN {_literal(high)}"
    return f"CASE{cases} ELSE {value} END" if cases else value


def _literal(value: float) -> str:
    """A double; in brackets where it has a sign."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if value < 0 else text
