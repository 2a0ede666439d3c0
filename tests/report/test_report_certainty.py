"""How sure the choice is: what the dict and the page claim, and that they claim no more."""

import json
from dataclasses import replace

import numpy as np
import pytest

from helpers.html import parsed
from report_cases import QUICK, rows
from safdr import AnnealingSelector, Constraints, Moments, SelectionReport, near_ties, stability
from safdr.report import claims, words
from safdr.report.certainty import found_ties, no_proof
from safdr.report.numbers import signed
from safdr.report.stability import no_stability
from safdr.report.text import labels_of
from safdr.result import StandIns

PARTS = ("proof", "near_ties", "stability", "substitutes")


@pytest.fixture(scope="module")
def data():
    return rows(8)


@pytest.fixture(scope="module")
def proven(data):
    return AnnealingSelector(3, prove=60, **QUICK).fit(*data)


@pytest.fixture(scope="module")
def ties(data):
    return near_ties(Moments.from_rows(*data), 3, within=0.2, time_limit=60)


@pytest.fixture(scope="module")
def content(proven, data, ties):
    return SelectionReport.from_estimator(proven, *data, near_ties=ties).to_dict()


def text_of(content):
    return " ".join("".join(parsed(SelectionReport(content).to_html()).text).split())


# ---- The dict -----------------------------------------------------------------------------------


def test_nothing_is_said_of_what_nobody_asked_for(report):
    content = report.to_dict()
    assert [content[key] for key in PARTS] == [None] * 4
    assert 'class="certainty"' not in report.to_html()
    assert not set(PARTS) & {
        attributes.get("id") for _, attributes in parsed(report.to_html()).found
    }


def test_a_proof_is_that_of_the_selector(content, proven):
    proof = proven.proof_
    assert json.loads(json.dumps(content)) == content
    assert content["proof"]["indices"] == proof.subset.tolist()
    assert content["proof"]["features"] == [f"x{j}" for j in proof.subset]
    assert content["proof"]["value"] == proof.value
    assert content["proof"]["upper_bound"] == proof.upper_bound
    assert content["proof"]["chosen_value"] == proven.criterion_value_
    assert content["proof"]["optimal"] is True


def test_near_ties_are_listed_with_what_they_lack(content, ties):
    found = content["near_ties"]
    assert (found["n_total"], found["exact"], found["within"]) == (ties.n_total, True, 0.2)
    assert [each["indices"] for each in found["sets"]] == ties.subsets.tolist()
    values = np.array([each["criterion_value"] for each in found["sets"]])
    shortfalls = [each["shortfall"] for each in found["sets"]]
    np.testing.assert_allclose(shortfalls, 1 - values / values[0], atol=1e-9)
    assert max(shortfalls) <= 0.2
    assert {each["index"]: each["count"] for each in found["counts"]} == {
        j: n for j, n in enumerate(ties.feature_counts.tolist()) if n
    }


def test_without_a_list_the_search_gives_its_own(proven, data):
    found = SelectionReport.from_estimator(proven, *data).to_dict()["near_ties"]
    assert found["exact"] is False
    known = {tuple(subset) for subset in proven.result_.subsets}
    assert {tuple(each["indices"]) for each in found["sets"]} <= known
    assert found["n_total"] == len(found["sets"]) >= 1


def test_the_list_of_the_search_knows_groups(grouped):
    search, _ = grouped
    found = found_ties(search, within=0.5)
    values = search.result_.criterion_values
    near = search.result_.subsets[values >= 0.5 * values.max()]
    assert found.n_total == len({tuple(subset) for subset in near})
    assert found.feature_counts.max() <= found.n_total


def test_near_ties_of_another_size_are_refused(proven, data):
    other = near_ties(Moments.from_rows(*data), 2)
    with pytest.raises(ValueError, match="near_ties must be subsets of 3 of 8 columns"):
        SelectionReport.from_estimator(proven, *data, near_ties=other)


def test_near_ties_of_another_criterion_are_refused(proven, data):
    other = near_ties(Moments.from_rows(*data), 3, ridge=0.5)
    with pytest.raises(ValueError, match="near_ties must be of the rows and the criterion"):
        SelectionReport.from_estimator(proven, *data, near_ties=other)


# ---- The words ----------------------------------------------------------------------------------

BEST = {"optimal": True, "chosen_is_best_known": True, "chosen_gap": 0.0}


