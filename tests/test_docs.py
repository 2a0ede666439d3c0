"""The code on the README and on the pages of docs/ runs, top to bottom."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs"
RUN = ["own-criterion.md"]


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


@pytest.mark.parametrize("page", RUN)
def test_each_block_is_short(page):
    assert blocks(page)
    assert all(len(block.splitlines()) < 40 for block in blocks(page))


@pytest.mark.filterwarnings("ignore::safdr.SeparationWarning")
def test_the_readme(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text("utf-8")
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S):
        exec(compile(block, "README.md", "exec"), names)
        if "wine" not in names:
            assert names["search"].n_features_by_rule_ == {"one_sd": 2, "one_se": 3, "best": 3}
            assert (tmp_path / "path.png").exists()
    assert set(names["wine"].get_feature_names_out()) == {
        "flavanoids",
        "color_intensity",
        "proline",
    }
