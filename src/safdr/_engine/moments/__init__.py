"""Moments of the features within the classes, and with regression targets."""

from safdr._engine.moments.moments import Marginals, Moments, moments_of

__all__ = ["Marginals", "Moments", "moments_of"]
