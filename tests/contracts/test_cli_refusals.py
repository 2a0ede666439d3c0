"""The command line refuses what cannot work: one message, an exit code, nothing written.

Code 2 is for wrong usage, 1 for data that cannot be learnt from.
"""

import io
import json
import subprocess
import sys

import pytest

from helpers.cli import make_columns

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

COLUMNS = make_columns()
GAPS = COLUMNS | {"height": [None, *COLUMNS["height"][1:]]}
RARE = COLUMNS | {"late": ["maybe", *COLUMNS["late"][1:]]}
NUMBERS = COLUMNS | {"late": COLUMNS["noise"]}
# What is in the table, options, the exit code and words that must be printed.
REFUSED = [
    (COLUMNS, ["-t", "lates"], 2, ["lates", "'late'"]),
    (COLUMNS, ["-t", "late", "-k", 0], 2, ["-k", "1-20"]),
    (COLUMNS, ["-t", "late", "-k", "5-2"], 2, ["-k", "5-2"]),
    (COLUMNS, ["-t", "late", "-k", 99], 2, ["-k", "99", "4"]),
    (COLUMNS, ["-t", "late", "-k", "many"], 2, ["-k", "many"]),
    (COLUMNS, ["-t", "late", "-k", 2, "--rule", "best"], 2, ["--rule", "-k"]),
    (COLUMNS, ["-t", "late", "--rule", "two_sd"], 2, ["--rule", "two_sd", "one_sd"]),
    (COLUMNS, ["-t", "late", "--rule", -1], 2, ["--rule", "-1"]),
    (COLUMNS, ["-t", "late", "--test-size", 1.5], 2, ["--test-size", "1.5"]),
    (COLUMNS, ["-t", "late", "--test-size", 0, "--time", "noise"], 2, ["--time", "--test-size"]),
    (COLUMNS, ["-t", "late", "--test", "no.csv"], 1, ["no.csv"]),
    (COLUMNS, ["-t", "late", "--seed", -1], 2, ["--seed", "-1"]),
    (COLUMNS, ["-t", "late", "--jobs", 0], 2, ["--jobs"]),
    (COLUMNS, ["-t", "late", "--sed", 3], 2, ["--sed", "--seed"]),
    (COLUMNS, ["-t", "late", "other.csv"], 2, ["other.csv"]),
    (COLUMNS, ["-t", "late", "--missing", "mean"], 2, ["--missing", "mean", "median"]),
    (COLUMNS, ["-t", "late", "--positive", "maybe"], 2, ["maybe", "yes"]),
    (COLUMNS, ["-t", "late", "--positive", "no", "--task", "regression"], 2, ["--positive"]),
    (COLUMNS, ["-t", "late", "--task", "regression"], 2, ["late", "no numbers"]),
    (COLUMNS, ["-t", "height", "--task", "survival"], 2, ["--event"]),
    (COLUMNS, ["-t", "height", "--event", "late"], 2, ["--task survival"]),
    (COLUMNS, ["-t", "height", "--task", "survival", "--event", "colour"], 1, ["at least 0"]),
    (COLUMNS, ["-t", "height", "--exposure", "noise"], 2, ["--exposure", "--task count"]),
    (COLUMNS, ["-t", "noise", "--task", "amount"], 1, ["positive", "gamma"]),
    (COLUMNS, ["-t", "late", "--drop", "heigt"], 2, ["heigt", "height"]),
    (COLUMNS, ["-t", "late", "--drop", "height", "--keep", "height"], 2, ["height"]),
    (COLUMNS, ["-t", "late", "--drop", "late"], 2, ["late", "target"]),
    (COLUMNS, ["-t", "late", "--numbers", "colour"], 2, ["colour", "no numbers"]),
    (COLUMNS, ["-t", "late", "--weight", "v"], 2, ["'v'"]),
    (COLUMNS, ["-t", "late", "--weight", "late"], 2, ["late", "target"]),
    (COLUMNS, ["-t", "late", "--weight", "noise"], 2, ["noise", "negative"]),
    (COLUMNS, ["-t", "late", "--by", "late"], 2, ["late", "target"]),
    (COLUMNS, ["-t", "late", "--keep-together", "colour"], 2, ["colour", "group"]),
    (COLUMNS, ["-t", "late", "--time", "colour"], 2, ["colour", "time"]),
    (COLUMNS, ["-t", "late", "--include", "heigt"], 2, ["height", "It has 5"]),
    (COLUMNS, ["-t", "late", "--include", "late"], 2, ["late", "target"]),
    (COLUMNS, ["-t", "late", "--drop", "noise", "--include", "noise"], 2, ["noise", "not used"]),
    (COLUMNS, ["-t", "late", "--as-one", "noise"], 2, ["--as-one", "A,B"]),
    (COLUMNS, ["-t", "late", "--at-most-one-of", "noise"], 2, ["--at-most-one-of", "A,B"]),
    (COLUMNS, ["-t", "late", "--sign", "height=up"], 2, ["height=up"]),
    (COLUMNS, ["-t", "late", "--cost", "height"], 2, ["height"]),
    (COLUMNS, ["-t", "late", "--cost", "height=much"], 2, ["height=much"]),
    (COLUMNS, ["-t", "late", "-o", "m.exe"], 2, ["m.exe", ".py", ".sql"]),
    (COLUMNS, ["-t", "late", "-o", "no/such/folder/r.json"], 2, ["no/such/folder"]),
    (COLUMNS, ["-t", "late", "--points", "20,600"], 2, ["--points", "20,600,50"]),
    (COLUMNS, ["-t", "late", "--stability", 5], 2, ["--stability", "even"]),
    (COLUMNS, ["-t", "late", "--prove", -1], 2, ["--prove", "-1"]),
    (COLUMNS, [], 2, ["late", "-t"]),
    (NUMBERS, ["-t", "late", "--balanced"], 2, ["--balanced"]),
    (GAPS, ["-t", "late"], 1, ["missing", "height", "drop-rows", "drop-columns", "median"]),
    (RARE, ["-t", "late"], 1, ["maybe", "1"]),
    (COLUMNS | {"late": ["yes"] * 200}, ["-t", "late"], 1, ["late", "one value"]),
    (COLUMNS | {"late": [f"v{i}" for i in range(200)]}, ["-t", "late"], 1, ["late", "too many"]),
    ({"late": COLUMNS["late"]}, ["-t", "late"], 1, ["No column"]),
    ({"late": COLUMNS["late"], "same": [1] * 200}, ["-t", "late"], 1, ["No column", "one value"]),
]


