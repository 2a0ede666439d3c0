"""Moments of the features within the classes, and with the outputs of a regression."""

from safdr._engine.moments.moments import Marginals, Moments, moments_of

__all__ = ["Marginals", "Moments", "moments_of"]
