"""Options of ``safdr select``, in groups; what is not given is None and left to the library."""

# No annotations from the future: as strings, cyclopts would compile each of them at each command.
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter, Token

# Features to try where nobody says how many.
LARGEST_SIZE = 30

TABLE = Group(
    "The table", help="COLUMNS are set apart by commas, or the option is repeated.", sort_key=1
)
ROWS = Group("Rows", sort_key=2)
SEARCH = Group("The search", sort_key=3)
CONSTRAINTS = Group(
    "Constraints",
    help="NAMES, set apart by commas, are columns, or features as the answer prints them; one that "
    "has a comma goes into double quotes.",
    sort_key=4,
)
RESULTS = Group("Results", sort_key=5)


def _whole(_: Any, tokens: Sequence[Token]) -> int:
    """A whole number; without this, 2.5 would become 2 unasked."""
    text = tokens[0].value
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        if float(text).is_integer():
            return int(float(text))
    raise ValueError(f"must be a whole number; got {text!r}.")


WHOLE = Parameter(converter=_whole)


@Parameter(name="*", group=TABLE)
@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """What to make of the table."""

    target: Annotated[
        str | None,
        Parameter(name=["--target", "-t"], help="Column to predict: classes, or numbers."),
    ] = None
    task: Annotated[
        Literal["classification", "regression"] | None,
        Parameter(
            help="What the target is. Default: two values, text (up to 20 values) and up to 10 "
            "whole numbers are classes, other numbers a quantity."
        ),
    ] = None
    positive: Annotated[
        str | None,
        Parameter(
            help="Class whose odds the model gives, against all others. Default: the one that "
            "sorts last (1 of 0/1, yes of no/yes)."
        ),
    ] = None
    drop: Annotated[list[str] | None, Parameter(negative=(), help="COLUMNS to leave out.")] = None
    id: Annotated[
        list[str] | None,
        Parameter(negative=(), help="COLUMNS that name rows: left out too."),
    ] = None
    keep: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="COLUMNS to use although they look like identifiers or dates.",
        ),
    ] = None
    number: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="COLUMNS of text to read as numbers, such as 20,000, 94.0% or € 5; what is none "
            "is missing. Default: where nearly all are.",
        ),
    ] = None
    categorical: Annotated[
        list[str] | None,
        Parameter(
            name=["--categorical", "--text"],
            negative=(),
            help="COLUMNS whose values, numbers or text, are categories.",
        ),
    ] = None
    na: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="VALUE that means missing, or COLUMN=VALUE; may be repeated.",
        ),
    ] = None
    time: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="COLUMNS that say when: no features. Default: dates, and months such as 2024-09 "
            "or 202409.",
        ),
    ] = None
    missing: Annotated[
        Literal["drop-rows", "drop-columns", "median"] | None,
        Parameter(
            help="Leave out rows, or columns, with missing values, or fill in the median (text: "
            "the commonest). Default: stop, and count them."
        ),
    ] = None
    test_size: Annotated[
        float, Parameter(group=ROWS, help="Share of the rows to hold out for a test; 0: none.")
    ] = 0.2
    split_by: Annotated[
        str | None,
        Parameter(
            group=ROWS, help="Column of times: hold out the latest, about --test-size of the rows."
        ),
    ] = None
    group_by: Annotated[
        str | None,
        Parameter(
            group=ROWS,
            help="Column, such as the customer, whose rows of one value stay on one side of every "
            "split.",
        ),
    ] = None
    weight: Annotated[
        str | None,
        Parameter(
            group=ROWS, help="Column of weights: how much rows count in search, model and scores."
        ),
    ] = None
    by: Annotated[
        list[str] | None,
        Parameter(
            group=ROWS,
            negative=(),
            help="COLUMNS of segments, features or not: the report tells how the model does in "
            "each of them, on rows held out.",
        ),
    ] = None
    sample: Annotated[
        int | None,
        WHOLE,
        Parameter(group=ROWS, help="Take so many random rows only: a first look at a large file."),
    ] = None
    stream: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            group=ROWS,
            help="Read Parquet in passes. Default: where it would not fit comfortably in memory.",
        ),
    ] = False
    dask: Annotated[
        str | None,
        Parameter(
            group=ROWS, help="Do so on the Dask cluster at this address, such as tcp://host:8786."
        ),
    ] = None
    sample_rows: Annotated[
        int,
        WHOLE,
        Parameter(
            group=ROWS,
            help="Rows at hand while all are read in passes; a table with fewer is read whole.",
        ),
    ] = 200_000


