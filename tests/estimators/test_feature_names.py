import numpy as np
import pytest

from safdr._estimators.feature_names import FeatureSpec

NAMED = FeatureSpec(4, np.array(["age", "height", "weight", "pulse"]))
PLAIN = FeatureSpec(4, None)


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        (None, []),
        ([], []),
        ("weight", [2]),
        (3, [3]),
        (-1, [3]),
        (np.int64(1), [1]),
        (["pulse", "age"], [0, 3]),
        (np.array(["pulse", "age"]), [0, 3]),
        (("age", 2), [0, 2]),
        ({"age"}, [0]),
        ([0, 0, 1], [0, 1]),
        (np.array([True, False, False, True]), [0, 3]),
        ([True, False, False, True], [0, 3]),
    ],
)
def test_names_indices_and_masks_become_columns(given, columns):
    found = NAMED.columns(given, "always_include")
    assert found.tolist() == columns
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    ("spec", "given", "message"),
    [
        (NAMED, "heigth", "names the feature 'heigth', which X lacks. Did you mean 'height'"),
        (NAMED, "zzz", "names the feature 'zzz', which X lacks.$"),
        (PLAIN, "age", "X has no column names: pass a data frame, or indices"),
        (NAMED, 4, "holds the index 4, but X has 4 columns, 0 to 3"),
        (NAMED, [1.5], "must hold names of columns, their indices, or one mask.*got 1.5"),
        (NAMED, [[1, 2]], "must hold names of columns"),
        (NAMED, [True, False], r"mask of shape \(2,\); it must have one entry for each of the 4"),
    ],
)
def test_what_is_no_feature_is_named(spec, given, message):
    with pytest.raises(ValueError, match=f"never_include .*{message}|never_include {message}"):
        spec.columns(given, "never_include")


@pytest.mark.parametrize("given", [[["age", "pulse"], [1]], {"a": ["age", "pulse"], "b": [1]}])
def test_sets_come_as_a_sequence_or_a_dict(given):
    assert [s.tolist() for s in NAMED.sets(given, "groups")] == [[0, 3], [1]]


def test_one_set_without_its_second_brackets_is_explained():
    with pytest.raises(ValueError, match=r"single feature 'age' among them.*groups=\[\[…\]\]"):
        NAMED.sets(["age", "pulse"], "groups")
    with pytest.raises(ValueError, match="groups must be a sequence of sets"):
        NAMED.sets("age", "groups")


def test_numbers_come_one_a_column_or_as_a_dict():
    assert NAMED.numbers([1, 2, 3, 4], "feature_cost").tolist() == [1, 2, 3, 4]
    assert NAMED.numbers({"weight": 2, 0: 1.5}, "feature_cost").tolist() == [1.5, 0, 2, 0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2], r"one number for each of the 4 features.*got shape \(2,\)"),
        ([1, 2, 3, np.nan], "must be finite; got nan for 'pulse'"),
        ({"age": "much"}, "must hold numbers; got 'much' for 'age'"),
        ("much", "must hold numbers; got 'much'"),
    ],
)
def test_costs_that_are_none_are_named(given, message):
    with pytest.raises(
        ValueError, match=f"feature_cost {message}|feature_cost must hold {message}"
    ):
        NAMED.numbers(given, "feature_cost")


@pytest.mark.parametrize("given", [{"age": "-"}, "-"])
def test_signs_that_are_none_are_named(given):
    with pytest.raises(ValueError, match="signs must hold 1, -1 or 0; got '-'"):
        NAMED.signs(given)
