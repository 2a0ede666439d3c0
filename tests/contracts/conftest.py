"""Fixtures of several contracts."""

from helpers.cli import columns, safdr, select, write

__all__ = ["columns", "safdr", "select", "write"]
