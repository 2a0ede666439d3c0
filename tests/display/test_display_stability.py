"""Pictures of stability and substitutes show what was found."""

import numpy as np
import pytest
from matplotlib.patches import Arc
from sklearn.linear_model import LogisticRegression

from safdr import (
    Annealing,
    AnnealingSelector,
    Constraints,
    ParameterError,
    StabilityDisplay,
    SubstitutesDisplay,
    stability,
)
from safdr.display.labels import fitted_distinct

QUICK = Annealing(n_replicas=8, max_steps=20)


@pytest.fixture(scope="module")
def copies(two_classes):
    """Rows of which column 12 is nearly column 0."""
    X, y = two_classes
    noise = np.random.default_rng(0).normal(size=len(y))
    return np.column_stack([X, X[:, 0] + 0.1 * noise]), y


@pytest.fixture(scope="module")
def found(copies):
    return stability(AnnealingSelector(3, annealing=QUICK), *copies, random_state=0)


def test_the_shares_are_the_results_own_and_fall(found):
    display = StabilityDisplay.from_stability(found)
    frame = display.to_frame()
    assert frame["frequency"].is_monotonic_decreasing
    known = dict(zip(found.names, found.frequencies, strict=True))
    assert dict(zip(frame["feature"], frame["frequency"], strict=True)) == {
        name: share
        for name, share, chosen in zip(known, known.values(), found.chosen, strict=True)
        if share > 0 or chosen
    }
    assert frame["chosen"].sum() == 3


def test_an_arc_for_each_pair_that_is_shown(found):
    assert found.stand_ins
    display = StabilityDisplay.from_stability(found).plot()
    arcs = [patch for patch in display.ax_.patches if isinstance(patch, Arc)]
    assert len(arcs) == min(len(found.stand_ins), 6)
    assert f"Stability {found.index:.2f}" in display.ax_.get_xlabel()
    few = StabilityDisplay.from_stability(found, max_features_shown=1).plot()
    assert not few.ax_.patches
    assert "further features not shown" in few.ax_.get_xlabel()


def test_the_rows_of_substitutes_are_those_hardest_to_do_without_first(copies):
    limits = Constraints(always_include=0)
    selector = AnnealingSelector(3, annealing=QUICK, constraints=limits, random_state=0)
    display = SubstitutesDisplay.from_estimator(selector.fit(*copies), *copies).plot()
    table = selector.substitutes(*copies, backend="dict")
    out = {
        name: difference
        for name, replacement, difference in zip(
            table["chosen"], table["replacement"], table["score_difference"], strict=True
        )
        if replacement is None
    }
    assert display.order_ == sorted(out, key=out.get)
    assert len(display.to_frame()) == len(table["chosen"])
    labels = [text.get_text() for text in display.ax_.child_axes[0].get_yticklabels()]
    assert labels[display.order_.index("x0")] == "none"


def test_what_they_refuse(two_classes, found):
    with pytest.raises(TypeError, match=r"from_stability needs what safdr.stability returns"):
        StabilityDisplay.from_stability(AnnealingSelector())
    for wrong in (0, 2.5, "all"):
        with pytest.raises(ParameterError, match=f"must be at least 1; got {wrong!r}. Name how"):
            StabilityDisplay.from_stability(found, max_features_shown=wrong)
    with pytest.raises(TypeError, match=r"SubstitutesDisplay.from_estimator needs an Annealing"):
        SubstitutesDisplay.from_estimator(LogisticRegression().fit(*two_classes), *two_classes)


def test_names_without_any_room_end():
    assert fitted_distinct(["first", "second"], [0, 1], 0.0, 8.0) == ["… #0", "… #1"]
