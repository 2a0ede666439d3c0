"""From a table to rows of numbers: target, coding, missing values, held-out rows."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from safdr._old_table import errors
from safdr._old_table.choices import Choices
from safdr._old_table.kinds import percent
from safdr._old_table.prepare import prepare

N = 200


@pytest.fixture
def columns(rng):
    return {
        "x": rng.normal(size=N).tolist(),
        "colour": (["red"] * 100 + ["green"] * 60 + ["blue"] * 36 + ["pink"] * 4),
        "y": [0, 1] * (N // 2),
    }


def prepared(columns, **choices):
    choices = {"target": "y", "test_size": 0.0, **choices}
    return prepare(pa.table(columns), Choices(**choices))


def names(found):
    return [feature.name for feature in found.recipe.features]


# ---- Coding -------------------------------------------------------------------------------------


def test_text_is_one_hot_coded_against_its_commonest_value(columns):
    found = prepared(columns)
    assert names(found) == ["x", "colour = green", "colour = blue"]
    assert found.recipe.codings[0].to_dict() == {
        "column": "colour",
        "kind": "one-hot",
        "names": ["colour = green", "colour = blue"],
        "reference": "red",
        "pooled": ["pink"],
        "pooled_rows": [columns["colour"].count("pink")],
    }
    colour = np.array(columns["colour"])
    assert np.array_equal(found.train.X[:, 1], colour == "green")
    assert np.array_equal(found.train.X[:, 2], colour == "blue")


def test_the_commonest_of_very_many_levels_are_coded(columns, rng):
    columns = {name: values * 10 for name, values in columns.items()}
    columns["town"] = [f"town {i}" for i in rng.integers(0, 90, size=10 * N)]
    coding = prepared(columns).recipe.codings[1]
    assert len(coding.levels) == 30
    assert len(coding.levels) + len(coding.pooled) + 1 == len(set(columns["town"]))


def test_text_without_a_common_level_is_left_out(columns):
    columns["town"] = ["here"] * (N - 3) + ["there"] * 3
    columns["street"] = [f"street {i % 70}" for i in range(N)]
    reasons = {each.column: each.reason for each in prepared(columns).left_out}
    assert reasons["town"] == "nearly always the same text"
    assert reasons["street"] == "text with 70 values, each of them rare"


def test_booleans_become_zero_and_one(columns):
    columns["owner"] = [True, False, False, True] * (N // 4)
    assert np.array_equal(prepared(columns).train.X[:, -1], columns["owner"])


# ---- Target -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "positive", "classes"),
    [
        ([0, 1], None, ("0", "1")),
        ([0.0, 1.0], None, ("0", "1")),
        ([-1, 1], "-1", ("1", "-1")),
        (["good", "bad"], None, ("bad", "good")),
        (["good", "bad"], "bad", ("good", "bad")),
        ([True, False], None, ("False", "True")),
        ([1, 2, 3, 4], "3", ("not 3", "3")),
        ([1.0, 2.0, 3.0, 4.0], "3.0", ("not 3", "3")),
    ],
)
def test_the_positive_class(columns, labels, positive, classes):
    columns["y"] = (labels * N)[:N]
    target = prepared(columns, positive=positive).target
    assert target.kind.labels == classes
    wanted = [label for label in set(labels) if str(label).removesuffix(".0") == classes[1]]
    assert np.array_equal(target.values, np.array(columns["y"]) == wanted[0])


def test_rows_without_a_target_are_left_out(columns):
    columns["y"][:30] = [None] * 30
    found = prepared(columns)
    assert len(found.train.y) == N - 30
    assert found.notes == ("30 rows without a value of the target are left out.",)


@pytest.mark.parametrize(
    ("labels", "kind", "message"),
    [
        ([f"a{i:02d}" for i in range(21)], errors.ManyLabelsError, "21 values (a00, a01, a02, a03"),
        ([1], errors.OneClassError, "one value only, '1'"),
        ([1, None], errors.OneClassError, "one value only, '1'"),
        ([None], errors.TableError, "has no values"),
        ([0] * 39 + [1], errors.OneClassError, "200 rows of the target 'y' 5 are of class '1'"),
    ],
)
def test_a_target_that_is_none(columns, labels, kind, message):
    columns["y"] = (list(labels) * N)[:N]
    with pytest.raises(kind) as caught:
        prepared(columns)
    assert message in str(caught.value)


def test_a_label_that_is_not_there(columns):
    with pytest.raises(errors.UnknownLabelError, match=r"no value 'maybe'\. It has '0', '1'"):
        prepared(columns, positive="maybe")


# ---- Columns ------------------------------------------------------------------------------------


def test_columns_are_left_out_for_a_reason(columns):
    columns |= {"branch": [1, 2] * (N // 2), "code": [3, 4] * (N // 2), "row": list(range(N))}
    found = prepared(columns, drop=["branch"], identifiers=["code"])
    reasons = {each.column: each.reason for each in found.left_out}
    assert reasons["branch"] == "dropped on request"
    assert reasons["code"] == "an identifier, as you said"
    assert reasons["row"].startswith("an identifier: a whole number")
    assert names(prepared(columns, drop=["branch", "code", "colour"], keep=["row"])) == ["x", "row"]


@pytest.mark.parametrize(
    ("choices", "kind", "message"),
    [
        ({"target": "Y"}, errors.UnknownColumnError, "no column 'Y'"),
        ({"drop": ["color"]}, errors.UnknownColumnError, "Did you mean 'colour'?"),
        ({"drop": ["y"]}, errors.ColumnUseError, "'y' is to be used and to be left out"),
        ({"keep": ["same"]}, errors.ColumnUseError, "'same' can't be kept: one value only"),
        ({"drop": ["x", "colour"]}, errors.TableError, "No column is left to choose from"),
    ],
)
def test_columns_that_can_not_be_used_as_asked(columns, choices, kind, message):
    columns["same"] = [1] * N
    with pytest.raises(kind) as caught:
        prepared(columns, **choices)
    assert message in str(caught.value)


def test_columns_of_the_same_name_are_refused_unless_dropped(columns):
    table = pa.table(columns).append_column("x", pa.array([1.0] * N))
    with pytest.raises(errors.DuplicateColumnsError, match="same name: 'x'"):
        prepare(table, Choices(target="y"))
    assert names(prepare(table, Choices(target="y", drop=["x"]))) == [
        "colour = green",
        "colour = blue",
    ]


# ---- Missing values -----------------------------------------------------------------------------


@pytest.fixture
def gaps(columns):
    """Missing by chance in x and colour; in `rate` for nearly all of class 1."""
    columns["x"][10:14] = [None] * 4
    columns["colour"][20:26] = [None] * 6
    columns["rate"] = [None if i % 2 and i > 20 else float(i % 7) for i in range(N)]
    return columns


def test_missing_values_are_counted_by_column_and_class(gaps):
    with pytest.raises(errors.MissingValuesError) as caught:
        prepared(gaps)
    report = caught.value.report
    assert {each.column: each.n_missing for each in report.columns} == {
        "rate": 90,
        "colour": 6,
        "x": 4,
    }
    assert report.columns[0].hint.cells == ("0 %", "90 %")
    assert report.columns[0].hint.strength == pytest.approx(0.95)
    assert [each.column for each in report.depending] == ["rate"]
    assert (report.n_missing, report.n_columns) == (100, 3)


def test_what_each_way_on_would_leave_is_counted(gaps):
    with pytest.raises(errors.MissingValuesError) as caught:
        prepared(gaps)
    report = caught.value.report
    left = prepared({**gaps, "rate": gaps["x"]}, missing="drop-rows").target
    assert report.complete_without.tolist() == left.totals.tolist() == [95, 95]
    assert report.complete.tolist() == [95, 8]


def test_incomplete_columns_can_be_dropped(gaps):
    found = prepared({**gaps, "z": list(gaps["y"][::-1])}, missing="drop-columns")
    assert names(found) == ["z"]
    assert len(found.train.y) == N
    assert "90 missing values" in {each.reason for each in found.left_out}


def test_dropping_rows_that_takes_one_class_away_is_an_error(gaps):
    with pytest.raises(errors.ClassLostError, match="8 are of class '1'"):
        prepared(gaps, missing="drop-rows")


def test_dropping_rows_that_bends_the_classes_is_told(gaps):
    gaps["rate"] = [None if i % 2 and i > 100 else float(i % 7) for i in range(N)]
    depends, bent = prepared(gaps, missing="drop-rows").warnings
    assert "keeps 45 % of class 1 and 95 % of class 0" in bent.text
    assert not bent.serious
    assert depends.title == "Where values are missing depends on the target"
    assert depends.text.startswith("rate (50 % of class 1, 0 % of class 0). ")
    assert depends.columns == ("rate",)
    assert depends.serious


def test_gaps_are_filled_from_the_rows_to_learn_from(gaps):
    found = prepared(gaps, missing="median", test_size=0.5, seed=3)
    kept = found.train.table.column("x").drop_null().to_numpy()
    fill = {feature.name: feature.fill for feature in found.recipe.features}
    assert fill["x"] == np.median(kept)
    assert fill["colour = green"] == 0.0
    for part in (found.train, found.test):
        assert np.isfinite(part.X).all()
        missing = part.table.column("x").is_null().to_numpy()
        assert (part.X[missing, 0] == fill["x"]).all()
    notes = " ".join(found.notes)
    assert "100 missing values in 3 columns are filled" in notes
    assert "the gap itself becomes a signal" in found.warnings[0].text


def test_gaps_by_chance_raise_no_alarm(columns):
    columns["x"][10:14] = [None] * 4
    assert len(prepared(columns, missing="median").notes) == 1


def test_the_real_trap_is_named():
    """As in the loan data of Kaggle: dropping rows leaves no defaulter."""
    y = np.array([0, 0, 0, 1] * 100)
    rate = np.where(y == 1, np.nan, 4.0 + np.arange(400) % 5)
    with pytest.raises(errors.ClassLostError) as caught:
        prepared({"rate": rate, "x": np.arange(400) % 7, "y": y}, missing="drop-rows")
    assert caught.value.report.columns[0].hint.strength == 1.0


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1, "100 %"), (0.5, "50 %"), (0.0004, "under 0.1 %"), (0.9996, "over 99.9 %")],
)
def test_a_percentage_never_claims_more_than_it_knows(share, text):
    assert percent(share) == text


# ---- Rows ---------------------------------------------------------------------------------------


def test_rows_are_held_out_in_equal_shares_and_by_the_seed(columns):
    found = prepared(columns, test_size=0.25, seed=1)
    assert (len(found.train.y), len(found.test.y)) == (150, 50)
    assert found.test.y.mean() == pytest.approx(0.5, abs=0.02)
    same, other = (prepared(columns, test_size=0.25, seed=seed).test.X for seed in (1, 2))
    assert np.array_equal(found.test.X, same)
    assert not np.array_equal(found.test.X, other)


@pytest.mark.parametrize(
    ("share", "message"), [(0.001, "holds one class"), (0.97, "10 are needed")]
)
def test_too_few_rows_on_one_side_are_an_error(columns, share, message):
    with pytest.raises(errors.TableError) as caught:
        prepared(columns, test_size=share)
    assert message in str(caught.value) or "can't be held out" in str(caught.value)
