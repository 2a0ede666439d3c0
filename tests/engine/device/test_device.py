"""The search on a device, on torch's CPU: its criteria, chains and fits are those of the core."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from fitting import near_copy_of_a_binary
from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    anneal_path,
    what_if,
)
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, draw_batches, fisher_criterion, r2_criterion
from safdr._engine.moments import joint_moments, within_moments
from safdr._estimators import validation
from safdr._estimators.on_device import in_units_of_r2, rows_on_device
from safdr._estimators.training_data import ClassData
from safdr._estimators.validation import SeenColumns
from safdr.testing import all_subsets, check_chains

torch = pytest.importorskip("torch")

from safdr._engine.device import rows as device_rows  # noqa: E402  (once torch is there)
from safdr._engine.device.chains import DeviceChains  # noqa: E402  (likewise)
from safdr._engine.device.criterion import RowsOnDevice  # noqa: E402  (likewise)
from safdr._engine.device.fits import DONE, DeviceFitter  # noqa: E402  (likewise)

# Where only the way is tested, and not what is found.
FEW = Annealing(n_replicas=10, max_steps=10)


@pytest.fixture(autouse=True)
def one_thread():
    """Tensors this small gain nothing by threads, which wait for each other on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def on_device(criterion):
    A, D = torch.as_tensor(criterion.A), torch.as_tensor(criterion.D)
    return Criterion(A, D, criterion.scale, criterion.ridge, criterion.redundant)


def small_criterion(n_features=5, n_columns=2, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_features, n_features))
    A = root @ root.T + np.eye(n_features)
    A /= np.sqrt(np.outer(np.diag(A), np.diag(A)))
    return Criterion(A, rng.normal(size=(n_features, n_columns)), np.ones(n_features), ridge=0.0)


def test_chains_keep_the_contract():
    criterion = small_criterion()

    def make_chains(subsets, seed):
        return DeviceChains(on_device(criterion), subsets, seed=seed, n_draws=2)

    check_chains(make_chains, criterion.value, all_subsets(5, 2), n_samples=20_000)


def test_a_draw_for_each_proposal_is_a_batch_at_random():
    criterion, other = small_criterion(), small_criterion(seed=1)
    batches = tuple(
        torch.as_tensor(np.stack(both)) for both in ((criterion.A, other.A), (criterion.D, other.D))
    )
    seed = np.random.SeedSequence(0)
    starts = all_subsets(5, 2)
    chains = DeviceChains(on_device(criterion), starts, seed=seed, batches=batches)
    values, _ = chains.sweep(np.full((3, len(starts)), 2.0), None)
    expected = [criterion.value(subset) for subset in chains.subsets]
    np.testing.assert_allclose(values[-1], expected, rtol=1e-10)


def test_climbing_ends_where_no_swap_is_better():
    criterion = small_criterion(12, 3)
    starts = all_subsets(12, 4)[::50]
    allowed = AllowedSubsets.without_limits(12)
    chains = DeviceChains(on_device(criterion), starts, seed=np.random.SeedSequence(0))
    subsets, values = chains.climbed()
    for subset, value in zip(subsets, values, strict=True):
        swaps = [
            [*np.delete(subset, place), j]
            for place in range(4)
            for j in np.setdiff1d(np.arange(allowed.n_features), subset)
        ]
        assert value == pytest.approx(criterion.value(subset), rel=1e-10)
        assert value >= max(map(criterion.value, swaps)) * (1 - 1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_diabetes])
def test_criteria_are_those_of_the_rows(load, dtype, weighted):
    X, y = load(return_X_y=True)
    X = (X + 1e3 * X.std(axis=0)).astype(dtype)  # far off zero, where digits are lost
    weight = np.random.default_rng(0).uniform(0.1, 1.0, len(y)) if weighted else None
    if load is load_diabetes:
        outputs, codes = y[:, None].astype(float), np.zeros(len(y), dtype=np.int64)
        moments = joint_moments(X.astype(float), outputs, weight)
        expected = r2_criterion(moments, ridge="auto")
        outputs = in_units_of_r2(outputs, weight)
    else:
        outputs, codes = None, y.astype(np.int64)
        moments = within_moments(X.astype(float), codes, codes.max() + 1, weight)
        expected = fisher_criterion(moments, ridge="auto")
    found = RowsOnDevice(X, codes, outputs, weight, 1.0, "cpu").criterion("auto", None)
    assert found.ridge == pytest.approx(expected.ridge, rel=1e-6)
    np.testing.assert_allclose(found.A, expected.A, atol=1e-8)
    np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-8)
    D = found.D.numpy()
    np.testing.assert_allclose(D @ D.T, expected.D @ expected.D.T, atol=1e-8)


