"""Many features: seconds and memory beside others, each in a fresh process."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from statistics import median
from typing import Any

from benchmarks.folds import LONG_ENOUGH
from benchmarks.rows import keep
from benchmarks.table_parts import Rows, markdown

ROUNDS = 3
OURS = ("sa-fdr", "sa-fdr, l1", "sa-fdr, reference")
WORK = {
    "100 × 10 000": (*OURS, "sa-fdr, auto", "abess", "rfe"),
    "200 × 100 000": (*OURS, "sa-fdr, auto", "abess", "abess, screened"),
    "20 000 × 30 000, sparse at 0.2 %": (*OURS, "l1"),
    "500 × 1 000 000, float32": tuple(f"{name}, ten features" for name in OURS),
}


def main(options: argparse.Namespace) -> None:
    """Each problem: all contestants in turn, several rounds, medians."""
    for problem, names in WORK.items():
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for _ in range(options.rounds or ROUNDS):
            for name in names:
                if not any(run["process_s"] > LONG_ENOUGH for run in runs[name]):
                    runs[name].append(_run(problem, name))
        rows = [_row(problem, name, several) for name, several in runs.items()]
        keep("wide", rows, by=("problem", "contestant"))


def _run(problem: str, contestant: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.wide_job", problem, contestant]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _row(problem: str, contestant: str, several: list[dict[str, Any]]) -> dict[str, Any]:
    medians = {
        name: round(median(run[name] for run in several), 2)
        for name in ("process_s", "wall_s", "extra_mb")
    }
    first = {"problem": problem, "contestant": contestant}
    return {**first, **several[0], **medians, "rounds": len(several)}


def table(rows: Rows) -> str:
    """Seconds beside ours, memory, and how many of the ten planted columns were chosen."""
    by_default = ("sa-fdr", "sa-fdr, ten features")
    ours = {row["problem"]: row for row in rows if row["contestant"] in by_default}
    cells = [
        [
            row["problem"],
            row["contestant"],
            f"{row['process_s']} ({_ratio(row, ours[row['problem']]):.2g})",
            row["extra_mb"],
            f"{row['planted']} of {row['chosen']}",
        ]
        for row in rows
    ]
    header = ["rows × features", "contestant", "seconds", "MB", "planted of chosen"]
    return (
        "## Many features\n\nOne to ten features by five folds (the last row: ten, without folds): "
        "processor seconds on one core, in brackets as a multiple of our default's, and megabytes "
        "beyond the rows, each of a fresh process.\n\n" + markdown(header, cells)
    )


def _ratio(row: dict[str, str], ours: dict[str, str]) -> float:
    return float(row["process_s"]) / float(ours["process_s"])
