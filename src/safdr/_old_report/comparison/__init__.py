"""Two results side by side: files → a plain dict → terminal and JSON."""

from safdr._old_report.comparison.compare import compare
from safdr._old_report.comparison.reading import ResultFileError, read_result

__all__ = ["ResultFileError", "compare", "read_result"]
