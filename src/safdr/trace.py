"""How a search went: its temperatures, and the features that it was done in."""

from __future__ import annotations

from dataclasses import dataclass

from safdr._engine.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Trace:
    """How the annealing went: one entry for the start, then one a temperature step.

    Attributes
    ----------
    beta : ndarray of shape (n_steps + 1,)
        Inverse temperature; 0 at the start.
    mean, std : ndarray of shape (n_steps + 1,)
        Mean and standard deviation of the criterion over the replicas, on all training rows.
    acceptance : ndarray of shape (n_steps + 1,)
        Share of the proposed swaps that were accepted; NaN at the start.
    converged : bool
        Whether the mean had settled before the steps ran out.
    n_families, family_size : ndarray of shape (n_steps + 1,) or None
        Of `PopulationAnnealing`: how many replicas of the start have copies, and how many replicas
        stem from the same start as a random one, on average (ρ). A population that has become one
        family, ρ being its size, says nothing about what its start has missed.
    """

    beta: FloatArray
    mean: FloatArray
    std: FloatArray
    acceptance: FloatArray
    converged: bool
    n_families: IntArray | None = None
    family_size: FloatArray | None = None

    def __repr__(self) -> str:
        return (
            f"Trace(n_steps={len(self)}, beta={self.beta[-1]:.6g}, mean={self.mean[-1]:.6g}, "
            f"std={self.std[-1]:.6g}, converged={self.converged})"
        )

    def __len__(self) -> int:
        """Number of temperature steps, the start not counted."""
        return len(self.beta) - 1
