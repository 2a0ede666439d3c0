"""Exported formulas give the predictions of the selector, wherever they run."""

import numpy as np
import pytest
from scipy.special import expit

from helpers.formulas import RUNS
from helpers.selectors import of_size
from safdr import Constraints

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
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
LEVELS = ["commonest", "a' OR '1'='1", 'say "hi"', "new\nline", "🦊\\", "--"]
NAME = 'lo"ans; --'
TARGETS = {"two": 'tar"get\n', "three": "kind' of", "regression": "price; --"}
CLASSES = {"two": ["no'", "yes\n"], "three": ['"""b', "a a", "c\\"]}
# What of a row of outputs is the prediction in numbers.
OUTPUTS = {"two": slice(-2, None), "three": slice(-3, None), "regression": slice(-1, None)}


def make_table(task, gaps):
    """Numbers, a category and a flag, all with hostile names, and the target."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, len(NUMBERS))).round(3)
    level = rng.choice(len(LEVELS), N, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    flag = rng.random(N) < 0.5
    value = X @ np.linspace(-1.5, 1.5, len(NUMBERS)) + 2 * (level == 1) - (level == 4) + flag
    value = value + rng.logistic(size=N)
    numbers = dict(zip(NUMBERS, X.T, strict=True))
    if gaps:
        numbers[NUMBERS[0]] = pa.array(X[:, 0], mask=rng.random(N) < 0.2)
        numbers[NUMBERS[-1]] = pa.array(X[:, -1], mask=rng.random(N) < 0.2)
    text = pa.array([LEVELS[i] for i in level], mask=gaps & (rng.random(N) < 0.1))
    if task == "regression":
        target = value
    else:
        cuts = np.quantile(value, {"two": [0.5], "three": [0.3, 0.6]}[task])
        target = np.array(CLASSES[task])[np.digitize(value, cuts)].tolist()
    return pa.table({**numbers, TEXT: text, "yes?": flag, TARGETS[task]: target})


def encoded(table):
    """The columns as numbers: median for missing numbers, the commonest for missing text."""
    columns = [table[name].to_numpy().astype(float) for name in NUMBERS]
    columns = [np.where(np.isnan(c), np.nanmedian(c), c) for c in columns]
    text = [each or LEVELS[0] for each in table[TEXT].to_pylist()]
    columns += [np.array([each == level for each in text], dtype=float) for level in LEVELS[1:]]
    columns.append(np.array(table["yes?"].to_pylist(), dtype=float))
    return np.column_stack(columns)


GROUP = list(range(len(NUMBERS), len(NUMBERS) + len(LEVELS) - 1))


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize("task", TARGETS)
def test_formulas_give_the_predictions_of_the_selector(safdr, task, gaps, tmp_path):
    table = make_table(task, gaps)
    path = tmp_path / f"{NAME}.parquet"
    pq.write_table(table, path)
    files = {ending: tmp_path / f"score.{ending.lower()}" for ending in RUNS}
    words = [word for file in {*files.values()} for word in ("--export", file)]
    options = ["-t", TARGETS[task], "-k", 11, "--test-size", 0, "--missing", "median", "--json"]
    found = safdr("select", path, *options, *words, "--always-include", TEXT).json

    X = encoded(table)
    limits = Constraints(groups=[GROUP], always_include=GROUP)
    selector = of_size(11, task, constraints=limits, annealing=None)
    selector.fit(X, np.array(table[TARGETS[task]].to_pylist()))
    assert len(found["features"]) == len(selector.subset_)
    # Rows far beyond those of training are scored as the selector does.
    far = table.set_column(1, NUMBERS[1], pa.array(1e6 * np.asarray(table[NUMBERS[1]])))
    table = pa.concat_tables([table, far])
    X = np.vstack([X, X])
    X[N:, 1] *= 1e6
    if task == "two":
        wanted = [selector.decision_function(X), selector.predict_proba(X)[:, 1]]
    else:
        wanted = [selector.predict(X)] if task == "regression" else selector.predict_proba(X).T
    wanted = np.column_stack(wanted)
    rows = table.drop_columns(TARGETS[task])
    for ending, run in RUNS.items():
        given = run(files[ending], rows, NAME)
        numbers = np.array([row[OUTPUTS[task]] for row in given], dtype=float)
        np.testing.assert_allclose(numbers, wanted, rtol=1e-8, atol=1e-9, err_msg=ending)
        if task == "three":
            assert [row[-4] for row in given] == selector.predict(X).tolist()


def test_a_row_without_a_value_is_not_scored(safdr, tmp_path):
    """Where no median was asked for, a gap has no prediction and never a wrong one."""
    table = make_table("two", False)
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path)
    files = {ending: tmp_path / f"score.{ending.lower()}" for ending in RUNS}
    words = [word for file in {*files.values()} for word in ("--export", file)]
    few = ["--always-include", "plain"]
    safdr("select", path, "-t", TARGETS["two"], "-k", 2, "--test-size", 0, *few, *words)
    rows = table.drop_columns(TARGETS["two"]).slice(0, 6)
    values = [None, float("nan"), float("inf"), -float("inf"), 1e6, 0.0]
    odd = rows.set_column(0, "plain", pa.array(values, pa.float64()))
    for ending in ("sql", "SQL", "onnx"):
        numbers = np.array([row[-2:] for row in RUNS[ending](files[ending], odd)], dtype=float)
        assert not np.isfinite(numbers[:4]).any(), ending
        assert np.isfinite(numbers[4:]).all(), ending
    module = {"__name__": "score"}
    exec(files["py"].read_text(encoding="utf-8"), module)
    for row in odd.to_pylist()[:4]:
        with pytest.raises(ValueError, match="'plain' has no value"):
            module["log_odds"](row)
    assert np.isfinite(module["log_odds"](odd.to_pylist()[4]))


@pytest.mark.parametrize("ending", ["py", "sql", "SQL"])
def test_points_are_those_of_the_log_odds(safdr, write, columns, tmp_path, ending):
    """Points double the odds: 600 at 50 to 1 against, 20 fewer for each doubling."""
    path = write(columns)
    file = tmp_path / f"score.{ending.lower()}"
    few = ["--points", "--export", file]
    safdr("select", path, "-t", "late", "-k", 2, *few)
    table = pa.table({name: columns[name] for name in columns if name != "late"})
    given = np.array([row[-3:] for row in RUNS[ending](file, table, "loans")], dtype=float)
    log_odds, points, probability = given.T
    np.testing.assert_allclose(probability, expit(log_odds), atol=1e-12)
    wanted = 600 - 20 / np.log(2) * (log_odds + np.log(50))
    np.testing.assert_allclose(points, wanted, atol=1e-6)
