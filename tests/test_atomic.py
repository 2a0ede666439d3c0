"""Files are whole or not there; links, devices and permissions stay what they are."""

import errno
import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from safdr._atomic import place_of, write_all_atomically, write_atomically

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about links, modes and pipes")


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def fail_with(number):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number), "a file that nobody asked for")

    return fail


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


@pytest.fixture
def device(tmp_path):
    """A device by its number; root, who could replace those of the system, gets one of its own."""

    def make(name, number):
        if os.geteuid() != 0:
            return Path("/dev") / name
        path = tmp_path / name
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, number))
            path.open("wb").close()
        except OSError:
            pytest.skip("no devices may be made here")
        return path

    if sys.platform != "linux":
        pytest.skip("numbers of Linux")
    return make


# ---- What is there stays what it is -------------------------------------------------------------


def test_a_new_file_gets_the_mode_of_the_umask(tmp_path, umask):
    write_atomically(tmp_path / "new", b"text")
    assert mode_of(tmp_path / "new") == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o666, 0o444, 0o755])
def test_a_file_keeps_its_mode(tmp_path, umask, mode):
    path = tmp_path / "old"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert (mode_of(path), path.read_bytes()) == (mode, b"new")


def test_a_private_file_is_never_open_to_others_on_its_way(tmp_path, monkeypatch):
    path, seen = tmp_path / "old", []
    path.touch(0o600)
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda f: (seen.append(os.fstat(f).st_mode), sync(f)))
    write_atomically(path, b"new")
    assert stat.S_IMODE(seen[0]) == 0o600


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root alone may give")
def test_a_file_keeps_its_owner(tmp_path):
    path = tmp_path / "old"
    path.touch(0o640)
    os.chown(path, 1234, 5678)
    write_atomically(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid, mode_of(path)) == (1234, 5678, 0o640)


def test_an_owner_that_can_not_be_kept_is_no_error(tmp_path, monkeypatch):
    path = tmp_path / "old"
    path.touch(0o640)
    monkeypatch.setattr(os, "chown", fail_with(errno.EPERM))
    write_atomically(path, b"new")
    assert (mode_of(path), path.read_bytes()) == (0o640, b"new")


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_its_target_is_written(tmp_path, is_there):
    folder, target = tmp_path / "links", tmp_path / "data" / "target"
    folder.mkdir()
    target.parent.mkdir()
    if is_there:
        target.touch(0o600)
    (folder / "near").symlink_to("far")
    (folder / "far").symlink_to("../data/target")
    write_atomically(folder / "near", b"new")
    assert os.readlink(folder / "near") == "far"
    assert os.readlink(folder / "far") == "../data/target"
    assert target.read_bytes() == b"new"
    assert [each.name for each in target.parent.iterdir()] == ["target"]
    assert not is_there or mode_of(target) == 0o600


def test_a_link_to_itself_is_an_error_that_names_it(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match=r"loop' can't be written: .*symbolic links"):
        write_atomically(tmp_path / "loop", b"new")


# ---- Streams ------------------------------------------------------------------------------------


def test_a_device_stays_a_device(device):
    null = device("null", 3)
    before = null.stat()
    write_atomically(null, b"nothing")
    assert (null.stat().st_ino, null.stat().st_mode) == (before.st_ino, before.st_mode)


def test_a_pipe_passes_everything_on(tmp_path):
    path, got = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    content = bytes(range(256)) * 2000  # more than a pipe holds at a time
    write_atomically(path, content)
    reader.join(10)
    assert got == [content]
    assert stat.S_ISFIFO(path.stat().st_mode)


WRITE_BETWEEN = """
import sys
from pathlib import Path
from safdr._atomic import write_atomically
print("before", flush=True)
write_atomically(Path(sys.argv[1]), b"between\\n")
print("after", flush=True)
"""


@pytest.mark.parametrize("name", ["/dev/fd/1", "/proc/self/fd/1", "link"])
@pytest.mark.parametrize("into", ["pipe", "file"])
def test_standard_output_is_written_in_turn(tmp_path, name, into):
    if not Path(name).exists() and name != "link":
        pytest.skip(f"no {name} here")
    (tmp_path / "link").symlink_to("/dev/fd/1")  # as /dev/stdout is
    with (tmp_path / "out").open("w+b") as out:
        before = os.fstat(out.fileno()).st_ino
        done = subprocess.run(
            [sys.executable, "-c", WRITE_BETWEEN, name],
            cwd=tmp_path,
            stdout=out if into == "file" else subprocess.PIPE,
            check=True,
        )
    text = (tmp_path / "out").read_bytes() if into == "file" else done.stdout
    assert text == b"before\nbetween\nafter\n"
    assert (tmp_path / "out").stat().st_ino == before
    assert (tmp_path / "link").is_symlink()


