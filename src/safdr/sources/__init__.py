"""Rows that are not in memory: Parquet, Arrow, lazy frames, relations, functions, clusters."""

from safdr.sources.stream import Stream, open_source

__all__ = ["Stream", "open_source"]
