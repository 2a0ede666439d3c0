"""Tables that are prepared in passes: what a sample says, and what all rows say."""

import pickle
from functools import reduce

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from safdr._old_table import errors
from safdr._old_table.choices import Choices
from safdr._old_table.passes import TARGET, prepare_in_passes
from safdr._old_table.prepare import prepare

N = 4000


def run_on(table, n_at_once):
    """Read a table so many rows at a time."""

    def run(task):
        sums = task.empty()
        for start in range(0, table.num_rows, n_at_once):
            some = table.slice(start, n_at_once).select(task.columns)
            sums = task.add(sums, some, start)
        return sums

    return run


def prepared(columns, n_at_once=700, share=0.25, **choices):
    table = pa.table(columns)
    chosen = Choices(target="y", **choices)
    texts = [each.name for each in table.schema if each.type == pa.string()]
    run = run_on(table, n_at_once)
    return prepare_in_passes(run, table.column_names, texts, chosen, share)


def followed(found, columns, *, test, n_at_once=700):
    """All rows of a part as numbers."""
    table, names = pa.table(columns), [*found.numbers.names, TARGET]
    reads = found.numbers.reads(names)
    return pa.concat_tables(
        found.numbers.follow(table.slice(i, n_at_once).select(reads), i, names, test=test)
        for i in range(0, N, n_at_once)
    )


@pytest.fixture
def columns(rng):
    y = rng.integers(0, 2, N)
    return {
        "x": rng.normal(size=N) + y,
        "colour": rng.choice(["red", "green", "blue"], N, p=[0.5, 0.3, 0.2]),
        "owner": rng.random(N) < 0.3,
        "y": y,
    }


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_parts_that_are_read_apart_become_one(columns, task):
    columns["x"] = pa.array(columns["x"], mask=np.arange(N) % 50 == 3)
    columns["row"] = np.arange(N)
    if task == "regression":
        columns["y"] = columns["y"] + np.sin(np.arange(N))

    def run(task):
        # The first one has no rows at all.
        parts = [task.empty()]
        for start in range(0, N, 900):
            some = pa.table(columns).slice(start, 900).select(task.columns)
            parts.append(task.add(task.empty(), some, start))
        before = pickle.dumps(parts)
        total = reduce(task.merge, parts)
        assert pickle.dumps(parts) == before
        return total

    chosen = Choices(target="y", missing="drop-rows", task=task)
    found = prepare_in_passes(run, list(columns), ["colour"], chosen, 0.25)
    alone = prepared(columns, missing="drop-rows", task=task)
    np.testing.assert_allclose(found.counts, alone.counts, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found.sample.train.X, alone.sample.train.X)
    np.testing.assert_array_equal(found.sample.test.y, alone.sample.test.y)
    assert found.sample.left_out == alone.sample.left_out
    assert [each.column for each in found.sample.left_out] == ["row"]


def test_numbers_are_those_that_the_recipe_makes_of_the_table(columns):
    found = prepared(columns)
    train, test = (followed(found, columns, test=part) for part in (False, True))
    assert train.num_rows + test.num_rows == N
    assert test.num_rows == pytest.approx(0.2 * N, rel=0.1)
    assert found.counts.tolist() == [
        np.bincount(part[TARGET].to_numpy()).tolist() for part in (train, test)
    ]
    whole = found.sample.recipe.follow(pa.table(columns))
    together = [pa.concat_tables([train, test])[name].to_numpy() for name in found.numbers.names]
    assert sorted(map(tuple, np.column_stack(together))) == sorted(map(tuple, whole))


def test_the_rows_at_hand_are_a_sample_of_the_parts(columns):
    found = prepared(columns)
    train = followed(found, columns, test=False)
    at_hand = found.sample.train
    assert len(at_hand.y) == pytest.approx(0.25 * train.num_rows, rel=0.15)
    rows = set(train["0"].to_pylist())
    assert set(at_hand.X[:, 0]) < rows
    assert not rows & set(found.sample.test.X[:, 0])


def test_where_tables_are_cut_does_not_matter(columns):
    one, other = prepared(columns, 700), prepared(columns, 333)
    assert one.sample.recipe == other.sample.recipe
    np.testing.assert_array_equal(one.sample.train.X, other.sample.train.X)
    np.testing.assert_array_equal(one.counts, other.counts)


