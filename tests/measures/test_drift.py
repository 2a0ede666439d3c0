"""PSI, parts of rows, classes and errors of a quantity, against slower ways."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    confusion_matrix,
    mean_absolute_error,
    precision_recall_fscore_support,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from safdr.measures.classes import against_the_rest, classes_apart
from safdr.measures.drift import stability_index
from safdr.measures.intervals import mean_interval
from safdr.measures.numbers import errors_of, quantiles
from safdr.measures.slices import MISSING, OTHER, segments_of


def slow_psi(values, base):
    """By the definition, with edges at the deciles of `base`."""
    edges = np.quantile(base, np.arange(1, 10) / 10, method="inverted_cdf")
    total = 0.0
    for low, high in zip([-np.inf, *edges], [*edges, np.inf], strict=True):
        a, e = (np.mean((each > low) & (each <= high)) for each in (values, base))
        a, e = a or 0.5 / len(values), e or 0.5 / len(base)
        total += (a - e) * np.log(a / e)
    return total


def test_psi_is_its_definition():
    rng = np.random.default_rng(0)
    base, values = rng.normal(size=1000), rng.normal(0.4, 1.3, size=250)
    found = stability_index(values, np.ones(250), base, np.ones(1000))
    assert found["value"] == pytest.approx(slow_psi(values, base))
    far = stability_index(values + 9, np.ones(250), base, np.ones(1000))
    assert far["value"] == pytest.approx(slow_psi(values + 9, base))


def test_psi_of_weights_is_that_of_copies_but_chance_is_not():
    rng = np.random.default_rng(1)
    base, values = rng.normal(size=300), rng.normal(0.5, size=90)
    weight = rng.integers(1, 5, size=90)
    one = stability_index(values, weight.astype(float), base, np.ones(300))
    copies = np.repeat(values, weight)
    many = stability_index(copies, np.ones(len(copies)), base, np.ones(300))
    assert one["value"] == pytest.approx(many["value"])
    assert one["chance"] > many["chance"]


def test_chance_is_what_psi_exceeds_one_time_in_twenty():
    rng = np.random.default_rng(2)
    above = 0
    for _ in range(400):
        base, values = rng.normal(size=600), rng.normal(size=300)
        found = stability_index(values, np.ones(300), base, np.ones(600))
        above += found["value"] > found["chance"]
    assert 0.02 <= above / 400 <= 0.09


def test_psi_of_odd_rows():
    ones = np.ones
    assert stability_index(np.array([]), ones(0), np.arange(5.0), ones(5)) is None
    assert stability_index(np.arange(5.0), ones(5), np.zeros(5), ones(5)) is None
    alone = stability_index(np.array([3.0]), ones(1), np.arange(50.0), ones(50))
    assert alone["value"] < alone["chance"]
    codes = stability_index(np.zeros(6), ones(6), np.zeros(6), ones(6), n_codes=3)
    assert codes["value"] == 0


# ---- Parts of rows ------------------------------------------------------------------------------


def test_segments_are_values_bands_or_the_commonest():
    labels, codes = segments_of(["b", None, "a", "b"])
    assert [labels[i] for i in codes] == ["b", MISSING, "a", "b"]
    labels, codes = segments_of(np.array([3.0, 1.0, np.nan, 3.0]))
    assert [labels[i] for i in codes] == ["3", "1", MISSING, "3"]
    labels, codes = segments_of(np.arange(100))
    assert labels[0] == "0 to 19"
    assert np.bincount(codes).tolist() == [20] * 5
    many = [f"v{i}" for i in range(40)] + ["v7"] * 5
    labels, codes = segments_of(many)
    assert len(labels) == 12
    assert labels[-1] == OTHER
    assert codes[7] == codes[-1] == labels.index("v7")
    labels, codes = segments_of([True, False])
    assert [labels[i] for i in codes] == ["True", "False"]
    assert segments_of(np.array([np.nan, np.nan]))[0] == [MISSING]
    texts = pd.Series(["a", pd.NA, "b"], dtype="string")
    assert segments_of(texts)[0] == ["a", "b", MISSING]
    assert segments_of([1000001, 1000002, 1000001])[0] == ["1000001", "1000002"]


# ---- Classes and quantities ---------------------------------------------------------------------


def test_classes_are_told_apart_as_scikit_learn_tells():
    rng = np.random.default_rng(3)
    codes, weight = rng.integers(0, 4, size=300), rng.integers(1, 4, size=300).astype(float)
    probabilities = rng.dirichlet(np.ones(4), size=300)
    probabilities[np.arange(300), codes] += 0.5
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    taken = probabilities.argmax(axis=1)
    found = classes_apart(codes, probabilities, weight)
    how = {"sample_weight": weight}
    assert found["confusion"].tolist() == confusion_matrix(codes, taken, **how).tolist()
    precision, recall, *_ = precision_recall_fscore_support(codes, taken, **how)
    for c, each in enumerate(against_the_rest(codes, probabilities, weight)):
        assert each["precision"] == pytest.approx(precision[c])
        assert each["recall"] == pytest.approx(recall[c])
        wanted = roc_auc_score(codes == c, probabilities[:, c], **how)
        assert each["auc"]["value"] == pytest.approx(wanted)


def test_a_class_that_is_not_there_has_no_scores():
    probabilities = np.tile([0.5, 0.3, 0.2], (20, 1))
    each = against_the_rest(np.arange(20) % 2, probabilities, np.ones(20))
    assert each[2]["auc"] is None
    assert each[2]["precision"] is None
    assert each[2]["recall"] is None


def test_errors_of_a_quantity():
    rng = np.random.default_rng(4)
    predicted, weight = rng.normal(size=400), rng.integers(1, 4, size=400).astype(float)
    y = 2 * predicted + rng.normal(size=400)
    found = errors_of(y, predicted, weight, weighted=True)
    how = {"sample_weight": weight}
    assert found["r2"]["value"] == pytest.approx(r2_score(y, predicted, **how))
    root = root_mean_squared_error(y, predicted, **how)
    assert found["root_mean_squared_error"] == pytest.approx(root)
    assert found["mean_absolute_error"] == pytest.approx(mean_absolute_error(y, predicted, **how))
    assert found["slope"]["low"] < 2 < found["slope"]["high"]
    assert sum(found["histogram"]["shares"]) == pytest.approx(1)
    copies = np.repeat(y - predicted, weight.astype(int))
    wanted = np.quantile(copies, [0.05, 0.5, 0.95], method="inverted_cdf")
    assert quantiles(y - predicted, weight, [0.05, 0.5, 0.95]) == pytest.approx(wanted)


@pytest.mark.parametrize("y", [np.full(20, 3.0), np.arange(20.0)])
@pytest.mark.parametrize("predicted", [np.full(20, 1.0), np.arange(20.0)])
def test_degenerate_quantities_are_no_error(y, predicted):
    found = errors_of(y, predicted, np.ones(20), weighted=False)
    assert (found["r2"] is None) == (np.ptp(y) == 0)
    assert (found["slope"] is None) == (np.ptp(predicted) == 0)


def test_the_interval_of_a_mean_covers_and_one_row_has_none():
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(400):
        found = mean_interval(rng.exponential(size=60), rng.integers(1, 4, 60).astype(float))
        hits += found["low"] <= 1 <= found["high"]
    assert 0.90 <= hits / 400 <= 0.98
    assert mean_interval(np.array([2.0]), np.ones(1))["low"] is None
