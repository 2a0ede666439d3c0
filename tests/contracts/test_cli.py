"""The command line gives the answer of Python on the same rows."""

import importlib.util
import json
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import get_scorer, r2_score, roc_auc_score
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline

from helpers import likelihood_tasks
from helpers.cli import JSON, QUICK, assert_same, coefficients_of, features_of
from helpers.html import parsed
from helpers.selectors import TASKS, make_rows, of_one_size, over_sizes
from safdr import Constraints, Report, TableEncoder
from safdr.cli.select import _within

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pyarrow_csv = pytest.importorskip("pyarrow.csv")
pytest.importorskip("rich")

NAMES = [f"column {j}" for j in range(8)]
ALL = ("--test-size", 0, *JSON)
RUN = "import sys; from safdr.cli import main; main(sys.argv[1:])"


def problem(task="two", n_rows=240):
    """Rows with names, and their target as texts or numbers."""
    X, y = make_rows(task, n_rows)
    return pd.DataFrame(X, columns=NAMES), np.array(["no", "yes"])[y] if task == "two" else y


def fitted(selector, X, y, **how):
    """Fit a selector with the annealing of the command line."""
    return selector.set_params(annealing=None).fit(np.asarray(X), y, **how)


# ---- Counts, amounts and survival times ---------------------------------------------------------


@pytest.mark.parametrize("kind", likelihood_tasks.TASKS)
def test_counts_amounts_and_survival_times(kind, write, safdr, tmp_path):
    X, y = likelihood_tasks.make_rows(kind)
    exposure = np.random.default_rng(0).exponential(size=len(X)) + 0.1
    table, words = pd.DataFrame(X, columns=NAMES), {"gamma": ["--task", "amount"]}.get(kind)
    weights = {}
    if kind == "poisson":
        table["years"], words = exposure, ["--task", "count", "--exposure", "years"]
        table["target"], y, weights = y, y / exposure, {"sample_weight": exposure}
    elif kind == "survival":
        table["died"], words = np.where(y.event, "yes", "no"), ["--task", "survival"]
        table["target"], words = y.time, [*words, "--event", "died"]
    else:
        table["target"] = y
    files = [tmp_path / f"model.{ending}" for ending in ("html", "py", "sql", "onnx")]
    outputs = [word for file in files for word in ("-o", file)] if has_onnx() else []
    path = write(dict(table))
    found = safdr("select", path, "-t", "target", *QUICK, *words, *outputs, *ALL).json
    selector = fitted(likelihood_tasks.over_sizes(3, kind), X, y, **weights)
    assert_same(found, selector, NAMES)
    assert found["model"]["link"] == ("log_hazard" if kind == "survival" else "log")
    held_out = safdr("select", path, "-t", "target", "-k", 3, *words, *JSON).json
    value, low, high = held_out["score"]["test"]
    assert low < value < high
    shown = safdr("select", path, "-t", "target", "-k", 3, *words, "--stability", 20).out
    assert ("concordance" if kind == "survival" else "D²") in shown
    assert "Expected number of unstable features" in " ".join(shown.split())
    if kind == "survival":
        assert [each["risk"] for each in held_out["test"]["survival"]] == ["low", "middle", "high"]
    else:
        assert len(held_out["test"]["bins"]) == 10


def has_onnx():
    return importlib.util.find_spec("onnx") is not None


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
    assert_same(found, fitted(of_one_size(3, task), X, y), NAMES)


@pytest.mark.parametrize("rule", ["one_sd", "one_se", "best"])
def test_a_size_by_cross_validation(task, table, safdr, rule):
    path, X, y = table
    found = safdr("select", path, "-t", "target", *QUICK, "--rule", rule, *ALL).json
    assert_same(found, fitted(over_sizes(3, task, cv=None, rule=rule), X, y), NAMES)


