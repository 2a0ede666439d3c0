"""Moments become a criterion J(S) = trace(D_S' A_SS⁻¹ D_S), of all rows or of random batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.moments import (
    ClassMarginals,
    JointMarginals,
    JointMoments,
    WithinMoments,
    joint_moments,
    within_moments,
)
from safdr._engine.shrinkage import auto_ridge

# A number of any type, or "auto": what the number of rows asks for.
Ridge: TypeAlias = float | str

# A and D of several criteria: (n_criteria, n_features, n_features or n_columns).
CriterionStack: TypeAlias = tuple[FloatArray, FloatArray]

# A feature with a variance below this share of the squared distance of the means (a criterion value
# above 10 000 by itself) separates the classes; what is left of its variance sets no scale.
SEPARATING = 1e-4

# Rows of a matrix that are scaled at a time, so that no second matrix is needed.
ROWS_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class Criterion:
    """A quadratic criterion over subsets, the larger the better."""

    # Positive definite; its diagonal is one (plus the ridge), but for features that separate the
    # classes alone, and in batches.
    A: FloatArray
    # What is to be explained: a column for each class but the first, or for each output.
    D: FloatArray
    # What the features were divided by. J does not depend on it; conditioning does. Zero marks a
    # feature that never changes.
    scale: FloatArray
    # What was added to the diagonal of A.
    ridge: float
    # Features that no subset needs: those that never change, and of those that are constant within
    # each class all that follow from others: of two classes, all but one, since each of them is the
    # label by another name.
    redundant: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    # The diagonal of A without the ridge, where another ridge may come in its place.
    diagonal: FloatArray | None = field(default=None, kw_only=True)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.A)

    def covariances(self, subsets: IntArray) -> FloatArray:
        """What A was made of, without scale and ridge: (size, size) numbers for each subset."""
        scale = np.where(self.scale == 0, 1.0, self.scale)[subsets]
        blocks = self.A[subsets[:, :, None], subsets[:, None, :]]
        blocks -= self.ridge * np.eye(subsets.shape[1])
        return blocks * scale[:, :, None] * scale[:, None, :]

    def among(self, columns: IntArray) -> Self:
        """Return the criterion of some of the columns."""
        place = np.full(self.n_features, -1)
        place[columns] = np.arange(len(columns))
        redundant = place[self.redundant]
        how: dict[str, Any] = {}
        if hasattr(self, "marginals"):
            how["marginals"] = self.marginals.among(columns)
        return replace(
            self,
            A=self.block(columns),
            D=self.D[columns],
            scale=self.scale[columns],
            redundant=redundant[redundant >= 0],
            diagonal=None if self.diagonal is None else self.diagonal[columns],
            **how,
        )

    def value(self, subset: Sequence[int] | IntArray) -> float:
        """J of one subset."""
        index = np.asarray(subset, dtype=np.intp)
        D = self.D[index]
        return float(np.sum(D * np.linalg.solve(self.A[np.ix_(index, index)], D)))

    def block(self, members: IntArray) -> FloatArray:
        """A of some features."""
        return self.A[np.ix_(members, members)]

    def products(self, feature: int, members: IntArray) -> FloatArray:
        """A of one feature with others."""
        return self.A[feature, members]

    def times(self, members: IntArray, slopes: FloatArray) -> FloatArray:
        """A·b of all features, where some have slopes."""
        return slopes @ self.A[members]


@dataclass(frozen=True, eq=False)
class FisherCriterion(Criterion):
    """Fisher's ratio, and the rest of the moments that it was made from."""

    marginals: ClassMarginals = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class R2Criterion(Criterion):
    """R², and the rest of the moments that it was made from."""

    marginals: JointMarginals = field(kw_only=True)