def claim(content, ties=None, **proof):
    changed = {**content, "proof": {**content["proof"], **proof}}
    if ties:
        changed["near_ties"] = {**content["near_ties"], **ties}
    return claims.proof(changed) if ties is None else claims.near_ties(changed)


def test_a_proof_is_one_sentence_about_the_criterion(content):
    assert claim(content, **BEST) == (
        "Proven: by the Fisher ratio, no other 3 of the 8 features score higher on the training "
        "rows."
    )


def test_a_chosen_set_that_is_not_the_best_is_not_called_so(content):
    text = claim(content, **BEST | {"chosen_is_best_known": False, "chosen_gap": 0.0314})
    assert "are another set, 3.1 % above the chosen one, which has the smallest loss" in text
    text = claim(content, **BEST | {"chosen_is_best_known": False, "chosen_gap": 1e-6})
    assert "less than 0.01 % above" in text


@pytest.mark.parametrize(("gap", "text"), [(0.03101, "3.2 %"), (0.5, "50 %"), (1.234, "130 %")])
def test_a_bound_is_rounded_up(content, gap, text):
    out = claim(content, optimal=False, chosen_gap=gap, seconds=10.0)
    assert out == (
        f"Not proven in 10 s: by the Fisher ratio, no other 3 of the 8 features score more than "
        f"{text} higher on the training rows."
    )


def test_no_bound_and_no_proof_are_told_as_such(content):
    bound = claim(content, optimal=False, upper_bound=None, chosen_gap=None)
    assert "no bound is known" in bound
    negative = claim(content, optimal=False, chosen_gap=None, upper_bound=0.25, chosen_value=-1.0)
    assert "score above 0.250 on the training rows; the chosen have −1.00." in negative
    assert claims.proof({**content, "proof": no_proof("why not.")}) == "Not proven: why not."


def test_limits_and_cost_are_part_of_the_claim(content):
    by_cost = {"criterion": None, "cost": True}
    limited = {**content, "settings": {"always_include": ["a"]}, "chosen_by": by_cost}
    assert "by the Fisher ratio less cost, no other allowed 3 of" in claim(limited, **BEST)
    own = {**content, "chosen_by": {"criterion": "f", "cost": False}}
    assert "by the criterion, no other 3 of" in claim(own, **BEST)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ({"n_total": 1, "chosen_shortfall": 0.0}, "No other set comes within 20 %."),
        ({"n_total": 2, "chosen_shortfall": 0.0}, "1 other set comes within 20 %."),
        ({"n_total": 13, "chosen_shortfall": 0.0}, "12 other sets come within 20 %."),
        (
            {"n_total": 13, "chosen_shortfall": 0.1},
            "13 sets come within 20 % of the best, the chosen one among them.",
        ),
        (
            {"n_total": 1, "chosen_shortfall": 0.3},
            "1 set comes within 20 % of the best, not the chosen one.",
        ),
        (
            {"n_total": 3, "chosen_shortfall": 0.0, "exact": False},
            "At least 2 other sets come within 20 %.",
        ),
        (
            {"n_total": 1, "chosen_shortfall": 0.0, "exact": False},
            "No other set is known to come within 20 %.",
        ),
        (
            {"n_total": 2, "within": None, "sets": [{"shortfall": 0.0}, {"shortfall": 0.0312}]},
            "The best 2 sets are within 3.12 %.",
        ),
    ],
)
def test_near_ties_are_counted_in_a_sentence(content, found, text):
    assert claim(content, found) == text


def test_all_features_need_no_proof(data):
    X, y = data
    everything = AnnealingSelector(2, prove=60, **QUICK).fit(X[:, :2], y)
    content = SelectionReport.from_estimator(everything, X[:, :2], y).to_dict()
    assert claims.proof(content) == "Nothing to prove: all 2 features were chosen."
    assert claims.near_ties(content) is None
    assert "come within" not in text_of(content)


# ---- The page -----------------------------------------------------------------------------------


def test_the_box_and_the_details_say_the_same(content, ties):
    text = text_of(content)
    assert text.count(claims.proof(content)) == 2
    assert text.count(claims.near_ties(content)) == 2
    assert claims.WHAT_IS_PROVEN in text
    listed = SelectionReport(content).to_html().count('data-table="near-ties"')
    assert listed == 1
    assert len(ties.subsets) > 1


def test_a_page_without_a_proof_says_why(content):
    reason = "groups can't be proven <b>."
    page = SelectionReport({**content, "proof": no_proof(reason)}).to_html()
    assert "groups can&#39;t be proven &lt;b&gt;." in page
    assert "Branch and bound" not in page


