"""The page of evidence: summaries of all rows, and the benchmarks."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments import data, methods, paper_methods, simulations
from experiments.protocols import RULES, TEST_SIZE, chosen
from experiments.run import Key, Row, Rows
from experiments.tables import (
    METRICS,
    MISSING,
    Group,
    Mean,
    difference,
    groups_of,
    markdown,
    paper_lines,
    simulation_leads,
)

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"
ABOUT = """# Evidence

This page is made from rows by `python -m experiments tables`. Rows and full tables are in `paper/`.
Differences are safdr − the other method on the same splits, ± one standard error over the data
sets. Bold: beyond two standard errors.
"""
PAPER = """## The paper's protocol

Number of selected features and test AUC, mean of 20 repeats ± standard error (5 repeats for Madelon
and Loan Default). The size follows from five splits, by the rule in brackets. *Ahead* names
the methods whose AUC by the same rule is better by more than two standard errors."""
SECONDS = "Median CPU seconds of all sizes (to 30) of a split, on one core:"
EQUAL = """Subsets of 1, 2, 3, 5, 8, 12 and 20 features, refitted alike and scored on test rows.
*Ahead* names the sets on which the other method is better by more than two standard errors."""
SIMULATIONS = """## Simulations of Hastie, Tibshirani and Tibshirani (2020)

