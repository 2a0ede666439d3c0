"""Options of ``safdr select``, in groups; what is not given is None and left to the library."""

# No annotations from the future: as strings, cyclopts would compile each of them at each command.
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter, Token

# Features to try where nobody says how many.
LARGEST_SIZE = 30

TABLE = Group("The table", sort_key=1)
SEARCH = Group("The search", sort_key=2)
CONSTRAINTS = Group(
    "Constraints",
    help="NAME is a column of the table, or a feature as the answer prints it. Several names are "
    "set apart by commas; one that has a comma goes into double quotes.",
    sort_key=3,
)
RESULTS = Group("Results", sort_key=4)
ANNEALING = Group(
    "Annealing",
    help="What is not given has the default of safdr.Annealing and safdr.AnnealingSelector, which "
    "explain each setting.",
    sort_key=5,
)


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
            help="What the target is: classes, or a quantity. Default: two values, text (up to 20 "
            "values) and whole numbers of up to 10 values are classes, other numbers a quantity. "
            "The answer says which."
        ),
    ] = None
    positive: Annotated[
        str | None,
        Parameter(
            help="Value of the target whose odds the model gives; of more than two values, this "
            "one against the rest. Default: the one that sorts last (1 of 0/1, yes of no/yes)."
        ),
    ] = None
    drop: Annotated[
        list[str] | None, Parameter(negative=(), help="Column to leave out; may be repeated.")
    ] = None
    id: Annotated[
        list[str] | None,
        Parameter(negative=(), help="Column that names rows, left out too; may be repeated."),
    ] = None
    keep: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="Column to use although it looks like an identifier or a date written as a "
            "number; may be repeated.",
        ),
    ] = None
    number: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="Column of text to read as numbers, such as 20,000, 94.0% or € 5: what is none is "
            "missing; may be repeated. Default: where nearly all are numbers.",
        ),
    ] = None
    categorical: Annotated[
        list[str] | None,
        Parameter(
            name=["--categorical", "--text"],
            negative=(),
            help="Column whose values, numbers or text, are categories; may be repeated.",
        ),
    ] = None
    na: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="VALUE, text or number, that says that a value is missing; COLUMN=VALUE for one "
            "column; may be repeated.",
        ),
    ] = None
    missing: Annotated[
        Literal["drop-rows", "drop-columns", "median"] | None,
        Parameter(
            help="What to do about missing values: leave out the rows, leave out the columns, or "
            "fill in the median (text: the commonest value). Default: stop, and count them."
        ),
    ] = None
    test_size: Annotated[
        float, Parameter(help="Share of the rows held out to test the model; 0 holds none out.")
    ] = 0.2
    weight: Annotated[
        str | None,
        Parameter(help="Column with the weight of each row, in the search, the model and scores."),
    ] = None
    group_by: Annotated[
        str | None,
        Parameter(
            help="Column whose rows of one value, such as a customer, stay together: held out or "
            "not, and in validation splits."
        ),
    ] = None
    test_where: Annotated[
        str | None,
        Parameter(
            help="Rows to hold out instead, such as \"month >= '2024-07'\": COLUMN OPERATOR VALUE, "
            "with and, or, not, brackets."
        ),
    ] = None
    split_by: Annotated[
        str | None,
        Parameter(
            help="Column of times: learn from the earlier rows, and hold out the latest, about "
            "--test-size of them."
        ),
    ] = None
    time: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="Column that says when, and is no feature; may be repeated. Default: dates, and "
            "months such as 2024-09 or 202409.",
        ),
    ] = None
    by: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="Column to tell segments by, feature or not: the report says how the model does "
            "in each of them, on rows held out; may be repeated.",
        ),
    ] = None
    sample: Annotated[
        int | None,
        WHOLE,
        Parameter(help="Take so many random rows only, for a first look at a large file."),
    ] = None
    stream: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Read Parquet in passes, in little memory. Default: where the table would not fit "
            "comfortably in memory.",
        ),
    ] = False
    dask: Annotated[
        str | None,
        Parameter(
            help="Do so on the Dask cluster whose scheduler is at this address, such as "
            "tcp://host:8786. Its workers must have safdr, and find the files at the same path."
        ),
    ] = None
    sample_rows: Annotated[
        int,
        WHOLE,
        Parameter(
            help="Rows of the sample that candidates are compared on where rows are read in "
            "passes; a table with fewer is read into memory."
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
            # The second is the name in a settings file.
            name=["-k", "--k"],
            help="Exactly so many features. Default: by cross-validation.",
        ),
    ] = None
    no_validation: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="With -k: find the features and no more, without validation splits.",
        ),
    ] = False
    k_max: Annotated[
        int | None,
        WHOLE,
        Parameter(help=f"Largest number of features to try. Default: {LARGEST_SIZE}."),
    ] = None
    rule: Annotated[
        Literal["one_sd", "one_se", "tolerance", "best", "as_published"],
        Parameter(
            help="How to choose their number. one_sd, for few features: the fewest within one "
            "standard deviation of the best score, or all but perfect. one_se, for the score: the "
            "fewest whose difference to the best is within one standard error. tolerance: the "
            "fewest within --tolerance of the best score. best: the best score. as_published: "
            "one_sd as in the paper, all but perfect or not. The answer says what each would take."
        ),
    ] = "one_sd"
    tolerance: Annotated[
        float | None,
        Parameter(help="Score that --rule tolerance may give up. Default: 0.005."),
    ] = None
    clip: Annotated[
        float | None,
        Parameter(
            help="Share of the rows at either end of a column, such as 0.01, whose numbers count "
            "as the nearest of the others; in validation splits and in exports too."
        ),
    ] = None
    seed: Annotated[int, WHOLE, Parameter(help="The same seed gives the same answer.")] = 0
    jobs: Annotated[
        int,
        WHOLE,
        Parameter(name=["--jobs", "-j"], help="Searches at the same time; -1: all cores."),
    ] = 1
    prove: Annotated[
        float | None,
        Parameter(
            help="Seconds in which to prove that no other set of this size has a larger Fisher "
            "ratio (for a quantity: R²) on the training rows, or how much larger it is at most; as "
            "many again to list the sets that come within 1 %."
        ),
    ] = None
    stability: Annotated[
        int | None,
        WHOLE,
        Parameter(
            help="Choose again on so many half-samples of the training rows, an even number such "
            "as 50, and count how often each feature is chosen."
        ),
    ] = None