# ---- Stability ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def again(proven, data):
    return stability(proven, *data, n_resamples=8, random_state=0)


@pytest.fixture(scope="module")
def chosen_again(proven, data, again):
    names = [f"name {j}" for j in range(8)]
    report = SelectionReport.from_estimator(proven, *data, feature_names=names, stability=again)
    return report.to_dict()


def test_counts_are_those_of_the_features_under_their_names(chosen_again, again, proven):
    found = chosen_again["stability"]
    assert json.loads(json.dumps(chosen_again)) == chosen_again
    assert found["n_resamples"] == 8
    assert found["index"] == again.index
    counts = {each["index"]: each["count"] for each in found["features"]}
    assert counts == {j: n for j, n in enumerate(again.counts.tolist()) if n or again.chosen[j]}
    assert all(each["name"] == f"name {each['index']}" for each in found["features"])
    chosen = {each["index"] for each in found["features"] if each["chosen"]}
    assert chosen == set(proven.subset_.tolist())
    listed = [each["count"] for each in found["features"]]
    assert listed == sorted(listed, reverse=True)


def test_stand_ins_have_the_names_of_the_report(proven, data, again):
    pair = StandIns("x1", "x6", n_first=4, n_second=3, n_both=0, n_neither=1)
    content = SelectionReport.from_estimator(
        proven, *data, feature_names=list("abcdefgh"), stability=replace(again, stand_ins=(pair,))
    ).to_dict()
    found = content["stability"]["stand_ins"][0]
    assert (found["first"], found["second"], found["indices"]) == ("b", "g", [1, 6])


def test_a_group_is_counted_once_in_stability_too(grouped):
    search, report = grouped
    X, y = rows(8)
    again = stability(search, X, y, n_resamples=4, random_state=0)
    names = ["a", "b", "c = 1", "c = 2", "c = 3", "d", "e", "f"]
    content = SelectionReport.from_estimator(
        search, X, y, feature_names=names, stability=again
    ).to_dict()
    counts = {each["name"]: each["count"] for each in content["stability"]["features"]}
    assert set(counts) <= {"pair", "b", "c", "d", "f"}
    assert sum(counts.values()) == 4 * search.n_features_
    assert labels_of(content) | labels_of(report.to_dict()) == labels_of(content)
    assert "Would other rows choose the same?" in text_of(content)


def test_the_box_counts_the_chosen_features(chosen_again, again, proven):
    text = text_of(chosen_again)
    most = max(proven.subset_, key=lambda j: again.counts[j])
    assert f"In 8 half-samples, name {most} was chosen {again.counts[most]} times, " in text
    assert text.count(claims.stability(chosen_again)) == 1


@pytest.mark.parametrize(
    ("index", "said"), [(0.9, "Much the same"), (0.5, "Partly the same"), (-0.1, "Mostly other")]
)
def test_the_index_has_words(chosen_again, index, said):
    found = {**chosen_again["stability"], "index": index}
    assert claims.stability({**chosen_again, "stability": found}).startswith(said)


def test_features_that_often_stand_in_are_named(chosen_again):
    found = chosen_again["stability"]
    one = {**found["features"][0], "chosen": False, "name": "other"}
    shares = [0.5, 0.25, 0.2]
    others = [{**one, "frequency": share, "count": 8 * share} for share in shares]
    changed = {**chosen_again, "stability": {**found, "features": [*found["features"], *others]}}
    assert [each["frequency"] for each in claims.often_instead(changed) if each in others] == [
        *shares[:2]
    ]


