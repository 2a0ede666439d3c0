"""
Against RFE, the Lasso and abess
================================

One data set, ten splits, the same rows for all. At each number of features every method chooses
on the training rows, one kind of model is fitted on what it chose, and held-out rows judge.
"""

import matplotlib.pyplot as plt
import numpy as np
from abess import LogisticRegression as Abess
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import RFE
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import l1_min_c

from safdr import anneal_path

X, y = load_breast_cancer(return_X_y=True)
SIZES = range(1, 9)


def by_rfe(Z, y):
    """Drop the feature of the smallest coefficient, again and again."""
    ranking = RFE(LogisticRegression(max_iter=1000), n_features_to_select=1).fit(Z, y).ranking_
    return {k: np.flatnonzero(ranking <= k) for k in SIZES}


def by_lasso(Z, y):
    """The first penalty on the path that lets k features in (or the last set before more come)."""
    found = {}
    for C in l1_min_c(Z, y, loss="log") * np.logspace(0.001, 1.5, 60):
        model = LogisticRegression(C=C, l1_ratio=1, solver="liblinear", random_state=0)
        chosen = np.flatnonzero(model.fit(Z, y).coef_)
        found.update({k: chosen for k in SIZES if len(chosen) and len(chosen) <= k})
    return found


def by_abess(Z, y):
    """Best-subset search for the training loss, by splicing."""
    return {k: np.flatnonzero(Abess(support_size=k).fit(Z, y).coef_) for k in SIZES}


def by_safdr(Z, y):
    """The default recipe: screen, anneal, choose."""
    path = anneal_path(Z, y, SIZES, random_state=0)
    return {k: result.subsets[result.best] for k, result in zip(SIZES, path, strict=True)}


def held_out_auc(chosen, train, test):
    """Score of one kind of model on the chosen columns; none where the Lasso never had so few."""
    if chosen is None:
        return np.nan
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[train][:, chosen], y[train])
    return roc_auc_score(y[test], model.predict_proba(X[test][:, chosen])[:, 1])


methods = {"safdr": by_safdr, "RFE": by_rfe, "Lasso": by_lasso, "abess": by_abess}
scores = {name: [] for name in methods}
for train, test in StratifiedShuffleSplit(10, test_size=0.3, random_state=0).split(X, y):
    Z = StandardScaler().fit_transform(X[train])
    for name, choose in methods.items():
        chosen = choose(Z, y[train])
        scores[name].append([held_out_auc(chosen.get(k), train, test) for k in SIZES])

# %%
figure, ax = plt.subplots(layout="constrained")
for name, values in scores.items():
    mean = np.mean(values, axis=0)
    ax.plot(SIZES, mean, "o-", label=name, alpha=0.8)
    print(f"{name:<6}", " ".join(f"{value:.4f}" for value in mean))
ax.set(xlabel="Number of features", ylabel="AUC on held-out rows", title="Ten splits, equal sizes")
ax.legend()

# %%
# What a difference is worth: of the means of pairs on the same splits, with their standard error
# (splits overlap, so the truth is wider).
for name in ("RFE", "Lasso", "abess"):
    difference = np.subtract(scores["safdr"], scores[name])
    mean, error = difference.mean(axis=0), difference.std(axis=0, ddof=1) / np.sqrt(10)
    print(
        f"safdr - {name:<6}",
        "  ".join(f"{m:+.4f} ± {e:.4f}" for m, e in zip(mean, error, strict=True)),
    )

# %%
# One data set decides nothing. Twenty at equal sizes, where it wins and where it does not, are on
# the page of evidence.
