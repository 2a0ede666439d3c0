"""Criteria of rows on a device: on all rows, and on random batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.batches import MIN_BATCHES, draw_batches
from safdr._engine.criterion import (
    Criterion,
    Ridge,
    effective_rows,
    fisher_columns,
    redundant_columns,
)
from safdr._engine.device.rows import BLOCK_BYTES, DeviceRows, free_bytes, in_parts
from safdr._engine.rows import materialize
from safdr._engine.shrinkage import ridge_of_squares
from safdr._memory import check_memory

# Largest share of the free memory for batches; replicas need the rest.
BATCH_SHARE = 0.6


class RowsOnDevice:
    """Rows on a device, with class codes or scaled outputs; they keep their precision."""

    def __init__(
        self,
        X: Any,
        codes: IntArray,
        outputs: FloatArray | None,
        sample_weight: FloatArray | None,
        rows_a_weight: float,
        device: Any,
    ) -> None:
        n_rows, self.n_features = X.shape
        self.codes, self.device, self._rows_a_weight = codes, torch.device(device), rows_a_weight
        check_memory(
            12.0 * self.n_features**2 + (0 if isinstance(X, DeviceRows) else X[:1].nbytes * n_rows),
            f"{n_rows:,} rows of {self.n_features:,} columns and the products of these",
            "Leave columns out; or leave `device` out: the compiled search needs no such products.",
            free_bytes(self.device),
            f"on device {str(device)!r}",
        )
        self.X = (X.tensor if isinstance(X, DeviceRows) else torch.tensor(materialize(X))).to(
            device
        )
        weight = np.ones(n_rows) if sample_weight is None else sample_weight
        self.weight, self.counts = self._there(weight), np.bincount(codes)
        self.share = self.weight / self.weight.sum()
        self.outputs: Any = None if outputs is None else self._there(outputs)

    def criterion(
        self,
        ridge: Ridge,
        rank: FloatArray | None = None,
        codes: IntArray | None = None,
        scale: FloatArray | None = None,
    ) -> Criterion:
        """Return the criterion, with tensors A and D, on all rows or on those with a code."""
        A, D, own_scale, weight = self._moments(self.codes if codes is None else codes)
        variance = A.diagonal().cpu().numpy()
        scale = own_scale if scale is None else scale
        redundant = redundant_columns(variance, D, scale, rank)
        divisor = np.where(scale == 0, 1.0, scale)
        A.div_(self._there(divisor)).div_(self._there(divisor[:, None]))
        if ridge == "auto":
            n_rows = effective_rows(weight, self._rows_a_weight)
            ridge = ridge_of_squares(float((A * A).sum()), int((variance > 0).sum()), n_rows)
        A.diagonal().add_(float(ridge))
        return Criterion(A, self._there(D / divisor[:, None]), scale, float(ridge), redundant)

    def draw(
        self, of_all: Any, n_batches: int, share: float, seed: int
    ) -> tuple[Tensor, Tensor] | None:
        """Return A and D of random batches; None if they do not fit into memory."""
        fitting = BATCH_SHARE * free_bytes(self.device) / (8.0 * self.n_features**2)
        n_batches = int(min(n_batches, fitting))
        if n_batches < MIN_BATCHES:
            return None
        A, D = (each.new_empty((n_batches, *each.shape)) for each in (of_all.A, of_all.D))
        rng = np.random.default_rng(np.random.SeedSequence([seed]))
        for i, codes in enumerate(draw_batches(self.codes, n_batches, share, rng)):
            of_batch = self.criterion(of_all.ridge, None, codes, of_all.scale)
            A[i], D[i] = of_batch.A, of_batch.D
        return A, D

    def _moments(self, codes: IntArray) -> tuple[Any, Any, FloatArray, FloatArray]:
        """Return A and D in units of the columns, the scale of the columns, and class weights."""
        # Code -1 excludes a row. Two passes over the rows avoid cancellation.
        rows = self._there(np.flatnonzero(codes >= 0))
        label = self._there(codes)[rows]
        share = one_hot(label) * self.weight[rows, None]
        weight = share.sum(0)
        share /= weight
        blocks = in_parts(torch.arange(len(rows)), BLOCK_BYTES // (8 * self.n_features))
        # Shifted by the first row of each class: the variance of a constant is exactly zero.
        first = self.X[rows[np.unique(codes[codes >= 0], return_index=True)[1]]].double()

        def centred(some: Tensor, about: Any) -> Tensor:
            return self.X[rows[some]].double() - about[label[some]]

        means = first + sum(share[some].T @ centred(some, first) for some in blocks)
        root = share.sum(1, keepdim=True).sqrt()
        A, cross = self.weight.new_zeros((self.n_features, self.n_features)), self._there(0.0)
        for some in blocks:
            block = centred(some, means) * root[some]
            A.addmm_(block.T, block)
            if self.outputs is not None:
                cross = cross + block.T @ (root[some] * self.outputs[rows[some]])
        variance, weights = A.diagonal().cpu().numpy(), weight.cpu().numpy()
        if self.outputs is None:
            return A, *fisher_columns(weights, means.cpu().numpy(), variance), weights
        return A, cross.cpu().numpy(), np.sqrt(variance), weights

    def _there(self, values: Any) -> Any:
        return torch.as_tensor(values, device=self.device)
