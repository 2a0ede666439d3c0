"""Rows on disk: whole or not there, damaged ones seen, settings never mixed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.errors import CorruptRowError, SettingsError
from experiments.store import Cell, RowStore, check_comparable, check_same_settings
from experiments.whole_files import STALE_SECONDS, remove_stale, write_whole

ROOT = Path(__file__).parents[2]
CELL = Cell("heart", "sa-fdr", 7)
SETTINGS = {"protocol": {"max_features": 30}, "method": {"tol": 1e-3}, "data": {"sha256": "ab"}}


@pytest.fixture
def store(tmp_path):
    store = RowStore(tmp_path)
    store.write(CELL, SETTINGS, {"auc": [0.5, 0.75]})
    return store


def test_a_row_comes_back_as_it_was_written(store):
    row = store.read(CELL)
    assert row["auc"] == [0.5, 0.75]
    assert row["settings"] == SETTINGS
    assert (row["data"], row["method"], row["repeat"]) == ("heart", "sa-fdr", 7)
    assert store.read_all() == ([row], [])


def test_a_cell_that_was_not_done_has_no_row(store):
    assert store.read(Cell("heart", "sa-fdr", 8)) is None


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_row_that_is_cut_short_is_reported_and_never_half_read(store, share):
    path = store.path(CELL)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(CorruptRowError, match=r"007\.json is damaged"):
        store.read(CELL)
    rows, problems = store.read_all()
    assert rows == []
    assert str(path) in problems[0]


def test_a_changed_number_is_seen_though_the_file_still_parses(store):
    path = store.path(CELL)
    envelope = json.loads(path.read_text())
    envelope["row"]["auc"][1] = 0.76
    path.write_text(json.dumps(envelope))
    with pytest.raises(CorruptRowError, match="damaged"):
        store.read(CELL)


@pytest.mark.parametrize(
    "other", [Cell("heart", "sa-fdr", 8), Cell("heart", "rfe", 7), Cell("ozone", "sa-fdr", 7)]
)
def test_a_row_in_the_file_of_another_cell_is_damaged(store, other):
    wrong = store.path(other)
    wrong.parent.mkdir(parents=True, exist_ok=True)
    wrong.write_bytes(store.path(CELL).read_bytes())
    with pytest.raises(CorruptRowError, match="damaged"):
        store.read(other)
    rows, problems = store.read_all()
    assert [row["repeat"] for row in rows] == [7]
    assert [str(wrong) in problem for problem in problems] == [True]


@pytest.mark.parametrize("content", ["[]", "3", '{"row": {}}', "null"])
def test_a_file_of_something_else_is_a_damaged_row(store, content):
    store.path(CELL).write_text(content)
    with pytest.raises(CorruptRowError, match="damaged"):
        store.read(CELL)


@pytest.fixture
def packed(store):
    """Three rows of one method in one file."""
    for repeat in (10, 8):
        store.write(Cell("heart", "sa-fdr", repeat), SETTINGS, {"auc": [0.1 * repeat]})
    store.pack()
    return store


def files(store):
    return [path.name for path in store.folder.rglob("*") if path.is_file()]


def test_packed_rows_are_the_rows(store):
    store.write(Cell("heart", "rfe", 7), SETTINGS, {"auc": [0.5]})
    store.write(Cell("heart", "rfe", 9), SETTINGS, {"auc": [0.5]})
    before = store.read_all()
    store.pack()
    assert sorted(files(store)) == ["rfe.jsonl", "sa-fdr.jsonl"]
    assert store.read_all() == before
    assert store.read(CELL)["auc"] == [0.5, 0.75]
    assert store.read(Cell("heart", "sa-fdr", 8)) is None


def test_a_row_in_its_own_file_is_newer_than_a_packed_one(packed):
    packed.write(CELL, SETTINGS, {"auc": [0.25]})
    assert packed.read(CELL)["auc"] == [0.25]
    rows = packed.read_all()[0]
    assert [row["repeat"] for row in rows] == [7, 8, 10]
    assert rows[0]["auc"] == [0.25]
    packed.pack()
    assert packed.read_all() == (rows, [])
    assert files(packed) == ["sa-fdr.jsonl"]


def test_a_damaged_line_is_reported_and_the_others_stay(packed):
    path = packed.packed_path("heart", "sa-fdr")
    path.write_text(path.read_text().replace("0.75", "0.76"))
    rows, problems = packed.read_all()
    assert [row["repeat"] for row in rows] == [8, 10]
    assert problems[0].startswith(f"Line 1 of {path} is damaged")
    assert packed.read(CELL) is None


def test_packing_leaves_a_damaged_file_where_it_is(packed):
    packed.path(CELL).parent.mkdir()
    packed.path(CELL).write_text("{")
    packed.pack()
    assert sorted(files(packed)) == ["007.json", "sa-fdr.jsonl"]


def test_removed_rows_are_gone_from_packed_files(packed):
    packed.remove(["heart"], ["sa-fdr"])
    assert packed.read_all() == ([], [])


def test_other_settings_are_named(store):
    other = {**SETTINGS, "protocol": {"max_features": 10}}
    with pytest.raises(SettingsError, match=r"protocol\.max_features 30 there, 10 here") as caught:
        check_same_settings(store.path(CELL), store.read(CELL), other)
    assert "--out" in str(caught.value)


def test_equal_settings_pass(store):
    check_same_settings(store.path(CELL), store.read(CELL), SETTINGS)


@pytest.mark.parametrize(
    ("cell", "change", "ok"),
    [
        (("heart", "rfe", 0), {}, True),
        (("heart", "rfe", 0), {"protocol": {"max_features": 4}}, False),
        (("cancer", "sa-fdr", 0), {"protocol": {"max_features": 4}}, True),
        (("heart", "rfe", 0), {"data": {"sha256": "1"}}, False),
        (("cancer", "sa-fdr", 0), {"data": {"sha256": "1"}}, True),
        (("cancer", "sa-fdr", 0), {"method": {"tol": 1}}, False),
        (("heart", "rfe", 0), {"method": {"tol": 1}}, True),
    ],
)
def test_rows_in_one_table_share_protocol_data_and_method(make_row, cell, change, ok):
    rows = [make_row("heart", "sa-fdr", 0, 1, 0.5), make_row(*cell, 1, 0.5, **change)]
    if ok:
        check_comparable(rows)
    else:
        with pytest.raises(SettingsError, match="different settings"):
            check_comparable(rows)


def test_a_kill_before_the_rename_leaves_the_old_file_and_no_row_of_the_new(store):
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from experiments.whole_files import write_whole\n"
        "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_whole(Path(sys.argv[1]), b'new')\n"
    )
    path = store.path(CELL)
    before = path.read_bytes()
    killed = subprocess.run([sys.executable, "-c", script, str(path)], check=False, cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert len(list(path.parent.glob(".*.tmp"))) == 1
    assert len(store.read_all()[0]) == 1


def test_a_file_is_written_in_new_folders_and_through_links(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "far" / "row.json")
    write_whole(tmp_path / "far" / "row.json", b"old")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "row.json").read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["far", "link", "row.json"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "row.json"
    path.write_bytes(b"old")

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def leftover(path, age):
    """An empty file, so many seconds old."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (0, path.stat().st_mtime - age))
    return path


