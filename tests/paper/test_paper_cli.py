"""The command line, from outside."""

import subprocess
import sys

import pytest

pytest.importorskip("cyclopts")
pytest.importorskip("rich")

QUICK = ["--data", "cancer", "--repeats", "1", "--max-features", "2"]


def safdr(*arguments, code=0):
    command = [sys.executable, "-c", "from safdr.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out")
    safdr("paper", "run", *QUICK, "--methods", "rfe,lasso", "--out", folder)
    return folder


def test_help_loads_nothing_heavy():
    script = (
        "import sys\n"
        "from safdr.cli.root import app\n"
        "app(sys.argv[1:], exit_on_error=False, result_action='return_value')\n"
        "heavy = {'numpy', 'sklearn', 'matplotlib', 'pyarrow', 'joblib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    for arguments in (["--help"], ["paper", "--help"], ["paper", "run", "--help"]):
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "paper" in done.stdout


def test_a_run_is_quiet_in_a_pipe(out):
    done = safdr("paper", "run", *QUICK, "--methods", "rfe,lasso", "--out", out)
    assert done.stdout == ""
    assert done.stderr == "2 cells were there, 0 done now.\n"


def test_other_settings_are_an_error_without_a_traceback(out):
    done = safdr(
        *("paper", "run", *QUICK, "--methods", "rfe", "--out", out, "--scale-by", "test"), code=1
    )
    assert "protocol.scale_by 'train' there, 'test' here" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_table_is_printed_and_kept(out):
    done = safdr("paper", "table", "--out", out)
    assert done.stdout.count("| Cancer | 569 | 30 |") == 2
    assert (out / "table.md").read_text() == done.stdout
    assert (out / "table.csv").read_text().startswith("data,method,repeats")
    assert (out / "table.tex").read_text().startswith(r"\begin{tabular}")


def test_a_damaged_row_is_named_and_left_out_of_the_table(out, tmp_path):
    copy = tmp_path / "rows" / "cancer"
    for method in ("rfe", "lasso"):
        (copy / method).mkdir(parents=True)
        row = (out / "rows" / "cancer" / method / "000.json").read_bytes()
        (copy / method / "000.json").write_bytes(row[: len(row) // 2] if method == "rfe" else row)
    done = safdr("paper", "table", "--out", tmp_path)
    assert done.stdout.count("| Cancer |") == 1
    assert "rfe/000.json is damaged" in done.stderr


def test_a_folder_without_rows_says_how_to_make_them(tmp_path):
    done = safdr("paper", "table", "--out", tmp_path, code=1)
    assert "safdr paper run --out" in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--data", "hart", "No data set is called 'hart'"),
        ("--methods", "sa", "No method is called 'sa'"),
    ],
)
def test_a_wrong_name_lists_the_right_ones(tmp_path, option, value, message):
    done = safdr("paper", "run", "--out", tmp_path, option, value, code=1)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_data_lists_what_is_there_and_how_to_get_the_rest(tmp_path):
    done = safdr("paper", "data", "--data-dir", tmp_path)
    lines = {line.split("│")[1].strip(): line for line in done.stdout.splitlines() if "│" in line}
    assert "there" in lines["cancer"]
    assert "missing" in lines["heart"]
