"""Exported models give the scores of the result, wherever they run, or refuse."""

import csv
import io
import json
import math
import re

import numpy as np
import pytest
from scipy.special import expit, softmax

from helpers.formulas import RUNS
from helpers.selectors import make_rows, of_size
from safdr.export import ExportError, make
from safdr.export.model import as_array, read_model

pa = pytest.importorskip("pyarrow")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("duckdb")

N = 240
# Each would do something if it were ever pasted into code.
NUMBERS = [
    "plain",
    'double " quote',
    "single ' quote",
    '"; DROP TABLE "rows"; --',
    "'); import os; os._exit(7) #",
    "{target} %s {0}",
    "back\\slash",
    "new\nline -- comment\n; SELECT 1",
    "emoji 🦊 \u202e ünïcode",
    "log_odds",
    "SELECT",
]
TEXT = "te'x\"t"
LEVELS = ["other", "a' OR '1'='1", 'say "hi"', "new\nline", "🦊\\", "--"]
TABLE = 'lo"ans; --'
TASKS = ["two", "three", "regression"]
CLASSES = {"two": ["no'", "yes\n"], "three": ['"""b', "a a", "c\\"], "regression": None}
LINKS = {"two": "logit", "three": "softmax", "regression": "identity"}


def make_table(gaps):
    """Numbers within the training range and beyond, a category, a code and a flag."""
    rng = np.random.default_rng(3)
    columns = {}
    for i, name in enumerate(NUMBERS):
        x = rng.normal(size=N).round(3) * 10.0 ** (i % 4)
        x[:3] = [1e6, -1e6, 0.0]
        columns[name] = pa.array(x, mask=(rng.random(N) < 0.2) & gaps & (i % 2 == 0))
    level = [LEVELS[i] for i in rng.integers(len(LEVELS), size=N)]
    columns[TEXT] = pa.array(level, mask=gaps & (rng.random(N) < 0.1))
    columns["code"] = pa.array(rng.integers(0, 4, N), pa.int64())
    columns["yes?"] = pa.array(rng.random(N) < 0.5)
    columns["prediction"] = pa.array(["not used"] * N)
    return pa.table(columns)


def make_content(task, gaps):
    """A result with a model of all columns."""
    rng = np.random.default_rng(4)
    n_scores = 3 if task == "three" else 1
    terms = [{"feature": n, "column": n, "low": -1.5, "high": 2000.0} for n in NUMBERS]
    terms += [{"feature": v, "column": TEXT, "equals": v, "missing": 0.0} for v in LEVELS[1:]]
    terms += [{"feature": f"code {v}", "column": "code", "equals": v} for v in (1, 3)]
    terms += [{"feature": "yes?", "column": "yes?", "equals": True}]
    for i, term in enumerate(terms):
        term["coefficients"] = (rng.normal(size=n_scores) / 10.0 ** (i % 4)).tolist()
        if gaps and term["column"] in NUMBERS[::2]:
            term["missing"] = 5000.0 if i == 2 else 0.25
    model = {"kind": "linear", "link": LINKS[task], "terms": terms}
    model["intercepts"] = rng.normal(size=n_scores).tolist()
    target = {"name": 'tar"get\n', "task": "classification"}
    if task == "regression":
        model["range"] = [-2.0, 2.0]
    else:
        target["classes"] = CLASSES[task]
    columns = [{"name": name, "used": True} for name in make_table(gaps).column_names]
    columns[len(NUMBERS) + 1]["reference"] = "0"
    columns[4]["example"] = '1,5\n"""; import os -- → 1.5'
    return {"model": model, "target": target, "data": {"columns": columns}}


def score_slowly(content, row):
    """The linear scores of one row, by what the dictionary says."""
    model = content["model"]
    scores = list(model["intercepts"])
    for term in model["terms"]:
        value = row[term["column"]]
        if value is None:
            x = term["missing"]
        else:
            x = float(value == term["equals"]) if "equals" in term else float(value)
        x = max(term.get("low", -math.inf), min(term.get("high", math.inf), x))
        scores = [s + c * x for s, c in zip(scores, term["coefficients"], strict=True)]
    return scores