def test_rough_fits_find_the_smallest_loss():
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(300, 14)) * 1.5)  # heavy tails
    X[:, 0] = X[:, 0] > 1
    X[:, 1] = X[:, 0] != (rng.random(300) < 0.02)  # nearly a copy
    y = (X[:, 0] + 0.3 * np.log(X[:, 2]) + 0.2 * rng.normal(size=300) > 0.5).astype(int)
    weight = rng.uniform(0.5, 2.0, 300)
    for C in (1.0, np.inf):
        data = ClassData.validate(SeenColumns(), X, y, weight).usable()
        exact = data.linear_fitter(C)
        fitter = DeviceFitter(exact, rows_on_device(data, "cpu"), exact.penalty)
        subsets = all_subsets(14, 3)[::2]
        found = fitter.fit(subsets, best_only=True)
        expected = exact.fit(subsets, best_only=False)
        best = np.nanargmin(found.losses)
        assert best == np.nanargmin(expected.losses)
        np.testing.assert_allclose(found.coefficients[best], expected.coefficients[best], rtol=1e-6)
        known = found.n_iter == 0
        assert known.sum() > 100
        np.testing.assert_allclose(found.losses[known], expected.losses[known], atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_constants_and_copies_of_the_label_are_seen(rng, weighted):
    for n_rows in range(30, 100, 7):
        X, y = rng.normal(size=(n_rows, 6)), np.arange(n_rows) % 3 // 2
        X[:, 1], X[:, 2], X[:, 3], X[:, 4] = 0.1, 1e6 + 1 / 3, y, 0.7 * y + 0.1
        weight = rng.uniform(0.1, 1.0, n_rows) if weighted else None
        rows = RowsOnDevice(X, y, None, weight, 1.0, "cpu")
        assert rows.criterion(1e-6).redundant.tolist() == [1, 2, 4]
        halves = next(draw_batches(y, 1, 0.5, rng))
        assert (rows.criterion(1e-6, codes=halves).scale[[1, 2]] == 0).all()


# A row that is on its way out can hide what all others have to gain.
@pytest.mark.parametrize("seed", [50_182, 50_287])
def test_rough_fits_that_are_done_are_at_their_optimum(seed):
    data = ClassData.validate(SeenColumns(), *near_copy_of_a_binary(seed)).usable()
    exact, subsets = data.linear_fitter(np.inf), all_subsets(12, 3)[::3]
    losses, left = DeviceFitter(exact, rows_on_device(data, "cpu"), 0.0).screened(subsets)
    done = left <= DONE
    assert done.any()
    assert (losses - exact.fit(subsets).losses)[done].max() < 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_values_are_never_below_those_of_the_core(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 40)) @ (np.eye(40) + 0.5 * rng.normal(size=(40, 40)))
    X[:, 7] = X[:, 3] + 1e-9 * rng.normal(size=120)
    X[:, 9] = 4.0
    y = (X[:, :6] @ rng.normal(size=6) + 5 * rng.normal(size=120) > 0).astype(int)
    for ours, theirs in zip(
        anneal_path(X, y, [2, 6], random_state=seed, device="cpu"),
        anneal_path(X, y, [2, 6], random_state=seed),
        strict=True,
    ):
        assert ours.criterion_values.max() >= theirs.criterion_values.max() * (1 - 1e-9)
        assert not {3, 7} <= {*ours.subset}


def test_duplicates_are_reported_and_left_out():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.column_stack([X[:, :8], 3.0 - X[:, :4]])
    selector = AnnealingSelector(6, device="cpu", annealing=FEW, random_state=0).fit(X, y)
    assert selector.duplicates_ == [(j, 8 + j) for j in range(4)]
    assert selector.subset_.max() < 8


def test_classes_outputs_constraints_and_costs():
    X, y = load_wine(return_X_y=True)
    constraints = Constraints(always_include=[0], never_include=[12])
    how = {"constraints": constraints, "feature_cost": {6: 9.0}, "random_state": 0}
    ours = AnnealingSelector(4, device="cpu", **how).fit(X, y)
    theirs = AnnealingSelector(4, **how).fit(X, y)
    assert ours.subset_.tolist() == theirs.subset_.tolist()
    assert 0 in ours.subset_
    assert not {6, 12} & {*ours.subset_}
    X, y = load_diabetes(return_X_y=True)
    selector = AnnealingRegressorSelector(4, random_state=0)
    theirs = selector.fit(X, y).subset_
    assert selector.set_params(device="cpu").fit(X, y).subset_.tolist() == theirs.tolist()