@Parameter(name="*", group=SEARCH)
@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How to search."""

    k: Annotated[
        int | None,
        WHOLE,
        Parameter(
            name=["-k", "--k"],
            help="Exactly so many features. Default: by cross-validation.",
        ),
    ] = None
    no_validation: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="With -k: find the features alone, without validation splits.",
        ),
    ] = False
    k_max: Annotated[
        int | None,
        WHOLE,
        Parameter(help=f"Largest number of features to try. Default: {LARGEST_SIZE}."),
    ] = None
    rule: Annotated[
        Literal["one_se", "one_sd", "tolerance", "best"] | None,
        Parameter(
            help="The fewest within one standard error (one_se) or deviation (one_sd) of the best "
            "score, or within --tolerance of it; best: the best score. Default: one_se (with "
            "--as-published: one_sd)."
        ),
    ] = None
    tolerance: Annotated[
        float | None,
        Parameter(help="Score that --rule tolerance may give up. Default: 0.005."),
    ] = None
    as_published: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Search, fit and choose as in the paper: to compare with it.",
        ),
    ] = False
    seed: Annotated[int, WHOLE, Parameter(help="The same seed gives the same answer.")] = 0
    jobs: Annotated[
        int,
        WHOLE,
        Parameter(name=["--jobs", "-j"], help="Searches at the same time; -1: all cores."),
    ] = 1
    prove: Annotated[
        float | None,
        Parameter(
            help="Seconds to prove that no set of this size has a larger Fisher ratio (of a "
            "quantity: R²) on the training rows, or by how much at most; as many again to list "
            "near-ties."
        ),
    ] = None
    stability: Annotated[
        int | None,
        WHOLE,
        Parameter(
            help="Choose again on so many half-samples, an even number such as 50, and count how "
            "often each feature is chosen."
        ),
    ] = None


@Parameter(name="*", group=CONSTRAINTS)
@dataclass(frozen=True, kw_only=True)
class ConstraintOptions:
    """Which features may be chosen together, and what they cost."""

    always_include: Annotated[
        list[str] | None,
        Parameter(negative=(), help="NAMES that every subset has."),
    ] = None
    never_include: Annotated[
        list[str] | None,
        Parameter(negative=(), help="NAMES that no subset has."),
    ] = None
    group: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="NAMES that enter together, and count as one feature; may be repeated.",
        ),
    ] = None
    at_most_one_of: Annotated[
        list[str] | None,
        Parameter(negative=(), help="NAMES of which a subset has one at most; may be repeated."),
    ] = None
    sign: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="NAME=+ or NAME=-: the sign that its coefficient must have; may be repeated.",
        ),
    ] = None
    split_categories: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Let each value of a text column be a feature. Default: they enter together, as "
            "one.",
        ),
    ] = False
    cost: Annotated[
        list[str] | None,
        Parameter(negative=(), help="NAME=NUMBER: what a feature costs; may be repeated."),
    ] = None
    cost_strength: Annotated[
        float | None,
        Parameter(help="How much of the criterion a unit of cost takes away. Default: 1."),
    ] = None
    class_weight: Annotated[
        Literal["balanced"] | None,
        Parameter(help="Let all classes count alike."),
    ] = None


@Parameter(name="*", group=RESULTS)
@dataclass(frozen=True, kw_only=True)
class ResultOptions:
    """What to print and to write."""

    report: Annotated[Path | None, Parameter(help="Write a report for people: one HTML file.")] = (
        None
    )
    out: Annotated[Path | None, Parameter(help="Write the result for machines: JSON.")] = None
    export: Annotated[
        list[Path] | None,
        Parameter(
            negative=(),
            help="Write the formula on the columns of the table: a .py, .sql or .onnx file, or a "
            "scorecard, .csv; may be repeated.",
        ),
    ] = None
    points: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Add the points of a scorecard to what .py and .sql give, as a .csv beside them "
            "does. Two classes.",
        ),
    ] = False
    pdo: Annotated[
        float | None,
        Parameter(
            help="Points that double the odds against the positive class; negative, if points are "
            "to rise with its odds. Default: 20."
        ),
    ] = None
    base_points: Annotated[
        float | None, Parameter(help="Points where the odds are --base-odds. Default: 600.")
    ] = None
    base_odds: Annotated[
        float | None,
        Parameter(help="Rows of the other class for one of the positive. Default: 50."),
    ] = None
    whole_points: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Round the points of each feature; a note says what that costs.",
        ),
    ] = False
    force: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Replace files that are there.")
    ] = False
    json: Annotated[
        bool,
        Parameter(negative=(), show_default=False, help="Print the result as JSON."),
    ] = False
    quiet: Annotated[
        bool,
        Parameter(
            name=["--quiet", "-q"], negative=(), show_default=False, help="Print errors only."
        ),
    ] = False
