"""Which rows are held out: the latest by a column of times."""

import datetime

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from safdr._old_table import errors
from safdr._old_table.choices import Choices
from safdr._old_table.holdout import learn_rule
from safdr._old_table.prepare import prepare
from safdr._old_table.times import Order

# ---- Time ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        ["2023-12", "2024-1", "2024-02", "2024-10"],
        ["2023-12-31", "2024-01-02 10:00", "2024-1-10", "2024-02-01"],
        ["31.12.23", "1.1.2024", "01.02.2024", "2.2.2024"],
        ["12/31/1999", "1/1/2000", "1/2/2000", "2/1/2000"],
        ["31/12/1999", "1/1/2000", "2/1/2000", "1/2/2000"],
        ["2023Q4", "2024Q1", "2024Q2", "2024-Q3"],
        [202312, 202401, 202402, 202410],
        [datetime.date(2024, 1, i) for i in range(1, 5)],
        [datetime.datetime(2024, 1, 1, i) for i in range(4)],
        [0.5, 1.0, 1.5, 20.0],
    ],
)
def test_order_of_time(values):
    table = pa.table({"t": values})
    keys = Order.of("t", table.column("t")).keys(table).to_pylist()
    assert keys == sorted(set(keys))
    assert len(keys) == 4


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["early", "late"], "can't be put in order of time, such as 'early'"),
        (["1/2/2024", "3/4/2024"], "nobody can tell days from months, as in '1/2/2024'"),
        ([True, False], "can't be put in order of time"),
    ],
)
def test_what_has_no_order_is_told(values, message):
    with pytest.raises(errors.ColumnUseError, match=message):
        Order.of("t", pa.chunked_array([values]))


def test_the_latest_are_held_out_with_all_of_their_time():
    months = np.repeat([202401, 202402, 202403, 202404], [40, 30, 20, 10])
    table = pa.table({"month": np.random.default_rng(0).permutation(months)})
    for share, first in [(0.15, 202404), (0.25, 202403), (0.6, 202402), (0.99, 202402)]:
        rule = learn_rule(table, Choices(target="y", split_by="month", test_size=share))
        assert rule.label == str(first)
        np.testing.assert_array_equal(
            rule.held_out(table), table.column("month").to_numpy() >= first
        )


# ---- In a table ---------------------------------------------------------------------------------

N = 300


@pytest.fixture
def columns(rng):
    y = np.arange(N) % 2
    return {
        "x": rng.normal(size=N) + y,
        "z": rng.normal(size=N),
        "month": [f"2024-{1 + i // 25:02}" for i in range(N)],
        "stamp": [202401 + i // 25 for i in range(N)],
        "day": [datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(N)],
        "y": y,
    }


def prepared(columns, **choices):
    return prepare(pa.table(columns), Choices(target="y", **choices))


def test_times_are_no_features_and_that_is_said(columns):
    found = prepared(columns)
    assert {each.column: each.reason for each in found.left_out} == {
        "month": "months",
        "stamp": "months, written as numbers",
        "day": "dates or times",
    }
    assert found.notes == (
        "Time, and no feature: 'month', 'stamp', 'day'. To learn from the earlier rows and test on "
        "the latest: --split-by month.",
    )
    kept = prepared(columns, keep=["stamp"])
    assert [feature.name for feature in kept.recipe.features] == ["x", "z", "stamp"]
    said = prepared(columns | {"week": np.arange(N) // 7}, time=["week"]).left_out[0]
    assert (said.column, said.reason) == ("week", "time, as you said")


@pytest.mark.parametrize("column", ["month", "stamp", "day"])
def test_the_later_rows_are_held_out(columns, column):
    found = prepared(columns, split_by=column)
    learnt, tested = (part.table.column("day").to_pylist() for part in (found.train, found.test))
    assert max(learnt) < min(tested)
    assert 0.1 < len(tested) / N < 0.3
    assert found.notes[0].startswith(f"Held out are {len(tested)} of 300 rows: those of {column} ")
    assert column in [each.column for each in found.left_out]


@pytest.mark.parametrize(
    ("choices", "error", "message"),
    [
        ({"split_by": "y"}, errors.ColumnUseError, "is the target"),
        ({"split_by": "when"}, errors.UnknownColumnError, "no column 'when'"),
        ({"time": ["when"]}, errors.UnknownColumnError, "no column 'when'"),
        ({"split_by": "same"}, errors.ColumnUseError, "'same' has 1 value: there is no earlier"),
    ],
)
def test_what_can_not_be_held_out(columns, choices, error, message):
    columns["same"] = [3] * N
    with pytest.raises(error, match=message):
        prepared(columns, **choices)


def test_rows_without_a_time_are_learnt_from(columns):
    columns["stamp"] = [None if i % 10 == 0 else v for i, v in enumerate(columns["stamp"])]
    found = prepared(columns, split_by="stamp")
    assert found.train.table.column("stamp").null_count == 30
    assert found.test.table.column("stamp").null_count == 0
