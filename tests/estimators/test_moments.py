"""The public Moments: made from rows, added, kept in files, searched."""

import json
import pickle
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSelector,
    Moments,
    ParameterError,
)
from safdr._engine.annealing.loop import AnnealingSettings
from safdr._engine.fits.least_squares import LeastSquaresFitter
from safdr._engine.search import Search

ARRAYS = {
    "classification": ("weight", "mean", "scatter"),
    "regression": ("weight", "mean", "output_mean", "output_variance", "cross", "covariance"),
}
LABELS = {
    "integers": np.array([3, 1, 2]),
    "text": np.array(["no", "yes", "perhaps ☂"]),
    "objects": np.array(["b", "a", "c"], dtype=object),
    "booleans": np.array([True, False, True]),
    "numbers": np.array([0.0, 1.0, 2.0]),
}


def rows_of(rng, n=90, n_features=6):
    X = rng.normal(size=(n, n_features)) @ rng.normal(size=(n_features, n_features)) + 3
    return X, np.arange(n) % 3, rng.uniform(0.5, 2, n)


def assert_same(a, b, tol=0.0):
    assert a.task == b.task
    assert a.n_samples == b.n_samples
    assert a.feature_names == b.feature_names
    if a.classes is None:
        assert b.classes is None
    else:
        assert a.classes.tolist() == b.classes.tolist()
        assert type(a.classes.tolist()[0]) is type(b.classes.tolist()[0])
    for name in ARRAYS[a.task]:
        ours, theirs = getattr(a._arrays, name), getattr(b._arrays, name)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tol * np.abs(theirs).max())


# ---- From rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "task"),
    [
        ([0, 1, 1], "classification"),
        (["a", "b", "a"], "classification"),
        ([True, False, True], "classification"),
        ([0.5, 1.0, 2.0], "regression"),
        ([[1, 2], [3, 4], [5, 7]], "regression"),
    ],
)
def test_the_task_is_told_by_the_looks_of_y(rng, y, task):
    assert Moments.from_rows(rng.normal(size=(3, 2)), y).task == task


def test_whole_numbers_are_measured_where_one_says_so(rng):
    moments = Moments.from_rows(rng.normal(size=(3, 2)), [1, 2, 5], task="regression")
    assert moments.classes is None
    assert moments._arrays.output_mean == pytest.approx(8 / 3)


@pytest.mark.parametrize("kind", [int, float])
def test_many_whole_numbers_are_not_guessed_at(rng, kind):
    X, y = rng.normal(size=(60, 2)), (np.arange(60) % 25).astype(kind)
    with pytest.raises(ParameterError, match=r"task must be said: y holds 25 different whole num"):
        Moments.from_rows(X, y)
    assert Moments.from_rows(X, y, task="classification").task == "classification"
    assert Moments.from_rows(X, y.astype(str)).task == "classification"


def test_a_task_of_another_name_is_refused(rng):
    with pytest.raises(ValueError, match=r"task must be one of 'auto', .* got 'clustering'"):
        Moments.from_rows(rng.normal(size=(3, 2)), [1, 2, 5], task="clustering")


def test_frames_give_names(rng):
    X, y, _ = rows_of(rng)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    assert Moments.from_rows(frame, y).feature_names == tuple("abcdef")
    assert Moments.from_rows(X, y).feature_names is None


@pytest.mark.parametrize("target", ["labels", "outputs"])
def test_sparse_rows_give_the_same(rng, target):
    X, y, weight = rows_of(rng)
    X = np.where(rng.random(X.shape) < 0.15, X, 0.0)
    y = y if target == "labels" else y + X[:, 0]
    dense = Moments.from_rows(X, y, weight)
    assert_same(Moments.from_rows(sparse.csr_array(X), y, weight), dense, tol=1e-12)


@pytest.mark.parametrize("target", ["labels", "outputs"])
def test_rows_of_weight_zero_count_as_absent(rng, target):
    X, y, weight = rows_of(rng)
    y = y if target == "labels" else y + X[:, 0]
    weight[y == y[2]] = 0
    weight[::4] = 0
    kept = weight > 0
    assert_same(Moments.from_rows(X, y, weight), Moments.from_rows(X[kept], y[kept], weight[kept]))


def test_rows_are_checked_as_the_selectors_do(rng):
    X, y, _ = rows_of(rng)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Moments.from_rows(X, y)
    with pytest.raises(ValueError, match="text, numbers or booleans"):
        Moments.from_rows(np.ones((2, 1)), np.array(["2020", "2021"], dtype="datetime64[D]"))


# ---- Adding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["labels", "outputs", "two outputs"])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_parts_add_up_to_the_whole_in_any_order(rng, target, order):
    X, y, weight = rows_of(rng)
    X[:, 1] += 1e3
    if target != "labels":
        y = y + X[:, 0] if target == "outputs" else y[:, None] + X[:, :2]
    pieces = np.split(rng.permutation(len(X)), [5, 37])
    parts = [Moments.from_rows(X[some], y[some], weight[some]) for some in pieces]
    total = reduce(add, [parts[i] for i in order])
    assert_same(total, Moments.from_rows(X, y, weight), tol=1e-11)


