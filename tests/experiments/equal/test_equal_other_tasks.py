"""More than two classes and measured outputs: subsets, scores and the page."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score

from experiments.__main__ import main
from experiments.equal.methods import is_measured
from experiments.equal.other_tasks import METHODS, OtherSettings, load, run_cell, score, to_markdown
from experiments.errors import UnknownDataError
from experiments.store import RowStore
from safdr import evaluate_subsets

SETTINGS = OtherSettings(sizes=(1, 2), max_train=60)


def test_products_are_features_of_their_own():
    data = load("diabetes")
    assert data.X.shape == (442, 65)
    square = data.X[:, data.feature_names.index("bmi^2")]
    np.testing.assert_allclose(square, data.X[:, data.feature_names.index("bmi")] ** 2)
    with pytest.raises(UnknownDataError, match="There are: wine, digits, diabetes"):
        load("iris")


def test_labels_may_be_floats_and_quantities_whole_numbers():
    assert not is_measured(np.array([0.0, 1.0, 1.0]))
    assert is_measured(np.round(load("diabetes").y))


@pytest.mark.parametrize("name", ["wine", "diabetes"])
def test_forward_selection_takes_the_least_loss(name):
    data, how = load(name), {"C": 1.0}
    if name == "diabetes":
        how = {"task": "regression"}
    X, y = data.X[:, :10], data.y
    found = METHODS["forward"].subsets(X, y, [1, 2], 0)
    losses = [evaluate_subsets(X, y, [[j]], **how).losses[0] for j in range(10)]
    assert found[0].tolist() == [int(np.argmin(losses))]
    assert found[0][0] in found[1]


def test_models_are_scored_on_rows_that_they_never_saw(rng):
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 3
    X[:, 0] += y
    model = LogisticRegression(max_iter=2000).fit(X[:60], y[:60])
    expected = roc_auc_score(y[60:], model.predict_proba(X[60:]), multi_class="ovr")
    assert score(X[:60], y[:60], X[60:], y[60:]) == pytest.approx(expected)
    z = X[:, 0] + rng.normal(size=90)
    expected = LinearRegression().fit(X[:60], z[:60]).score(X[60:], z[60:])
    assert score(X[:60], z[:60], X[60:], z[60:]) == pytest.approx(expected)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("data", ["wine", "diabetes"])
def test_every_method_serves_every_task(name, data):
    rows = load(data)
    found = METHODS[name].subsets(rows.X[::3, :8], rows.y[::3], [2, 3], 0)
    assert [len(subset) for subset in found] == [2, 3]


def test_a_cell_keeps_to_its_sizes_and_its_rows():
    cell = run_cell(load("diabetes"), METHODS["anova"], 0, SETTINGS)
    assert cell["rows"] == {"all": 442, "train": 60, "test": 382}
    assert [len(subset) for subset in cell["subsets"]] == cell["sizes"] == [1, 2]
    assert cell["scores"] == run_cell(load("diabetes"), METHODS["anova"], 0, SETTINGS)["scores"]


def test_the_page_has_differences_in_pairs(tmp_path, capsys):
    words = ["other", "--out", str(tmp_path), "--repeats", "2", "--data", "wine"]
    main([*words, "--method", "anova,paper"])
    rows, problems = RowStore(tmp_path).read_all()
    assert (len(rows), problems) == (4, [])
    for row in rows:
        row["method"] = {"paper": "recipe"}.get(row["method"], row["method"])
    lead = [
        np.subtract(mine["scores"], theirs["scores"]).mean()
        for mine in rows
        for theirs in rows
        if (mine["method"], theirs["method"]) == ("recipe", "anova")
        and mine["repeat"] == theirs["repeat"]
    ]
    line = next(line for line in to_markdown(rows).splitlines() if line.startswith("| Wine"))
    assert f"{np.mean(lead):+.4f} ± " in line
    assert (tmp_path / "other.md").exists()
    assert "More classes" in capsys.readouterr().out
