"""The command line refuses what can't work: an exit code, and words that say what and why.

Code 2 is for wrong usage, 1 for data that can't be learnt from. Nothing is printed or written.
"""

import io

import pytest

from helpers.cli import make_columns

pytest.importorskip("cyclopts")
pytest.importorskip("pyarrow")

COLUMNS = make_columns()
GAPS = COLUMNS | {"height": [None, *COLUMNS["height"][1:]]}
# What is in the table, options, the exit code and words that must be said.
REFUSED = [
    (COLUMNS, ["-t", "lates"], 2, ["lates", "late"]),
    (COLUMNS, ["-t", "late", "-k", 0], 2, ["-k"]),
    (COLUMNS, ["-t", "late", "-k", 99], 2, ["99"]),
    (COLUMNS, ["-t", "late", "-k", "many"], 2, ["-k", "many"]),
    (COLUMNS, ["-t", "late", "--rule", "two_sd"], 2, ["--rule", "two_sd", "one_sd"]),
    (COLUMNS, ["-t", "late", "--test-size", 1.5], 2, ["--test-size", "1.5"]),
    (COLUMNS, ["-t", "late", "--test-size", -0.1], 2, ["--test-size", "-0.1"]),
    (COLUMNS, ["-t", "late", "--sed", 3], 2, ["--sed", "--seed"]),
    (COLUMNS, ["-t", "late", "--missing", "mean"], 2, ["--missing", "mean", "median"]),
    (COLUMNS, ["-t", "late", "--positive", "maybe"], 2, ["maybe", "yes"]),
    (COLUMNS, ["-t", "late", "--drop", "heigt"], 2, ["heigt", "height"]),
    (COLUMNS, ["-t", "late", "--drop", "late"], 2, ["late", "left out"]),
    (COLUMNS, ["-t", "late", "--weight", "v"], 2, ["'v'"]),
    (COLUMNS, ["-t", "late", "--weight", "late"], 2, ["late", "target"]),
    (COLUMNS, ["-t", "late", "--weight", "noise"], 2, ["noise", "weight"]),
    (COLUMNS, ["-t", "late", "--group-by", "colour"], 2, ["colour", "group"]),
    (COLUMNS, ["-t", "late", "--split-by", "colour"], 2, ["colour"]),
    (COLUMNS, ["-t", "late", "--always-include", "heigt"], 2, ["heigt", "height"]),
    (
        COLUMNS,
        ["-t", "late", "--always-include", "noise", "--never-include", "noise"],
        2,
        ["noise"],
    ),
    (COLUMNS, ["-t", "late", "--sign", "height=up"], 2, ["height=up"]),
    (COLUMNS, ["-t", "late", "--cost", "height"], 2, ["height"]),
    (COLUMNS, ["-t", "late", "--export", "m.exe"], 2, ["m.exe", ".py", ".sql"]),
    (COLUMNS, ["-t", "late", "--out", "no/such/folder/r.json"], 2, ["no/such/folder"]),
    (COLUMNS, ["-t", "late", "--stability", 5], 2, ["--stability", "even"]),
    (COLUMNS, ["-t", "late", "--prove", -1], 2, ["--prove", "-1"]),
    (COLUMNS, [], 2, ["late", "-t"]),
    (GAPS, ["-t", "late"], 1, ["missing", "height", "drop-rows", "median"]),
    (COLUMNS | {"late": ["yes"] * 200}, ["-t", "late"], 1, ["late", "one"]),
    ({"late": COLUMNS["late"]}, ["-t", "late"], 1, ["No column"]),
    ({"late": COLUMNS["late"], "same": [1] * 200}, ["-t", "late"], 1, ["No column"]),
]


@pytest.mark.parametrize(
    ("columns", "options", "code", "words"),
    REFUSED,
    ids=[" ".join(map(str, options)) or "no target" for _, options, _, _ in REFUSED],
)
def test_the_command_line_refuses_in_its_own_words(select, write, columns, options, code, words):
    ran = select(write(columns), *options, code=code)
    said = " ".join(ran.err.translate(str.maketrans("│╭╮╰╯─", "      ")).split())
    for word in words:
        assert word in said, said
    assert ran.out == ""


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.csv", None, ["none.csv", "no file"]),
        ("empty.csv", b"", ["empty.csv", "empty"]),
        ("text.parquet", b"x,y\n1,0\n", ["text.parquet"]),
        ("rows.docx", b"PK", ["rows.docx"]),
        ("ragged.csv", b"x,late\n1,yes\n2,no,3\n", ["ragged.csv"]),
        ("twice.csv", b"x,x,late\n1,2,yes\n2,3,no\n", ["x"]),
    ],
)
def test_the_command_line_refuses_files(select, tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    said = " ".join(select(tmp_path / name, "-t", "late", code=1).err.split())
    for word in words:
        assert word in said, said
    written = [] if content is None else [name]
    assert [each.name for each in tmp_path.iterdir()] == written


def test_standard_input_without_rows_is_refused(select, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "mpty" in select("-", "-t", "late", code=1).err
