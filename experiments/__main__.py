"""The paper's experiments: python -m experiments COMMAND."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments.errors import ExperimentError

# All methods run one repeat of each in less than half a minute.
SMALL = ("heart", "cancer", "ozone", "spambase", "student")
SMALL_REPEATS = 3
TABLE_START, TABLE_END = "<!-- table -->", "<!-- /table -->"


def main() -> None:
    """Run one command; print a user's mistake without a traceback."""
    options = _parser().parse_args()
    try:
        options.command(options)
    except ExperimentError as error:
        sys.exit(f"experiments: {error}")
    except KeyboardInterrupt:
        sys.exit("Stopped. Finished rows are kept. Run the same command to go on.")


def run(options: argparse.Namespace) -> None:
    """Run the missing cells of an experiment."""
    from experiments.run import EXPERIMENTS, Key, Rows, made_with, missing, run_cells

    experiment = EXPERIMENTS[options.experiment]
    rows = Rows(options.out, experiment.name)

    def wanted(key: Key) -> bool:
        return (
            (not options.data or key[0] in options.data)
            and (not options.methods or key[1] in options.methods)
            and (options.repeats is None or key[2] - experiment.first_repeat < options.repeats)
        )

    if options.again:
        code = made_with()["code"]
        older = {k for k, row in rows.read().items() if row.get("made", {}).get("code") != code}
        rows.pack(forget=filter(wanted, older))
    cells = missing(experiment, rows, wanted)
    print(f"{len(cells)} cells to run.", flush=True)
    failed = 0
    for number, (key, seconds, error) in enumerate(
        run_cells(experiment, rows, cells, options.jobs), start=1
    ):
        print(f"{number}/{len(cells)} {', '.join(map(str, key))}: {seconds:.1f} s", flush=True)
        if error:
            failed += 1
            print(error, file=sys.stderr)
    if failed:
        raise ExperimentError(f"{failed} cells failed; the tracebacks are above.")


def small(options: argparse.Namespace) -> None:
    """Make a small version of the paper's table."""
    from experiments.data import is_available

    options.experiment, options.repeats, options.again = "paper", SMALL_REPEATS, False
    options.methods = ["sa-fdr", "rfe", "lasso", "recipe"]
    options.data = [name for name in SMALL if is_available(name)]
    run(options)
    tables(options)


def tables(options: argparse.Namespace) -> None:
    """Write a page for each experiment with rows, and print the paper's table."""
    from experiments import evidence
    from experiments.run import Rows
    from experiments.tables import PAGES, readme_table

    for name, page in PAGES.items():
        rows = Rows(options.out, name).read()
        if rows:
            (options.out / f"{name}.md").write_text(page(rows), encoding="utf-8")
            print(f"Wrote {options.out / name}.md from {len(rows)} rows.")
    table = readme_table(Rows(options.out, "paper").read())
    print(table)
    if options.out == Path("paper"):
        Path("docs/evidence.md").write_text(evidence.page(options.out), encoding="utf-8")
        readme = Path("README.md").read_text(encoding="utf-8")
        before, after = readme.split(TABLE_START)[0], readme.split(TABLE_END)[1]
        text = f"{before}{TABLE_START}\n{table}{TABLE_END}{after}"
        Path("README.md").write_text(text, encoding="utf-8")


def figures(options: argparse.Namespace) -> None:
    """Draw Figure 1 on Heart and Figure 2 for each data set with rows."""
    from experiments import data
    from experiments.figures import figure_1, figure_2, save
    from experiments.run import Rows

    rows = Rows(options.out, "paper").read()
    if data.is_available("heart"):
        save(figure_1(data.load("heart")), options.out / "figures" / "figure1.png")
    for name in options.data or sorted({key[0] for key in rows}):
        save(figure_2(rows, name), options.out / "figures" / f"figure2-{name}.png")


def list_data(options: argparse.Namespace) -> None:
    """List the paper's data sets, and download those that are named."""
    from experiments import data

    for name in options.download:
        print(f"{data.download(name)} is there.")
    for name, each in data.PAPER.items():
        state = "available" if data.is_available(name) else data.how_to_get(name)
        print(f"{name:22} {each.counts[0]:>7} × {each.counts[1]:<4} {state}")


def pack(options: argparse.Namespace) -> None:
    """Move finished rows to the compressed files."""
    from experiments.run import EXPERIMENTS, Rows

    for name in EXPERIMENTS:
        if Rows(options.out, name).read():
            Rows(options.out, name).pack()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: object) -> argparse.ArgumentParser:
        about = str(command.__doc__).partition("\n")[0]
        found = commands.add_parser(name, help=about, description=about)
        found.set_defaults(command=command)
        found.add_argument("--out", type=Path, default=Path("paper"), help="folder of the rows")
        found.add_argument("--data", nargs="*", default=[], help="names of data sets")
        return found

    runner = add("run", run)
    choices = [
        "paper",
        "ablation",
        "equal",
        "classes",
        "regression",
        "simulations",
        "probabilities",
    ]
    runner.add_argument("experiment", choices=choices)
    runner.add_argument("--methods", nargs="*", default=[], help="names of methods")
    runner.add_argument("--repeats", type=int, help="at most so many repeats")
    runner.add_argument("--again", action="store_true", help="first remove rows of other code")
    for each in (runner, add("small", small)):
        each.add_argument("--jobs", type=int, default=1, help="cells that run at the same time")
    add("tables", tables)
    add("figures", figures)
    add("pack", pack)
    add("data", list_data).add_argument("--download", nargs="*", default=[], help="names of sets")
    return parser


if __name__ == "__main__":
    main()
