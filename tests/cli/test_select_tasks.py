"""All tasks from the file to the formula: what the target is taken for, answers and exports."""

import re

import numpy as np
import pytest
from scipy.special import expit, softmax

from helpers.formulas import RUNS

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 400
TASKS = {"late": "two classes", "kind": "3 classes", "price": "regression"}
# Few rows make few splits of a rare class, and quick searches.
OPTIONS = ("--missing", "median", "-k", 4, "--json")


def make_table(n=N):
    rng = np.random.default_rng(8)
    height, weight, noise = rng.normal(size=(3, n))
    colour = rng.choice(["red", "green", "it's blue"], n)
    red = colour == "red"
    scores = np.column_stack([2 * height, 2 * weight + red, -height]) + rng.gumbel(size=(n, 3))
    return pa.table(
        {
            "height": pa.array(height.round(3), mask=rng.random(n) < 0.05),
            "weight": weight.round(3),
            "noise": noise.round(3),
            "colour": pa.array(colour, mask=rng.random(n) < 0.05),
            "late": np.where(height - weight + rng.logistic(size=n) > 0, "yes", "no"),
            "kind": np.array(["big one", "other", "Small"])[scores.argmax(axis=1)],
            "price": (1000 + 30 * height - 20 * weight + 9 * red + rng.normal(size=n)).round(2),
        }
    )


@pytest.fixture
def others():
    """Targets are no features of each other."""
    return lambda target: [part for name in TASKS if name != target for part in ("--drop", name)]


@pytest.fixture(params=["csv", "parquet"])
def path(request, tmp_path):
    path = tmp_path / f"rows.{request.param}"
    if request.param == "csv":
        pytest.importorskip("pyarrow.csv").write_csv(make_table(), path)
    else:
        pq.write_table(make_table(), path)
    return path


def model_of(content, table):
    """Outputs of rows without gaps, from the numbers in the answer."""
    columns = {}
    for feature in content["features"]:
        column, _, level = feature["name"].partition(" = ")
        values = np.array(table[column].to_pylist())
        columns[feature["name"]] = (values == level).astype(float) if level else values
    several = content["intercepts"] is not None
    sums = np.array(content["intercepts"] if several else [content["intercept"]])
    for feature in content["features"]:
        own = feature["coefficients"] if several else [feature["coefficient"]]
        sums = sums + np.outer(columns[feature["name"]], own)
    if content["task"] == "regression":
        return sums
    return softmax(sums, axis=1) if several else np.hstack([sums, expit(sums)])


# ---- Exports ------------------------------------------------------------------------------------


def odd_rows(table):
    """Rows that have all; then gaps, and a colour that nobody has seen."""
    whole = table.slice(0, 60).drop_null()
    n = whole.num_rows
    gaps = whole.set_column(0, "height", pa.nulls(n, pa.float64()))
    gaps = gaps.set_column(3, "colour", pa.array([None, "violet", ""] * n, pa.string())[:n])
    return pa.concat_tables([whole, gaps]), n


