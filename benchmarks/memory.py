"""Peak memory of one contestant on one fold, in a process of its own.

What the process holds before (the interpreter, the packages, the rows) is not counted.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from benchmarks.peers import PEERS, numpy_reference
from benchmarks.problem import Fold

STATUS = Path("/proc/self/status")


def peak_megabytes(fold: Fold, contestant: str) -> float | None:
    """What the contestant needs beyond the rows; None where the system does not tell."""
    if not STATUS.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        # Out of a plain file, so that reading the rows leaves no higher mark than they need.
        np.save(Path(folder, "X.npy"), fold.X)
        np.save(Path(folder, "y.npy"), fold.y)
        command = [sys.executable, "-m", "benchmarks.memory", folder, contestant]
        command += [str(fold.sizes[-1]), str(fold.seed)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return round(float(done.stdout.split()[-1]), 1)


def high_water() -> float:
    """Megabytes; ru_maxrss would start at the mark of the process that started this one."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def _measure(folder: str, contestant: str, max_features: str, seed: str) -> float:
    # Not the run of the library that tells the reference how much work there is.
    run = numpy_reference.measure if contestant == "reference" else PEERS[contestant]
    X, y = load_breast_cancer(return_X_y=True)
    run(Fold("warm-up", (X - X.mean(axis=0)) / X.std(axis=0), y, [1, 2], 0))
    X, y = (np.load(Path(folder, f"{name}.npy")) for name in "Xy")
    fold = Fold("measured", X, y, list(range(1, int(max_features) + 1)), int(seed))
    before = high_water()
    run(fold)
    return high_water() - before


if __name__ == "__main__":
    import warnings

    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    with threadpool_limits(limits=1):
        print(_measure(*sys.argv[1:]))
