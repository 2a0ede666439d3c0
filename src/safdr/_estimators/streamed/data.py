"""Training data of which only moments and a sample are in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import (
    BucketNoise,
    FisherCriterion,
    R2Criterion,
    Ridge,
    fisher_criterion,
    r2_criterion,
)
from safdr._engine.fits.columns import total_variance
from safdr._engine.moments import ClassMoments, WithinMoments
from safdr._engine.moments.buckets import BucketMoments
from safdr._engine.streaming.positions import buckets_of
from safdr._estimators.class_weights import weighted_rows
from safdr._estimators.streamed.passes import (
    LOOKS_MEASURED,
    MomentsPass,
    TargetFound,
    TargetPass,
)
from safdr._estimators.streamed.tables import Layout, Source
from safdr._estimators.training_data import ClassData, MeasuredData
from safdr._estimators.validation import check_not_constant, check_ratio_of_weights, shown
from safdr.errors import ParameterError

# Every fold's training part and every batch is a sum of some of these.
N_BUCKETS = 20

# Memory for the moments of all buckets: 3500 features and two classes.
MOST_BYTES = 4 * 10**9

# Numbers in memory for the sample: beyond that it has fewer rows.
MOST_SAMPLED = 12_000_000


def _folds(data: Any, seed: int, class_weight: Any) -> Any:
    """The five splits of `cv=None`, made of buckets."""
    from safdr._estimators.streamed.fit import streamed_folds

    return streamed_folds(data, None, class_weight, seed)


@dataclass(frozen=True, eq=False)
class StreamedClassData(ClassData):
    """Sampled rows with labels, weighted to stand for all, and the moments of all."""

    in_passes = True
    folds = _folds

    rows: StreamedRows
    buckets: IntArray  # those that are learnt from
    # What class weights multiply rows of each class by.
    class_factor: FloatArray

    @property
    def moments(self) -> BucketMoments:
        """Of all rows."""
        return self.rows.moments

    def usable(self, class_weight: Any = None) -> Self:
        """With the weights of the classes; some column must change."""
        check_not_constant(np.array(self._extremes))
        if class_weight is None:
            return self
        assert self.sample_weight is not None
        weight = weighted_rows(class_weight, self)
        factor = np.ones(len(self.classes))
        factor[self.codes] = weight / self.sample_weight
        if not factor.all():
            raise ParameterError(
                "class_weight",
                "must be above 0 for every class where rows are read in passes; got {given!r}.",
                given=class_weight,
            )
        return replace(self, sample_weight=weight, class_factor=factor)

    def take(self, indices: Any) -> Self:
        """Rows can't be taken: folds are made of buckets."""
        raise NotImplementedError

    def of_buckets(self, buckets: IntArray) -> WithinMoments:
        """Moments of all rows in some buckets."""
        moments = self.moments.classes(buckets)
        weight = moments.weight * self.class_factor
        scatter = moments.scatter * self.class_factor[:, None, None]
        return ClassMoments(weight, moments.mean, scatter).within()

    def criterion(self, ridge: Ridge, rank: FloatArray | None = None) -> FisherCriterion:
        """Fisher's ratio of all rows."""
        within = self.of_buckets(self.buckets)
        return fisher_criterion(within, ridge=ridge, rank=rank, overwrite=True)

    def noise(self, criterion: Any) -> BucketNoise:
        """Batches of buckets."""

        def of_batch(buckets: IntArray) -> FisherCriterion:
            within = self.of_buckets(buckets)
            how: dict[str, Any] = {"ridge": criterion.ridge, "scale": criterion.scale}
            return fisher_criterion(within, **how, overwrite=True)

        return BucketNoise(self.moments.counts[self.buckets].sum(axis=0), self.buckets, of_batch)

    @cached_property
    def _extremes(self) -> tuple[FloatArray, FloatArray]:
        """Of all rows."""
        low, high = self.moments.low[self.buckets], self.moments.high[self.buckets]
        return low.min(axis=0), high.max(axis=0)

    def _penalty(self, C: float) -> float:
        """What C means for a mean over all rows."""
        weight = self.moments.weight[self.buckets].sum(axis=0) @ self.class_factor
        return 1.0 / C / float(weight)


