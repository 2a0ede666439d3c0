"""Files with results: where they may go, and what becomes of what is there."""

import json
import os
import stat
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")
unix = pytest.mark.skipif(sys.platform == "win32", reason="about links, modes and pipes")


@pytest.fixture
def table(write, columns):
    return write(columns)


@pytest.fixture
def ask(select, table):
    """Run a search of one size."""
    return lambda *options, code=0: select(table, "-t", "late", "-k", 1, *options, code=code)


def test_features_no_better_than_chance_have_their_page(safdr, write, tmp_path):
    rng = np.random.default_rng(0)
    columns = {f"x{i}": rng.normal(size=120).tolist() for i in range(5)}
    path = write(columns | {"y": rng.integers(0, 2, 120).tolist()})
    for k in range(1, 6):
        page = tmp_path / f"{k}.html"
        safdr("select", path, "-t", "y", "-k", k, "--report", page)
        assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert "5 features together could not be shown to predict" in page.read_text(encoding="utf-8")


# ---- What is there ------------------------------------------------------------------------------


@unix
def test_force_keeps_the_mode_and_the_link(ask, tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.touch(0o600)
    link.symlink_to("target.json")
    assert "is already there" in ask("--out", link, code=2).err
    ask("--out", link, "--force")
    assert link.is_symlink()
    assert json.loads(target.read_text())["features"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@unix
def test_a_link_to_nothing_makes_its_target(ask, tmp_path):
    (tmp_path / "link.json").symlink_to("target.json")
    ask("--out", tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "target.json").read_text())["features"]


@unix
def test_a_pipe_needs_no_force_and_stays(ask, tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    ask("--out", pipe)
    reader.join(10)
    assert json.loads(got[0])["features"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@contextmanager
def standard_output(descriptor, monkeypatch):
    """What this process writes goes there."""
    kept = os.dup(1)
    os.dup2(descriptor, 1)
    try:
        with monkeypatch.context() as patch, os.fdopen(1, "w", closefd=False) as stdout:
            patch.setattr(sys, "stdout", stdout)
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@unix
@pytest.mark.parametrize("into", ["pipe", "file"])
def test_standard_output_takes_a_result(ended, table, tmp_path, monkeypatch, into):
    path = tmp_path / "out"
    reader, writer = os.pipe() if into == "pipe" else (path.touch(), os.open(path, os.O_RDWR))
    words = ["select", table, "-t", "late", "-k", 1]
    with standard_output(writer, monkeypatch):
        assert ended(*words, "--out", "/dev/fd/1") == 0
    os.close(writer)
    with path.open() if into == "file" else os.fdopen(reader) as out:
        text = out.read()
    result, rest = json.JSONDecoder().raw_decode(text)
    assert result["features"]
    assert "1 of 4 features tells" in text[rest:]


# ---- What is refused before the search ----------------------------------------------------------


@unix
def test_two_ways_to_one_file_are_refused(ask, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.json").symlink_to("r.json")
    for other in ("link.json", "folder/../r.json"):
        error = ask("--out", tmp_path / "r.json", "--report", tmp_path / other, code=2).err
        assert "each result needs its own file" in error


@unix
def test_a_link_to_the_table_is_the_table(ask, table, tmp_path):
    (tmp_path / "link.json").symlink_to(table.name)
    before = table.read_bytes()
    assert "is the table itself" in ask("--out", tmp_path / "link.json", "--force", code=2).err
    assert table.read_bytes() == before


@unix
def test_a_table_on_standard_input_is_not_replaced(select, table):
    before = table.read_bytes()
    own = os.dup(0)
    with table.open("rb") as source:
        os.dup2(source.fileno(), 0)
    try:
        refused = select("-", "-t", "late", "--force", "--out", table, code=2)
    finally:
        os.dup2(own, 0)
        os.close(own)
    assert "is the table itself" in refused.err
    assert table.read_bytes() == before


@unix
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x" * 256, "can't be written: File name too long"),
        ("a\0b", "can't be written: "),
        ("loop", "can't be written: Too many levels of symbolic links"),
        ("folder", "is a folder"),
        ("to_folder", "is a folder"),
        ("nowhere/r.json", "is in a folder that does not exist"),
        ("astray", "nowhere/r.json') is in a folder that does not exist"),
        ("file/r.json", "is in a folder that does not exist"),
    ],
)
def test_what_can_not_be_written_is_refused_at_once(ask, tmp_path, monkeypatch, name, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for link, target in (("loop", "loop"), ("to_folder", "folder"), ("astray", "nowhere/r.json")):
        (tmp_path / link).symlink_to(target)
    monkeypatch.setattr("safdr.cli.selecting.prepare_rows", None)
    ran = ask("--out", f"{tmp_path}/{name}", "--force", code=2)
    assert message in ran.err


@unix
def test_a_folder_without_permission_is_refused_at_once(ask, tmp_path, monkeypatch):
    # Root may write anywhere, whatever the mode says.
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    error = ask("--out", tmp_path / "r.json", code=2).err
    assert "is in a folder that you may not write to" in error


# ---- What fails all the same --------------------------------------------------------------------


def test_a_full_disk_leaves_all_as_it_was(ask, tmp_path, monkeypatch):
    out, page = tmp_path / "r.json", tmp_path / "r.html"
    out.write_text("old")
    left = [True, False]  # room for one

    def fill(_):
        if not left.pop(0):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fill)
    ran = ask("--out", out, "--report", page, "--force", code=1)
    assert (
        f"{str(out)!r} can't be written: No space left on device. No file was written." in ran.err
    )
    assert "Errno" not in ran.err
    assert "1 of 4 features tells" in ran.out  # the answer is not lost
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loans.parquet", "r.json"]
