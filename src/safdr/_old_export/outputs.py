"""What a formula gives, and how each form of it says so: an output for each task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from safdr._old_table.recipe import FloatArray

if TYPE_CHECKING:
    from safdr._old_export.formula import Formula
    from safdr._old_export.onnx import Graph
    from safdr._old_export.sql import Query

# Of sums (of large ones relatively) and probabilities: room for functions of other libraries.
TOLERANCE = 1e-9


class Output(ABC):
    """From sums of terms to what someone wants to know."""

    # What it is, for the head of a file; and the function of the Python file to begin with.
    about: ClassVar[str]
    function: ClassVar[str]
    # Code of the Python file: constants in braces; it defines `outputs(row)`.
    python: ClassVar[str]

    def __init__(self, formula: Formula) -> None:
        self.formula = formula

    @property
    @abstractmethod
    def added(self) -> Sequence[str]:
        """Columns that are added to those of a table."""

    @property
    def added_by_queries(self) -> Sequence[str]:
        """The same of a query, which can't help showing what it adds up first."""
        return self.added

    @abstractmethod
    def constants(self) -> dict[str, str]:
        """What the code of the Python file has in braces."""

    @abstractmethod
    def select(self, query: Query) -> str:
        """The query itself."""

    @abstractmethod
    def nodes(self, graph: Graph, sums: str) -> list[Any]:
        """Add nodes to a graph, after its sums, and describe its outputs."""

    def numbers(self, row: Sequence[Any]) -> Sequence[Any]:
        """What a row of outputs is in numbers."""
        return row

    @abstractmethod
    def wanted(self, sums: FloatArray) -> FloatArray:
        """What the model gives."""

    @abstractmethod
    def allowed(self, sums: FloatArray, rounding: FloatArray) -> FloatArray:
        """By how much that may differ, where sums are rounded by so much."""


class Sum(Output):
    """The sum of terms itself: regression."""

    about = "the prediction of a number"
    function = "prediction"
    python = '''\
INTERCEPT = {intercept}


def prediction(row):
    """Prediction of TARGET for a row, a mapping from column to value."""
    return total(INTERCEPT, [c * _feature(row, column, *rest) for column, (c,), *rest in TERMS])


def outputs(row):
    return (prediction(row),)
'''

    @property
    def added(self) -> Sequence[str]:
        """One column."""
        return ("prediction",)

    def constants(self) -> dict[str, str]:
        """The intercept."""
        return {"intercept": repr(self.formula.intercepts[0])}

    def select(self, query: Query) -> str:
        """One level."""
        return f"""\
-- Prediction of {query.comment(self.formula.target)}.
{query.head}SELECT
  rows_to_score.*,
  {query.total(0)}
  AS {query.names[0]}
FROM {query.table} AS rows_to_score
"""

    def nodes(self, graph: Graph, sums: str) -> list[Any]:
        """A name."""
        (name,) = graph.own_names(self.added)
        graph.node("Identity", [sums], output=name)
        return [graph.info(name)]

    def wanted(self, sums: FloatArray) -> FloatArray:
        """The sums."""
        return sums

    def allowed(self, sums: FloatArray, rounding: FloatArray) -> FloatArray:
        """Of large ones relatively."""
        return TOLERANCE * np.maximum(1.0, np.abs(sums)) + rounding


class ClippedSum(Sum):
    """The sum of terms, clipped to the range of the training targets."""

    python = '''\
INTERCEPT = {intercept}
LOW, HIGH = {low}, {high}  # the range of TARGET in the training rows


def prediction(row):
    """Prediction of TARGET for a row, a mapping from column to value."""
    terms = [c * _feature(row, column, *rest) for column, (c,), *rest in TERMS]
    return min(max(total(INTERCEPT, terms), LOW), HIGH)


def outputs(row):
    return (prediction(row),)
'''

    @property
    def added_by_queries(self) -> Sequence[str]:
        """The sum too."""
        return "unclipped", "prediction"

    def constants(self) -> dict[str, str]:
        """Intercept and range."""
        return super().constants() | {
            "low": repr(self.formula.low),
            "high": repr(self.formula.high),
        }

    def select(self, query: Query) -> str:
        """The sum within, the clipped sum around it."""
        unclipped, prediction = query.names
        low, high = repr(self.formula.low), repr(self.formula.high)
        return f"""\
-- Prediction of {query.comment(self.formula.target)}, clipped to its range in the training rows.
{query.head}SELECT
  scored.*,
  CASE
    WHEN scored.{unclipped} < {low} THEN {low}
    WHEN scored.{unclipped} > {high} THEN {high}
    ELSE scored.{unclipped}
  END AS {prediction}
FROM (
  SELECT
    rows_to_score.*,
    {query.total(0)}
    AS {unclipped}
  FROM {query.table} AS rows_to_score
) AS scored
"""

    def nodes(self, graph: Graph, sums: str) -> list[Any]:
        """A name, after clipping."""
        (name,) = graph.own_names(self.added)
        ends = [graph.constant(np.array(end)) for end in (self.formula.low, self.formula.high)]
        graph.node("Clip", [sums, *ends], output=name)
        return [graph.info(name)]

    def numbers(self, row: Sequence[Any]) -> Sequence[Any]:
        """Only the prediction."""
        return row[-1:]

    def wanted(self, sums: FloatArray) -> FloatArray:
        """The clipped sums."""
        return np.clip(sums, self.formula.low, self.formula.high)


def output_of(formula: Formula) -> Output:
    """What a formula gives."""
    from safdr._old_export.log_odds import LogOdds
    from safdr._old_export.scored_points import ScoredPoints
    from safdr._old_export.softmax import Softmax

    if formula.points is not None:
        return ScoredPoints(formula)
    number = ClippedSum if formula.is_clipped else Sum
    kinds: Mapping[int, type[Output]] = {0: number, 2: LogOdds}
    return kinds.get(len(formula.classes), Softmax)(formula)
