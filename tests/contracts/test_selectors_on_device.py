"""Selectors on a device of torch; its CPU stands in for a GPU."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from helpers.selectors import of_size, over_sizes
from safdr import Annealing, Constraints, evaluate_subsets
from safdr._estimators import base, inputs

torch = pytest.importorskip("torch")

THERE = Annealing(n_replicas=20, max_steps=30, device="cpu")
HERE = Annealing(n_replicas=20, max_steps=30)
X, Y = load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("how", [{}, {"criterion": "fisher"}, {"shrinkage": None, "C": 10.0}])
def test_the_best_of_few_subsets_is_found_there_too(how):
    ours = of_size(3, annealing=THERE, **how).fit(X[:, :10], Y)
    theirs = of_size(3, annealing=HERE, **how).fit(X[:, :10], Y)
    values = [each.result_.criterion_values.max() for each in (ours, theirs)]
    assert values[0] == pytest.approx(values[1], rel=1e-9)
    measured = evaluate_subsets(theirs, X[:, :10], Y, [ours.subset_])
    assert ours.criterion_value_ == pytest.approx(measured.criterion_values[0])
    assert ours.result_.loss == pytest.approx(measured.losses[0])


def test_classes_outputs_constraints_and_costs():
    rows, labels = load_wine(return_X_y=True)
    limits = Constraints(always_include=[0], never_include=[12])
    how = {"constraints": limits, "feature_cost": {6: 9.0}}
    ours, theirs = (of_size(4, annealing=a, **how).fit(rows, labels) for a in (THERE, HERE))
    assert ours.subset_.tolist() == theirs.subset_.tolist()
    assert 0 in ours.subset_
    assert not {6, 12} & {*ours.subset_}
    rows, outputs = load_diabetes(return_X_y=True)
    ours, theirs = (of_size(4, "regression", annealing=a).fit(rows, outputs) for a in (THERE, HERE))
    assert ours.subset_.tolist() == theirs.subset_.tolist()


def test_duplicates_are_left_out():
    rows = np.column_stack([X[:, :8], 3.0 - X[:, :4]])
    found = of_size(6, annealing=THERE).fit(rows, Y)
    assert found.duplicates_ == [(j, 8 + j) for j in range(4)]
    assert found.subset_.max() < 8


def test_folds_are_searched_there_and_the_seed_decides():
    first, second = (over_sizes([2, 3], annealing=THERE, cv=2).fit(X, Y) for _ in range(2))
    assert first.subset_.tolist() == second.subset_.tolist()


def test_rows_on_a_device_stay_there(monkeypatch):
    for module in (inputs, base):
        monkeypatch.setattr(module, "is_on_device", lambda rows: isinstance(rows, torch.Tensor))
    there = torch.as_tensor(X)
    expected = of_size(3, annealing=THERE).fit(X, Y)
    found = of_size(3, annealing=THERE).fit(there, Y)
    assert found.subset_.tolist() == expected.subset_.tolist()
    np.testing.assert_array_equal(found.predict(there), expected.predict(X))
    assert over_sizes(2, annealing=THERE, cv=2).fit(there, Y).n_features_in_ == 30
    with pytest.raises(ValueError, match="finite floating-point"):
        of_size(3, annealing=THERE).fit(torch.full((4, 3), torch.nan), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="device must be that of X"):
        of_size(3).fit(there, Y)


@pytest.mark.parametrize(
    ("rows", "device", "how", "text"),
    [
        (X, "cpu", {"criterion": lambda rows, y: 0.0}, "device needs a built-in criterion"),
        (X, "cpu", {"constraints": Constraints(groups=[[0, 1]])}, "constraints with groups"),
        (X, "cpu", {"constraints": Constraints(at_most_one_of=[[0, 1]])}, "at_most_one_of"),
        (X, "cpu", {"constraints": Constraints(signs={0: 1})}, "signs need device=None"),
        (csr_array(X), "cpu", {}, "device needs dense rows"),
    ],
)
def test_what_a_device_cannot_do_is_refused(rows, device, how, text):
    with pytest.raises(ValueError, match=text):
        of_size(3, annealing=Annealing(device=device), **how).fit(rows, Y)


def test_torch_says_which_devices_there_are():
    with pytest.raises(RuntimeError, match=r"device type .*: nowhere"):
        of_size(3, annealing=Annealing(device="nowhere")).fit(X, Y)
