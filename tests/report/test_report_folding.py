"""Models of many columns, bars that outdo others, and other sets: what the page makes of them."""

import re

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from helpers.html import parsed
from safdr import SelectionReport
from safdr.report import charts
from safdr.report.charts.alternatives import difference, differing
from safdr.report.folding import dominated, effect_rows, member_label
from safdr.report.text import feature_labels_of, labels_of
from safdr.report.text import width as text_width

# ---- A large group is one row -------------------------------------------------------------------


def test_a_large_group_has_one_bar_and_its_effect_is_that_of_its_columns_together(folded_report):
    content = folded_report.to_dict()
    (group,) = content["group_effects"]
    assert (group["name"], group["n_columns"]) == ("job", 12)
    kinds = [None if feature is None else feature["name"] for feature, _ in effect_rows(content)]
    assert kinds == ["income", None]
    for width in (720, 358):
        texts = "".join(parsed(charts.draw_coefficients(content, labels_of(content), width)).text)
        assert "job (12 columns)" in texts
        assert "job = 3" not in texts


def test_the_effect_of_a_group_by_hand(grouped):
    _, report = grouped
    content = report.to_dict()
    # The rows are those of the fixture: a group adds up to a column of its own.
    from report_cases import rows

    X, _ = rows(8)
    for group in content["group_effects"]:
        own = [f for f in content["features"] if f["group"] == group["name"]]
        total = sum(f["coefficient"] * X[:, f["index"]] for f in own)
        assert group["effects"] == [pytest.approx(total.std())]
    assert {g["name"] for g in content["group_effects"]} == {
        f["group"] for f in content["features"]
    } - {None}


def test_values_stand_below_their_category():
    assert member_label("job = cook", "job") == "= cook"
    assert member_label("jobs", "job") == "jobs"
    assert member_label("job = cook", None) == "job = cook"


# ---- One dominant coefficient does not flatten the rest -----------------------------------------


@pytest.mark.parametrize(
    ("values", "cut"),
    [
        ([50.0, -2.0, 1.0], 2.5),
        ([500.0, -480.0, 2.0, 1.0, 0.5, 0.1], 2.5),
        ([5.0, 2.0, 1.0], None),
        ([50.0, 2.0], None),
        ([50.0, 40.0, 2.0], None),
        ([1.0, 0.0, 0.0], None),
        ([], None),
    ],
)
def test_where_bars_are_cut(values, cut):
    assert dominated(values) == cut


def bars(markup):
    """Lengths of the bars, and the numbers beside them."""
    elements = parsed(markup).found
    styles = ("raises", "lowers", "spread")
    lengths = [float(a["width"]) for tag, a in elements if tag == "rect" and a["class"] in styles]
    return lengths, [a for _, a in elements if a.get("class") == "cut"]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_bar_that_outdoes_the_others_is_cut_and_says_so(measured_report, sign):
    content = measured_report.to_dict()
    for feature, value in zip(content["features"], (900.0, 2.0, -1.0, 0.5), strict=True):
        feature["standardised_coefficient"] = sign * value
        feature["strength"] = abs(value)
    lengths, cuts = bars(charts.draw_coefficients(content, labels_of(content), 720))
    assert lengths[0] / lengths[1] == pytest.approx(1.25, rel=0.01)
    assert lengths[1] / lengths[2] == pytest.approx(2, rel=0.01)
    assert len(cuts) == 1
    page = SelectionReport(content).to_html()
    assert "A bar with a slash is cut short" in page
    assert f"{'+' if sign > 0 else '−'}900" in page
    assert "with a slash" not in measured_report.to_html()


def test_one_cell_does_not_pale_the_others(classes_report):
    content = classes_report.to_dict()
    content["features"] = [
        {**content["features"][0], "index": i, "standardised_coefficients": [1.0, *[0.5] * 7]}
        for i in range(2)
    ]
    content["features"][0]["standardised_coefficients"] = [100.0, *[1.0] * 7]
    markup = charts.draw_coefficients_by_class(content, {0: "a", 1: "b"}, 720)
    strong = sorted({float(s) for s in re.findall(r'fill-opacity="([\d.]+)"', markup)})
    assert strong == [0.2, 0.4, 0.5]


# ---- Other good sets ----------------------------------------------------------------------------