@Parameter(name="*", group=CONSTRAINTS)
@dataclass(frozen=True, kw_only=True)
class ConstraintOptions:
    """Which features may be chosen together, and what they cost."""

    always_include: Annotated[
        list[str] | None,
        Parameter(negative=(), help="NAME that every subset has; may be repeated."),
    ] = None
    never_include: Annotated[
        list[str] | None,
        Parameter(negative=(), help="NAME that no subset has; may be repeated."),
    ] = None
    group: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="NAME,NAME,… that enter together and count as one feature; may be repeated.",
        ),
    ] = None
    at_most_one_of: Annotated[
        list[str] | None,
        Parameter(
            negative=(), help="NAME,NAME,… of which a subset has one at most; may be repeated."
        ),
    ] = None
    sign: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="NAME=+ or NAME=-: the sign that the coefficient of a number must have, if it is "
            "in the model; may be repeated.",
        ),
    ] = None
    split_categories: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Let each value of a text column be a feature of its own. Default: all values of "
            "a column enter together, and count as one feature.",
        ),
    ] = False
    cost: Annotated[
        list[str] | None,
        Parameter(negative=(), help="NAME=NUMBER: what the feature costs; may be repeated."),
    ] = None
    cost_strength: Annotated[
        float | None,
        Parameter(help="How much of the criterion a unit of cost takes away. Default: 1."),
    ] = None
    class_weight: Annotated[
        Literal["balanced"] | None,
        Parameter(help="Let all classes count alike, however many rows they have."),
    ] = None


