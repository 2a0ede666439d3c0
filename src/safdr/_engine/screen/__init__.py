"""Screening: candidate features for a search of one size, and duplicate features."""

from safdr._engine.screen.duplicates import Duplicates, find_duplicates
from safdr._engine.screen.screen import Screen, Width, screen_width

__all__ = ["Duplicates", "Screen", "Width", "find_duplicates", "screen_width"]
