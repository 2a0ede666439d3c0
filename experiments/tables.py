"""Pages and tables, from the rows alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from experiments import data, methods, paper_methods, simulations
from experiments.protocols import RULES, chosen
from experiments.run import Key, Row

MISSING = "–"
# Better is larger (1) or smaller (-1), and the title of each metric.
METRICS = {
    "auc": (1, "AUC"),
    "accuracy": (1, "accuracy"),
    "r2": (1, "R²"),
    "log_loss": (-1, "log-loss"),
}


class Mean(NamedTuple):
    """A mean and its standard error; NaN for a single value."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Iterable[float], overlap: float = 0.0) -> Mean:
        """Return the mean over repeats.

        The overlap is test rows over all others. It corrects the error for splits that share
        rows (Nadeau and Bengio 2003).
        """
        sample = np.fromiter(values, dtype=float)
        n = len(sample)
        error = sample.std(ddof=1) * np.sqrt(1 / n + overlap) if n > 1 else np.nan
        return cls(float(sample.mean()), float(error))

    def signed(self, digits: int = 4) -> str:
        """Return the text of a difference; bold beyond two standard errors."""
        text = f"{self.value:+.{digits}f}±{self.error:.{digits}f}"
        return f"**{text}**" if abs(self.value) > 2 * self.error else text

    def plain(self, digits: int) -> str:
        """Return the text of a value."""
        text = f"{self.value:.{digits}f}"
        return text if np.isnan(self.error) else f"{text}±{self.error:.{digits}f}"


Group = dict[int, Row]


def groups_of(rows: Mapping[Key, Row]) -> dict[tuple[str, str], Group]:
    """Return the rows of each data set and method, by repeat."""
    found: dict[tuple[str, str], Group] = {}
    for (name, method, repeat), row in rows.items():
        found.setdefault((name, method), {})[repeat] = row
    return found


def markdown(header: Sequence[str], body: Iterable[Sequence[str]], n_text: int = 1) -> str:
    """Return a table in Markdown with text columns on the left."""
    rule = ["---"] * n_text + ["---:"] * (len(header) - n_text)
    return "".join(f"|{'|'.join(cells)}|\n" for cells in (header, rule, *body))


# ---- The paper's table ---------------------------------------------------------------------------

# k*, AUC and seconds of a fold as printed in the paper: SA-FDR, RFE, Lasso.
PUBLISHED: dict[str, tuple[tuple[float, float, float], ...]] = {
    "heart": ((3.40, 0.8165, 4.3), (3.65, 0.8106, 0.7), (6.08, 0.8211, 0.9)),
    "cancer": ((3.60, 0.9922, 2.2), (5.20, 0.9921, 0.8), (5.59, 0.9933, 0.9)),
    "ozone": ((9.35, 0.9058, 5.2), (11.95, 0.9020, 1.2), (19.59, 0.9034, 1.7)),
    "spambase": ((23.35, 0.9688, 6.1), (22.25, 0.9674, 1.5), (37.59, 0.9707, 2.1)),
    "student": ((10.05, 0.9162, 3.9), (14.70, 0.9165, 0.7), (13.88, 0.9170, 1.4)),
    "bankruptcy": ((2.45, 0.9281, 10.9), (3.95, 0.9161, 2.6), (6.34, 0.9270, 6.1)),
    "madelon": ((1.60, 0.6339, 250.0), (6.00, 0.6250, 5.2), (2.60, 0.6329, 9.8)),
    "card_default": ((10.00, 0.7214, 10.8), (10.75, 0.7215, 1.5), (13.25, 0.7220, 8.6)),
}
PAPER_ABOUT = (
    "k\\*: number of selected features. AUC: test AUC of the model refitted at k\\*. Mean ± "
    "standard error over the repeats. `one_sd`: the smallest k whose mean validation AUC is within "
    "one standard deviation over the folds of the best, as in the paper. `one_se`: within one "
    "standard error of the best, the default of safdr. s/fold: median CPU seconds for all sizes of "
    "a fold on one core. The last three columns are the paper's, measured on another machine."
)


@dataclass(frozen=True)
class PaperLine:
    """One method on one data set under the paper's protocol."""

    data: str
    method: str
    repeats: int
    k: dict[str, Mean]
    auc: dict[str, Mean]
    seconds: float


def paper_lines(rows: Mapping[Key, Row]) -> list[PaperLine]:
    """Return the numbers of the paper's table, in its order."""
    groups = groups_of(rows)
    return [
        _paper_line(name, method, groups[name, method])
        for name in data.PAPER
        for method in paper_methods.TITLES
        if (name, method) in groups
    ]


def _paper_line(name: str, method: str, group: Group) -> PaperLine:
    def mean(rule: str, quantity: str) -> Mean:
        return Mean.of(chosen(row, rule)[quantity] for row in group.values())

    seconds = float(np.median([row["folds"]["seconds"] for row in group.values()]))
    k = {rule: mean(rule, "k") for rule in RULES}
    auc = {rule: mean(rule, "test_auc") for rule in RULES}
    return PaperLine(name, method, len(group), k, auc, seconds)


