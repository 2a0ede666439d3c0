"""Columns that can't be searched are named, with advice that fits."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from safdr import AnnealingRegressorSelector, AnnealingSelector, Moments, anneal_path

N = 40
DAYS = pd.date_range("2024-01-01", periods=N)
ENCODE, FILL, TIME = "OneHotEncoder", "SimpleImputer", "TimeSeriesSplit"


def table(**others):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N), **others})


Y = np.arange(N) % 2


def refusal(X, call=None):
    call = call or AnnealingSelector(1).fit
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the tests look at the message
        call(X, Y)
    return str(error.value)


def with_gaps(value, *places):
    X = table(c=np.arange(N) * 1.0)
    for row, name in places:
        X.loc[row, name] = value
    return X


# ---- Missing and infinite values -----------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        AnnealingSelector(1).fit,
        AnnealingRegressorSelector(1).fit,
        lambda X, y: anneal_path(X, y, [1]),
        Moments.from_rows,
        lambda X, _: AnnealingSelector(1, random_state=0).fit(table(c=Y), Y).predict(X),
    ],
)
def test_columns_with_missing_values_are_named(call):
    message = refusal(with_gaps(np.nan, (3, "b"), (7, "b"), (3, "c")), call)
    assert "X contains NaN (missing values) in 2 of its 3 columns and 2 of its 40 rows" in message
    assert ": 'b', 'c'. " in message
    assert FILL in message


@pytest.mark.parametrize(
    "kind",
    [pl.from_pandas, lambda X: X.convert_dtypes(), lambda X: X.astype(object), lambda X: X],
)
def test_missing_values_of_any_frame_are_named(kind):
    message = refusal(kind(with_gaps(np.nan, (3, "b"))))
    assert "NaN" in message
    assert "'b'" in message
    assert "'a'" not in message
    assert FILL in message


def test_values_that_pandas_calls_missing_are_named():
    message = refusal(table(c=pd.Series([pd.NA, *range(1, N)], dtype=object)))
    assert "1 column(s) with missing values (NaN): 'c'" in message
    assert FILL in message


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_missing_values_of_an_array_are_found(form):
    message = refusal(form(with_gaps(np.nan, (3, "b"), (5, "c")).to_numpy()))
    assert "in 2 of its 3 columns and 2 of its 40 rows: column 1, column 2." in message


def test_an_empty_column_is_to_be_dropped():
    empty = table(none=np.nan)
    message = refusal(empty)
    assert message.endswith("Drop what is all empty: 'none'.")
    message = refusal(empty.assign(c=with_gaps(np.nan, (3, "c"))["c"]))
    assert "'none', 'c'. Drop what is all empty: 'none'. " in message
    assert FILL in message


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_columns_with_infinite_values_are_named(value):
    message = refusal(with_gaps(value, (3, "b")))
    assert "X contains infinite values in 1 of its 3 columns and 1 of its 40 rows: 'b'" in message
    assert FILL not in message


def test_of_many_columns_a_few_are_named():
    X = pd.DataFrame(np.full((N, 9), np.nan)).add_prefix("x")
    X.iloc[5:] = 1.0
    assert "in 9 of its 9 columns" in refusal(X)
    assert "'x4' and 4 more" in refusal(X)


# ---- Dates, durations, text ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "dates",
    [
        DAYS,
        DAYS.tz_localize("UTC"),
        DAYS.to_period("D"),
        pd.Series(DAYS.date, dtype=object),
        pd.Series([dt.time(3)] * N, dtype=object),
    ],
)
def test_dates_are_named_and_not_to_be_encoded(dates):
    message = refusal(table(when=dates))
    assert "X has 1 column(s) of dates or times: 'when'" in message
    assert TIME in message
    assert ENCODE not in message


@pytest.mark.parametrize("kind", [pl.Date, pl.Datetime, pl.Time])
def test_dates_of_polars_are_named(kind):
    moments = pl.Series(DAYS.to_numpy()).cast(pl.Datetime("us"))
    message = refusal(pl.from_pandas(table()).with_columns(when=moments.cast(kind)))
    assert "of dates or times: 'when'" in message


def test_dates_in_an_array_are_no_numbers():
    message = refusal(np.stack([DAYS.to_numpy()] * 2, axis=1))
    assert "X has 2 column(s) of dates or times: column 0, column 1." in message
    message = refusal(table(when=DAYS).to_numpy())
    assert "X has 1 column(s) of dates or times: column 2." in message


def test_durations_become_seconds():
    message = refusal(table(took=DAYS - DAYS[0]))
    assert "X has 1 column(s) of durations: 'took'. " in message
    assert "total_seconds" in message
    assert "of durations: column 0" in refusal((DAYS - DAYS[0]).to_numpy()[:, None])


def test_each_kind_gets_advice_of_its_own():
    message = refusal(table(colour="red", when=DAYS))
    text, dates = message.split(" X has 1 column(s) of dates")
    assert "'colour'" in text
    assert ENCODE in text
    assert "'when'" in dates
    assert ENCODE not in dates


@pytest.mark.parametrize("form", [lambda X: X, pd.DataFrame.to_numpy])
def test_text_among_numbers_is_shown(form):
    message = refusal(form(table(c=pd.Series([1.0, None, "red", *range(3, N)], dtype=object))))
    assert "X has 1 column(s) that are not numbers: " in message
    assert "'c'." in message or "column 2." in message
    assert "The first such value is 'red'." in message


def test_rows_to_predict_are_told_alike():
    selector = AnnealingSelector(1, random_state=0).fit(table(when=Y), Y)
    message = refusal(table(when=DAYS), lambda X, _: selector.predict_proba(X))
    assert "of dates or times: 'when'" in message


def test_what_nobody_expects_in_a_cell_is_told_as_scikit_learn_does():
    X = table().to_numpy().astype(object)
    X[3, 1] = {"a": 1}
    with pytest.raises(TypeError, match="not 'dict'"):
        AnnealingSelector(1).fit(X, Y)
