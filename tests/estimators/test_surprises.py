"""Cases that once went wrong, through the estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    CrossValidatedScore,
    SeparationWarning,
)

FEW = {"annealing": Annealing(n_replicas=10), "random_state": 0}


def sum_of_means(X, y):
    return float(X.mean(axis=0).sum())


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 40))
    return X, np.arange(80) % 2


@pytest.mark.parametrize("offset", [-1e5, 1e5])
def test_a_constant_added_to_a_criterion_changes_nothing(wide, offset):
    X, y = wide
    plain = AnnealingSelector(4, criterion=sum_of_means, **FEW).fit(X, y)
    moved = AnnealingSelector(4, criterion=lambda X, y: offset + sum_of_means(X, y), **FEW)
    assert moved.fit(X, y).subset_.tolist() == plain.subset_.tolist()
    assert len(moved.result_.trace) == len(plain.result_.trace)


def test_many_subsets_that_cannot_be_judged_do_not_spoil_the_temperature(wide):
    X, y = wide
    best = int(np.argmax(X.mean(axis=0)))

    def objective(columns, labels):
        return sum_of_means(columns, labels) if X[0, best] in columns[0] else -np.inf

    result = AnnealingSelector(3, criterion=objective, **FEW).fit(X, y).result_
    assert np.isfinite(result.trace.beta).all()
    assert np.isfinite(result.trace.mean).all()
    assert result.subset.tolist() == np.sort(np.argsort(X.mean(axis=0))[-3:]).tolist()


def test_a_criterion_that_never_gives_a_number_is_an_error(wide):
    with pytest.raises(ValueError, match="criterion gave no finite value for any subset"):
        AnnealingSelector(3, criterion=lambda X, y: np.nan, **FEW).fit(*wide)


def test_costs_count_where_the_criterion_is_negative(two_classes):
    X, y = two_classes
    dear = int(AnnealingSelector(1, random_state=0).fit(X, y).subset_[0])

    def objective(columns, labels):
        model = LogisticRegression().fit(columns, labels)
        return float(np.mean(model.predict_log_proba(columns)[np.arange(len(labels)), labels]))

    selector = AnnealingSelector(
        2,
        annealing=Annealing(n_replicas=10, max_steps=5),
        criterion=objective,
        estimator=LogisticRegression(),
        feature_cost={dear: 1.0},
        cost_strength=100.0,
        random_state=0,
    )
    assert dear not in selector.fit(X, y).subset_


def test_costs_as_a_series_go_by_its_index(two_classes):
    X, y = two_classes
    X = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)])
    free = AnnealingSelector(1, random_state=0).fit(X, y).get_feature_names_out()[0]
    cost = pd.Series({name: float(name == free) for name in reversed(X.columns)})
    selector = AnnealingSelector(1, feature_cost=cost, cost_strength=100.0, random_state=0)
    assert selector.fit(X, y).get_feature_names_out()[0] != free


def test_splits_that_shuffle_are_the_same_for_every_subset(wide):
    X, y = wide
    X = X[:, :8]
    score = CrossValidatedScore(KNeighborsClassifier(), cv=ShuffleSplit(3))
    fits = [AnnealingSelector(3, criterion=score, **FEW).fit(X, y).result_ for _ in range(2)]
    np.testing.assert_array_equal(fits[0].criterion_values, fits[1].criterion_values)
    once = CrossValidatedScore(KNeighborsClassifier(), cv=KFold(3).split(X))
    assert AnnealingSelector(3, criterion=once, **FEW).fit(X, y).subset_.size == 3


def test_a_pipeline_takes_weights(two_classes):
    X, y = two_classes
    model = make_pipeline(StandardScaler(), LogisticRegression())
    selector = AnnealingSelector(2, estimator=model, class_weight="balanced", **FEW).fit(X, y)
    assert selector.score(X, y) > 0.5


@pytest.mark.parametrize("how", [{"criterion": "fisher"}, {"criterion": sum_of_means}])
def test_separation_is_told_whatever_chose_the_winner(how):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + 50 * y[:, None]
    with pytest.warns(SeparationWarning) as caught:
        AnnealingSelector(1, C=np.inf, **how, **FEW).fit(X, y)
    assert caught[0].filename == __file__


def test_a_loss_of_an_earlier_fit_does_not_stay(two_classes):
    selector = AnnealingSelector(2, **FEW).fit(*two_classes)
    assert selector.cross_entropy_ > 0
    selector.set_params(estimator=RidgeClassifier()).fit(*two_classes)
    assert not hasattr(selector, "cross_entropy_")


def test_quantiles_of_boosting_and_several_outputs_of_trees(rng):
    X = rng.normal(size=(60, 5))
    y = np.exp(X[:, :2])
    model = GradientBoostingRegressor(loss="quantile", alpha=0.8, n_estimators=5)
    selector = AnnealingRegressorSelector(2, estimator=model, **FEW).fit(X, y[:, 0])
    assert selector.result_.loss_name == "pinball"
    trees = RandomForestRegressor(5, criterion="poisson")
    AnnealingRegressorSelector(2, estimator=trees, **FEW).fit(X, y)


def test_a_class_of_one_row_is_named_before_any_weight(two_classes):
    X, _ = two_classes
    y = np.where(np.arange(len(X)) == 3, 2, np.arange(len(X)) % 2)
    with pytest.raises(ValueError, match="1 row of class 2"):
        AnnealingSelector(2, class_weight="balanced").fit(X, y)
    weight = np.where(y == 2, 2.0, 1.0)
    with pytest.raises(ValueError, match="each class needs at least 2 rows; one has 1"):
        AnnealingSelector(2, estimator=LogisticRegression()).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("name", ["criterion", "estimator"])
def test_a_model_of_the_wrong_kind_is_named_at_once(two_classes, name):
    with pytest.raises(ValueError, match=f"{name} must be a classifier; got the regressor"):
        AnnealingSelector(2, **{name: LinearRegression()}).fit(*two_classes)


def test_the_default_size_gives_way_to_constraints(two_classes):
    X, y = two_classes
    eight = list(range(8))
    for limits, left in ({"never_include": eight}, 4), ({"always_include": eight}, 8):
        selector = AnnealingSelector(constraints=Constraints(**limits), **FEW)
        assert selector.fit(X, y).n_features_ == left


def test_a_cross_validation_names_its_own_parameters(two_classes):
    with pytest.raises(ValueError, match="max_features must be at least 3"):
        AnnealingSelectorCV(max_features=2, constraints=Constraints(always_include=[0, 1, 2])).fit(
            *two_classes
        )


def test_a_scorer_that_fails_is_named_with_its_fold(two_classes):
    X, y = two_classes
    with pytest.raises(ValueError, match=r"model of fold 0 at 1 features can't be scored"):
        AnnealingSelectorCV(
            max_features=1, estimator=RidgeClassifier(), scoring="neg_log_loss", cv=2, **FEW
        ).fit(X, y)


@pytest.mark.parametrize(
    ("given", "message"),
    [(1.5, "got 1.5"), ([[0, 1], [2]], r"got \[0, 1\]"), ([None], "got None")],
)
def test_features_that_are_none_are_named(two_classes, given, message):
    with pytest.raises(ValueError, match=f"always_include must hold names.*{message}"):
        AnnealingSelector(2, constraints=Constraints(always_include=given)).fit(*two_classes)


def test_a_mask_of_objects_is_a_mask(two_classes):
    mask = np.array([False] * 11 + [True], dtype=object)
    selector = AnnealingSelector(2, constraints=Constraints(always_include=mask), **FEW)
    assert 11 in selector.fit(*two_classes).subset_


def test_labels_for_a_regressor_are_named(two_classes):
    X, y = two_classes
    with pytest.raises(ValueError, match=r"y must hold numbers.*For labels there are"):
        AnnealingRegressorSelector(2).fit(X, np.array(["a", "b"], dtype=object)[y])
