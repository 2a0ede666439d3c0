"""What stands in the way comes first, and the headline does not boast against it."""

import re
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.model_selection import ShuffleSplit

from helpers.html import HOSTILE, parsed
from report_cases import auc_with_interval
from safdr import SelectionReport
from safdr.report.leaks import describe_leaks
from safdr.report.score_tests import describe_agreement, describe_guessing
from safdr.report.text import labels_of
from safdr.report.warnings import describe_warnings
from safdr.report.words import explanation, headline

UNSTABLE = {
    **{"reason": None, "features": [], "stand_ins": [], "n_resamples": 9, "resample": "halves"},
    **{"index": 0.3, "index_interval": [0.2, 0.4]},
}
KEYS = ["kind", "serious", "title", "text", "advice", "columns"]


def kinds(content):
    return [each["kind"] for each in describe_warnings(content)]


def words_of(report):
    return " ".join("".join(parsed(report.to_html()).text).split())


@pytest.fixture
def sound(report):
    """A report that there is nothing to say against."""
    content = report.to_dict()
    content["trace"]["converged"] = True
    content["rows"]["train"], content["target"]["counts"] = 4000, {"0": 2000, "1": 2000}
    content["scores"]["test"].update(low=0.8, high=0.9)
    best = max(content["path"], key=lambda each: each["mean"])["mean"]
    for each in content["path"]:
        each["mean"] = best
    content["warnings"] = describe_warnings(content)
    assert content["warnings"] == []
    return content


# ---- Each of them -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "kind"),
    [
        ("separated", True, "separated"),
        ("trace__converged", False, "not_settled"),
        ("size__largest", 2, "largest_size"),
        ("rows__train", 99, "few_rows"),
        ("target__counts", {"0": 2000, "1": 19}, "few_rows"),
        ("size__columns", 201, "few_rows"),
        ("scores__test__low", 0.74, "few_held_out_rows"),
        ("scores__guessing__p_value", 0.02, "no_better_than_guessing"),
        ("scores__agreement__p_value", 0.04, "held_out_differs"),
        ("path__0__mean", 1.0, "small_size_costs"),
        ("selection__share", None, "other_rows_choose_other_features"),
        ("stability", UNSTABLE, "other_rows_choose_other_features"),
    ],
)
def test_each_is_found_when_it_is_there_alone(sound, path, value, kind):
    *parents, last = path.split("__")
    part = sound
    for parent in parents:
        part = part[int(parent) if parent.isdigit() else parent]
    part[last] = value if value is not None else [[0.2] * len(s) for s in part[last]]
    assert kinds(sound) == [kind]
    (found,) = sound["warnings"] = describe_warnings(sound)
    assert list(found) == KEYS
    text = words_of(SelectionReport(sound))
    assert (kind == "small_size_costs") == ("somewhat less well than 1 would" in text)
    assert all(found[key] in text for key in ("title", "text", "advice"))
    assert text.index(found["title"]) < text.index("The chosen features")


@pytest.mark.parametrize(
    ("by_rule", "named"),
    [
        ({"one_sd": 2, "one_se": 1, "tolerance": 4, "best": 6}, "the rule tolerance or best."),
        ({"one_sd": 2, "one_se": 3, "tolerance": 4, "best": 6}, "one_se, tolerance or best."),
        ({"one_sd": 2, "one_se": 2, "tolerance": 2, "best": 6}, "the rule best."),
        ({"one_sd": 2, "one_se": 2, "tolerance": 1, "best": 1}, "the rule best."),
    ],
)
def test_where_the_size_has_its_price_rules_that_take_more_are_named(sound, by_rule, named):
    sound["size"] |= {"by_rule": by_rule, "chosen": 2}
    sound["path"][0]["mean"] = 1.0
    (found,) = (each for each in describe_warnings(sound) if each["kind"] == "small_size_costs")
    assert found["advice"].endswith(named)


def test_classes_of_a_handful_are_named(classes_report):
    content = classes_report.to_dict()
    labels = list(content["target"]["counts"])
    content["target"]["counts"] = dict.fromkeys(labels, 500) | {labels[2]: 7, labels[3]: 19}
    (found,) = (e for e in describe_warnings(content) if e["kind"] == "classes_of_a_handful")
    assert f"{labels[2]} (7), {labels[3]} (19): fewer than 20" in found["text"]


def test_serious_ones_come_first_and_those_given_find_their_place(sound):
    sound["separated"] = True
    sound["scores"]["agreement"]["p_value"] = 0.0
    given = {"title": HOSTILE[0], "text": HOSTILE[6], "advice": HOSTILE[2], "serious": True}
    found = sound["warnings"] = describe_warnings(sound, [given])
    assert [each["kind"] for each in found] == ["held_out_differs", "given", "separated"]
    assert found[1] == {"kind": "given", **given, "columns": []}
    assert "<script>document" not in SelectionReport(sound).to_html()


