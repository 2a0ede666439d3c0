"""Two results side by side: what changed, whether scores differ, files that are no results."""

import copy
import json

import numpy as np
import pytest

from safdr.report.comparison import ResultFileError, compare, read_result, words

NAMES = ("a.json", "b.json")


@pytest.fixture(scope="module")
def content(report):
    return json.loads(json.dumps(report.to_dict()))


@pytest.fixture
def other(content):
    return copy.deepcopy(content)


def test_a_result_is_the_same_as_itself(content):
    found = compare(content, content, NAMES)
    assert found["same_features"]
    assert found["counts"] == {"both": len(content["features"]), "first": 0, "second": 0}
    assert (found["remarks"], found["settings"]) == ([], [])
    assert all(each["change"] is None for each in found["features"])
    test, validation = found["scores"]["test"], found["scores"]["validation"]
    assert (test["difference"], test["within"]) == (0, True)
    assert (validation["same_splits"], validation["n_second_better"]) == (True, 0)
    assert (found["identical"], test["same_rows"], validation["n_ties"]) == (True, True, 5)
    assert words.headline(found).startswith("The two are the same")
    assert words.held_out_verdict(found).endswith("on held-out rows in both.")


def test_on_the_same_rows_the_interval_is_the_widest_that_may_be(content, other):
    other["scores"]["test"]["value"] -= 1e-4
    found = compare(content, other, NAMES)
    assert not found["identical"]
    assert "at the widest" in words.held_out_verdict(found)
    assert words.held_out_verdict(found).endswith("no difference is shown.")
    assert "better in 0 of 5 splits and ties in 5;" in words.validation_verdict(found)
    other["settings"]["random_state"] += 1
    found = compare(content, other, NAMES)
    assert not found["scores"]["test"]["same_rows"]
    assert "at the widest" not in words.held_out_verdict(found)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([None, True], ["off", "on"]),
        ([True, False], ["on", "off"]),
        ([None, 1], ["default", "1"]),
        (["auto", True], ["auto", "on"]),
    ],
)
def test_what_is_only_on_or_off_is_called_so(values, said):
    assert words.setting_pair(values) == said


def change_of(content, other, i=0):
    name = content["features"][i]["name"]
    found = compare(content, other, NAMES)["features"]
    return next(each["change"] for each in found if each["name"] == name)


@pytest.mark.parametrize(
    ("factor", "change"),
    [(-1, "sign"), (1.6, "larger"), (0.6, "smaller"), (1.4, None), (0, "smaller")],
)
def test_coefficients_that_changed(content, other, factor, change):
    other["features"][0]["standardised_coefficient"] *= factor
    assert change_of(content, other) == change
    # Of other classes a sign means something else.
    other["target"]["classes"].reverse()
    assert change_of(content, other) is None
    assert "another order" in compare(content, other, NAMES)["remarks"][0]["text"]


def test_features_in_and_out(content, other):
    gone = other["features"].pop(0)
    other["features"] += [{**gone, "name": "new"}, {**gone, "name": "new"}]
    found = compare(content, other, NAMES)
    places = [(each["name"], each["where"]) for each in found["features"]]
    assert (gone["name"], "first") in places
    assert places.count(("new", "second")) == 2
    assert all(each["effects"][0] is None for each in found["features"] if each["name"] == "new")
    assert words.headline(found).endswith("1 only in the first, 1 only in the second.")
    del other["features"][:1]
    assert words.headline(compare(content, other, NAMES)) == "They have no feature in common."


def test_a_sign_has_changed_where_it_has_for_any_class(content, other):
    before = copy.deepcopy(content)
    for result, of_classes in ((before, [1, 2, -3]), (other, [1, -1, -2])):
        one = {"standardised_coefficient": None, "standardised_coefficients": of_classes}
        result["features"][0] |= one
    assert change_of(before, other) == "sign"
    other["features"][0]["standardised_coefficients"] = [2, 1, -3]
    assert change_of(before, other) is None


def test_the_interval_of_a_difference_is_that_of_independent_estimates(content, other):
    """Of symmetric intervals it is the usual one: standard errors add up in squares."""
    before, errors = copy.deepcopy(content), (0.01, 0.02)
    for result, value, error in zip((before, other), (0.7, 0.76), errors, strict=True):
        ends = {"low": value - 1.96 * error, "high": value + 1.96 * error}
        result["scores"]["test"] |= {"value": value, **ends}
    found = compare(before, other, NAMES)
    test, half = found["scores"]["test"], 1.96 * np.hypot(*errors)
    assert [test["low"], test["high"]] == pytest.approx([0.06 - half, 0.06 + half])
    assert test["within"] is False
    assert "the second is better" in words.held_out_verdict(found)


@pytest.mark.parametrize(
    ("change", "said", "compared"),
    [
        ({"target": {"name": "other"}}, "The targets differ", False),
        ({"task": "regression"}, "The tasks differ", False),
        ({"scores": {"scoring": "accuracy"}}, "The scores differ", False),
        ({"data_fingerprint": "sha256:0"}, "The data to learn from differ", True),
        ({"rows": {"test": 7}}, "7 rows were held out", True),
        ({"versions": {"safdr": "9.9"}}, "made by safdr", True),
    ],
)
def test_what_stands_in_the_way_is_said(content, other, change, said, compared):
    for key, value in change.items():
        other[key] = {**other[key], **value} if isinstance(value, dict) else value
    found = compare(content, other, NAMES)
    assert any(said in each["text"] for each in found["remarks"])
    assert (found["scores"]["test"] is not None) == compared
    assert any(each["serious"] for each in found["remarks"]) == (not compared)


# ---- Files --------------------------------------------------------------------------------------


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "r.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_result_is_read_as_it_was_written(content, write):
    assert read_result(write(json.dumps(content))) == content


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"\xff\xfe\x00", "is no text"),
        ("", "is no JSON, or damaged in line 1"),
        ("[1, 2]", "is JSON, but no result"),
        ('{"a": 1}', "is JSON, but no result"),
        ('{"schema_version": 7, "versions": {"safdr": "9"}}', r"version 7 \(made by safdr 9\)"),
        ('{"schema_version": 1}', "is a damaged result: 'title'"),
        ('{"schema_version": NaN}', "is no JSON, or damaged"),
        ("[" * 100_000, "is no JSON, or damaged"),
    ],
)
def test_what_is_no_result_is_told(write, text, said):
    with pytest.raises(ResultFileError, match=said):
        read_result(write(text))


def test_a_damaged_result_is_told_wherever_it_is_damaged(content, write, tmp_path):
    whole = json.dumps(content)
    for end in range(0, len(whole) - 1, len(whole) // 40):
        with pytest.raises(ResultFileError):
            read_result(write(whole[:end]))
    for key in ("features", "scores", "target", "data_fingerprint"):
        with pytest.raises(ResultFileError, match=key):
            read_result(write(json.dumps({**content, key: None})))
    with pytest.raises(ResultFileError, match="features"):
        read_result(write(json.dumps({**content, "features": [{"name": "x"}]})))
    with pytest.raises(ResultFileError, match="can't be read"):
        read_result(tmp_path)