def fisher_criterion(
    moments: WithinMoments,
    *,
    ridge: Ridge,
    scale: FloatArray | None = None,
    rank: FloatArray | None = None,
    overwrite: bool = False,
    rows_a_weight: float = 1.0,
) -> FisherCriterion:
    """Fisher discriminant ratio, averaged over the pairs of classes.

    A is the sum of the population covariances, and D·D' the scatter between the classes, so that
    J(S) is the mean of d'·A_SS⁻¹·d over all pairs of rows of different classes, with d the
    difference of the means of their classes: of two classes, the ratio itself. `rows_a_weight` says
    how many rows a weight of one stands for.
    """
    if len(moments.weight) < 2:
        raise ValueError(
            f"fisher_criterion needs moments of 2 or more classes, got {len(moments.weight)}."
        )
    variance = np.diag(moments.within).copy()
    D, own_scale = fisher_columns(moments.weight, moments.mean, variance)
    scale = own_scale if scale is None else scale
    constant = scale == 0
    redundant = redundant_columns(variance, D, scale, rank)
    divisor = np.where(constant, 1.0, scale)
    A = _scaled(moments.within, divisor, overwrite)
    diagonal = np.diag(A).copy()
    ridge = _add_ridge(A, ridge, partial(effective_rows, moments.weight, rows_a_weight))
    D /= divisor[:, None]
    marginals = ClassMarginals(moments.weight, moments.mean, moments.squares)
    how: dict[str, Any] = {"marginals": marginals, "diagonal": diagonal}
    return FisherCriterion(A, D, scale, ridge, redundant, **how)