def test_only_old_leftovers_of_rows_are_removed(tmp_path):
    rows, old = tmp_path / "rows" / "heart" / "rfe", STALE_SECONDS + 1
    gone = leftover(rows / ".000.json.1.tmp", old)
    kept = [
        leftover(rows / ".001.json.2.tmp", 0),
        leftover(rows / ".000.json.bak", old),
        leftover(rows / ".notes.1.tmp", old),
        leftover(rows / "000.json.1.tmp", old),
        leftover(tmp_path / ".table.json.1.tmp", old),
        leftover(tmp_path / "figures" / ".000.json.1.tmp", old),
    ]
    RowStore(tmp_path).clean_up()
    assert not gone.exists()
    assert all(path.exists() for path in kept)


def test_a_leftover_that_another_run_removes_meanwhile_is_no_error(tmp_path, monkeypatch):
    aside = leftover(tmp_path / ".000.json.1.tmp", STALE_SECONDS + 1)
    stat = Path.stat

    def stat_then_lose(path, **options):
        found = stat(path, **options)
        path.unlink()
        return found

    listed = [aside]
    monkeypatch.setattr(Path, "rglob", lambda *_: iter(listed))
    monkeypatch.setattr(Path, "stat", stat_then_lose)
    remove_stale(tmp_path, ".json")
    remove_stale(tmp_path, ".json")
