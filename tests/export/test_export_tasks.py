"""Formulas of more than two classes and of numbers, run by what people run them with."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

from helpers.formulas import in_duckdb, in_onnxruntime, in_sqlite

pa = pytest.importorskip("pyarrow")

from safdr._old_export.errors import ExportError, WrongFormulaError
from safdr._old_export.formula import Formula, Term
from safdr._old_export.onnx import to_onnx
from safdr._old_export.outputs import output_of
from safdr._old_export.python import to_python
from safdr._old_export.sql import to_sql
from safdr._old_export.write import export
from safdr._old_table.recipe import Feature

HOSTILE = ("it's", '"""quoted"""\n', "back\\slash", "two words")
NUMBER = Feature("a b", "a b", "number")
FILLED = Feature("f", "f", "number", fill=0.5)
LEVEL = Feature("t = x", "t", "level", "x")
YES = Feature("y", "y", "boolean", fill=1.0)


def make_formula(n_sums, classes=(), **limits):
    rng = np.random.default_rng(4)
    terms = tuple(
        Term(feature, tuple(rng.normal(size=n_sums).tolist()), **limits)
        for feature in (NUMBER, FILLED, LEVEL, YES)
    )
    return Formula(terms, tuple(rng.normal(size=n_sums).tolist()), "tar'get", classes, "ta ble")


FORMULAS = {
    "number": make_formula(1),
    "classes": make_formula(4, HOSTILE),
    "many": make_formula(12, tuple(f"class {i}" for i in range(12)), low=-2.0, high=2.0),
}


@pytest.fixture(params=FORMULAS)
def formula(request):
    return FORMULAS[request.param]


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    n = 40
    filled = pa.array(rng.normal(size=n), mask=rng.random(n) < 0.3)
    known = pa.array(rng.random(n) < 0.5, mask=rng.random(n) < 0.2)
    text = rng.choice(["x", "y", "never seen"], n).tolist()
    return pa.table({"a b": 3 * rng.normal(size=n), "f": filled, "t": text, "y": known})


@pytest.fixture
def odd(table):
    """Rows with unknown, infinite and huge values; which of them can be scored."""
    values = [None, float("nan"), float("inf"), -float("inf"), 1e6, -1e6, 0.0]
    known = [False, False, False, False, True, True, True]
    some = table.slice(0, len(values))
    return some.set_column(0, "a b", pa.array(values, pa.float64())), np.array(known)


def given(formula, rows):
    """Outputs in numbers."""
    output = output_of(formula)
    return np.array([output.numbers(row) for row in rows], dtype=float)


def wanted(formula, table):
    return output_of(formula).wanted(formula.sums(table))


# ---- Ways to run them ---------------------------------------------------------------------------


def in_python(formula, table, tmp_path):
    """The file by itself, in a Python that knows nothing else."""
    (tmp_path / "score.py").write_text(to_python(formula), encoding="utf-8")
    code = (
        "import sys; sys.path[:0] = ['.']\nimport json, score\nfound = []\n"
        "for row in json.load(sys.stdin):\n"
        "    try: found.append(score.outputs(row))\n"
        "    except ValueError as error:\n"
        "        assert 'has no value' in str(error), error\n"
        "        found.append(None)\n"
        "print(json.dumps(found))"
    )
    rows = json.dumps(table.to_pylist())
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        cwd=tmp_path,
        input=rows,
        capture_output=True,
        text=True,
        check=True,
    )
    width = len(output_of(formula).added)
    return [row or [None] * width for row in json.loads(done.stdout)]


def on_file(run, to_text, ending):
    """A runner of exported files, given a formula."""

    def run_formula(formula, table, tmp_path):
        path = tmp_path / f"score.{ending}"
        content = to_text(formula, table)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return run(path, table, "ta ble")

    return run_formula


def query(formula, table):
    return to_sql(formula, {*table.column_names})


RUNS = [
    in_python,
    on_file(in_sqlite, query, "sql"),
    on_file(in_duckdb, query, "sql"),
    on_file(in_onnxruntime, lambda formula, _: to_onnx(formula), "onnx"),
]
IDS = ["python", "sqlite", "duckdb", "onnx"]


@pytest.mark.parametrize("run", RUNS, ids=IDS)
def test_all_forms_give_what_the_model_gives(formula, table, run, tmp_path):
    found = given(formula, run(formula, table, tmp_path))
    np.testing.assert_allclose(found, wanted(formula, table), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("run", RUNS, ids=IDS)
def test_an_unknown_row_has_no_prediction_and_a_far_one_has(formula, odd, run, tmp_path):
    table, known = odd
    found = given(formula, run(formula, table, tmp_path))
    assert not np.isfinite(found[~known]).any()
    scored = table.filter(known)
    np.testing.assert_allclose(found[known], wanted(formula, scored), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("ending", ["py", "sql", "onnx"])
def test_an_export_is_checked_as_it_is_made(formula, table, ending):
    if ending == "onnx":
        pytest.importorskip("onnx")
    sums, path = formula.sums(table), Path(f"model.{ending}")
    assert export(path, formula, table, sums)
    wrong = sums + 1e-6 * np.arange(1, 1 + sums.shape[1])
    with pytest.raises(WrongFormulaError, match="differs from the model by up to"):
        export(path, formula, table, wrong)


def test_the_wrong_class_is_noticed(table):
    formula = FORMULAS["classes"]
    output, sums = output_of(formula), formula.sums(table)
    allowed = output.allowed(sums, np.zeros_like(sums))
    assert (allowed[:, 0] < 1).all()
    level = np.zeros((2, 4))
    assert (output.allowed(level, level)[:, 0] > 3).all()


# ---- What they are called -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classes", "names"),
    [
        (("Iris-setosa", "b", "C c"), ["Iris_setosa", "b", "C_c"]),
        (("a", "A", "b"), ["1", "2", "3"]),
        (("a b", "a-b", "b"), ["1", "2", "3"]),
        (("é", "b", "c"), ["1", "2", "3"]),
        (("x" * 41, "b", "c"), ["1", "2", "3"]),
        (("0", "1", "2"), ["0", "1", "2"]),
    ],
)
def test_classes_are_parts_of_names_where_they_can_be(classes, names):
    added = output_of(make_formula(3, classes)).added
    assert added == ["prediction", *(f"probability_{name}" for name in names)]


def test_names_that_the_table_has_get_an_underscore(table):
    formula = make_formula(3, ("a", "a b", "b"))
    query = to_sql(formula, {*table.column_names, "Probability_A", "prediction"})
    added = query.split("plus ")[1].split("; change")[0]
    assert added == (
        "score_a, score_a_b, score_b, prediction_, probability_a_, probability_a_b and "
        "probability_b"
    )


def test_a_csv_file_gets_the_class_and_all_probabilities(table, tmp_path):
    formula = FORMULAS["classes"]
    (tmp_path / "score.py").write_text(to_python(formula), encoding="utf-8")
    text = io.StringIO()
    names = [*table.column_names, "prediction"]
    writer = csv.writer(text, delimiter=";")
    writer.writerow(names)
    for row in table.to_pylist():
        values = (str("" if value is None else value) for value in row.values())
        writer.writerow([*(value.replace(".", ",") for value in values), "p"])
    done = subprocess.run(
        [sys.executable, "-I", "score.py"],
        cwd=tmp_path,
        input=text.getvalue().encode(),
        capture_output=True,
        check=True,
    )
    printed = io.StringIO(done.stdout.decode(), newline="")
    head, *rows = csv.reader(printed, delimiter=";")
    assert head[len(names) :] == ["prediction_", *output_of(formula).added[1:]]
    labels = [row[len(names)] for row in rows]
    probabilities = [[v.replace(",", ".") for v in row[len(names) + 1 :]] for row in rows]
    sums = formula.sums(table)
    assert labels == [HOSTILE[i] for i in sums.argmax(axis=1)]
    np.testing.assert_allclose(np.array(probabilities, dtype=float), softmax(sums, axis=1))


def test_the_python_file_has_functions_for_people(table):
    module = {"__name__": "score"}
    exec(to_python(FORMULAS["classes"]), module)
    row = table.to_pylist()[0]
    probabilities = module["probabilities"](row)
    assert list(probabilities) == list(HOSTILE)
    assert sum(probabilities.values()) == pytest.approx(1)
    assert module["prediction"](row) == max(probabilities, key=probabilities.get)
    module = {"__name__": "score"}
    exec(to_python(FORMULAS["number"]), module)
    assert module["prediction"](row) == pytest.approx(FORMULAS["number"].sums(table)[0, 0])


@pytest.mark.parametrize("size", [1e3, 1e6, 1e300])
def test_extreme_scores_are_no_error_anywhere(size, tmp_path):
    sums = ((size, -size, 0.0), (1.0, 1.0, 1.0))
    term = Term(Feature("a", "a", "number"), sums[0])
    formula = Formula((term,), sums[1], "t", ("a", "b", "c"), "rows")
    table = pa.table({"a": [1.0, -1.0, 0.0]})
    for ending in ("py", "sql", "onnx"):
        assert export(Path(f"m.{ending}"), formula, table, formula.sums(table))


def test_a_label_that_a_form_can_not_hold_is_refused():
    with pytest.raises(ExportError, match="zero character"):
        to_sql(make_formula(3, ("a\0", "b", "c")), set())
    pytest.importorskip("onnx")
    with pytest.raises(ExportError, match="zero character"):
        to_onnx(make_formula(3, ("a\0", "b", "c")))


def test_a_query_that_no_database_would_take_is_refused():
    classes = tuple(f"class {i}" for i in range(50))
    term = Term(NUMBER, (1.0,) * 50)
    formula = Formula((term,) * 7, (0.0,) * 50, "t", classes, "rows")
    with pytest.raises(ExportError, match=r"50 classes and 7 columns .* Export a \.py or \.onnx"):
        to_sql(formula, set())
