"""
How many features: the rules
============================

The best mean score is rarely worth its features. Four rules say how much score to give up for a
smaller set; all are computed from one search, so comparing them is free.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from safdr import AnnealingSelectorCV

X, y = make_classification(
    n_samples=600,
    n_features=20,
    n_informative=10,
    n_redundant=3,
    class_sep=0.8,
    flip_y=0.05,
    random_state=2,
)
search = AnnealingSelectorCV(max_features=14, random_state=0).fit(X, y)

# %%
# ``one_se`` is the default and guards the score. ``one_sd`` is the paper's and selects fewer
# features. ``tolerance`` is for a known worth of a feature, ``best`` selects the best mean.
print(search.n_features_by_rule_)
print(search.rule_note_)

# %%
# The same on a picture: a mark for each rule on the curve of mean scores.
results = search.cv_results_
sizes, means, spreads = (
    results[name] for name in ("n_features", "mean_test_score", "std_test_score")
)
figure, ax = plt.subplots(layout="constrained")
ax.errorbar(sizes, means, spreads, color="0.6", capsize=3, label="mean and deviation of 5 splits")
for (rule, size), marker in zip(search.n_features_by_rule_.items(), "osD*", strict=True):
    at = list(sizes).index(size)
    ax.plot(size, means[at], marker, markersize=11, alpha=0.75, label=f"{rule}: {size}")
ax.set(xlabel="Number of features", ylabel="ROC AUC", title="What each rule takes")
ax.legend(loc="lower right")

# %%
# Another rule needs no new search: ``search.n_features_by_rule_`` has the sizes, and
# ``AnnealingSelector(size)`` takes exactly so many. With a tolerance of your own:
loose = AnnealingSelectorCV(max_features=14, rule="tolerance", tolerance=0.02, random_state=0)
print(loose.fit(X, y).n_features_, "features are within 0.02 of the best score")