@pytest.mark.parametrize("wrong", ["text", {"title": "a", "text": "b"}, {"title": 1}])
def test_what_is_given_must_say_what_to_do(searched, wrong):
    search, X, y = searched
    with pytest.raises(ValueError, match="a title, a text and an advice"):
        SelectionReport.from_estimator(search, X[:200], y[:200], warnings=[wrong])


# ---- The headline -------------------------------------------------------------------------------


def test_the_headline_does_not_boast(sound):
    """The example of a score on a few held-out rows that validation speaks against."""
    test = {"value": 0.828, "low": 0.592, "high": 0.941, "method": "DeLong", "n_rows": 20}
    validation = {"mean": 0.442, "std": 0.11, "splits": [0.3, 0.35, 0.45, 0.5, 0.61]}
    sound["scores"].update(
        test=test,
        validation=validation,
        agreement=describe_agreement(test, validation),
        guessing=describe_guessing(test, validation, 0.5),
    )
    sound["warnings"] = describe_warnings(sound)
    assert kinds(sound)[:2] == ["no_better_than_guessing", "held_out_differs"]
    assert "could be shown to" in headline(sound, labels_of(sound))
    assert "82.8 %" not in " ".join(explanation(sound))
    # Better than guessing by both, but far apart: the lower score is told.
    sound["scores"]["guessing"]["p_value"] = 1e-9
    assert "features seem to tell" in headline(sound, labels_of(sound))
    first = explanation(sound)[0]
    assert "44.2 % of the time" in first
    assert "held-out" not in first


def test_without_a_serious_warning_the_claim_is_plain(sound):
    assert "features tell" in headline(sound, labels_of(sound))
    sound["separated"] = True
    sound["warnings"] = describe_warnings(sound)
    assert "features tell" in headline(sound, labels_of(sound))


# ---- Columns that give the target away ----------------------------------------------------------


def leaks(columns, y):
    X = np.column_stack(columns).astype(float)
    names = [f"x{i}" for i in range(X.shape[1])]
    classes = None if y.dtype.kind == "f" else np.unique(y)
    return describe_leaks(np.arange(X.shape[1]), X, y, names, classes)


def test_a_column_that_tells_the_classes_apart_alone(searched):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 3000)
    noise = rng.random(3000)
    out_of_order = np.array([5, -2, 1])[y] + noise
    nearly = np.where(np.arange(3000) == 7, 2.5, out_of_order)  # one row of the wrong range
    often_wrong = np.where(np.arange(3000) % 200 == 0, 2.5, out_of_order)
    one_class_only = np.where(y == 2, 9, noise)
    found = leaks([noise, out_of_order, nearly, often_wrong, one_class_only], y)
    assert [each["name"] for each in found] == ["x1", "x2"]
    assert all(each["class"] is None for each in found)
    assert [each["index"] for each in leaks([noise, -10 * y], y)] == [1]


def test_a_level_that_goes_with_one_class():
    rng = np.random.default_rng(1)
    y = (rng.random(20_000) < 0.1).astype(int)
    rare = np.arange(20_000) % 400 == 0  # 50 rows, of which all may be of class 0 by chance
    y[rare] = 0
    found_out = y * (rng.random(20_000) < 0.3)
    found = leaks([found_out, rare, rng.random(20_000) < 0.5, 1 - found_out], y)
    assert [(e["name"], e["class"], e["share"], e["value"]) for e in found] == [
        ("x0", 1, 1.0, 1.0),
        ("x3", 1, 1.0, 0.0),
    ]
    assert found[0]["n_rows"] == found_out.sum()


def test_a_column_that_is_the_number_to_predict():
    rng = np.random.default_rng(2)
    y = rng.normal(size=500)
    found = leaks([3 - 2 * y, np.exp(3 * y), y + rng.normal(size=500), np.ones(500)], y)
    assert [each["name"] for each in found] == ["x0", "x1"]


def test_leaks_are_told_in_words(sound, measured_report):
    leak = {"name": HOSTILE[-1], "index": 0, "n_rows": 1200, "class": None, "share": None}
    level = {"name": "fate = sold", "index": 1, "n_rows": 1200, "class": 1, "share": 1.0}
    level["value"] = 1.0
    sound["leaks"] = [level, {**level, "share": 0.9992, "value": 0.0}]
    (found,) = describe_warnings(sound)
    assert found["text"] == (
        "All of the 1,200 rows with fate = sold are of class 1; 99.9 % of the 1,200 rows with "
        "fate = sold = 0 are of class 1."
    )
    assert found["columns"] == ["fate = sold"]
    content = measured_report.to_dict()
    content["leaks"] = [leak]
    (found,) = (e for e in describe_warnings(content) if e["kind"] == "gives_the_target_away")
    assert re.match(r"W+…W+ alone tells the target, but for its scale", found["text"])
    assert len(found["text"]) < 120
    assert found["columns"] == [HOSTILE[-1]]


