"""AUC, Gini, KS, curves and cut-offs against scikit-learn, SciPy and counting."""

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.metrics import (
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)

from report_cases import auc_with_interval
from safdr.measures.intervals import interval_of_counts
from safdr.measures.ranking import MOST_POINTS, Ranked, cut_offs, discrimination


@pytest.fixture(scope="module", params=["smooth", "ties"])
def scored(request):
    """Probabilities of two classes, with and without ties."""
    rng = np.random.default_rng(0)
    y = rng.random(700) < 0.3
    score = rng.normal(size=700) + y
    if request.param == "ties":
        score = np.round(score, 0)
    return y, 1 / (1 + np.exp(-score)), rng.integers(1, 5, size=700).astype(float)


def test_of_equal_weights_all_is_as_others_compute_it(scored):
    y, p, _ = scored
    found = discrimination(Ranked.of(p, y, np.ones(len(y))))
    assert found["auc"]["value"] == pytest.approx(roc_auc_score(y, p), abs=1e-12)
    assert found["gini"]["value"] == pytest.approx(2 * roc_auc_score(y, p) - 1, abs=1e-12)
    assert found["ks"] == pytest.approx(ks_2samp(p[y], p[~y]).statistic, abs=1e-12)
    assert found["auc"] == pytest.approx(auc_with_interval(p[y], p[~y]))
    assert np.mean(p >= found["ks_cut_off"]) in found["curve"]["flagged"]


def test_weights_are_copies_to_all_but_the_interval(scored):
    y, p, weight = scored
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    one = discrimination(Ranked.of(p, y, weight))
    many = discrimination(Ranked.of(p[copies], y[copies], np.ones(len(copies))))
    assert one["auc"]["value"] == pytest.approx(roc_auc_score(y, p, sample_weight=weight))
    for key in ("value", "ks"):
        pair = [each["auc"][key] if key == "value" else each[key] for each in (one, many)]
        assert pair[0] == pytest.approx(pair[1], abs=1e-12)
    assert one["curve"]["flagged"] == pytest.approx(many["curve"]["flagged"], abs=1e-12)
    # A copy is no further row.
    wide, narrow = (each["auc"]["high"] - each["auc"]["low"] for each in (one, many))
    assert wide > 1.2 * narrow


def test_the_interval_does_not_hang_on_the_unit_of_weights(scored):
    y, p, weight = scored
    found = [Ranked.of(p, y, unit * weight) for unit in (1.0, 1000.0)]
    first, second = (interval_of_counts(f.counts, f.squares, f.n_rows) for f in found)
    assert first == pytest.approx(second)


def test_the_curve_goes_through_points_of_the_roc(scored):
    y, p, weight = scored
    curve = discrimination(Ranked.of(p, y, weight))["curve"]
    false, true, _ = roc_curve(y, p, sample_weight=weight, drop_intermediate=False)
    exact = {(round(f, 10), round(t, 10)) for f, t in zip(false, true, strict=True)}
    pairs = zip(curve["false_positive_rate"], curve["true_positive_rate"], strict=True)
    points = [(round(f, 10), round(t, 10)) for f, t in pairs]
    assert set(points) <= exact
    assert points[0] == (0, 0)
    assert points[-1] == (1, 1)
    assert len(points) <= MOST_POINTS


def test_cut_offs_do_what_they_say(scored):
    y, p, weight = scored
    rows = cut_offs(Ranked.of(p, y, weight))
    assert sum(row["largest_ks"] for row in rows) == 1
    for row in rows:
        flagged = p >= row["cut_off"]
        how = {"sample_weight": weight}
        assert row["precision"] == pytest.approx(precision_score(y, flagged, **how))
        assert row["recall"] == pytest.approx(recall_score(y, flagged, **how))
        assert row["approval_rate"] == pytest.approx(np.average(~flagged, weights=weight))
        below = ~flagged
        assert row["bad_rate"] == pytest.approx(np.average(y[below], weights=weight[below]))


def test_counted_rows_rank_as_rows_do(scored):
    y, p, _ = scored
    ranked = Ranked.of(p, y, np.ones(len(y)))
    counted = discrimination(Ranked.of_counts(ranked.counts))
    found = discrimination(ranked)
    assert counted["ks_cut_off"] is None
    assert counted["auc"] == found["auc"]
    assert counted["curve"]["flagged"] == pytest.approx(found["curve"]["flagged"])
    assert all(row["cut_off"] is None for row in cut_offs(Ranked.of_counts(ranked.counts)))


@pytest.mark.parametrize("y", [np.zeros(20, bool), np.ones(20, bool)])
def test_one_class_alone_can_not_be_ranked(y):
    ranked = Ranked.of(np.linspace(0, 1, 20), y, np.ones(20))
    assert discrimination(ranked) is None
    assert cut_offs(ranked) == []


def test_equal_scores_rank_nothing():
    y = np.arange(20) % 2 == 0
    found = discrimination(Ranked.of(np.full(20, 0.3), y, np.ones(20)))
    assert (found["auc"]["value"], found["ks"]) == (0.5, 0.0)
    assert cut_offs(Ranked.of(np.full(20, 0.3), y, np.ones(20))) == []


def test_empty_bins_at_the_ends_are_no_cut_offs():
    counts = np.array([[0.0, 5, 5, 0, 0], [0.0, 1, 9, 0, 0]])
    assert [row["flagged"] for row in cut_offs(Ranked.of_counts(counts))] == [0.7]


def test_the_weighted_interval_covers():
    rng = np.random.default_rng(1)
    hits, wanted = 0, 0.5 + 0.5 * 0.5204998778  # Phi(1 / sqrt(2)), of normal scores one apart
    for _ in range(300):
        y = np.arange(160) % 4 == 0
        weight = rng.exponential(size=160)
        ranked = Ranked.of(rng.normal(size=160) + y, y, weight)
        found = interval_of_counts(ranked.counts, ranked.squares, ranked.n_rows)
        hits += found["low"] <= wanted <= found["high"]
    assert 0.91 <= hits / 300 <= 0.98
