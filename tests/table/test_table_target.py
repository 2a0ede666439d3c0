"""What a target is taken for: two classes, more, or a quantity; in one piece and in parts."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from safdr._old_table import errors
from safdr._old_table.choices import Choices
from safdr._old_table.kinds import Classes, Measured
from safdr._old_table.prepare import prepare
from safdr._old_table.target import MAX_WHOLE, MOST_CLASSES, TargetValues, read_target

N = 600


def kind_of(values, positive=None, task=None, n_parts=1):
    """Read a column, in so many parts."""
    column = pa.chunked_array([pa.array((list(values) * N)[:N])])
    found = TargetValues("y")
    for i in range(n_parts):
        start, stop = N * i // n_parts, N * (i + 1) // n_parts
        found.add(column.slice(start, stop - start))
        found.check_so_far(positive, task)
    return found.kind(positive, task), column


@pytest.mark.parametrize("n_parts", [1, 7])
@pytest.mark.parametrize(
    ("values", "labels", "otherwise"),
    [
        ([0, 1], ("0", "1"), None),
        ([0.5, 1.5], ("0.5", "1.5"), None),
        ([True, False], ("False", "True"), None),
        (["b", "a", "c"], ("a", "b", "c"), None),
        ([3, 1, 2], ("1", "2", "3"), "regression"),
        ([3.0, 1.0, 2.0, -0.0, 0.0], ("0", "1", "2", "3"), "regression"),
        (range(10), tuple("0123456789"), "regression"),
    ],
)
def test_classes(values, labels, otherwise, n_parts):
    kind, column = kind_of(values, n_parts=n_parts)
    assert isinstance(kind, Classes)
    assert (kind.task, kind.labels, kind.otherwise) == ("classification", labels, otherwise)
    codes = kind.read(column)
    assert codes.dtype == np.int64
    texts = [str(v).removesuffix(".0").replace("-0", "0") for v in (list(values) * N)[:N]]
    assert [labels[code] for code in codes] == texts
    assert kind.totals.tolist() == kind.add_up(codes).tolist()
    assert kind.n_rows(kind.totals) == N


@pytest.mark.parametrize("n_parts", [1, 7])
@pytest.mark.parametrize(
    ("values", "why", "otherwise"),
    [
        ([0.5, 1, 2], "holds numbers with fractions", None),
        (range(MAX_WHOLE + 1), "holds 11 different whole numbers", "classification"),
        (range(MOST_CLASSES), "holds 50 different whole numbers", "classification"),
        (range(300), "holds more than 50 different whole numbers", None),
        ([1e9 + i for i in range(11)], "holds 11 different whole numbers", "classification"),
    ],
)
def test_quantities(values, why, otherwise, n_parts):
    kind, column = kind_of(values, n_parts=n_parts)
    assert isinstance(kind, Measured)
    assert (kind.task, kind.why, kind.otherwise) == ("regression", why, otherwise)
    numbers = kind.read(column)
    np.testing.assert_array_equal(numbers, (list(values) * N)[:N])
    assert (kind.mean, kind.deviation) == pytest.approx((numbers.mean(), numbers.std()))
    # The mean of numbers near 1e9 is itself rounded.
    np.testing.assert_allclose(kind.totals, kind.add_up(numbers), atol=1e-3)
    said = kind.to_dict(kind.add_up(numbers[:100]))
    assert said["mean"] == pytest.approx(numbers[:100].mean())
    assert said["standard_deviation"] == pytest.approx(numbers[:100].std())


@pytest.mark.parametrize(
    ("values", "wishes", "task"),
    [
        ([1, 2, 3], {"task": "regression"}, "regression"),
        ([0, 1], {"task": "regression"}, "regression"),
        ([True, False], {"task": "regression"}, "regression"),
        (range(30), {"task": "classification"}, "classification"),
        ([0.5, 1, 2], {"task": "classification"}, "classification"),
        ([0.5, 1, 2], {"positive": "0.5"}, "classification"),
        ([1, 2, 3], {"positive": "2", "task": "classification"}, "classification"),
    ],
)
def test_what_someone_says_counts(values, wishes, task):
    kind, _ = kind_of(values, **wishes)
    assert (kind.task, kind.otherwise) == (task, None)


@pytest.mark.parametrize("n_parts", [1, 7])
@pytest.mark.parametrize(
    ("values", "wishes", "error", "message"),
    [
        ([f"t{i}" for i in range(21)], {}, errors.ManyLabelsError, "up to 20 are taken"),
        (range(51), {"task": "classification"}, errors.TargetError, "up to 50 are taken"),
        (["a", "b"], {"task": "regression"}, errors.TaskError, "holds text, not numbers"),
        ([1.5], {}, errors.OneClassError, "one value only, '1.5'"),
        (range(300), {"positive": "7"}, errors.NoClassesError, "a quantity, none of whose"),
    ],
)
def test_what_can_not_be(values, wishes, error, message, n_parts):
    with pytest.raises(error, match=message):
        kind_of(values, **wishes, n_parts=n_parts)


def test_numbers_that_doubles_can_not_tell_apart_are_one():
    with pytest.raises(errors.OneClassError, match="is the same in all rows"):
        kind_of([2**60 + i for i in range(12)])


def test_rows_are_held_out_in_equal_shares_of_all_classes(rng):
    y = rng.choice(["a", "b", "c"], N, p=[0.1, 0.3, 0.6])
    found = prepare(pa.table({"x": rng.normal(size=N), "y": y}), Choices(target="y"))
    shares = [np.bincount(part.y) / len(part.y) for part in (found.train, found.test)]
    np.testing.assert_allclose(*shares, atol=0.01)


def test_few_rows_are_too_few(rng):
    table = pa.table({"x": rng.normal(size=19), "y": rng.normal(size=19)})
    with pytest.raises(errors.OneClassError, match="19 rows; at least 20 are needed"):
        prepare(table, Choices(target="y", test_size=0.0))


# ---- Gaps ---------------------------------------------------------------------------------------


def hint_of(values, gap):
    column = pa.chunked_array([pa.array(values)])
    target = read_target(column, "y", None, None)
    return target.kind.hint(target.take(gap).totals)


def test_gaps_of_quantities_are_judged_by_their_correlation(rng):
    y = 100 + 10 * rng.normal(size=4000)
    gap = y + 5 * rng.normal(size=4000) > 110
    hint = hint_of(y, gap)
    assert hint.depends
    assert hint.strength == pytest.approx(np.corrcoef(y, gap)[0, 1] ** 2)
    assert hint.cells == (f"{y[gap].mean():.4g}", f"{y[~gap].mean():.4g}")
    assert not hint_of(y, rng.random(4000) < 0.2).depends
    everywhere = hint_of(y, np.ones(4000, dtype=bool))
    assert not everywhere.depends
    assert everywhere.cells[1] == "–"


def test_gaps_of_classes_are_judged_each_against_the_rest(rng):
    y = rng.choice(["a", "b", "c"], 3000)
    gap = (y == "b") & (rng.random(3000) < 0.4) | (rng.random(3000) < 0.05)
    hint = hint_of(y, gap)
    assert hint.depends
    share, rest = gap[y == "b"].mean(), gap[y != "b"].mean()
    assert hint.strength == pytest.approx(0.5 + (share - rest) / 2)
    assert "tells class b from the rest with an AUC of" in hint.claim
    assert hint.cells[1].startswith("b ")
    assert not hint_of(y, rng.random(3000) < 0.2).depends
