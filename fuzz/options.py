"""The command line with random options: how it ends, what it prints, and what it writes."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from safdr.cli import main

NUMBERS = ("a", "b", "c with space", "d;semicolon")
TEXTS = ("colour", "size")
COLUMNS = (*NUMBERS, *TEXTS)
# By option: values that are right by themselves, and values that never are.
VALUES: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "--positive": (["yes", "no"], ["maybe", ""]),
    "--task": (["classification"], ["clusters", ""]),
    "--missing": (["drop-rows", "drop-columns", "median"], ["mean", ""]),
    "--test-size": (["0", "0.2", "0.5", "2e-1"], ["1", "-0.1", "nan", "inf", "half", ""]),
    "-k": (["1", "2", "3", "1-3", "2-4"], ["0", "-1", "1.5", "", "3-1", "x", "nan"]),
    "--rule": (["one_sd", "one_se", "best", "0.01"], ["worst", "", "-1", "nan", "2"]),
    "--seed": (["0", "7", "4294967295"], ["-1", "4294967296", "1e3", "x"]),
    "--jobs": (["1", "2"], ["0", "x", "1.5", ""]),
    "--drop": (COLUMNS, ["zzz"]),
    "--keep": (COLUMNS, ["zzz"]),
    "--categories": (["size", "colour"], ["zzz"]),
    "--include": (COLUMNS, ["zzz"]),
    "--as-one": (["a,b", "a,colour", "colour,size"], ["a", "a,zzz"]),
    "--at-most-one-of": (["a,b", "a,b,colour", "size,colour"], ["a", "b,zzz"]),
    "--sign": (["a=+", "b=-"], ["a", "zzz=+", "a=2"]),
    "--cost": (["a=0.1", "b=2"], ["a", "zzz=1", "a=x"]),
    "--stability": (["4"], ["3", "0", "x"]),
    "--prove": (["0.5"], ["-1", "x"]),
    "--points": (["20,600,50"], ["20,600", "0,600,50", "x"]),
}
FLAGS = ("--balanced", "--as-published", "--quiet", "--force")
OUTPUTS = ("new.json", "new.html", "new.py", "new.sql", "new.csv", "old.json")
WRONG_OUTPUTS = ("new.txt", "folder", "no_folder/x/new.json", "")


def check(rng: np.random.Generator) -> None:
    """Run one command."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        n_rows, path = make_folder(folder, rng)
        words, wrong = random_words(rng, folder)
        before = contents(folder)
        code, out, err = run(["select", str(path), "-t", "y", *words])
        what = f"{words}: {err}"
        assert code in (0, 1, 2), what
        assert "Traceback" not in err, what
        if wrong and "values missing" not in err:
            assert code == 2, f"{wrong} was accepted; {what}"
        if code:
            assert err.strip(), f"no message; {what}"
            assert out == "", f"an error and an answer; {what}"
            assert contents(folder) == before, f"an error, and files were changed; {what}"
            return
        check_files(folder, before, words)
        check_answer(folder, words, out, n_rows)


def run(words: list[str]) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    with warnings.catch_warnings(), contextlib.redirect_stdout(out):
        warnings.simplefilter("default")
        with contextlib.redirect_stderr(err):
            try:
                code = main(words)
            except SystemExit as end:
                code = end.code
    return int(code or 0), out.getvalue(), err.getvalue()


# ---- Commands ------------------------------------------------------------------------------------


def make_folder(folder: Path, rng: np.random.Generator) -> tuple[int, Path]:
    """Write a table, an old result and a folder; return the number of rows and the table's path."""
    n = int(rng.integers(60, 160))
    columns: dict[str, Any] = dict(zip(NUMBERS, rng.normal(size=(4, n)).round(3), strict=True))
    columns["colour"] = np.array(["red", "green", "blue"])[rng.integers(3, size=n)]
    columns["size"] = np.array(["s", "l"])[rng.integers(2, size=n)]
    odds = columns["a"] - columns["b"] + (columns["colour"] == "red") + rng.logistic(size=n)
    columns["y"] = np.where(odds > 0, "yes", "no")
    if rng.random() < 0.2:
        columns["a"] = pa.array(columns["a"], mask=rng.random(n) < 0.1)
    table = pa.table(columns)
    path = folder / str(rng.choice(["rows.csv", "rows.parquet"]))
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path)
    (folder / "old.json").write_text("old")
    (folder / "folder").mkdir()
    return n, path


