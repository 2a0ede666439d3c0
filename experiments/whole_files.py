"""Files that are whole or not there: written aside, flushed to the disk, renamed."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

# A row takes milliseconds to write, so a temporary file this old has lost its writer.
STALE_SECONDS = 3600.0


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a kill at any moment, meets all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Behind links, so that a rename keeps them.
    path = path.resolve()
    aside = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with open(aside, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def remove_stale(folder: Path, suffix: str) -> None:
    """Remove what killed writers of files with this suffix left behind, in all subfolders."""
    oldest = time.time() - STALE_SECONDS
    for aside in folder.rglob(f".*{suffix}.*.tmp"):
        # Another run may clean up, or rename its file, at the same moment.
        with suppress(FileNotFoundError):
            if aside.stat().st_mtime < oldest:
                aside.unlink()
