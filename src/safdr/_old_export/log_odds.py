"""Two classes: the log-odds and the probability of the second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from safdr._old_export.outputs import TOLERANCE, Output
from safdr._old_table.recipe import FloatArray

if TYPE_CHECKING:
    from safdr._old_export.onnx import Graph
    from safdr._old_export.sql import Query


def probability(query: Query, log_odds: str) -> str:
    """The last column that a query adds, from log-odds within."""
    limit, largest = query.largest_exponent, query.largest
    return f"""\
  CASE
    WHEN scored.{log_odds} BETWEEN -{limit} AND {limit}
      THEN 1.0e0 / (1.0e0 + EXP(-scored.{log_odds}))
    WHEN scored.{log_odds} BETWEEN {limit} AND {largest} THEN 1.0e0
    WHEN scored.{log_odds} BETWEEN -{largest} AND -{limit} THEN 0.0e0
  END AS {query.names[-1]}"""


class LogOdds(Output):
    """The sum of terms are the log-odds."""

    about = "the log-odds and the probability of one class"
    function = "probability"
    python = '''\
CLASSES = {classes}  # the probability is that of the second
INTERCEPT = {intercept}


def log_odds(row):
    """Log-odds of CLASSES[1] for a row, a mapping from column to value."""
    return total(INTERCEPT, [c * _feature(row, column, *rest) for column, (c,), *rest in TERMS])


def probability(row):
    """Probability of CLASSES[1] for a row, a mapping from column to value."""
    return _logistic(log_odds(row))


def _logistic(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def outputs(row):
    z = log_odds(row)
    return z, _logistic(z)
'''

    @property
    def added(self) -> Sequence[str]:
        """Two columns."""
        return "log_odds", "probability"

    def constants(self) -> dict[str, str]:
        """Classes and intercept."""
        return {
            "classes": ascii(self.formula.classes),
            "intercept": repr(self.formula.intercepts[0]),
        }

    def select(self, query: Query) -> str:
        """The log-odds within, the probability around them."""
        negative, positive = map(query.comment, self.formula.classes)
        log_odds = query.names[0]
        return f"""\
-- Log-odds and probability that {query.comment(self.formula.target)} is {positive} and not \
{negative}.
{self.about_query(query)}{query.head}SELECT
  scored.*,
{probability(query, log_odds)}
FROM (
  SELECT
    rows_to_score.*,
    {query.total(0)}
    AS {log_odds}{self.beside_log_odds(query)}
  FROM {query.table} AS rows_to_score
) AS scored
"""

    def about_query(self, query: Query) -> str:
        """A comment on what else the query adds."""
        del query
        return ""

    def beside_log_odds(self, query: Query) -> str:
        """What else comes of sums."""
        del query
        return ""

    def nodes(self, graph: Graph, sums: str) -> list[Any]:
        """The sums, and their logistic function."""
        log_odds, probability = graph.own_names(self.added)
        graph.node("Identity", [sums], output=log_odds)
        graph.node("Sigmoid", [sums], output=probability)
        return [graph.info(log_odds), graph.info(probability)]

    def wanted(self, sums: FloatArray) -> FloatArray:
        """Both."""
        return np.hstack([sums, expit(sums)])

    def allowed(self, sums: FloatArray, rounding: FloatArray) -> FloatArray:
        """The logistic function is nowhere steeper than 1/4."""
        of_sums = TOLERANCE * np.maximum(1.0, np.abs(sums)) + rounding
        return np.hstack([of_sums, TOLERANCE + rounding / 4])
