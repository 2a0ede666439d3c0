"""Put one fault at a time into a copy of the tree, and report which tests catch it.

    python tests/faults.py                    # all faults of faults.toml; about half an hour
    python tests/faults.py screen encoder     # those whose names contain one of the words
    python tests/faults.py --folder /tmp/copy # keep the copy and the build for the next run

A fault replaces one text of a file. The tests of the fault are run until four of them fail. A
fault that changes no result has a reason why, and is not run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAX_FAILED = 4
# Runs at the start of every Python process of the tests: the installed package steps aside.
ASIDE = """import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
"""


def main() -> None:
    """Run the faults, and end with 1 if one is not caught."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="words in the names of faults")
    parser.add_argument("--folder", type=Path, help="folder of the copy, which stays")
    options = parser.parse_args()
    faults = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    chosen = {
        name: fault
        for name, fault in faults.items()
        if not options.words or any(word in name for word in options.words)
    }
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(options.folder or Path(folder))
        results = [report(name, fault, copy) for name, fault in chosen.items()]
    print(f"{results.count(True)} of {len(results)} faults are caught.")
    sys.exit(not all(results))


def report(name: str, fault: dict, copy: Copy) -> bool:
    """Run one fault and print what happened; return True if it is caught, or changes nothing."""
    if "equivalent" in fault:
        print(f"{name}: changes no result: {fault['equivalent']}", flush=True)
        return True
    start = time.perf_counter()
    try:
        put(fault, copy)
        failed = copy.failures(fault["tests"])
    finally:
        copy.repair(fault["file"])
    seconds = time.perf_counter() - start
    state = f"caught by {failed}{'+' * (failed >= MAX_FAILED)}" if failed else "NOT CAUGHT"
    print(f"{name}: {state}, {seconds:.0f} s", flush=True)
    return failed > 0


def put(fault: dict, copy: Copy) -> None:
    """Put a fault into the copy, and build the core again if it is in C++."""
    path = copy.folder / fault["file"]
    text = path.read_text(encoding="utf-8")
    if text.count(fault["old"]) != 1:
        raise SystemExit(f"{fault['file']} must have this text once: {fault['old']}")
    path.write_text(text.replace(fault["old"], fault["new"]), encoding="utf-8")
    if path.suffix != ".py":
        copy.build()


class Copy:
    """A copy of the tracked files, with its own core."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
        for name in filter(None, names.split("\0")):
            if (ROOT / name).exists() and not name.startswith("paper/"):
                self.restore(name)
        (self.folder / "sitecustomize.py").write_text(ASIDE)
        self.build()
        self._good = self._core.read_bytes()

    @property
    def _core(self) -> Path:
        """The compiled core that the tests import."""
        return self.folder / "src" / "safdr" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"

    def restore(self, name: str) -> None:
        """Copy one file of the tree, unless it is the same."""
        source, target = ROOT / name, self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copy(source, target)

    def repair(self, name: str) -> None:
        """Take a fault out."""
        self.restore(name)
        self._core.write_bytes(self._good)

    def build(self) -> None:
        """Build the core, of which ninja compiles what has changed."""
        bins = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        how = {"cwd": self.folder, "check": True, "env": os.environ | {"PATH": bins}}
        how |= {"stdout": subprocess.DEVNULL}
        if not (self.folder / "build" / "build.ninja").exists():
            python = f"-DPython_EXECUTABLE={sys.executable}"
            command = ["cmake", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", python, "-B", "build"]
            subprocess.run(command, **how)
        subprocess.run(["cmake", "--build", "build", "-j", "1"], **how)
        shutil.copy(self.folder / "build" / self._core.name, self._core)

    def failures(self, tests: list[str]) -> int:
        """Return the number of tests that fail, at most four."""
        paths = f"{self.folder}{os.pathsep}{self.folder / 'src'}"
        env = os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", f"--maxfail={MAX_FAILED}"]
        command += ["-p", "no:cacheprovider", *tests]
        run = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True)
        if run.returncode < 0:  # a crash
            return MAX_FAILED
        counts = re.findall(r"(\d+) (?:failed|error)", run.stdout)
        if run.returncode not in (0, 1, 2) or (run.returncode and not counts):
            raise SystemExit(run.stdout + run.stderr)
        return sum(map(int, counts))


if __name__ == "__main__":
    main()