def test_a_rule_may_be_a_loss_of_score(write, safdr):
    X, y = problem()
    path = write({**X, "target": y})
    found = safdr("select", path, "-t", "target", *QUICK, "--rule", 0.1, *ALL).json
    wanted = over_sizes(3, cv=None, rule=_within(0.1))
    assert_same(found, fitted(wanted, X, y), NAMES)


OPTIONS = {
    "seed": (["--seed", 7], {"random_state": 7}),
    "jobs": (["-j", 2], {}),
    "include": (["--include", "column 0"], {"constraints": Constraints(always_include=[0])}),
    "as one": (
        ["--as-one", "column 0,column 1", "--as-one", "column 4,column 5"],
        {"constraints": Constraints(groups=[[0, 1], [4, 5]])},
    ),
    "at most one": (
        ["--at-most-one-of", "column 1,column 4"],
        {"constraints": Constraints(at_most_one_of=[[1, 4]])},
    ),
    "sign": (["--sign", "column 4=+"], {"constraints": Constraints(signs={4: 1})}),
    "cost": (["--cost", "column 1=0.4"], {"feature_cost": {1: 0.4}}),
    "balanced": (["--balanced"], {"class_weight": "balanced"}),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_is_a_parameter(option, write, safdr):
    X, y = problem()
    y[:60] = "no"
    words, parameters = OPTIONS[option]
    path = write({**X, "target": y})
    found = safdr("select", path, "-t", "target", *QUICK, *words, *ALL).json
    assert_same(found, fitted(over_sizes(3, cv=None, **parameters), X, y), NAMES)


def test_columns_may_be_dropped(write, safdr):
    X, y = problem()
    words = ["--drop", "column 1,column 4", "--drop", "column 7", "-k", 3]
    found = safdr("select", write({**X, "target": y}), "-t", "target", *words, *ALL).json
    rest = [name for name in NAMES if name not in ("column 1", "column 4", "column 7")]
    assert_same(found, fitted(of_one_size(3), X[rest], y), rest)


def test_the_settings_of_the_paper(write, safdr):
    X, y = problem()
    path = write({**X, "target": y})
    found = safdr("select", path, "-t", "target", *QUICK, "--as-published", *ALL).json
    wanted = type(over_sizes(3)).as_published(sizes=3, random_state=0)
    assert_same(found, wanted.fit(np.asarray(X), y), NAMES)


def test_weights_are_sample_weights(task, table, write, safdr):
    _, X, y = table
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    path = write({**X, "copies": weight, "target": y})
    found = safdr("select", path, "-t", "target", "--weight", "copies", "-k", 3, *ALL).json
    selector = fitted(of_one_size(3, task), X, y, sample_weight=weight)
    assert features_of(found, NAMES) == [NAMES[j] for j in selector.subset_]
    wanted = np.atleast_2d(selector.estimator_.coef_)
    np.testing.assert_allclose(coefficients_of(found, NAMES), wanted, rtol=1e-9)


def test_row_groups_stay_together(write, safdr):
    X, y = problem()
    # Numbered as they come.
    groups = pd.factorize(np.random.default_rng(0).integers(0, 30, len(y)))[0]
    path = write({**X, "customer": groups, "target": y})
    words = ["--keep-together", "customer", "--seed", 3]
    found = safdr("select", path, "-t", "target", *QUICK, *words, *ALL).json
    cv = GroupShuffleSplit(5, test_size=0.25, random_state=3)
    search = over_sizes(3, cv=cv, random_state=3)
    assert_same(found, fitted(search, X, y, groups=groups), NAMES)


def test_the_positive_class_may_be_named(write, safdr):
    X, y = problem()
    path = write({**X, "target": y})
    found = safdr("select", path, "-t", "target", "-k", 3, "--positive", "no", *ALL).json
    assert_same(found, fitted(of_one_size(3), X, (y == "no").astype(int)), NAMES)
    assert found["target"]["classes"] == ["yes", "no"]


def test_the_built_in_data_need_no_file(safdr):
    found = safdr("select", "-k", 2, *ALL).json
    data = load_breast_cancer()
    selector = fitted(of_one_size(2), data.data, (data.target == 0).astype(int))
    assert_same(found, selector, data.feature_names.tolist())


def test_a_pipeline_in_python_gives_the_same(tmp_path, safdr):
    """Numbers in text, categories, dates, missing values, codes: as in the tests of the encoder."""
    from helpers.tables import messy_table

    frame, y = messy_table()
    frame.assign(late=y).to_csv(tmp_path / "messy.csv", index=False)
    words = ["-t", "late", *QUICK, "--missing", "median", "--categories", "grade"]
    found = safdr("select", tmp_path / "messy.csv", *words, *ALL).json
    encoder = TableEncoder(missing="median", categories=["grade"])
    limits = Constraints(groups=encoder.groups)
    selector = over_sizes(3, cv=None, annealing=None, constraints=limits)
    pipeline = make_pipeline(encoder, selector).fit(frame, y)
    names = encoder.get_feature_names_out().tolist()
    assert_same(found, selector, names)
    ours, theirs = (
        [{k: v for k, v in each.items() if k != "why"} for each in columns]
        for columns in (found["data"]["columns"], encoder.columns())
    )
    assert [each for each in ours if each["name"] != "late"] == theirs
    report = Report.from_estimator(pipeline, frame, y)
    assert report["model"] == found["model"]


# ---- Rows ----------------------------------------------------------------------------------------


def test_held_out_rows_are_those_of_scikit_learns_split(task, table, safdr):
    path, X, y = table
    found = safdr("select", path, "-t", "target", "-k", 3, "--seed", 5, *JSON).json
    strata = None if task == "regression" else y
    parts = train_test_split(np.arange(240), test_size=0.2, stratify=strata, random_state=5)
    train, test = map(np.sort, parts)
    assert (found["data"]["n_train"], found["data"]["n_test"]) == (len(train), len(test))
    selector = fitted(of_one_size(3, task, random_state=5), X.iloc[train], y[train])
    assert features_of(found, NAMES) == [NAMES[j] for j in selector.subset_]
    name = {"two": "roc_auc", "three": "roc_auc_ovr", "regression": "r2"}[task]
    wanted = get_scorer(name)(selector, np.asarray(X.iloc[test]), y[test])
    value, low, high = found["score"]["test"]
    assert value == pytest.approx(wanted, rel=1e-9)
    assert low < value < high


def test_the_latest_rows_are_held_out(write, safdr):
    X, y = problem()
    days = np.datetime64("2024-01-01") + np.random.default_rng(0).permutation(240)
    path = write({**X, "day": days, "target": y})
    words = ["-k", 3, "--time", "day", "--test-size", 0.25]
    found = safdr("select", path, "-t", "target", *words, *JSON).json
    late = days >= np.datetime64("2024-01-01") + 180
    whys = {each["name"]: each.get("why") for each in found["data"]["columns"]}
    assert (whys["day"], whys["target"]) == ("used for --time", "target")
    assert (found["data"]["n_train"], found["data"]["n_test"]) == (180, 60)
    selector = fitted(of_one_size(3), X[~late], y[~late])
    assert_same(found, selector, NAMES)
    wanted = roc_auc_score(y[late], selector.decision_function(np.asarray(X[late])))
    assert found["score"]["test"][0] == pytest.approx(wanted, abs=1e-12)


def test_the_rows_of_another_file_are_held_out(write, tmp_path, safdr):
    """Parquet has numbers, CSV text: they are read alike."""
    X, y = problem()
    path = write({**X[:180], "target": y[:180]})
    X[180:].assign(target=y[180:]).to_csv(tmp_path / "new.csv", index=False)
    words = ["-t", "target", "-k", 3, "--test", tmp_path / "new.csv"]
    found = safdr("select", path, *words, *JSON).json
    selector = fitted(of_one_size(3), X[:180], y[:180])
    assert_same(found, selector, NAMES)
    wanted = roc_auc_score(y[180:], selector.decision_function(np.asarray(X[180:])))
    assert found["score"]["test"][0] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("way", ["median", "drop-rows", "drop-columns"])
def test_another_file_may_miss_other_values(write, tmp_path, safdr, way):
    """Values missing in the file of the test alone ended the run."""
    X, y = problem()
    path = write({**X[:180], "target": y[:180]})
    new = X[180:].assign(target=y[180:])
    new.loc[190:199, NAMES[1]] = np.nan
    new.to_csv(tmp_path / "new.csv", index=False)
    words = ["-t", "target", "-k", 3, "--test", tmp_path / "new.csv", "--missing", way]
    found = safdr("select", path, *words, *JSON).json
    assert found["data"]["n_test"] == (50 if way == "drop-rows" else 60)
    used = {each["name"] for each in found["data"]["columns"] if each["used"]}
    assert (NAMES[1] in used) == (way != "drop-columns")


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
    words = ["-t", "target", "-k", 3, "--missing", way, "--time", "month", "--test-size", 0.25]
    words += [] if way == "drop-columns" else ["--include", NAMES[1]]
    found = safdr("select", path, *words, *JSON).json
    train, limits, names = days < 180, Constraints(always_include=[1]), NAMES
    if way == "drop-columns":
        X, limits, names = X.drop(columns=NAMES[1]), None, [NAMES[0], *NAMES[2:]]
    if way == "drop-rows":
        train = train & ~gaps
    if way == "median":
        X = X.fillna({NAMES[1]: X[NAMES[1]][train].median()})
    assert found["data"]["n_train"] == train.sum()
    assert_same(found, fitted(of_one_size(3, constraints=limits), X[train], y[train]), names)


def test_any_kind_of_file_holds_the_same_table(tmp_path, write, safdr, monkeypatch):
    X, y = problem()
    table = pa.table({**X.round(4), "target": y})
    files = [write(table)]
    for name, mark in (("rows.csv", ","), ("rows.tsv", "\t")):
        pyarrow_csv.write_csv(table, tmp_path / name, pyarrow_csv.WriteOptions(delimiter=mark))
        files.append(tmp_path / name)
    frame = X.round(4).assign(target=y)
    frame.to_csv(tmp_path / "rows.csv.gz", index=False)
    frame.to_csv(tmp_path / "european.csv", index=False, sep=";", decimal=",")
    frame.to_csv(tmp_path / "windows.csv", index=False, encoding="utf-16")
    files += [tmp_path / name for name in ("rows.csv.gz", "european.csv", "windows.csv")]
    (tmp_path / "folder").mkdir()
    for i in range(3):
        pq.write_table(table.slice(80 * i, 80), tmp_path / "folder" / f"{i}.parquet")
    files.append(tmp_path / "folder")
    feather = pytest.importorskip("pyarrow.feather")
    feather.write_feather(table, tmp_path / "rows.feather")
    files.append(tmp_path / "rows.feather")
    words = ["-t", "target", "-k", 3, *ALL]
    selector = fitted(of_one_size(3), X.round(4), y)
    for file in files:
        assert_same(safdr("select", file, *words).json, selector, NAMES)
    with (tmp_path / "rows.csv").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert_same(safdr("select", "-", *words).json, selector, NAMES)


def test_random_rows_of_a_table_bigger_than_memory_are_read(write, safdr, monkeypatch):
    """Rows and columns of a size; the sample is the same each time."""
    monkeypatch.setattr("safdr.table.read.available_memory", lambda: 10 * 1000 * 6 * 8 * 2)
    X, y = problem("two", 4000)
    X.loc[::50, "column 0"] = np.nan
    path = write({**X, "day": np.arange(4000) + 0.5, "target": y})
    words = ["-t", "target", "-k", 2, "--time", "day", "--missing", "drop-rows"]
    first, found = (safdr("select", path, *words, *JSON).json for _ in range(2))
    assert "4,000 rows do not fit in memory" in found["notes"][0]
    data = found["data"]
    assert data == first["data"]
    assert data["n_train"] + data["n_test"] == pytest.approx(980, rel=0.1)
    assert data["n_test"] == pytest.approx(0.2 * 980, rel=0.2)
    assert 0.5 < found["score"]["test"][0] < 1


# ---- What is written -----------------------------------------------------------------------------


def test_files_hold_what_is_printed(write, columns, tmp_path, select, safdr):
    out, page, code = (tmp_path / name for name in ("result.json", "page.html", "score.py"))
    ran = select(write(columns), "-t", "late", "-o", out, "-o", page, "-o", code)
    found = json.loads(out.read_text())
    names = [each["name"] for each in found["features"] if each["selected"]]
    value = f"{found['score']['test'][0]:.3f}"
    for text in (ran.out, page.read_text()):
        assert all(name in text for name in names)
        assert value in text
    assert "result.json" in ran.out
    # Without the data, later.
    assert value in safdr("show", out).out
    safdr("show", out, "-o", tmp_path / "again.py", "-o", tmp_path / "score.sql")
    assert (tmp_path / "again.py").read_text().replace("again", "score") == code.read_text()
    assert "SELECT" in (tmp_path / "score.sql").read_text().upper()


def test_files_that_exist_stay(write, columns, tmp_path, select):
    out, page = tmp_path / "result.json", tmp_path / "page.html"
    out.write_text("mine")
    path = write(columns)
    assert "--force" in select(path, "-t", "late", "-o", page, "-o", out, code=2).err
    assert out.read_text() == "mine"
    assert not page.exists()
    select(path, "-t", "late", "-o", out, "--force")
    assert json.loads(out.read_text())["schema"] == 2


def test_an_answer_that_cannot_be_written_is_printed(write, safdr, tmp_path):
    X, y = problem("three")
    words = ["-t", "target", "-k", 2, "-o", tmp_path / "card.csv", "-o", tmp_path / "a.json"]
    ran = safdr("select", write({**X, "target": y}), *words, code=1)
    assert "two classes" in ran.err
    assert "held-out rows" in ran.out
    assert [each.suffix for each in tmp_path.iterdir()] == [".parquet"]


def test_a_seed_gives_the_same_bytes(write, columns, select):
    path = write(columns)
    first, second = (select(path, "-t", "late", *JSON).json for _ in range(2))
    for found in (first, second):
        for name in ("created", "seconds"):
            found.pop(name)
    assert json.dumps(first) == json.dumps(second)


def test_hostile_names_are_printed_as_text(write, tmp_path, select):
    """No name is an escape sequence, an element of a page, or markup of the terminal."""
    names = [
        "[red]x[/red]",
        "\x1b[31mred",
        "<script>alert(1)</script>",
        "turned \u202e round",
        "a,b",
    ]
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    columns = {name: (rng.normal(size=200) + 0.8 * y).tolist() for name in names}
    page = tmp_path / "page.html"
    path = write(columns | {"late": y})
    ran = select(path, "-t", "late", "--include", names[0], "--include", "a,b", "-o", page)
    assert "[red]x[/red]" in ran.out
    assert "a,b" in ran.out
    ran = select(path, "-t", "late", "-k", 5, "--drop", "a,b")
    assert not {"\x1b", "\u202e"} & set(ran.out)
    tags = {tag for tag, _ in parsed(page.read_text(encoding="utf-8")).found}
    assert "<script>alert" not in page.read_text(encoding="utf-8")
    assert "table" in tags
    gaps = {name: [None, *values[1:]] for name, values in columns.items()}
    said = select(write(gaps | {"late": y}), "-t", "late", code=1).err
    assert not {"\x1b", "\u202e"} & set(said)


def test_quiet_prints_nothing(write, columns, select):
    ran = select(write(columns), "-t", "late", "-q")
    assert (ran.out, ran.err) == ("", "")
    assert "Searching in 160 rows" in select(write(columns), "-t", "late").err


def test_the_score_of_a_quantity_is_r2(write, safdr):
    X, y = problem("regression")
    path = write({**X, "target": y, "month": 202401 + np.arange(240) // 24})
    words = ["-t", "target", "-k", 3, "--time", "month", "--test-size", 0.2]
    found = safdr("select", path, *words, *JSON).json
    test = np.arange(240) >= 192
    sums = X[test][features_of(found, NAMES)].to_numpy()
    predicted = sums @ coefficients_of(found, NAMES)[0] + found["model"]["intercepts"][0]
    assert found["score"]["test"][0] == pytest.approx(r2_score(y[test], predicted), abs=0.01)


def test_segments_are_scored(write, columns, select):
    columns["city"] = ["Bonn", "Rome"] * 100
    columns["city"][::3] = ["Oslo"] * 67
    found = select(write(columns), "-t", "late", "--by", "city", *JSON).json
    (by,) = found["test"]["segments"]
    assert "city" in json.dumps(by)


def test_questions_are_answered_in_the_terminal(write, columns, select):
    ran = select(write(columns), "-t", "late", "--prove", 5, "--stability", 4)
    for word in ("Optimal", "Stability", "half-samples", "log-odds of late = yes"):
        assert word in ran.out


# ---- Comparing -----------------------------------------------------------------------------------


def test_two_results_are_compared(write, columns, tmp_path, select, safdr):
    path = write(columns)
    for name, dropped in (("a", "weight,colour"), ("b", "height,colour")):
        select(path, "-t", "late", "--drop", dropped, "-o", tmp_path / f"{name}.json")
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    printed = safdr("compare", a, b).out.splitlines()
    lines = {line.split()[0]: line.rstrip() for line in printed if line.strip()}
    for i, each in enumerate((a, b)):
        for term in json.loads(each.read_text())["model"]["terms"]:
            cells = [cell.replace("−", "-") for cell in lines[term["feature"]].split()]
            assert float(cells[1 + i]) == pytest.approx(term["per_sd"][0], abs=0.005)
    assert lines["height"].endswith("gone")
    assert lines["weight"].endswith("only here")
    assert all(name in lines["drop"] for name in ("weight", "height"))
    assert any("chance" in line for line in printed)


# ---- Terminals, help and signals -----------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_terminal_shows_the_whole_answer(write, columns, encoding):
    """Today a minus that the terminal lacks ends the run in the middle of the answer."""
    columns["late"] = columns["late"][::-1]
    words = ["select", str(write(columns)), "-t", "late", "-k", "3", "--test-size", "0"]
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from safdr.cli import main; main(sys.argv[1:])",
            *words,
        ],
        capture_output=True,
        env={"PYTHONIOENCODING": encoding, "PATH": "", "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    text = ran.stdout.decode(encoding)
    assert "(intercept)" in text
    assert ("−" if encoding == "utf-8" else "-") in text
    assert "?" not in text


def test_help_fits_one_screen_and_is_fast(safdr):
    for command in ("select", "show", "compare"):
        lines = safdr(command, "--help").out.splitlines()
        assert len(lines) <= 42
        assert max(map(len, lines)) <= 100
    heavy = "import sys; from safdr.cli import main\ntry: main(['select', '--help'])\nfinally: "
    heavy += "print([m for m in ('sklearn', 'numpy', 'pyarrow', 'rich') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_a_terminated_run_leaves_no_file(write, columns, tmp_path):
    path = write(columns)
    code = (
        "import os, signal, sys\nimport safdr.cli.select as select\n"
        "select._fit = lambda *_: os.kill(os.getpid(), signal.SIGTERM)\n"
        "from safdr.cli import main\nmain(sys.argv[1:])"
    )
    words = ["select", str(path), "-t", "late", "-o", str(tmp_path / "result.json")]
    ran = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, check=False)
    assert ran.returncode == 128 + signal.SIGTERM
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
