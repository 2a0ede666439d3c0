"""Numbers become inline SVG: each chart is a function of the content, the labels and a width."""

from safdr.report.charts.alternatives import draw_alternatives
from safdr.report.charts.by_class import draw_coefficients_by_class
from safdr.report.charts.calibration import draw_calibration, draw_residuals
from safdr.report.charts.coefficients import draw_coefficients
from safdr.report.charts.estimates import draw_estimates
from safdr.report.charts.path import draw_path
from safdr.report.charts.ranking import draw_ranking
from safdr.report.charts.selection import draw_selection
from safdr.report.charts.stability import draw_stability
from safdr.report.charts.substitutes import draw_substitutes
from safdr.report.charts.trace import draw_trace

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
