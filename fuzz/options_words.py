"""A small good table, and options for it: some right, some wrong, some that depend on others."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

NUMBERS = ("a", "b", "c with space", "d,comma")
TEXTS = {"colour": ("red", "green", "blue"), "size": ("s", "l")}
COLUMNS = (*NUMBERS, *TEXTS)
TARGET = "y"

# By option: values that are right by themselves, and values that never are.
VALUES: dict[str, tuple[list[str], list[str]]] = {
    "--positive": (["yes", "no"], ["maybe", ""]),
    "--task": (["classification"], ["regression", "clusters", ""]),
    "--missing": (["drop-rows", "drop-columns", "median"], ["mean", ""]),
    "--test-size": (["0", "0.2", "0.5", "2e-1", "0.3"], ["1", "-0.1", "nan", "inf", "half", ""]),
    "-k": (["1", "2", "3"], ["0", "-1", "1.5", "", "100", "99999999999999999999", "nan"]),
    "--k-max": (["1", "2", "4", "6", "30", "1000"], ["0", "-3", "x", "2.5"]),
    "--rule": (["one_sd", "one_se", "tolerance", "best"], ["worst", ""]),
    "--tolerance": (["0", "0.005", "1"], ["-1", "nan", "inf", "x"]),
    "--seed": (["0", "7", "4294967295"], ["-1", "4294967296", "1e3.", "x"]),
    "--jobs": (["1", "2", "-1"], ["0", "x", "1.5", ""]),
    "--cost-strength": (["0", "0.1", "2"], ["-1", "nan", "inf", "x"]),
    "--class-weight": (["balanced"], ["unbalanced", ""]),
    "--drop": ([*COLUMNS], ["zzz", "", "y"]),
    "--id": ([*COLUMNS], ["zzz", ""]),
    "--keep": ([*COLUMNS], ["zzz", ""]),
    "--always-include": ([*COLUMNS, "colour = red"], ["zzz", "colour = pink", "y", ""]),
    "--never-include": ([*COLUMNS], ["zzz", "y", ""]),
    "--group": (["a,b", 'a,"d,comma"', "c with space,colour", "colour,size"], ["a", "", "a,zzz"]),
    "--at-most-one-of": (["a,b", "a,b,colour", "size,colour"], ["a", "", "a,a", "b,zzz", "a,y"]),
    "--cost": (
        ["a=1", "b=0.01", "colour=2", "d,comma=0", "size=-0.1"],
        ["a", "=1", "a=nan", "a=x"],
    ),
}
REPEATED = ("--drop", "--id", "--keep", "--always-include", "--never-include", "--group")
REPEATED += ("--at-most-one-of", "--cost", "--export")
# Options whose names the table knows.
NAMING = ("--always-include", "--never-include", "--group", "--at-most-one-of", "--cost", "-k")
RESULTS = (("--report", ".html"), ("--out", ".json"), ("--export", ".py"), ("--export", ".sql"))
FLAGS = ("--split-categories", "--as-published", "--force", "--json", "--quiet")
# Never given as words, or a search would take long.
QUICK = {"--k-max": "4"}
STRAY = ("--nope", "other.csv", "--k_max=", "-z", "--no-json", "")


@dataclass
class Asked:
    """Options, in order, and which of them are wrong."""

    options: list[tuple[str, str | None]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def values(self, name: str) -> list[str]:
        """All values of an option."""
        return [value for each, value in self.options if each == name and value is not None]

    def last(self, name: str) -> str | None:
        """The value of an option that may be given once."""
        return next(iter(self.values(name)), None)

    def has(self, flag: str) -> bool:
        """Whether a flag is set."""
        return (flag, None) in self.options

    def wrong_names_only(self) -> bool:
        """Whether the table has to be read to see what is wrong."""
        return all(each.split(" ")[0] in NAMING for each in self.wrong)

    def words(self) -> list[str]:
        """The command line."""
        return [word for pair in self.options for word in pair if word is not None]


def make_table(rng: np.random.Generator, folder: Path) -> tuple[Path, int]:
    """Numbers and texts, some of which tell the target; its path and number of rows."""
    n = int(rng.integers(40, 120))
    y = np.arange(n) % 2
    signal = rng.choice([0.0, 1.0, 4.0])
    columns = {
        name: (rng.normal(size=n) + (i < 2) * signal * y).round(3) for i, name in enumerate(NUMBERS)
    }
    columns |= {name: rng.choice(levels, n) for name, levels in TEXTS.items()}
    table = pa.table(columns | {TARGET: np.where(y, "yes", "no")})
    if rng.random() < 0.2:
        gaps = pa.array(columns["b"], mask=rng.random(n) < 0.1)
        table = table.set_column(table.column_names.index("b"), "b", gaps)
    if rng.random() < 0.5:
        path = folder / "table.csv"
        pa.csv.write_csv(table, path)
    else:
        path = folder / "table.parquet"
        pa.parquet.write_table(table, path)
    return path, n


def make_options(rng: np.random.Generator, folder: Path) -> Asked:
    """Some options, mostly right."""
    asked = Asked()
    p_wrong = rng.choice([0.0, 0.15])
    _add(asked, "--target", TARGET)
    for name, (right, wrong) in VALUES.items():
        if rng.random() < 0.15:
            n = int(rng.integers(1, 4)) if name in REPEATED else 1
            for value in rng.choice(right, min(n, len(right)), replace=False):
                _add(asked, name, str(value))
            if rng.random() < p_wrong:
                if name not in REPEATED:
                    asked.options.pop()
                _add(asked, name, str(rng.choice(wrong)), wrong=True)
    for name, value in QUICK.items():
        if asked.last(name) is None:
            _add(asked, name, value)
    for flag in FLAGS:
        if rng.random() < 0.3:
            _add(asked, flag, None)
    _add_files(rng, asked, folder, p_wrong)
    if rng.random() < p_wrong:
        _add(asked, str(rng.choice(STRAY)), None, wrong=True)
    rng.shuffle(asked.options)
    return asked


def _add(asked: Asked, name: str, value: str | None, *, wrong: bool = False) -> None:
    asked.options.append((name, value))
    if wrong:
        asked.wrong.append(f"{name} {value}")


GOOD_FILES = ("result", "result", "link", "null")
ANY_FILES = (*GOOD_FILES, "old", "folder", "missing", "twice")


def _add_files(rng: np.random.Generator, asked: Asked, folder: Path, p_wrong: float) -> None:
    """Files for results, in places of every kind."""
    (folder / "is_folder").mkdir()
    (folder / "to_new").symlink_to("linked.out")
    null = _null(folder)
    kinds = [*(ANY_FILES if rng.random() < 2 * p_wrong else GOOD_FILES)]
    if null is None:
        kinds = [each for each in kinds if each != "null"]
    for name, ending in RESULTS:
        if rng.random() < 0.4:
            # An export must have its ending, and a link serves one result.
            kind = "result" if name == "--export" and p_wrong == 0 else str(rng.choice(kinds))
            if kind == "link":
                kinds = [each for each in kinds if each != "link"]
            path = {
                "result": f"result{ending}",
                "old": f"old{ending}",
                "link": "to_new",
                "folder": "is_folder",
                "missing": f"no_folder/result{ending}",
                "null": null or "",
                "twice": "result.json",
            }[kind]
            if kind == "old" or (kind == "result" and asked.has("--force")):
                (folder / path).write_text("old")
            _add(asked, name, str(folder / path))


def _null(folder: Path) -> str | None:
    """A device that takes everything; root, who could lose that of the system, gets another."""
    if os.geteuid() != 0:
        return os.devnull
    try:
        os.mknod(folder / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        (folder / "null").open("wb").close()
    except OSError:
        return None  # devices may not be made or used here
    return "null"
