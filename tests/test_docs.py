"""Every Python block of the pages runs; links lead somewhere; pages and package agree."""

import re
from pathlib import Path

import pytest

import safdr

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if {"gallery", "generated"}.isdisjoint(page.parts)]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.S | re.M)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if PYTHON.search(p.read_text())], ids=name_of)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_the_python_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in PYTHON.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, name_of(page), "exec"), names)
    pyplot.close("all")


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "paper" / "README.md"], ids=name_of
)
def test_the_links_of_a_page_lead_to_files(page):
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in link:
            assert (page.parent / link).exists(), link


def test_the_reference_lists_every_public_name():
    text = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   (\w+)$", text, re.M)
    assert sorted(listed) == sorted(set(safdr.__all__) - {"__version__"})


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {safdr.__version__}" in citation
    assert f"## {safdr.__version__}" in changes