@pytest.mark.parametrize("labels", LABELS)
def test_parts_may_have_classes_of_their_own(rng, labels):
    X, codes, weight = rows_of(rng)
    y = LABELS[labels][codes]
    order = np.argsort(codes, kind="stable")
    parts = [
        Moments.from_rows(X[some], y[some], weight[some]) for some in np.split(order, [20, 55])
    ]
    whole = Moments.from_rows(X, y, weight)
    assert_same(parts[0] + parts[1] + parts[2], whole, tol=1e-11)
    assert_same(parts[2] + parts[0] + parts[1], whole, tol=1e-11)


def test_single_rows_add_up(rng):
    X, y, _ = rows_of(rng, n=9)
    total = sum(Moments.from_rows(X[[i]], y[[i]]) for i in range(9))
    assert_same(total, Moments.from_rows(X, y), tol=1e-11)


def test_adding_leaves_the_parts_alone(rng):
    X, y, _ = rows_of(rng)
    a, b = Moments.from_rows(X[:50], y[:50]), Moments.from_rows(X[50:], y[50:])
    before = pickle.loads(pickle.dumps(a))
    _ = a + b
    assert_same(a, before)


def test_what_does_not_belong_together_is_not_added(rng):
    X, y, _ = rows_of(rng)
    labels = Moments.from_rows(X, y)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    with pytest.raises(ValueError, match=r"one task .* classification and regression"):
        labels + Moments.from_rows(X, y + 0.5)
    with pytest.raises(ValueError, match="got 6 without names and 5 without names"):
        labels + Moments.from_rows(X[:, :5], y)
    with pytest.raises(ValueError, match=r"got 6 without names and 6 \('a', 'b'"):
        labels + Moments.from_rows(frame, y)
    with pytest.raises(ValueError, match="same order"):
        Moments.from_rows(frame, y) + Moments.from_rows(frame[list("bacdef")], y)
    with pytest.raises(ValueError, match=r"labels of one type .* got 0 and 'a'"):
        labels + Moments.from_rows(X, np.array(["a", "b", "c"])[y])
    with pytest.raises(ValueError, match="labels of one type"):
        labels + Moments.from_rows(X, y > 0)
    with pytest.raises(ValueError, match="got 1 and 2 outputs"):
        Moments.from_rows(X, X[:, 0]) + Moments.from_rows(X, X[:, :2])
    with pytest.raises(TypeError):
        labels + 1


# ---- Files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", LABELS)
def test_a_file_gives_back_what_was_saved(rng, tmp_path, labels):
    X, codes, weight = rows_of(rng)
    frame = pd.DataFrame(X, columns=["a", "b\0", "ü", "", "x y", "z"])
    moments = Moments.from_rows(frame, LABELS[labels][codes], weight)
    moments.save(tmp_path / "file.moments")
    back = Moments.load(tmp_path / "file.moments")
    assert_same(back, moments)
    assert_same(back + back, moments + moments)
    assert_same(pickle.loads(pickle.dumps(moments)), moments)


def test_a_file_of_measured_outputs(rng, tmp_path):
    X, _, weight = rows_of(rng)
    moments = Moments.from_rows(X, X[:, :2], weight)
    moments.save(str(tmp_path / "file"))
    assert_same(Moments.load(str(tmp_path / "file")), moments)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def saved(rng, tmp_path):
    X, y, _ = rows_of(rng)
    Moments.from_rows(X, y).save(tmp_path / "good")
    return (tmp_path / "good").read_bytes()


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty", "text", "array", "pickle"])
def test_damaged_and_foreign_files_are_refused(rng, tmp_path, harm):
    content = saved(rng, tmp_path)
    bad = tmp_path / "bad"
    if harm == "array":
        with open(bad, "wb") as file:
            np.save(file, np.ones(3))
    else:
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
        harmed = {
            "cut": content[:-200],
            "flipped": flipped,
            "empty": b"",
            "text": b"feature,weight\n1,2\n",
            "pickle": pickle.dumps({"about": 1}),
        }
        bad.write_bytes(harmed[harm])
    with pytest.raises(ValueError, match="can't be read as Moments"):
        Moments.load(bad)


