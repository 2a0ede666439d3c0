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


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """The features that a search among very many was done in.

    The best criterion value of the candidates can't be raised by swapping one feature for any
    other of all `n_features`.

    Attributes
    ----------
    columns : ndarray of int
        Columns that the replicas chose from in the last round.
    n_rounds : int
        How often replicas were annealed, each time in another working set.
    n_features : int
        Number of columns whose swaps were looked at: all of them.
    """

    columns: IntArray
    n_rounds: int
    n_features: int

    def __repr__(self) -> str:
        return (
            f"WorkingSet({len(self.columns)} of {self.n_features} features, "
            f"n_rounds={self.n_rounds})"
        )

    def __str__(self) -> str:
        return (
            f"No swap of one feature for any other, of all {self.n_features}, raises the best "
            f"criterion value that was found, in a working set of {len(self.columns)}."
        )
