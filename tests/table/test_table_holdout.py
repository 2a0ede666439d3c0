"""Which rows are held out: by a condition, which is never run as code, or by time."""

import datetime

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from safdr.table import errors
from safdr.table.choices import Choices
from safdr.table.conditions import MOST_TOKENS, parse_condition
from safdr.table.holdout import learn_rule
from safdr.table.prepare import prepare
from safdr.table.times import Order

# ---- Conditions ---------------------------------------------------------------------------------

DAY = datetime.date(2024, 7, 1)
ROWS = pa.table(
    {
        "month": ["2024-05", "2024-06", "2024-07", None],
        "day": [DAY - datetime.timedelta(9), DAY, DAY + datetime.timedelta(9), None],
        "moment": pa.array([0, 1, 2, None], pa.timestamp("s", tz="UTC")),
        "n": [1, 2, 3, None],
        "net income": [0.5, -1.5, 2.5, None],
        'it\'s "odd"': ["it's", 'so "odd"', "", None],
        "owner": [True, False, True, None],
        "written": ["2024-05-31", "2024-06-01", "2024-07-01", None],
        "clock": ["2024-06-01 09:00", "2024-06-01 11:00", "2024-06-01 12:00", None],
        "spoken": ["31.01.2024", "01.02.2024", "05.02.2024", None],
        "slashes": ["2024/01/31", "2024/07/01", "2024/12/31", None],
        "quarter": ["2024Q1", "2024Q2", "2024Q3", None],
        "booked": [202405, 202406, 202407, None],
        "stamp": [20240531, 20240601, 20240701, None],
        "digits": ["202405", "202406", "202407", None],
    }
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("month >= '2024-06'", [1, 2]),
        ('month>="2024-06"', [1, 2]),
        ("month = '2024-06'", [1]),
        ("month == '2024-06' OR n = 3", [1, 2]),
        # A month is its first day, in all ways to write it.
        ("month >= '2024-06-01'", [1, 2]),
        ("month > '2024-06-01'", [2]),
        ("written > '2024-06'", [2]),
        ("written = '2024-06'", [1]),
        ("clock > '2024-06-01 11:30'", [2]),
        ("n > 1 and n < 3", [1]),
        # "and" binds more tightly than "or".
        ("n = 1 or n = 2 and month = '2024-07'", [0]),
        ("(n = 1 or n = 2) and month = '2024-05'", [0]),
        ("not n = 1", [1, 2, 3]),
        ("not (n = 1 or n = 2) and n <= 9", [2]),
        ("n != 2", [0, 2]),
        ("n <> 2.0", [0, 2]),
        ("n >= '2'", [1, 2]),
        ("n < 1e1", [0, 1, 2]),
        ('"net income" < -1.5e0', []),
        ("`net income` <= -1.5", [1]),
        ('"it\'s ""odd""" = \'it\'\'s\'', [0]),
        ('"it\'s ""odd""" = \'so "odd"\'', [1]),
        ("owner = true", [0, 2]),
        ("owner = FALSE", [1]),
        ("day >= '2024-07-01'", [1, 2]),
        ("day >= '2024-07'", [1, 2]),
        ("day < '2024-07-01T12:00:00'", [0, 1]),
        ("moment > '1970-01-01 00:00:01'", [2]),
        ("spoken = '31.01.2024'", [0]),
        ("spoken = '2024-01-31'", [0]),
        ("spoken = 'never'", []),
        # By time, not by text: 31 comes before 01.
        ("spoken >= '01.02.2024'", [1, 2]),
        ("spoken >= '2024-02'", [1, 2]),
        ("spoken < '2024-02-05'", [0, 1]),
        # As texts, slashes come after dashes.
        ("slashes >= '2024-07-01'", [1, 2]),
        ("slashes >= '2024/07/02'", [2]),
        ("quarter >= '2024Q2'", [1, 2]),
        ("booked >= '2024-06'", [1, 2]),
        ("booked > '2024-06-15'", [2]),
        ("booked >= '202406'", [1, 2]),
        ("booked = '2024-06'", [1]),
        ("stamp >= '2024-06'", [1, 2]),
        ("stamp <= '2024-06-01'", [0, 1]),
        ("digits >= '2024-06'", [1, 2]),
        ("digits < '202407'", [0, 1]),
    ],
)
def test_a_condition_on_columns(text, rows):
    found = parse_condition(text)
    assert np.flatnonzero(found.holds(ROWS)).tolist() == rows
    assert found.columns <= set(ROWS.column_names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at its end: a column is due"),
        ("   ", "at its end: a column is due"),
        ("n", "at its end: an operator is due"),
        ("n >", "at its end: a value is due"),
        ("n > m", "at 'm': a number, or a text in single quotes is due"),
        ("n = 1 n = 2", "at 'n = 2': and, or, or the end is due"),
        ("(n = 1", "at its end: a closing bracket is due"),
        ("n = 1)", r"at '\)': and, or, or the end"),
        ("n ( 1", r"at '\( 1': an operator is due"),
        ("1 = n", "at '1 = n': a column is due"),
        ("n => 1", "at '> 1': a value is due"),
        ("month like 'x'", "at \"like 'x'\": an operator is due"),
        ("month = '2024", 'at "\'2024"'),
        ("n = 1; DROP TABLE x", "at '; DROP TABLE x'"),
        ("__import__('os').system('true')", r"at \"\.system"),
        ("n.__class__ = 1 and __import__('os')", r"at \"\('os'\)"),
        ("n = 1 if True else 2", "at 'if True else 2'"),
        ("n == lambda: 0", "at ': 0'"),
        ("{n} = 1", "at '{n} = 1'"),
        ("n = 0x10", "at '0x10'"),
        ("n\0 = 1", "at "),
        ("not " * (MOST_TOKENS + 5), "more than 200 words"),
        ("(" * 10_000, "more than 200 words"),
    ],
)
def test_what_is_no_condition_is_told_where(text, message):
    with pytest.raises(errors.ConditionError, match=message):
        parse_condition(text)