def paper_page(rows: Mapping[Key, Row]) -> str:
    """Return the page of the paper's table."""
    header = ["Data", "N × K", "Method", "repeats"]
    header += [f"{what} ({rule})" for rule in RULES for what in ("k\\*", "AUC")]
    header += ["s/fold", "paper k\\*", "paper AUC", "paper s/fold"]
    body = []
    for line in paper_lines(rows):
        n, k, _ = data.PAPER[line.data].counts
        printed = dict(zip(("sa-fdr", "rfe", "lasso"), PUBLISHED.get(line.data, ()), strict=False))
        values = printed.get(line.method)
        cells = [data.PAPER[line.data].title, f"{n} × {k}", paper_methods.TITLES[line.method]]
        cells.append(str(line.repeats))
        for rule in RULES:
            cells += [line.k[rule].plain(2), line.auc[rule].plain(4)]
        paper = (
            [f"{values[0]:.2f}", f"{values[1]:.4f}", f"{values[2]:g}"] if values else [MISSING] * 3
        )
        body.append([*cells, f"{line.seconds:.2f}", *paper])
    return f"# The paper's table\n\n{PAPER_ABOUT}\n\n{markdown(header, body, 3)}"


def readme_table(rows: Mapping[Key, Row]) -> str:
    """Return the short table of the README: features (AUC) by one_sd, of safdr by one_se too."""
    shown = {
        "safdr": ("recipe", "one_se"),
        "safdr, one_sd": ("recipe", "one_sd"),
        **{paper_methods.TITLES[m]: (m, "one_sd") for m in ("sa-fdr", "rfe", "lasso", "abess")},
    }
    lines = {(line.data, line.method): line for line in paper_lines(rows)}
    body = []
    for name, paper in data.PAPER.items():
        n, k, _ = paper.counts
        cells = [f"{paper.title} ({n} × {k})"]
        for method, rule in shown.values():
            line = lines.get((name, method))
            value = f"{line.k[rule].value:.1f} ({line.auc[rule].value:.3f})" if line else MISSING
            cells.append(value)
        body.append(cells)
    return markdown(["Data (rows × features)", *shown], body)


# ---- Differences at equal size -------------------------------------------------------------------


def differences_page(
    title: str, rows: Mapping[Key, Row], titles: Mapping[str, str], metrics: Sequence[str]
) -> str:
    """Return a page of paired differences of the recipe and every other method."""
    parts = [
        f"# {title}",
        "Subsets of equal size, refitted by the same model and scored on test rows. The first "
        "number is the mean of safdr. The others are safdr − the method, paired, mean over the "
        "sizes and the splits ± a standard error that allows for overlapping splits. Bold: beyond "
        "two standard errors.",
    ]
    groups = groups_of(rows)
    others = [m for m in titles if m != "recipe" and any(key[1] == m for key in groups)]
    for metric in metrics:
        sign, name = METRICS[metric]
        better = "larger" if sign > 0 else "smaller"
        body: list[list[str]] = []
        columns: dict[str, list[float]] = {method: [] for method in others}
        ahead: list[str] = []
        for each in dict.fromkeys(key[0] for key in groups):
            recipe = groups.get((each, "recipe"))
            if recipe is None:
                continue
            cells = [data.TITLES[each], f"{len(recipe)}", f"{_level(recipe, metric):.4f}"]
            for method in others:
                mean = difference(recipe, groups.get((each, method), {}), metric)
                cells.append(mean.signed() if mean else MISSING)
                if mean:
                    columns[method].append(mean.value)
                    if -sign * mean.value > 2 * mean.error:
                        ahead.append(f"{data.TITLES[each]} ({titles[method]} {mean.signed()})")
            body.append(cells)
        means = [Mean.of(values).signed() if values else MISSING for values in columns.values()]
        body.append(["Mean over the sets", "", "", *means])
        header = ["Data", "splits", "safdr", *(titles[method] for method in others)]
        parts += [f"## {name} ({better} is better)", markdown(header, body).rstrip()]
        parts += [f"Ahead of safdr by more than two standard errors: {'; '.join(ahead) or 'none'}."]
    return "\n\n".join(parts) + "\n"


def difference(one: Group, other: Group, metric: str) -> Mean | None:
    """Return the paired difference over the repeats that both have."""
    common = sorted(one.keys() & other.keys())
    if not common:
        return None
    n = one[common[0]]["rows"]
    values = [
        np.subtract(one[r]["scores"][metric], other[r]["scores"][metric]).mean() for r in common
    ]
    return Mean.of(values, n["test"] / (n["all"] - n["test"]))


def _level(group: Group, metric: str) -> float:
    return float(np.mean([row["scores"][metric] for row in group.values()]))


def equal_page(rows: Mapping[Key, Row]) -> str:
    """Return the page of two classes."""
    return differences_page("Two classes at equal size", rows, methods.TITLES, ("auc", "log_loss"))


def classes_page(rows: Mapping[Key, Row]) -> str:
    """Return the page of more than two classes."""
    return differences_page(
        "More than two classes at equal size", rows, methods.TITLES, ("accuracy", "log_loss")
    )