@dataclass(frozen=True, eq=False)
class StreamedMeasuredData(MeasuredData):
    """Sampled rows with an output, and the moments of all: models need no more."""

    in_passes = True
    folds = _folds

    rows: StreamedRows
    buckets: IntArray

    @property
    def moments(self) -> BucketMoments:
        """Of all rows."""
        return self.rows.moments

    def usable(self, class_weight: Any = None) -> Self:
        """As they are; the output and some column must change."""
        low, high = self.moments.low.min(axis=0), self.moments.high.max(axis=0)
        check_not_constant(np.array([low[:-1], high[:-1]]))
        if low[-1] == high[-1]:
            raise ValueError(
                f"The target of {self.rows.source.name} is {low[-1]:g} in every row: there is "
                "nothing to explain."
            )
        return self

    def take(self, indices: Any) -> Self:
        """Rows can't be taken: folds are made of buckets."""
        raise NotImplementedError

    def criterion(self, ridge: Ridge, rank: FloatArray | None = None) -> R2Criterion:
        """R² of all rows."""
        joint = self.moments.joint(self.buckets, self.X.shape[1])
        return r2_criterion(joint, ridge=ridge, overwrite=True)

    def noise(self, criterion: Any) -> BucketNoise:
        """Batches of buckets."""

        def of_batch(buckets: IntArray) -> R2Criterion:
            joint = self.moments.joint(buckets, self.X.shape[1])
            return r2_criterion(
                joint,
                ridge=criterion.ridge,
                scale=criterion.scale,
                output_scale=np.sqrt(criterion.marginals.output_variance),
                overwrite=True,
            )

        return BucketNoise(self.moments.counts[self.buckets].sum(axis=0), self.buckets, of_batch)

    def _penalty(self, C: float) -> float:
        return 1.0 / C / float(self.moments.weight[self.buckets].sum())


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """What two passes over a source have found."""

    source: Source
    layout: Layout
    seed: int
    n_buckets: int
    moments: BucketMoments
    n_rows: int
    # The sample: rows, target (codes of classes, or outputs), weights that make it stand for all.
    X: FloatArray
    target: NDArray[Any]
    weight: FloatArray
    bucket: IntArray

    @property
    def every(self) -> IntArray:
        """All buckets."""
        return np.arange(self.n_buckets)

    @cached_property
    def units(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each feature over all rows; 1 where it never changes."""
        mean, variance = total_variance(self.moments.classes(self.every).within())
        return mean, np.sqrt(np.where(variance > 0, variance, 1.0))

    def data(self, buckets: IntArray) -> StreamedClassData | StreamedMeasuredData:
        """Training data of some buckets."""
        X, y, weight = self.sampled(buckets)
        classes = self.layout.classes
        if classes is None:
            return StreamedMeasuredData(X, y, weight, self, buckets)
        codes = self.target[np.isin(self.bucket, buckets)]
        # The sampled rows of a class have its weight in these buckets, not only on average.
        sampled = np.bincount(codes, weight, minlength=len(classes))
        of_all = self.moments.weight[buckets].sum(axis=0)
        weight = weight * (of_all / np.where(sampled > 0, sampled, 1.0))[codes]
        ones = np.ones(len(classes))
        return StreamedClassData(X, y, weight, codes, classes, self, buckets, ones)

    def sampled(
        self, buckets: IntArray, columns: IntArray | None = None
    ) -> tuple[FloatArray, NDArray[Any], FloatArray]:
        """Rows of the sample that are in some buckets, their labels or outputs, their weights."""
        # All of them without a copy.
        rows = slice(None) if len(buckets) == self.n_buckets else np.isin(self.bucket, buckets)
        target = self.target[rows]
        classes = self.layout.classes
        X = self.X if columns is None else self.X[:, columns]
        return X[rows], target if classes is None else classes[target], self.weight[rows]

    def run(self, task: Any) -> Any:
        """Read all rows once more."""
        return self.source.run(task)


def look_at_target(source: Source, layout: Layout, *, measured: bool, seed: int) -> TargetFound:
    """First pass: how many rows, which classes, and which rows to sample."""
    limit = min(source.sample_rows, MOST_SAMPLED // len(layout.features))
    found: TargetFound = source.run(TargetPass(layout, measured, limit, seed))
    found.sample.trim()
    if found.n_present == 0:
        raise ValueError(f"{source.name} has no rows{' with a weight' if layout.weight else ''}.")
    if layout.weight is not None:
        check_ratio_of_weights(np.array(found.weights), f"The column {layout.weight!r}")
    return found


def fits_in_memory(found: TargetFound) -> bool:
    """Whether the sample is all there is."""
    return found.n_present == len(found.sample.positions)


def read_rows(
    source: Source, layout: Layout, found: TargetFound, *, measured: bool, seed: int, n_buckets: int
) -> StreamedRows:
    """Second pass: moments of buckets, if there are any, and the rows of the sample."""
    sample = found.sample
    if not measured:
        _check_classes(found, layout)
        classes = np.array(sorted(found.labels))
        order = np.searchsorted(classes, np.array(found.labels))
        sample.codes = order[sample.codes]
        layout = replace(layout, classes=classes)
        counts = np.zeros(len(classes), dtype=np.int64)
        counts[order] = found.counts
    else:
        counts = found.counts
    _check_memory(layout, len(counts), n_buckets)
    read = source.run(MomentsPass(layout, sample, seed, n_buckets))
    if read.n_rows != found.n_rows:
        raise ValueError(
            f"{source.name} had {found.n_rows} rows in the first pass and {read.n_rows} in the "
            "second: it must not change while it is read."
        )
    places = np.concatenate(read.places)
    X, target = np.concatenate(read.rows), np.concatenate(read.targets)
    if measured:
        target = target[:, 0]
    # A row stands for as many of its class as there are for each that is sampled.
    weight = (counts / np.maximum(np.bincount(sample.codes, minlength=len(counts)), 1))[
        sample.codes[places]
    ]
    if layout.weight is not None:
        weight = weight * np.concatenate(read.weights)
    bucket = buckets_of(sample.positions[places], seed, max(n_buckets, 1))
    return StreamedRows(
        source, layout, seed, n_buckets, read.moments, found.n_rows, X, target, weight, bucket
    )


def _check_classes(found: TargetFound, layout: Layout) -> None:
    """At least two classes of two rows, and labels of one type."""
    name = f"The target {layout.target!r} of {layout.source_name}"
    if len({type(label) for label in found.labels}) > 1:
        raise ValueError(f"{name} must hold labels of one type.")
    if len(found.labels) < 2:
        raise ValueError(f"{name} holds one class only, {shown(found.labels[0])}.")
    if not all(isinstance(each, int | str) or each.is_integer() for each in found.labels):
        raise ValueError(f"{name} holds numbers with fractions, and {LOOKS_MEASURED}")
    if found.counts.min() < 2:
        rare = found.labels[int(found.counts.argmin())]
        raise ValueError(
            f"{name} holds {found.counts.min()} row(s) of class {shown(rare)}"
            f"{' with a weight' if layout.weight else ''}; each needs at least 2."
        )
    n_classes = len(found.labels)
    if np.bincount(found.sample.codes, minlength=n_classes).min() < 2:
        raise ValueError(
            f"A sample of {len(found.sample.codes)} rows is too small for the {n_classes} classes "
            f"of {layout.target!r}: raise sample_rows of Stream, or choose fewer columns."
        )


def check_folds(rows: StreamedRows, tests: list[IntArray]) -> None:
    """Every class must be in every part of every fold."""
    classes = rows.layout.classes
    if classes is None:
        return
    for test in tests:
        for part, least in ((test, 1), (np.setdiff1d(rows.every, test), 2)):
            counts = rows.moments.counts[part].sum(axis=0)
            if counts.min() < least:
                raise ValueError(
                    f"A fold has {counts.min()} row(s) of class {shown(classes[counts.argmin()])} "
                    f"to {'score' if least == 1 else 'learn from'}: too few are spread over the "
                    f"{rows.n_buckets} buckets of {rows.source.name}. Use fewer folds (cv=3), "
                    "another random_state, or leave the class out."
                )


def _check_memory(layout: Layout, n_classes: int, n_buckets: int) -> None:
    """Say before anything is allocated what moments would take."""
    n_bytes = 8 * n_buckets * n_classes * (len(layout.features) + 1) ** 2
    if n_bytes > MOST_BYTES:
        raise ValueError(
            f"Moments of {n_buckets} buckets, {n_classes} classes and {len(layout.features)} "
            f"features would take {n_bytes / 1e9:.1f} GB, and {MOST_BYTES / 1e9:.0f} GB is the "
            "most for rows that are read in passes. Choose columns: Stream(source, columns=[…])."
        )


def n_buckets_for(cv: Any) -> int:
    """How many buckets, so that folds are of the same size."""
    if cv is None:
        return N_BUCKETS
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or not 2 <= cv <= N_BUCKETS:
        raise ParameterError(
            "cv",
            "must be None or a whole number from 2 to {most} where rows are read in passes: folds "
            "are made of buckets of rows; got {given!r}.",
            most=N_BUCKETS,
            given=cv,
        )
    return int(cv) * -(-N_BUCKETS // int(cv))


def buckets_of_folds(cv: Any, n_buckets: int, seed: int) -> list[IntArray]:
    """Those of each fold; None stands for five times a quarter, drawn anew each time."""
    rng = np.random.default_rng([seed, n_buckets])
    if cv is None:
        return [np.sort(rng.permutation(n_buckets)[: n_buckets // 4]) for _ in range(5)]
    return [np.sort(part) for part in np.array_split(rng.permutation(n_buckets), int(cv))]
