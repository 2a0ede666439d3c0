"""Files that a command writes are whole or not there, and keep their mode and their links."""

import errno
import os
import stat
import sys

import pytest

from helpers.cli import exit_code

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about links and modes")

NAMES = ("result.json", "page.html", "model.py", "model.sql")


@pytest.fixture
def folder(tmp_path):
    """A folder with an old file for each that is to be written."""
    folder = tmp_path / "written"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text(f"the old {name}")
    return folder


@pytest.fixture
def write_all(write, columns, folder):
    """Write all files, and give the code that the command ends with."""
    files = [part for name in NAMES for part in ("-o", folder / name)]
    table = ("select", write(columns), "-t", "late", "-k", 2)
    return lambda: exit_code(*table, *files, "--force")


def contents(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def failing(call, failure):
    """`os.fsync` that fails at a call."""
    sync, n_calls = os.fsync, []

    def fsync(file):
        n_calls.append(file)
        if len(n_calls) == call:
            raise failure
        sync(file)

    return fsync, n_calls


def test_all_files_are_written(write_all, folder):
    old = contents(folder)
    assert write_all() == 0
    new = contents(folder)
    assert new.keys() == old.keys()
    assert all(new[name] != old[name] for name in old)


@pytest.mark.parametrize("call", [1, 2, 4])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_full_disk_leaves_all_old_files_and_no_other(
    write_all, folder, call, number, monkeypatch, capfd
):
    old = contents(folder)
    fsync, n_calls = failing(call, OSError(number, os.strerror(number)))
    monkeypatch.setattr(os, "fsync", fsync)
    assert write_all() != 0
    assert len(n_calls) == call
    assert contents(folder) == old
    error = capfd.readouterr().err
    assert os.strerror(number) in error
    assert "Traceback" not in error


@pytest.mark.parametrize("call", [1, 4])
def test_a_stop_while_writing_leaves_all_old_files_and_no_other(
    write_all, folder, call, monkeypatch
):
    old = contents(folder)
    monkeypatch.setattr(os, "fsync", failing(call, KeyboardInterrupt())[0])
    assert write_all() == 130
    assert contents(folder) == old


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_file_keeps_its_mode_and_a_new_one_has_that_of_the_system(write_all, folder, mode):
    (folder / "page.html").chmod(mode)
    (folder / "model.py").unlink()
    before = os.umask(0o027)
    try:
        assert write_all() == 0
    finally:
        os.umask(before)
    modes = {name: stat.S_IMODE((folder / name).stat().st_mode) for name in NAMES}
    assert (modes["page.html"], modes["model.py"]) == (mode, 0o640)


def test_a_link_stays_and_its_target_is_written(write_all, folder, tmp_path):
    target = tmp_path / "elsewhere.html"
    (folder / "page.html").rename(target)
    (folder / "page.html").symlink_to(target)
    assert write_all() == 0
    assert (folder / "page.html").is_symlink()
    assert target.read_text(encoding="utf-8").startswith("<!")
    assert "the old" not in target.read_text(encoding="utf-8")
