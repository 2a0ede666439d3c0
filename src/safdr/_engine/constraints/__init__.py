"""What a subset may hold: features that are in, or out, or in together, or never together."""

from safdr._engine.constraints.constraints import AllowedSubsets

__all__ = ["AllowedSubsets"]
