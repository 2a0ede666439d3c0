"""Spark's own selector of features beside ours, at the same size on the same rows.

`python -m benchmarks.streaming spark`, where pyspark and a Java runtime are installed. Spark has
no search for subsets: its selectors rank features one by one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

N_FEATURES = 60
SIZE = 8


def is_here() -> bool:
    """Whether there is a Spark to run."""
    return find_spec("pyspark") is not None and which("java") is not None


def by_spark(path: str) -> tuple[list[int], float]:
    """The features of the largest F, and the peak of memory of the Java machine."""
    from pyspark.ml.feature import UnivariateFeatureSelector, VectorAssembler
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.memory", "2g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    names = [f"x{j}" for j in range(N_FEATURES)]
    rows = VectorAssembler(inputCols=names, outputCol="features").transform(
        spark.read.parquet(path)
    )
    selector = UnivariateFeatureSelector(labelCol="default", selectionMode="numTopFeatures")
    selector = selector.setFeatureType("continuous").setLabelType("categorical")
    chosen = selector.setSelectionThreshold(SIZE).fit(rows).selectedFeatures
    java = spark.sparkContext._gateway.proc
    megabytes = _high_water(java.pid)
    spark.stop()
    # Its seconds count once it has ended.
    java.stdin.close()
    java.wait()
    return sorted(chosen), megabytes


def by_safdr(path: str) -> tuple[list[int], float]:
    """The same number of features, by annealing."""
    from safdr import AnnealingSelector

    found = AnnealingSelector(SIZE, random_state=0).fit(path, "default")
    return sorted(found.subset_.tolist()), _high_water(os.getpid())


def _high_water(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def measure(file: Path) -> dict[str, Any]:
    """Both in a process of its own, and what their features are worth on some of the rows."""
    spark, ours = (_run(name, file) for name in JOBS)
    losses = _losses(file, [spark["chosen"], ours["chosen"]])
    beside = (
        f"ours {ours['processor_s']:.0f} s and {ours['peak_mb']:.0f} MB; loss of the {SIZE} "
        f"features {losses[0]:.4f} against {losses[1]:.4f} of ours"
    )
    del spark["chosen"]
    return {**spark, "ratio": round(ours["processor_s"] / spark["processor_s"], 2),
            "beside": beside}  # fmt: skip


def _losses(file: Path, subsets: list[list[int]]) -> list[float]:
    """Cross-entropy of the models of some subsets on the rows that come first."""
    import numpy as np
    import pyarrow.dataset as ds

    from safdr import evaluate_subsets

    table = ds.dataset(file).head(200_000)
    X = np.column_stack([table[f"x{j}"].to_numpy() for j in range(N_FEATURES)])
    return evaluate_subsets(X, table["default"].to_numpy(), subsets).losses.tolist()


def _run(name: str, file: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.spark_peer", name, str(file)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    wall, processor, megabytes, *chosen = done.stdout.splitlines()[-1].split()
    return {
        "wall_s": float(wall),
        "processor_s": float(processor),
        "peak_mb": float(megabytes),
        "chosen": [int(each) for each in chosen],
    }


JOBS = {"spark": by_spark, "safdr": by_safdr}

if __name__ == "__main__":
    began = time.perf_counter()
    chosen, megabytes = JOBS[sys.argv[1]](sys.argv[2])
    times = os.times()
    # Of this process and of those that have ended.
    processor = times.user + times.system + times.children_user + times.children_system
    print(round(time.perf_counter() - began, 1), round(processor, 1), round(megabytes), *chosen)
