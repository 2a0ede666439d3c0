"""The code on the README and on the pages of docs/ runs, top to bottom."""

import importlib
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import safdr
from safdr import Annealing, AnnealingSelector, SelectionReport, testing

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs"
RUN = [
    "recipe.md",
    "own-criterion.md",
    "objectives.md",
    "tasks.md",
    "moments.md",
    "proof.md",
    "model-risk.md",
    "stability.md",
    "rules.md",
    "tour.md",
    "dynamics.md",
]


def blocks(page):
    """The Python blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```$", (PAGES / page).read_text("utf-8"), re.M | re.S)


def run(page, monkeypatch):
    """Run the blocks of a page as one module, which pickle can find by its name."""
    module = types.ModuleType(page.removesuffix(".md").replace("-", "_"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for number, block in enumerate(blocks(page)):
        exec(compile(block, f"{page}, block {number}", "exec"), module.__dict__)
    return module


def test_a_criterion_and_chains_of_your_own(monkeypatch):
    page = run("own-criterion.md", monkeypatch)
    assert page.best.tolist() == [1, 4]
    assert page.selector.subset_.tolist() == [1, 4]
    assert np.ptp(list(page.VALUES.values())) > 0


def test_moments_in_files(monkeypatch):
    page = run("moments.md", monkeypatch)
    assert page.total.n_samples == 569


def test_proofs(monkeypatch):
    page = run("proof.md", monkeypatch)
    assert page.proof.optimal
    assert page.ties.exact
    assert page.ties.n_total == 95


def test_stability(monkeypatch):
    page = run("stability.md", monkeypatch)
    text = (PAGES / "stability.md").read_text("utf-8")
    told = str(page.found).splitlines()
    assert told[0].startswith(re.search(r"^50 half-samples .*(?=, …)", text, re.M).group())
    assert all(line in text for line in told[1:])
    for row in page.frame[["chosen", "replacement", "loss_difference", "score_difference"]].values:
        replacement = row[1] if isinstance(row[1], str) else "(left out)"
        assert f"| {row[0]} | {replacement} | {row[2]:+.4f} | {row[3]:+.4f} |" in text


def test_model_risk(monkeypatch):
    page = run("model-risk.md", monkeypatch)
    assert page.calibrated.predict_proba(page.X_test).sum(axis=1) == pytest.approx(1.0)


def test_the_recipe(monkeypatch):
    page = run("recipe.md", monkeypatch)
    assert page.published.annealing.screen is None
    assert not {*page.missed.subset_} & {0, 1}
    assert page.found.subset_.tolist() == [0, 1]


def test_rules(monkeypatch):
    page = run("rules.md", monkeypatch)
    text = (PAGES / "rules.md").read_text("utf-8")
    assert page.search.rule_note_ in text
    assert str(page.search.n_features_by_rule_) in text


def test_dynamics(monkeypatch):
    page = run("dynamics.md", monkeypatch)
    assert 1 <= page.selector.result_.trace.n_families[-1] < 200


def test_any_objective(monkeypatch):
    page = run("objectives.md", monkeypatch)
    assert page.blind.subset_.tolist() != [2, 5]
    assert page.seeing.subset_.tolist() == page.boosted.subset_.tolist() == [2, 5]
    assert page.seeing.criterion_value_ == pytest.approx(0.94, abs=0.005)
    assert page.circles.subset_.tolist() == [3, 8]
    assert page.judged.get_feature_names_out().tolist() == [
        "mean texture",
        "mean perimeter",
        "worst concave points",
    ]
    assert page.judged.loss_ == pytest.approx(0.18, abs=0.005)


def test_any_task(monkeypatch):
    page = run("tasks.md", monkeypatch)
    wine, even = ["alcohol", "color_intensity"], ["color_intensity", "hue"]
    assert {*page.wine.get_feature_names_out()} == {*wine, "flavanoids", "proline"}
    assert {*page.even.get_feature_names_out()} == {*even, "flavanoids", "proline"}
    assert page.ten.criterion_value_ == pytest.approx(0.47, abs=0.005)
    assert len(page.by_column.subset_) == 4 == page.by_group.n_features_
    paid = {
        s: sum(n.startswith("worst") for n in d.get_feature_names_out())
        for s, d in page.dear.items()
    }
    assert paid == {0.01: 3, 0.1: 2, 1.0: 0}


@pytest.mark.parametrize("page", RUN)
def test_each_block_is_short(page):
    assert blocks(page)
    assert all(len(block.splitlines()) < 40 for block in blocks(page))


def test_the_readme(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text("utf-8")
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S):
        exec(compile(block, "README.md", "exec"), names)
    told = {"one_se": 4, "one_sd": 3, "tolerance": 3, "best": 15}
    assert names["search"].n_features_by_rule_ == told
    assert str(told) in text
    assert (tmp_path / "path.png").exists()


def test_the_readme_is_one_page():
    assert len((ROOT / "README.md").read_text("utf-8").split()) < 1100


def test_the_tour(monkeypatch):
    page = run("tour.md", monkeypatch)
    wine = {"flavanoids", "color_intensity", "proline"}
    assert set(page.wine.get_feature_names_out()) == wine


def test_the_page_of_the_command_line_names_every_option():
    pytest.importorskip("cyclopts")
    from safdr.cli.select import EXAMPLES, app

    text = (PAGES / "select.md").read_text("utf-8")
    names = {name for option in app.assemble_argument_collection() for name in option.names}
    options = {name for name in names if name.startswith("--")} - {"--k"}
    assert {"--target", "--sign"} < options
    assert options - set(re.findall(r"--[\w-]+", text)) == set()
    # Or a terminal of 80 columns would break them.
    assert max(map(len, EXAMPLES.splitlines())) <= 80


# ---- The site -----------------------------------------------------------------------------------


def test_every_page_is_on_the_list():
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (PAGES / "README.md").read_text("utf-8"))
    assert sorted(listed) == sorted(p.name for p in PAGES.glob("*.md") if p.name != "README.md")


def test_the_reference_has_every_public_name():
    page = (PAGES / "site" / "reference.md").read_text("utf-8")
    names = re.findall(r"^   (\w+)$", page, re.M)
    assert sorted(names) == sorted([*safdr.__all__, *testing.__all__])


def test_the_files_are_described(two_classes):
    X, y = two_classes
    selector = AnnealingSelector(2, annealing=Annealing(n_replicas=2), random_state=0).fit(X, y)
    content = SelectionReport.from_estimator(selector, X, y).to_dict()
    page = (PAGES / "formats.md").read_text("utf-8")
    section = page.split("## `result.json`")[1].split("\n## ")[0]
    told = [name for row in re.findall(r"^\| (`.*?) \|", section, re.M) for name in row.split(", ")]
    assert {name.strip("`") for name in told} == set(content)


def test_faults_of_a_site_are_seen(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(PAGES)
    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a><a href="c.html">c</a>')
    (tmp_path / "b.html").write_text('<img src="a.html"><script src="https://x.org/y.js"></script>')
    found = sorted(importlib.import_module("check_site").faults(tmp_path))
    assert [fault.split(": ")[1] for fault in found] == [
        *("leads nowhere", "no such place", "a picture without words", "fetched from elsewhere")
    ]
