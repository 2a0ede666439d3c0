"""The problem of a source: sufficient statistics of all rows; models and scores on a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import BucketNoise, Ridge, fisher_criterion, r2_criterion
from safdr._engine.moments import ClassMoments
from safdr._estimators.custom import fit_model
from safdr._estimators.data import ClassProblem, Problem, RegressionProblem
from safdr._estimators.folds import Fold
from safdr._estimators.inputs import problem_fields, problem_of
from safdr._estimators.streaming.columns import Columns, check_numbers
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
        X = np.ascontiguousarray(sample.X.T)
        return problem_of(selector, X, rows.columns.given(sample.target), weight)
    how: dict[str, Any] = {"rows": rows, "buckets": np.arange(N_BUCKETS), "is_dense": True}
    how |= problem_fields(selector) | rows.of_buckets(how["buckets"])
    if rows.columns.classes is None:
        return StreamedRegression(**how)
    selector.classes_ = rows.columns.classes
    return StreamedClasses(**how, classes=rows.columns.classes)


def read_columns(selector: Any, X: Any, which: IntArray) -> FloatArray:
    """Return some of the features of a fitted selector, of all rows of a source."""
    source, *_ = open_rows(X)
    fitted = getattr(selector, "feature_names_in_", None)
    if fitted is None:
        raise ValueError(
            f"{source.name} has named columns, but {type(selector).__name__} was fitted without "
            "feature names. Fit it to a data frame or a source."
        )
    names = [str(fitted[j]) for j in which]
    check_numbers(source, names)
    columns, parts, start = Columns(source.name, names, ""), [np.empty((0, len(names)))], 0
    for table in source.tables(names):
        parts.append(np.column_stack([columns.floats(table, name, start) for name in names]))
        start += table.num_rows
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedProblem(Problem):
    """A sample of the rows of some buckets, and the statistics of all of them."""

    rows: StreamedRows
    buckets: IntArray
    which: IntArray | None = None  # columns of the source; None for all

    @property
    def n_units(self) -> int:
        """Number of parts that `take` divides the rows into."""
        return len(self.buckets)

    def take(self, rows: Any) -> Self:
        """Return the problem of some of the buckets."""
        buckets = self.buckets[rows]
        given = self.rows.of_buckets(buckets)
        if self.which is not None:
            given["X"] = given["X"][:, self.which]
        return replace(self, buckets=buckets, **given)

    def columns(self, which: IntArray) -> Self:
        """Return the problem of some of the columns."""
        of_source = which if self.which is None else self.which[which]
        return replace(super().columns(which), which=of_source)

    def usable(self) -> Self:
        """Check that the rows can be searched; all of them have a weight."""
        weight = self.sample_weight
        if weight is not None and not weight.all():
            raise ParameterError("class_weight", "must be positive for rows read in chunks.")
        self.check()
        return self

    def _dense_criterion(self, ridge: Ridge) -> Any:
        return self._criterion_of(self.buckets, ridge=ridge)

    def _criterion_of(self, buckets: IntArray, **how: Any) -> Any:
        raise NotImplementedError

    def batches(self, criterion: Any) -> BucketNoise:
        """Return batches of buckets."""
        how: dict[str, Any] = {"ridge": criterion.ridge, "scale": criterion.scale}
        if self.is_regression:
            how["output_scale"] = np.sqrt(criterion.marginals.output_variance)
        counts = self.rows.moments.counts[self.buckets].sum(axis=0)
        return BucketNoise(counts, self.buckets, lambda batch: self._criterion_of(batch, **how))

    def folds(
        self, cv: Any, seed: int, split_params: dict[str, Any], score_params: dict[str, Any]
    ) -> list[Fold]:
        """Return folds of buckets: five random quarters, or `cv` parts."""
        if split_params:
            raise ParameterError(next(iter(split_params)), "is not possible for a source.")
        rng, n = np.random.default_rng([seed, self.n_units]), self.n_units
        if cv is None:
            tests = [np.sort(rng.permutation(n)[: n // 4]) for _ in range(5)]
        elif isinstance(cv, int) and not isinstance(cv, bool) and 2 <= cv <= n:
            tests = [np.sort(part) for part in np.array_split(rng.permutation(n), cv)]
        else:
            raise ParameterError(
                "cv", f"must be None or an integer from 2 to {n} for a source; got {cv!r}."
            )
        every = np.arange(n)
        return [
            StreamedFold(i, self, np.setdiff1d(every, test), test, {})
            for i, test in enumerate(tests)
        ]

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
            weight = weight * self.class_factors[rows.target]
        return fit_model(clone(model), rows.X.T, columns.given(rows.target), weight)


@dataclass(frozen=True, eq=False)
class StreamedFold(Fold):
    """Buckets to learn from, and buckets to score."""

    def scorer_params(self) -> dict[str, Any]:
        """Return the weights of the sampled test rows."""
        return {"sample_weight": self.test().row_weight}


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedClasses(StreamedProblem, ClassProblem):
    """Rows with labels."""

    def _criterion_of(self, buckets: IntArray, **how: Any) -> Any:
        moments = self.rows.moments.classes(buckets)
        moments.scatter[:] *= self.class_factors[:, None, None]
        weight = moments.weight * self.class_factors
        within = ClassMoments(weight, moments.mean, moments.scatter).within()
        if self.which is not None:
            within = within.among_columns(self.which)
        return fisher_criterion(within, rank=self.rank, overwrite=True, **how)


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedRegression(StreamedProblem, RegressionProblem):
    """Rows with an output."""

    def _criterion_of(self, buckets: IntArray, **how: Any) -> Any:
        joint = self.rows.moments.joint(buckets, len(self.rows.columns.features))
        if self.which is not None:
            joint = joint.among_columns(self.which)
        return r2_criterion(joint, overwrite=True, **how)