def test_another_seed_holds_out_other_rows(columns):
    first, second = (prepared(columns, seed=seed).sample.test.X[:, 0] for seed in (0, 1))
    assert len(np.intersect1d(first, second)) < len(first) / 2


def test_a_level_that_the_sample_has_not_counts_as_the_reference(columns):
    sampled = set(prepared({**columns, "place": np.arange(N)}, keep=["place"]).sample.train.X[:, 3])
    place = next(i for i in range(N) if i not in sampled and columns["colour"][i] != "red")
    columns["colour"] = columns["colour"].astype(object)
    columns["colour"][place] = "violet"
    found = prepared(columns, test_size=0.0)
    (coding,) = found.sample.recipe.codings
    assert (coding.reference, set(coding.levels)) == ("red", {"green", "blue"})
    row = followed(found, columns, test=False).slice(place, 1)
    assert [row["1"][0].as_py(), row["2"][0].as_py()] == [0.0, 0.0]


def test_a_gap_that_the_sample_has_not_is_counted(columns):
    gap = np.zeros(N, dtype=bool)
    gap[np.flatnonzero(columns["x"] > 0)[:3]] = True
    columns["x"] = pa.array(columns["x"], mask=gap)
    with pytest.raises(errors.MissingValuesError, match="3 values are missing, in 1 of 3 columns"):
        prepared(columns, share=0.01)
    found = prepared(columns, share=0.1, missing="drop-rows")
    assert found.counts.sum() == N - 3
    assert "3 rows with missing values are left out." in found.sample.notes
    left_out = prepared(columns, share=0.1, missing="drop-columns").sample.left_out
    assert [(each.column, each.reason) for each in left_out] == [("x", "3 missing values")]


def test_numbers_of_shuffled_rows_are_left_out_as_in_memory(columns, rng):
    columns["__index_level_0__"] = np.argsort(columns["y"], kind="stable")
    columns["pos"] = rng.permutation(N)
    columns["spread"] = 3 * rng.permutation(N)
    columns["few"] = rng.integers(0, N // 10, N)
    columns["dense"] = np.append(rng.integers(0, N, N - 2), [0, N - 1])
    choices = Choices(target="y")
    left_out = prepared(columns, share=0.25).sample.left_out
    assert [each.column for each in left_out] == ["__index_level_0__", "pos"]
    assert left_out == prepare(pa.table(columns), choices).left_out
    assert prepared(columns, keep=["pos", "__index_level_0__"]).sample.left_out == ()


def test_rows_are_numbered_whether_or_not_their_target_is_known(columns, rng):
    columns["pos"] = rng.permutation(N)
    columns["y"] = pa.array(columns["y"], mask=rng.random(N) < 0.1)
    assert [each.column for each in prepared(columns).sample.left_out] == ["pos"]


def test_a_class_that_the_sample_has_not_is_a_class(columns):
    columns["y"] = (np.arange(N) % 250 == 0).astype(int)
    found = prepared(columns, share=0.05, test_size=0.3)
    assert found.sample.target.totals[1] < 10
    assert found.counts.sum(axis=0).tolist() == [N - 16, 16]


@pytest.mark.parametrize(
    ("labels", "wishes", "kind", "message"),
    [
        ([0, 1, 2], {"positive": "7"}, errors.UnknownLabelError, "no value '7'"),
        ([1, None], {}, errors.OneClassError, "one value only"),
        ([None], {}, errors.TableError, "has no values"),
        ([0] * 499 + [1], {}, errors.OneClassError, "8 are of class '1'"),
        ([0, 1], {"test_size": 0.999}, errors.OneClassError, "After rows were held out"),
        ([[0], [1]], {}, errors.TargetError, "can't be read"),
        ([0, 1], {"drop": ["nope"]}, errors.UnknownColumnError, "no column 'nope'"),
    ],
)
def test_what_is_wrong_with_the_target_or_the_choices(columns, labels, wishes, kind, message):
    columns["y"] = pa.array((labels * N)[:N])
    with pytest.raises(kind, match=message):
        prepared(columns, **wishes)