def evaluate(content, table):
    """Linear scores of rows, by NumPy."""
    model = read_model(content)
    return model.sums({name: as_array(table[name]) for name in model.columns})


def outputs_of(task, scores):
    """What an export adds, in numbers."""
    if task == "two":
        return np.hstack([scores, expit(scores)])
    return softmax(scores, axis=1) if task == "three" else np.clip(scores, -2, 2)


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize("task", TASKS)
def test_exports_give_the_scores_of_the_result(task, gaps, tmp_path):
    content, table = make_content(task, gaps), make_table(gaps)
    scores = np.array([score_slowly(content, row) for row in table.to_pylist()])
    np.testing.assert_allclose(evaluate(content, table), scores, rtol=1e-12, atol=1e-12)
    wanted = outputs_of(task, scores)
    allowed = 1e-12 * np.maximum(1.0, np.abs(wanted))
    for ending, run in RUNS.items():
        path = tmp_path / f"score.{ending.lower()}"
        path.write_bytes(
            make(json.loads(json.dumps(content)), path, table=TABLE, rows=table, sums=scores)
        )
        given = run(path, table, TABLE)
        numbers = np.array([row[-wanted.shape[1] :] for row in given], dtype=float)
        assert (np.abs(numbers - wanted) <= allowed).all(), ending
        if task == "three":
            best = np.array(CLASSES[task])[scores.argmax(axis=1)].tolist()
            assert [row[-4] for row in given] == best


def test_a_row_without_a_value_is_not_scored(tmp_path):
    """Without a fill, a missing value has no prediction and never a wrong one."""
    content = make_content("two", False)
    odd = [None, float("nan"), float("inf"), -float("inf"), 1e6, 0.0]
    rows = make_table(False).slice(0, 6).set_column(0, "plain", pa.array(odd, pa.float64()))
    for ending, run in RUNS.items():
        path = tmp_path / f"score.{ending.lower()}"
        path.write_bytes(make(content, path))
        if ending == "py":
            continue
        numbers = np.array([row[-2:] for row in run(path, rows)], dtype=float)
        assert not np.isfinite(numbers[:4]).any(), ending
        assert np.isfinite(numbers[4:]).all(), ending
    module = {"__name__": "score"}
    exec((tmp_path / "score.py").read_text(encoding="utf-8"), module)
    for row in rows.to_pylist()[:4]:
        with pytest.raises(ValueError, match="'plain' has no value"):
            module["score"](row)
    assert np.isfinite(list(module["score"](rows.to_pylist()[4]).values())).all()


def test_points_double_the_odds(tmp_path):
    """600 points at odds of 50 to 1 against, and 20 fewer for each doubling."""
    content, table = make_content("two", True), make_table(True)
    log_odds = evaluate(content, table)[:, 0]
    wanted = 600 - 20 / np.log(2) * (log_odds + np.log(50))
    for ending, run in RUNS.items():
        path = tmp_path / f"score.{ending.lower()}"
        path.write_bytes(make(content, path, points=(20, 600, 50)))
        given = np.array([row[-3:] for row in run(path, table)], dtype=float)
        np.testing.assert_allclose(given[:, 0], log_odds, atol=1e-9)
        np.testing.assert_allclose(given[:, 2], wanted, rtol=1e-12, atol=1e-9)


