"""AnnealingSelector: the best subset of a given number of features."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt
from sklearn.utils.metaestimators import available_if

from safdr.search import Search
from safdr.selector_base import AnnealingSelectorBase, final_model_has
from safdr.validation import ANNEALING_CONSTRAINTS, seed_from, validate_rows


class AnnealingSelector(AnnealingSelectorBase):
    """Choose a given number of features by simulated annealing (SA-FDR).

    Many replicas, each a random subset of `n_features_to_select` features, are cooled together: a
    swap of one feature for another is accepted by the Metropolis rule on the Fisher discriminant
    ratio d'·S_W⁻¹·d. Then a logistic model is fitted to the subset of each replica, and to the best
    subset that going uphill from them reaches (to all subsets, where there are no more of them than
    replicas), and the one with the smallest cross-entropy wins.

    Features need no scaling: neither the ratio nor an unpenalised logistic model depends on it.

    Parameters
    ----------
    n_features_to_select : int or float, default=None
        Number of features to choose: an int is that number, a float between 0 and 1 the share of
        all features, None half of them.

    estimator : classifier, default=None
        The model to fit to the chosen features, used by `predict` and its like. None is the
        unpenalised logistic model that won, as a `sklearn.linear_model.LogisticRegression`.

    n_replicas : int, default=50
        Number of subsets that are annealed side by side.

    sweeps : float, default=0.5
        Swaps proposed to each replica at each temperature, as a multiple of the number of features.

    temperature_step : float, default=0.7
        Step of the inverse temperature, in units of 1/σ, where σ is the standard deviation of the
        criterion over the random subsets at the start.

    max_steps : int, default=100
        Largest number of temperature steps.

    tol : float, default=5e-3
        Annealing stops when the mean criterion value, averaged over `n_iter_no_change` steps,
        has changed relatively by no more than this from the average over as many steps before.

    n_iter_no_change : int, default=5
        Number of steps averaged over by `tol`. The replicas are looked at every five steps.

    n_batches : int, default=5
        Number of random stratified batches of the rows. At each temperature step each replica
        sweeps on the criterion of one of them, drawn at random. This noise keeps the replicas from
        all ending in the same subset. ``n_batches=1, batch_fraction=1.0`` is no noise.

    batch_fraction : float, default=0.5
        Share of each class that is in a batch. It is raised, up to 1, where a batch would have
        fewer than two rows for each of `n_features_to_select` features.

    batch_draw : {"step", "proposal"}, default="step"
        Whether a replica draws its batch for each temperature step or for each proposed swap. The
        latter is several times slower.

    moves : {"metropolis"}, default="metropolis"
        How a replica moves: "metropolis" swaps a random member for a random other feature.

    ridge : float, default=1e-6
        Added to the variance of each feature within the classes, as a share of it. This keeps the
        criterion defined where features are collinear or outnumber the rows. A feature of whose
        variance the other members leave less than 1e-5 plus twice the ridge is never swapped in.
        Where a subset is large against the number of rows (a quarter, say), a larger ridge, 0.01 to
        0.1, keeps the criterion from rewarding chance.

    n_jobs : int, default=None
        Number of threads over replicas. None means 1 unless in a `joblib.parallel_config`, -1 all
        processors. The answer does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Source of randomness. The same int gives the same answer.

    Attributes
    ----------
    support_ : ndarray of shape (n_features_in_,), dtype=bool
        Mask of the chosen features.

    subset_ : ndarray of shape (n_features_,)
        Sorted indices of the chosen features.

    n_features_ : int
        Number of chosen features.

    criterion_value_ : float
        Fisher discriminant ratio of the chosen features on the training rows.

    cross_entropy_ : float
        Mean cross-entropy of the unpenalised logistic model on the chosen features and the training
        rows; 0 if they separate the classes completely.

    estimator_ : classifier
        The model on the chosen features, in the order of `subset_`.

    result_ : AnnealingResult
        All replicas: their subsets, criterion values and cross-entropies, and how the annealing
        went.

    classes_ : ndarray of shape (2,)
        The labels.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has names that are all strings.

    See Also
    --------
    AnnealingSelectorCV : Chooses the number of features too.
    anneal_path : The same for several sizes at once.
    sklearn.feature_selection.RFE : Greedy elimination, one feature at a time.

    References
    ----------
    F. Martínez-García, A. Rubio-García, S. Fernández-Lorenzo, J. J. García-Ripoll, D. Porras,
    "Optimised Feature Subset Selection via Simulated Annealing".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['worst radius', 'worst texture', 'worst concave points']
    >>> selector.predict(X.head(2)).tolist()
    [0, 0]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": [
            None,
            Interval(RealNotInt, 0, 1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "estimator": [None, HasMethods(["fit"])],
        **ANNEALING_CONSTRAINTS,
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        estimator: Any = None,
        n_replicas: int = 50,
        sweeps: float = 0.5,
        temperature_step: float = 0.7,
        max_steps: int = 100,
        tol: float = 5e-3,
        n_iter_no_change: int = 5,
        n_batches: int = 5,
        batch_fraction: float = 0.5,
        batch_draw: str = "step",
        moves: str = "metropolis",
        ridge: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.estimator = estimator
        self.n_replicas = n_replicas
        self.sweeps = sweeps
        self.temperature_step = temperature_step
        self.max_steps = max_steps
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.n_batches = n_batches
        self.batch_fraction = batch_fraction
        self.batch_draw = batch_draw
        self.moves = moves
        self.ridge = ridge
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose the features and fit the model on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: an array or a pandas or polars data frame of finite numbers.

        y : array-like of shape (n_samples,)
            Labels of two classes, of any type.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; a row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        AnnealingSelector
            Itself, fitted.
        """
        rows = validate_rows(self, X, y, sample_weight).usable()
        size = self._size(rows.X.shape[1])
        search = Search(
            rows.X,
            rows.codes,
            rows.sample_weight,
            settings=self._settings(),
            seed=seed_from(self.random_state),
        )
        return self._set_result(rows, search.run(size, n_threads=effective_n_jobs(self.n_jobs)))

    def _size(self, n_features: int) -> int:
        """The number of features to choose."""
        wanted: Any = self.n_features_to_select
        if wanted is None:
            return max(1, n_features // 2)
        if 0 < wanted <= 1 and not isinstance(wanted, Integral):
            return max(1, int(wanted * n_features))
        if wanted > n_features:
            raise ValueError(
                f"n_features_to_select must be at most n_features = {n_features}, the number of "
                f"columns of X; got {wanted}."
            )
        return int(wanted)

    @available_if(final_model_has("score"))
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score of the final model on the chosen features: accuracy for the default one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        y : array-like of shape (n_samples,)
            Their labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
        """
        reduced = self._reduce(X)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.estimator_.score(reduced, y, **weights))
