"""Folds: training and test rows of each split."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from sklearn.model_selection import GroupKFold, GroupShuffleSplit, StratifiedGroupKFold, check_cv
from sklearn.utils.validation import _check_method_params

from safdr.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Fold:
    """Training and test rows of one split."""

    number: int
    problem: Any
    train_rows: Any
    test_rows: Any
    score_params: dict[str, Any]

    def train(self) -> Any:
        """Return the training rows; an error names the fold."""
        try:
            return self.problem.take(self.train_rows).usable()
        except ValueError as error:
            raise ValueError(f"Fold {self.number} cannot be searched: {error}") from None

    def test(self) -> Any:
        return self.problem.take(self.test_rows)

    def scorer_params(self) -> dict[str, Any]:
        """Return the metadata of the test rows for the scorer."""
        rows = self.test_rows
        return dict(_check_method_params(self.problem.X, self.score_params, indices=rows))


def row_folds(
    problem: Any, cv: Any, seed: int, split_params: dict[str, Any], score_params: dict[str, Any]
) -> list[Fold]:
    """Return the folds of rows in memory; rows of one group are never split."""
    splitter = _splitter(problem, cv, seed, grouped=split_params.get("groups") is not None)
    splits: list[Any] = list(splitter.split(problem.X, problem.strata, **split_params))
    if not splits:
        raise ParameterError("cv", f"must yield at least one split; got none from {cv!r}.")
    return [Fold(i, problem, a, b, score_params) for i, (a, b) in enumerate(splits)]


def _splitter(problem: Any, cv: Any, seed: int, *, grouped: bool) -> Any:
    """Return a splitter; with groups, one that never splits a group."""
    if not grouped:
        cv = problem.default_splitter(seed) if cv is None else cv
        return check_cv(cv, problem.strata, classifier=problem.is_stratified)
    if cv is None:
        return GroupShuffleSplit(n_splits=5, test_size=0.25, random_state=seed)
    if isinstance(cv, Integral):
        return (StratifiedGroupKFold if problem.is_stratified else GroupKFold)(int(cv))
    splitter = check_cv(cv, problem.strata)
    kind = type(splitter)
    if kind.__module__.startswith("sklearn.") and "Group" not in kind.__name__:
        raise ParameterError(
            "groups", f"has no effect on cv={cv!r}. Use cv=GroupKFold() or an int."
        )
    return splitter
