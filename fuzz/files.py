"""Random files for ``safdr select``: it gives the right answer, or says clearly what is wrong."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from fuzz import files_arrow, files_text

QUICK = ("-k", "1")
WAYS = ("drop-rows", "drop-columns", "median")
# Damaged files of one process, which costs as much to start as some twenty of them to read.
N_DAMAGED = 10
IN_A_PROCESS = """
import sys
from fuzz.files import robust
for path in sys.argv[1:]:
    print(path, flush=True)
    robust(path, "-t", "late", "--missing", "median")
"""


@dataclass
class Ran:
    """How ``safdr select`` ended, and what it printed and wrote."""

    code: int
    out: str
    err: str
    result: dict | None


def check(rng: np.random.Generator) -> None:
    """One random file, or ten damaged ones."""
    kind = rng.choice(["table", "wild", "arrow", "damaged"], p=[0.5, 0.2, 0.28, 0.02])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / str(rng.choice(["loans.csv", "odd\x1b[31m\u202e.txt", "no ending"]))
        if kind == "table":
            _check_table(rng, path)
        elif kind == "wild":
            path.write_bytes(files_text.wild_text(rng))
            robust(path, *_some_options(rng, ["late", "v", "", "\x1b"]))
        elif kind == "arrow":
            _check_arrow(rng, path)
        else:
            _check_damaged(rng, Path(folder))


def robust(path: Path | str, *options: str) -> Ran:
    """Run the command, and check all that must hold whatever the file is."""
    folder = Path(path).parent
    result = folder / f"{os.getpid()}.json"
    before = set(folder.iterdir())
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = _main(["select", str(path), *options, *QUICK, "--out", str(result)])
    ran = Ran(code, out.getvalue(), err.getvalue(), None)
    assert code in (0, 1, 2), ran
    assert not any(word in ran.err for word in ("Unexpected:", "Traceback")), ran
    for line in (ran.out + ran.err).split("\n"):
        assert line.isprintable(), f"a terminal would obey: {line!r}"
    if code == 0:
        assert ran.err == "", ran
        ran.result = json.loads(result.read_text(encoding="utf-8"))
        result.unlink()
    else:
        assert ran.err.startswith(("safdr select: ", "╭")), ran
        assert ran.out == "", ran
    assert set(folder.iterdir()) == before, "files were left behind"
    return ran


def _main(words: list[str]) -> int:
    from safdr.cli import main

    os.environ["COLUMNS"] = "100"
    try:
        main(words)
    except SystemExit as end:
        return end.code or 0
    return 0


def _some_options(rng: np.random.Generator, targets: list[str]) -> list[str]:
    options = ["-t", str(targets[rng.integers(len(targets))])] if rng.random() < 0.9 else []
    if rng.random() < 0.7:
        options += ["--missing", str(rng.choice(WAYS))]
    return options


# ---- Text ---------------------------------------------------------------------------------------


def _check_table(rng: np.random.Generator, path: Path) -> None:
    table = files_text.random_text_table(rng)
    path.write_bytes(table.content)
    way = str(rng.choice(WAYS))
    test_size = float(rng.choice([0.0, 0.3]))
    options = ["-t", table.target.name, "--missing", way, "--test-size", str(test_size)]
    ran = robust(path, *options)
    if table.is_fair and way != "drop-rows":
        assert ran.code == 0, f"a fair table was refused: {ran.err}"
    if ran.result is not None:
        _check_result(table, ran.result, way, test_size)


def _check_result(table: files_text.TextTable, result: dict, way: str, test_size: float) -> None:
    """Rows, classes and features are those that were written."""
    left_out = [each["column"] for each in result["left_out"]]
    used = [c for c in table.columns if c.name not in left_out and c is not table.target]
    assert len(used) + len(left_out) + 1 == len(table.columns), (left_out, table.columns)
    known = [cell is not None for cell in table.target.cells]
    complete = _complete(used, known)
    everywhere = _complete([c for c in table.columns if c.kind not in ("none",)], known)
    n_rows = result["rows"]["train"] + (result["rows"]["test"] or 0)
    if way != "drop-rows":
        assert n_rows == sum(known), (n_rows, sum(known))
    else:
        # A column may be left out once rows are gone, but not the other way round.
        assert sum(everywhere) <= n_rows <= sum(complete), (n_rows, sum(complete))
    assert result["target"]["name"] == table.target.name
    assert sum(result["target"]["counts"].values()) == result["rows"]["train"]
    if test_size == 0 and way != "drop-rows":
        _check_classes(table, result, known)
        _check_coding(used, result, known)
    # A category counts as one.
    assert result["n_features"] == len(used), (result["n_features"], [c.name for c in used])


def _complete(columns: list[files_text.Column], known: list[bool]) -> list[bool]:
    """Rows without a gap in the columns."""
    rows = zip(known, *(c.cells for c in columns), strict=True)
    return [row[0] and all(cell is not None for cell in row[1:]) for row in rows]


def _check_classes(table: files_text.TextTable, result: dict, known: list[bool]) -> None:
    cells = [cell for cell, is_known in zip(table.target.cells, known, strict=True) if is_known]
    wanted = {_label(label): cells.count(label) for label in set(cells)}
    assert result["target"]["counts"] == wanted, (result["target"], wanted)


def _label(cell: str) -> str:
    """What a cell of the target is called in the result."""
    return {"true": "True", "false": "False"}.get(cell, cell)


def _check_coding(used: list[files_text.Column], result: dict, known: list[bool]) -> None:
    """The levels of text are all there, letter by letter."""
    by_name = {column.name: column for column in used}
    for coding in result["coding"]:
        column = by_name[coding["column"]]
        cells = [cell for cell, ok in zip(column.cells, known, strict=True) if ok]
        levels = {name[len(column.name) + 3 :] for name in coding["names"]}
        found = {*levels, coding["reference"], *coding["pooled"]}
        assert found == set(cells) - {None}, (found, set(cells))
        assert all(cells.count(level) >= 10 for level in levels)
    texts = {c.name for c in used if c.kind in ("text", "code")}
    assert {coding["column"] for coding in result["coding"]} == texts


# ---- Arrow --------------------------------------------------------------------------------------


def _check_arrow(rng: np.random.Generator, path: Path) -> None:
    table = files_arrow.random_arrow_table(rng)
    path.write_bytes(files_arrow.random_arrow_file(rng, table))
    if rng.random() < 0.5:
        ran = robust(path, *_some_options(rng, table.column_names))
        if ran.result is not None and "drop-rows" not in ran.result["settings"].values():
            _check_arrow_rows(table, ran.result)
        return
    ran = robust(path, "-t", "late", "--missing", str(rng.choice(WAYS[1:])), "--test-size", "0")
    assert ran.code == 0, ran.err
    _check_arrow_rows(table, ran.result)
    assert ran.result["target"]["counts"] == {"no": 30, "yes": 30}


def _check_arrow_rows(table: pa.Table, result: dict) -> None:
    """Rows without a target are gone, all others there; a feature for each column in use."""
    target = result["target"]["name"]
    values = table.column(target).to_pylist()
    known = [v is not None and (not isinstance(v, float) or np.isfinite(v)) for v in values]
    assert result["rows"]["train"] + (result["rows"]["test"] or 0) == sum(known)
    left_out = {each["column"] for each in result["left_out"]}
    used = [name for name in table.column_names if name not in left_out | {target}]
    assert result["n_features"] == len(used), (result["n_features"], used)


def _check_damaged(rng: np.random.Generator, folder: Path) -> None:
    """In a process of its own, so that a crash is seen."""
    paths = [folder / f"{i}.arrow" for i in range(N_DAMAGED)]
    for path in paths:
        whole = files_arrow.random_arrow_file(rng, files_arrow.random_arrow_table(rng))
        path.write_bytes(files_arrow.damaged(rng, whole))
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", IN_A_PROCESS, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parent.parent,
        check=False,
    )
    assert ran.returncode == 0, f"ended by {ran.returncode} at {ran.stdout[-60:]}: {ran.stderr}"
