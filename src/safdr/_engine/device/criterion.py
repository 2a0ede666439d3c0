"""Rows on a device become criteria there: of all rows, and of random batches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import (
    MIN_BATCHES,
    Ridge,
    collinear_tol,
    draw_batches,
    effective_rows,
    fisher_columns,
    r2_columns,
    redundant_columns,
)
from safdr._engine.device.rows import BLOCK_BYTES, DeviceRows, check_room, free_bytes, in_parts
from safdr._engine.shrinkage import ridge_of_squares
from safdr._engine.taken_rows import gathered
from safdr.errors import ParameterError

# Share of the memory that is left which batches may take; replicas need the rest.
BATCH_SHARE = 0.6


@dataclass(frozen=True, eq=False)
class DeviceCriterion:
    """As `Criterion`, with A and D on a device, in double precision."""

    A: Tensor
    D: Tensor
    scale: FloatArray
    ridge: float
    redundant: IntArray

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.A)

    @property
    def collinear_tol(self) -> float:
        """Variance that a candidate must have of its own, unless all that it has is."""
        return collinear_tol(self.ridge)


class _Moments(NamedTuple):
    within: Tensor  # sum of the covariances of the classes
    weight: FloatArray  # of each class
    mean: FloatArray  # (n_classes, n_features)
    cross: Any  # covariances with the outputs, or None


class RowsOnDevice:
    """Rows with class codes or outputs, moved to a device; they keep their precision."""

    def __init__(
        self,
        X: Any,
        codes: IntArray,
        outputs: FloatArray | None,
        sample_weight: FloatArray | None,
        rows_a_weight: float,
        device: Any,
    ) -> None:
        if issparse(X):
            raise ParameterError("device", "needs dense rows; got sparse ones. Leave {device} out.")
        n_rows, self.n_features = X.shape
        self.codes, self.device, self._rows_a_weight = codes, torch.device(device), rows_a_weight
        check_room(
            self.device,
            12.0 * self.n_features**2 + (0 if isinstance(X, DeviceRows) else X[:1].nbytes * n_rows),
            f"{n_rows:,} rows of {self.n_features:,} columns and the products of these",
            "Leave columns out; or leave `device` out: the compiled search makes no products of "
            "all of very many columns.",
        )
        self.X = (X.tensor if isinstance(X, DeviceRows) else torch.tensor(gathered(X))).to(device)
        self.weight = self._there(np.ones(n_rows) if sample_weight is None else sample_weight)
        self.outputs: Any = None if outputs is None else self._there(outputs)

    def criterion(self, ridge: Ridge, rank: FloatArray | None) -> DeviceCriterion:
        """What is maximised, on all rows."""
        moments = self._moments(self.codes)
        variance = moments.within.diagonal().cpu().numpy()
        if self.outputs is None:
            D, scale = fisher_columns(moments.weight, moments.mean, variance)
            redundant = redundant_columns(variance, D, scale, rank)
        else:
            scale = np.sqrt(variance)
            redundant = np.flatnonzero(scale == 0)
        A, D_there = self._scaled(moments, scale)
        if ridge == "auto":
            n_rows = effective_rows(moments.weight, self._rows_a_weight)
            n_live = int(np.count_nonzero(variance))
            ridge = ridge_of_squares(float(torch.sum(A * A)), n_live, n_rows)
        A.diagonal().add_(float(ridge))
        return DeviceCriterion(A, D_there, scale, float(ridge), redundant)

    def batches(
        self, of_all: DeviceCriterion, n_batches: int, share: float, seed: int
    ) -> tuple[Tensor, Tensor] | None:
        """A and D of random batches, on the scale of all rows; None where there is no noise."""
        fitting = BATCH_SHARE * free_bytes(self.device) / (8.0 * self.n_features**2)
        n_batches = int(min(n_batches, fitting))
        if share >= 1.0 or n_batches < MIN_BATCHES:
            return None
        A, D = (each.new_empty((n_batches, *each.shape)) for each in (of_all.A, of_all.D))
        rng = np.random.default_rng(np.random.SeedSequence([seed]))
        for i, codes in enumerate(draw_batches(self.codes, n_batches, share, rng)):
            A[i], D[i] = self._scaled(self._moments(codes), of_all.scale)
            A[i].diagonal().add_(of_all.ridge)
        return A, D

    @property
    def rows(self) -> DeviceRows:
        """The rows, for others that need them there."""
        return DeviceRows(self.X)

    @cached_property
    def counts(self) -> IntArray:
        """Rows of each class, or of all."""
        return np.bincount(self.codes)

    @cached_property
    def _output_scale(self) -> FloatArray:
        """Standard deviation of each output."""
        share = (self.weight / self.weight.sum())[:, None]
        centred = self.outputs - (share * self.outputs).sum(0)
        return np.asarray((share * centred**2).sum(0).sqrt().cpu().numpy())

    def _moments(self, codes: IntArray) -> _Moments:
        """Of rows with these codes, where -1 is none: two passes, so that no digits are lost."""
        within = self.weight.new_zeros((self.n_features, self.n_features))
        weights, means, cross = [], [], None
        for label in range(codes.max() + 1):
            rows = self._there(np.flatnonzero(codes == label))
            blocks = in_parts(rows, BLOCK_BYTES // (8 * self.n_features))
            total = self.weight[rows].sum()
            mean = sum(self.weight[some] @ self.X[some].double() for some in blocks) / total
            for some in blocks:
                root = (self.weight[some] / total).sqrt()[:, None]
                block = (self.X[some].double() - mean) * root
                within.addmm_(block.T, block)
                if self.outputs is not None:
                    part = block.T @ (root * self.outputs[some])
                    cross = part if cross is None else cross + part
            weights.append(float(total))
            means.append(mean.cpu().numpy())
        told = None if cross is None else cross.cpu().numpy()
        return _Moments(within, np.array(weights), np.array(means), told)

    def _scaled(self, moments: _Moments, scale: FloatArray) -> tuple[Tensor, Tensor]:
        """A without a ridge, and D, of features in units of a scale."""
        divisor = np.where(scale == 0, 1.0, scale)
        if self.outputs is None:
            D = fisher_columns(moments.weight, moments.mean, scale)[0] / divisor[:, None]
        else:
            D = r2_columns(moments.cross, divisor, self._output_scale)
        by = self._there(divisor)
        return moments.within.div_(by).div_(by[:, None]), self._there(D)

    def _there(self, values: Any) -> Tensor:
        return torch.as_tensor(values, device=self.device)
