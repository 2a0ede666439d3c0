"""SelectionReport: a fitted selector as a dict, and as one HTML page."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Self

from safdr import WhatIf
from safdr._atomic import place_of, write_atomically
from safdr.display.base import check_fitted
from safdr._old_report.content import describe
from safdr._old_report.risk.rows import GivenRows, checked_weight
from safdr.result import NearTies, Stability


class SelectionReport:
    """What was chosen, why, and how each number was made: as a dict and as one HTML page.

    Make it with `from_estimator`. The page works offline and fits screens, phones and paper; its
    one script, which may load nothing, tells what other sets would be worth. In a notebook the
    report shows itself.

    Parameters
    ----------
    content : dict
        What `to_dict` gives.

    See Also
    --------
    PathDisplay : Score against the number of features, as a matplotlib picture.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelectorCV, SelectionReport
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> search = AnnealingSelectorCV(max_features=4, random_state=0).fit(X, y)
    >>> report = SelectionReport.from_estimator(search, X, y, title="Benign or malignant?")
    >>> content = report.to_dict()
    >>> [feature["name"] for feature in content["features"]]
    ['worst radius', 'worst concave points', 'worst texture']
    >>> content["size"]["by_rule"]
    {'one_se': 3, 'one_sd': 2, 'tolerance': 3, 'best': 4}
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = dict(content)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        feature_names: Sequence[str] | None = None,
        X_test: Any = None,
        y_test: Any = None,
        sample_weight: Any = None,
        sample_weight_test: Any = None,
        by: Mapping[str, Any] | None = None,
        title: str | None = None,
        notes: Iterable[str] = (),
        coding: Iterable[Mapping[str, Any]] | None = None,
        left_out: Iterable[Mapping[str, Any]] | None = None,
        seconds: float | None = None,
        near_ties: NearTies | None = None,
        stability: Stability | None = None,
        substitutes: Any = None,
        warnings: Iterable[Mapping[str, Any]] = (),
        what_if: WhatIf | bool = True,
    ) -> Self:
        """Gather all that there is to say about a fitted selector.

        Parameters
        ----------
        estimator : AnnealingSelectorCV, AnnealingSelector or their kind for regression
            Fitted to labels, or to one measured output. Of those of a given size, what is about the
            choice of the size is left out.

        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
            The rows that it was fitted to. A `y` with a name gives the target its name.

        feature_names : sequence of str, default=None
            Names of the columns of X; they may be any text. None takes those of the estimator.

        X_test, y_test : array-like, default=None
            Rows that took no part in the fit, to score the model on; with two classes also a source
            of such rows, and the name of its column with the labels. All that the page says about
            model risk is said of these.

        sample_weight, sample_weight_test : array-like, default=None
            Weights of the training rows, and of the held-out ones.

        by : mapping of str to array-like, or DataFrame, default=None
            Columns to tell segments by: a value for each row of `X_test`. Numbers of more than
            twelve values become five bands.

        title : str, default=None
            Heading of the page.

        notes : iterable of str, default=()
            Remarks to show with the preparation of the data.

        coding : iterable of dict, default=None
            How columns were turned into numbers: `column`, `kind`, `names` and `reference` of each,
            and `pooled`, values that count as the reference, with their `pooled_rows`.

        left_out : iterable of dict, default=None
            Columns of the table that took no part: `column` and `reason` of each.

        seconds : float, default=None
            How long the search took.

        near_ties : NearTies, default=None
            What `safdr.near_ties` gives for these rows and this number of features. None takes
            those that the search itself came by, if the selector has a `proof_`.

        stability : Stability, default=None
            What `safdr.stability` gives for the selector and these rows.

        substitutes : DataFrame or dict, default=None
            What `estimator.substitutes(X, y)` gives.

        warnings : iterable of dict, default=()
            What else stands in the way of trusting the answer, to be told first, with what the
            report finds by itself: `title`, `text` and `advice` of each, all text; and `serious`,
            which says that the scores may not hold.

        what_if : WhatIf or bool, default=True
            What `safdr.what_if` gives for the selector and the rows and weights that it was fitted
            to. True asks it for these rows and weights; False leaves it out.

        Returns
        -------
        SelectionReport
        """
        wanted = "an AnnealingSelectorCV or AnnealingSelector"
        check_fitted(estimator, "result_", cls.__name__, wanted)
        if (X_test is None) != (y_test is None):
            raise ValueError(
                "X_test and y_test go together; got one without the other. Pass both, or neither."
            )
        held_out = None
        if X_test is not None:
            segments = {} if by is None else _segments(by)
            weight = checked_weight(sample_weight_test, y_test, "sample_weight_test")
            held_out = GivenRows(X_test, y_test, weight, segments)
        return cls(
            describe(
                estimator,
                X,
                y,
                feature_names=feature_names,
                held_out=held_out,
                sample_weight=checked_weight(sample_weight, y, "sample_weight"),
                title=title,
                preparation={"coding": coding or (), "left_out": left_out or (), "notes": notes},
                seconds=seconds,
                near_ties=near_ties,
                stability=stability,
                substitutes=substitutes,
                warnings=warnings,
                what_if=what_if,
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain types, fit for JSON.

        Returns
        -------
        dict
            Numbers are exact; None stands for what does not apply or is not a finite number.
        """
        return copy.deepcopy(self._content)

    def to_html(self, path: str | Path | None = None, *, force: bool = False) -> str:
        """Make the page, and write it where a path is given.

        Parameters
        ----------
        path : str or Path, default=None
            Where to write; the file is there as a whole or not at all. A link stays, and its target
            is written; a file that is replaced keeps its mode. None only returns the page.

        force : bool, default=False
            Whether a file that is there may be replaced.

        Returns
        -------
        str
            The page.
        """
        if path is not None and not force and _would_be_lost(Path(path)):
            raise FileExistsError(
                f"{path} is already there. Pass force=True to replace it, or another path."
            )
        page = self._page()
        if path is not None:
            write_atomically(Path(path), page.encode())
        return page

    def _page(self) -> str:
        try:
            from safdr._old_report.page import render
        except ModuleNotFoundError as error:
            if error.name != "jinja2":
                raise
            raise ImportError(
                "SelectionReport.to_html needs jinja2. Install it with: pip install 'safdr[report]'"
            ) from error
        return render(self._content)

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame where styles don't mix; it reaches nothing."""
        return (
            f'<iframe srcdoc="{escape(self._page())}" sandbox="allow-scripts" '
            'title="Feature selection report" style="width: 100%; height: 720px; border: 0">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        size = self._content["size"]["chosen"]
        return f"SelectionReport({size} of {self._content['n_features']} features)"


def _segments(by: Any) -> dict[str, Any]:
    """Columns to tell segments by, by name."""
    if not isinstance(by, Mapping) and not hasattr(by, "columns"):
        raise ValueError(
            "by must be a dict of columns, or a data frame, with a value for each row of X_test; "
            f"got {type(by).__name__}. Pass by={{name: values}}, or by=X_test[[name]]."
        )
    return {str(name): by[name] for name in by}


def _would_be_lost(path: Path) -> bool:
    """Whether a file is there that would be replaced; devices and pipes are not."""
    return path.exists() and not place_of(path).is_stream
