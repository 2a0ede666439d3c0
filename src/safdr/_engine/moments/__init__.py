"""Moments of the features within the classes, and with the outputs of a regression."""

from safdr._engine.moments.moments import Marginals, Moments, moments_of

# The old name, until the branches of fits and kernel are merged.
ClassMarginals = Marginals

__all__ = ["ClassMarginals", "Marginals", "Moments", "moments_of"]
