"""Methods by name, and what each of them chooses."""

import numpy as np
import pytest
from sklearn.feature_selection import RFE as Elimination
from sklearn.linear_model import LogisticRegression

from experiments.baselines import RFE, Abess, Lasso
from experiments.errors import MethodError
from experiments.methods import get_method
from experiments.models import fit_models
from safdr import Annealing, AnnealingSelector


@pytest.fixture
def scaled(toy):
    return (toy.X - toy.X.mean(axis=0)) / toy.X.std(axis=0), toy.y


def test_settings_are_read_and_sorted():
    method = get_method("sa-fdr+n_batches=10+batch_draw=proposal")
    assert method.name == "sa-fdr+batch_draw=proposal+n_batches=10"
    assert method.settings["n_batches"] == 10
    assert method.settings["batch_draw"] == "proposal"


def test_settings_at_their_default_make_no_new_method():
    default = Annealing().n_batches
    assert get_method(f"sa-fdr+n_batches={default}").name == "sa-fdr"


def test_settings_hold_every_default_that_shapes_the_search():
    settings = get_method("sa-fdr").settings
    assert settings["n_replicas"] == 50
    assert settings["ridge"] == AnnealingSelector.as_published().ridge
    assert not {"n_jobs", "random_state", "estimator"} & settings.keys()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sa", "No method is called 'sa'. There are: sa-fdr, rfe, lasso, abess, recipe"),
        ("rfe+n_batches=2", "Only sa-fdr takes settings"),
        ("sa-fdr+batches=2", "'batches=2' in .* is not a setting"),
        ("sa-fdr+n_batches", "is not a setting"),
        ("sa-fdr+n_batches=many", "n_batches in .* must be of type int; got 'many'"),
        ("sa-fdr+n_batches=0", "not allowed: The 'n_batches' parameter .* Got 0 instead"),
        ("sa-fdr+batch_draw=never", "not allowed: The 'batch_draw' parameter"),
        ("sa-fdr+tol=nan", "not allowed: The 'tol' parameter"),
    ],
)
def test_a_wrong_method_says_what_there_is(spec, message):
    with pytest.raises(MethodError, match=message):
        get_method(spec)


def test_a_variant_anneals_with_its_settings(toy):
    method = get_method("sa-fdr+max_steps=3+n_replicas=4")
    model = method.path(toy.X, toy.y, [3], 5)[0]
    selector = AnnealingSelector.as_published(
        3, annealing=Annealing(n_replicas=4, max_steps=3), random_state=5
    ).fit(toy.X, toy.y)
    np.testing.assert_array_equal(model.subset, selector.subset_)
    np.testing.assert_allclose(model.decide(toy.X), selector.decision_function(toy.X))
    assert model.cross_entropy == selector.cross_entropy_


def test_the_method_as_published_has_no_screen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 200))
    # Near-copies, whose difference tells the class.
    X[:, 11] = X[:, 10] + 0.1 * X[:, 11]
    y = (10.0 * (X[:, 11] - X[:, 10]) + 0.2 * rng.logistic(size=100) > 0).astype(np.int64)
    by_default = get_method("recipe").path(X, y, [3, 6], 5)
    as_published = get_method("sa-fdr").path(X, y, [3, 6], 5)
    for size, model, other in zip([3, 6], as_published, by_default, strict=True):
        selector = AnnealingSelector.as_published(size, random_state=5).fit(X, y)
        np.testing.assert_array_equal(model.subset, selector.subset_)
        # Without a screen the pair is found by its difference.
        assert {10, 11} <= set(model.subset)
        assert not {10, 11} <= set(other.subset)


def test_the_recipe_is_a_selector_whose_models_are_penalised(toy):
    [model] = get_method("recipe").path(toy.X, toy.y, [3], 5)
    selector = AnnealingSelector(3, random_state=5)
    selector.fit(toy.X, toy.y)
    np.testing.assert_array_equal(model.subset, selector.subset_)
    far = 10.0 * toy.X
    np.testing.assert_allclose(model.decide(far), selector.decision_function(far))