# ---- Tests of scores ----------------------------------------------------------------------------


def drawn_scores(rng, auc, n):
    """Scores of two normal classes with a given area."""
    y = np.arange(n) % 2
    return rng.normal(size=n) + np.sqrt(2) * norm.ppf(auc) * y, y


def area(score, y):
    """The share of pairs in the right order."""
    return (score[y == 1][:, None] > score[y == 0]).mean()


def scores_of(rng, auc, auc_held_out):
    """A held-out score, and five validation splits of other rows."""
    score, y = drawn_scores(rng, auc, 240)
    splits = ShuffleSplit(5, test_size=0.25, random_state=int(rng.integers(1000)))
    each = [area(score[rows], y[rows]) for _, rows in splits.split(y)]
    validation = {"mean": np.mean(each), "std": np.std(each), "splits": each}
    score, y = drawn_scores(rng, auc_held_out, 60)
    return auc_with_interval(score[y == 1], score[y == 0]), validation


def test_scores_that_agree_are_seldom_called_different_and_others_often():
    rng = np.random.default_rng(0)
    alike = [describe_agreement(*scores_of(rng, 0.8, 0.8))["p_value"] for _ in range(300)]
    assert np.mean(np.array(alike) < 0.01) < 0.03
    assert 0.01 < np.mean(np.array(alike) < 0.1) < 0.2
    apart = [describe_agreement(*scores_of(rng, 0.85, 0.5))["p_value"] for _ in range(50)]
    assert np.mean(np.array(apart) < 0.01) > 0.8


def test_guessing_is_seldom_taken_for_more_and_more_seldom_for_guessing():
    rng = np.random.default_rng(1)
    nothing = [describe_guessing(*scores_of(rng, 0.5, 0.5), 0.5)["p_value"] for _ in range(300)]
    assert np.mean(np.array(nothing) < 0.01) < 0.03
    much = [describe_guessing(*scores_of(rng, 0.75, 0.75), 0.5)["p_value"] for _ in range(50)]
    assert np.mean(np.array(much) < 0.01) > 0.9


def test_agreement_by_hand():
    """Welch's test, written out."""
    test = {"value": 0.7, "low": 0.6, "high": 0.79}
    validation = {"mean": 0.8, "std": 0.02, "splits": [0.78, 0.82, 0.78, 0.82, 0.8]}
    towards = (0.79 - 0.7) / norm.ppf(0.975)
    of_mean = 0.02**2 * 5 / 4 * (1 / 5 + 1 / 3)
    found = describe_agreement(test, validation)
    assert found["difference"] == pytest.approx(-0.1)
    assert found["standard_error"] == pytest.approx(np.sqrt(towards**2 + of_mean))
    assert 0.02 < found["p_value"] < 0.1
    # The nearer, the likelier.
    scores = ({"value": v, "low": v - 0.1, "high": v + 0.09} for v in (0.6, 0.7, 0.75, 0.8))
    nearer = [describe_agreement(score, validation)["p_value"] for score in scores]
    assert all(a < b for a, b in pairwise(nearer))


@pytest.mark.parametrize(
    ("test", "validation"),
    [
        (None, {"mean": 0.8, "std": 0.1, "splits": [0.7, 0.9]}),
        ({"value": 0.8, "low": 0.7, "high": 0.9}, None),
        ({"value": 0.8, "low": None, "high": None}, {"mean": 0.7, "std": 0.0, "splits": [0.7]}),
        ({"value": 1.0, "low": None, "high": None}, {"mean": 1.0, "std": 0.0, "splits": [1.0, 1]}),
        ({"value": 1.0, "low": 0.9, "high": 1.0}, {"mean": 0.5, "std": 0.0, "splits": [0.5] * 3}),
    ],
)
def test_scores_without_a_spread_give_numbers_or_none(test, validation):
    for found in (describe_agreement(test, validation), describe_guessing(test, validation, 0.5)):
        assert found is None or 0 <= found["p_value"] <= 1


def test_one_split_and_a_score_without_an_interval_say_nothing_of_agreement():
    """As with scoring="accuracy" and a single validation split: no error is known."""
    test = {"value": 0.8, "low": None, "high": None}
    assert describe_agreement(test, {"mean": 0.81, "std": 0.0, "splits": [0.81]}) is None
