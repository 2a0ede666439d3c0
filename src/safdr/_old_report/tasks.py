"""What the report says of each task: two classes, more classes, regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from safdr._old_report.scores import held_out_auc, held_out_auc_of_each, held_out_r2


@dataclass(frozen=True)
class ReportTask:
    """One task in words; `{target}` and the like are filled in where they are used."""

    # As elsewhere in the library, and for people.
    name: str
    title: str
    # The default score: as scikit-learn calls it, in a word, what it is for someone who guesses,
    # and what it says; `held_out` gives it with an interval.
    scoring: str
    score: str
    score_in_short: str
    about_score: str
    chance: float
    explanation: str
    held_out: Callable[..., dict[str, Any]]
    # The loss that chooses: its key in results, in words, and when it is 0.
    loss: str
    loss_words: str
    no_loss: str
    # What replicas climb on unless told otherwise: in sentences, and as a title.
    criterion: str
    criterion_title: str
    # The model, and what a coefficient does.
    model: str
    effect: str
    bars: str
    legend: tuple[str, str]
    formula: str
    # What the features do; with `{s}` for one of them.
    does: str
    does_unnamed: str
    # The same on a terminal, with the name of the score; ** is bold.
    answer: str
    # What one column does that knows the answer.
    tells_all: str


TWO_CLASSES = ReportTask(
    name="classification",
    title="two classes",
    scoring="roc_auc",
    score="ROC AUC",
    score_in_short="AUC",
    about_score="",
    chance=0.5,
    explanation=(
        "Given one {row} of each class, the model gives the one with {positive} the higher score "
        "{share} of the time; guessing would be right 50 % of the time."
    ),
    held_out=held_out_auc,
    loss="cross_entropy",
    loss_words="cross-entropy",
    no_loss="separates the classes",
    criterion="the Fisher ratio",
    criterion_title="Fisher discriminant ratio",
    model="logistic model",
    effect="change of the log-odds per standard deviation",
    bars=(
        "Each bar: how much one standard deviation more of the feature changes the log-odds of "
        "{positive}, the others being equal."
    ),
    legend=("raises the odds", "lowers the odds"),
    formula="Log-odds of {positive} = intercept + sum of coefficient × value.",
    does="predict{s} <b>{target}</b>",
    does_unnamed="tell{s} {first} from {second}",
    answer=" tell{s} **{target} = {second}** from {first} with an AUC of",
    tells_all="tells the classes apart",
)

MORE_CLASSES = ReportTask(
    name="classification",
    title="{n_classes} classes",
    scoring="roc_auc_ovr",
    score="ROC AUC",
    score_in_short="AUC",
    about_score="the mean over the classes, each against the rest",
    chance=0.5,
    explanation=(
        "Given one {row} of a class and one of another, the model gives the first the higher "
        "probability of its class {share} of the time, on average over the {n_classes} classes; "
        "guessing would be right 50 % of the time."
    ),
    held_out=held_out_auc_of_each,
    loss="cross_entropy",
    loss_words="cross-entropy",
    no_loss="separates the classes",
    criterion="the Fisher ratio",
    criterion_title="Fisher discriminant ratio, the mean over pairs of rows of different classes,",
    model="softmax model",
    effect="change of the class's score per standard deviation",
    bars=(
        "Each cell: how much one standard deviation more of the feature changes the score of the "
        "class, the others being equal. What counts is how the classes of a row differ."
    ),
    legend=("speaks for the class", "speaks against it"),
    formula=(
        "Score of a class = its intercept + sum of its coefficient × value; its probability is "
        "exp(score), divided by the sum of that over the classes."
    ),
    does="predict{s} <b>{target}</b>",
    does_unnamed="tell{s} {n_classes} classes apart",
    answer=" tell{s} the {n_classes} classes of **{target}** apart with a mean AUC of",
    tells_all="tells all classes apart",
)

REGRESSION = ReportTask(
    name="regression",
    title="regression",
    scoring="r2",
    score="R²",
    score_in_short="R²",
    about_score="",
    chance=0.0,
    explanation=(
        "On {rows} the model explains {share} of the variance of {target}; the mean alone would "
        "explain none of it."
    ),
    held_out=held_out_r2,
    loss="squared_error",
    loss_words="squared error",
    no_loss="fits exactly",
    criterion="R²",
    criterion_title="R², the share of the variance that least squares explain,",
    model="linear model",
    effect="change of the target per standard deviation",
    bars=(
        "Each bar: how much one standard deviation more of the feature changes {target}, the "
        "others being equal."
    ),
    legend=("raises it", "lowers it"),
    formula="{target} = intercept + sum of coefficient × value.",
    does="predict{s} <b>{target}</b>",
    does_unnamed="predict{s} the target",
    answer=" predict{s} **{target}** with an R² of",
    tells_all="tells the target, but for its scale or a bend",
)


def task_of(content: Mapping[str, Any]) -> ReportTask:
    """The task of a report."""
    return _task(content["task"] == "regression", len(content["target"]["classes"]))


def score_name(content: Mapping[str, Any]) -> str:
    """Write the name of the score for people."""
    task, scoring = task_of(content), content["scores"]["scoring"]
    return task.score if scoring == task.scoring else str(scoring).replace("_", " ")


def task_of_estimator(estimator: Any) -> ReportTask:
    """The task of a selector: without classes it is regression."""
    classes = getattr(estimator, "classes_", None)
    return _task(classes is None, 0 if classes is None else len(classes))


def _task(is_regression: bool, n_classes: int) -> ReportTask:
    if is_regression:
        return REGRESSION
    return TWO_CLASSES if n_classes == 2 else MORE_CLASSES