Relative test error of safdr with tuned slopes over the other method's, minus 1, in percent. Below
0, safdr is ahead."""


def page(folder: Path) -> str:
    """Return the page."""
    parts = [ABOUT]
    rows = Rows(folder, "paper").read()
    if rows:
        parts += [PAPER, made_line("paper", rows), *paper_tables(rows)]
    for name, title, metrics in (
        ("equal", "Two classes at equal size", ("auc", "log_loss")),
        ("classes", "More than two classes at equal size", ("accuracy", "log_loss")),
        ("regression", "Regression at equal size", ("r2",)),
    ):
        rows = Rows(folder, name).read()
        if rows:
            parts.append(f"## {title}")
            parts += [EQUAL] if name == "equal" else []
            parts += [command(name), equal_table(rows, metrics)]
    rows = Rows(folder, "simulations").read()
    if rows:
        parts += [SIMULATIONS, command("simulations"), simulations_table(rows)]
    parts += _benchmarks()
    return "\n\n".join(part.strip() for part in parts) + "\n"


def command(name: str) -> str:
    """Return the command of an experiment."""
    return f"`python -m experiments run {name}`"


def made_line(name: str, rows: Mapping[Key, Row]) -> str:
    """Return the command, and the machines, versions and dates of the rows that have them."""
    made = [row["made"] for row in rows.values() if "made" in row]

    def listed(key: str) -> str:
        return ", ".join(sorted({each[key] for each in made if key in each}))

    about = [listed("machine"), f"scikit-learn {listed('scikit-learn')}, NumPy {listed('numpy')}"]
    about.append(listed("date"))
    return f"{command(name)}: {'; '.join(filter(None, about))}."


PAPER_COLUMNS = (
    ("recipe", "one_se"),
    ("recipe", "one_sd"),
    ("sa-fdr", "one_sd"),
    ("rfe", "one_sd"),
    ("lasso", "one_sd"),
    ("abess", "one_sd"),
)


def paper_tables(rows: Mapping[Key, Row]) -> list[str]:
    """Return features and AUC of each method, and its seconds."""
    lines = {(line.data, line.method): line for line in paper_lines(rows)}
    groups = groups_of(rows)
    body, seconds = [], []
    for name in (name for name in data.PAPER if any(key[0] == name for key in lines)):
        found = [(lines.get((name, method)), rule) for method, rule in PAPER_COLUMNS]
        cells = [
            f"{line.k[rule].value:.1f}: {line.auc[rule].plain(3)}" if line else MISSING
            for line, rule in found
        ]
        body.append([data.TITLES[name], *cells, _ahead_on(groups, name)])
        times = [f"{line.seconds:.2f}" if line else MISSING for line, _ in found[1:]]
        seconds.append([data.TITLES[name], *times])
    titles = [f"{paper_methods.TITLES[method]} ({rule})" for method, rule in PAPER_COLUMNS]
    names = [paper_methods.TITLES[method] for method, _ in PAPER_COLUMNS[1:]]
    return [
        markdown(["Data", *titles, "Ahead"], body),
        SECONDS,
        markdown(["Data", *names], seconds),
    ]


def _ahead_on(groups: Mapping[tuple[str, str], Group], name: str) -> str:
    """Return the methods with a better AUC than the recipe, by rule."""
    recipe, ahead = groups.get((name, "recipe"), {}), []
    for method, rule in ((m, rule) for m in paper_methods.TITLES for rule in RULES):
        other = groups.get((name, method), {})
        common = sorted(recipe.keys() & other.keys())
        values = [
            chosen(other[r], rule)["test_auc"] - chosen(recipe[r], rule)["test_auc"] for r in common
        ]
        mean = Mean.of(values, TEST_SIZE / (1.0 - TEST_SIZE)) if len(values) > 1 else None
        if mean and mean.value > 2 * mean.error:
            ahead.append(f"{paper_methods.TITLES[method]} ({rule} {mean.value:+.3f})")
    return "; ".join(ahead) or "none"


def equal_table(rows: Mapping[Key, Row], metrics: Sequence[str]) -> str:
    """Return mean differences over the sets, and the sets where a method is ahead."""
    groups = groups_of(rows)
    sets = [name for name in data.TITLES if (name, "recipe") in groups]
    body = []
    for method, title in methods.TITLES.items():
        if method == "recipe" or not any(key[1] == method for key in groups):
            continue
        cells: list[str] = [title]
        ahead: dict[str, list[str]] = {}
        for metric in metrics:
            found = {
                name: difference(groups[name, "recipe"], groups.get((name, method), {}), metric)
                for name in sets
            }
            known = {name: mean for name, mean in found.items() if mean}
            cells.append(Mean.of(mean.value for mean in known.values()).signed())
            better = METRICS[metric][0]
            for name, mean in known.items():
                if -better * mean.value > 2 * mean.error:
                    by = f"{METRICS[metric][1]} {mean.value:+.3f}"
                    ahead.setdefault(data.TITLES[name], []).append(by)
        listed = [f"{name} ({', '.join(by)})" for name, by in ahead.items()]
        body.append([*cells, "; ".join(listed) or "none"])
    header = ["Method", *(METRICS[metric][1] for metric in metrics), "Ahead"]
    return markdown(header, body)


def simulations_table(rows: Mapping[Key, Row]) -> str:
    """Return the leads of the scaled recipe by problem."""
    known = {key[1] for key in rows}
    others = [name for name in simulations.METHODS if name in known - {"recipe", "scaled"}]
    body = []
    for problem, (n_rows, n_features, _) in simulations.PROBLEMS.items():
        leads = simulation_leads(rows, problem, "scaled")
        if leads:
            body.append([f"{n_rows} × {n_features}", *(leads[o].signed(1) for o in others)])
    return markdown(["Rows × features", *(simulations.TITLES[o] for o in others)], body)


def _benchmarks() -> list[str]:
    """Return the tables of the benchmarks that have rows."""
    parts = []
    for name, (title, columns) in BENCHMARKS.items():
        path = RESULTS / f"{name}.csv"
        if not path.exists():
            continue
        with path.open(newline="", encoding="utf-8") as file:
            found = list(csv.DictReader(file))
        body = [[row.get(each, "").replace("nan", "–") for each in columns] for row in found]
        made = f"`python -m benchmarks {name}`: {found[-1]['machine']}, {found[-1]['date']}."
        parts += [f"## {title}", made, markdown(list(columns.values()), body)]
        ratios = [float(row["safdr_over_abess"]) for row in found if "safdr_over_abess" in row]
        if ratios:
            parts.append(f"Geometric mean over abess: {np.exp(np.mean(np.log(ratios))):.2f}.")
    return parts


BENCHMARKS = {
    "whole_job": (
        "The whole job: sizes 1 to 30, five splits, final model",
        {
            "data": "Data",
            "safdr_s": "safdr, s",
            "abess_s": "abess, s",
            "rfecv_s": "RFECV, s",
            "l1cv_s": "L1, s",
            "safdr_over_abess": "safdr / abess",
            "two_threads": "two threads",
        },
    ),
    "folds": (
        "One fold of the paper's protocol",
        {
            "data": "Data",
            "sa-fdr_s": "SA-FDR, s",
            "recipe_s": "recipe, s",
            "rfe_s": "RFE, s",
            "lasso_s": "Lasso, s",
            "abess_s": "abess, s",
        },
    ),
    "wide": (
        "Many features",
        {"rows": "Rows", "features": "Features", "fit_s": "fit, s", "peak_mb": "peak MB"},
    ),
    "streaming": (
        "Rows from Parquet files",
        {"rows": "Rows", "read_once_s": "one read, s", "fit_s": "fit, s", "peak_mb": "peak MB"},
    ),
    "gpu": (
        "GPU, without a screen",
        {"rows": "Rows", "features": "Features", "device": "Device", "wall_s": "s"},
    ),
}
