"""Every command of the pages runs, in the order of its page, beside small files."""

import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

import benchmarks.__main__
import experiments.__main__
from helpers.cli import safdr

__all__ = ["safdr"]

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(ROOT / folder / "README.md" for folder in ("tests", "benchmarks", "paper")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
PAGES = [page for page in PAGES if {"gallery", "generated"}.isdisjoint(page.parts)]
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```", re.S | re.M)
INLINE = re.compile(r"`((?:make|python -m|pip install) [^`]+)`")
# The table of this page has missing values, which stop the command.
STOPPED = {"docs/how_to/missing_values.md": 1}


def name_of(page):
    return str(page.relative_to(ROOT))


def commands_of(text):
    """Return the commands of a page in their order."""
    blocks = (block for language, block in BLOCK.findall(text) if not language)
    lines = (line for block in blocks for line in block.splitlines())
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def with_commands():
    """Return the pages that show commands."""
    return [page for page in PAGES if commands_of(page.read_text(encoding="utf-8"))]


def write_tables(missing):
    """Write the tables that the pages name: loans, by their columns, and tumours."""
    rng = np.random.default_rng(0)
    late = np.arange(240) % 2
    X = rng.normal(size=(240, 4)).round(3)
    loans = pd.DataFrame(X, columns=["income", "debt", "age", "amount"])
    loans["income"] -= late
    loans["debt"] += late
    if missing:
        loans.loc[::9, "age"] = None
    loans["late"] = np.where(late, "yes", "no")
    loans.to_csv("loans.csv", index=False)
    loans.to_parquet("loans.parquet")
    loans.rename(columns={"late": "benign"}).to_csv("tumours.csv", index=False)


def write_results(safdr):
    """Write the results of two earlier runs."""
    for name, seed in (("result.json", 0), ("old.json", 0), ("new.json", 1)):
        safdr("select", "loans.csv", "-t", "late", "-k", 2, "--seed", seed, "-o", name)


@pytest.mark.parametrize("page", with_commands(), ids=name_of)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_commands_of_a_page_run_in_order(page, tmp_path, monkeypatch, safdr):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    code = STOPPED.get(name_of(page), 0)
    write_tables(missing=bool(code))
    commands = commands_of(text)
    if any(word.endswith(".onnx") for command in commands for word in command):
        pytest.importorskip("onnx")
    if "result.json" in text and not any("result.json" in c for c in commands if "select" in c):
        write_results(safdr)
    elif "old.json" in text:
        write_results(safdr)
        Path("result.json").unlink()
    for command in commands:
        if command[0] == "safdr":
            safdr(*command[1:], code=code)
        elif command[0] == "duckdb":
            run_duckdb(*command[1:])
        else:
            check(command)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_commands_in_the_text_of_a_page_exist(page):
    for command in INLINE.findall(page.read_text(encoding="utf-8")):
        check(shlex.split(command))


def test_the_options_of_the_guide_are_those_of_the_command(safdr):
    pages = [ROOT / "README.md", *(ROOT / "docs" / "user_guide").glob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    assert named <= set(re.findall(r"--[a-z-]+", safdr("select", "--help").out)) | {"--help"}


def run_duckdb(flag, statement, file_flag, file):
    """Run what `duckdb -c STATEMENT -f FILE` runs."""
    assert (flag, file_flag) == ("-c", "-f")
    connection = pytest.importorskip("duckdb").connect()
    connection.execute(statement)
    rows = connection.execute(Path(file).read_text(encoding="utf-8")).fetchall()
    assert len(rows) == 240


def check(command):
    """Check that a command without a run has a target, a subcommand, an extra or a file."""
    match command:
        case ["make", *words]:
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            for word in words:
                name, is_variable, _ = word.partition("=")
                pattern = rf"^{name} \?=" if is_variable else rf"^{name}:|^# make {name} "
                assert re.search(pattern, makefile, re.M), word
        case ["pip", "install", *words]:
            project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
            extras = re.findall(r"\w+", words[-1].partition("[")[2])
            assert set(extras) <= set(project["optional-dependencies"]), command
        case ["python", "-m", "experiments", *words]:
            if words:
                experiments.__main__._parser().parse_args(words)
        case ["python", "-m", "benchmarks", *words]:
            known = {*benchmarks.__main__.NAMES, "NAME"}
            assert set(words) <= known, command
        case ["python", "-m", "fuzz", *_]:
            assert (ROOT / "fuzz" / "__main__.py").exists()
        case [program, *words]:
            # A program of the repository, or of its environment, and a path.
            assert program.startswith((".ci/", ".venv/bin/")), command
            assert program.startswith(".venv/") or (ROOT / program).exists(), command
            assert all((ROOT / word).exists() for word in words), command
