"""The table and the ablation from fixed rows, cell by cell."""

import csv
import io
import math

import numpy as np
import pytest

from experiments import ablation, against
from experiments.environment import environment, mixed_engines
from experiments.errors import SettingsError
from experiments.published import PUBLISHED
from experiments.summary import Mean, best_within_error, paired
from experiments.table import CAPTION, HEADER, make_lines, to_csv, to_latex, to_markdown


@pytest.fixture
def rows(make_row):
    return [
        *(make_row("heart", "sa-fdr", r, k, a) for r, (k, a) in enumerate([(2, 0.80), (4, 0.84)])),
        *(make_row("heart", "rfe", r, k, a) for r, (k, a) in enumerate([(5, 0.81), (6, 0.83)])),
        make_row("loan_default_kaggle", "lasso", 0, 6.2, 0.7, seconds=(10.0, 20.0)),
        make_row("heart", "sa-fdr+n_batches=2", 0, 1, 0.99),
    ]


def cells(text):
    """Those of the table; the lines below it are left out."""
    lines = text.partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_markdown_table_cell_by_cell(rows):
    header, rule, *body = cells(to_markdown(make_lines(rows)))
    assert tuple(header) == HEADER
    assert len(rule) == len(header)
    # k* of SA-FDR: mean of 2 and 4 is 3, standard error √2/√2 = 1. Its AUC: 0.82 ± 0.02.
    # In pairs SA-FDR − RFE is −0.01 and 0.01: level. Both are best in AUC, SA-FDR alone in k*.
    assert body == [
        [
            *("Heart", "267", "44", "SA-FDR", "2"),
            *("**3.00** ± 1.00", "**0.8200** ± 0.0200", "**5.00** ± 1.00", "**0.8300** ± 0.0200"),
            *("2.00", "3.40", "0.8165", "4.3"),
        ],
        [
            *("", "", "", "RFE", "2"),
            *("5.50 ± 0.50", "**0.8200** ± 0.0100", "7.50 ± 0.50", "**0.8300** ± 0.0100"),
            *("2.00", "3.65", "0.8106", "0.7"),
        ],
        [
            *("Loan Default (Kaggle file)", "120526", "40", "Lasso", "1"),
            *("**6.20**", "**0.7000**", "**8.20**", "**0.7100**"),
            *("15.00", "–", "–", "–"),
        ],
    ]


def test_the_latex_table_says_the_same(rows):
    text = to_latex(make_lines(rows))
    line = next(line for line in text.splitlines() if "RFE" in line)
    assert line == (
        r" &  &  & RFE & 2 & 5.50 $\pm$ 0.50 & \textbf{0.8200} $\pm$ 0.0100 & "
        r"7.50 $\pm$ 0.50 & \textbf{0.8300} $\pm$ 0.0100 & 2.00 & 3.65 & 0.8106 & 0.7 \\"
    )
    assert text.count(" & ") == (len(HEADER) - 1) * 4
    assert r"k* " not in text
    assert r"$k^*$ (one\_sd)" in text


def test_the_csv_table_holds_the_numbers(rows):
    first, second, third = csv.DictReader(io.StringIO(to_csv(make_lines(rows))))
    assert (first["data"], first["method"], first["repeats"]) == ("heart", "sa-fdr", "2")
    assert float(first["k_one_sd"]) == 3.0
    assert float(first["k_one_sd_error"]) == pytest.approx(1.0)
    assert float(first["auc_one_se"]) == pytest.approx(0.83)
    assert (first["k_one_sd_best"], second["k_one_sd_best"]) == ("True", "False")
    assert float(second["paper_k"]) == 3.65
    assert third["paper_k"] == ""
    # At k* the folds of the fixture hold other numbers of features than the refit.
    assert (third["refit_k_one_sd"], third["refit_k_one_se"]) == ("2.0", "5.0")
    assert math.isnan(float(third["k_one_sd_error"]))


def test_the_recipe_stands_beside_the_others(rows, make_row):
    """One repeat of it changes nothing about what is best; what it lacks is told."""
    more = [*rows, make_row("heart", "recipe", 0, 1, 0.99)]
    text, before = to_markdown(make_lines(more)), to_markdown(make_lines(rows))
    assert [line for line in cells(text) if line[3] != "safdr, default"] == cells(before)
    [line] = [line for line in cells(text) if line[3] == "safdr, default"]
    assert line[4:7] == ["1", "1.00", "0.9900"]
    assert "`python -m experiments run --data loan_default_kaggle --methods recipe`" in text
    assert "--methods recipe" not in before


