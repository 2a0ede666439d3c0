"""The command line: what it prints and how it ends."""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from experiments.__main__ import main

pytest.importorskip("rich")

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "experiments"]
QUICK = ["--data", "cancer", "--repeats", "1", "--max-features", "2"]


class Done(NamedTuple):
    """What a command printed."""

    stdout: str
    stderr: str


def run(*arguments, code=0, err=None):
    """Run a command in this process, as if it had one of its own."""
    out, err, ended = io.StringIO(), err or io.StringIO(), 0
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # It may be ignored where the tests run in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with chdir(ROOT), redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("default")
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            ended = end.code or 0
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    assert ended == code, err.getvalue()
    return Done(out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """A folder of rows, and what the run said that made them."""
    folder = tmp_path_factory.mktemp("out")
    return folder, run("run", *QUICK, "--methods", "rfe,lasso", "--out", folder)


@pytest.fixture
def out(first_run):
    return first_run[0]


def test_help_loads_nothing_heavy():
    commands = ["run", "table", "figures", "data", "ablation", "equal"]
    script = (
        "import sys\n"
        "from experiments.__main__ import main\n"
        "for words in [[], *([word] for word in sys.argv[1:])]:\n"
        "    try: main([*words, '--help'])\n"
        "    except SystemExit as end: assert not end.code\n"
        "heavy = {'numpy', 'sklearn', 'matplotlib', 'pyarrow', 'joblib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *commands],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    for command in ["", *commands]:
        assert f"usage: python -m experiments {command}".rstrip() in done.stdout


def test_a_run_in_a_pipe_tells_each_cell_and_the_time_left(first_run):
    first, second, last = first_run[1].stderr.splitlines()
    assert re.fullmatch(r"1/2 \| cancer, rfe, repeat 0 \| [\d.]+ s \| \d+:\d\d:\d\d left", first)
    assert second.startswith("2/2 | cancer, lasso, repeat 0 | ")
    assert second.endswith("| 0:00:00 left")
    assert last == "0 cells were there, 2 done now."


def test_small_is_the_small_sets_that_are_there(tmp_path):
    folders = ("--data-dir", tmp_path, "--out", tmp_path)
    done = run("run", *QUICK[2:], "--data", "small", "--methods", "rfe", *folders)
    left_out, cell, _ = done.stderr.splitlines()
    assert "not there: heart, ozone, spambase, student. To get them: python -m exp" in left_out
    assert cell.startswith("1/1 | cancer, rfe, repeat 0")


@pytest.mark.parametrize(
    ("number", "code", "says"),
    [(signal.SIGINT, 130, "Finished cells are kept"), (signal.SIGTERM, 143, "")],
)
def test_a_run_that_is_stopped_ends_with_the_code_of_its_signal(tmp_path, number, code, says):
    class SignalAfterALine(io.StringIO):
        """Sends the signal once a line is there, in the midst of the cell after it."""

        def write(self, text):
            if not self.getvalue():
                threading.Timer(0.02, os.kill, (os.getpid(), number)).start()
            return super().write(text)

    wishes = ("--methods", "rfe", "--repeats", "999", "--out", tmp_path)
    done = run("run", *QUICK, *wishes, code=code, err=SignalAfterALine())
    assert done.stderr.startswith("1/999")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob(".*"))


def test_a_run_with_nothing_to_do_is_quiet(out):
    done = run("run", *QUICK, "--methods", "rfe,lasso", "--out", out)
    assert done.stdout == ""
    assert done.stderr == "2 cells were there, 0 done now.\n"


def test_other_settings_are_an_error_without_a_traceback(out):
    done = run(*("run", *QUICK, "--methods", "rfe", "--out", out, "--scale-by", "test"), code=1)
    assert "protocol.scale_by 'train' there, 'test' here" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_table_is_printed_and_kept(out):
    done = run("table", "--out", out)
    assert done.stdout.count("| Cancer | 569 | 30 |") == 1
    assert done.stdout.startswith((out / "table.md").read_text())
    assert done.stdout.endswith((out / "claims.md").read_text())
    assert (out / "table.csv").read_text().startswith("data,method,repeats")
    assert (out / "table.tex").read_text().startswith(r"\begin{table}")


def test_a_damaged_row_is_named_and_left_out_of_the_table(out, tmp_path):
    copy = tmp_path / "rows" / "cancer"
    for method in ("rfe", "lasso"):
        (copy / method).mkdir(parents=True)
        row = (out / "rows" / "cancer" / method / "000.json").read_bytes()
        (copy / method / "000.json").write_bytes(row[: len(row) // 2] if method == "rfe" else row)
    done = run("table", "--out", tmp_path)
    assert done.stdout.count("| Cancer |") == 1
    assert "rfe/000.json is damaged" in done.stderr


def test_a_folder_without_rows_says_how_to_make_them(tmp_path):
    done = run("table", "--out", tmp_path, code=1)
    assert "python -m experiments run --out" in done.stderr
    done = run("equal", "--table", "--out", tmp_path, code=1)
    assert "python -m experiments equal --out" in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--data", "hart", "No data set is called 'hart'"),
        ("--data", ",", "--data: must name at least one"),
        ("--methods", "sa", "No method is called 'sa'"),
        ("--methods", "", "--methods: must name at least one"),
        ("--methods", "sa-fdr+n_replicas=0", "'n_replicas' parameter"),
        ("--jobs", "0", "--jobs: must be a whole number of at least 1; got 0"),
        ("--repeats", "-3", "--repeats: must be a whole number of at least 1; got -3"),
        ("--repeats", "few", "--repeats: must be a whole number of at least 1; got few"),
        ("--scale-by", "all", "--scale-by: invalid choice"),
        ("--rep", "3", "unrecognized arguments: --rep 3"),
        ("--max-features", "0", "--max-features: must be a whole number of at least 1; got 0"),
    ],
)
def test_a_wrong_option_says_what_is_right(tmp_path, option, value, message):
    done = run("run", "--out", tmp_path, option, value, code=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [("foo", "No data set is called 'foo'"), ("heart", "no rows of heart to draw")],
)
def test_figures_of_nothing_are_a_clear_error(out, name, message):
    code = 2 if name == "foo" else 1
    done = run("figures", "--out", out, "--data", name, code=code)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


EQUAL = ["--data", "Wine_1", "--repeats", "2"]


@pytest.fixture(scope="module")
def equal_rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("equal")
    run("equal", *EQUAL, "--method", "recipe,anova", "--out", folder)
    return folder


@pytest.fixture
def equal(equal_rows, tmp_path):
    """A copy of the rows and the page, to change at will."""
    return shutil.copytree(equal_rows, tmp_path, dirs_exist_ok=True)


def rows_in(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*.json")}


def test_equal_keeps_rows_goes_on_and_writes_its_page(equal):
    before = rows_in(equal)
    assert len(before) == 4
    done = run("equal", *EQUAL, "--method", "recipe,anova,forward", "--out", equal)
    assert "4 cells were there, 2 done now." in done.stderr
    assert before.items() <= rows_in(equal).items()
    assert done.stdout == (equal / "equal.md").read_text()
    assert done.stdout.startswith("# Methods at equal k")
    assert len((equal / "equal.csv").read_text().splitlines()) == 1 + 2 * 3 * 6 * 2


def test_equal_makes_a_method_anew_and_leaves_the_others(equal):
    before = rows_in(equal)
    done = run("equal", *EQUAL, "--method", "recipe", "--again", "--out", equal)
    assert "0 cells were there, 2 done now." in done.stderr
    changed = {path for path, content in rows_in(equal).items() if content != before[path]}
    # The seconds, at least.
    assert {path.parts[-2] for path in changed} == {"recipe"}


def test_the_page_of_equal_comes_from_the_rows_alone(equal):
    page = (equal / "equal.md").read_text()
    (equal / "equal.md").unlink()
    before = rows_in(equal)
    done = run("equal", "--table", "--out", equal)
    assert (done.stdout, done.stderr) == (page, "")
    assert rows_in(equal) == before


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--data", "hart", "No data set is called 'hart'. There are: heart, cancer"),
        (
            "--method",
            "sa-fdr",
            "No method is called 'sa-fdr'. There are: recipe, unscreened, paper",
        ),
        ("--first", "-1", "--first: must be a whole number of at least 0; got -1"),
    ],
)
def test_a_wrong_name_in_equal_says_what_there_is(tmp_path, option, value, message):
    words = {"--data": "wine_1", "--method": "recipe", "--out": str(tmp_path), option: value}
    done = run("equal", *(word for pair in words.items() for word in pair), code=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_equal_without_files_leaves_the_sets_that_need_them_out(tmp_path):
    from experiments import commands

    names = commands._there(tmp_path)
    assert "heart" not in names
    assert {"cancer", "wine_1", "wide_70x1000"} <= set(names)


def test_data_lists_what_is_there_and_how_to_get_the_rest(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"a": [1, 2, 3], "b": [1, 2, 3]}), tmp_path / "heart.parquet")
    (tmp_path / "madelon.parquet").write_bytes(b"PAR1 and no more")
    done = run("data", "--data-dir", tmp_path)
    lines = {line.split("│")[1].strip(): line for line in done.stdout.splitlines() if "│" in line}
    assert "there" in lines["cancer"]
    assert "3 × 2" in lines["heart"]
    assert "damaged" in lines["madelon"]
    assert "missing" in lines["ozone"]
    assert "loan_default_synthetic" in lines
    address = "https://archive.ics.uci.edu/static/public/172/ozone+level+detection.zip"
    assert f"  ozone: python -m experiments data --fetch ozone (from {address})\n" in done.stdout


def test_a_reader_that_has_seen_enough_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer) as closed:
        done = subprocess.run(
            [*COMMAND, "data"],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=ROOT,
        )
    assert (done.returncode, done.stderr) == (1, "")


def test_data_makes_and_loads_nothing(tmp_path, monkeypatch):
    from experiments import datasets

    def fail(*_):
        raise AssertionError("loaded")

    for name in ("load", "_checked", "read_table"):
        monkeypatch.setattr(datasets, name, fail)
    made = {name: each for name, each in datasets.DATASETS.items() if each.generate}
    assert made
    for name, each in made.items():
        monkeypatch.setitem(datasets.DATASETS, name, replace(each, generate=fail))
    assert "loan_default_synthetic" in run("data", "--data-dir", tmp_path).stdout
