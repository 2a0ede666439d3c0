"""
A custom criterion
==================

The label is the sign of a product of two features. No linear criterion finds these, but a custom
criterion does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from safdr import Annealing, AnnealingSelector

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 8))
y = (X[:, 2] * X[:, 5] > 0).astype(int)


# %%
# A criterion gets the columns of a subset and the labels. The search maximises it.
def neighbour_accuracy(X, y):
    """Return the share of rows whose nearest other row has the same label."""
    distance = np.sum((X[:, None] - X) ** 2, axis=2)
    np.fill_diagonal(distance, np.inf)
    return float(np.mean(y[distance.argmin(axis=1)] == y))


# %%
# A custom criterion is slower than the built-in one, so that few steps are useful. The model on
# the selected features can be any estimator.
linear = AnnealingSelector(2, random_state=0).fit(X, y)
custom = AnnealingSelector(
    2,
    criterion=neighbour_accuracy,
    estimator=KNeighborsClassifier(5),
    annealing=Annealing(n_replicas=8, max_steps=15, tol=0.02),
    random_state=0,
).fit(X, y)
print("built-in:", linear.subset_, "custom:", custom.subset_)
print(f"accuracy: {linear.score(X, y):.2f} and {custom.score(X, y):.2f}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, selector, title in zip(axes, (linear, custom), ("Built-in", "Custom"), strict=True):
    first, second = selector.subset_
    ax.scatter(X[:, first], X[:, second], c=y, s=14, cmap="coolwarm")
    ax.set(xlabel=f"feature {first}", ylabel=f"feature {second}", title=title)
