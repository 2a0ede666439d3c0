"""Figures of results: each display computes its numbers first and draws them second."""

from safdr.display.path import PathDisplay
from safdr.display.selection import SelectionDisplay
from safdr.display.stability import StabilityDisplay
from safdr.display.substitutes import SubstitutesDisplay
from safdr.display.trace import TraceDisplay

__all__ = [
    "PathDisplay",
    "SelectionDisplay",
    "StabilityDisplay",
    "SubstitutesDisplay",
    "TraceDisplay",
]
