"""Rows that are read in passes: the moments pass beside what it must do, memory and time by rows.

`python -m benchmarks.streaming` (not part of `make bench`: it writes gigabytes to a temporary
folder). Sets of several million rows are folders of links to one file of a million made-up rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import spark_peer
from benchmarks.memory import high_water
from benchmarks.rows import keep
from benchmarks.timing import take_turns

N_FEATURES = 60
MILLION = 1_000_000
AT_ONCE = 100_000
# Columns of wide tables; rows, and those of a row group.
WIDE = 1000
WIDE_AT_ONCE = 20_000
WIDE_ROWS = ((50_000, 10_000), (50_000, 50_000), (MILLION, MILLION))
RESULT = "streaming"
COLUMNS = ("what", "processor_s", "wall_s", "peak_mb", "ratio", "beside")


def write_rows(path: Path, n_rows: int = MILLION, n_features: int = N_FEATURES) -> None:
    """Correlated columns, five of them log-normal, twelve that tell two classes (one in four)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    mixing = np.eye(n_features) + 0.9 * rng.normal(size=(n_features, n_features)) / n_features**0.5
    slopes = np.zeros(n_features)
    slopes[rng.permutation(n_features)[:12]] = rng.normal(size=12)
    writer = None
    for start in range(0, n_rows, AT_ONCE):
        X = rng.normal(size=(min(AT_ONCE, n_rows - start), n_features)) @ mixing
        X[:, :5] = np.exp(0.5 * X[:, :5])
        y = (0.5 * X @ slopes - 1.5 + rng.logistic(size=len(X)) > 0).astype(np.int64)
        table = pa.table({**{f"x{j}": X[:, j] for j in range(n_features)}, "default": y})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def write_wide(path: Path, n_rows: int, rows_of_group: int) -> None:
    """1000 columns with a few factors in common, twelve of which tell two classes.

    They are in a file, so that the writer has a column at a time in memory.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    slopes, loadings = np.zeros(WIDE), 0.5 * rng.normal(size=(WIDE, 5))
    slopes[rng.permutation(WIDE)[:12]] = rng.normal(size=12)
    y = np.empty(n_rows, dtype=np.int64)
    with tempfile.NamedTemporaryFile(dir=path.parent) as kept:
        X: Any = np.memmap(kept.name, np.float64, "w+", shape=(WIDE, n_rows))
        for start in range(0, n_rows, WIDE_AT_ONCE):
            some = slice(start, min(start + WIDE_AT_ONCE, n_rows))
            length = some.stop - start
            X[:, some] = part = rng.normal(size=(WIDE, length)) + loadings @ rng.normal(
                size=(5, length)
            )
            y[some] = 0.5 * slopes @ part - 1.5 + rng.logistic(size=length) > 0
        table = pa.table({**{f"x{j}": pa.array(X[j]) for j in range(WIDE)}, "default": y})
        pq.write_table(table, path, row_group_size=rows_of_group)


def folder_of(file: Path, n_million: int) -> Path:
    """A folder with a link to the file for each million rows."""
    folder = file.parent / f"{n_million}m"
    if folder.exists():
        return folder
    folder.mkdir()
    for i in range(n_million):
        os.link(file, folder / f"part-{i:03}.parquet")
    return folder


# ---- The moments pass --------------------------------------------------------------------------


def moments_pass(folder: Path, rounds: int) -> dict[str, Any]:
    """Processor seconds of the pass, of reading the same files, and of the bare product."""
    import pyarrow.parquet as pq

    from safdr._estimators.streamed.folds import N_BUCKETS
    from safdr._estimators.streamed.passes import MomentsPass
    from safdr._estimators.streamed.reading import look_at_target
    from safdr._estimators.streamed.tables import Layout, check_columns
    from safdr.sources import open_source

    files = sorted(folder.iterdir())
    source = open_source(folder)
    layout = Layout(source.name, check_columns(source, "default", None), "default")
    found = look_at_target(source, layout, measured=False, seed=0)
    layout = Layout(source.name, layout.features, "default", classes=np.array([0, 1]))
    task = MomentsPass(layout, found.sample, 0, N_BUCKETS)

    def decode() -> None:
        for file in files:
            for _ in pq.ParquetFile(file).iter_batches(65_536):
                pass

    rows = [
        np.column_stack([column.to_numpy() for column in batch.columns])
        for batch in pq.ParquetFile(files[0]).iter_batches(65_536)
    ]

    def product() -> None:
        for _ in files:
            sum(X.T @ X for X in rows)

    jobs = {"decode": decode, "product": product, "moments": lambda: source.run(task)}
    took = {name: each.process for name, each in take_turns(jobs, rounds).items()}
    parts = f"reading {took['decode']:.2f} s, bare product {took['product']:.2f} s"
    ratio = took["moments"] / (took["decode"] + took["product"])
    return {"processor_s": round(took["moments"], 2), "ratio": round(ratio, 2), "beside": parts}


# ---- Whole searches, each in a process of its own ----------------------------------------------


def search(path: str) -> None:
    """Sizes 1 to 30 and the choice of the size."""
    from safdr import AnnealingSelectorCV

    found = AnnealingSelectorCV(max_features=30, C=1.0, random_state=0).fit(path, "default")
    print("chosen", found.n_features_, file=sys.stderr)


def wide_fixed(path: str) -> None:
    """Eight of very many columns."""
    from safdr import AnnealingSelector

    AnnealingSelector(8, random_state=0).fit(path, "default")


def wide_choice(path: str) -> None:
    """The same with the choice of the size, 1 to 30."""
    from safdr import AnnealingSelectorCV

    AnnealingSelectorCV(max_features=30, random_state=0).fit(path, "default")


def rfecv(path: str) -> None:
    """Scikit-learn's RFECV on the 200 000 rows that come first."""
    from sklearn.feature_selection import RFECV
    from sklearn.linear_model import LogisticRegression

    X, y = in_memory(path, 200_000)
    RFECV(LogisticRegression(), scoring="roc_auc", cv=5).fit(X, y)


