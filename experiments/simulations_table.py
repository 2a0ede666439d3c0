"""The page of the simulations, from the rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from experiments.environment import mixed_engines
from experiments.simulated_methods import METHODS
from experiments.simulations import PROBLEMS
from experiments.store import Row, check_comparable
from experiments.summary import Group, Mean, group
from experiments.table import MISSING, csv_text, markdown_table

# Each is compared with all methods.
LEADERS = {"recipe": "recipe, %", "scaled": "scaled, %"}
ABOUT = (
    "Relative test error (1 is the error of the true model; less is better), mean over the "
    "patterns, correlations and repeats that all methods of the problem have, by signal-to-noise "
    "ratio. Models are tuned on a second sample of the same size. The last columns are the mean of "
    "the recipe's error (as it is, and with slopes scaled) over the method's, minus 1, in percent: "
    "below 0 the recipe is ahead."
)


def to_markdown(rows: Sequence[Row]) -> str:
    """Make the whole page."""
    check_comparable(rows)
    groups = group(rows)
    parts = ["# Simulations of Hastie, Tibshirani and Tibshirani (2020)", ABOUT]
    warning = mixed_engines(rows, "recipe")
    parts += [warning] if warning else []
    for problem, (n_rows, n_features, _) in PROBLEMS.items():
        members = [each for each in groups.values() if each.data.startswith(f"{problem}-pat")]
        if members:
            title = f"## {problem}: {n_rows} rows, {n_features} features"
            parts += [title, problem_table(members)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def problem_table(members: Sequence[Group]) -> str:
    """Make the table of one problem: methods down, ratios across."""
    errors = common_errors(members)
    ratios = next(iter(members[0].rows.values()))["settings"]["protocol"]["ratios"]
    n_cells = len(next(iter(errors.values())))
    body = []
    for name, values in errors.items():
        cells = [f"{value:.2f}" for value in values.mean(axis=0)] if n_cells else []
        leads = [_lead(errors, leader, name) if n_cells else MISSING for leader in LEADERS]
        body.append([METHODS[name].title, *(cells or [MISSING] * len(ratios)), *leads])
    ratio_titles = [f"{ratio:.2f}" for ratio in ratios]
    header = [f"Method ({n_cells} runs)", *ratio_titles, *LEADERS.values()]
    return markdown_table(header, body)


def common_errors(members: Iterable[Group]) -> dict[str, NDArray[np.float64]]:
    """Return runs × ratios of each method, over the runs that all methods have."""
    found: dict[str, dict[tuple[str, int], list[float]]] = {}
    for each in members:
        runs = found.setdefault(each.method, {})
        runs.update({(each.data, repeat): row["errors"] for repeat, row in each.rows.items()})
    common = sorted(set.intersection(*(set(runs) for runs in found.values())))
    return {
        name: np.array([found[name][run] for run in common]) for name in METHODS if name in found
    }


def _lead(errors: dict[str, NDArray[np.float64]], one: str, other: str) -> str:
    """Show one error over another, mean over the ratios, with its standard error."""
    if one not in errors or one == other:
        return MISSING
    mean = Mean.of(100.0 * (errors[one] / errors[other] - 1.0).mean(axis=1))
    return f"{mean.value:+.1f} ± {mean.error:.1f}"


def to_csv(rows: Iterable[Row]) -> str:
    """Make one line for each setting, repeat, method and ratio."""
    return csv_text([record for row in rows for record in _records(row)])


def _records(row: Row) -> Iterable[dict[str, object]]:
    for i, ratio in enumerate(row["settings"]["protocol"]["ratios"]):
        yield {
            **{key: row[key] for key in ("data", "repeat", "method")},
            "signal_to_noise": ratio,
            "relative_test_error": row["errors"][i],
            "n_nonzero": row["n_nonzero"][i],
        }
