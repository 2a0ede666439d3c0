"""Replicas on a device: a member leaves, and all features are candidates for its position.

Let T be a subset without one member, and L·L' = A_TT. Given T, feature j has the residual variance
c_j = A_jj − |L⁻¹·A_Tj|² and the residual products r_j = D_j − (L⁻¹·A_Tj)'·L⁻¹·D_T, so that
J(T + j) = J(T) + |r_j|²/c_j. Feature j enters with probability ∝ exp(β·|r_j|²/c_j): a draw from the
Boltzmann distribution given T (heat bath).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.device.rows import BLOCK_BYTES
from safdr._engine.subsets import distinct

# Draws for one place a temperature step, at half a sweep: two reach what K/2 proposals of single
# swaps reach (docs/gpu.md).
DRAWS_A_SWEEP = 4

# Local search ends when no swap gains more than rounding error.
LEAST_GAIN = 1e-11

# Added to the diagonal for a finite factor of collinear members when the ridge is tiny.
JITTER = 1e-11

# SplitMix64 (Steele, Lea and Flood, 2014), in signed numbers: step, and the two factors.
STEP, FACTORS = -7046029254386353131, (-4658895280553007687, -7723592293110705685)
SHIFTS = (30, 27, 31)

# Purposes of the random numbers of a draw.
PLACE, FEATURE = range(2)


class DeviceChains:
    """Replicas of one size on a quadratic criterion; no groups and no conflicts."""

    def __init__(
        self,
        criterion: Any,  # whose A and D are tensors
        subsets: IntArray,
        *,
        seed: np.random.SeedSequence,
        n_draws: int = 2,
        batches: Any = None,  # their A and D
        allowed: AllowedSubsets | None = None,
        cost: FloatArray | None = None,
    ) -> None:
        self.criterion = criterion
        self.allowed = allowed or AllowedSubsets.without_limits(criterion.n_features)
        self._all = criterion.A[None], criterion.D[None]
        self._batches = self._all if batches is None else batches
        self.n_batches, self.sweeps_at_once = len(self._batches[0]), 1
        features = np.arange(criterion.n_features)
        self._cost = self._there(0.0 * features if cost is None else cost)
        self._barred = self._there(np.isin(features, self.allowed.exclude))
        n_replicas, self.size = subsets.shape
        self._keys = self._there(seed.generate_state(n_replicas, np.uint64).view(np.int64))
        self.n_draws, self._n_drawn = n_draws, 0
        self._n_fixed = len(self.allowed.include)
        self._members = self._fixed_first(subsets)
        self.values = self._values_of(self._members)

    def _fixed_first(self, subsets: IntArray) -> Tensor:
        order = np.argsort(~np.isin(subsets, self.allowed.include), axis=1, kind="stable")
        return self._there(np.take_along_axis(subsets, order, axis=1))

    def _there(self, values: Any) -> Tensor:
        return torch.as_tensor(values, device=self.criterion.A.device)

    @property
    def can_move(self) -> bool:
        return self._n_fixed < self.size < self.criterion.n_features - len(self.allowed.exclude)

    @property
    def subsets(self) -> IntArray:
        return np.asarray(np.sort(self._members.cpu().numpy(), axis=1))

    def sweep(self, beta: FloatArray, batch: IntArray) -> tuple[FloatArray, FloatArray]:
        if not self.can_move:
            return np.tile(self.values, (len(beta), 1)), np.zeros(beta.shape)
        values, moved = np.empty(beta.shape), np.empty(beta.shape)
        for step, each_beta in enumerate(beta):
            betas = self._there(np.array(each_beta))
            batches = self._there(np.array(batch[step]))
            new = torch.stack([self._draw(betas, batches) for _ in range(self.n_draws)])
            self.values = values[step] = self._values_of(self._members)
            moved[step] = new.double().mean(dim=0).cpu().numpy()
        return values, moved

    def _draw(self, beta: Tensor, batch: Tensor) -> Tensor:
        """Draw a feature for one position of each replica; return whether it is another one."""
        self._n_drawn += 1
        at = self._n_fixed + (self._uniform(PLACE)[:, 0] * (self.size - self._n_fixed)).long()
        last = _last(self._members, at)
        self._members = self._placed(last, self._batches, batch, beta)
        return self._members[:, -1] != last[:, -1]

    def local_search(self) -> tuple[IntArray, FloatArray]:
        replicas, inverse = distinct(self.subsets)
        subsets = self.subsets[replicas]
        members, values = self._fixed_first(subsets), self._values_of(subsets)
        moving = np.arange(len(subsets) if self.can_move else 0)
        while len(moving):
            first = self._there(0 * moving)
            swapped = [
                self._placed(_last(members[moving], first + place), self._all, first)
                for place in range(self._n_fixed, self.size)
            ]
            reached = np.stack([self._values_of(each) for each in swapped])
            place, best = reached.argmax(axis=0), reached.max(axis=0)
            which = np.flatnonzero(best > values[moving] + LEAST_GAIN * np.abs(best))
            moving, place = moving[which], place[which]
            members[moving], values[moving] = torch.stack(swapped)[place, which], best[which]
        return np.sort(members.cpu().numpy(), axis=1)[inverse], values[inverse]

    def _placed(
        self, members: Tensor, of: tuple[Tensor, Tensor], batch: Tensor, beta: Tensor | None = None
    ) -> Tensor:
        """Replace the last member by the best feature, or by one drawn at a temperature."""
        placed = members.clone()
        step = max(1, BLOCK_BYTES // (24 * (self.size + 4) * self.criterion.n_features))
        for some in (slice(start, start + step) for start in range(0, len(members), step)):
            gain, never = self._gains(*of, batch[some], members[some])
            if beta is not None:
                # Gumbel's trick: the largest of log-weights and this noise is a draw.
                noise = torch.log(-torch.log(self._uniform(FEATURE, gain.shape[1], some)))
                gain = gain.mul_(beta[some, None]).sub_(noise)
            placed[some, -1] = gain.masked_fill_(never, -torch.inf).argmax(dim=1)
        return placed

    def _gains(self, A: Tensor, D: Tensor, batch: Tensor, members: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gain of each feature given all members but the last; mask forbidden ones."""
        others = members[:, :-1]
        own = A.diagonal(dim1=1, dim2=2)[batch]
        left = D[batch]
        if others.shape[1]:
            rows = A[batch[:, None], others]  # (n, size - 1, n_features)
            block = rows.gather(2, others[:, None, :].expand(-1, others.shape[1], -1))
            block.diagonal(dim1=1, dim2=2).add_(JITTER)
            factor = torch.linalg.cholesky_ex(block)[0]
            rows = torch.linalg.solve_triangular(factor, rows, upper=False)
            own = own - (rows * rows).sum(dim=1)
            known = D[batch[:, None], others]
            left = left - rows.mT @ torch.linalg.solve_triangular(factor, known, upper=False)
        gain = left.square().sum(dim=2) / own.clamp(min=JITTER) - self._cost
        never = self._barred.repeat(len(members), 1)
        never.scatter_(1, others, True)
        return gain, never

    def _uniform(self, what: int, n: int = 1, some: slice = slice(None)) -> Tensor:
        """Return n uniform numbers for each replica, from its key, the draw and `place`."""
        place = self._there(np.arange(1, n + 1))
        number = torch.full_like(self._keys[some, None], 2 * self._n_drawn + what)
        x = _mixed(_mixed(self._keys[some, None] + number * STEP) + place * STEP)
        return ((x >> 11) & (2**53 - 1)).double().mul_(2.0**-53).add_(2.0**-54)

    def take(self, indices: IntArray) -> None:
        self._members = self._members[self._there(indices)]
        self._keys, self.values = self._keys[: len(indices)], self.values[indices]

    def _values_of(self, subsets: Tensor | IntArray) -> FloatArray:
        cost = self._cost[self._there(subsets)].sum(dim=1)
        return device_values(self.criterion, subsets) - np.asarray(cost.cpu().numpy())


def device_values(criterion: Any, subsets: Tensor | IntArray) -> FloatArray:
    members = torch.as_tensor(subsets, device=criterion.A.device)
    block = criterion.A[members[:, :, None], members[:, None, :]]
    factor, failed = torch.linalg.cholesky_ex(block)
    if bool(failed.any()):
        block.diagonal(dim1=1, dim2=2).add_(JITTER * (failed > 0)[:, None])
        factor = torch.linalg.cholesky_ex(block)[0]
    solved = torch.linalg.solve_triangular(factor, criterion.D[members], upper=False)
    return np.asarray(solved.square().sum(dim=(1, 2)).cpu().numpy())


def _last(members: Tensor, at: Tensor) -> Tensor:
    """Move the member at a position to the end of each subset."""
    moved, each = members.clone(), torch.arange(len(members))
    moved[each, at], moved[:, -1] = members[:, -1], members[each, at]
    return moved


def _mixed(x: Tensor) -> Tensor:
    """Mix bits as SplitMix64; shifts bring in zeros."""
    for shift, factor in zip(SHIFTS, (*FACTORS, 1), strict=True):
        x = (x ^ ((x >> shift) & (2 ** (64 - shift) - 1))) * factor
    return x