def rfe_of_fold(path: str) -> None:
    """What RFECV does five times on a million rows, but for the scores: all sizes on one fold."""
    from sklearn.feature_selection import RFE
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    X, y = in_memory(path, MILLION)
    train, _ = next(StratifiedKFold(5).split(X, y))
    RFE(LogisticRegression(), n_features_to_select=1).fit(X[train], y[train])


def in_memory(path: str, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Standardised features, and labels, of the rows that come first."""
    import pyarrow.dataset as ds

    table = ds.dataset(path).head(n_rows)
    X = np.column_stack([table[f"x{j}"].to_numpy() for j in range(N_FEATURES)])
    return (X - X.mean(axis=0)) / X.std(axis=0), table["default"].to_numpy()


JOBS = {
    "search": search,
    "wide-fixed": wide_fixed,
    "wide-choice": wide_choice,
    "rfecv": rfecv,
    "rfe-of-fold": rfe_of_fold,
}


def in_own_process(job: str, path: Path) -> dict[str, float]:
    """Seconds, on the wall and of processors, and the peak of memory in megabytes."""
    command = [sys.executable, "-m", "benchmarks.streaming", "--job", job, str(path)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    wall, processor, megabytes = map(float, done.stdout.split()[-3:])
    return {"wall_s": wall, "processor_s": processor, "peak_mb": megabytes}


def dask_workers(folder: Path, n_workers: int) -> float:
    """Seconds of the moments pass on a cluster of so many processes of one thread."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from safdr._engine.streaming.positions import RowSample
    from safdr._estimators.streamed.folds import N_BUCKETS
    from safdr._estimators.streamed.passes import MomentsPass
    from safdr._estimators.streamed.tables import Layout
    from safdr.sources import open_source

    how: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(n_workers=n_workers, processes=True, **how) as cluster, Client(cluster):
        source = open_source(dd.read_parquet(str(folder)))
        features = tuple(f"x{j}" for j in range(N_FEATURES))
        layout = Layout(source.name, features, "default", classes=np.array([0, 1]))
        task = MomentsPass(layout, RowSample(0), 0, N_BUCKETS)
        source.run(task)  # workers load the package
        before = time.perf_counter()
        source.run(task)
        return time.perf_counter() - before


def wide_rows(folder: Path) -> Iterator[dict[str, Any]]:
    """Whole fits of wide tables, by how their rows are in groups."""
    for n_rows, rows_of_group in WIDE_ROWS:
        file = folder / "wide.parquet"
        write_wide(file, n_rows, rows_of_group)
        for job, what in {"wide-fixed": "8 features", "wide-choice": "sizes 1 to 30"}.items():
            how = f"{n_rows} x {WIDE}, row groups of {rows_of_group}, {what}"
            yield {"what": how, **in_own_process(job, file)}


# ---- All of it ---------------------------------------------------------------------------------


def rows_of(options: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """What is measured, one after the other."""
    if "wide" in options.what:
        yield from wide_rows(folder)
    if options.what == ["wide"]:
        return
    file = folder / "million.parquet"
    write_rows(file)
    if "moments" in options.what:
        found = moments_pass(folder_of(file, 4), options.rounds)
        yield {"what": "moments pass, 4 million rows", **found}
    for n_million in options.millions if "search" in options.what else ():
        path = folder_of(file, n_million)
        yield {"what": f"search, {n_million} million rows", **in_own_process("search", path)}
    if "rfecv" in options.what:
        yield {"what": "RFECV, 200 000 rows", **in_own_process("rfecv", file)}
        beside = "RFECV is five of them, and more"
        found = in_own_process("rfe-of-fold", file)
        yield {"what": "RFE of one fold, 1 million rows", **found, "beside": beside}
    if "spark" in options.what and spark_peer.is_here():
        yield {"what": "Spark's univariate selector, 1 million rows", **spark_peer.measure(file)}
    if "dask" in options.what:
        one, two = (dask_workers(folder_of(file, 4), n) for n in (1, 2))
        yield {"what": "Dask, 2 workers against 1", "wall_s": round(two, 2),
               "ratio": round(two / one, 2)}  # fmt: skip


def main() -> None:
    """Measure, print and keep the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming", description=__doc__)
    everything = ["moments", "search", "wide", "rfecv", "spark", "dask"]
    parser.add_argument("what", nargs="*", default=everything, help=f"of {', '.join(everything)}")
    parser.add_argument("--millions", nargs="+", type=int, default=[1, 5, 20])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where to put the rows; else a temporary one")
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        began = time.perf_counter(), time.process_time()
        JOBS[options.job[0]](options.job[1])
        wall, processor = time.perf_counter() - began[0], time.process_time() - began[1]
        print(round(wall, 1), round(processor, 1), round(high_water()))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for row in rows_of(options, Path(folder)):
            keep(RESULT, [dict.fromkeys(COLUMNS, "") | row], by=["what"])


if __name__ == "__main__":
    main()
