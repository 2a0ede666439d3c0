"""Proofs of the best subset of each size: seconds and nodes, on all rows of each data set."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problem import EIGHT, title_of
from benchmarks.rows import keep
from benchmarks.table_parts import Rows, markdown
from benchmarks.task_problem import TASKS
from benchmarks.timing import timed
from experiments.datasets import load
from safdr import Moments
from safdr._engine.criterion import Criterion
from safdr._engine.proof.prover import Prover

PAPER_TABLE = Path(__file__).parents[1] / "paper" / "table.csv"
RIDGE = 1e-6
# Seconds for a proof; sizes beyond the first that takes longer are not tried.
LIMIT = 30.0


def main(options: argparse.Namespace) -> None:
    """One row for each data set and size."""
    for data in options.data or [*EIGHT, *TASKS]:
        criterion = criterion_of(data, options.data_dir)
        prover, preparing = timed(Prover(criterion).prepare)
        rows = []
        for size in options.sizes or range(1, min(options.max_features, criterion.n_features) + 1):
            rows.append(_row(data, prover, size, preparing.process))
            if not rows[-1]["optimal"] and not options.sizes:
                break
        keep("proofs", rows, by=("data", "size"))


def table(rows: Rows) -> str:
    """What was proven of each data set, and the largest times."""
    lines = []
    for data in dict.fromkeys(row["data"] for row in rows):
        some = [row for row in rows if row["data"] == data]
        proven = [row for row in some if row["optimal"] == "True"]
        missed = [
            f"{row['size']} ({float(row['gap']):.2%} after {float(row['seconds']):.0f} s)"
            for row in some
            if row not in proven
        ]
        seconds = [float(row["seconds"]) for row in proven]
        lines.append(
            [
                data if data in TASKS else title_of(data),
                some[0]["features"],
                _range(int(row["size"]) for row in proven),
                f"{sum(seconds) + float(some[0]['prepared_s']):.2f}",
                f"{max(seconds, default=0.0):.2f}",
                str(max((int(row["nodes"]) for row in proven), default=0)),
                ", ".join(missed),
            ]
        )
    head = ["data", "features", "sizes proven", "seconds in all", "largest", "most nodes"]
    return (
        "## Proofs\n\nThe best subset of each size by the criterion on all rows: processor seconds "
        "on one core, in all with the preparation; not proven, with "
        f"the gap, where {LIMIT:.0f} s on the clock were too short.\n\n"
        + markdown([*head, "not proven"], lines)
        + "\n"
        + at_chosen_sizes(rows)
    )


def at_chosen_sizes(rows: Rows) -> str:
    """What is known at the sizes that the paper's rules chose."""
    lines = []
    for data in dict.fromkeys(row["data"] for row in rows if row["data"] not in TASKS):
        by_size = {int(row["size"]): row for row in rows if row["data"] == data}
        for rule, size in chosen_sizes(data).items():
            row = by_size.get(size)
            if row is not None:
                gap = "proven" if row["optimal"] == "True" else f"gap {float(row['gap']):.2%}"
                cells = [title_of(data), rule, str(size), gap, row["nodes"], row["seconds"]]
                lines.append(cells)
    return (
        "## Proofs at the sizes that were chosen\n\nThe mean k* of SA-FDR over the repeats, "
        "rounded, by both rules.\n\n"
        + markdown(["data", "rule", "size", "answer", "nodes", "seconds"], lines)
    )


def chosen_sizes(data: str) -> dict[str, int]:
    """By each rule the mean k* of SA-FDR over the repeats of the paper's table, rounded."""
    with PAPER_TABLE.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["data"] == data]
    ours = next(row for row in rows if row["method"] == "sa-fdr")
    return {rule: round(float(ours[f"k_{rule}"])) for rule in ("one_sd", "one_se")}


def _range(sizes: Iterable[int]) -> str:
    known = sorted(sizes)
    return f"{known[0]} to {known[-1]}" if known else "none"


def criterion_of(data: str, data_dir: Any) -> Criterion:
    """The criterion on all rows, with the library's default ridge."""
    if data in TASKS:
        task, make, _ = TASKS[data]
        return Moments.from_rows(*make(), task=task)._criterion(RIDGE)
    problem = load(data, data_dir)
    return Moments.from_rows(problem.X, problem.y)._criterion(RIDGE)


def _row(data: str, prover: Prover, size: int, prepared: float) -> dict[str, Any]:
    proof, seconds = timed(lambda: prover.prove(size, seconds=LIMIT))
    return {
        "data": data,
        "features": prover.criterion.n_features,
        "size": size,
        "optimal": proof.optimal,
        "value": f"{proof.value:.9g}",
        "gap": f"{proof.gap:.3g}",
        "nodes": proof.n_nodes,
        "settled": len(proof.must_include) + len(proof.never_useful),
        "inflation": f"{np.diag(np.linalg.inv(prover.criterion.A)).max():.3g}",
        "prepared_s": round(prepared, 4),
        "seconds": round(seconds.process, 4),
    }
