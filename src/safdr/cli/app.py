"""The three commands and their options. Everything heavy is imported by the command."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from safdr import __version__
from safdr.cli.errors import UsageError
from safdr.table.errors import did_you_mean

ABOUT = """\
usage: safdr COMMAND ...
Select a small subset of features that predicts as well as many.

  safdr select loans.csv -t late                     how many features, and which
  safdr select loans.parquet -t late -k 5 -o report.html -o score.sql
  safdr select houses.csv -t price --prove 10 --stability 50
  safdr show result.json -o score.py                 export a result later, without the data
  safdr compare last_year.json this_year.json        features in and out, coefficients, scores

safdr COMMAND --help lists the options. safdr --version prints the version.
Exit codes: 0 done, 1 data error, 2 usage error, 130 interrupted, 143 terminated."""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """One line for each option, and no blank lines."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=29, width=100)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return f"{', '.join(action.option_strings)} {action.metavar or ''}".rstrip()

    def format_help(self) -> str:
        return super().format_help().replace("\n\n", "\n")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are exceptions."""

    def __init__(self, usage: str, about: str) -> None:
        how: dict[str, Any] = {"formatter_class": _Formatter, "allow_abbrev": False}
        super().__init__(usage=usage, description=about, add_help=False, **how)
        self.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        text = message.removeprefix("argument ")
        raise UsageError(f"{text[:1].upper()}{text[1:]}. --help lists the options.")

    def parse(self, given: Sequence[str]) -> argparse.Namespace:
        """Return the options of a command line without its command."""
        options, unknown = self.parse_known_args(given)
        if unknown:
            guess = did_you_mean(unknown[0].partition("=")[0], self._option_string_actions)
            self.error(f"unknown: {unknown[0]}.{guess}".rstrip("."))
        return options


def parse(given: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line."""
    command = given[0] if given else "--help"
    if command in ("-h", "--help", "--version"):
        print(__version__ if command == "--version" else ABOUT)
        raise SystemExit(0)
    if command not in COMMANDS:
        guess = did_you_mean(command, COMMANDS)
        raise UsageError(f"Unknown command: {command!r}.{guess} Commands: {', '.join(COMMANDS)}.")
    return COMMANDS[command]().parse(given[1:])


# ---- Values --------------------------------------------------------------------------------------


def _value(parse: Callable[[str], Any], is_valid: Callable[[Any], bool], wanted: str) -> Any:
    """Return a function that parses a text and refuses what is not valid."""

    def convert(text: str) -> Any:
        try:
            value = parse(text)
        except ValueError:
            value = None
        if value is None or not is_valid(value):
            raise argparse.ArgumentTypeError(f"use {wanted}; got {text!r}")
        return value

    return convert


def _sizes(text: str) -> int | tuple[int, int]:
    first, dash, last = text.partition("-")
    return (int(first), int(last)) if dash else int(first)


def _rule(text: str) -> str | float:
    return text if text in ("one_se", "one_sd", "best") else float(text)


SIZES = _value(
    _sizes,
    lambda k: 1 <= k[0] <= k[1] if isinstance(k, tuple) else k >= 1,
    "a number such as 5, or a range such as 1-20",
)
RULE = _value(
    _rule,
    lambda rule: isinstance(rule, str) or 0 <= rule < 1,
    "one_se, one_sd, best, or a loss of score such as 0.005",
)
POINTS = _value(
    lambda text: list(map(float, text.split(","))),
    lambda points: len(points) == 3 and points[0] != 0 and points[2] > 0,
    "points that double the odds, base points and their odds: 20,600,50",
)
SHARE = _value(float, lambda share: 0 <= share < 1, "a share from 0 to below 1")
SECONDS = _value(float, lambda seconds: 0 <= seconds < 1e9, "a number of seconds, such as 10")
HALVES = _value(int, lambda n: n >= 4 and n % 2 == 0, "an even number from 4 on, such as 50")
SEED = _value(int, lambda seed: 0 <= seed < 2**32, "a whole number from 0 on")
JOBS = _value(int, lambda n: n == -1 or n >= 1, "a number of processes, or -1 for all")


# ---- Commands ------------------------------------------------------------------------------------


LIST: dict[str, Any] = {"action": "append", "default": []}
FLAG: dict[str, Any] = {"action": "store_true"}


