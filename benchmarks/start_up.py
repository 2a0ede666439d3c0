"""What `import safdr` adds to the import of scikit-learn, in processor seconds of a process."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from statistics import median

from benchmarks.rows import keep

ROUNDS = 9

# What a script that fits a selector needs of scikit-learn in any case.
SKLEARN = "import sklearn.feature_selection, sklearn.linear_model, sklearn.model_selection\n"
PROGRAMS = {
    "scikit-learn": SKLEARN,
    "scikit-learn, then safdr": SKLEARN + "import safdr",
    "scikit-learn, then all public names": SKLEARN + "from safdr import *",
    "safdr alone": "import safdr",
}


def main(options: argparse.Namespace) -> None:
    """Programs take turns; the first turn, which writes compiled files, does not count."""
    rounds = options.rounds or ROUNDS
    seconds: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for turn in range(rounds + 1):
        for name, program in PROGRAMS.items():
            taken = _processor_seconds(program)
            if turn > 0:
                seconds[name].append(taken)
    keep(
        "start_up",
        [
            {
                "program": name,
                "process_s": round(median(values), 3),
                "least_s": round(min(values), 3),
                "rounds": rounds,
            }
            for name, values in seconds.items()
        ],
    )


def _processor_seconds(program: str) -> float:
    """Of a fresh process, which may keep compiled files as an installed package has them."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], check=True, env=kept)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