@pytest.mark.parametrize(
    ("columns", "options", "code", "words"),
    REFUSED,
    ids=[" ".join(map(str, options)) or "no target" for _, options, _, _ in REFUSED],
)
def test_options_are_refused(safdr, write, tmp_path, columns, options, code, words):
    path = write(columns)
    ran = safdr("select", path, *options, code=code)
    for word in words:
        assert word in ran.err, ran.err
    # Before it stands what runs, if a search has begun.
    assert "\nsafdr select: " in f"\n{ran.err}"
    assert ran.out == ""
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.csv", None, ["none.csv", "no file"]),
        ("empty.csv", b"", ["empty.csv", "empty"]),
        ("blank.csv", b"\n \n", ["blank.csv", "empty"]),
        ("names.csv", b"x,late\n", ["names.csv", "no rows"]),
        ("numbers.csv", b"1,2\n3,4\n", ["numbers.csv", "column names"]),
        ("text.parquet", b"x,y\n1,0\n", ["text.parquet", "first bytes"]),
        ("rows.xlsx", b"PK\x03\x04", ["rows.xlsx", "CSV"]),
        ("rows.csv.gz", b"\x1f\x8bno", ["rows.csv.gz", "damaged"]),
        ("rows.parquet", b"PAR1no", ["rows.parquet", "damaged"]),
        ("ragged.csv", b"x,late\n1,yes\n2,no,3\n", ["ragged.csv"]),
        ("binary.csv", b"x,late\n\0,yes\n", ["binary.csv", "zero bytes"]),
        ("twice.csv", b"x,x,late\n1,2,yes\n2,3,no\n", ["'x'", "same name"]),
    ],
)
def test_files_are_refused(select, tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    said = select(tmp_path / name, "-t", "late", code=1).err
    for word in words:
        assert word in said, said
    assert [each.name for each in tmp_path.iterdir()] == ([] if content is None else [name])


@pytest.mark.parametrize("module", ["pyarrow", "rich", "matplotlib", "jinja2", "onnx"])
def test_a_missing_extra_is_named(write, tmp_path, module):
    """It was found after the search, or named without a way to install it."""
    hide = f"import sys; sys.modules['{module}'] = None; from safdr.cli import main; main()"
    words = ["select", str(write(COLUMNS)), "-t", "late"]
    outputs = ["-o", str(tmp_path / "a.html"), "-o", str(tmp_path / "a.onnx")]
    ran = subprocess.run(
        [sys.executable, "-c", hide, *words, *outputs], capture_output=True, text=True, check=False
    )
    assert ran.returncode in (1, 2)
    assert module in ran.stderr
    assert "pip install" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert [each.suffix for each in tmp_path.iterdir()] == [".parquet"]


def test_standard_input_without_rows_is_refused(select, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "empty" in select("-", "-t", "late", code=1).err


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["selct"], ["selct", "select"]),
        (["show"], ["result"]),
        (["show", "no.json"], ["no.json"]),
        (["show", "old.json"], ["old.json", "schema"]),
        (["show", "text.json"], ["text.json", "not a result"]),
        (["compare", "old.json"], ["second"]),
        (["compare", "old.json", "no.json"], ["old.json"]),
    ],
)
def test_results_are_refused(safdr, tmp_path, monkeypatch, words, printed):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.json").write_text(json.dumps({"version": 1}))
    (tmp_path / "text.json").write_text("no")
    said = safdr(*words, code=2).err
    for word in printed:
        assert word in said, said


def test_missing_values_that_depend_on_the_target_are_named(safdr, write):
    columns = make_columns()
    columns["height"] = [
        None if late == "yes" and i % 4 == 1 else value
        for i, (value, late) in enumerate(zip(columns["height"], columns["late"], strict=True))
    ]
    ran = safdr("select", write(columns), "-t", "late", code=1)
    for word in ("! height", "50", "no: 0.0", "yes: 50.0", "--drop height --missing drop-rows"):
        assert word in ran.err.replace("\u00a0", " "), ran.err
    ran = safdr("select", write(columns), "-t", "late", "--missing", "median", "-o", "-")
    assert "missing_depends_on_target" in [each["kind"] for each in ran.json["warnings"]]
