"""Times of rows as an array: days where they are of the calendar."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from safdr.table.times import moments_of

DAYS = ["2024-01-31", "2023-12-01", None]


@pytest.mark.parametrize(
    ("column", "days"),
    [
        (pa.array([np.datetime64(d).item() if d else None for d in DAYS], pa.date32()), DAYS),
        (pa.array(DAYS).cast(pa.timestamp("us")), DAYS),
        (pa.array(["31.01.2024", "01.12.2023", None]), DAYS),
        (pa.array(DAYS), DAYS),
        (pa.array([20240131, 20231201, None]), DAYS),
        (pa.array([202401, 202312, None]), ["2024-01-01", "2023-12-01", None]),
        (pa.array(["2024-01", "2023-12", None]), ["2024-01-01", "2023-12-01", None]),
    ],
)
def test_the_calendar_is_days(column, days):
    found = moments_of("when", pa.table({"when": column}))
    wanted = np.array([np.datetime64(d if d else "NaT") for d in days])
    assert np.array_equal(found.astype("datetime64[D]"), wanted, equal_nan=True)


def test_what_is_not_of_the_calendar_stays():
    quarters = ["2024-Q1", None]
    assert moments_of("when", pa.table({"when": quarters})).tolist() == quarters
    words = ["before", "after"]
    assert moments_of("when", pa.table({"when": words})).tolist() == words
    numbers = moments_of("when", pa.table({"when": [1.5, None]}))
    assert numbers[0] == 1.5
    assert np.isnan(numbers[1])