def test_one_elimination_gives_the_subsets_of_each_size(scaled):
    X, y = scaled
    models = RFE().path(X, y, [1, 3, 8], 0)
    for model, size in zip(models, [1, 3, 8], strict=True):
        alone = Elimination(LogisticRegression(), n_features_to_select=size).fit(X, y)
        np.testing.assert_array_equal(model.subset, np.flatnonzero(alone.support_))


def test_the_lasso_grid_starts_where_the_first_feature_comes_in(scaled):
    X, y = scaled
    lasso = Lasso()
    grid = lasso.grid(X, y, 30)
    assert len(grid) == 30
    assert grid[-1] == pytest.approx(1e3 * grid[0])
    # The first slope is that of the mean loss, so the grid does not depend on the number of rows.
    np.testing.assert_allclose(lasso.grid(np.tile(X, (3, 1)), np.tile(y, 3), 30), grid)
    just_below, just_above = lasso.path(X, y, [0.9 * grid[0], 1.1 * grid[0]], 0)
    assert len(just_below.subset) == 0
    assert len(just_above.subset) == 1
    assert len(lasso.path(X, y, grid[-1:], 0)[0].subset) == X.shape[1]


def test_the_lasso_penalises_alike_whatever_the_number_of_rows(scaled):
    X, y = scaled
    lasso = Lasso()
    grid = lasso.grid(X, y, 30)
    once = lasso.path(X, y, grid, 0)
    twice = lasso.path(np.tile(X, (2, 1)), np.tile(y, 2), grid, 0)
    sizes = [len(model.subset) for model in once]
    assert len(set(sizes)) > 3
    assert [len(model.subset) for model in twice] == sizes


def test_an_empty_subset_knows_the_class_share_only(scaled):
    X, y = scaled
    model = fit_models(X, y, [np.array([], dtype=np.int64)])[0]
    share = y.mean()
    assert 1 / (1 + np.exp(-model.decide(X)[0])) == pytest.approx(share)
    assert model.cross_entropy == pytest.approx(
        -share * np.log(share) - (1 - share) * np.log(1 - share)
    )


def test_equal_subsets_are_fitted_once(scaled):
    X, y = scaled
    one, other, same = fit_models(X, y, [np.array([2]), np.array([5]), np.array([2])])
    assert one is same
    assert one is not other


def test_abess_leaves_out_a_constant_column(scaled):
    pytest.importorskip("abess")
    X, y = scaled
    X = np.column_stack([np.ones(len(X)), X])
    models = Abess().path(X, y, [1, 2, 9], 0)
    assert models[1].subset.tolist() == [3, 6]
    assert [len(model.subset) for model in models] == [1, 2, 8]
    assert 0 not in models[2].subset


def test_abess_keeps_the_better_of_two_starts():
    abess = pytest.importorskip("abess")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 40)) + 2 * rng.normal(size=(150, 1))
    y = (X[:, :12] @ rng.normal(size=12) + 2 * rng.logistic(size=150) > 0).astype(np.int64)
    sizes = list(range(1, 16))
    cold = fit_models(
        X,
        y,
        [np.flatnonzero(abess.LogisticRegression(support_size=[k]).fit(X, y).coef_) for k in sizes],
    )
    found = Abess().path(X, y, sizes, 0)
    assert [len(model.subset) for model in found] == sizes
    gains = np.array([c.cross_entropy - f.cross_entropy for c, f in zip(cold, found, strict=True)])
    assert (gains >= 0).all()
    assert (gains > 1e-4).any()


def test_baselines_record_what_their_answers_depend_on():
    assert RFE().settings == {"method": "rfe", "C": 1.0, "solver": "lbfgs", "max_iter": 100}
    assert Abess().settings["starts"] == ["cold", "previous size"]
    assert Lasso().settings["grid"] == "C * n_rows"


def test_abess_that_is_not_installed_says_so(monkeypatch):
    monkeypatch.setattr("experiments.methods.find_spec", lambda name: None)
    with pytest.raises(MethodError, match="pip install abess"):
        get_method("abess")
