"""What a column is: numbers, text to code, dates and identifiers to leave out."""

import datetime

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from safdr._old_table.columns import sort_columns
from safdr._old_table.plain import plain

N = 60


def kind_or_reason(values, name="a", **options):
    table, unreadable = plain(pa.table({name: values}))
    kinds, left_out = sort_columns(table, table.column_names, **options)
    return kinds[name] if kinds else [*unreadable, *left_out][0].reason


DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(N)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, 2.5] * (N // 2), "number"),
        ([1, 2] * (N // 2), "number"),
        (list(np.random.default_rng(0).permutation(10 * N)[:N]), "number"),
        ([2019, 2020, 2021] * (N // 3), "number"),
        ([True, False] * (N // 2), "boolean"),
        (["x", "y"] * (N // 2), "text"),
        (["02139", "10115"] * (N // 2), "text"),
        (pa.array([1, 2] * (N // 2)).cast(pa.decimal128(25, 2)), "number"),
        (pa.array(["x", "y"] * (N // 2)).dictionary_encode(), "text"),
        (pa.array([3, 4] * (N // 2)).dictionary_encode(), "number"),
    ],
)
def test_a_column_that_a_model_can_use(values, kind):
    assert kind_or_reason(values) == kind


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (list(range(1000, 1000 + N)), "an identifier"),
        (list(range(N))[::-1], "an identifier"),
        ([3 * i * i for i in range(N)], "an identifier"),
        ([f"customer {i}" for i in range(N)], "an identifier or free text: 60 values in 60 rows"),
        ([f"customer {i % 40}" for i in range(N)], "an identifier or free text"),
        (DAYS, "dates or times"),
        ([datetime.datetime(2024, 1, 1, i % 24) for i in range(N)], "dates or times"),
        ([datetime.time(i % 24) for i in range(N)], "dates or times"),
        ([f"{d:%d.%m.%Y}" for d in DAYS], "dates"),
        ([f"{d:%m/%d/%y} 10:00" for d in DAYS], "dates"),
        ([int(f"{d:%Y%m%d}") for d in DAYS], "dates, written as numbers"),
        ([7] * N, "one value only"),
        ([7, None] * (N // 2), "one value only"),
        ([None] * N, "no values"),
        ([float("nan")] * N, "no values"),
        ([[1, 2]] * N, "neither numbers nor text"),
        ([f"{i:05}" for i in range(N)], "codes with leading zeros, such as '00000': 60 in 60 rows"),
        ([f"{i}.5 %" for i in range(N)], "numbers written as text, such as '0.5 %'"),
        (["(1)", *(f"{i}.5" for i in range(1, N))], "numbers written as text, such as '1.5'"),
    ],
)
def test_a_column_that_no_model_should_see(values, reason):
    assert kind_or_reason(values).startswith(reason)


def test_a_name_gives_an_identifier_away():
    values = np.random.default_rng(0).permutation(10 * N)[:N]
    for name in ("id", "customer_id", "customerId", "ID", "id_number", "row key", "index"):
        assert kind_or_reason(values, name).startswith("an identifier")
    for name in ("paid", "bid", "grid", "idle", "width"):
        assert kind_or_reason(values, name) == "number"


def test_a_name_gives_identifiers_of_several_rows_away():
    customers = np.random.default_rng(0).integers(1000, 1030, N)
    for name in ("customer_id", "customerID", "id"):
        assert kind_or_reason(customers, name).startswith("an identifier, by its name: ")
        assert kind_or_reason(customers, name, keep=[name]) == "number"
    # An index or a number may be an amount; few values may be codes.
    assert kind_or_reason(customers, "price_index") == "number"
    assert kind_or_reason(customers % 15, "customer_id") == "number"


def test_what_only_looks_like_an_identifier_can_be_kept():
    assert kind_or_reason(list(range(N)), keep=["a"]) == "number"


def test_infinity_is_a_missing_value():
    table, _ = plain(pa.table({"a": [1.0, np.inf, -np.inf, np.nan, None]}))
    assert table.column("a").null_count == 4
