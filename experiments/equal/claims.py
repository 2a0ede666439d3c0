"""What must hold of `recipe`, and whether it does on these rows."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.equal.contrasts import METRIC_TITLES, METRICS, Comparison, Contrast, Model
from experiments.equal.methods import METHODS
from experiments.equal.sets import TITLES
from experiments.summary import Mean

RECIPE = Model("recipe", "1")
# `recipe` must be ahead of these on the mean over the sets.
BETTER_THAN = ("rfe", "lasso", "abess", "anova")
# `recipe` must not be behind these by more than one standard error over the sets.
LEVEL_WITH = ("forward", "fisher")


def to_lines(rows: Comparison) -> list[str]:
    """Return one line for each claim, with its figure."""
    claims = [
        *((name, metric, False) for name in BETTER_THAN for metric in METRICS),
        *((name, metric, True) for name in LEVEL_WITH for metric in METRICS),
    ]
    return [_line(rows, *claim) for claim in claims]


def exceptions(rows: Comparison) -> str:
    """Name the sets on which another method is ahead by more than two standard errors."""
    parts = []
    for metric, title in METRIC_TITLES.items():
        found = [
            f"{TITLES[data]} ({METHODS[name].title} {signed(each.mean)})"
            for data in rows.data
            for name in (*BETTER_THAN, *LEVEL_WITH)
            for each in _contrasts(rows, [data], name, metric)
            if -each.ahead > 2 * each.mean.error
        ]
        parts.append(f"{title}: {'; '.join(found) or 'none'}.")
    return (
        "Sets on which one of these methods is ahead of `recipe` by more than two standard "
        f"errors (C = 1). {' '.join(parts)}"
    )


def _line(rows: Comparison, name: str, metric: str, may_be_level: bool) -> str:
    wanted = "not worse than with" if may_be_level else "better than with"
    about = f"- {METRIC_TITLES[metric]}, C = 1, {wanted} {METHODS[name].title}"
    values = [each.mean.value for each in _contrasts(rows, rows.data, name, metric)]
    if not values:
        return f"{about}: **no**, there are no rows"
    found = Mean.of(values)
    # The error of a single set is not known.
    margin = found.error if may_be_level and found.n > 1 else 0.0
    holds = METRICS[metric] * found.value > -margin
    return f"{about}: {'yes' if holds else '**no**'}, {signed(found)} over {found.n} sets"


def _contrasts(rows: Comparison, sets: Iterable[str], name: str, metric: str) -> Iterable[Contrast]:
    other = Model(name, RECIPE.penalty)
    found = (rows.contrast(data, RECIPE, other, metric) for data in sets)
    return (each for each in found if each is not None)


def signed(mean: Mean) -> str:
    """Return a difference with its standard error."""
    return f"{mean.value:+.4f} ± {mean.error:.4f}"