def regression_page(rows: Mapping[Key, Row]) -> str:
    """Return the page of regression."""
    titles = {**methods.TITLES, "paper": "no screen, no shrinkage"}
    return differences_page("Regression at equal size", rows, titles, ("r2",))


# ---- The other pages -----------------------------------------------------------------------------


def simulations_page(rows: Mapping[Key, Row]) -> str:
    """Return the relative test errors by problem and signal-to-noise ratio."""
    parts = [
        "# Simulations of Hastie, Tibshirani and Tibshirani (2020)",
        "Relative test error (1 is the true model; smaller is better) by signal-to-noise ratio, "
        "mean over patterns, correlations and the repeats that all methods have. The last column "
        "is the mean of safdr's error over the method's, minus 1, in percent ± standard error.",
    ]
    groups = groups_of(rows)
    for problem, (n_rows, n_features, _) in simulations.PROBLEMS.items():
        errors = _common_errors(groups, problem)
        if not errors:
            continue
        body, leads = [], simulation_leads(rows, problem, "recipe")
        for method, values in errors.items():
            lead = leads[method].signed(1) if method in leads else MISSING
            means = [f"{value:.2f}" for value in values.mean(axis=0)]
            body.append([simulations.TITLES[method], *means, lead])
        header = ["Method", *(f"{ratio:g}" for ratio in simulations.RATIOS), "safdr, %"]
        parts += [
            f"## {problem}: {n_rows} rows, {n_features} features",
            markdown(header, body).rstrip(),
        ]
    return "\n\n".join(parts) + "\n"


def simulation_leads(rows: Mapping[Key, Row], problem: str, one: str) -> dict[str, Mean]:
    """Return the error of one method over each other's, minus 1, in percent."""
    errors = _common_errors(groups_of(rows), problem)
    if one not in errors:
        return {}
    return {
        other: Mean.of(100 * (errors[one] / values - 1).mean(axis=1))
        for other, values in errors.items()
        if other != one
    }


def _common_errors(
    groups: Mapping[tuple[str, str], Group], problem: str
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the errors of each method on the cells that all methods have."""
    found: dict[str, dict[tuple[str, int], list[float]]] = {}
    for (name, method), group in groups.items():
        if name.startswith(f"{problem}-pattern"):
            cells = {(name, repeat): row["errors"] for repeat, row in group.items()}
            found.setdefault(method, {}).update(cells)
    if not found:
        return {}
    common = sorted(set.intersection(*(set(cells) for cells in found.values())))
    order = [method for method in simulations.METHODS if method in found]
    return {method: np.array([found[method][cell] for cell in common]) for method in order}


def probabilities_page(rows: Mapping[Key, Row]) -> str:
    """Return the losses with and without the calibration slope."""
    header = ["Data", "training rows", "selected", "slope", "loss without", "with − without"]
    body, values = [], []
    for (name, _), group in groups_of(rows).items():
        each = list(group.values())
        n = each[0]["rows"]
        overlap = n["test"] / (n["all"] - n["test"])
        lead = Mean.of((r["losses"]["with"] - r["losses"]["without"] for r in each), overlap)
        values.append(lead.value)
        body.append(
            [
                data.TITLES[name],
                str(n["train"]),
                f"{np.mean([r['n_selected'] for r in each]):.1f}",
                f"{np.mean([r['calibration_slope'] for r in each]):.2f}",
                f"{np.mean([r['losses']['without'] for r in each]):.4f}",
                lead.signed(),
            ]
        )
    about = (
        "`AnnealingSelectorCV(20)`: loss on test rows of the final model with its calibration "
        "slope, and of the same model with slope 1. Log-loss; for regression, squared error as a "
        f"share of the variance. Mean over the sets: {Mean.of(values).signed()}."
    )
    return f"# Probabilities after selection\n\n{about}\n\n{markdown(header, body)}"


def ablation_page(rows: Mapping[Key, Row]) -> str:
    """Return batch settings against the default, on the validation rows."""
    header = ["Data", "Settings", "validation AUC − default, mean over k", "s/fold"]
    groups, body = groups_of(rows), []
    for (name, method), group in groups.items():
        default = groups[name, "sa-fdr"]
        common = sorted(group.keys() & default.keys())
        auc = {
            r: np.mean(group[r]["folds"]["validation_auc"])
            - np.mean(default[r]["folds"]["validation_auc"])
            for r in common
        }
        seconds = np.median([row["folds"]["seconds"] for row in group.values()])
        settings = method.removeprefix("sa-fdr").removeprefix("+").replace("+", ", ") or "default"
        change = MISSING if method == "sa-fdr" else Mean.of(auc.values()).signed()
        body.append([data.TITLES[name], settings, change, f"{seconds:.2f}"])
    return f"# Batches\n\n{markdown(header, body, 2)}"


PAGES: dict[str, Callable[[Mapping[Key, Row]], str]] = {
    "paper": paper_page,
    "ablation": ablation_page,
    "equal": equal_page,
    "classes": classes_page,
    "regression": regression_page,
    "simulations": simulations_page,
    "probabilities": probabilities_page,
}