def _select() -> _Parser:
    parser = _Parser(
        "safdr select TABLE -t COLUMN [options]",
        "Select features of a table: CSV, Parquet (file or folder), Feather; - is standard input.\n"
        "COLUMNS and NAMES are separated by commas. Without TABLE: breast-cancer data.",
    )
    parser.add_argument("table", nargs="?", help=argparse.SUPPRESS)
    add = parser.add_argument_group("The table").add_argument
    add("-t", "--target", metavar="COLUMN", help="Predict this column: classes or numbers.")
    add("--positive", metavar="VALUE", help="Model this class (default: the last: 1, yes).")
    tasks = ["classification", "regression", "count", "amount", "survival"]
    add("--task", metavar="TASK", choices=tasks, help=f"Force {', '.join(tasks)}.")
    add("--exposure", metavar="COLUMN", help="Divide counts or amounts by this column.")
    add("--event", metavar="COLUMN", help="Read whether the survival time ends with an event.")
    add("--drop", metavar="COLUMNS", help="Leave out columns.", **LIST)
    add("--keep", metavar="COLUMNS", help="Use columns that look like identifiers.", **LIST)
    add("--categories", metavar="COLUMNS", help="Read values or codes as categories.", **LIST)
    add("--numbers", metavar="COLUMNS", help="Read text as numbers, such as € 5 or 9.1%%.", **LIST)
    add("--na", metavar="VALUE", help="Count VALUE, or COLUMN=VALUE, as missing.", **LIST)
    ways = ["drop-rows", "drop-columns", "median"]
    about = "Handle missing values: drop-rows, drop-columns or median."
    add("--missing", metavar="WAY", choices=ways, help=about)
    add = parser.add_argument_group("The test").add_argument
    share = "Hold out this share of the rows (default: 0.2)."
    add("--test-size", metavar="SHARE", type=SHARE, default=0.2, help=share)
    add("--test", metavar="FILE", help="Hold out the rows of another file instead.")
    add("--time", metavar="COLUMN", help="Hold out the latest rows by this date column.")
    add("--keep-together", metavar="COLUMN", help="Split whole groups of rows, such as customers.")
    add("--weight", metavar="COLUMN", help="Weight rows.")
    add("--by", metavar="COLUMNS", help="Report scores by segment.", **LIST)
    add = parser.add_argument_group("The search").add_argument
    add("-k", metavar="5|1-20", type=SIZES, help="Select 5, or 1 to 20 (default: 1-30) features.")
    rules = "Choose the size: one_se (default), one_sd, best, or a loss of score."
    add("--rule", metavar="RULE|0.005", type=RULE, help=rules)
    add("--as-published", help="Use the settings of the paper.", **FLAG)
    about = "Give all classes the same total weight, for rare events."
    add("--balanced", help=about, **FLAG)
    add("--prove", metavar="SECONDS", type=SECONDS, help="Prove that the subset is the best.")
    add("--stability", metavar="N", type=HALVES, help="Select again on N half-samples.")
    add("--seed", metavar="N", type=SEED, default=0, help="Set the seed (default: 0).")
    add("-j", "--jobs", metavar="N", type=JOBS, default=1, help="Use N processes; -1: all.")
    add = parser.add_argument_group("Constraints").add_argument
    add("--include", metavar="NAMES", help="Always select these features.", **LIST)
    add("--as-one", metavar="A,B", help="Select these together, as one feature.", **LIST)
    add("--at-most-one-of", metavar="A,B", help="Select at most one of these.", **LIST)
    add("--sign", metavar="NAME=+|-", help="Require the sign of a coefficient.", **LIST)
    add("--cost", metavar="NAME=2.5", help="Set the cost of a feature.", **LIST)
    _add_output(parser)
    return parser


def _add_output(parser: _Parser) -> None:
    add = parser.add_argument_group("Output").add_argument
    ends = "Write .json .html .py .sql .onnx .csv (scorecard); - is JSON; repeat."
    add("-o", metavar="FILE", dest="output", help=ends, **LIST)
    scale = "Add points: doubling the odds, base points, base odds (20,600,50)."
    add("--points", metavar="20,600,50", type=POINTS, help=scale)
    add("--force", help="Replace existing files.", **FLAG)
    add("-q", "--quiet", help="Print errors only.", **FLAG)
    add("--debug", help=argparse.SUPPRESS, **FLAG)


def _show() -> _Parser:
    parser = _Parser(
        "safdr show RESULT.json [options]", "Print a result, or export its model without the data."
    )
    parser.add_argument("result", type=Path, help=argparse.SUPPRESS)
    _add_output(parser)
    return parser


def _compare() -> _Parser:
    parser = _Parser(
        "safdr compare FIRST.json SECOND.json",
        "Compare two results: features in and out, coefficients, scores.",
    )
    for name in ("first", "second"):
        parser.add_argument(name, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--debug", help="Print the traceback of an error.", **FLAG)
    return parser


COMMANDS = {"select": _select, "show": _show, "compare": _compare}
