"""One HTML file that shows what was chosen, why, and how each number was made."""

from safdr._old_report.selection_report import SelectionReport

__all__ = ["SelectionReport"]
