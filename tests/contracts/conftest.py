"""Fixtures of several contracts."""

from helpers.cli import columns, ended, safdr, select, select_two, write

__all__ = ["columns", "ended", "safdr", "select", "select_two", "write"]