def test_the_caption_says_what_the_marks_mean(rows):
    lines = make_lines(rows)
    for what in ("±", "Bold", "one_sd", "one_se", "s/fold", "another machine"):
        assert what in CAPTION
    assert CAPTION.replace("*", r"\*") in to_markdown(lines)
    latex = to_latex(lines)
    assert r"\caption{$k^*$: number of features chosen." in latex
    assert r"within one standard error" in latex
    assert "±" not in latex


def test_scores_of_the_stand_in_are_not_shown(make_row):
    lines = make_lines([make_row("loan_default_synthetic", "sa-fdr", 0, 2, 0.7)])
    *_, body = cells(to_markdown(lines))
    assert body[5:9] == ["**2.00**", "–", "**4.00**", "–"]
    (record,) = csv.DictReader(io.StringIO(to_csv(lines)))
    assert (record["auc_one_sd"], record["k_one_sd"]) == ("", "2.0")


def test_rows_of_different_engines_are_told(rows):
    assert mixed_engines(rows) is None
    other = {"environment": {"safdr": "0.1.0", "engine": "xyz"}}
    warning = mixed_engines([{**rows[0], **other}, *rows[1:]])
    assert "2 with 0.1.0 (engine abc), 1 with 0.1.0 (engine xyz)" in warning
    others = [row if row["method"].startswith("sa-fdr") else {**row, **other} for row in rows]
    assert mixed_engines(others) is None
    assert to_markdown(make_lines(rows), warning).endswith(f"\n{warning}\n")
    assert "engine xyz" in to_latex(make_lines(rows), warning)
    assert len(environment()["engine"]) == 12


def claims(make_row, ks, auc=0.82):
    """The check of Heart: two repeats, k* ± 0.5 and AUC ± 0.01 around what is given."""
    made = [
        make_row("heart", method, repeat, k + sign / 2, auc + sign / 100)
        for method, k in ks.items()
        for repeat, sign in enumerate((-1, 1))
    ]
    return against.make_checks(make_lines(made))


def test_the_claims_of_the_paper_cell_by_cell(make_row):
    # The paper: k* 3.40 and AUC 0.8165 for SA-FDR; one_se adds 2 to k* and 0.01 to the AUC here.
    checks = claims(make_row, {"sa-fdr": 3.0, "rfe": 3.5, "lasso": 6.0})
    *_, body = cells(against.to_markdown(checks))
    assert body == [
        *("Heart", "-0.40", "+1.60", "one_sd", "+0.0035", "+0.0135", "one_sd, one_se"),
        *("yes", "one_sd, one_se"),
    ]


def test_claims_that_do_not_hold_are_seen(make_row):
    # The error of the AUC is 0.01: 0.79 is more than two errors below 0.8165, and 0.80 is not.
    (check,) = claims(make_row, {"sa-fdr": 5.0, "rfe": 4.0, "lasso": 6.0}, auc=0.79)
    assert (check.k_agrees, check.auc_agrees, check.smallest) == ([], ["one_se"], [])
    header, *_, body = cells(against.to_markdown([check]))
    assert len(header) == len(body)
    assert (body[3], body[8]) == ("**no**", "**no**")


def test_what_the_paper_does_not_claim_is_not_marked(make_row):
    rows = [
        make_row("spambase", m, 0, k, 0.9) for m, k in (("sa-fdr", 9), ("rfe", 8), ("lasso", 9))
    ]
    *_, body = cells(against.to_markdown(against.make_checks(make_lines(rows))))
    assert body[7:] == ["no", "no"]


def test_the_smallest_k_needs_all_methods_of_the_paper(make_row):
    (check,) = claims(make_row, {"sa-fdr": 3.0, "rfe": 4.0})
    assert check.smallest is None
    assert cells(against.to_markdown([check]))[-1][-1] == "–"


def test_the_papers_numbers_are_never_beside_other_data():
    assert ("loan_default_kaggle", "sa-fdr") not in PUBLISHED
    assert ("loan_default_synthetic", "sa-fdr") not in PUBLISHED


