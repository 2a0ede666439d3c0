"""What a rule gives up, and what the others would keep, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._estimators.rules import Limits, choose_size, threshold
from safdr._estimators.scoring import is_loss, scorer_name


@dataclass(frozen=True, eq=False)
class RuleNote:
    """A sentence about the chosen size, out of the scores of the folds alone."""

    rule: Any
    scoring: Any
    n_features: IntArray
    scores: FloatArray
    limits: Limits
    by_rule: Mapping[str, int]
    chosen: int

    def __str__(self) -> str:
        if len(self.n_features) == 1:
            return f"{_features(self.chosen)} is the only size that was tried."
        others = ", ".join(self._others())
        first = "; ".join(filter(None, (self._own(), others))) + "."
        return " ".join(filter(None, (first, self._without_a_split(), self._reservation())))

    def _own(self) -> str:
        """What was taken, and how far below the best that is."""
        means = self.scores.mean(axis=0)
        sign = -1.0 if is_loss(self.scoring) else 1.0
        value = _number(sign * float(means.max()), 4)
        took = f"{self._name()} took {_features(self.chosen)}"
        if self._gap(self.chosen) == 0:
            return f"{took}, with the best {self._score()} ({value})"
        its = "its" if self.chosen == 1 else "their"
        best = f"the best ({value} at {self.n_features[means.argmax()]})"
        return f"{took}: {its} {self._score()} is {self._behind(self.chosen)} {best}"

    def _others(self) -> Iterator[str]:
        """What each other rule would take; that of the best mean has been told."""
        would_take = " would take"
        for rule, size in self.by_rule.items():
            if rule in (self.rule, "best"):
                continue
            if size == self.chosen:
                yield f"{rule}{would_take} {size} (the same)"
            else:
                gap = self._gap(size)
                yield f"{rule}{would_take} {size} ({self._behind(size) if gap else 'the best'})"
            would_take = ""

    def _without_a_split(self) -> str:
        """How the size hangs on single splits: what the rule takes where one is left out."""
        if not isinstance(self.rule, str) or len(self.scores) < 3:
            return ""
        without = (np.delete(self.scores, i, axis=0) for i in range(len(self.scores)))
        chosen = [choose_size(self.rule, self.n_features, each, self.limits) for each in without]
        least, most = self.n_features[chosen].min(), self.n_features[chosen].max()
        if least == most == self.chosen:
            return ""
        if least == most:
            return f"Without any one of the splits {self.rule} would take {least}."
        splits = f"one of the {len(self.scores)} splits"
        return f"Without {splits} {self.rule} would take {least} to {most}, depending on which."

    def _reservation(self) -> str:
        """Where it was not the spread over the folds that counted."""
        if self.rule == "one_se":
            plain = threshold("one_se", self.scores, Limits())
            if plain is not None and self.limits.ceiling < plain:
                return (
                    f"Means from {_number(self.limits.ceiling, 4)} on count as equal here: they "
                    "are within half a test row a split of perfect."
                )
        if len(self.scores) == 1 and self.rule in ("one_sd", "one_se"):
            return "A single split has no spread: nothing below its best passes."
        return ""

    def _name(self) -> str:
        return self.rule if isinstance(self.rule, str) else "Your rule"

    def _score(self) -> str:
        """What is compared, without how several classes were scored."""
        name = scorer_name(self.scoring).removeprefix("neg ").partition(",")[0]
        return f"mean {name.removeprefix('mean ')}"

    def _gap(self, size: int) -> float:
        means = self.scores.mean(axis=0)
        return float(means.max() - means[self.n_features == size].item())

    def _behind(self, size: int) -> str:
        return f"{_number(self._gap(size), 2)} {'above' if is_loss(self.scoring) else 'below'}"


def _features(number: int) -> str:
    return f"{number} feature{'' if number == 1 else 's'}"


def _number(value: float, digits: int) -> str:
    """So many significant digits, and no more zeros than are needed."""
    if 0 < abs(value) < 1e-4 or abs(value) >= 1e6:
        return f"{value:.{digits}g}"
    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")
