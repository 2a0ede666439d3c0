"""The code on the pages of docs/ runs, top to bottom."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

PAGES = Path(__file__).parent.parent / "docs"
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
    assert np.ptp(list(page.VALUES.values())) > 0


@pytest.mark.parametrize("page", RUN)
def test_each_block_is_short(page):
    assert blocks(page)
    assert all(len(block.splitlines()) < 40 for block in blocks(page))
