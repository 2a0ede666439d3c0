"""Replicas on a device: a member leaves, and all features are weighed at once for its place.

For a replica at S without one member, T, let L·L' = A_TT. Of feature j, T leaves the variance
c_j = A_jj − |L⁻¹·A_Tj|² and of D_j the part r_j = D_j − (L⁻¹·A_Tj)'·L⁻¹·D_T, so that
J(T + j) = J(T) + |r_j|²/c_j. The place goes to j with probability ∝ exp(β·|r_j|²/c_j): a draw from
the Boltzmann distribution given T (heat bath), which never stays by rejection.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from safdr._engine.annealing.swap_chains import check_sweeps, every_subset, is_collinear
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.device.criterion import DeviceCriterion
from safdr._engine.device.rows import BLOCK_BYTES

# Draws for one place a temperature step, at half a sweep: two reach what K/2 proposals of single
# swaps reach (docs/gpu.md).
DRAWS_A_SWEEP = 4

# Climbing ends where no swap gains more than rounding.
LEAST_GAIN = 1e-11

# What keeps the factor of collinear members a number, where the ridge is next to nothing.
JITTER = 1e-11

# SplitMix64 (Steele, Lea and Flood, 2014), in signed numbers: step, and the two factors.
STEP, FACTORS = -7046029254386353131, (-4658895280553007687, -7723592293110705685)
SHIFTS = (30, 27, 31)


class DeviceChains:
    """Replicas of one size on a quadratic criterion; `allowed` has no groups and no conflicts."""

    def __init__(
        self,
        criterion: DeviceCriterion,
        subsets: IntArray,
        *,
        seed: np.random.SeedSequence,
        n_draws: int = 2,
        batches: tuple[Tensor, Tensor] | None = None,
        allowed: AllowedSubsets | None = None,
        cost: FloatArray | None = None,
    ) -> None:
        self.criterion = criterion
        self.allowed = allowed or AllowedSubsets.without_limits(criterion.n_features)
        self._all = criterion.A[None], criterion.D[None]
        self._A, self._D = self._all if batches is None else batches
        self.n_batches, self.sweeps_at_once, self.drift = len(self._A), 1, 0.0
        self.n_draws = n_draws
        self._device = criterion.A.device
        self._cost = torch.as_tensor(
            np.zeros(criterion.n_features) if cost is None else cost, device=self._device
        )
        n_replicas, self.size = subsets.shape
        keys = seed.generate_state(n_replicas, np.uint64).view(np.int64)
        self._keys, self._n_drawn = torch.as_tensor(keys, device=self._device), 0
        self._barred = torch.zeros(criterion.n_features, dtype=torch.bool, device=self._device)
        self._barred[torch.as_tensor(self.allowed.exclude, device=self._device)] = True
        # Those that always stay come first, so that the others are the last ones.
        stays = np.isin(subsets, self.allowed.include)
        self._n_fixed = len(self.allowed.include)
        order = np.take_along_axis(subsets, np.argsort(~stays, axis=1, kind="stable"), axis=1)
        self._members = torch.as_tensor(order, device=self._device)
        self.values = self._values_of(self._members)

    @property
    def can_move(self) -> bool:
        """Whether there is any other subset to go to."""
        return self._n_fixed < self.size < self.criterion.n_features - len(self.allowed.exclude)

    @property
    def subsets(self) -> IntArray:
        """Sorted features of each replica."""
        return np.asarray(np.sort(self._members.cpu().numpy(), axis=1))

    def sweep(
        self, beta: FloatArray, which: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Sweep once for each row of `beta`: values on all rows, and the share of new members."""
        check_sweeps(beta, which, len(self._members), self.n_batches)
        if not self.can_move:
            return np.tile(self.values, (len(beta), 1)), np.zeros(beta.shape)
        values, moved = np.empty(beta.shape), np.empty(beta.shape)
        for step, each_beta in enumerate(beta):
            betas = torch.tensor(each_beta, dtype=torch.float64, device=self._device)
            batch = None if which is None else torch.tensor(which[step], device=self._device)
            new = torch.stack([self._draw(betas, batch) for _ in range(self.n_draws)])
            self.values = values[step] = self._values_of(self._members)
            moved[step] = new.double().mean(dim=0).cpu().numpy()
        return values, moved

    def _draw(self, beta: Tensor, batch: Tensor | None) -> Tensor:
        """Give one place of each replica anew; tell where another feature took it."""
        at = self._n_fixed + (self._uniform(1)[:, 0] * (self.size - self._n_fixed)).long()
        batch = (self._uniform(1)[:, 0] * self.n_batches).long() if batch is None else batch
        members = _last(self._members, at)
        left = members[:, -1].clone()
        drawn = self._n_drawn = self._n_drawn + 1
        for some in self._parts(len(members)):
            gain, never = self._gains(self._A, self._D, batch[some], members[some])
            # Gumbel's trick: the largest of log-weights and this noise is a draw.
            noise = torch.log(-torch.log(self._uniform(gain.shape[1], drawn, some)))
            weight = gain.mul_(beta[some, None]).sub_(noise)
            members[some, -1] = weight.masked_fill_(never, -torch.inf).argmax(dim=1)
        self._members = members
        return members[:, -1] != left

    def climbed(self) -> tuple[IntArray, FloatArray]:
        """Where each replica would end by the best swap of all, again and again, on all rows."""
        subsets, inverse = torch.unique(self._members.sort(dim=1)[0], dim=0, return_inverse=True)
        stays = torch.isin(subsets, torch.as_tensor(self.allowed.include, device=self._device))
        members = subsets.gather(1, (~stays).long().argsort(dim=1, stable=True))
        values = torch.as_tensor(self._values_of(members), device=self._device)
        moving = torch.arange(len(members) if self.can_move else 0, device=self._device)
        while len(moving):
            best, swapped = values[moving], members[moving]
            for place in range(self._n_fixed, self.size):
                at = torch.full_like(moving, place)
                tried = self._best_in(_last(members[moving], at))
                reached = torch.as_tensor(self._values_of(tried), device=self._device)
                better = reached > best + LEAST_GAIN * best.abs()
                best = torch.where(better, reached, best)
                swapped = torch.where(better[:, None], tried, swapped)
            gained = (swapped != members[moving]).any(dim=1)
            members[moving], values[moving] = swapped, best
            moving = moving[gained]
        found = np.sort(members.cpu().numpy(), axis=1)[inverse.cpu().numpy()]
        return found, values[inverse].cpu().numpy()

    def _best_in(self, members: Tensor) -> Tensor:
        """The best feature of all, on all rows, in the last place."""
        members = members.clone()
        for some in self._parts(len(members)):
            first = torch.zeros(len(members[some]), dtype=torch.long, device=self._device)
            gain, never = self._gains(*self._all, first, members[some])
            members[some, -1] = gain.masked_fill_(never, -torch.inf).argmax(dim=1)
        return members

    def _gains(self, A: Tensor, D: Tensor, batch: Tensor, members: Tensor) -> tuple[Tensor, Tensor]:
        """What each feature adds to all members but the last, less its cost; and who may not."""
        others, last = members[:, :-1], members[:, -1:]
        variance = own = A.diagonal(dim1=1, dim2=2)[batch]
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
        never = is_collinear(own, variance, self.criterion.collinear_tol) | self._barred
        never.scatter_(1, last, False)  # it may come back, whatever it is
        never.scatter_(1, others, True)
        return gain, never

    def _parts(self, n_replicas: int) -> list[slice]:
        """Replicas that are worked on together."""
        n_bytes = 24 * (self.size + 4) * self.criterion.n_features
        step = max(1, BLOCK_BYTES // n_bytes)
        return [slice(start, start + step) for start in range(0, n_replicas, step)]

    def _uniform(self, n: int, number: int | None = None, some: slice = slice(None)) -> Tensor:
        """Numbers between 0 and 1, n for each replica: of its key, the draw and the place alone."""
        if number is None:
            number = self._n_drawn = self._n_drawn + 1
        place = torch.arange(n, device=self._device)
        number_here = torch.full_like(self._keys[some, None], number)
        x = _mixed(_mixed(self._keys[some, None] + number_here * STEP) + (place + 1) * STEP)
        return ((x >> 11) & (2**53 - 1)).double().mul_(2.0**-53).add_(2.0**-54)

    def take(self, indices: IntArray) -> None:
        """Replace the replicas by copies of those at `indices`; random numbers stay."""
        if len(indices) > len(self._keys):
            raise ValueError(
                f"There are random numbers for {len(self._keys)} replicas; got {len(indices)}."
            )
        self._members = self._members[torch.as_tensor(indices, device=self._device)]
        self._keys, self.values = self._keys[: len(indices)], self.values[indices]

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Values of random subsets on all rows."""
        return self._values_of(random_members(self.allowed, self.size, n, rng))

    def every(self, at_most: int) -> tuple[IntArray, FloatArray] | None:
        """All subsets and their values, or None if there are more than so many."""
        subsets = every_subset(self.allowed, self.size, at_most)
        return None if subsets is None else (subsets, self._values_of(subsets))

    def _values_of(self, members: Tensor | IntArray) -> FloatArray:
        where = torch.as_tensor(members, device=self._device)
        values = subset_values(self.criterion, where) - self._cost[where].sum(dim=1)
        return np.asarray(values.cpu().numpy())


def subset_values(criterion: DeviceCriterion, members: Tensor) -> Tensor:
    """Criterion value of each subset, from scratch."""
    block = criterion.A[members[:, :, None], members[:, None, :]]
    factor, failed = torch.linalg.cholesky_ex(block)
    if bool(failed.any()):
        block.diagonal(dim1=1, dim2=2).add_(JITTER * (failed > 0)[:, None])
        factor = torch.linalg.cholesky_ex(block)[0]
    solved = torch.linalg.solve_triangular(factor, criterion.D[members], upper=False)
    return solved.square().sum(dim=(1, 2))


def random_members(
    allowed: AllowedSubsets, size: int, n: int, rng: np.random.Generator
) -> IntArray:
    """Random subsets, with all that must be in them."""
    settled = np.append(allowed.exclude, allowed.include)
    usable = np.setdiff1d(np.arange(allowed.n_features), settled)
    n_free = size - len(allowed.include)
    drawn = [rng.choice(usable, size=n_free, replace=False) for _ in range(n)]
    fixed = np.broadcast_to(allowed.include, (n, len(allowed.include)))
    return np.sort(np.hstack([fixed, np.array(drawn, dtype=np.int64).reshape(n, n_free)]), axis=1)


def _last(members: Tensor, at: Tensor) -> Tensor:
    """The same subsets, with the member at a place as the last one."""
    moved = members.clone()
    moved[:, -1] = members.gather(1, at[:, None])[:, 0]
    return moved.scatter_(1, at[:, None], members[:, -1:]) if members.shape[1] > 1 else moved


def _mixed(x: Tensor) -> Tensor:
    """SplitMix64's bits, all of which depend on all of x; shifts bring in zeros."""
    for shift, factor in zip(SHIFTS, (*FACTORS, 1), strict=True):
        x = (x ^ ((x >> shift) & (2 ** (64 - shift) - 1))) * factor
    return x
