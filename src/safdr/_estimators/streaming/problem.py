"""The problem of a source: sufficient statistics of all rows; models and scores on a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, ShuffleSplit

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.batches import Batches
from safdr._engine.criterion import Criterion, Ridge, make_criterion
from safdr._engine.moments import Moments
from safdr._estimators.counts import LogLinearProblem
from safdr._estimators.custom import fit_model
from safdr._estimators.data import ClassProblem, Problem, RegressionProblem
from safdr._estimators.folds import Fold
from safdr._estimators.inputs import feature_names, problem_fields, problem_of
from safdr._estimators.streaming.columns import Columns, check_column, check_numbers
from safdr._estimators.streaming.rows import N_BUCKETS, StreamedRows, open_rows
from safdr.errors import ParameterError


def read(selector: Any, X: Any, y: Any, sample_weight: Any, seed: int) -> Problem:
    """Return the problem of a source; set the attributes that describe columns and classes."""
    rows = StreamedRows.read(X, y, sample_weight, regression=selector._is_regression, seed=seed)
    names, sample = rows.columns.features, rows.sample
    selector.n_features_in_ = len(names)
    selector.feature_names_in_ = np.array(names, dtype=object)
    if rows.moments is None:
        weight = None if rows.columns.weight is None else sample.weight
        return problem_of(selector, np.ascontiguousarray(sample.X.T), sample.y, weight)
    how: dict[str, Any] = {"rows": rows, "buckets": np.arange(N_BUCKETS), "is_dense": True}
    how |= problem_fields(selector) | rows.of_buckets(how["buckets"])
    if rows.columns.classes is None and selector.family != "gaussian":
        return StreamedLogLinear(**how, family_name=selector.family)
    if rows.columns.classes is None:
        return StreamedRegression(**how)
    selector.classes_ = rows.columns.classes
    return StreamedClasses(**how, classes=rows.columns.classes)


def read_columns(selector: Any, X: Any, which: IntArray) -> FloatArray:
    """Return some of the features of a fitted selector, of all rows of a source."""
    source, *_ = open_rows(X)
    fitted = feature_names(selector)
    if fitted is None:
        raise ValueError(
            f"{source.name} has named columns, but {type(selector).__name__} was fitted without "
            "feature names. Fit it to a data frame or a source."
        )
    names = [fitted[j] for j in which]
    check_numbers(source, names)
    columns, rows = Columns(source.name, names, ""), np.empty((0, len(names)))
    parts = (
        np.column_stack([columns.numbers(table, name) for name in names])
        for table in source.tables(names)
    )
    return np.concatenate([rows, *parts])


def read_column(X: Any, name: str) -> Any:
    """Return a column of all rows of a source, such as the target."""
    source, *_ = open_rows(X)
    check_column(source, "y", name)
    return np.concatenate([table[name].to_numpy() for table in source.tables([name])])


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedProblem(Problem):
    """A sample of the rows of some buckets, and the statistics of all of them."""

    rows: StreamedRows
    buckets: IntArray
    which: IntArray | None = None  # columns of the source; None for all

    @property
    def n_units(self) -> int:
        return len(self.buckets)

    def take(self, rows: Any) -> Self:
        buckets = self.buckets[rows]
        given = self.rows.of_buckets(buckets)
        if self.which is not None:
            given["X"] = given["X"][:, self.which]
        return replace(self, buckets=buckets, **given)

    def columns(self, which: IntArray) -> Self:
        of_source = which if self.which is None else self.which[which]
        return replace(super().columns(which), which=of_source)

    def usable(self) -> Self:
        """Check that the rows can be searched; all of them have a weight."""
        self.check()
        return self

    def criterion(self, ridge: Ridge) -> Criterion:
        # Weights of buckets are numbers of rows.
        return make_criterion(self.moments(self.unit_codes), ridge, rank=self.rank)

    def moments(self, codes: IntArray, out: FloatArray | None = None) -> Moments:
        del out
        n_features = len(self.rows.columns.features)
        moments: Moments = self.rows.moments.moments(self.buckets[codes >= 0], n_features)
        return moments if self.which is None else moments.among(self.which)

    @property
    def unit_codes(self) -> IntArray:
        """Class of each bucket: they have rows of all classes."""
        return np.zeros(self.n_units, dtype=np.int64)

    def batches(self) -> Batches:
        counts = self.rows.moments.counts[self.buckets].sum(axis=0)
        return replace(super().batches(), counts=counts)

    def folds(
        self, cv: Any, seed: int, split_params: dict[str, Any], score_params: dict[str, Any]
    ) -> list[Fold]:
        """Return folds of buckets: five random quarters, or `cv` parts."""
        if split_params:
            raise ParameterError(next(iter(split_params)), "is not possible for a source.")
        if cv is None:
            splitter = ShuffleSplit(5, test_size=0.25, random_state=seed)
        elif isinstance(cv, Integral):
            splitter = KFold(int(cv))
        else:
            raise ParameterError("cv", f"must be None or an integer for a source; got {cv!r}.")
        splits = enumerate(splitter.split(self.buckets))
        return [StreamedFold(i, self, train, test, {}) for i, (train, test) in splits]

    def refit(self, model: Any, subset: IntArray) -> Any:
        """Return the model on all rows, unless it takes too much memory or may break signs."""
        if self.allowed.signs is not None:
            return model
        columns = self.rows.columns
        rows = self.rows.all_rows([columns.features[j] for j in subset])
        if rows is None:
            return model
        weight = rows.weight
        if isinstance(self, ClassProblem):
            weight = weight * self.class_factors[rows.codes]
        return fit_model(clone(model), rows.X.T, rows.y, weight)


@dataclass(frozen=True, eq=False)
class StreamedFold(Fold):
    """Buckets to learn from, and buckets to score."""

    def scorer_params(self) -> dict[str, Any]:
        return {"sample_weight": self.test().row_weight}


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedClasses(StreamedProblem, ClassProblem):
    """Rows with labels."""

    def moments(self, codes: IntArray, out: FloatArray | None = None) -> Moments:
        """Return the moments of the buckets whose code is not -1, times the class weights."""
        moments, factors = super().moments(codes, out), self.class_factors
        weighted = {"weight": moments.weight * factors}
        weighted["squares"] = moments.squares * factors[:, None]
        return replace(moments, **weighted)


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedRegression(StreamedProblem, RegressionProblem):
    """Rows with an output."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedLogLinear(StreamedProblem, LogLinearProblem):
    """Rows with counts or amounts."""

    @property
    def rows_of_weight(self) -> float:
        """Number of rows that a weight of one stands for."""
        weight: Any = self.row_weight
        return float(self.rows.moments.counts[self.buckets].sum() / weight.sum())

    @property
    def sample_weight(self) -> FloatArray | None:
        weight: Any = self.row_weight
        return np.asarray(weight * self.rows_of_weight)

    def criterion(self, ridge: Ridge) -> Criterion:
        """Return R² of the target itself, whose moments are known."""
        how: dict[str, Any] = {"rank": self.rank, "rows_a_weight": self.rows_of_weight}
        return make_criterion(self.moments(self.unit_codes), ridge, **how)

    column_criterion = criterion

    def batches(self) -> Batches:
        """Return where criteria of random batches of the buckets come from."""
        counts = self.rows.moments.counts[self.buckets].sum(axis=0)
        return Batches(self.unit_codes, counts, self.moments)
