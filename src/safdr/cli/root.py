"""The root command: it mounts the groups, each in a file of its own, loaded when called."""

from cyclopts import App

from safdr import __version__

app = App(
    name="safdr",
    help="Find the smallest set of features that still predicts as well as all of them.",
    version=__version__,
)
app.command(
    "safdr.cli.select:app",
    name="select",
    help="Choose the fewest features of a table that predict its target as well as many.",
)
app.command(
    "safdr.cli.compare:app",
    name="compare",
    help="Compare two results: features in and out, coefficients, scores, stability.",
)
