"""From a fitted selector to the result dictionary, and from it to a page and to files."""

from safdr.report.report import Report

__all__ = ["Report"]
