"""Files that are whole or not there: write aside, flush to disk, rename."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

TEMPORARY = ".tmp"
# A row takes milliseconds to write, so a temporary file this old has lost its writer.
STALE_SECONDS = 3600.0


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a kill at any moment, meets all of it or nothing.

    Parameters
    ----------
    path : Path
        Where it goes; a file that is there is replaced at once.
    content : bytes
        What goes in.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY}")
    try:
        with aside.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_stale(folder: Path, suffix: str) -> None:
    """Remove what killed writers left behind.

    Parameters
    ----------
    folder : Path
        Searched with all its subfolders.
    suffix : str
        Of the files that were to be written; leftovers of others stay.
    """
    oldest = time.time() - STALE_SECONDS
    for aside in folder.rglob(f".*{suffix}.*{TEMPORARY}"):
        # Another run may clean up, or rename its file, at the same moment.
        with suppress(FileNotFoundError):
            if aside.stat().st_mtime < oldest:
                aside.unlink()
