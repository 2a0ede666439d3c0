"""More than two classes: the most probable one, and the probability of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax

from safdr._old_export.errors import ExportError
from safdr._old_export.formula import whole_text
from safdr._old_export.outputs import TOLERANCE, Output
from safdr._old_table.recipe import FloatArray

if TYPE_CHECKING:
    from safdr._old_export.onnx import Graph
    from safdr._old_export.sql import Query

# With what goes before it, well within the 63 characters that databases take.
LONGEST_NAME = 40
# SQLite puts the terms of a score into the query wherever it stands: in six places for each pair of
# classes. With so many it takes half a minute for 1,000 rows, and half a gigabyte.
MOST_COPIES = 15_000


class Softmax(Output):
    """The sums of terms are scores, one for each class."""

    about = "the most probable class, and the probability of each"
    function = "probabilities"
    python = '''\
CLASSES = {classes}
INTERCEPTS = {intercepts}


def probabilities(row):
    """From each class to its probability for a row, a mapping from column to value."""
    return dict(zip(CLASSES, _softmax(_scores(row))))


def prediction(row):
    """The most probable class for a row, a mapping from column to value."""
    return outputs(row)[0]


def outputs(row):
    scores = _scores(row)
    return CLASSES[scores.index(max(scores))], *_softmax(scores)


def _scores(row):
    features = [_feature(row, column, *rest) for column, _, *rest in TERMS]
    return [
        total(intercept, [term[1][i] * value for term, value in zip(TERMS, features)])
        for i, intercept in enumerate(INTERCEPTS)
    ]


def _softmax(scores):
    weights = [math.exp(score - max(scores)) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]
'''

    @property
    def added(self) -> Sequence[str]:
        """The class, and a probability for each."""
        return ["prediction", *(f"probability_{name}" for name in self._class_names())]

    @property
    def added_by_queries(self) -> Sequence[str]:
        """Scores too."""
        return [*(f"score_{name}" for name in self._class_names()), *self.added]

    def _class_names(self) -> list[str]:
        """Classes as parts of names: letters and digits, or the number of the class."""
        names = [re.sub("[^A-Za-z0-9]+", "_", label).strip("_") for label in self.formula.classes]
        different = len({name.lower() for name in names}) == len(names)
        if different and all(0 < len(name) <= LONGEST_NAME for name in names):
            return names
        return [str(i + 1) for i in range(len(names))]

    def constants(self) -> dict[str, str]:
        """Classes and their intercepts."""
        return {
            "classes": ascii(self.formula.classes),
            "intercepts": repr(self.formula.intercepts),
        }

    def select(self, query: Query) -> str:
        """Scores within; around them a probability for each, from its distance to all others."""
        n_classes = len(self.formula.classes)
        if n_classes**2 * len(self.formula.terms) > MOST_COPIES:
            raise ExportError(
                f"A query for {n_classes} classes and {len(self.formula.terms)} columns of numbers "
                "would be too large for databases. Export a .py or .onnx file."
            )
        scores = [f"scored.{name}" for name in query.names[:n_classes]]
        prediction, *probabilities = query.names[n_classes:]
        labels = [query.string(label) for label in self.formula.classes]
        listed = ", ".join(map(query.comment, self.formula.classes))
        given = ",\n".join(
            f"  {_probability(query, scores, i)} AS {name}" for i, name in enumerate(probabilities)
        )
        totals = ",\n".join(
            f"    {query.total(i)}\n    AS {name}" for i, name in enumerate(query.names[:n_classes])
        )
        return f"""\
-- The most probable class of {query.comment(self.formula.target)}, and the probability of each: \
{listed}.
{query.head}SELECT
  scored.*,
  {_largest(query, scores, labels)} AS {prediction},
{given}
FROM (
  SELECT
    rows_to_score.*,
{totals}
  FROM {query.table} AS rows_to_score
) AS scored
"""

    def nodes(self, graph: Graph, sums: str) -> list[Any]:
        """The softmax function; the class of an unknown row is an empty text."""
        self._check_labels()
        prediction, probabilities = graph.own_names(["prediction", "probabilities"])
        labels = np.array([*self.formula.classes, ""], dtype=object)
        zero, none = np.array([0]), np.array([[len(labels) - 1]])
        first = graph.node("Gather", [sums, graph.constant(zero)], axis=1)
        place = graph.node("ArgMax", [sums], axis=1, keepdims=1)
        known = graph.finite(first)
        place = graph.node("Where", [known, place, graph.constant(none)])
        graph.node("Gather", [graph.constant(labels), place], output=prediction, axis=0)
        graph.node("Softmax", [sums], output=probabilities, axis=1)
        return [
            graph.info(prediction, graph.onnx.TensorProto.STRING),
            graph.info(probabilities, width=len(self.formula.classes)),
        ]

    def _check_labels(self) -> None:
        for label in self.formula.classes:
            if "\0" in whole_text(label):
                raise ExportError(f"ONNX text ends at the zero character, as in {label!r}.")

    def numbers(self, row: Sequence[Any]) -> Sequence[Any]:
        """The place of the class, and probabilities."""
        label, *probabilities = row[-1 - len(self.formula.classes) :]
        known = label in self.formula.classes
        return [self.formula.classes.index(label) if known else np.nan, *probabilities]

    def wanted(self, sums: FloatArray) -> FloatArray:
        """The same."""
        return np.hstack([sums.argmax(axis=1)[:, None], softmax(sums, axis=1)])

    def allowed(self, sums: FloatArray, rounding: FloatArray) -> FloatArray:
        """No probability changes by more than a score does; of scores that are level, any wins."""
        rounded = rounding.max(axis=1, keepdims=True)
        second, first = np.sort(sums, axis=1)[:, -2:].T[..., None]
        level = first - second <= 2 * (TOLERANCE * np.maximum(1.0, np.abs(first)) + rounded)
        n_classes = sums.shape[1]
        return np.hstack(
            [np.where(level, n_classes, 0.5), np.repeat(TOLERANCE + rounded, n_classes, axis=1)]
        )


def _probability(query: Query, scores: Sequence[str], i: int) -> str:
    """One, divided by the sum of exp(difference to it) over all classes; unknown where it is."""
    own, limit = scores[i], query.largest_exponent
    parts = []
    for other in (each for each in scores if each != own):
        difference = f"{other} - {own}"
        parts.append(
            f"CASE WHEN {difference} > {limit} THEN EXP({limit})"
            f" WHEN {difference} < -{limit} THEN 0.0e0 ELSE EXP({difference}) END"
        )
    listed = "\n".join(f"    + {part}" for part in parts)
    known = f"{own} BETWEEN -{query.largest} AND {query.largest}"
    return f"CASE WHEN {known} THEN 1.0e0 / (1.0e0\n{listed}\n  ) END"


def _largest(query: Query, scores: Sequence[str], labels: Sequence[str]) -> str:
    """The label of the largest score: the first that no later one exceeds."""
    cases = []
    for i, (score, label) in enumerate(zip(scores, labels, strict=True)):
        # Where a score is unknown, so are its differences, the last one's to the first too.
        tests = [f"{score} - {other} BETWEEN 0 AND {query.largest}" for other in scores[i + 1 :]]
        last = [f"{score} - {scores[0]} BETWEEN 0 AND {query.largest}"]
        cases.append(f"    WHEN {' AND '.join(tests or last)} THEN {label}")
    return "CASE\n" + "\n".join(cases) + "\n  END"
