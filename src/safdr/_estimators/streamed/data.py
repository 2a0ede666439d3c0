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
from safdr._engine.moments import ClassMarginals, ClassMoments, JointMoments, WithinMoments
from safdr._engine.moments.buckets import BucketMoments
from safdr._engine.taken_rows import take_rows
from safdr._estimators.class_weights import weighted_rows
from safdr._estimators.measured_data import MeasuredData
from safdr._estimators.streamed.tables import Layout, Source
from safdr._estimators.training_data import ClassData
from safdr._estimators.validation import check_not_constant
from safdr.errors import ParameterError


class InPasses:
    """What training data of both tasks have in common."""

    in_passes = True
    rows: StreamedRows

    @property
    def moments(self) -> BucketMoments:
        """Of all rows."""
        return self.rows.moments

    @property
    def told(self) -> dict[str, Any]:
        """How the rows were read, for people."""
        rows = self.rows
        return {"source": rows.source.name, "n_rows": rows.n_rows, "n_sample_rows": len(rows.X)}

    def columns(self, which: IntArray) -> Any:
        """Return the same for some of the columns."""
        this: Any = self
        of_source = which if this.which is None else this.which[which]
        return replace(this, X=this.X[:, which], which=of_source)

    def take(self, indices: Any) -> Any:
        """Rows can't be taken: folds are made of buckets."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class StreamedClassData(InPasses, ClassData):
    """Sampled rows with labels, weighted to stand for all, and the moments of all."""

    rows: StreamedRows
    buckets: IntArray  # those that are learnt from
    # What class weights multiply rows of each class by.
    class_factor: FloatArray
    # The columns of X among those of the source; None for all.
    which: IntArray | None = None

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

    def of_buckets(self, buckets: IntArray) -> WithinMoments:
        """Moments of all rows in some buckets."""
        moments = self.moments.classes(buckets)
        scatter = moments.scatter
        scatter *= self.class_factor[:, None, None]
        within = ClassMoments(moments.weight * self.class_factor, moments.mean, scatter).within()
        return within if self.which is None else within.among_columns(self.which)

    @cached_property
    def variance(self) -> FloatArray:
        """Of each feature, in all rows that are learnt from."""
        found, factor = self.moments.marginals(self.buckets), self.class_factor
        squares = found.squares * factor[:, None]
        return total_variance(ClassMarginals(found.weight * factor, found.mean, squares))[1]

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
        every: IntArray | slice = slice(None) if self.which is None else self.which
        return low.min(axis=0)[every], high.max(axis=0)[every]

    @cached_property
    def n_rows(self) -> float:
        """Sum of the weights of all rows."""
        return float(self.moments.weight[self.buckets].sum(axis=0) @ self.class_factor)


@dataclass(frozen=True, eq=False)
class StreamedMeasuredData(InPasses, MeasuredData):
    """Sampled rows with an output, and the moments of all: models need no more."""

    rows: StreamedRows
    buckets: IntArray
    # The columns of X among those of the source; None for all.
    which: IntArray | None = None

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

    @cached_property
    def _target_range(self) -> tuple[float, float]:
        """Of all rows."""
        low, high = self.moments.low[self.buckets, -1], self.moments.high[self.buckets, -1]
        return float(low.min()), float(high.max())

    def criterion(self, ridge: Ridge, rank: FloatArray | None = None) -> R2Criterion:
        """R² of all rows."""
        return r2_criterion(self.of_buckets(self.buckets), ridge=ridge, overwrite=True)

    def of_buckets(self, buckets: IntArray) -> JointMoments:
        """Return the moments of all rows in some buckets."""
        joint = self.moments.joint(buckets, self.rows.X.shape[1])
        return joint if self.which is None else joint.among_columns(self.which)

    def noise(self, criterion: Any) -> BucketNoise:
        """Batches of buckets."""

        def of_batch(buckets: IntArray) -> R2Criterion:
            return r2_criterion(
                self.of_buckets(buckets),
                ridge=criterion.ridge,
                scale=criterion.scale,
                output_scale=np.sqrt(criterion.marginals.output_variance),
                overwrite=True,
            )

        return BucketNoise(self.moments.counts[self.buckets].sum(axis=0), self.buckets, of_batch)

    @cached_property
    def n_rows(self) -> float:
        """Sum of the weights of all rows."""
        return float(self.moments.weight[self.buckets].sum())


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
        mean, variance = total_variance(self.moments.marginals(self.every))
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
        rows: Any = slice(None) if len(buckets) == self.n_buckets else np.isin(self.bucket, buckets)
        target = self.target[rows]
        classes = self.layout.classes
        X = self.X if columns is None else self.X[:, columns]
        if len(buckets) < self.n_buckets:
            X = take_rows(X, rows) if columns is None else X[rows]
        return X, target if classes is None else classes[target], self.weight[rows]

    def run(self, task: Any) -> Any:
        """Read all rows once more."""
        return self.source.run(task)
