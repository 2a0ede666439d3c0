"""
A criterion of your own
=======================

The label is the sign of a product of two features. No linear criterion can see that; a function
of the chosen columns can, and so can any model.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from safdr import Annealing, AnnealingSelector, CrossValidatedScore
from safdr.testing import check_objective

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 8))
y = (X[:, 2] * X[:, 5] > 0).astype(int)


# %%
# Any function of the chosen columns and the labels that is to be made large. ``check_objective``
# tries in one line whether it keeps what the search relies on.
def agreement(X, y):
    """Share of rows whose nearest other row has the same label."""
    distance = np.sum((X[:, None] - X) ** 2, axis=2)
    np.fill_diagonal(distance, np.inf)
    return float(np.mean(y[distance.argmin(axis=1)] == y))


check_objective(agreement, X[:60], y[:60], skip=("pickles",))

# %%
few = Annealing(n_replicas=8, max_steps=15, tol=0.02)
blind = AnnealingSelector(2, random_state=0).fit(X, y)
seeing = AnnealingSelector(2, annealing=few, criterion=agreement, random_state=0).fit(X, y)
model = CrossValidatedScore(KNeighborsClassifier(5), cv=3)
by_model = AnnealingSelector(2, annealing=few, criterion=model, random_state=0).fit(X, y)
print("default:", blind.subset_, "own function:", seeing.subset_, "a model:", by_model.subset_)

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, selector, title in zip(axes, (blind, seeing), ("Default", "Own function"), strict=True):
    first, second = selector.subset_
    ax.scatter(X[:, first], X[:, second], c=y, s=14, cmap="coolwarm")
    ax.set(xlabel=f"feature {first}", ylabel=f"feature {second}", title=title)