@pytest.mark.parametrize("target", TASKS)
def test_every_task_goes_from_a_file_to_formulas_that_agree(select, path, target, others, tmp_path):
    pytest.importorskip("onnx")
    files = {ending: tmp_path / f"score.{ending.lower()}" for ending in RUNS}
    exports = [part for name in {*files.values()} for part in ("--export", name)]
    found = select(path, "-t", target, *others(target), *OPTIONS, *exports).json
    names = {feature["name"].partition(" = ")[0] for feature in found["features"]}
    assert {"height", "weight"} <= names
    rows, n_whole = odd_rows(make_table())
    n_outputs = {"two classes": 2, "3 classes": 3, "regression": 1}[TASKS[target]]
    outputs, labels = {}, {}
    for ending, run in RUNS.items():
        given = run(files[ending], rows)
        outputs[ending] = np.array([row[-n_outputs:] for row in given], dtype=float)
        labels[ending] = [row[-n_outputs - 1] for row in given if len(row) > n_outputs]
    wanted = model_of(found, rows.slice(0, n_whole))
    for ending in RUNS:
        np.testing.assert_allclose(outputs[ending][:n_whole], wanted, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(outputs[ending], outputs["py"], rtol=1e-9, atol=1e-9)
    if n_outputs == 1:
        # Queries have the sum of the terms beside the prediction, which is clipped.
        assert [len(labels[ending]) for ending in RUNS] == [0, len(rows), len(rows), 0]
        np.testing.assert_allclose(labels["sql"][:n_whole], wanted[:, 0], rtol=1e-9)
    else:
        assert all(labels[ending] == labels["py"] for ending in RUNS)
    # All rows, those with gaps too, are scored.
    assert np.isfinite(outputs["py"]).all()
    if n_outputs == 3:
        best = outputs["py"].argmax(axis=1)
        assert labels["py"] == [found["target"]["classes"][i] for i in best]


# ---- Answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "title"), TASKS.items())
def test_the_terminal_says_what_the_target_was_taken_for(select, path, target, others, title):
    out = " ".join(select(path, "-t", target, *others(target), *OPTIONS[:-1]).out.split())
    score = "R²" if target == "price" else "AUC"
    assert f"Task {title} '{target}' " in out
    assert re.search(rf"{score} validation [\d.]+ ± [\d.]+ .* held out [\d.]+ 95 % interval", out)
    sentences = {
        "late": "tell late = yes from no with an AUC of",
        "kind": "tell the 3 classes of kind apart with a mean AUC of",
        "price": "predict price with an R² of",
    }
    assert sentences[target] in out
    assert ("Odds ratio" in out) == (target == "late")


@pytest.mark.parametrize("target", TASKS)
def test_the_answer_for_machines_names_the_task(select, write, target, others):
    found = select(write(make_table()), "-t", target, *others(target), *OPTIONS).json
    assert found["task"] == ("regression" if target == "price" else "classification")
    assert found["task_note"].startswith(f"'{target}' ")
    scores = found["scores"]
    assert scores["scoring"] == {"late": "roc_auc", "kind": "roc_auc_ovr", "price": "r2"}[target]
    assert scores["test"]["low"] < scores["test"]["value"] < scores["test"]["high"]
    assert scores["test"]["n_rows"] == found["rows"]["test"] == 80
    if target == "price":
        assert (found["target"]["classes"], found["target"]["counts"]) == ([], {})
        assert found["target"]["mean"] == pytest.approx(1000, abs=10)
        assert found["target"]["standard_deviation"] == pytest.approx(36, rel=0.3)
    else:
        assert sum(found["target"]["counts"].values()) == found["rows"]["train"]


@pytest.mark.parametrize("target", TASKS)
def test_all_questions_have_answers_in_every_task(select, write, target, others, tmp_path):
    page = tmp_path / "page.html"
    found = select(
        *(write(make_table()), "-t", target, *others(target), "--missing", "drop-columns"),
        *("-k", 1, "--json", "--prove", 5, "--stability", 4, "--report", page),
    ).json
    assert found["proof"]["optimal"]
    assert found["near_ties"]["exact"]
    assert found["stability"]["n_resamples"] == 4
    assert found["substitutes"]
    assert "Would other rows choose the same?" in page.read_text()


@pytest.mark.parametrize("target", ["kind", "price"])
def test_other_tasks_are_read_in_passes_too(select, write, target, others, tmp_path):
    table = make_table(4000).set_column(0, "height", make_table(4000)["height"].fill_null(0.0))
    wishes = (write(table), "-t", target, *others(target), "--missing", "drop-rows", "-k", 3)
    found = select(*wishes, "--json").json
    exports = [
        *("--export", tmp_path / "m.py", "--export", tmp_path / "m.sql"),
        *("--stability", 4, "--prove", 1, "--report", tmp_path / "page.html"),
    ]
    streamed = select(*wishes, "--stream", "--sample-rows", 1500, "--json", *exports).json
    assert {f["name"].split(" = ")[0] for f in streamed["features"]} == {
        f["name"].split(" = ")[0] for f in found["features"]
    }
    assert sum(streamed["rows"].values()) == sum(found["rows"].values())
    for kind, key in (("validation", "mean"), ("test", "value")):
        ours, theirs = (each["scores"][kind][key] for each in (streamed, found))
        assert ours == pytest.approx(theirs, abs=0.06)
    # What is tested on are held-out rows of the sample, and the note says so.
    assert 0 < streamed["scores"]["test"]["n_rows"] < streamed["rows"]["test"]
    of_sample = "scores" if target == "kind" else "the held-out score"
    assert f"rows) are {of_sample}, what columns hold" in streamed["notes"][0]
    close = 0.3 if target == "kind" else 3.0
    coefficients = {f["name"]: f for f in found["features"]}
    for feature in streamed["features"]:
        if feature["name"] in ("height", "weight"):
            key = "coefficients" if target == "kind" else "coefficient"
            own = coefficients[feature["name"]][key]
            np.testing.assert_allclose(feature[key], own, atol=close)
    assert streamed["substitutes"]
    assert (tmp_path / "m.sql").exists()


# ---- What the target is taken for ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "task", "message"),
    [
        ((), "3 classes", "has 3 values, all of them whole numbers; for a quantity say --task reg"),
        (("--task", "regression"), "regression", "is a quantity, as asked for."),
        (("--task", "classification"), "3 classes", "has 3 values: classes, as asked for."),
        (("--positive", "2"), "two classes", "has 3 values, one against the rest."),
    ],
)
def test_task_overrules_what_the_values_look_like(select, write, options, task, message):
    table = make_table()
    kinds = {"big one": 1, "other": 2, "Small": 3}
    grade = [kinds[kind] for kind in table["kind"].to_pylist()]
    table = table.select(["weight", "noise"]).append_column("grade", pa.array(grade))
    out = " ".join(select(write(table), "-t", "grade", "-k", 1, *options).out.split())
    assert f"Task {task} 'grade' {message}" in out


