"""Rows read in chunks from Parquet files: seconds, memory, and RFECV on a sample beside them."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.memory import peak_megabytes
from benchmarks.rows import write
from safdr import AnnealingSelectorCV

N_FEATURES = 50
SIZES = (1_000_000, 5_000_000)
ROWS_A_FILE = 500_000
CODE = """
import time
from safdr import AnnealingSelectorCV
start = time.perf_counter()
AnnealingSelectorCV(10, random_state=0).fit({folder!r}, "target")
print(time.perf_counter() - start)
"""


def write_files(folder: Path, n_rows: int, n_features: int) -> None:
    """Write correlated features and a label of ten of them as Parquet files."""
    rng = np.random.default_rng(0)
    slopes = np.zeros(n_features)
    slopes[:10] = rng.choice([-1.0, 1.0], 10) * 0.3
    for number, start in enumerate(range(0, n_rows, ROWS_A_FILE)):
        n = min(ROWS_A_FILE, n_rows - start)
        X = rng.standard_normal((n, n_features)) + 0.5 * rng.standard_normal((n, 1))
        y = (X @ slopes + rng.logistic(size=n) > 0).astype(np.int8)
        columns = {f"x{j}": X[:, j].astype(np.float32) for j in range(n_features)}
        pq.write_table(pa.table({**columns, "target": y}), folder / f"{number:04d}.parquet")


def fit_files(n_rows: int, n_features: int) -> AnnealingSelectorCV:
    """Write files and fit the selector to them."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), n_rows, n_features)
        return AnnealingSelectorCV(10, random_state=0).fit(folder, "target")


def main() -> None:
    """Write one row for each number of rows."""
    rows = []
    for n_rows in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), n_rows, N_FEATURES)
            start = time.perf_counter()
            for path in Path(folder).glob("*.parquet"):
                pq.read_table(path)
            reading = time.perf_counter() - start
            peak, printed = peak_megabytes(CODE.format(folder=folder))
        rows.append(
            {
                "rows": n_rows,
                "features": N_FEATURES,
                "read_once_s": round(reading, 2),
                "fit_s": round(float(printed), 2),
                "peak_mb": round(peak),
            }
        )
    write("streaming", rows)
