"""Every Python block of the pages runs; links lead somewhere; pages and package agree."""

import re
import runpy
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from sklearn.datasets import load_breast_cancer

import safdr

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if {"gallery", "generated"}.isdisjoint(page.parts)]
PYTHON = re.compile(r"^```python( stand-ins)?\n(.*?)^```", re.S | re.M)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if PYTHON.search(p.read_text())], ids=name_of)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_the_python_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    names, text = {}, page.read_text(encoding="utf-8")
    if "sklearn.callback" in text:
        pytest.importorskip("sklearn.callback")
    for needs_stand_ins, block in PYTHON.findall(text):
        if not needs_stand_ins:
            exec(compile(block, name_of(page), "exec"), names)
    pyplot.close("all")


# What a test machine may lack, and what takes its place.
STAND_INS = {
    '"scheduler:8786"': "processes=False, dashboard_address=None",
    '"s3://bucket/loans/"': '"loans/"',
    '"cuda"': '"cpu"',
}


class Postgres:
    """The part of a database driver that the page uses."""

    def connect(self, address):
        return nullcontext(SimpleNamespace(cursor=lambda: self))

    def execute(self, query):
        assert query.endswith("order by id")

    def fetch_record_batch(self):
        import pyarrow.parquet as pq

        return pq.ParquetFile("loans/all.parquet").iter_batches()


@pytest.mark.parametrize(
    ("name", "target", "needs"),
    [
        ("user_guide/scale.md", "default", ("dask", "distributed", "torch")),
        ("how_to/databases.md", "late", ("duckdb",)),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_blocks_for_other_machines_run_with_stand_ins(name, target, needs, tmp_path, monkeypatch):
    for module in ("pyarrow", *needs):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / name
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :22]
    Path("loans").mkdir()
    X.assign(**{target: y}).to_parquet("loans/all.parquet")
    driver = ModuleType("adbc_driver_postgresql.dbapi")
    driver.connect = Postgres().connect
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", ModuleType("adbc_driver_postgresql"))
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", driver)
    names = {name: getattr(safdr, name) for name in safdr.__all__} | {"X": X, "y": y}
    for needs_stand_ins, block in PYTHON.findall(page.read_text(encoding="utf-8")):
        if needs_stand_ins:
            for text, stand_in in STAND_INS.items():
                block = block.replace(text, stand_in)
            exec(compile(block, str(page), "exec"), names)
    if "client" in names:
        names["client"].close()


@pytest.mark.parametrize("script", sorted((ROOT / "examples").rglob("*.py")), ids=name_of)
def test_the_examples_run(script, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
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