def fisher_columns(
    weight: FloatArray, mean: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What Fisher's ratio asks of each feature alone: D, and what to divide the feature by."""
    D = _between_classes(weight, mean)
    return D, np.sqrt(np.maximum(variance, SEPARATING * (D**2).sum(axis=1)))


def r2_columns(cross: FloatArray, divisor: FloatArray, output_scale: FloatArray) -> FloatArray:
    """The same of R²: D, in units of the divisor."""
    output_divisor = np.where(output_scale == 0, 1.0, output_scale) * np.sqrt(len(output_scale))
    D: FloatArray = cross / divisor[:, None] / output_divisor
    return D


def r2_criterion(
    moments: JointMoments,
    *,
    ridge: Ridge,
    scale: FloatArray | None = None,
    output_scale: FloatArray | None = None,
    overwrite: bool = False,
    rows_a_weight: float = 1.0,
) -> R2Criterion:
    """Share of the variance of the outputs that a linear model explains: R², their mean."""
    if scale is None:
        scale = np.sqrt(np.diag(moments.covariance))
    if output_scale is None:
        output_scale = np.sqrt(moments.output_variance)
    divisor = np.where(scale == 0, 1.0, scale)
    D = r2_columns(moments.cross, divisor, output_scale)
    A = _scaled(moments.covariance, divisor, overwrite)
    diagonal = np.diag(A).copy()
    ridge = _add_ridge(A, ridge, partial(effective_rows, moments.weight, rows_a_weight))
    constant = np.flatnonzero(scale == 0)
    marginals = JointMarginals(
        moments.weight, moments.mean, moments.output_mean, moments.output_variance, moments.cross
    )
    how: dict[str, Any] = {"marginals": marginals, "diagonal": diagonal}
    return R2Criterion(A, D, scale, ridge, constant, **how)


def with_ridge(criterion: Any, ridge: Ridge, rows_a_weight: float) -> Any:
    """The same criterion with another ridge: a copy, with another diagonal."""
    A = criterion.A.copy()
    np.fill_diagonal(A, criterion.diagonal)
    ridge = _add_ridge(A, ridge, partial(effective_rows, criterion.marginals.weight, rows_a_weight))
    return replace(criterion, A=A, ridge=ridge)


def _add_ridge(A: FloatArray, ridge: Ridge, n_rows: Callable[[], float]) -> float:
    """Add to the diagonal in place; tell how much."""
    ridge = auto_ridge(A, n_rows()) if ridge == "auto" else float(ridge)
    np.einsum("ii->i", A)[:] += ridge  # a view
    return ridge


def effective_rows(weight: Any, rows_a_weight: float) -> float:
    """How many rows a covariance is as uncertain as; of classes it is a mean of covariances."""
    weight = np.atleast_1d(weight)
    if len(weight) == 1:
        return float(rows_a_weight * weight[0])
    return float(rows_a_weight * len(weight) ** 2 / np.sum(1.0 / weight))


def _between_classes(weight: FloatArray, mean: FloatArray) -> FloatArray:
    """D, of shape (n_features, n_classes - 1): what each class adds to those before it.

    With W the weight and m the mean of the classes before, class c adds W·w/(W + w)·dd' to the
    scatter between the classes, where d = μ_c - m (Chan's formula). The sum is divided by
    the number of pairs of rows of different classes, over that of rows.
    """
    # In units of the largest, so that products stay in range.
    weight = weight / max(weight.max(), np.finfo(float).tiny)
    total = np.cumsum(weight)
    pairs = weight * np.concatenate([[0.0], total[:-1]])
    if not pairs.any():
        return np.zeros((mean.shape[1], len(weight) - 1))
    divisor = np.where(total > 0, total, 1.0)
    factor = np.sqrt(pairs / divisor / (pairs.sum() / total[-1]))
    D = np.empty_like(mean)
    before = np.zeros(mean.shape[1])
    for label, share in enumerate(weight / divisor):
        difference = mean[label] - before
        D[label] = factor[label] * difference
        before = before + share * difference
    return np.ascontiguousarray(D[1:].T)


def redundant_columns(
    variance: FloatArray, D: FloatArray, scale: FloatArray, rank: FloatArray | None
) -> IntArray:
    """Features that no subset needs."""
    if variance.all() and scale.all():
        return np.empty(0, dtype=np.int64)
    constant = scale == 0
    label_copies = np.flatnonzero((variance == 0) & ~constant)
    return np.union1d(np.flatnonzero(constant), _redundant(label_copies, D, rank))


def _redundant(features: IntArray, D: FloatArray, rank: FloatArray | None) -> IntArray:
    """Features, of those that are constant within each class, that follow from others."""
    ranks = np.zeros(len(features)) if rank is None else rank[features]
    order = np.argsort(ranks, kind="stable")
    in_turn = features[order]
    return in_turn[_dependent(D[in_turn], ranks[order] < np.inf)]


def _dependent(rows: FloatArray, counts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which rows are linear combinations of those before that count, but for rounding."""
    dependent = np.zeros(len(rows), dtype=bool)
    basis = np.empty((0, rows.shape[1]))
    for i, row in enumerate(rows):
        left = row - (basis @ row) @ basis
        dependent[i] = np.linalg.norm(left) <= 1e-9 * np.linalg.norm(row)
        if counts[i] and not dependent[i]:
            basis = np.vstack([basis, left / np.linalg.norm(left)])
    return dependent


def _scaled(matrix: FloatArray, divisor: FloatArray, overwrite: bool) -> FloatArray:
    """The matrix in units of the divisor."""
    A = matrix if overwrite else np.empty_like(matrix)
    for start in range(0, len(A), ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        np.divide(matrix[some], np.outer(divisor[some], divisor), out=A[some])
    return A


def stack_criteria(criteria: Sequence[Criterion]) -> CriterionStack:
    """Put criteria over the same features into two arrays, as the kernel takes them."""
    if len(criteria) == 1:
        return criteria[0].A[None], criteria[0].D[None]
    return np.stack([c.A for c in criteria]), np.stack([c.D for c in criteria])


# ---- Of random batches of the rows: the noise that keeps replicas apart --------------------------

# With γ = features / rows the eigenvalues of a sampled covariance spread over (1 ± √γ)² (Marchenko
# and Pastur): a factor of 34 at γ = 1/2, and without bound as γ nears 1.
ROWS_PER_FEATURE = 2
MIN_CLASS_ROWS = 2

# A share that must be raised goes up to one of these many levels, so that neighbouring sizes can
# use the same batches.
SHARE_LEVELS = 8

# Memory for the matrices of all batches: five of 2590 features, two of 4096. Beyond that there are
# two whatever they take, since one would be no noise.
BATCH_BYTES = 2**28
MIN_BATCHES = 2


class Noise(Protocol):
    """Where the criteria of random batches come from."""

    @property
    def counts(self) -> IntArray:
        """Rows of each class, or of all."""

    def draw(self, n_batches: int, share: float, rng: np.random.Generator) -> Iterator[IntArray]:
        """Batches at random, each with a share of the rows."""

    def batch_criterion(self, batch: IntArray, out: FloatArray) -> Criterion:
        """The criterion on a batch; its A is `out`."""


@dataclass(frozen=True, eq=False)
class BucketNoise:
    """Batches of buckets of rows, whose moments are known."""

    counts: IntArray
    buckets: IntArray
    of_buckets: Callable[[IntArray], Criterion]

    def draw(self, n_batches: int, share: float, rng: np.random.Generator) -> Iterator[IntArray]:
        """Some of the buckets."""
        count = int(np.ceil(share * len(self.buckets)))
        for _ in range(n_batches):
            yield np.sort(rng.permutation(self.buckets)[:count])

    def batch_criterion(self, batch: IntArray, out: FloatArray) -> Criterion:
        """The criterion on some buckets; its A is copied to `out`."""
        criterion = self.of_buckets(batch)
        out[:] = criterion.A
        return criterion


@dataclass(frozen=True, eq=False)
class ClassNoise:
    """Batches of rows with labels."""

    X: RowArray
    codes: IntArray
    sample_weight: FloatArray | None
    criterion: FisherCriterion

    @cached_property
    def counts(self) -> IntArray:
        """Of each class."""
        return np.bincount(self.codes)

    def draw(self, n_batches: int, share: float, rng: np.random.Generator) -> Iterator[IntArray]:
        """With the same share of each class."""
        return draw_batches(self.codes, n_batches, share, rng)

    def batch_criterion(self, batch: IntArray, out: FloatArray) -> Criterion:
        """Fisher's ratio on some of the rows, on the scale of all; its A is `out`."""
        n_classes = len(self.criterion.marginals.weight)
        moments = within_moments(self.X, batch, n_classes, self.sample_weight, out=out)
        ridge, scale = self.criterion.ridge, self.criterion.scale
        return fisher_criterion(moments, ridge=ridge, scale=scale, overwrite=True)


@dataclass(frozen=True, eq=False)
class OutputNoise:
    """Batches of rows with measured outputs."""

    X: RowArray
    outputs: FloatArray
    sample_weight: FloatArray | None
    criterion: R2Criterion

    @property
    def counts(self) -> IntArray:
        """Of all."""
        return np.array([len(self.outputs)])

    def draw(self, n_batches: int, share: float, rng: np.random.Generator) -> Iterator[IntArray]:
        """Of rows as they come."""
        return draw_batches(np.zeros(len(self.outputs), dtype=np.int64), n_batches, share, rng)

    def batch_criterion(self, batch: IntArray, out: FloatArray) -> Criterion:
        """R² on some of the rows, in units of the variances on all; its A is `out`."""
        moments = joint_moments(self.X, self.outputs, self.sample_weight, rows=batch >= 0, out=out)
        return r2_criterion(
            moments,
            ridge=self.criterion.ridge,
            scale=self.criterion.scale,
            output_scale=np.sqrt(self.criterion.marginals.output_variance),
            overwrite=True,
        )


def batch_criteria(
    noise: Noise, n_batches: int, share: float, n_features: int, seed: int
) -> CriterionStack:
    """Criteria of random batches, each with a share of the rows."""
    n_batches = affordable_batches(n_batches, n_features)
    A, D = np.empty((n_batches, n_features, n_features)), []
    rng = np.random.default_rng(np.random.SeedSequence([seed]))
    for out, batch in zip(A, noise.draw(n_batches, share, rng), strict=True):
        # In place: a list of matrices would take the memory twice.
        D.append(noise.batch_criterion(batch, out).D)
    return A, np.array(D)


def affordable_batches(n_batches: int, n_features: int) -> int:
    """Number of batches whose matrices fit into memory: those asked for, where features are few.

    It depends on the number of features alone, so that sparse and dense rows, and rows in any
    number, are searched alike.
    """
    fitting = BATCH_BYTES // (8 * n_features**2)
    return min(n_batches, max(MIN_BATCHES, fitting))


def batch_share(batch_fraction: float, size: int, noise: Noise) -> float:
    """Share of the rows that a batch needs, so that its covariance can carry `size` features."""
    class_counts = noise.counts
    needed = (ROWS_PER_FEATURE * size + len(class_counts)) / class_counts.sum()
    if needed <= batch_fraction:
        return batch_fraction
    return float(min(1.0, np.ceil(SHARE_LEVELS * needed) / SHARE_LEVELS))


def draw_batches(
    codes: IntArray, n_batches: int, share: float, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Class codes of each batch in turn, with -1 for the rows that it leaves out."""
    rows_by_class = [np.flatnonzero(codes == label) for label in np.unique(codes)]
    for _ in range(n_batches):
        batch = np.full_like(codes, -1)
        for rows in rows_by_class:
            count = min(len(rows), max(MIN_CLASS_ROWS, int(np.ceil(share * len(rows)))))
            chosen = rng.permutation(rows)[:count]
            batch[chosen] = codes[chosen]
        yield batch