def test_a_scorecard_adds_up_to_the_points():
    content, table = make_content("two", True), make_table(True)
    # Codes are numbers in a result, and written as in the table.
    for term in content["model"]["terms"]:
        if term["column"] == "code":
            term["equals"] = float(term["equals"])
    text = make(content, "card.csv", points=(40, 500, 1)).decode()
    base, *lines = csv.DictReader(io.StringIO(text, newline=""))
    assert base["column"] == "(base)"
    (reference,) = [line for line in lines if line["coefficient"] == "0.0"]
    assert (reference["column"], reference["value"]) == ("code", "0")
    others = [float(line["coefficient"] or 0.0) for line in lines]
    wanted = [term["coefficients"][0] for term in content["model"]["terms"]]
    assert [each for each in others if each] == wanted
    wanted = 500 - 40 / np.log(2) * evaluate(content, table)[:, 0]
    for row, points in zip(table.to_pylist(), wanted, strict=True):
        total = float(base["points"])
        for line in lines:
            value = row[line["column"]]
            if line["points_per_unit"] and value is not None:
                low, high = float(line["low"]), float(line["high"])
                total += float(line["points_per_unit"]) * min(max(value, low), high)
            elif str(value) == line["value"] or (value is None and line["value"] == "(missing)"):
                total += float(line["points"])
        assert total == pytest.approx(points, abs=1e-8)


def test_a_number_filled_with_0_has_a_line_for_missing_values():
    content = make_content("two", True)
    term = next(t for t in content["model"]["terms"] if "equals" not in t)
    term |= {"missing": 0.0, "low": -1.0, "high": 1.0}
    lines = csv.reader(io.StringIO(make(content, "card.csv", points=(40, 500, 1)).decode()))
    assert [term["column"], "(missing)", "", "0.0", "", "", ""] in lines


def test_an_export_is_that_of_the_fitted_model():
    X, y = make_rows(n_rows=300)
    selector = of_size(3).fit(X, y)
    model = selector.estimator_
    terms = [
        {"feature": f"x{j}", "column": f"x{j}", "coefficients": [float(c)]}
        for j, c in zip(selector.subset_, model.coef_[0], strict=True)
    ]
    described = {"link": "logit", "intercepts": model.intercept_.tolist(), "terms": terms}
    content = {"model": described, "data": {}, "target": {"name": "y", "classes": [0, 1]}}
    rows = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    sums = selector.decision_function(X)
    for ending in ("py", "sql", "onnx", "csv"):
        assert make(content, f"score.{ending}", rows=rows, sums=sums)
        with pytest.raises(ExportError, match="differs from the model by"):
            make(content, f"score.{ending}", rows=rows, sums=sums + 1e-6)


def test_python_is_short_and_safe():
    content = make_content("two", True)
    content["model"]["terms"] = content["model"]["terms"][:3] + content["model"]["terms"][-2:]
    code = make(content, "score.py").decode()
    assert len(code.splitlines()) <= 60
    assert code.isascii()
    assert set(re.findall(r"import (\w+)", code)) == {"csv", "math", "sys"}


REFUSALS = {
    "ending": ({}, "score.txt", {}, r"also in .html or .json; got 'score.txt'"),
    "no terms": ({"terms": None}, "score.py", {}, "Only linear models of classes"),
    "no link": ({"link": None}, "score.sql", {}, "Only linear models of classes"),
    "card of a number": ({"link": "identity"}, "card.csv", {}, "Points need a logistic model"),
    "points of classes": ({"link": "softmax"}, "a.py", {"points": (20, 600, 50)}, "Points need"),
}


@pytest.mark.parametrize(("changes", "path", "options", "message"), REFUSALS.values(), ids=REFUSALS)
def test_refusals(changes, path, options, message):
    content = make_content("two", False)
    changed = content["model"] | changes
    content["model"] = {key: value for key, value in changed.items() if value is not None}
    with pytest.raises(ExportError, match=message):
        make(content, path, **options)


def test_a_failed_export_leaves_the_file_alone(tmp_path):
    path = tmp_path / "score.sql"
    path.write_text("before")
    content = make_content("two", False)
    with pytest.raises(ExportError, match="differs"):
        make(content, path, rows=make_table(False), sums=np.zeros(N))
    assert path.read_text() == "before"
