"""The problem of a source: sufficient statistics of all rows; models and scores on a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import BucketNoise, Ridge, fisher_criterion, r2_criterion
from safdr._engine.moments import ClassMoments
from safdr._engine.moments.buckets import BucketMoments
from safdr._engine.moments.triangle import Triangle
from safdr._engine.signs import wrong_signs
from safdr._estimators.data import (
    ClassProblem,
    Fold,
    Problem,
    RegressionProblem,
    problem_fields,
    problem_of,
)
from safdr._estimators.streaming.columns import Columns, Rows, check_numbers, find_columns
from safdr._estimators.streaming.passes import (
    CountTask,
    Sums,
    SumsTask,
    buckets_of,
    sample_shares,
)
from safdr.errors import ParameterError
from safdr.sources import Source, open_source

# Folds, batches and halves are sums of buckets: twenty allow folds and quarters.
N_BUCKETS = 20

# Memory for the statistics of all buckets (4,900 features of two classes), for the sample, and for
# the columns of the final model (100 million rows of five features).
MAX_BYTES = 4e9


def read(selector: Any, X: Any, y: Any, sample_weight: Any, seed: int) -> Problem:
    """Return the problem of a source; set the attributes that describe columns and classes."""
    rows = _read_rows(X, y, sample_weight, regression=selector._is_regression, seed=seed)
    names = rows.columns.features
    selector.n_features_in_ = len(names)
    selector.feature_names_in_ = np.array(names, dtype=object)
    if rows.moments is None:
        weight = None if rows.columns.weight is None else rows.sample.weight
        values = np.ascontiguousarray(rows.sample.X.T)
        return problem_of(selector, values, rows.labels(rows.sample.target), weight)
    if rows.classes is not None:
        selector.classes_ = rows.classes
    return rows.problem(**problem_fields(selector))


def _read_rows(X: Any, y: Any, sample_weight: Any, *, regression: bool, seed: int) -> StreamedRows:
    """Count the labels, then sum up statistics and take a sample: two passes."""
    source, y, sample_weight = _open(X, y, sample_weight)
    columns = find_columns(source, y, sample_weight, regression=regression)
    counted = source.run(CountTask(columns, regression))
    if not sum(counted.values()):
        raise ValueError(f"{source.name} has no rows.")
    if not regression:
        columns = replace(columns, classes=_classes(counted))
    counts = np.array([counted[each] for each in columns.classes or [None]])
    n_columns = len(columns.features)
    limit = min(source.sample_rows, int(MAX_BYTES / 8 / n_columns))
    n_buckets = 0 if counts.sum() <= limit else N_BUCKETS
    _check_memory(n_columns, len(counts), n_buckets)
    task = SumsTask(columns, sample_shares(counts, limit), seed, n_buckets)
    return StreamedRows(source, columns, counts, seed, *_run(source, task, counts))


def read_columns(selector: Any, X: Any, which: IntArray) -> FloatArray:
    """Return some of the features of a fitted selector, of all rows of a source."""
    source, *_ = _open(X, None, None)
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


def _open(X: Any, y: Any, sample_weight: Any) -> tuple[Source, Any, Any]:
    if type(X).__module__.startswith("dask.array"):
        from safdr.sources.dask import as_frame

        X, y, sample_weight = as_frame(X, y, sample_weight)
    return open_source(X), y, sample_weight


def _classes(counted: dict[Any, int]) -> list[Any]:
    """Return the sorted labels."""
    classes = sorted(counted)
    check_classification_targets(np.array(classes))
    return classes


def _run(source: Source, task: SumsTask, counts: IntArray) -> tuple[BucketMoments | None, Rows]:
    """Read the rows; refuse a source whose labels are not those of the first pass."""
    sums: Sums = source.run(task)
    if not np.array_equal(sums.counts, counts):
        raise ValueError(
            f"{source.name} changed while it was read: {counts.tolist()} rows of each class at "
            f"first and {sums.counts.tolist()} now. Read a copy that nobody writes to."
        )
    parts: list[Any] = [np.concatenate(each, axis=-1) for each in zip(*sums.parts, strict=True)]
    return sums.moments, Rows(*parts)


def _check_memory(n_columns: int, n_classes: int, n_buckets: int) -> None:
    n_bytes = 8 * n_buckets * n_classes * Triangle(n_columns + 1).size
    if n_bytes > MAX_BYTES:
        raise ValueError(
            f"Statistics of {n_columns} features and {n_classes} classes would take "
            f"{n_bytes / 1e9:.1f} GB for rows that are read in chunks; {MAX_BYTES / 1e9:.0f} GB "
            "are allowed. Choose columns: Stream(source, columns=[...])."
        )


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """The result of two passes."""

    source: Source
    columns: Columns
    counts: IntArray
    seed: int
    moments: BucketMoments | None
    sample: Rows

    @cached_property
    def classes(self) -> NDArray[Any] | None:
        """Labels, sorted; None in a regression."""
        return None if self.columns.classes is None else np.array(self.columns.classes)

    def labels(self, target: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of codes; outputs as they are."""
        return target if self.classes is None else self.classes[target]

    def problem(self, **fields: Any) -> Problem:
        """Return the problem with all other fields."""
        how = fields | {"rows": self, "buckets": np.arange(N_BUCKETS), "is_dense": True}
        how |= self.of_buckets(how["buckets"])
        if self.classes is None:
            return StreamedRegression(**how)
        return StreamedClasses(**how, classes=self.classes)

    def of_buckets(self, buckets: IntArray) -> dict[str, Any]:
        """Return the sampled rows of some buckets; their weights are those of all rows there."""
        assert self.moments is not None
        sample = self.sample
        if len(buckets) < N_BUCKETS:
            bucket = buckets_of(sample.positions, self.seed, N_BUCKETS)
            sample = sample.take(np.isin(bucket, buckets))
        codes = self.columns.codes(sample)
        of_all = self.moments.weight[buckets].sum(axis=0)
        sampled = np.bincount(codes, sample.weight, minlength=len(of_all))
        if np.any(np.bincount(codes, minlength=len(of_all)) < 2):
            raise ValueError(
                f"The sample of {self.source.name} has fewer than 2 rows with a weight, or of a "
                "class. Raise sample_rows of Stream, or use fewer folds."
            )
        weight = sample.weight * (of_all / sampled)[codes]
        rows = {"X": sample.X.T, "y": self.labels(sample.target), "row_weight": weight}
        return rows if self.classes is None else rows | {"codes": codes}


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
        moments = self._bucket_moments
        low, high = moments.low[self.buckets].min(axis=0), moments.high[self.buckets].max(axis=0)
        if np.array_equal(low[: self.n_features], high[: self.n_features]):
            raise ValueError(f"All {self.n_features} feature(s) of X are constant.")
        return self

    @property
    def _bucket_moments(self) -> BucketMoments:
        assert self.rows.moments is not None
        return self.rows.moments

    def _dense_criterion(self, ridge: Ridge) -> Any:
        return self._criterion_of(self.buckets, ridge=ridge)

    def _criterion_of(self, buckets: IntArray, **how: Any) -> Any:
        raise NotImplementedError

    def batches(self, criterion: Any) -> BucketNoise:
        """Return batches of buckets."""
        how: dict[str, Any] = {"ridge": criterion.ridge, "scale": criterion.scale}
        if self.is_regression:
            how["output_scale"] = np.sqrt(criterion.marginals.output_variance)
        counts = self._bucket_moments.counts[self.buckets].sum(axis=0)
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
        """Return the model on all rows if they fit into memory, and signs allow it."""
        rows = self.rows
        features = [rows.columns.features[j] for j in subset]
        if 8 * rows.counts.sum() * (len(features) + 3) > MAX_BYTES:
            return model
        task = SumsTask(replace(rows.columns, features=features), np.ones(len(rows.counts)))
        _, read = _run(rows.source, task, rows.counts)
        X, target, weight, _ = read.weighted()
        if isinstance(self, ClassProblem):
            weight = weight * self.class_factors[target]
        fitted = clone(model).fit(X.T, rows.labels(target), sample_weight=weight)
        if self.allowed.signs is not None:
            slopes = np.reshape(fitted.coef_, (1, -1))
            if wrong_signs(subset[None], slopes, self.allowed.signs).any():
                return model
        return fitted


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
        moments = self._bucket_moments.classes(buckets)
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
        joint = self._bucket_moments.joint(buckets, len(self.rows.columns.features))
        if self.which is not None:
            joint = joint.among_columns(self.which)
        return r2_criterion(joint, overwrite=True, **how)
