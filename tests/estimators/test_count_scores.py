"""Scores of rows that are not in memory, counted by class."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from report_cases import auc_with_interval
from safdr import AnnealingSelector, Stream
from safdr._old_measures.intervals import interval_of_counts

pa = pytest.importorskip("pyarrow")

QUICK = {"random_state": 0, "C": 1.0}


@pytest.fixture
def rows(rng):
    y = rng.integers(0, 2, 30_000)
    X = rng.normal(size=(30_000, 5))
    X[:, 1] += y
    X[:, 3] -= 0.5 * y
    return X, y


def stream_of(X, y, sample_rows=5000):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    table = pa.table({**columns, "y": y})
    return Stream(lambda: table.to_batches(max_chunksize=7000), sample_rows=sample_rows)


def test_the_area_and_its_interval_are_those_of_all_rows(rows):
    X, y = rows
    selector = AnnealingSelector(2, **QUICK).fit(X[:5000], y[:5000])
    counts = selector.count_scores(stream_of(X, y), "y")
    assert counts.sum(axis=1).tolist() == np.bincount(y).tolist()
    scores = selector.decision_function(X)
    found, exact = interval_of_counts(counts), auc_with_interval(scores[y == 1], scores[y == 0])
    assert exact["value"] == pytest.approx(roc_auc_score(y, scores), abs=1e-12)
    for end in ("value", "low", "high"):
        assert found[end] == pytest.approx(exact[end], abs=1e-4)


def test_columns_are_found_by_name(rows):
    X, y = rows
    table = pa.table({**{f"x{j}": X[:, j] for j in range(5)}, "y": y})
    selector = AnnealingSelector(2, **QUICK).fit(table, "y")
    counts = selector.count_scores(table, "y")
    note = pa.array(["text"] * len(y))
    turned = table.select(["y", "x4", "x3", "x2", "x1", "x0"]).add_column(2, "note", note)
    np.testing.assert_array_equal(selector.count_scores(turned, "y"), counts)
    renamed = table.rename_columns(["x0", "a", "x2", "b", "x4", "y"])
    with pytest.raises(ValueError, match=r"lacks 2 of the 5 columns .* 'x1', 'x3'"):
        selector.count_scores(renamed, "y")
    with pytest.raises(ValueError, match="not numbers: 'x1'"):
        selector.count_scores(table.set_column(1, "x1", note), "y")
    with pytest.raises(ValueError, match="it has no 'z'"):
        selector.count_scores(table, "z")


def test_what_can_not_be_counted_is_refused(rows):
    X, y = rows
    selector = AnnealingSelector(2, **QUICK).fit(X[:500], y[:500])
    with pytest.raises(ValueError, match="has 4 columns besides 'y'"):
        selector.count_scores(stream_of(X[:, :4], y), "y")
    with pytest.raises(ValueError, match=r"classes that the selector was fitted to, \[0, 1\]"):
        selector.count_scores(stream_of(X, 3 * y), "y")
    three = AnnealingSelector(2, random_state=0).fit(X[:500], y[:500] + (X[:500, 0] > 1))
    with pytest.raises(ValueError, match="of two classes"):
        three.count_scores(stream_of(X, y), "y")