def changed(tmp_path, **parts):
    """The good file with some parts replaced."""
    with np.load(tmp_path / "good") as archive:
        arrays = dict(archive)
    about = {**json.loads(str(arrays.pop("about"))), **parts.pop("about", {})}
    arrays.update(parts)
    with open(tmp_path / "bad", "wb") as file:
        np.savez(file, about=np.array(json.dumps(about)), **arrays)
    return tmp_path / "bad"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"about": {"version": 2}}, "it has version 2, and this safdr reads up to 1"),
        ({"about": {"format": "other"}}, "its format is 'other'"),
        ({"about": {"task": "clustering"}}, "clustering"),
        ({"about": {"classes": [1, 2], "class_type": "<i8"}}, "weight has shape"),
        ({"about": {"classes": None}}, "weight has shape"),
        ({"about": {"feature_names": ["a"]}}, "1 names for 6 features"),
        ({"mean": np.zeros((3, 5))}, "scatter has shape"),
        ({"mean": np.zeros((3, 6), dtype=np.float32)}, "type float32"),
        ({"weight": np.array([1.0, np.nan, 1.0])}, "weight holds values that are not finite"),
    ],
)
def test_files_that_do_not_fit_together_are_refused(rng, tmp_path, parts, message):
    saved(rng, tmp_path)
    with pytest.raises(ValueError, match=f"can't be read as Moments: .*{message}"):
        Moments.load(changed(tmp_path, **parts))


def test_a_file_that_is_not_there_is_told_as_such(tmp_path):
    with pytest.raises(FileNotFoundError):
        Moments.load(tmp_path / "nothing")


# ---- Searches -----------------------------------------------------------------------------------

QUIET = AnnealingSettings(n_batches=1, batch_fraction=1.0)
STILL = Annealing(n_batches=1, batch_fraction=1.0)


def test_moments_alone_are_searched_like_rows(two_classes):
    X, y = two_classes
    moments = Moments.from_rows(X[:100], y[:100]) + Moments.from_rows(X[100:], y[100:])
    found = Search(moments._criterion(1e-6), settings=QUIET, seed=0).run(4)
    rows = AnnealingSelector.as_published(4, annealing=STILL, random_state=0).fit(X, y).result_
    best = rows.criterion_values.argmax()
    assert found.subset.tolist() == rows.subsets[best].tolist()
    assert found.criterion_value == pytest.approx(rows.criterion_values[best], rel=1e-9)
    assert found.loss_name == "negative_criterion"


def test_without_noise_the_settings_for_batches_mean_nothing(two_classes):
    criterion = Moments.from_rows(*two_classes)._criterion(1e-6)
    noisy = Search(criterion, settings=AnnealingSettings(), seed=0).run(4)
    np.testing.assert_array_equal(
        noisy.subsets, Search(criterion, settings=QUIET, seed=0).run(4).subsets
    )


def test_moments_of_outputs_give_models_too(rng):
    X, _, weight = rows_of(rng, n=300, n_features=10)
    y = X[:, 2] - X[:, 7] + rng.normal(size=300)
    criterion = Moments.from_rows(X, y, weight)._criterion(1e-6)
    fitter = LeastSquaresFitter(criterion)
    found = Search(criterion, settings=QUIET, seed=0, fitter=fitter).run(2)
    rows = AnnealingRegressorSelector(2, annealing=STILL, random_state=0)
    rows.fit(X, y, weight)
    assert found.subset.tolist() == rows.subset_.tolist()
    assert found.loss == pytest.approx(rows.loss_, rel=1e-9)


def test_one_class_is_nothing_to_search(rng):
    X, y, _ = rows_of(rng)
    with pytest.raises(ValueError, match="2 or more classes; got Moments"):
        Moments.from_rows(X[y == 0], y[y == 0])._criterion(1e-6)


def test_the_repr_is_short(rng):
    X = rows_of(rng)[0]
    many = Moments.from_rows(X, np.arange(90) % 30, task="classification")
    assert repr(many) == ("Moments(classification, 90 rows, 6 features, classes 0, 1, 2, 3, 4, …)")
    assert repr(Moments.from_rows(X, X[:, :2])) == (
        "Moments(regression, 90 rows, 6 features, 2 outputs)"
    )


def test_batches_of_any_kind_give_the_moments_of_all_rows():
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    weight = rng.integers(0, 3, 300).astype(float)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y, "w": weight})
    whole = Moments.from_rows(X, y, weight)
    for batches in (
        iter(table.to_batches(max_chunksize=70)),
        [table.to_pandas()],
        [pl.from_arrow(table.slice(0, 100)), pl.from_arrow(table.slice(100))],
        [table.slice(0, 0), table],
    ):
        found = Moments.from_batches(batches, "y", sample_weight="w")
        assert found.feature_names == ("a", "b", "c")
        assert found.n_samples == whole.n_samples
        ours, theirs = found._criterion(1e-6), whole._criterion(1e-6)
        np.testing.assert_allclose(ours.A, theirs.A, atol=1e-12)
        np.testing.assert_allclose(ours.D, theirs.D, atol=1e-12)
    with pytest.raises(ValueError, match="no column 'z'; it has 'a', 'b', 'c', 'y', 'w'"):
        Moments.from_batches([table], "z")
    with pytest.raises(ValueError, match="no rows in the batches"):
        Moments.from_batches([table.slice(0, 0)], "y")
