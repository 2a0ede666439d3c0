"""Columns of every type that Arrow has: as a feature, as the target, and where none is named."""

import datetime
import decimal

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from safdr._old_table import errors
from safdr._old_table.choices import Choices
from safdr._old_table.columns import sort_columns
from safdr._old_table.plain import plain
from safdr._old_table.prepare import prepare

N = 60
HALVES = np.arange(N) % 2


def of_two(a, b, kind=None):
    """Two values in turn, as an array of some type."""
    return pa.array([b if odd else a for odd in HALVES], kind)


def extension(name, storage, *arguments):
    """An array of one of Arrow's own extension types, which came one by one."""
    if not hasattr(pa, name):
        pytest.skip(f"this pyarrow has no {name}")
    return pa.ExtensionArray.from_storage(getattr(pa, name)(*arguments), storage)


def runs(values):
    """An array that is run-end encoded, every run of length one."""
    ends = pa.array(np.arange(1, len(values) + 1), pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, values)


def small_decimals():
    if not hasattr(pa, "decimal32"):
        pytest.skip("this pyarrow has no decimal32")
    return of_two(decimal.Decimal("1.5"), decimal.Decimal(2), pa.decimal32(5, 1))


# What a column is made of, what it is taken for, and its labels as a target.
READABLE = {
    "bool": (lambda: of_two(False, True), "boolean", ("False", "True")),
    "uint8": (lambda: of_two(3, 4, pa.uint8()), "number", ("3", "4")),
    "uint64": (
        lambda: of_two(0, 2**64 - 1, pa.uint64()),
        "number",
        ("0", "18446744073709551615"),
    ),
    "half": (lambda: of_two(np.float16(0.5), np.float16(1), pa.float16()), "number", ("0.5", "1")),
    "float": (lambda: of_two(0.5, 1.0, pa.float32()), "number", ("0.5", "1")),
    "decimal32": (small_decimals, "number", ("1.5", "2.0")),
    "decimal256": (
        lambda: of_two(decimal.Decimal("1.5"), decimal.Decimal(2), pa.decimal256(50, 1)),
        "number",
        ("1.5", "2.0"),
    ),
    "string": (lambda: of_two("a", "b"), "text", ("a", "b")),
    "large string": (lambda: of_two("a", "b", pa.large_string()), "text", ("a", "b")),
    "string view": (lambda: of_two("a", "b", pa.string_view()), "text", ("a", "b")),
    "category": (lambda: of_two("a", "b").dictionary_encode(), "text", ("a", "b")),
    "dictionary of numbers": (lambda: of_two(1, 2).dictionary_encode(), "number", ("1", "2")),
    "dictionary of half floats": (
        lambda: pa.DictionaryArray.from_arrays(
            pa.array(HALVES), pa.array(np.array([1, 2], np.float16))
        ),
        "number",
        ("1", "2"),
    ),
    "dictionary of booleans": (
        lambda: pa.DictionaryArray.from_arrays(pa.array(HALVES), pa.array([True, False])),
        "boolean",
        ("False", "True"),
    ),
    "runs of text": (lambda: runs(of_two("a", "b")), "text", ("a", "b")),
    "runs of numbers": (lambda: runs(of_two(0.5, 1.5)), "number", ("0.5", "1.5")),
    "bool8": (
        lambda: extension("bool8", of_two(0, 1, pa.int8())),
        "boolean",
        ("False", "True"),
    ),
    "json": (lambda: extension("json_", of_two("1", "{}"), pa.string()), "text", ("1", "{}")),
    "opaque": (
        lambda: extension("opaque", of_two(1, 2, pa.int32()), pa.int32(), "money", "bank"),
        "number",
        ("1", "2"),
    ),
}


@pytest.mark.parametrize("name", READABLE)
def test_a_type_that_can_be_read_is_a_feature(name):
    make, kind, _ = READABLE[name]
    table, unreadable = plain(pa.table({"a": make()}))
    assert not unreadable
    assert sort_columns(table, ["a"]) == ({"a": kind}, [])
    found = prepare(
        pa.table({"a": make(), "y": np.roll(HALVES, 7)}), Choices(target="y", test_size=0.0)
    )
    column = found.train.X[:, 0]
    assert len(np.unique(column)) == 2
    assert len(np.unique(column[HALVES == 0])) == 1


