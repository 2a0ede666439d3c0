"""``safdr compare``: two results side by side. Heavy imports wait inside."""

# No annotations from the future, as in `options`.
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

EXAMPLES = """\
Examples:

  safdr select loans.csv -t default --out before.json
  safdr select loans.csv -t default --sign income=- --out after.json
  safdr compare before.json after.json

Exit codes: 0 done, 1 failed, 2 wrong usage: a file that is no result.
"""

app = App(
    name="compare",
    help="Compare two results: features in and out, coefficients, scores, stability.",
    help_format="plaintext",
    help_epilogue=EXAMPLES,
)


@app.default
def compare(
    first: Annotated[Path, Parameter(help="A result: what safdr select --out writes.")],
    second: Annotated[Path, Parameter(help="Another one.")],
    /,
    *,
    json: Annotated[
        bool,
        Parameter(negative=(), show_default=False, help="Print JSON instead of tables."),
    ] = False,
    quiet: Annotated[
        bool,
        Parameter(
            name=["--quiet", "-q"], negative=(), show_default=False, help="Print errors only."
        ),
    ] = False,
    debug: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Compare two results."""
    from safdr.cli.errors import clear_errors

    with clear_errors(debug, "compare"):
        from safdr.cli.comparing import run

        run(first, second, as_json=json, quiet=quiet)
