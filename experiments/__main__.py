"""The paper's experiments: python -m experiments COMMAND, from the clone."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

UCI_SETS = "heart,cancer,ozone,spambase,student,bankruptcy,card_default,madelon"
# Small enough to repeat often, and different enough to tell.
ABLATION_SETS = "heart,cancer,ozone,spambase,student,bankruptcy"

ABOUT = {
    "run": "Do the cells (data, method, repeat) that are missing; stop and go on at any moment.",
    "table": "Print our table beside the paper's, and where its claims hold on our rows. The table "
    "is kept as table.md, table.csv and table.tex; the claims as claims.md.",
    "figures": "Draw Figure 1 (the search on Heart) and Figure 2 (curves against k), as SVG and "
    "PNG.",
    "data": "List the data sets: which are there, and how to get the others.",
    "ablation": "Run SA-FDR with other batch settings, and compare it with the defaults in pairs. "
    "The rows go where those of run go; the comparison to ablation.md and ablation.csv. The "
    "validation rows of the folds decide; the test part is shown for information only.",
    "equal": "Compare subsets of equal size: the default recipe with and without its screen, the "
    "method as published (paper), Fisher's ratio with C = 1 (fisher), and five other methods. All "
    "are refitted alike and scored on test rows. Does the cells that are missing, "
    "then writes equal.md and equal.csv.",
    "other": "The same for more than two classes and a measured output, on three small sets: "
    "recipe, unscreened, paper, forward selection and ANOVA. Writes other.md.",
    "regression": "Compare subsets of equal size by R² on test rows: the recipe, the search "
    "without its screen, Lasso, forward selection and abess. Writes regression.md.",
    "simulations": "Run the simulations of Hastie, Tibshirani and Tibshirani (2020): relative test "
    "error by signal-to-noise ratio. Writes simulations.md and simulations.csv.",
    "probabilities": "Compare the loss on test rows with the calibration slope and without, on the "
    "sets of equal and other. Does the cells that are missing, then writes probabilities.md.",
    "pack": "Merge the rows of each data set and method into one file, to be kept.",
}


def main(words: Sequence[str] | None = None) -> None:
    """Run one command; what the user can mend is told without a traceback."""
    options = _parser().parse_args(words)
    # Only now: --help needs none of the heavy packages.
    from experiments import commands
    from experiments.errors import PaperError

    # As Ctrl-C, through whatever must be cleaned up, with the code that shells give.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        getattr(commands, options.command)(options)
        sys.stdout.flush()
    except PaperError as error:
        print(f"experiments: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("Stopped. Finished cells are kept; the same command goes on.", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader, such as head, has seen enough. What is left to flush must go somewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_options = {
        "run": _add_run,
        "table": _add_out,
        "figures": _add_figures,
        "data": _add_data,
        "ablation": _add_ablation,
        "equal": _add_equal,
        "other": _add_other,
        "regression": _add_regression,
        "simulations": _add_simulations,
        "probabilities": _add_probabilities,
        "pack": _add_out,
    }
    for name, add in add_options.items():
        about = ABOUT[name]
        add(commands.add_parser(name, help=about, description=about, allow_abbrev=False))
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    about = f'names of data sets; "small" for the small ones that are there; else {UCI_SETS}'
    _add_names(parser, "--data", UCI_SETS, about)
    about = (
        "of sa-fdr, rfe, lasso, abess and recipe; else the first three. SA-FDR with other settings "
        "is written as sa-fdr+n_batches=10+batch_draw=proposal"
    )
    _add_names(parser, "--methods", "sa-fdr,rfe,lasso", about)
    _add_protocol(parser)


def _add_figures(parser: argparse.ArgumentParser) -> None:
    _add_names(parser, "--data", None, "data sets of Figure 2; else all that have rows")
    _add_out(parser)
    _add_data_dir(parser)


def _add_data(parser: argparse.ArgumentParser) -> None:
    about = 'names of data sets to download first; "all" for all that can be'
    _add_names(parser, "--fetch", None, about)
    _add_data_dir(parser)


def _add_ablation(parser: argparse.ArgumentParser) -> None:
    _add_names(parser, "--data", ABLATION_SETS, f"names of data sets; else {ABLATION_SETS}")
    _add_protocol(parser)


def _add_equal(parser: argparse.ArgumentParser) -> None:
    _add_names(parser, "--data", None, "names of data sets; else all that are there")
    _add_splits(parser, "recipe, unscreened, paper, fisher, rfe, lasso, abess, forward, anova")
    parser.add_argument("--table", action="store_true", help="no cells: only write the table")
    _add_out(parser, Path("paper/equal"))
    _add_data_dir(parser)


def _add_other(parser: argparse.ArgumentParser) -> None:
    _add_names(parser, "--data", None, "of wine, digits, diabetes; else all")
    _add_splits(parser, "recipe, unscreened, paper, forward, anova")
    _add_out(parser, Path("paper/equal/other"))


def _add_regression(parser: argparse.ArgumentParser) -> None:
    _add_names(parser, "--data", None, "names of data sets, such as diabetes; else all")
    _add_splits(parser, "recipe, without-screen, unscreened, lasso, forward, abess")
    _add_out(parser, Path("paper/equal/regression"))


def _add_simulations(parser: argparse.ArgumentParser) -> None:
    _add_names(parser, "--data", None, "of low, medium, high-5, high-10; else all")
    methods = "recipe, scaled, without-screen, unscreened, lasso, relaxed, forward"
    _add_splits(parser, methods, repeats=10)
    _add_out(parser, Path("paper/simulations"))


def _add_probabilities(parser: argparse.ArgumentParser) -> None:
    _add_names(parser, "--data", None, "names of data sets; else all that are there")
    _add_repeats(parser, 6)
    _add_out(parser, Path("paper/probabilities"))
    _add_data_dir(parser)


def _add_splits(parser: argparse.ArgumentParser, methods: str, repeats: int = 20) -> None:
    _add_names(parser, "--method", None, f"of {methods}; else all")
    _add_repeats(parser, repeats)


def _add_repeats(parser: argparse.ArgumentParser, default: int) -> None:
    about = f"splits of each data set; else {default}"
    parser.add_argument("--repeats", type=_count, default=default, help=about)
    about = "number of the first split; else 0. What is decided on some splits is proved on others"
    parser.add_argument("--first", type=_position, default=0, help=about)
    parser.add_argument(
        "--again", action="store_true", help="remove the rows of these data and methods first"
    )
    parser.add_argument("--jobs", type=_count, default=1, help="cells done at the same time")


def _add_names(
    parser: argparse.ArgumentParser, option: str, default: str | None, about: str
) -> None:
    names = [] if default is None else _names(default)
    about = f"{about} (separated by commas)"
    parser.add_argument(option, type=_names, default=names, metavar="NAMES", help=about)


def _add_protocol(parser: argparse.ArgumentParser) -> None:
    """What all commands that run cells ask for."""
    parser.add_argument(
        "--repeats", type=_count, default=20, help="of each data set and method; else 20"
    )
    parser.add_argument("--jobs", type=_count, default=1, help="cells done at the same time")
    _add_out(parser)
    _add_data_dir(parser)
    parser.add_argument("--max-features", type=_count, default=30, help="largest size; else 30")
    parser.add_argument(
        "--scale-by",
        choices=["train", "test"],
        default="train",
        help="rows that standardise, else train; the paper took the test part",
    )


def _add_out(parser: argparse.ArgumentParser, default: Path = Path("paper")) -> None:
    about = f"folder of rows, tables and figures; else {default}"
    parser.add_argument("--out", type=Path, default=default, help=about)


def _add_data_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data-dir", type=Path, help="folder of the data; else $SAFDR_DATA, else a cache folder"
    )


def _names(text: str) -> list[str]:
    """Each name once, in order."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise argparse.ArgumentTypeError(
            f"must name at least one, separated by commas; got {text!r}"
        )
    return names


def _count(text: str) -> int:
    return _whole_number(text, 1)


def _position(text: str) -> int:
    return _whole_number(text, 0)


def _whole_number(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}; got {text}")
    return value


if __name__ == "__main__":
    main()
