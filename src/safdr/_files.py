"""Write files atomically: write beside, flush to disk, rename."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file, so that a reader finds all of it or nothing, even after a crash."""
    write_all_atomically({path: content})


def write_all_atomically(contents: Mapping[Path, bytes]) -> None:
    """Write several files; all are on the disk before the first gets its name."""
    temporary: dict[Path, str] = {}
    try:
        for path, content in contents.items():
            if path.exists() and not path.is_file():  # a device or a pipe
                path.write_bytes(content)
            else:
                target = Path(os.path.realpath(path))  # a link stays
                temporary[target] = _write_beside(target, content)
        for target, name in temporary.items():
            os.replace(name, target)
    finally:
        for name in temporary.values():
            Path(name).unlink(missing_ok=True)


def _write_beside(target: Path, content: bytes) -> str:
    """Write the content of a file beside it, and return the temporary name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    name = str(target.with_name(f".{target.name[:40]}-{uuid4().hex}"))
    try:
        with open(name, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, name)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return name
