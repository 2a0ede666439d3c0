"""Selectors on rows that are read in passes, and never all at once."""