@pytest.mark.parametrize("name", READABLE)
def test_a_type_that_can_be_read_is_a_target(name, rng):
    make, _, labels = READABLE[name]
    table = pa.table({"x": rng.normal(size=N), "y": make()})
    target = prepare(table, Choices(target="y", test_size=0.0)).target
    assert target.kind.labels == labels
    # A dictionary's order is not that of its values.
    assert tuple(target.totals) == (N // 2, N // 2)
    assert len(np.unique(target.values[::2])) == 1


def days(kind):
    return of_two(datetime.date(2024, 1, 1), datetime.date(2025, 1, 1), kind)


# What a column is made of, and why no model gets to see it.
UNUSABLE = {
    "null": (lambda: pa.nulls(N), "no values"),
    "date": (lambda: days(pa.date32()), "dates or times"),
    "dictionary of dates": (lambda: days(pa.date32()).dictionary_encode(), "dates or times"),
    "timestamp": (
        lambda: days(pa.date32()).cast(pa.timestamp("ns")).cast(pa.timestamp("ns", "Asia/Tokyo")),
        "dates or times",
    ),
    "duration": (lambda: of_two(1, 2, pa.duration("s")), "dates or times"),
    "interval": (
        lambda: of_two((1, 2, 3), (2, 3, 4), pa.month_day_nano_interval()),
        "neither numbers nor text (month_day_nano_interval)",
    ),
    "binary": (lambda: of_two(b"a", b"b"), "neither numbers nor text (binary)"),
    "binary view": (
        lambda: of_two(b"a", b"b", pa.binary_view()),
        "neither numbers nor text (large_binary)",
    ),
    "uuid": (
        lambda: extension("uuid", of_two(b"a" * 16, b"b" * 16, pa.binary(16))),
        "neither numbers nor text (fixed_size_binary[16])",
    ),
    "list": (lambda: of_two([1], [2]), "neither numbers nor text (list)"),
    "list view": (
        lambda: of_two([1], [2], pa.list_view(pa.int64())),
        "neither numbers nor text (list_view)",
    ),
    "struct": (lambda: of_two({"a": 1}, {"a": 2}), "neither numbers nor text (struct)"),
    "map": (
        lambda: of_two([("k", 1)], [("k", 2)], pa.map_(pa.string(), pa.int64())),
        "neither numbers nor text (map)",
    ),
    "union": (
        lambda: pa.UnionArray.from_sparse(
            pa.array(HALVES, pa.int8()), [of_two(1, 2), of_two("a", "b")]
        ),
        "neither numbers nor text (sparse_union)",
    ),
    "dictionary of lists": (
        lambda: pa.DictionaryArray.from_arrays(pa.array(HALVES), pa.array([[1], [2]])),
        "neither numbers nor text (dictionary)",
    ),
    "runs of categories": (
        lambda: runs(of_two("a", "b").dictionary_encode()),
        "neither numbers nor text (run_end_encoded)",
    ),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_type_that_can_not_be_used_is_left_out_with_its_reason(name, rng):
    make, reason = UNUSABLE[name]
    y = [None, *HALVES.tolist()[1:]]
    table = pa.table({"x": rng.normal(size=N), "odd": make(), "y": y})
    found = prepare(table, Choices(target="y"))
    assert [feature.name for feature in found.recipe.features] == ["x"]
    assert [(each.column, each.reason) for each in found.left_out] == [("odd", reason)]


@pytest.mark.parametrize("name", [n for n, (_, why) in UNUSABLE.items() if why.endswith(")")])
def test_such_a_column_can_not_be_kept(name, rng):
    table = pa.table({"x": rng.normal(size=N), "odd": UNUSABLE[name][0](), "y": HALVES})
    with pytest.raises(errors.ColumnUseError, match="'odd' can't be kept: neither numbers nor"):
        prepare(table, Choices(target="y", keep=["odd"]))


@pytest.mark.parametrize(
    "name", ["list", "list view", "struct", "map", "union", "dictionary of lists", "interval"]
)
def test_a_target_that_can_not_be_read_is_named_with_its_type(name, rng):
    table = pa.table({"x": rng.normal(size=N), "odd": UNUSABLE[name][0]()})
    with pytest.raises(errors.TargetError, match=r"The target 'odd' .*neither numbers nor text \("):
        prepare(table, Choices(target="odd"))


def test_a_target_without_a_type_has_no_values(rng):
    table = pa.table({"x": rng.normal(size=N), "y": pa.nulls(N)})
    with pytest.raises(errors.TableError, match="The target 'y' has no values"):
        prepare(table, Choices(target="y"))


@pytest.mark.parametrize(
    "column",
    [
        of_two(2**31 - 1, -(2**31), pa.date32()),
        of_two(1, 2, pa.timestamp("s", "No/Where")),
    ],
)
def test_a_target_of_days_that_no_calendar_has_is_told(column, rng):
    table = pa.table({"x": rng.normal(size=N), "y": column})
    with pytest.raises(
        errors.TargetError, match=r"The target 'y' holds .* can't be shown as dates"
    ):
        prepare(table, Choices(target="y"))


def test_moments_apart_by_a_nanosecond_are_two_classes(rng):
    pytest.importorskip("pandas")
    column = of_two(0, 1577836800000000001, pa.timestamp("ns"))
    target = prepare(pa.table({"x": rng.normal(size=N), "y": column}), Choices(target="y")).target
    assert tuple(target.totals) == (N // 2, N // 2)


def test_zero_with_a_sign_is_the_same_class(rng):
    y = [-0.0, 0.0, 1.0] * (N // 3)
    target = prepare(pa.table({"x": rng.normal(size=N), "y": y}), Choices(target="y")).target
    assert target.kind.labels == ("0", "1")
    assert tuple(target.totals) == (2 * N // 3, N // 3)


def test_whole_numbers_that_doubles_can_not_tell_apart_are_left_out(rng):
    table = pa.table(
        {"x": rng.normal(size=N), "big": of_two(2**60, 2**60 + 1), "y": np.roll(HALVES, 7)}
    )
    (left_out,) = prepare(table, Choices(target="y")).left_out
    assert left_out.column == "big"
    assert "one value only in double precision" in left_out.reason
