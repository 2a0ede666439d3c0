"""Constraints against brute force over all selections of a few groups."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from scipy.stats import chisquare

from safdr._engine.constraints import AllowedSubsets, packing, parts

N = 9
LEVEL = 1e-4

# Every constraint alone, and several at once.
CASES = {
    "none": {},
    "include": {"always_include": [2, 7]},
    "exclude": {"never_include": [0, 8]},
    "groups": {"groups": [[1, 4, 5], [0, 8]]},
    "columns": {"groups": [[1, 4, 5], [0, 8]], "count": "columns"},
    "one of": {"at_most_one_of": [[0, 1, 2], [5, 6]]},
    "overlap": {"at_most_one_of": [[0, 1, 2], [2, 3], [3, 4, 5], [0, 5]]},
    "groups in conflict": {"groups": [[0, 1], [2, 3, 4]], "at_most_one_of": [[1, 2], [4, 6]]},
    "all": {
        "always_include": [3],
        "never_include": [8],
        "groups": [[0, 3], [1, 2, 5]],
        "at_most_one_of": [[3, 7], [2, 6], [4, 6]],
        "count": "columns",
    },
}


def allowed(subset, always_include=(), never_include=(), groups=(), at_most_one_of=(), count=None):
    """The definition, column by column."""
    subset = set(subset)
    return (
        subset >= set(always_include)
        and not subset & set(never_include)
        and all(subset >= set(g) or not subset & set(g) for g in groups)
        and all(len(subset & set(s)) <= 1 for s in at_most_one_of)
    )


def size_of(subset, groups=(), count="groups", **_):
    if count == "columns":
        return len(subset)
    return len(subset) - sum(len(g) - 1 for g in groups if g[0] in subset)


def by_size(case):
    """All allowed subsets, by size."""
    found = {}
    for mask in itertools.product([0, 1], repeat=N):
        subset = tuple(np.flatnonzero(mask).tolist())
        if subset and allowed(subset, **case):
            found.setdefault(size_of(subset, **case), set()).add(subset)
    return found


def subsets(constraints, selections):
    return [tuple(constraints.columns_of(row).tolist()) for row in selections]


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["counted", "integer programme"])
def both_ways(request, monkeypatch):
    """With the ways of clusters listed, and as if they were too many."""
    if request.param:
        monkeypatch.setattr(parts, "MOST_WAYS", 2)
    return request.param


def test_sizes_are_those_of_all_allowed_subsets(case, both_ways):
    constraints = AllowedSubsets.make(N, **case)
    expected = sorted(by_size(case))
    assert constraints.sizes() == expected
    assert constraints.sizes(4) == [size for size in expected if size <= 4]
    for size in range(N + 2):
        if size in expected:
            constraints.check_size(size)
        else:
            with pytest.raises(ValueError, match="k_wanted"):
                constraints.check_size(size, "k_wanted")


def test_every_gives_all_allowed_subsets_of_a_size(case):
    constraints = AllowedSubsets.make(N, **case)
    for size, expected in by_size(case).items():
        found = subsets(constraints, constraints.every(size, len(expected)))
        assert len(found) == len(expected)
        assert set(found) == expected
        assert constraints.every(size, len(expected) - 1) is None


def test_every_of_a_size_without_subsets_is_empty():
    assert AllowedSubsets.make(3, groups=[[0, 1, 2]], count="columns").every(2, 10).shape == (0, 1)


def test_random_selections_are_uniform(case, rng):
    constraints = AllowedSubsets.make(N, **case)
    for size, expected in by_size(case).items():
        drawn = subsets(constraints, constraints.random(size, 40 * len(expected), rng))
        counts = [drawn.count(subset) for subset in expected]
        assert sum(counts) == len(drawn)
        if len(expected) > 1:
            assert chisquare(counts).pvalue > LEVEL


def test_random_selections_that_can_not_be_counted_are_allowed(rng, monkeypatch):
    monkeypatch.setattr(parts, "MOST_WAYS", 2)
    for n_tries in (0, 20):
        monkeypatch.setattr(packing, "N_TRIES", n_tries)
        for case in (CASES["overlap"], CASES["groups in conflict"], CASES["all"]):
            constraints = AllowedSubsets.make(N, **case)
            assert constraints.every(3, 100) is None
            for size, expected in by_size(case).items():
                drawn = set(subsets(constraints, constraints.random(size, 20, rng)))
                assert drawn <= expected
                assert len(drawn) > 1 or len(expected) < 3


def test_allowed_selections_are_told_from_others(case):
    constraints = AllowedSubsets.make(N, **case)
    expected = set().union(*by_size(case).values())
    for mask in itertools.product([False, True], repeat=constraints.n_groups):
        selection = np.array(mask)
        if selection.any():
            subset = tuple(constraints.columns_of(selection).tolist())
            assert constraints.allows(selection) == (subset in expected)


def test_subsets_are_sorted_and_filled_up(case):
    constraints = AllowedSubsets.make(N, **case)
    for size, expected in by_size(case).items():
        width = constraints.max_columns(size)
        assert width >= max(map(len, expected))
        selections = constraints.every(size, 1000)
        for row, columns in zip(
            constraints.subsets_of(selections, width), subsets(constraints, selections), strict=True
        ):
            assert row.tolist() == [*columns, *[-1] * (width - len(columns))]


def test_the_width_is_exact_without_conflicts():
    groups = [[1, 4, 5], [0, 8]]
    assert AllowedSubsets.make(N, groups=groups).max_columns(3) == 6
    assert AllowedSubsets.make(N, groups=groups, count="columns").max_columns(3) == 3
    assert AllowedSubsets.make(N, groups=groups, always_include=[0]).max_columns(1) == 2


def test_units_are_in_order_of_their_first_column():
    constraints = AllowedSubsets.make(6, groups=[[5, 1], [3, 2]], at_most_one_of=[[1, 3]])
    assert [group.tolist() for group in constraints.groups] == [[0], [1, 5], [2, 3], [4]]
    assert constraints.group_of.tolist() == [0, 1, 2, 2, 3, 1]
    assert np.argwhere(constraints.conflicts).tolist() == [[1, 2], [2, 1]]
    np.testing.assert_array_equal(constraints.selection_of([2, 3, 4]), [False, False, True, True])


def test_groups_of_one_are_no_groups(rng):
    plain = AllowedSubsets.make(5, at_most_one_of=[[0, 1]])
    for count in ("groups", "columns"):
        grouped = AllowedSubsets.make(5, groups=[[3], [0]], at_most_one_of=[[0, 1]], count=count)
        assert grouped.swaps_alone
        np.testing.assert_array_equal(grouped.counts, plain.counts)
        np.testing.assert_array_equal(grouped.every(3, 99), plain.every(3, 99))
    assert not AllowedSubsets.make(5, groups=[[1, 2]]).swaps_alone


def test_a_column_that_is_in_brings_its_group_and_keeps_out_its_rivals():
    constraints = AllowedSubsets.make(
        6, always_include=[1], groups=[[1, 2]], at_most_one_of=[[2, 4], [4, 5]]
    )
    assert constraints.include.tolist() == [1]
    assert constraints.exclude.tolist() == [3]
    assert constraints.free.tolist() == [0, 2, 4]


def test_without_leaves_out_whole_units_that_need_not_be_in():
    constraints = AllowedSubsets.make(6, groups=[[1, 2], [3, 4]], always_include=[5])
    fewer = constraints.without([0, 1, 2, 3, 5])
    assert fewer.exclude.tolist() == [0, 1]
    assert constraints.exclude.tolist() == []
    assert fewer.sizes() == [1, 2]


def test_a_copy_made_by_pickling_draws_the_same():
    constraints = AllowedSubsets.make(N, **CASES["all"])
    before = constraints.random(4, 10, np.random.default_rng(0))
    twin = pickle.loads(pickle.dumps(constraints))
    np.testing.assert_array_equal(twin.random(4, 10, np.random.default_rng(0)), before)


def test_many_columns_of_a_large_size_do_not_overflow(rng):
    constraints = AllowedSubsets.make(3000, groups=[[0, 1]], count="columns")
    drawn = constraints.random(2999, 200, rng)
    assert (drawn.sum(axis=1) + drawn[:, 0] == 2999).all()
    # One column of 2998 is left out; the group can't be, since it counts two.
    assert drawn[:, 0].all()


def test_a_long_chain_of_overlapping_pairs_can_still_be_searched(rng):
    chain = AllowedSubsets.make(60, at_most_one_of=[[i, i + 1] for i in range(59)])
    assert chain._parts is None
    assert chain.sizes() == list(range(1, 31))
    for selection in chain.random(29, 5, rng):
        assert chain.allows(selection)
        assert selection.sum() == 29


# ---- Errors -------------------------------------------------------------------------------------

NAMES = ["age", "sex", "bmi", "bp", "s1", "s2"]


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"groups": [[0, 1], [1, 2]]}, "groups must not share columns; got 'sex'"),
        ({"groups": [[0, 1], []]}, "groups holds an empty group"),
        ({"groups": [0, 1]}, "groups must be a sequence of sequences"),
        ({"groups": ["ab"]}, "groups must be a sequence of sequences"),
        ({"groups": [[0, 6]]}, "groups names column 6; columns go from 0 to 5"),
        ({"always_include": [-1]}, "always_include names column -1; columns go from 0 to 5"),
        ({"always_include": [[0]]}, "always_include must be a sequence of column indices"),
        ({"never_include": [0.5]}, "never_include must be a sequence of column indices"),
        ({"never_include": [True] * 6}, "never_include must be a sequence of column indices"),
        (
            {"always_include": [3], "never_include": [3, 4]},
            "always_include and never_include must not share columns; both name 'bp'",
        ),
        (
            {"groups": [[0, 2, 4]], "never_include": [2]},
            "of the group 'age', 'bmi', 's1' it names 'bmi'",
        ),
        (
            {"groups": [[0, 2]], "always_include": [0], "never_include": [2]},
            "never_include must name all columns of a group or none",
        ),
        (
            {"always_include": [0, 1], "at_most_one_of": [[1, 0, 5]]},
            "one of 'age', 'sex', 's2', but always_include .* has 'age', 'sex'",
        ),
        (
            {"always_include": [0, 3], "groups": [[0, 1]], "at_most_one_of": [[1, 3]]},
            "one of 'sex', 'bp', but always_include .* has 'sex', 'bp'",
        ),
        (
            {"groups": [[0, 1]], "at_most_one_of": [[0, 1, 2]]},
            "groups holds 'age', 'sex' in one group, of which at_most_one_of",
        ),
        ({"count": "rows"}, "count must be 'groups' or 'columns'; got 'rows'"),
    ],
)
def test_wishes_that_contradict_are_refused_by_name(wishes, message):
    with pytest.raises(ValueError, match=message):
        AllowedSubsets.make(6, labels=NAMES, **wishes)


def test_without_labels_columns_are_named_by_number():
    with pytest.raises(ValueError, match="got column 1 in more than one"):
        AllowedSubsets.make(6, groups=[[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("size", "wishes", "message"),
    [
        (0, {}, "n_features_to_select must be at least 1; got 0"),
        (7, {}, "must be at most 6: the 6 columns to choose from allow no more at once; got 7"),
        (
            2,
            {"always_include": [0, 1], "groups": [[1, 2]], "count": "columns"},
            "at least 3, what always_include counts .*'age', 'sex', 'bmi'.*; got 2",
        ),
        (5, {"never_include": [0, 1]}, "must be at most 4: .* with never_include allow"),
        (
            5,
            {"at_most_one_of": [[0, 1, 2]], "groups": [[3, 4]]},
            "must be at most 3: .* with groups, at_most_one_of allow no more at once; got 5",
        ),
        (
            3,
            {"groups": [[0, 1], [2, 3, 4, 5]], "count": "columns"},
            r"= 3 can't be made of whole groups \(of 2, 4 columns\). The nearest that can: 2 and 4",
        ),
        (
            1,
            {"groups": [[0, 1], [2, 3], [4, 5]], "count": "columns"},
            "can't be made of whole groups .of 2 columns.. The nearest that can: 2[.]",
        ),
        (3, {"never_include": range(6)}, "must be at most 0"),
    ],
)
def test_a_size_that_no_subset_has_is_refused_with_what_would_do(size, wishes, message):
    with pytest.raises(ValueError, match=message):
        AllowedSubsets.make(6, labels=NAMES, **wishes).check_size(size)


@pytest.mark.parametrize("best_so_far", [None, np.zeros(60)])
def test_sets_too_tangled_to_search_are_refused(monkeypatch, best_so_far):
    out_of_branches = OptimizeResult(x=best_so_far, status=1)
    monkeypatch.setattr(packing, "milp", lambda *_, **__: out_of_branches)
    chain = AllowedSubsets.make(60, at_most_one_of=[[i, i + 1] for i in range(59)])
    with pytest.raises(ValueError, match="at_most_one_of overlaps so much, over 60 features"):
        chain.check_size(29)
