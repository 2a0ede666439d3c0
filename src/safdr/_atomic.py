"""Files that are whole or not there: write aside, flush to disk, rename."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

TEMPORARY = ".tmp"
# Characters of a name that the temporary file has too: even of four bytes each they leave room for
# the rest within the 255 bytes of a name.
KEPT_OF_NAME = 40
# As many as Linux follows.
MOST_LINKS = 40


class Place(NamedTuple):
    """Where a path leads."""

    # Behind all links.
    path: Path
    # Whether content goes straight through: to a device, a pipe or a file that is open.
    is_stream: bool


def place_of(path: Path) -> Place:
    """Follow links to what would be written."""
    for _ in range(MOST_LINKS):
        path = Path(os.path.realpath(path.parent)) / path.name
        # An open file is a link too; to follow it would be to open it a second time.
        if _number_of(path) is not None:
            return Place(path, True)
        try:
            mode = os.lstat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return Place(path, False)
        if not stat.S_ISLNK(mode):
            return Place(path, not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)))
        path = path.parent / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a kill at any moment, meets all of it or nothing."""
    write_all_atomically({path: content})


def write_all_atomically(contents: Mapping[Path, bytes]) -> None:
    """Write files, of which all are whole on the disk before the first gets its name.

    A file that is there is replaced at once, and keeps its mode and, where permitted, its owner. A
    link stays, and its target is written. Devices and pipes, which can't be replaced, come last. An
    OSError names the file, and which of several were written.
    """
    places: dict[Path, Place] = {}
    asides: dict[Path, Path] = {}
    written: list[Path] = []
    try:
        for path, content in contents.items():
            places[path] = place_of(path)
            if not places[path].is_stream:
                asides[path] = _write_aside(places[path].path, content)
        for path, aside in asides.items():
            aside.replace(places[path].path)
            written.append(path)
        for path in [each for each in contents if each not in asides]:
            _write_through(places[path].path, contents[path])
            written.append(path)
    except OSError as error:
        raise type(error)(_failure(path, error, contents, written)) from error
    finally:
        for aside in asides.values():
            aside.unlink(missing_ok=True)
    for folder in {place.path.parent for place in places.values() if not place.is_stream}:
        _sync_folder(folder)


def _write_aside(target: Path, content: bytes) -> Path:
    """All of a file that is to be the target, beside it."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not target.parent.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
    ending = f".{os.getpid()}-{secrets.token_hex(4)}{TEMPORARY}"
    aside = target.with_name(f".{target.name[-KEPT_OF_NAME:]}{ending}")
    there = target.stat() if target.exists() else None
    # What is private is so from the start; the umask takes its part of what is new.
    mode = 0o666 if there is None else 0o600
    try:
        with open(aside, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if there is not None:
            _take_after(aside, there)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return aside


def _take_after(aside: Path, there: os.stat_result) -> None:
    """Give a file the owner, the group and the mode of another, as far as that is permitted."""
    for owner, group in ((there.st_uid, -1), (-1, there.st_gid)):
        with suppress(PermissionError, AttributeError):  # Windows has no owners
            os.chown(aside, owner, group)
    aside.chmod(stat.S_IMODE(there.st_mode))


def _write_through(target: Path, content: bytes) -> None:
    """Write to what can't be replaced."""
    number = _number_of(target)
    with open(target if number is None else os.dup(number), "wb") as stream:
        stream.write(content)


def _number_of(path: Path) -> int | None:
    """The number of a file that this process has open, as /dev/stdout; None for all others."""
    folders = ("/dev/fd", f"/proc/{os.getpid()}/fd")
    return int(path.name) if path.name.isdecimal() and str(path.parent) in folders else None


def _failure(path: Path, error: OSError, asked: Iterable[Path], written: list[Path]) -> str:
    """What could not be written, why, and what that means for the other files."""
    text = f"{str(path)!r} can't be written: {error.strerror or error}."
    left = [each for each in asked if each not in written]
    if written:
        return f"{text} Written: {_listed(written)}. Not written: {_listed(left)}."
    return f"{text} No file was written." if len(left) > 1 else text


def _listed(paths: Iterable[Path]) -> str:
    return ", ".join(repr(str(path)) for path in paths)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power cut, where the folder can be read."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
