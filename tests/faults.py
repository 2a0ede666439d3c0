"""Put one fault at a time into a copy of the tree, and report which tests catch it.

    python tests/faults.py                    # all faults of faults.toml; about half an hour
    python tests/faults.py screen encoder     # those whose names contain one of the words
    python tests/faults.py --folder COPY # keep the copy and its build for the next run

A fault replaces one text of a file. Its tests run until four of them fail.
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
from importlib.util import find_spec
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
    names = [n for n in faults if not options.words or any(word in n for word in options.words)]
    with tempfile.TemporaryDirectory() as folder:
        compiled = any(not faults[name]["file"].endswith(".py") for name in names)
        copy = Copy(options.folder or Path(folder), compiled)
        n_caught = sum(is_caught(name, faults[name], copy) for name in names)
    print(f"{n_caught} of {len(names)} faults are caught.")
    sys.exit(n_caught < len(names))


def is_caught(name: str, fault: dict, copy: Copy) -> bool:
    """Run one fault and print what happened."""
    start = time.perf_counter()
    if not copy.put(fault):
        print(f"{name}: TEXT NOT FOUND in {fault['file']}", flush=True)
        return False
    n_failed = copy.failures(fault["tests"])
    copy.repair(fault)
    state = f"caught by {n_failed}{'+' * (n_failed >= MAX_FAILED)}" if n_failed else "NOT CAUGHT"
    print(f"{name}: {state}, {time.perf_counter() - start:.0f} s", flush=True)
    return n_failed > 0


class Copy:
    """A copy of the tracked files, with the installed core or its own."""

    def __init__(self, folder: Path, compiled: bool) -> None:
        self.folder = folder.resolve()
        self._core = self.folder / f"src/safdr/_core{sysconfig.get_config_var('EXT_SUFFIX')}"
        names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
        for name in filter(None, names.split("\0")):
            if (ROOT / name).exists() and not name.startswith("paper/"):
                self._copy(name)
        (self.folder / "sitecustomize.py").write_text(ASIDE)
        if compiled:
            self._build()
        else:
            shutil.copy(find_spec("safdr._core").origin, self._core)
        self._good = self._core.read_bytes()

    def put(self, fault: dict) -> bool:
        """Put a fault into the copy, and build a core in C++; False if its text is not there."""
        path = self.folder / fault["file"]
        text = path.read_text(encoding="utf-8")
        if text.count(fault["old"]) != 1:
            return False
        self._text = text
        path.write_text(text.replace(fault["old"], fault["new"]), encoding="utf-8")
        if path.suffix != ".py":
            self._build()
        return True

    def repair(self, fault: dict) -> None:
        """Take a fault out."""
        (self.folder / fault["file"]).write_text(self._text, encoding="utf-8")
        self._core.write_bytes(self._good)

    def failures(self, tests: list[str]) -> int:
        """Return the number of tests that fail, at most four; a crash counts as four."""
        paths = f"{self.folder}{os.pathsep}{self.folder / 'src'}"
        env = os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", f"--maxfail={MAX_FAILED}"]
        run = subprocess.run([*command, *tests], cwd=self.folder, env=env, stdout=subprocess.PIPE)
        if run.returncode < 0:
            return MAX_FAILED
        output = run.stdout.decode()
        n_failed = sum(map(int, re.findall(r"(\d+) (?:failed|error)", output)))
        if run.returncode > 2 or bool(run.returncode) != bool(n_failed):
            raise SystemExit(output)
        return n_failed

    def _copy(self, name: str) -> None:
        """Copy one file of the tree, unless it is the same."""
        source, target = ROOT / name, self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copy(source, target)

    def _build(self) -> None:
        """Build the core: ninja compiles what has changed."""
        build = self.folder / "build"
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        how = {"check": True, "env": os.environ | {"PATH": path}, "stdout": subprocess.DEVNULL}
        if not (build / "build.ninja").exists():
            types = ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]
            command = ["cmake", "-G", "Ninja", *types, "-S", self.folder, "-B", build]
            subprocess.run(command, **how)
        subprocess.run(["cmake", "--build", build, "-j", "1"], **how)
        shutil.copy(build / self._core.name, self._core)


if __name__ == "__main__":
    main()
