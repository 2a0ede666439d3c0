"""What `result_.working_set` states, by trying every swap: of any task, limits, costs, weights."""

import numpy as np
import pytest
from scipy import sparse

from fuzz.wide import smaller
from safdr import AnnealingRegressorSelector, AnnealingSelector, Constraints

N_ROWS, N_COLUMNS, SIZE, RIDGE = 70, 200, 4, 1e-6
PAIRS = [[2 * i, 2 * i + 1] for i in range(40)]


def covariance(X, weight):
    centred = X - weight @ X / weight.sum()
    return (centred * weight[:, None]).T @ centred / weight.sum()


def fisher_ratio(X, y, weight, subset):
    """The mean over pairs of rows of different classes of d'A⁻¹d, by the definition."""
    X, total, pairs = X[:, subset], 0.0, 0.0
    classes = [y == label for label in np.unique(y)]
    A = sum(covariance(X[rows], weight[rows]) for rows in classes)
    A += RIDGE * np.diag(np.diag(A))
    means = [weight[rows] @ X[rows] / weight[rows].sum() for rows in classes]
    for i, one in enumerate(classes):
        for j in range(i):
            d, n = means[i] - means[j], weight[one].sum() * weight[classes[j]].sum()
            total, pairs = total + n * d @ np.linalg.solve(A, d), pairs + n
    return total / pairs


def r2(X, y, weight, subset):
    """The share of the variance of y that the columns explain."""
    both = covariance(np.column_stack([X[:, subset], y]), weight)
    A, d = both[:-1, :-1], both[:-1, -1]
    return d @ np.linalg.solve(A + RIDGE * np.diag(np.diag(A)), d) / both[-1, -1]


def swapped(subset, groups, limits):
    """Every subset that one swap leads to: groups for groups, and what rules allow."""
    group_of = {column: tuple(group) for group in groups for column in group}
    inside = {group_of.get(j, (j,)) for j in subset}
    outside = {group_of.get(j, (j,)) for j in range(N_COLUMNS)} - inside
    for out in inside:
        for new in outside:
            some = sorted({j for group in inside - {out} | {new} for j in group})
            rivals = [set(some) & set(one) for one in limits.get("at_most_one_of", [])]
            if not set(limits.get("always_include", [])) <= set(some):
                continue
            if (
                not set(limits.get("never_include", [])) & set(some)
                and max(map(len, rivals), default=0) <= 1
            ):
                yield some


CASES = {
    "two classes, limits": (2, {"always_include": [7], "never_include": [0, 9]}, False, False),
    "three classes, weights": (3, {}, False, True),
    "three classes, rivals": (3, {"at_most_one_of": [[0, 1, 2, 3, 4], [50, 120]]}, True, False),
    "two classes, groups, costs, weights": (2, {"groups": PAIRS}, True, True),
    "regression, costs": (0, {"never_include": [1]}, True, False),
    "regression, groups, weights": (0, {"groups": PAIRS}, False, True),
}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("case", CASES)
def test_no_swap_of_all_features_raises_the_value(case, form):
    n_classes, limits, costly, weighted = CASES[case]
    rng = np.random.default_rng(len(case))
    X = rng.normal(size=(N_ROWS, N_COLUMNS)) + rng.normal(size=(N_ROWS, 1))
    X *= rng.random(X.shape) < 0.7
    y = np.arange(N_ROWS) % max(n_classes, 2)
    X[:, ::9] += 0.5 * y[:, None]
    value = fisher_ratio
    if n_classes == 0:
        y, value = X[:, ::20] @ rng.normal(size=10) + rng.normal(size=N_ROWS), r2
    weight = rng.uniform(0.5, 2.0, N_ROWS) if weighted else np.ones(N_ROWS)
    cost = rng.uniform(0, 0.02, N_COLUMNS) if costly else np.zeros(N_COLUMNS)
    kind = AnnealingSelector if n_classes else AnnealingRegressorSelector
    selector = kind(
        SIZE,
        constraints=Constraints(**limits),
        feature_cost=cost if costly else None,
        ridge=RIDGE,
        random_state=0,
    )
    with smaller():
        result = selector.fit(form(X), y, sample_weight=weight if weighted else None).result_
    assert f"of all {N_COLUMNS}, raises" in str(result.working_set)
    best = result.subsets[np.argmax(result.criterion_values)]
    best = best[best >= 0]
    reached = value(X, y, weight, best) - cost[best].sum()
    assert reached == pytest.approx(result.criterion_values.max(), rel=1e-6)
    others = list(swapped(best.tolist(), limits.get("groups", []), limits))
    assert len(others) > 300
    most = max(value(X, y, weight, some) - cost[some].sum() for some in others)
    assert most <= reached * (1 + 1e-9)
