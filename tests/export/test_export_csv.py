"""The Python file reads a CSV file as ``safdr select`` does, and gives it back with the scores."""

import csv
import gzip
import io
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import expit

pa = pytest.importorskip("pyarrow")

from safdr._old_export.formula import Formula, Term
from safdr._old_export.python import to_python
from safdr._old_table.plain import plain
from safdr._old_table.recipe import Feature
from safdr._old_table.text import read_text

FEATURES = (
    Feature("a", "a", "number"),
    Feature("b", "b", "number", fill=2.5),
    Feature("t = x", "t", "level", "x", fill=0.0),
)


def make_formula(features=FEATURES):
    coefficients = (1.0, -0.5, 2.0)
    terms = tuple(Term(feature, (c,)) for feature, c in zip(features, coefficients, strict=False))
    return Formula(terms, (0.1,), "late", ("no", "yes"), "rows")


@pytest.fixture
def score(tmp_path):
    """Run the file on bytes."""
    (tmp_path / "score.py").write_text(to_python(make_formula()))

    def run(data):
        command = [sys.executable, "-I", "score.py"]
        return subprocess.run(command, cwd=tmp_path, input=data, capture_output=True, check=False)

    return run


def as_rows(data, delimiter=","):
    usual = csv.field_size_limit(2**20)
    try:
        return list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter))
    finally:
        csv.field_size_limit(usual)


@pytest.mark.parametrize(
    "data",
    [
        b"a,b,t\r1.5,3,x\r2.0,,y\r",
        b"a,b,t\r\n1.5,3,x\r\n\r\n2.0,,y",
        b"a,b,t\n1,2,x\n2,3," + b"y" * 200_000 + b"\n",
        b"a,b,t\n1,2,x\n2,inf,y\n3,-Infinity,y\n4,nan ,x\n",
        b"a,b,t\n1,2,x\x1cx\n2,3,\x1c\n3,4,x\x85\xe2\x80\xa8\n",
        b'a,b,t\n1,2,"x\ry"\n2,3,"x\r\ny"\n3,4,"x"\n',
        b'a,b,t\n1,2,x"y"\n2,3,"x""y"\n3,4,"x"y\n4,5, "x"\n',
        b"a,b,t\n 1\t,2, x\n+2,3.,x\n1e400,.5,NA\n".replace(b"1e400", b"1e-400"),
        b"a;b;t\n1,5e3;3;x\n2,;,5;1,5\n+2,5; ;x\n".replace(b"; ;", b";4;"),
        b"\xef\xbb\xbfa,b,t\n1,2,caf\xe9\n2,3,x\n",
        "a,b,t\n1,2,é\n2,3,x\n".encode("utf-16"),
        "a,b,t\n1,2,é\n2,3,x\n".encode("utf-32"),
        "a,b,t\n1,2,é\n2,3,x\n".encode("utf-16-le"),
        b"\n\r\na,b,t\n1,2,x\n2,3,y\n",
        gzip.compress(b"a,b,t\n1,2,x\n2,3,y\n", mtime=0),
        b"a,b,t\n0x,2,x\n".replace(b"0x", b"007"),
        b"a,b,t\n9007199254740993,99999999999999999999,x\n",
        b'a,b,t\n1,2,"x\n',
    ],
)
def test_values_are_those_that_select_reads(score, data):
    table, *_ = plain(read_text("rows.csv", data))
    done = score(data)
    assert done.stderr.decode() == ""
    delimiter = ";" if data.startswith(b"a;") else ","
    names, *rows = as_rows(done.stdout, delimiter)
    assert names == ["a", "b", "t", "log_odds", "probability"]
    wanted = make_formula().sums(table)[:, 0]
    found = np.array([[float(v.replace(",", ".")) for v in row[3:]] for row in rows])
    np.testing.assert_allclose(found, np.column_stack([wanted, expit(wanted)]), rtol=1e-14)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"1_000", "must be a number; got '1_000'"),
        (b"\x1c5", "must be a number; got '\\x1c5'"),
        ("\u00a05".encode(), "must be a number; got '\\xa05'"),
        ("١".encode(), "must be a number; got '١'"),
        (b"0x10", "must be a number"),
        (b"infinit", "must be a number"),
        (b" NA", "must be a number; got ' NA'"),
        (b"true", "must be a number; got 'true'"),
        (b"inf", "has no value"),
        (b"1e400", "has no value"),
        (b"1,5,5", "has 5 values for 3 columns"),
        (b'1",2,x', "must be a number"),
    ],
)
def test_what_select_reads_as_no_number_is_none(score, value, words):
    done = score(b"a,b,t\n1,2,x\n" + value + (b"\n" if b"x" in value[-1:] else b",2,x\n"))
    assert done.returncode == 1
    assert done.stderr.decode().startswith("Row 2")
    assert words in done.stderr.decode()
    # Half a result would pass for a whole one.
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a,b,t\n1,2\n", "Row 1 has 2 values for 3 columns."),
        (b"a,b,t,a\n1,2,x,4\n", "The file has more than one column 'a'."),
        (b"a,b,t\n1,\0,x\n", "Standard input is no text: it holds zero bytes."),
        ("a,b,t\n1,2,x".encode("utf-16") + b"\0", "Standard input is no text: it begins like"),
    ],
)
def test_a_file_that_select_refuses_is_refused(score, data, words):
    done = score(data)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith(words)


