"""Logistic models of many candidates at once, to tell which few are fitted to the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.device.criterion import RowsOnDevice
from safdr._engine.device.rows import BLOCK_BYTES, in_parts
from safdr._engine.fits.fits import Fits, Fitter, distinct_rows
from safdr._engine.interrupt import look_up

# Candidates that the compiled fits take to the end, the best ones. So few need no device.
N_FINALISTS = 16

N_STEPS, N_HALVINGS = 15, 8

# What Newton's next step would still take off the loss, where a fit counts as done; and how far it
# may move a logit, times the larger probability, for that to be all.
DONE, TELLING = 1e-10, 1.0 + 1e-12


@dataclass(frozen=True, eq=False)
class DeviceFitter:
    """As `exact`, which fits only those candidates that may have the smallest loss."""

    exact: Fitter
    rows: RowsOnDevice
    penalty: float

    @property
    def loss_name(self) -> str:
        """What the losses are."""
        return self.exact.loss_name

    def baseline(self) -> float:
        """Loss of the model without features."""
        return self.exact.baseline()

    def fit(self, subsets: IntArray, *, best_only: bool = False, n_threads: int = 1) -> Fits:
        """Fit a model to each subset; see `Fitter`."""
        distinct, inverse = distinct_rows(subsets)
        if not best_only or len(distinct) <= N_FINALISTS or self.rows.codes.max() > 1:
            return self.exact.fit(subsets, best_only=best_only, n_threads=n_threads)
        losses, left = self.screened(distinct)
        last = np.partition(losses, N_FINALISTS - 1)[N_FINALISTS - 1]
        # A fit that is not done may yet be the best.
        finalists = np.flatnonzero(~(losses > last) | (left > DONE))
        final = self.exact.fit(distinct[finalists], best_only=True, n_threads=n_threads)
        # Of the others the loss is known, and nothing else.
        fits = Fits.of_losses(np.maximum(losses, np.nanmin(final.losses)))._replace(
            coefficients=np.full(distinct.shape, np.nan), intercepts=np.full(len(distinct), np.nan)
        )
        for all_of_them, some in zip(fits[:-1], final[:-1], strict=True):
            all_of_them[finalists] = some
        return fits.take(inverse)

    def screened(self, subsets: IntArray) -> FloatArray:
        """Penalised loss of each subset's model, and what Newton's next step would take off."""
        there, found = torch.as_tensor(subsets, device=self.rows.device), []
        for some in in_parts(there, BLOCK_BYTES // (32 * len(self.rows.X) * (there.shape[1] + 1))):
            look_up()
            found.append(torch.stack(self._newton(some)))
        return np.asarray(torch.cat(found, dim=1).cpu().numpy())

    def _newton(self, subsets: Tensor) -> tuple[Tensor, Tensor]:
        """Newton's method with halvings from the model without slopes, all subsets at once."""
        Z = self._standardised(subsets)
        y, share = self.rows.X.new_tensor(self.rows.codes).double(), self.rows.share
        ridge = Z.new_full((Z.shape[2],), self.penalty)
        ridge[-1] = 0.0

        def at(theta: Tensor) -> tuple[Tensor, Tensor]:
            logits = (Z @ theta[:, :, None])[:, :, 0]
            losses = (torch.nn.functional.softplus(logits) - y * logits) @ share
            return torch.sigmoid(logits), losses + (theta**2) @ ridge / 2

        theta = Z.new_zeros((len(Z), Z.shape[2]))
        theta[:, -1] = torch.logit(share @ y)
        p, loss = at(theta)
        for _ in range(N_STEPS):
            gradient = (((p - y) * share)[:, None] @ Z)[:, 0] + theta * ridge
            hessian = Z.mT @ (Z * (p * (1 - p) * share)[:, :, None]) + torch.diag(ridge)
            factor = torch.linalg.cholesky_ex(hessian)[0]
            step = torch.cholesky_solve(gradient[:, :, None], factor)[:, :, 0]
            # What is left is known by duality, if no row goes farther (_core/fits/plain_fit.hpp).
            reach = ((Z @ step[:, :, None])[:, :, 0].abs() * torch.maximum(p, 1 - p)).amax(1)
            left = torch.where(reach <= TELLING, (gradient * step).sum(1) / 2, torch.inf)
            step = torch.nan_to_num(step)
            for _ in range(N_HALVINGS):
                better = at(theta - step)[1] <= loss
                if bool(better.all()):
                    break
                step[~better] /= 2
            theta = torch.where(better[:, None], theta - step, theta)
            p, loss = at(theta)
            if bool((left <= DONE).all()):
                break
        return loss, left

    def _standardised(self, subsets: Tensor) -> Tensor:
        """Columns about their means in units of their spread, and ones: (n, rows, size + 1)."""
        columns, places = torch.unique(subsets, return_inverse=True)
        some = self.rows.X[:, columns].double()
        some -= self.rows.share @ some
        scale = (self.rows.share @ some**2).sqrt()
        some /= torch.where(scale == 0, 1.0, scale)
        return torch.nn.functional.pad(some.T[places].mT, (0, 1), value=1.0)
