"""Which cells are missing, running them, and the rows on disk.

A cell is a data set, a method and a repeat. Its row is written to a file of its own when it is
done, so that a run can stop at any moment and go on. `pack` moves the rows into one compressed
file for each experiment.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

import safdr
from benchmarks.rows import cpu_name
from experiments import data, methods, paper_methods, protocols, simulations, synthetic

Row = dict[str, Any]
Key = tuple[str, str, int]


@dataclass(frozen=True)
class Experiment:
    """Data sets, methods, repeats, and what is done with each cell."""

    name: str
    data: tuple[str, ...]
    methods: tuple[str, ...]
    repeats: int
    load: Callable[[str], Any]
    run: Callable[[Any, str, int], Row]
    # Repeats of the sets that take long.
    fewer: tuple[str, ...] = ()
    few_repeats: int = 5
    first_repeat: int = 0

    def cells(self) -> Iterator[Key]:
        """Yield data set by data set, then repeat by repeat."""
        for name in self.data:
            n_repeats = self.few_repeats if name in self.fewer else self.repeats
            for repeat in range(self.first_repeat, self.first_repeat + n_repeats):
                for method in self.methods:
                    yield name, method, repeat


TWO_CLASSES = (
    *data.PAPER,
    *("wine_1", "digits_1", "digits_8"),
    *("wide_70x1000", "wide_100x2000", "wide_80x1500", "wide_90x1200", "wide_120x800"),
    *("wide_200x600", "few_200x40", "few_150x60", "few_120x30"),
    *("tails_log_normal", "tails_cauchy", "rare_2_percent"),
)
MORE_CLASSES = ("wine", "digits", "classes_4", "classes_8", "classes_26")
REGRESSION = (
    *("diabetes", "wine_alcohol", "cancer_concavity", "cancer_area", "digits_pixel"),
    *(n for n in synthetic.SETS if n.split("_")[0] in ("independent", "chain", "blocks")),
)
SLOW = ("madelon", "loan_default_kaggle")
EQUAL_METHODS = tuple(name for name in methods.METHODS if name != "forward-fisher")

EXPERIMENTS: dict[str, Experiment] = {
    each.name: each
    for each in (
        Experiment(
            "paper",
            tuple(data.PAPER),
            tuple(paper_methods.TITLES),
            20,
            data.load,
            protocols.paper,
            SLOW,
        ),
        Experiment(
            "ablation",
            ("heart", "cancer", "ozone", "spambase", "student"),
            paper_methods.ABLATION,
            20,
            data.load,
            protocols.paper,
        ),
        # The recipe was chosen on the first 20 splits.
        Experiment(
            "equal",
            TWO_CLASSES,
            EQUAL_METHODS,
            20,
            data.load,
            protocols.equal,
            SLOW,
            first_repeat=20,
        ),
        Experiment(
            "classes",
            MORE_CLASSES,
            ("recipe", "unscreened", "rfe", "abess", "forward-fisher", "anova"),
            20,
            data.load,
            protocols.equal,
        ),
        Experiment(
            "regression",
            REGRESSION,
            ("recipe", "unscreened", "paper", "lasso", "abess", "forward"),
            20,
            data.load,
            protocols.equal,
        ),
        Experiment(
            "simulations",
            tuple(simulations.SIMULATIONS),
            tuple(simulations.METHODS),
            10,
            simulations.load,
            simulations.run,
        ),
        Experiment(
            "probabilities",
            (*TWO_CLASSES[:7], *TWO_CLASSES[9:], *MORE_CLASSES, "diabetes"),
            ("selector",),
            6,
            data.load,
            protocols.probabilities,
        ),
    )
}


class Rows:
    """The rows of one experiment below a folder: a packed file, and files of single rows."""

    def __init__(self, folder: Path, experiment: str) -> None:
        self.packed = folder / f"{experiment}.jsonl.gz"
        self.loose = folder / "rows" / experiment

    def read(self) -> dict[Key, Row]:
        """Return all rows; a single row replaces a packed one."""
        lines: list[str] = []
        if self.packed.exists():
            lines = gzip.decompress(self.packed.read_bytes()).decode().splitlines()
        texts = [*lines, *(path.read_text() for path in sorted(self.loose.glob("*.json")))]
        rows = (json.loads(text) for text in texts)
        return {(row["data"], row["method"], row["repeat"]): row for row in rows}

    def write(self, row: Row) -> None:
        """Write one row; a stopped run leaves no half of a file."""
        self.loose.mkdir(parents=True, exist_ok=True)
        path = self.loose / f"{row['data']}-{row['method']}-{row['repeat']:03d}.json"
        _replace(path, json.dumps(row, ensure_ascii=False).encode())

    def pack(self, forget: Iterable[Key] = ()) -> None:
        """Move all rows but some to the packed file."""
        rows = self.read()
        for key in forget:
            rows.pop(key, None)
        text = "".join(
            f"{json.dumps(rows[key], ensure_ascii=False, separators=(',', ':'))}\n"
            for key in sorted(rows)
        )
        self.packed.parent.mkdir(parents=True, exist_ok=True)
        # No time stamp: equal rows give equal files.
        _replace(self.packed, gzip.compress(text.encode(), mtime=0))
        for path in self.loose.glob("*.json"):
            path.unlink()


def _replace(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}.part")
    partial.write_bytes(content)
    partial.replace(path)


def missing(experiment: Experiment, rows: Rows, wanted: Callable[[Key], bool]) -> list[Key]:
    """Return the cells without a row, of the sets that can be loaded."""
    known = rows.read()
    return [
        key
        for key in experiment.cells()
        if wanted(key) and key not in known and data.is_available(key[0])
    ]


def run_cells(
    experiment: Experiment, rows: Rows, cells: Sequence[Key], jobs: int
) -> Iterator[tuple[Key, float, str | None]]:
    """Run cells, write each row, and yield the cell, its seconds and its traceback, if any."""
    parallel = Parallel(jobs, return_as="generator_unordered", batch_size=1)
    yield from parallel(delayed(_run_cell)(experiment.name, rows, key) for key in cells)


def _run_cell(name: str, rows: Rows, key: Key) -> tuple[Key, float, str | None]:
    experiment, start, cpu = EXPERIMENTS[name], time.perf_counter(), time.process_time()
    try:
        with threadpool_limits(limits=1):
            content = experiment.run(_load(name, key[0]), *key[1:])
    except Exception:
        return key, time.perf_counter() - start, traceback.format_exc()
    about = dict(zip(("data", "method", "repeat"), key, strict=True))
    seconds = {"seconds": round(time.process_time() - cpu, 4)}
    rows.write({**about, **seconds, **content, "made": made_with()})
    return key, time.perf_counter() - start, None


@lru_cache(maxsize=1)
def _load(experiment: str, name: str) -> Any:
    """Return the data of a cell; cells come data set by data set."""
    return EXPERIMENTS[experiment].load(name)


@lru_cache(maxsize=1)
def made_with() -> dict[str, str]:
    """Return versions, the machine, the date, and a checksum of the code that searches and fits."""
    package = Path(safdr.__file__).parent
    digest = hashlib.sha256()
    for part in ("_core", "_engine", "_estimators"):
        for path in sorted((package / part).rglob("*.[chp][py]*")):
            if path.suffix in (".py", ".cpp", ".hpp"):
                digest.update(path.read_bytes())
    versions = {name: version(name) for name in ("safdr", "numpy", "scikit-learn")}
    about = {"machine": cpu_name(), "date": time.strftime("%Y-%m-%d")}
    return {**versions, "code": digest.hexdigest()[:12], **about}