def test_what_was_replaced_by_what_is_said_of_both_sides():
    labels = {i: f"feature {i}" for i in range(9)}
    assert difference(([1], [2]), labels, 400)[0] == "feature 1 for feature 2"
    assert difference(([1, 3], [2, 4]), labels, 400)[0] == (
        "feature 1, feature 3 for feature 2, feature 4"
    )
    short, full = difference(([1, 3, 5, 7], [2, 4, 6, 8]), labels, 300)
    assert short == "feature 1 +3 for feature 2 +3"
    assert full.split("\n") == [
        *("feature 1, feature 3, feature 5, feature 7", "instead of"),
        "feature 2, feature 4, feature 6, feature 8",
    ]
    # A short side leaves its room to the other.
    assert difference(([1, 3, 5], [2]), labels, 280)[0] == "feature 1, feature 3 +1 for feature 2"
    assert difference(([], [2]), labels, 340)[0] == "without feature 2"
    long = {1: "m" * 300, 2: "W" * 300}
    assert text_width(difference(([1], [2]), long, 400)[0], 13) <= 400
    assert difference(([], []), labels, 400)[0] == "the chosen features"


@pytest.mark.parametrize(
    ("excess", "mark"), [(0.001, "1.0 %"), (0.05, "4 %"), (0.1, "10 %"), (0.4, "40 %")]
)
def test_near_ties_have_short_bars(report, excess, mark):
    """A bar as wide as the scale is a hundredth more loss at least; `mark` is its last one."""
    content = report.to_dict()
    for each in content["alternatives"][1:]:
        each["excess"] = excess
    labels = feature_labels_of(content)
    found = parsed(charts.draw_alternatives(content, labels, 720)).found
    widths = [float(a["width"]) for tag, a in found if a.get("class") == "worse"]
    grid = [float(a["x1"]) for tag, a in found if a.get("class") in ("axis", "grid")]
    last = float(mark.removesuffix(" %")) / 100
    assert widths[1] == pytest.approx(excess / last * (max(grid) - min(grid)), abs=0.2)
    assert f">{mark}<" in charts.draw_alternatives(content, labels, 720)


def score_of(search, subset, X, y, n):
    """The model of the task on some columns, by scikit-learn, scored on the rows after n."""
    train = X[:n][:, subset]
    rows = X[:, subset]
    if hasattr(search, "classes_"):
        rows = (np.clip(rows, train.min(0), train.max(0)) - train.mean(0)) / train.std(0)
    slope = search.calibration_slope_
    if not hasattr(search, "classes_"):
        predicted = slope * LinearRegression().fit(rows[:n], y[:n]).predict(X[:, subset])
        predicted += y[:n].mean() - predicted[:n].mean()
        return r2_score(y[n:], np.clip(predicted, y[:n].min(), y[:n].max())[n:])
    model = LogisticRegression(C=search.C_, tol=1e-10, max_iter=10_000).fit(rows[:n], y[:n])
    if len(search.classes_) == 2:
        return roc_auc_score(y[n:], model.decision_function(rows[n:]))
    scores = slope * model.decision_function(rows)
    codes = np.searchsorted(model.classes_, y[:n])
    again = minimize(lambda b: log_loss(codes, softmax(scores[:n] + b, axis=1)), model.intercept_)
    return roc_auc_score(y[n:], softmax(scores[n:] + again.x, axis=1), multi_class="ovr")


@pytest.mark.parametrize(
    ("searched_name", "report_name"),
    [
        ("searched", "report"),
        ("classes_searched", "classes_report"),
        ("measured_searched", "measured_report"),
    ],
)
def test_each_set_has_its_held_out_score(request, searched_name, report_name):
    search, X, y = request.getfixturevalue(searched_name)
    content = request.getfixturevalue(report_name).to_dict()
    sets = content["alternatives"]
    assert len(sets) > 1
    assert sets[0]["held_out"] == pytest.approx(content["scores"]["test"]["value"])
    for each in sets:
        expected = score_of(search, each["indices"], X, y, 200)
        assert each["held_out"] == pytest.approx(expected, abs=2e-3)


def test_no_held_out_score_where_the_model_is_another_one(searched, fixed):
    search, X, y = searched
    without = SelectionReport.from_estimator(*fixed).to_dict()
    assert all(each["held_out"] is None for each in without["alternatives"])
    # Rows that it was not fitted to give its sets other models than it has.
    other = SelectionReport.from_estimator(
        search, X[50:250], y[50:250], X_test=X[250:], y_test=y[250:]
    )
    sets = other.to_dict()["alternatives"]
    assert all(each["held_out"] is None for each in sets)
    assert "held out" not in charts.draw_alternatives(
        other.to_dict(), feature_labels_of(other.to_dict()), 720
    )


def test_the_difference_of_sets_is_by_features(grouped_report):
    content = grouped_report.to_dict()
    chosen = content["alternatives"][0]
    assert differing(chosen, content) == ([], [])
