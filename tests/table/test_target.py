"""Targets, and which rows are held out."""

import numpy as np
import pandas as pd
import pytest

from safdr.table.dates import sort_keys
from safdr.table.errors import ColumnError, TableError
from safdr.table.split import latest, row_groups, split_rows
from safdr.table.target import learn_target

pa = pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    ("values", "options", "classes"),
    [
        (["no", "yes"] * 20, {}, ("no", "yes")),
        ([0, 1] * 20, {}, ("0", "1")),
        ([0.0, -0.0, 1.0] * 20, {}, ("0", "1")),
        ([True, False] * 20, {}, ("False", "True")),
        ([1.5, 2.5] * 20, {}, ("1.5", "2.5")),
        ([10, 9, 8] * 20, {}, ("8", "9", "10")),
        (["b", "a", "c"] * 20, {"positive": "b"}, ("not b", "b")),
        ([1, 2, 3] * 20, {"positive": "2"}, ("not 2", "2")),
        (list(range(40)), {"task": "classification"}, tuple(map(str, range(40)))),
        (list(range(40)), {}, ()),
        ([1, 2, 3] * 20, {"task": "regression"}, ()),
        ([0.5, 1.5, 2.5] * 20, {}, ()),
        ([f"{i},5 %" for i in range(40)], {}, ()),
    ],
)
def test_a_target_is_classes_or_numbers(values, options, classes):
    table = pa.table({"y": [*values, None]})
    target, known = learn_target(table, "y", **options).of(table)
    assert target.classes == classes
    assert target.task == ("classification" if classes else "regression")
    assert known.tolist() == [True] * len(values) + [False]
    if classes and len(classes) > 2:
        assert [target.classes[code] for code in target.values] == list(map(str, values))
    if not classes and isinstance(values[0], float | int):
        np.testing.assert_array_equal(target.values, values)
    # Other rows are read in the same way.
    np.testing.assert_array_equal(target.read(table["y"].slice(0, 5)), target.values[:5])


def test_targets_that_cannot_be_predicted():
    for values, options in (
        (["a"] * 40, {}),
        ([f"v{i}" for i in range(40)], {}),
        (["a", "b"] * 20, {"task": "regression"}),
        (["a", "b"] * 20, {"positive": "c"}),
    ):
        with pytest.raises(TableError):
            learn_target(pa.table({"y": values}), "y", **options)
    target = learn_target(pa.table({"y": ["a", "b"] * 20}), "y")
    with pytest.raises(TableError, match="'c'"):
        target.read(pa.chunked_array([["a", "c"]]))


DATES = pd.date_range("2024-01-01", periods=100, freq="31h")
WRITTEN = {
    "typed": DATES,
    "zone": DATES.tz_localize("UTC").tz_convert("America/New_York"),
    "iso": DATES.strftime("%Y-%m-%dT%H:%M:%S"),
    "offset": DATES.strftime("%Y-%m-%d %H:%M:%S+02:00"),
    "german": DATES.strftime("%d.%m.%Y %H:%M"),
    "us": DATES.strftime("%m/%d/%Y %H:%M"),
    "short": DATES.strftime("%m/%d/%y %H:%M:%S"),
}
DAYS = pd.date_range("2024-01-01", periods=100)
WRITTEN_DAYS = {
    "numbers": DAYS.strftime("%Y%m%d").astype(int),
    "digits": DAYS.strftime("%Y%m%d"),
    "months": [f"{2000 + i // 12}-{1 + i % 12:02d}" for i in range(100)],
    "quarters": [f"{2000 + i // 4}-Q{1 + i % 4}" for i in range(100)],
}


@pytest.mark.parametrize("kind", [*WRITTEN, *WRITTEN_DAYS])
def test_dates_are_put_in_order_however_they_are_written(kind):
    values = [*(WRITTEN | WRITTEN_DAYS)[kind]]
    order = np.random.default_rng(0).permutation(100)
    column = pa.chunked_array([pa.array([values[i] for i in order])])
    keys = sort_keys("day", column)
    assert np.argsort(keys).tolist() == np.argsort(order).tolist()
    table = pa.table({"day": column})
    late, _ = latest(table, "day", 0.25)
    np.testing.assert_array_equal(late, order >= 75)


def test_the_latest_rows_of_a_time_zone_are_the_latest_instants():
    """A bug of earlier versions: some rows were compared in UTC, others as written."""
    instants = pd.date_range("2024-06-01", periods=1000, freq="1h", tz="America/New_York")
    table = pa.table({"when": pa.array(instants)})
    late, start = latest(table, "when", 0.2)
    assert late.sum() == 200
    assert start.startswith(str(instants[800])[:16])


def test_dates_that_cannot_be_ordered_are_refused():
    for values in (["red", "blue"] * 10, ["01/02/2024", "03/04/2024"] * 10):
        with pytest.raises(ColumnError):
            sort_keys("day", pa.chunked_array([values]))


def test_groups_stay_on_one_side():
    y = np.arange(200) % 2
    table = pa.table({"y": y, "customer": np.repeat(np.arange(40), 5)})
    target, _ = learn_target(table, "y").of(table)
    groups = row_groups(table, "customer")
    train, test, _ = split_rows(table, target, groups=groups, seed=3)
    assert not set(groups[train]) & set(groups[test])
    assert len(train) + len(test) == 200
    with pytest.raises(ColumnError, match="groups"):
        row_groups(table, "y")