def test_many_chosen_features_are_summed_up(chosen_again):
    found = chosen_again["stability"]
    one = {**found["features"][0], "chosen": True}
    many = [{**one, "name": f"n{i}", "count": 8 - i // 2} for i in range(9)]
    content = {**chosen_again, "stability": {**found, "features": many}}
    first, *_ = words.certainty(content)[2:]
    assert first.endswith("<bdi>n5</bdi> 6 and 3 more 4 to 5 times.")


def test_stability_of_other_features_is_refused(proven, data, again):
    other = replace(again, names=again.names[:5])
    with pytest.raises(ValueError, match="stability must be of the 8 features"):
        SelectionReport.from_estimator(proven, *data, stability=other)


def test_a_page_without_stability_says_why(chosen_again):
    text = text_of({**chosen_again, "stability": no_stability("a class has 3 rows.")})
    assert text.count("How stable the choice is can't be told: a class has 3 rows.") == 2


# ---- Substitutes --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def replaced(proven, data):
    X, y = data
    return proven.substitutes(X, y, backend="dict")


def with_substitutes(proven, data, frame):
    names = [f"name {j}" for j in range(8)]
    report = SelectionReport.from_estimator(proven, *data, feature_names=names, substitutes=frame)
    return report.to_dict()


def test_substitutes_are_the_rows_of_the_frame_under_the_names_of_the_report(
    proven, data, replaced
):
    content = with_substitutes(proven, data, replaced)
    assert json.loads(json.dumps(content)) == content
    found = content["substitutes"]
    assert len(found) == len(replaced["chosen"])
    wanted = {
        (int(chosen[1:]), None if other is None else int(other[1:])): difference
        for chosen, other, difference in zip(
            replaced["chosen"], replaced["replacement"], replaced["score_difference"], strict=True
        )
    }
    pairs = {(each["chosen_index"], each["replacement_index"]): each for each in found}
    assert {pair: each["score_difference"] for pair, each in pairs.items()} == wanted
    assert all(each["chosen"] == f"name {each['chosen_index']}" for each in found)
    assert all(each["replacement"] in (None, f"name {j}") for (_, j), each in pairs.items())


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_any_frame_will_do(proven, data, replaced, backend):
    pytest.importorskip(backend)
    X, y = data
    frame = proven.substitutes(X, y, backend=backend)
    wanted = with_substitutes(proven, data, replaced)["substitutes"]
    assert with_substitutes(proven, data, frame)["substitutes"] == wanted


def test_the_cheapest_replacement_is_in_the_box(proven, data, replaced):
    content = with_substitutes(proven, data, replaced)
    best = claims.best_replacements(content)
    assert [each["chosen_index"] for each in best] == list(
        dict.fromkeys(each["chosen_index"] for each in content["substitutes"])
    )
    differences = [each["score_difference"] for each in best]
    assert differences == sorted(differences, reverse=True)
    for one in best:
        others = [
            each["loss"]
            for each in content["substitutes"]
            if each["chosen"] == one["chosen"] and each["replacement"] is not None
        ]
        assert one["loss"] == min(others)
    sentence = f"{best[0]['chosen']} can be replaced by {best[0]['replacement']} at "
    assert f"{sentence}{signed(differences[0])} ROC AUC; hardest to replace is" in text_of(content)


def test_features_without_a_replacement_have_their_row(data):
    X, y = data
    everything = AnnealingSelector(2, **QUICK).fit(X[:, :2], y)
    frame = everything.substitutes(X[:, :2], y)
    report = SelectionReport.from_estimator(everything, X[:, :2], y, substitutes=frame)
    assert [each["replacement"] for each in report.to_dict()["substitutes"]] == [None, None]
    assert "can be replaced" not in report.to_html()
    assert "What could replace each feature?" in report.to_html()


def test_what_must_be_in_can_not_be_left_out(data):
    X, y = data
    limits = Constraints(always_include=[0])
    selector = AnnealingSelector(2, constraints=limits, **QUICK).fit(X, y)
    report = SelectionReport.from_estimator(selector, X, y, substitutes=selector.substitutes(X, y))
    assert "nothing (not allowed)" in report.to_html()


def test_groups_are_replaced_as_groups(grouped):
    search, _ = grouped
    X, y = rows(8)
    names = ["a", "b", "c = 1", "c = 2", "c = 3", "d", "e", "f"]
    frame = search.substitutes(X, y, backend="dict")
    content = SelectionReport.from_estimator(
        search, X, y, feature_names=names, substitutes=frame
    ).to_dict()
    named = {each[side] for each in content["substitutes"] for side in ("chosen", "replacement")}
    assert named <= {"pair", "b", "c", "d", "f", None}
    assert "What could replace each feature?" in text_of(content)


def test_other_frames_are_refused(proven, data, replaced):
    with pytest.raises(ValueError, match="got a dict without a column 'allowed'"):
        with_substitutes(proven, data, {"chosen": []})
    wrong = {**replaced, "chosen": replaced["replacement"]}
    with pytest.raises(ValueError, match="substitutes must be of the features that"):
        with_substitutes(proven, data, wrong)


@pytest.mark.parametrize(
    ("value", "text"), [(0.00214, "+0.0021"), (-0.1, "−0.1000"), (-1e-9, "0.0000"), (None, "–")]
)
def test_changes_have_their_sign(value, text):
    assert signed(value) == text