def test_a_full_device_is_named(device):
    with pytest.raises(OSError, match="full' can't be written: No space left on device"):
        write_atomically(device("full", 7), b"text")


def test_streams_are_told_from_files(tmp_path):
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    found = [place_of(tmp_path / name).is_stream for name in ("file", "pipe", "link", "none")]
    assert found == [False, True, True, False]


def test_a_process_that_was_forked_has_its_own_open_files(tmp_path):
    script = "import os\nif os.fork():\n    os.wait()\n    os._exit(0)\n" + WRITE_BETWEEN
    script = f"import safdr._atomic\n{script}"
    with (tmp_path / "out").open("w+b") as out:
        subprocess.run([sys.executable, "-c", script, "/proc/self/fd/1"], stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"before\nbetween\nafter\n"


def test_a_folder_that_leads_to_itself_is_an_error_that_names_the_file(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match=r"loop/page' can't be written: "):
        write_atomically(tmp_path / "loop" / "page", b"new")


# ---- Failures -----------------------------------------------------------------------------------


def test_a_failure_before_the_first_rename_leaves_all_as_it_was(tmp_path):
    old, folder = tmp_path / "old", tmp_path / "folder"
    old.write_bytes(b"old")
    folder.touch()  # a file in place of the folder that is needed
    with pytest.raises(OSError, match=r"page' can't be written: .* No file was written\.") as info:
        write_all_atomically({old: b"new", folder / "page": b"page"})
    assert isinstance(info.value, NotADirectoryError)
    assert old.read_bytes() == b"old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", "old"]


def test_a_failed_rename_tells_what_was_written_and_what_not(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in "abc"]
    rename = Path.replace

    def replace(aside, target):
        if target.name == "b":
            fail_with(errno.EBUSY)()
        return rename(aside, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(OSError, match="b' can't be written: Device or resource busy") as info:
        write_all_atomically(dict.fromkeys(paths, b"new"))
    written, left = re.search(r"Written: (.*)\. Not written: (.*)\.$", str(info.value)).groups()
    assert (written, left) == (repr(str(paths[0])), ", ".join(repr(str(p)) for p in paths[1:]))
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_a_stream_comes_after_the_files(tmp_path):
    with pytest.raises(
        OSError, match=r"'/dev/full' can't .* Written: .*page'\. Not written: '/dev"
    ):
        write_all_atomically({Path("/dev/full"): b"text", tmp_path / "page": b"page"})
    assert (tmp_path / "page").read_bytes() == b"page"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, number):
    path = tmp_path / "old"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", fail_with(number))
    with pytest.raises(OSError, match="can't be written") as info:
        write_atomically(path, b"new")
    assert str(info.value) == f"{str(path)!r} can't be written: {os.strerror(number)}."
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["old"]


LIMITED = """
import resource, signal, sys
from pathlib import Path
from safdr._atomic import write_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomically(Path(sys.argv[1]), b"x" * 100_000)
except OSError as error:
    print(error)
"""


def test_a_file_that_outgrows_its_limit_is_not_there(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, tmp_path / "big"], capture_output=True, text=True
    )
    assert done.stdout == f"{str(tmp_path / 'big')!r} can't be written: File too large.\n"
    assert not list(tmp_path.iterdir())


def test_a_stop_while_writing_leaves_nothing(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        write_all_atomically({tmp_path / "a": b"a", tmp_path / "b": b"b"})
    assert not list(tmp_path.iterdir())


def test_a_folder_is_named_before_anything_is_written(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder' can't be written: Is a directory\."):
        write_all_atomically({tmp_path / "page": b"page", tmp_path / "folder": b"new"})
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match=r"page' can't be written: Permission denied\."):
        write_atomically(tmp_path / "page", b"new")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc here")
def test_a_place_that_takes_no_files_is_named():
    with pytest.raises(OSError, match=r"'/proc/page' can't be written: "):
        write_atomically(Path("/proc/page"), b"new")


def test_the_longest_name_can_be_written_and_a_longer_one_is_named(tmp_path):
    longest = tmp_path / ("ü" * 122 + "x" * 6 + ".json")  # 255 bytes
    write_all_atomically({longest: b"1", longest.with_name("ö" + longest.name[1:]): b"2"})
    assert longest.read_bytes() == b"1"
    with pytest.raises(OSError, match=r"x' can't be written: File name too long\."):
        write_atomically(tmp_path / ("x" * 256), b"new")


def test_a_folder_that_can_not_be_read_is_no_error(tmp_path, monkeypatch):
    path, real = tmp_path / "page", os.open

    def refuse_folders(name, *args, **kwargs):
        if Path(name) == tmp_path:
            fail_with(errno.EACCES)()
        return real(name, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse_folders)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
