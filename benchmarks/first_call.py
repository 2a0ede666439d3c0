"""The first call in a fresh process, import included: what someone new waits for."""

from __future__ import annotations

import argparse
import subprocess
import sys
from functools import partial
from statistics import median

from benchmarks.rows import keep
from benchmarks.timing import timed

ROUNDS = 7

# As in an environment that has safdr and what it needs alone: scikit-learn imports these where they
# are installed, which takes longer than all that safdr does.
ALONE = "import sys; sys.modules.update(dict.fromkeys(['pandas', 'polars', 'pyarrow', 'rich']))\n"
SKLEARN = "import sklearn.linear_model\n"
PROGRAM = """
from sklearn.datasets import load_breast_cancer
from safdr import AnnealingSelector

AnnealingSelector.as_published(5, random_state=0).fit(*load_breast_cancer(return_X_y=True))
"""


def main(options: argparse.Namespace) -> None:
    """Breast cancer, five features; beside it the import of scikit-learn."""
    rounds = options.rounds or ROUNDS
    programs = {
        "import of scikit-learn, without pandas": ALONE + SKLEARN,
        "first call, without pandas": ALONE + PROGRAM,
        "import of scikit-learn, with pandas": SKLEARN,
        "first call, with pandas": PROGRAM,
    }
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for turn in range(rounds + 1):
        for name, program in programs.items():
            command = [sys.executable, "-c", program]
            _, taken = timed(partial(subprocess.run, command, check=True))
            if turn > 0:
                seconds[name].append(taken.wall)
    keep(
        "first_call",
        [
            {
                "program": name,
                "wall_s": round(median(values), 3),
                "least_s": round(min(values), 3),
                "rounds": rounds,
            }
            for name, values in seconds.items()
        ],
    )
