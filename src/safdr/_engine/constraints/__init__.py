"""Constraints on subsets: forced, excluded, grouped and mutually exclusive features."""

from safdr._engine.constraints.constraints import AllowedSubsets

__all__ = ["AllowedSubsets"]
