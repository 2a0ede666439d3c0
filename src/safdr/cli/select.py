"""``safdr select``: from a file to the features that matter. Heavy imports wait inside."""

# No annotations from the future, as in `options`.
from typing import Annotated

from cyclopts import App, Parameter

from safdr.cli.help import CommonOptions, print_all
from safdr.cli.options import (
    RESULTS,
    TABLE,
    ConstraintOptions,
    ResultOptions,
    SearchOptions,
    TableOptions,
)

EXAMPLES = """\
Examples:

  safdr select                                    built-in breast-cancer data
  safdr select loans.csv -t late                  how many features, and which
  safdr select loans.parquet -t late -k 5         exactly five
  safdr select houses.csv -t price                a quantity, by R²
  safdr select loans.csv -t status --positive late --missing median
  safdr select loans.csv -t late --categorical sex,region --na unknown --na -999
  safdr select loans.csv -t late --split-by month --weight exposure
  safdr select loans.csv -t late --report report.html --export score.sql
  safdr select loans.csv -t late --prove 10 --stability 50      how sure is it?
  safdr select loans/ -t late --stream            Parquet larger than memory
  zcat loans.csv.gz | safdr select - -t late --json > result.json

Exit codes: 0 done, 1 failed on the data, 2 wrong usage, 130 stopped by Ctrl-C,
143 stopped by SIGTERM. More: docs/select.md.
"""

app = App(
    name="select",
    help="Choose the fewest features of a table that predict its target as well as many.",
    help_format="plaintext",
    help_formatter=CommonOptions(),
    help_epilogue=EXAMPLES,
)


def _refuse_options(_: type, file: str | None) -> None:
    """Let "-" through, and no option that is misspelled."""
    if file is not None and file.startswith("-") and file != "-":
        raise ValueError(f"Unknown option: {file}. A file of this name is ./{file}.")


@app.default
def select(
    file: Annotated[
        str | None,
        Parameter(
            group=TABLE,
            # Or "-" would be taken for an option.
            allow_leading_hyphen=True,
            validator=_refuse_options,
            help="CSV or TSV (.gz too), Parquet (a folder of them too) or Arrow/Feather; - for "
            "standard input; none for the built-in breast-cancer data.",
        ),
    ] = None,
    /,
    *,
    table: TableOptions | None = None,
    search: SearchOptions | None = None,
    constraints: ConstraintOptions | None = None,
    results: ResultOptions | None = None,
    debug: Annotated[
        bool,
        Parameter(
            group=RESULTS, negative=(), show_default=False, help="Show the traceback of an error."
        ),
    ] = False,
    help_all: Annotated[
        bool,
        Parameter(
            group=RESULTS,
            negative=(),
            show_default=False,
            help="Show all options: how tables are read, more constraints, scorecards.",
        ),
    ] = False,
) -> None:
    """Choose the features."""
    if help_all:
        return print_all()
    from safdr.cli.errors import clear_errors

    with clear_errors(debug):
        from safdr.cli.selecting import run

        run(
            file,
            table or TableOptions(),
            search or SearchOptions(),
            constraints or ConstraintOptions(),
            results or ResultOptions(),
        )
