"""The page of the comparison, from rows with known numbers."""

import re

import numpy as np
import pytest

from experiments.equal.contrasts import Comparison, Model, Score
from experiments.equal.table import to_csv, to_markdown
from experiments.errors import SettingsError

SPLITS = 4
OTHERS = ("paper", "fisher", "rfe", "lasso", "abess", "forward", "anova")


def make_row(data, method, repeat, auc, log_loss, *, n_train=600, n_features=30, **settings):
    """A row at k = 1 and 2; penalised models have 0.01 more AUC and half the log-loss."""
    return {
        "data": data,
        "method": method,
        "repeat": repeat,
        "settings": {
            "protocol": {"sizes": [1, 2]},
            "method": {"method": method},
            "data": {"sha256": "0"},
            **settings,
        },
        "rows": {"all": 4 * n_train // 3, "train": n_train, "test": n_train // 3},
        "n_features": n_features,
        "sizes": [1, 2],
        "subsets": [[0], [0, 1]],
        "scores": {
            "inf": {"auc": auc, "log_loss": log_loss},
            "1": {"auc": [a + 0.01 for a in auc], "log_loss": [x / 2 for x in log_loss]},
        },
        "constant_log_loss": 0.5,
        "selection_seconds": 0.25,
        "environment": {"safdr": "0.1.0", "engine": "abc"},
    }


def rows_of(data, method, lead=(0.0, 0.0), loss=0.4, **changes):
    """Splits whose AUC is 0.8 and some lead, which differs a little from split to split."""
    wiggle = [0.0, 0.01, 0.0, 0.01]
    return [
        make_row(
            data, method, r, [0.8 + each + wiggle[r] for each in lead], [loss, loss], **changes
        )
        for r in range(SPLITS)
    ]


@pytest.fixture
def rows():
    """The recipe has a clear lead at k = 2 on Spambase; on Heart it is behind at both."""
    found = []
    for data, lead, n_train in (("spambase", (0.0, 0.1), 600), ("heart", (-0.1, -0.1), 300)):
        found += rows_of(data, "recipe", lead, n_train=n_train)
        for method in OTHERS:
            found += [
                make_row(data, method, r, [0.8, 0.8], [0.6, 0.6], n_train=n_train)
                for r in range(SPLITS)
            ]
    return found


def section(page, title):
    return page.split(f"## {title}\n\n")[1].split("\n\n## ")[0]


def test_differences_are_in_pairs_with_the_correction_for_overlapping_splits(rows):
    found = Comparison(rows).contrast("spambase", Model("recipe", "1"), Model("rfe", "1"), "auc")
    values = np.array([0.05, 0.06, 0.05, 0.06])
    assert found.mean.value == pytest.approx(values.mean())
    # 200 rows are for testing, 600 for training.
    assert found.mean.error == pytest.approx(values.std(ddof=1) * np.sqrt(1 / 4 + 1 / 3))
    assert [each.value for each in found.by_size] == pytest.approx([0.005, 0.105])
    # Both are beyond the standard error, which is 0.0044.
    assert found.score == Score(2, 0, 2)


def test_rows_left_out_of_a_split_count_as_not_tested(rows):
    for row in rows:
        row["rows"] = {"all": 10000, "train": 600, "test": 1000}
    found = Comparison(rows).contrast("spambase", Model("recipe", "1"), Model("rfe", "1"), "auc")
    deviation = np.std([0.05, 0.06, 0.05, 0.06], ddof=1)
    assert found.mean.error == pytest.approx(deviation * np.sqrt(1 / 4 + 1 / 9))


def test_less_log_loss_wins(rows):
    found = Comparison(rows).contrast(
        "heart", Model("recipe", "inf"), Model("rfe", "inf"), "log_loss"
    )
    assert found.mean.value == pytest.approx(-0.2)
    assert found.ahead == pytest.approx(0.2)
    assert found.score == Score(2, 0, 2)


def test_equal_methods_neither_win_nor_lose(rows):
    found = Comparison(rows).contrast("heart", Model("lasso", "1"), Model("rfe", "1"), "auc")
    assert found.score == Score(0, 0, 2)


def test_only_splits_that_both_have_are_compared(rows):
    kept = [r for r in rows if r["method"] != "rfe" or r["repeat"] in (1, 3)]
    found = Comparison(kept).contrast("spambase", Model("recipe", "1"), Model("rfe", "1"), "auc")
    assert (found.mean.n, found.mean.value) == (2, pytest.approx(0.06))
    one = [r for r in rows if r["method"] != "rfe" or r["repeat"] == 1]
    models = Model("recipe", "1"), Model("rfe", "1")
    assert Comparison(one).contrast("spambase", *models, "auc") is None


@pytest.mark.parametrize(
    ("n_train", "n_features", "kind"), [(300, 30, "few"), (300, 301, "wide"), (600, 30, "many")]
)
def test_kinds_of_sets(n_train, n_features, kind):
    rows = rows_of("heart", "recipe", n_train=n_train, n_features=n_features)
    assert Comparison(rows).kind("heart") == kind


def test_rows_of_different_settings_never_meet(rows):
    rows[0]["settings"]["method"] = {"method": "recipe", "C": 2}
    with pytest.raises(SettingsError, match="different settings"):
        Comparison(rows)


def test_cells_won_and_lost_by_kind(rows):
    found = section(to_markdown(rows), "Cells won and lost by `recipe`")
    assert (
        "| RFE | 2 : 2 of 4 | 0 : 2 of 2 | 0 : 0 of 0 | 4 : 0 of 4 | 2 : 0 of 2 | 0 : 0 of 0 |"
        in found
    )


def test_differences_by_set(rows):
    page = to_markdown(rows)
    found = section(page, "AUC, C = 1: `recipe` − the other, mean over k").splitlines()
    start = "| Data | rows | paper as published | no screen | paper | Fisher's ratio, C = 1 | RFE |"
    assert found[0].startswith(start)
    spambase = next(line for line in found if line.startswith("| Spambase"))
    published, unscreened, paper, *_ = spambase.split(" | ")[2:]
    assert unscreened == "–"
    assert published == "**+0.0650 ± 0.0044**"
    assert paper == "**+0.0550 ± 0.0044**"
    assert "| Heart | – | 0 : 2 of 2 |" in section(
        page, "AUC, C = 1: cells won and lost by `recipe`, by data set"
    )


def claims(page):
    """The lines of what must hold, by metric and method."""
    lines = [x for x in section(page, "What must hold").splitlines() if x.startswith("- ")]
    parts = (re.fullmatch(r"- (.*), C = 1, (.*) than with (.*): (.*), (.*)", x) for x in lines)
    return {(p[3], p[1]): p.group(2, 4, 5) for p in parts}


def test_what_must_hold_has_the_mean_over_the_sets(rows):
    found = claims(to_markdown(rows))
    assert len(found) == 6 * 2
    # Leads of 0.055 on Spambase and -0.095 on Heart: half of their distance is the error.
    lead = "-0.0200 ± 0.0750 over 2 sets"
    for name in ("RFE", "Lasso", "abess", "ANOVA"):
        assert found[name, "AUC"] == ("better", "**no**", lead)
        assert found[name, "log-loss"] == ("better", "yes", "-0.1000 ± 0.0000 over 2 sets")
    for name in ("forward", "Fisher's ratio, C = 1"):
        assert found[name, "AUC"] == ("not worse", "yes", lead)


def test_a_method_may_be_ahead_by_one_standard_error(rows):
    for row in rows:
        if row["data"] == "spambase" and row["method"] == "recipe":
            row["scores"]["1"]["auc"] = [x - 0.1 for x in row["scores"]["1"]["auc"]]
    # -0.045 on Spambase: on the mean 0.07 behind, with an error of 0.025.
    found = claims(to_markdown(rows))
    assert found["forward", "AUC"] == ("not worse", "**no**", "-0.0700 ± 0.0250 over 2 sets")


def test_sets_on_which_another_method_is_ahead_are_named(rows):
    *_, line = section(to_markdown(rows), "What must hold").splitlines()
    assert "AUC: Heart (RFE -0.0950 ± 0.0044); Heart (Lasso" in line
    assert "Heart (Fisher's ratio, C = 1 -0.0950 ± 0.0044)." in line
    assert "Spambase" not in line
    assert line.endswith("log-loss: none.")


def test_log_losses_above_knowing_nothing_are_listed(rows):
    for row in rows:
        if row["data"] == "heart" and row["method"] == "recipe":
            row["scores"]["1"]["log_loss"] = [0.1, 1e5]
    page = to_markdown(rows)
    found = section(page, "Mean log-loss above the constant model's")
    assert "| Heart | recipe, C = 1 | 5.0e+04 | 0.5000 | 2 |" in found
    assert "| Heart | RFE, unpenalised | 0.6000 | 0.5000 | 1, 2 |" in found
    assert "recipe, unpenalised" not in found


def test_penalised_against_unpenalised(rows):
    found = section(to_markdown(rows), "Log-loss with and without penalty, mean over k")
    paper = "0.6000 | 0.3000 | **-0.3000 ± 0.0000**"
    recipe = "0.4000 | 0.2000 | **-0.2000 ± 0.0000**"
    assert f"| Heart | {paper} | {recipe} | 0.5000 |" in found


def test_a_page_of_some_methods_says_what_is_missing(rows):
    kept = [row for row in rows if row["method"] in ("recipe", "anova")]
    found = section(to_markdown(kept), "Seconds to choose the subsets of all sizes, median")
    assert "| Heart | 0.25 | – | – | – | – | – | – | – | 0.25 |" in found
    assert "Lasso: **no**, there are no rows\n" in to_markdown(kept)


def test_rows_of_several_engines_are_told(rows):
    assert "Warning" not in to_markdown(rows)
    next(row for row in rows if row["method"] == "recipe")["environment"]["engine"] = "other"
    assert "1 with 0.1.0 (engine other)" in to_markdown(rows)


def test_the_csv_has_a_line_for_each_data_set_split_method_size_and_penalty(rows):
    header, *lines = to_csv(rows).splitlines()
    assert header.startswith("data,repeat,method,k,C,n_features,auc,log_loss,constant_log_loss")
    assert len(lines) == 2 * 8 * SPLITS * 2 * 2
    assert lines[0] == "spambase,0,recipe,1,inf,1,0.8,0.4,0.5,0.25"