def test_the_deepest_brackets_can_be_followed():
    depth = MOST_TOKENS // 2 - 2
    found = parse_condition("(" * depth + "n = 1" + ")" * depth)
    assert np.flatnonzero(found.holds(ROWS)).tolist() == [0]
    assert parse_condition("not " * (MOST_TOKENS - 3) + "n = 1").columns == {"n"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n = 'one'", "'n' holds numbers, which can't be compared with 'one'"),
        ("month = 7", "'month' holds text, which can't be compared with 7"),
        ("owner = 'yes'", "'owner' holds true and false"),
        ("n = true", "'n' holds numbers"),
        ("day > 'July'", "'day' holds dates or times"),
        ("day > 3", "'day' holds dates or times"),
        ("spoken > 'July'", "'spoken' holds times such as '31.01.2024', and 'July' is none"),
        ("spoken > '2024-02-01 10:00'", "and '2024-02-01 10:00' is none"),
        ("quarter >= '2024-04'", "'quarter' holds times such as '2024Q1', and '2024-04' is none"),
        ("n >= '2024-07'", "'n' holds numbers, which can't be compared with '2024-07'"),
    ],
)
def test_a_condition_that_the_column_can_not_meet(text, message):
    with pytest.raises(errors.ConditionError, match=message):
        parse_condition(text).holds(ROWS)


MONTHS = ("%Y-%m", "%Y/%m", "%Y%m")
SIGNS = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


@pytest.mark.parametrize("form", [*MONTHS, "%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%Y%m%d", "date"])
def test_times_are_compared_as_pandas_compares_dates(form, rng):
    pd = pytest.importorskip("pandas")
    start = pd.Timestamp("2019-01-01")
    for _ in range(6):
        days = pd.Series(start + pd.to_timedelta(rng.integers(0, 2500, 8), "D"))
        if form in MONTHS:
            days = days.dt.to_period("M").dt.to_timestamp()
        texts = days.dt.date if form == "date" else days.dt.strftime(form)
        columns = [pa.array(texts)]
        if form in ("%Y%m", "%Y%m%d"):
            columns.append(pa.array(texts.astype(int)))
        value = days[0] if rng.random() < 0.5 else start + pd.Timedelta(rng.integers(2500), "D")
        wanted = value.replace(day=1) if rng.random() < 0.5 else value
        text = wanted.strftime("%Y-%m" if wanted.day == 1 else "%Y-%m-%d")
        for sign, name in SIGNS.items():
            for column in columns:
                found = parse_condition(f"t {sign} '{text}'").holds(pa.table({"t": column}))
                assert found.tolist() == getattr(days, name)(wanted).tolist()


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


def test_a_condition_holds_rows_out(columns):
    found = prepared(columns, test_where="month >= '2024-10' and x < 1.5")
    assert set(found.test.table.column("month").to_pylist()) == {"2024-10", "2024-11", "2024-12"}
    assert max(found.test.table.column("x").to_pylist()) < 1.5
    assert found.train.table.num_rows + found.test.table.num_rows == N
    assert [each.column for each in found.left_out][:2] == ["month", "x"]
    kept = prepared(columns, test_where="x < 0", keep=["x"])
    assert [feature.name for feature in kept.recipe.features] == ["x", "z"]


@pytest.mark.parametrize(
    ("choices", "error", "message"),
    [
        ({"test_where": "monht > '1'"}, errors.UnknownColumnError, "Did you mean 'month'?"),
        ({"test_where": "x > 1000"}, errors.TableError, "where x > 1000. is not a single row"),
        ({"test_where": "x < 1000"}, errors.OneClassError, "After rows were held out"),
        ({"test_where": "y = 1"}, errors.ColumnUseError, "is the target"),
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
