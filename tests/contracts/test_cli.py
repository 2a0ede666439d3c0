"""The command line gives the answer of Python on the same rows."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import get_scorer, r2_score, roc_auc_score
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from helpers.cli import (
    QUICK,
    coefficients_of,
    features_of,
    held_out_score,
    intercepts_of,
    validation_scores,
)
from helpers.html import HOSTILE, parsed
from helpers.selectors import TASKS, make_rows, of_size, over_sizes, test_scores
from safdr import Constraints

pytest.importorskip("cyclopts")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pyarrow_csv = pytest.importorskip("pyarrow.csv")

NAMES = [f"column {j}" for j in range(8)]
ALL = ("--test-size", 0, "--json")


def problem(task="two", n_rows=240):
    """Rows with names, and their target as texts or numbers."""
    X, y = make_rows(task, n_rows)
    return pd.DataFrame(X, columns=NAMES), np.array(["no", "yes"])[y] if task == "two" else y


def fitted(selector, X, y, **how):
    """Fit a selector with the annealing of the command line."""
    return selector.set_params(annealing=None).fit(X, y, **how)


def assert_same(found, selector):
    """Subset, size, model and scores are those of a fitted selector."""
    assert features_of(found) == [NAMES[j] for j in selector.subset_]
    model = selector.estimator_
    np.testing.assert_allclose(coefficients_of(found), np.atleast_2d(model.coef_), rtol=1e-9)
    np.testing.assert_allclose(intercepts_of(found), np.ravel(model.intercept_), rtol=1e-7)
    if hasattr(selector, "cv_results_"):
        results = selector.cv_results_
        row = results["n_features"].tolist().index(selector.n_features_)
        wanted = test_scores(results)[:, row]
        np.testing.assert_allclose(validation_scores(found), wanted, rtol=1e-12)


# ---- The same answer -----------------------------------------------------------------------------


@pytest.fixture(params=TASKS)
def task(request):
    return request.param


@pytest.fixture
def table(task, write):
    """A file and what it holds."""
    X, y = problem(task)
    return write({**X, "target": y}), X, y


def test_a_number_of_features(task, table, safdr):
    path, X, y = table
    found = safdr("select", path, "-t", "target", "-k", 3, *ALL).json
    assert_same(found, fitted(of_size(3, task), X, y))


@pytest.mark.parametrize("rule", ["one_sd", "one_se", "best"])
def test_a_size_by_cross_validation(task, table, safdr, rule):
    path, X, y = table
    found = safdr("select", path, "-t", "target", *QUICK, "--rule", rule, *ALL).json
    assert_same(found, fitted(over_sizes(3, task, cv=None, rule=rule), X, y))


OPTIONS = {
    "seed": (["--seed", 7], {"random_state": 7}),
    "jobs": (["--jobs", 2], {}),
    "always": (
        ["--always-include", "column 0"],
        {"constraints": Constraints(always_include=["column 0"])},
    ),
    "never": (
        ["--never-include", "column 1,column 4"],
        {"constraints": Constraints(never_include=["column 1", "column 4"])},
    ),
    "group": (
        ["--group", "column 0,column 1", "--group", "column 4,column 5"],
        {"constraints": Constraints(groups=[[0, 1], [4, 5]])},
    ),
    "at most one": (
        ["--at-most-one-of", "column 1,column 4"],
        {"constraints": Constraints(at_most_one_of=[[1, 4]])},
    ),
    "sign": (["--sign", "column 4=+"], {"constraints": Constraints(signs={"column 4": 1})}),
    "cost": (["--cost", "column 1=0.4"], {"feature_cost": {"column 1": 0.4}}),
    "balanced": (["--class-weight", "balanced"], {"class_weight": "balanced"}),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_is_a_parameter(option, write, safdr):
    X, y = problem()
    y[:60] = "no"
    words, parameters = OPTIONS[option]
    path = write({**X, "target": y})
    found = safdr("select", path, "-t", "target", "-k", 3, *words, *ALL).json
    assert_same(found, fitted(of_size(3, **parameters), X, y))
    found = safdr("select", path, "-t", "target", *QUICK, *words, *ALL).json
    assert_same(found, fitted(over_sizes(3, cv=None, **parameters), X, y))


def test_weights_are_sample_weights(task, table, write, safdr):
    _, X, y = table
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    path = write({**X, "copies": weight, "target": y})
    words = ["--weight", "copies", "-k", 3]
    found = safdr("select", path, "-t", "target", *words, *ALL).json
    assert_same(found, fitted(of_size(3, task), X, y, sample_weight=weight.astype(float)))


def test_row_groups_stay_together(write, safdr):
    X, y = problem()
    # Numbered as they come.
    groups = pd.factorize(np.random.default_rng(0).integers(0, 30, len(y)))[0]
    path = write({**X, "customer": groups, "target": y})
    words = ["--group-by", "customer", "--seed", 3]
    found = safdr("select", path, "-t", "target", *QUICK, *words, *ALL).json
    cv = GroupShuffleSplit(5, test_size=0.25, random_state=3)
    search = over_sizes(3, cv=cv, random_state=3)
    assert_same(found, fitted(search, X, y, groups=groups))


def test_the_positive_class_may_be_named(write, safdr):
    X, y = problem()
    path = write({**X, "target": y})
    words = ["-t", "target", "-k", 3, "--positive", "no"]
    found = safdr("select", path, *words, *ALL).json
    selector = fitted(of_size(3), X, (y == "no").astype(int))
    assert_same(found, selector)


def test_the_built_in_data_need_no_file(safdr):
    found = safdr("select", "-k", 2, *ALL).json
    data = load_breast_cancer(as_frame=True)
    selector = fitted(of_size(2), data.data, (data.target == 0).astype(int))
    assert features_of(found) == selector.get_feature_names_out().tolist()
    np.testing.assert_allclose(coefficients_of(found), selector.estimator_.coef_, rtol=1e-9)


# ---- Rows ----------------------------------------------------------------------------------------


def test_held_out_rows_are_those_of_scikit_learns_split(task, table, safdr):
    path, X, y = table
    found = safdr("select", path, "-t", "target", "-k", 3, "--seed", 5, "--json").json
    parts = train_test_split(
        np.arange(len(y)),
        test_size=0.2,
        stratify=None if task == "regression" else y,
        random_state=5,
    )
    train, test = map(np.sort, parts)
    assert found["rows"] == {"train": len(train), "test": len(test)}
    selector = fitted(of_size(3, task, random_state=5), X.iloc[train], y[train])
    assert features_of(found) == [NAMES[j] for j in selector.subset_]
    name = {"two": "roc_auc", "three": "roc_auc_ovr", "regression": "r2"}[task]
    wanted = get_scorer(name)(selector, X.iloc[test], y[test])
    value, low, high = held_out_score(found)
    assert value == pytest.approx(wanted, rel=1e-9)
    assert low < value < high


def test_the_latest_rows_are_held_out(write, safdr):
    X, y = problem()
    days = np.datetime64("2024-01-01") + np.random.default_rng(0).permutation(240)
    path = write({**X, "day": days, "target": y})
    words = ["-k", 3, "--split-by", "day", "--test-size", 0.25]
    found = safdr("select", path, "-t", "target", *words, "--json").json
    late = days >= np.datetime64("2024-01-01") + 180
    assert found["rows"] == {"train": 180, "test": 60}
    selector = fitted(of_size(3), X[~late], y[~late])
    assert_same(found, selector)
    wanted = roc_auc_score(y[late], selector.decision_function(X[late]))
    assert held_out_score(found)[0] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("way", ["median", "drop-rows", "drop-columns"])
def test_missing_values_are_dealt_with_as_one_would_by_hand(write, safdr, way):
    """Skewed numbers, so that a median is no mean; learnt on training rows alone."""
    X, y = problem()
    X[NAMES[1]] = np.exp(2 * X[NAMES[1]])
    gaps = np.random.default_rng(0).random(240) < 0.2
    X.loc[gaps, NAMES[1]] = np.nan
    days = np.arange(240)
    X.loc[180:, NAMES[1]] *= 100
    path = write({**X, "month": 202401 + days // 20, "target": y})
    words = ["-t", "target", "-k", 3, "--missing", way, "--always-include", NAMES[1]]
    words = words[:-2] if way == "drop-columns" else words
    words += ["--split-by", "month", "--test-size", 0.25]
    found = safdr("select", path, *words, "--json").json
    train = days < 180
    limits = Constraints(always_include=[NAMES[1]])
    if way == "drop-columns":
        X, limits = X.drop(columns=NAMES[1]), None
    if way == "drop-rows":
        train = train & ~gaps
    if way == "median":
        X = X.fillna({NAMES[1]: X[NAMES[1]][train].median()})
    assert found["rows"]["train"] == train.sum()
    selector = fitted(of_size(3, constraints=limits), X[train], y[train])
    assert features_of(found) == selector.get_feature_names_out().tolist()
    np.testing.assert_allclose(coefficients_of(found), selector.estimator_.coef_, rtol=1e-9)


def test_any_kind_of_file_holds_the_same_table(tmp_path, write, safdr):
    X, y = problem()
    table = pa.table({**X.round(4), "target": y})
    files = [write(table)]
    for name, mark in (("rows.csv", ","), ("rows.tsv", "\t")):
        how = pyarrow_csv.WriteOptions(delimiter=mark)
        pyarrow_csv.write_csv(table, tmp_path / name, how)
        files.append(tmp_path / name)
    (tmp_path / "folder").mkdir()
    for i in range(3):
        pq.write_table(table.slice(80 * i, 80), tmp_path / "folder" / f"{i}.parquet")
    files.append(tmp_path / "folder")
    feather = pytest.importorskip("pyarrow.feather")
    feather.write_feather(table, tmp_path / "rows.feather")
    files.append(tmp_path / "rows.feather")
    words = ["-t", "target", "-k", 3, *ALL]
    selector = fitted(of_size(3), X.round(4), y)
    for file in files:
        assert_same(safdr("select", file, *words).json, selector)


def test_rows_read_in_chunks_give_the_same_answer(task, table, write, safdr):
    _, X, y = table
    X, y = problem(task, 1500)
    path = write({**X, "target": y})
    words = ["-t", "target", "-k", 3, *ALL, "--stream", "--sample-rows", 500]
    found = safdr("select", path, *words).json
    selector = fitted(of_size(3, task), X, y)
    assert features_of(found) == [NAMES[j] for j in selector.subset_]
    ours, theirs = coefficients_of(found), np.atleast_2d(selector.estimator_.coef_)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_scores_of_rows_read_in_chunks_count_ties_half(write, safdr):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    columns = {f"flag {j}": (rng.random(3000) < 0.3 + 0.2 * y * (j == 0)) * 1.0 for j in range(3)}
    path = write({**columns, "day": np.arange(3000) + 0.5, "target": y})
    words = ["-t", "target", "-k", 1, "--stream", "--sample-rows", 800, "--split-by", "day"]
    found = safdr("select", path, *words, "--json").json
    test = np.arange(3000) >= 3000 - found["rows"]["test"]
    wanted = roc_auc_score(y[test], columns["flag 0"][test])
    assert features_of(found) == ["flag 0"]
    assert held_out_score(found)[0] == pytest.approx(wanted, abs=1e-9)


# ---- What is written -----------------------------------------------------------------------------


def test_files_hold_what_is_printed(write, columns, tmp_path, select):
    out, page = tmp_path / "result.json", tmp_path / "page.html"
    found = select(write(columns), "-t", "late", "--out", out, "--report", page, "--json").json
    assert json.loads(out.read_text()) == found
    elements = parsed(page.read_text(encoding="utf-8"))
    text = " ".join(elements.text)
    assert all(name in text for name in features_of(found))
    assert f"{held_out_score(found)[0]:.3f}" in text


def test_files_that_are_there_stay(write, columns, tmp_path, select):
    out = tmp_path / "result.json"
    out.write_text("mine")
    path = write(columns)
    ran = select(path, "-t", "late", "--out", out, code=2)
    assert "--force" in ran.err
    assert out.read_text() == "mine"
    select(path, "-t", "late", "--out", out, "--force")
    assert features_of(json.loads(out.read_text()))


def test_names_in_a_page_are_text_and_nothing_else(tmp_path, write, select):
    """No element, attribute or address comes from a name."""
    names = [name.replace("\x00", "").replace("\ud83d", "") for name in HOSTILE]
    names = [*dict.fromkeys(name for name in names if name.strip())]
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    columns = {name: rng.normal(size=200) + 0.5 * y for name in names}
    plain = {f"c{i}": values for i, values in enumerate(columns.values())}
    elements = []
    for these, target, file in ((columns, HOSTILE[0], "a"), (plain, "target", "b")):
        page = tmp_path / f"{file}.html"
        path = write({**these, target: y}, f"{file}.parquet")
        select(path, "-t", target, "-k", 5, "--report", page)
        elements.append(parsed(page.read_text(encoding="utf-8")).found)
    hostile, harmless = ({tag for tag, _ in found} for found in elements)
    assert hostile == harmless
    hostile, harmless = ({name for _, a in found for name in a} for found in elements)
    assert hostile - harmless <= {"title"}
    for _, attributes in elements[0]:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href"):
                assert value.startswith(("#", "data:", "https://"))


def test_a_seed_gives_the_same_bytes(write, columns, select):
    path = write(columns)
    first, second = (select(path, "-t", "late", "--json").json for _ in range(2))
    for found in (first, second):
        for name in ("created", "seconds"):
            found.pop(name)
    assert json.dumps(first) == json.dumps(second)


def test_the_score_of_a_quantity_is_r2(write, safdr):
    X, y = problem("regression")
    path = write({**X, "target": y, "month": 202401 + np.arange(240) // 24})
    words = ["-t", "target", "-k", 3, "--split-by", "month", "--test-size", 0.2]
    found = safdr("select", path, *words, "--json").json
    test = np.arange(240) >= 192
    sums = X[test][features_of(found)] @ coefficients_of(found)[0] + intercepts_of(found)[0]
    assert held_out_score(found)[0] == pytest.approx(r2_score(y[test], sums), rel=1e-9)
