"""Numbers become inline SVG: each chart is a function of the content, the labels and a width."""

from safdr._old_report.charts.alternatives import draw_alternatives
from safdr._old_report.charts.by_class import draw_coefficients_by_class
from safdr._old_report.charts.calibration import draw_calibration, draw_residuals
from safdr._old_report.charts.coefficients import draw_coefficients
from safdr._old_report.charts.estimates import draw_estimates
from safdr._old_report.charts.path import draw_path
from safdr._old_report.charts.ranking import draw_ranking
from safdr._old_report.charts.selection import draw_selection
from safdr._old_report.charts.stability import draw_stability
from safdr._old_report.charts.substitutes import draw_substitutes
from safdr._old_report.charts.trace import draw_trace

__all__ = [
    "draw_alternatives",
    "draw_calibration",
    "draw_coefficients",
    "draw_coefficients_by_class",
    "draw_estimates",
    "draw_path",
    "draw_ranking",
    "draw_residuals",
    "draw_selection",
    "draw_stability",
    "draw_substitutes",
    "draw_trace",
]