def test_rows_of_other_settings_never_make_one_table(rows, make_row):
    odd = make_row("heart", "rfe", 2, 1, 0.5, protocol={"max_features": 99})
    with pytest.raises(SettingsError, match=r"max_features 3 there, 99 here"):
        make_lines([*rows, odd])


def test_the_error_of_a_mean():
    assert Mean.of([1.0, 2.0, 3.0]) == Mean(2.0, pytest.approx(1 / math.sqrt(3)), 3)
    assert math.isnan(Mean.of([1.0]).error)


def test_pairs_are_taken_on_common_repeats():
    difference = paired({0: 1.0, 1: 5.0, 2: 9.0}, {1: 4.0, 2: 6.0, 3: 0.0})
    assert (difference.value, difference.n) == (2.0, 2)
    assert paired({0: 1.0}, {1: 1.0}) is None


def test_best_is_judged_in_pairs():
    # b is behind a by 0.1 each time: the spread over repeats does not excuse it.
    spread = {0: 0.0, 1: 5.0, 2: 10.0}
    behind = {repeat: value - 0.1 for repeat, value in spread.items()}
    noisy = {0: 1.0, 1: 3.0, 2: 10.5}
    values = {"a": spread, "b": behind, "c": noisy}
    assert best_within_error(values, largest=True) == {"a", "c"}
    assert best_within_error({"a": spread, "b": behind}, largest=False) == {"b"}


def test_best_is_judged_on_common_repeats():
    # On repeat 0, which both have, a is ahead; what b did elsewhere does not count.
    values = {"a": {0: 0.8}, "b": {0: 0.7, 1: 0.99}}
    assert best_within_error(values, largest=True) == {"a"}
    assert best_within_error({"a": {0: 0.8}, "b": {1: 0.99}}, largest=True) == set()


def test_a_single_repeat_has_no_error_to_hide_in():
    values = {"a": {0: 0.8}, "b": {0: 0.7999}, "c": {0: 0.8}}
    assert best_within_error(values, largest=True) == {"a", "c"}


def test_the_ablation_cell_by_cell(rows, make_row):
    extra = [
        make_row("heart", "sa-fdr+n_batches=2", 1, 3, 0.80, gain=0.06),
        make_row("ozone", "sa-fdr+n_batches=2", 0, 3, 0.80),
        make_row("cancer", "sa-fdr", 0, 3, 0.80),
    ]
    default, variant = ablation.make_contrasts([*rows, *extra])
    # k*: 1 − 2 and 3 − 4. Test AUC: 0.99 − 0.80 and 0.80 − 0.84; the curve is the AUC at every k.
    # Validation AUC: 0 and 0.06 on one of two folds; on two of the six values of the curve.
    assert (variant.data, variant.settings) == ("heart", "n_batches=2")
    assert variant.k["one_sd"].value == 2.0
    assert variant.k_change["one_sd"] == Mean(-1.0, 0.0, 2)
    assert variant.validation_change["one_se"].value == pytest.approx(0.015)
    assert variant.validation_change["one_se"].error == pytest.approx(0.015)
    assert variant.validation_curve_change.value == pytest.approx(0.01)
    assert variant.test_change["one_se"].value == pytest.approx(0.075)
    assert variant.test_change["one_se"].error == pytest.approx(0.115)
    assert variant.test_curve_change.value == pytest.approx(0.075)
    assert default.validation_curve_change == Mean(0.0, 0.0, 2)
    header, _, first, second = cells(ablation.to_markdown([default, variant]))
    assert header[5] == "Δ validation AUC (one_sd)"
    assert header[-2] == "Δ test AUC, mean over k (not used)"
    assert first[:6] == ["Heart", "default", "2", "3.00", "–", "–"]
    assert second == [
        *("Heart", "n_batches=2", "2", "2.00", "-1.00 ± 0.00", "+0.0150 ± 0.0150"),
        *("4.00", "-1.00 ± 0.00", "+0.0150 ± 0.0150", "+0.0100 ± 0.0100"),
        *("+0.0750 ± 0.1150", "2.00"),
    ]
    record = list(csv.DictReader(io.StringIO(ablation.to_csv([default, variant]))))[1]
    assert float(record["test_change_one_sd_error"]) == pytest.approx(0.115)


def test_the_variants_are_all_different_from_the_default():
    from experiments.methods import get_method

    names = [get_method(variant).name for variant in ablation.VARIANTS]
    assert names == list(ablation.VARIANTS)
    assert len(np.unique(names)) == len(names)
