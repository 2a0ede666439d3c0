"""Random options of ``safdr select``: the answer is what was asked for, or a refusal in words."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.options_words import COLUMNS, TARGET, TEXTS, Asked, make_options, make_table
from safdr.cli import main
from safdr.cli.lists import split_names


def check(rng: np.random.Generator) -> None:
    """One command line, on a small good table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        table, n_rows = make_table(rng, folder)
        asked = make_options(rng, folder)
        words = [str(table), *asked.words()]
        before = _contents(folder)
        code, out, err = _run(words)
        told = f"safdr select {' '.join(words)}\ncode {code}\n{err}"
        try:
            _check_end(asked, code, out, err)
            _check_files(asked, folder, before, code)
            if code == 0:
                _check_answer(asked, folder, out, n_rows)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{told}") from error


def _run(words: list[str]) -> tuple[int, str, str]:
    """How it ends, and what it prints."""
    code, out, err = 0, io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(["select", *words])
        except SystemExit as end:
            code = end.code or 0
    return code, out.getvalue(), err.getvalue()


# ---- How it ends --------------------------------------------------------------------------------


def _check_end(asked: Asked, code: int, out: str, err: str) -> None:
    """The exit code is one of those promised, and a failure is told in words."""
    assert code in (0, 1, 2), "an exit code that was never promised"
    for word in ("Unexpected:", "Traceback", "Errno", "Warning:"):
        assert word not in err, f"{word} in the message"
    # Names are looked for in the table, which may have gaps that must be told first.
    if asked.wrong and not (asked.wrong_names_only() and "values are missing" in err):
        assert code == 2, f"wrong options were taken: {asked.wrong}"
    if refused := _refused_file(asked):
        assert code == 2, f"a file that can't be written was taken: {refused}"
    if code == 2:
        assert out == "", "wrong usage, and an answer"
    assert bool(err.strip()) == (code != 0), "an error without words, or words without an error"


def _refused_file(asked: Asked) -> str | None:
    """A file that has to be refused, for a reason that its name tells."""
    files = [*asked.values("--report"), *asked.values("--out"), *asked.values("--export")]
    for path in files:
        name = Path(path).name
        if name == "is_folder" or "no_folder" in path:
            return path
        if name.startswith("old") and not asked.has("--force"):
            return path
        if files.count(path) > 1 and name != "null":
            return path
    return next(
        (p for p in asked.values("--export") if Path(p).suffix not in (".py", ".sql")), None
    )


# ---- Files --------------------------------------------------------------------------------------


def _contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder, by their names."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _check_files(asked: Asked, folder: Path, before: dict[str, bytes], code: int) -> None:
    """Files that were asked for are whole, or as they were; no other has changed or come."""
    after = _contents(folder)
    results = _results(asked)
    for name in before.keys() | after.keys():
        if name not in results or (after.get(name) == before.get(name) and code != 0):
            assert after.get(name) == before.get(name), f"{name} has changed"
            continue
        assert code != 2, f"wrong usage, and {name} was written"
        _check_whole(results[name], after[name].decode())
    if code == 0:
        assert results.keys() <= after.keys(), "a file was not written"
    assert (folder / "to_new").is_symlink(), "the link was replaced"
    assert not (folder / "null").is_file(), "the device was replaced"


def _results(asked: Asked) -> dict[str, str]:
    """Names of files that results go to, and what they hold."""
    found = {}
    for option in ("--report", "--out", "--export"):
        for path in map(Path, asked.values(option)):
            kind = path.suffix if option == "--export" else option
            if path.name != "null":
                found[path.name] = kind
    if "to_new" in found:
        found["linked.out"] = found["to_new"]
    return found


def _check_whole(kind: str, text: str) -> None:
    """The file is complete, by a sign that half of it would lack."""
    if kind == "--report":
        assert text.rstrip().endswith("</html>"), "half a page"
    elif kind == "--out":
        _parsed(text)
    elif kind == ".py":
        compile(text, "exported", "exec")
    else:
        assert "FROM" in text.upper(), "half a query"


def _parsed(text: str) -> dict[str, Any]:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in JSON")

    return json.loads(text, parse_constant=refuse)


# ---- The answer ---------------------------------------------------------------------------------


def _check_answer(asked: Asked, folder: Path, out: str, n_rows: int) -> None:
    """What was chosen is within what was asked for."""
    if asked.has("--quiet") and not asked.has("--json"):
        assert out == "", "not quiet"
    texts = [out] if asked.has("--json") else []
    if (path := asked.last("--out")) and Path(path).name != "null":
        texts.append(Path(path).read_text(encoding="utf-8"))
    answers = [_parsed(text) for text in texts]
    if not answers:
        assert asked.has("--quiet") or "(intercept)" in out, "no answer"
        return
    assert answers[0] == answers[-1], "--json and --out differ"
    _check_size(asked, answers[0])
    _check_constraints(asked, answers[0])
    _check_rows(asked, answers[0], n_rows)


def _check_size(asked: Asked, answer: dict[str, Any]) -> None:
    """As many features as were asked for, each with a coefficient that is a number."""
    chosen, features = answer["size"]["chosen"], answer["features"]
    units = {each["group"] or each["name"] for each in features}
    assert len(units) == chosen, f"{chosen} chosen, and {units} listed"
    assert len(features) == answer["size"]["columns"], "columns are counted wrongly"
    assert 1 <= chosen <= answer["n_features"], f"{chosen} of {answer['n_features']} features"
    if k := asked.last("-k"):
        assert chosen == int(k), f"{chosen} features, not {k}"
    elif k_max := asked.last("--k-max"):
        assert chosen <= int(k_max), f"{chosen} features, more than {k_max}"
    for number in (answer["intercept"], *(each["coefficient"] for each in features)):
        assert isinstance(number, float | int), "a coefficient that is no number"


def _column_of(feature: str) -> str:
    """The column that a feature was made from."""
    return next((name for name in TEXTS if feature.startswith(f"{name} = ")), feature)


def _check_constraints(asked: Asked, answer: dict[str, Any]) -> None:
    """Independent of how they are handed to the search."""
    names = {each["name"] for each in answer["features"]}
    columns = {_column_of(name) for name in names}
    assert columns <= set(COLUMNS), f"{columns} were chosen"
    assert TARGET not in columns, "the target was chosen"
    split = asked.has("--split-categories")
    out = {*asked.values("--drop"), *asked.values("--id"), *asked.values("--never-include")}
    assert not out & columns, f"{out & columns} must not be chosen"
    for name in asked.values("--always-include"):
        there = name in names if split and name not in COLUMNS else _column_of(name) in columns
        assert there, f"{name} must be chosen"
    for group in map(split_names, asked.values("--group")):
        assert len(columns.intersection(group)) in (0, len(group)), f"{group} enter together"
    for rivals in map(split_names, asked.values("--at-most-one-of")):
        assert len(columns.intersection(rivals)) <= 1, f"more than one of {rivals}"


def _check_rows(asked: Asked, answer: dict[str, Any], n_rows: int) -> None:
    """All rows are there, and the share that was asked for is held out."""
    rows, share = answer["rows"], float(asked.last("--test-size") or 0.2)
    n = rows["train"] + rows["test"]
    assert n == n_rows or (asked.last("--missing") == "drop-rows" and n <= n_rows), f"{n} rows"
    assert abs(rows["test"] - share * n) <= 1, f"{rows['test']} of {n} rows held out, not {share}"
    assert (rows["test"] > 0) == (answer["scores"]["test"] is not None), "held out and not scored"