@pytest.mark.parametrize(
    ("target", "options", "code", "message"),
    [
        ("town", (), 1, "has 57 values (town 0, town 1, town 10, town 11, town 12, …), too many"),
        ("town", (), 1, "Up to 50 are classes if you say so, with --task classification;"),
        ("town", ("--task", "regression"), 2, "holds text, not numbers: there is nothing to"),
        ("price", ("--task", "classification"), 1, "too many for classes: up to 50 are taken"),
        ("price", ("--positive", "1"), 2, "can be the positive class. Leave out --positive;"),
        ("price", ("--positive", "1", "--task", "regression"), 2, "--positive names a class"),
        ("price", ("--class-weight", "balanced"), 2, "--class-weight is for classes, and 'price'"),
        ("rare", (), 1, "3 are of class 'c'; at least 10 are needed to learn from."),
        ("rare", (), 1, "join it with another class, or leave its rows out"),
        ("kind", ("--task", "clusters"), 2, "clusters"),
    ],
)
def test_what_can_not_be_is_refused_in_words(select, write, target, options, code, message):
    table = make_table()
    table = table.append_column("town", pa.array([f"town {i % 57}" for i in range(N)]))
    table = table.append_column("rare", pa.array(["a", "b"] * (N // 2 - 2) + ["c"] * 3 + ["a"]))
    error = select(
        write(table), "-t", target, "--missing", "median", "-k", 1, *options, code=code
    ).err
    assert message in " ".join(re.sub("[│╭╮╰╯─]", " ", error).split())


def test_more_classes_than_are_guessed_can_be_asked_for(select, write):
    table = make_table()
    table = table.append_column("town", pa.array([f"town {i % 26:02d}" for i in range(N)]))
    wishes = (write(table), "-t", "town", "--missing", "median", "-k", 1)
    assert "too many for classes" in select(*wishes, code=1).err
    out = select(*wishes, "--task", "classification").out
    assert "26 classes" in out
    found = select(*wishes, "--task", "classification", "--json").json
    assert len(found["intercepts"]) == 26


def test_gaps_that_tell_the_target_are_named_in_every_task(select, write):
    table = make_table().drop_columns(["height", "colour"])
    price = np.array(table["price"].to_pylist())
    gap = price > np.quantile(price, 0.8)
    table = table.append_column("rate", pa.array(price.round(0) % 7, mask=gap))
    error = " ".join(select(write(table), "-t", "price", code=1).err.split())
    assert "mean price there elsewhere" in error
    assert re.search(r"Whether rate is missing explains [\d.]+ % of the variance of price", error)
    assert "--missing drop-rows leaves 320 of 400 rows" in error
    found = select(write(table), "-t", "price", "--missing", "drop-rows", "-k", 1, "--json").json
    bent = [e["text"] for e in found["warnings"] if e["kind"] == "rows_left_bend_the_target"]
    assert "moves the mean of price from" in bent[0]
    kind = np.array(table["kind"].to_pylist())
    table = table.set_column(
        table.column_names.index("rate"), "rate", pa.array(price.round(0) % 7, mask=kind == "other")
    )
    error = " ".join(select(write(table), "-t", "kind", code=1).err.split())
    assert "least in class most in class" in error
    assert "Whether rate is missing tells class other from the rest with an AUC of 1.000" in error


def test_help_says_what_the_target_is_taken_for(safdr):
    text = " ".join(re.sub("[│╭╮╰╯─]", " ", safdr("select", "--help-all").out).split())
    assert "--task" in text
    assert "up to 10 whole numbers are classes, other numbers a quantity" in text