def random_words(rng: np.random.Generator, folder: Path) -> tuple[list[str], list[str]]:
    """Return options, and those of them that are wrong by themselves."""
    words: list[str] = []
    wrong: list[str] = []
    for option in rng.permutation(list(VALUES))[: int(rng.integers(0, 6))].tolist():
        right, never = VALUES[option]
        is_wrong = rng.random() < 0.1
        value = str(rng.choice(never if is_wrong else right))
        words += [option, value]
        wrong += [f"{option} {value}"] if is_wrong else []
    words += [flag for flag in FLAGS if rng.random() < 0.15]
    for name in rng.permutation(OUTPUTS)[: int(rng.integers(0, 4))].tolist():
        words += ["-o", str(folder / name)]
        if name == "old.json" and "--force" not in words:
            wrong.append(name)
    if rng.random() < 0.05:
        name = str(rng.choice(WRONG_OUTPUTS[:2]))
        words += ["-o", str(folder / name)]
        wrong.append(name)
    if rng.random() < 0.3:
        words += ["-o", "-"]
    return words, wrong


# ---- What is right -------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def values_of(words: list[str], option: str) -> list[str]:
    """Return the values of an option."""
    return [value for name, value in itertools.pairwise(words) if name == option]


def check_files(folder: Path, before: dict[str, bytes], words: list[str]) -> None:
    """The files that were asked for are whole, and no other has changed."""
    after = contents(folder)
    wanted = {Path(path).name for path in values_of(words, "-o") if path != "-"}
    assert after.keys() == before.keys() | wanted, f"{sorted(after)}, should be {sorted(wanted)}"
    for name in before.keys() - wanted:
        assert after[name] == before[name], f"{name} was changed"
    for name in wanted:
        check_whole(name, after[name].decode())


def check_whole(name: str, text: str) -> None:
    """A file is complete."""
    if name.endswith(".json"):
        parsed(text)
    elif name.endswith(".html"):
        assert text.rstrip().endswith("</html>"), "half a page"
    elif name.endswith(".py"):
        compile(text, name, "exec")
    elif name.endswith(".sql"):
        assert text.rstrip().endswith(";"), "half a query"
    else:
        assert text.startswith("column,value,coefficient,points"), "no scorecard"


def parsed(text: str) -> dict[str, Any]:
    """Return strict JSON."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in JSON")

    return json.loads(text, parse_constant=refuse)


def check_answer(folder: Path, words: list[str], out: str, n_rows: int) -> None:
    """The result keeps what was asked for."""
    texts = [out] if values_of(words, "-o").count("-") else []
    texts += [path.read_text() for path in folder.glob("new.json")]
    if not texts:
        quiet = "--quiet" in words
        assert quiet == (out == ""), "the answer is printed unless --quiet"
        return
    answers = [parsed(text) for text in texts]
    assert answers[0] == answers[-1], "-o - and the file differ"
    check_features(answers[0], words)
    data = answers[0]["data"]
    n = data["n_train"] + data.get("n_test", 0)
    assert n == n_rows or (values_of(words, "--missing") == ["drop-rows"] and n <= n_rows)


def check_features(answer: dict[str, Any], words: list[str]) -> None:
    """The selected features keep the constraints, and there are as many as were asked for."""
    columns = {term["column"] for term in answer["model"]["terms"]}
    assert columns <= set(COLUMNS), f"{columns} were selected"
    chosen = [each for each in answer["features"] if each["selected"]]
    for k in values_of(words, "-k"):
        first, _, last = k.partition("-")
        assert int(first) <= len(chosen) <= int(last or first), f"{len(chosen)} features, not {k}"
    assert not columns.intersection(values_of(words, "--drop"))
    assert columns.issuperset(values_of(words, "--include"))
    for group in values_of(words, "--as-one"):
        assert len(columns.intersection(group.split(","))) in (0, 2), f"{group} are one feature"
    joined = {name: group for group in values_of(words, "--as-one") for name in group.split(",")}
    for exclusive in values_of(words, "--at-most-one-of"):
        members = columns.intersection(exclusive.split(","))
        found = {joined.get(name, name) for name in members}
        assert len(found) <= 1, f"at most one of {exclusive}"
    for term in answer["model"]["terms"]:
        for sign in values_of(words, "--sign"):
            name, _, wanted = sign.partition("=")
            if term["column"] == name:
                assert term["coefficients"][0] * float(f"{wanted}1") >= 0, f"the sign of {name}"
