"""Any estimator as the judge of the candidates."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.metrics import log_loss, mean_pinball_loss, mean_poisson_deviance
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from safdr import Annealing, AnnealingRegressorSelector, AnnealingSelector, AnnealingSelectorCV
from safdr._estimators.measured_data import MeasuredData
from safdr._estimators.training_data import ClassData
from safdr._estimators.user_model import ModelPick, own_loss


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::2], y[::2]


def class_rows(X, y, weight=None):
    return ClassData(X, y, weight, y.astype(np.int64), np.unique(y))


def test_the_loss_is_that_of_held_out_rows(cancer):
    X, y = cancer
    subsets = np.array([[0, 1], [20, 27], [0, 1]])
    fits = ModelPick(GaussianNB(), class_rows(X, y), seed=3).fit(subsets)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=3).split(X, y))
    for subset, loss in zip(subsets, fits.losses, strict=True):
        parts = []
        for train, test in folds:
            model = GaussianNB().fit(X[train][:, subset], y[train])
            parts.append(log_loss(y[test], model.predict_proba(X[test][:, subset])))
        sizes = [len(test) for _, test in folds]
        assert loss == pytest.approx(np.average(parts, weights=sizes))


def test_a_model_that_remembers_its_rows_is_not_fooled_by_them(cancer):
    X, y = cancer
    selector = AnnealingSelector(2, estimator=DecisionTreeClassifier(), random_state=0).fit(X, y)
    assert selector.loss_ > 0  # on its own rows it would be 0 for every subset
    assert selector.score(X, y) == 1


def test_the_winner_is_the_candidate_with_the_smallest_loss(cancer):
    X, y = cancer
    selector = AnnealingSelector(
        3, estimator=GaussianNB(), annealing=Annealing(n_replicas=20), random_state=0
    ).fit(X, y)
    result = selector.result_
    assert result.loss_name == "cross_entropy"
    assert result.loss == result.losses.min()
    assert selector.cross_entropy_ == selector.loss_ == result.loss
    assert isinstance(selector.estimator_, GaussianNB)


def test_without_probabilities_the_score_decides(cancer):
    X, y = cancer
    selector = AnnealingSelector(2, estimator=RidgeClassifier(), random_state=0).fit(X, y)
    assert selector.result_.loss_name == "negative_score"
    assert -1 <= selector.loss_ < -0.85
    assert not hasattr(selector, "cross_entropy_")


@pytest.mark.parametrize("n_jobs", [2])
def test_workers_do_not_change_a_loss(cancer, n_jobs):
    how = {"estimator": GaussianNB(), "annealing": Annealing(n_replicas=5), "random_state": 0}
    one = AnnealingSelector(2, **how).fit(*cancer).result_
    two = AnnealingSelector(2, **how, n_jobs=n_jobs).fit(*cancer).result_
    np.testing.assert_array_equal(one.losses, two.losses)


def test_the_cross_validation_takes_a_model(cancer):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    search = AnnealingSelectorCV(
        estimator=model,
        max_features=3,
        cv=2,
        annealing=Annealing(n_replicas=5, max_steps=10),
        random_state=0,
    ).fit(*cancer)
    assert search.cv_results_["mean_cross_entropy"].shape == (3,)
    assert search.score(*cancer) > 0.95


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (LinearRegression(), "squared_error"),
        (PoissonRegressor(), "poisson"),
        (TweedieRegressor(power=1.5), "tweedie_deviance"),
        (QuantileRegressor(quantile=0.8), "pinball"),
        (RandomForestRegressor(criterion="absolute_error"), "absolute_error"),
        (GradientBoostingRegressor(loss="huber"), "squared_error"),
        (HistGradientBoostingRegressor(loss="poisson"), "poisson"),
        (make_pipeline(StandardScaler(), HistGradientBoostingRegressor(loss="gamma")), "gamma"),
    ],
)
def test_a_regressor_is_judged_by_its_own_loss(model, name):
    assert own_loss(model, labels=False)[0] == name


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (PoissonRegressor(), mean_poisson_deviance),
        (
            QuantileRegressor(quantile=0.8, solver="highs"),
            lambda y, p: mean_pinball_loss(y, p, alpha=0.8),
        ),
    ],
)
def test_the_loss_of_a_regressor_is_what_it_says(model, loss):
    X, y = load_diabetes(return_X_y=True)
    pick = ModelPick(model, MeasuredData(X, y, None), seed=0)
    parts, sizes = [], []
    for train, test in pick._splits:
        model.fit(X[train][:, [2, 8]], y[train])
        parts.append(loss(y[test], model.predict(X[test][:, [2, 8]])))
        sizes.append(len(test))
    measured = pick.fit(np.array([[2, 8]])).losses[0]
    assert measured == pytest.approx(np.average(parts, weights=sizes))
    assert measured < pick.baseline()


def test_weights_reach_fits_and_losses():
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    plain = AnnealingRegressorSelector(2, estimator=LinearRegression(), random_state=0).fit(X, y)
    heavy = AnnealingRegressorSelector(2, estimator=LinearRegression(), random_state=0)
    heavy.fit(X, y, sample_weight=weight)
    assert heavy.loss_ != plain.loss_
    expected = LinearRegression().fit(X[:, heavy.subset_], y, sample_weight=weight)
    np.testing.assert_allclose(heavy.estimator_.coef_, expected.coef_)


def test_one_output_may_come_as_a_column(rng):
    """A tree predicts a column without its second dimension."""
    X = rng.normal(size=(60, 6))
    y = X[:, 2] + 0.1 * rng.normal(size=60)
    model = DecisionTreeRegressor(max_depth=3, random_state=0)
    how = {"estimator": model, "annealing": Annealing(n_replicas=5), "random_state": 0}
    column = AnnealingRegressorSelector(2, **how).fit(X, y[:, None])
    plain = AnnealingRegressorSelector(2, **how).fit(X, y)
    np.testing.assert_array_equal(column.subset_, plain.subset_)
    assert column.loss_ == plain.loss_