def test_rows_pass_through_in_front_of_their_scores(score):
    data = 'id;a;b;t;Probability\n"1;\n2";1,5;;x;é "q"\n3;-2;4;;\n'.encode()
    done = score(data)
    names, *rows = as_rows(done.stdout, ";")
    assert names == ["id", "a", "b", "t", "Probability", "log_odds", "probability_"]
    assert [row[:5] for row in rows] == as_rows(data, ";")[1:]
    # With the decimal mark of the file, so that whoever reads it reads the scores too.
    assert all("." not in value for row in rows for value in row[5:])
    found = [float(row[5].replace(",", ".")) for row in rows]
    assert found == pytest.approx([0.1 + 1.5 - 1.25 + 2, 0.1 - 2 - 2])


def run_module(features=FEATURES):
    module = {"__name__": "score"}
    exec(to_python(make_formula(features)), module)
    return module


@pytest.mark.parametrize("kind", ["pandas", "polars", "lists"])
def test_more_than_one_row_is_told_in_a_sentence(kind):
    columns = {"a": [1.0, 2.0], "b": [1.0, 2.0], "t": ["x", "y"]}
    frame = columns if kind == "lists" else pytest.importorskip(kind).DataFrame(columns)
    with pytest.raises(TypeError, match=r"not one value. Score row by row; .*to_dict"):
        run_module()["probability"](frame)


def test_rows_of_a_data_frame_are_scored():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [1.0, None], "t": ["x", None]})
    frame["b"] = frame["b"].astype("Float64")
    frame["t"] = frame["t"].astype("string")
    log_odds = run_module()["log_odds"]
    wanted = pytest.approx([0.1 + 1 - 0.5 + 2, 0.1 + 2 - 1.25])
    assert [log_odds(row) for row in frame.to_dict("records")] == wanted
    assert [log_odds(row) for _, row in frame.iterrows()] == wanted


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, "", "inf", None])
def test_what_is_no_number_counts_as_missing(value):
    log_odds = run_module()["log_odds"]
    assert log_odds({"a": 1, "b": value, "t": "x"}) == pytest.approx(0.1 + 1 - 1.25 + 2)
    with pytest.raises(ValueError, match="'a' has no value"):
        log_odds({"a": value, "b": 1, "t": "x"})


def test_an_empty_text_is_text():
    features = (Feature("t = ", "t", "level", ""),)
    log_odds = run_module(features)["log_odds"]
    assert [log_odds({"t": ""}), log_odds({"t": "x"})] == [1.1, 0.1]
    with pytest.raises(ValueError, match="'t' has no value"):
        log_odds({"t": None})
    # The postcode 02139 that another reader has made a number.
    with pytest.raises(ValueError, match="'t' must be text; got 2139"):
        log_odds({"t": 2139})


def test_true_is_one_and_nothing_else_is():
    log_odds = run_module((Feature("f", "f", "boolean"),))["log_odds"]
    assert {log_odds({"f": value}) for value in (True, 1, 1.0, "true", "True", "TRUE")} == {1.1}
    assert {log_odds({"f": value}) for value in (False, 0, "0", "FALSE", "false")} == {0.1}
    for value in (2, "2", "yes", "tRue", " true"):
        with pytest.raises(ValueError, match="'f' must be"):
            log_odds({"f": value})


def test_numbers_beyond_all_bounds_are_no_crash():
    features = (Feature("a", "a", "number"), Feature("b", "b", "number"))
    terms = tuple(Term(feature, (1e10,)) for feature in features)
    module = {"__name__": "score"}
    exec(to_python(Formula(terms, (0.0,), "late", ("no", "yes"), "rows")), module)
    assert module["probability"]({"a": 1e308, "b": 1e308}) == 1.0
    assert np.isnan(module["probability"]({"a": 1e308, "b": -1e308}))
