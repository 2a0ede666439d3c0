"""Files are written as a whole or not at all, and keep links and modes."""

import os
import stat

import pytest

from helpers.engine import write_all_atomically, write_atomically


def test_files_are_replaced_and_keep_their_mode_and_links(tmp_path):
    target = tmp_path / "result.json"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert target.read_bytes() == b"new"
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    write_all_atomically({tmp_path / "a" / "b": b"1", tmp_path / "c": b"2"})
    assert (tmp_path / "a" / "b").read_bytes() == b"1"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c", "link", "result.json"]


def test_nothing_is_written_if_a_file_fails(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"old")
    calls = []

    def fsync(number):
        calls.append(number)
        if len(calls) == 2:
            raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="disk full"):
        write_all_atomically({first: b"new", second: b"new"})
    assert first.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["first"]
