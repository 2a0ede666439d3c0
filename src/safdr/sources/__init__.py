"""Rows that are read in chunks: Parquet, Arrow, lazy frames, relations, functions, Dask."""

from safdr.sources.source import Source, SourceError
from safdr.sources.stream import Stream, open_source

__all__ = ["Source", "SourceError", "Stream", "open_source"]