@pytest.mark.parametrize("params", [{"criterion": "fisher"}, {"ridge": 1e-6, "C": 10.0}])
def test_settings_mean_the_same(params):
    X, y = load_breast_cancer(return_X_y=True)
    X, how = X[:, :10], {"annealing": FEW, "random_state": 0, **params}
    ours = AnnealingSelector(3, device="cpu", **how).fit(X, y)
    theirs = AnnealingSelector(3, **how).fit(X, y)
    # All 120 subsets are few: both reach the best by the criterion.
    values = [each.result_.criterion_values.max() for each in (ours, theirs)]
    assert values[0] == pytest.approx(values[1], rel=1e-9)
    measured = theirs.measure_subsets(X, y, [ours.subset_])
    assert (ours.criterion_value_, ours.loss_) == pytest.approx([each[0] for each in measured])


def test_folds_are_searched_there_too():
    X, y = load_breast_cancer(return_X_y=True)
    how = {"annealing": FEW, "random_state": 0, "device": "cpu"}
    search = AnnealingSelectorCV(min_features=2, max_features=3, cv=2, **how)
    first = search.fit(X, y).subset_
    assert first.tolist() == search.fit(X, y).subset_.tolist()
    assert search.predict(X[:5]).shape == (5,)


def test_rows_on_a_device_stay_there(monkeypatch):
    """Torch's CPU stands in for a card: its tensors are taken for rows elsewhere."""
    monkeypatch.setattr(validation, "_is_elsewhere", lambda X: isinstance(X, torch.Tensor))
    X, y = load_breast_cancer(return_X_y=True)
    how = {"annealing": FEW, "random_state": 0, "device": "cpu"}
    selector = AnnealingSelector(3, **how)
    expected = selector.fit(X, y).subset_.tolist()
    moved = []
    monkeypatch.setattr(
        device_rows, "_here", lambda values: moved.append(values.numel()) or values.numpy()
    )
    there = torch.as_tensor(X)
    assert selector.fit(there, y).subset_.tolist() == expected
    assert max(moved) < X.size / 2  # some columns, never all
    assert (selector.predict(there) == selector.predict(X)).all()
    search = AnnealingSelectorCV(max_features=2, cv=2, **how).fit(there, y)
    assert search.n_features_in_ == 30
    ours, theirs = what_if(selector, there, y), what_if(selector, X, y)
    assert ours.value([0, 20, 27]) == pytest.approx(theirs.value([0, 20, 27]))
    with pytest.raises(ValueError, match="clip needs rows in the memory"):
        AnnealingSelector(3, clip=0.01, **how).fit(there, y)
    with pytest.raises(ValueError, match="finite floating-point"):
        selector.fit(torch.full((4, 3), torch.nan), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="X is on device"):
        AnnealingSelector(3).fit(there, y)


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"device": "nowhere"}, "device must be a device that torch can use here"),
        ({"device": "cpu", "prove": 1.0}, "prove must be None with device"),
        ({"device": "cpu", "criterion": lambda X, y: 0.0}, "criterion must be left out"),
        ({"device": "cpu", "constraints": Constraints(groups=[[0, 1]])}, "no groups"),
        ({"device": "cpu", "constraints": Constraints(at_most_one_of=[[0, 1]])}, "no at_most_one"),
        ({"device": "cpu", "constraints": Constraints(signs={0: 1})}, "no signs"),
    ],
)
def test_what_only_the_core_can_do_is_refused(params, told):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match=told):
        AnnealingSelector(3, **params).fit(X, y)


def test_sparse_rows_are_refused():
    from scipy.sparse import csr_array

    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="device needs dense rows"):
        AnnealingSelector(3, device="cpu").fit(csr_array(X), y)


def test_what_it_takes_is_told_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(device_rows, "available_memory", lambda: 10_000)
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(MemoryError, match=r"569 rows of 30 columns .* on device 'cpu'"):
        AnnealingSelector(3, device="cpu").fit(X, y)


def test_without_torch_an_error_says_what_to_install(monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.startswith("safdr._engine.device")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match=r"pip install 'safdr\[gpu\]'"):
        AnnealingSelector(3, device="cpu").fit(X, y)