@Parameter(name="*", group=RESULTS)
@dataclass(frozen=True, kw_only=True)
class ResultOptions:
    """What to print and to write."""

    report: Annotated[Path | None, Parameter(help="Write a report for people: one HTML file.")] = (
        None
    )
    out: Annotated[
        Path | None, Parameter(help="Write a result for machines: features, formula, scores, JSON.")
    ] = None
    export: Annotated[
        list[Path] | None,
        Parameter(
            negative=(),
            help="Write the scoring formula on the columns of the table, checked against the "
            "model: a file that ends in .py, .sql or .onnx, or in .csv for a scorecard in points; "
            "may be repeated.",
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
        Parameter(
            negative=(), show_default=False, help="Print the result as JSON instead of tables."
        ),
    ] = False
    quiet: Annotated[
        bool,
        Parameter(
            name=["--quiet", "-q"], negative=(), show_default=False, help="Print errors only."
        ),
    ] = False


@Parameter(name="*", group=ANNEALING)
@dataclass(frozen=True, kw_only=True)
class AnnealingOptions:
    """Settings of the search that its estimator checks and, where not given, chooses."""

    n_replicas: Annotated[
        int | None, WHOLE, Parameter(help="Subsets that are annealed side by side.")
    ] = None
    sweeps: Annotated[
        float | None,
        Parameter(help="Swaps proposed at each temperature, as a multiple of the features."),
    ] = None
    temperature_step: Annotated[
        float | None, Parameter(help="Step of the inverse temperature.")
    ] = None
    max_steps: Annotated[int | None, WHOLE, Parameter(help="Most temperature steps.")] = None
    tol: Annotated[
        float | None, Parameter(help="Relative change of the criterion at which to stop.")
    ] = None
    n_iter_no_change: Annotated[
        int | None, WHOLE, Parameter(help="Steps over which that change is averaged.")
    ] = None
    n_batches: Annotated[
        int | None, WHOLE, Parameter(help="Random parts of the rows that the replicas draw from.")
    ] = None
    batch_fraction: Annotated[float | None, Parameter(help="Share of the rows in each part.")] = (
        None
    )
    batch_draw: Annotated[
        str | None, Parameter(help='Draw a part for each "step" or for each "proposal".')
    ] = None
    criterion: Annotated[
        Literal["fisher", "logistic", "mixed", "auto"] | None,
        Parameter(
            help="What a set is searched by. fisher, the paper's: Fisher's ratio. For two classes "
            "also logistic: the log-loss made quadratic. mixed: both, and forward selection on the "
            "log-loss. auto: fisher or mixed, whichever predicts rows held out better. Default: "
            "fisher; a quantity is searched by R²."
        ),
    ] = None
    ridge: Annotated[
        float | Literal["auto"] | None,
        Parameter(
            help="Share of its variance added to each feature's; auto: as much as the number of "
            "rows asks for."
        ),
    ] = None
    C: Annotated[
        float | Literal["auto"] | None,
        Parameter(
            name="--C",
            help="Inverse strength of a penalty on the model's coefficients, in standard "
            "deviations: inf is none, as in the paper; auto: the one that predicts rows held out "
            "best. With a penalty numbers beyond those of the table count as the nearest of them. "
            "Default: 1, which is mild; inf for a quantity, whose numbers always count as they "
            "are.",
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """The settings that were given, as parameters of the estimator."""
        from safdr import Annealing

        pairs = ((each.name, getattr(self, each.name)) for each in fields(self))
        given = {name: value for name, value in pairs if value is not None}
        own = {name: given.pop(name) for name in ("criterion", "ridge", "C") if name in given}
        return own | ({"annealing": Annealing(**given)} if given else {})
