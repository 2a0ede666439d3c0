"""Selectors on rows that are read in chunks: sufficient statistics of all rows, and a sample."""

from safdr._estimators.streaming.problem import read, read_column, read_columns

__all__ = ["read", "read_column", "read_columns"]
