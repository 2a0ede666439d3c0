"""
How many features?
==================

Choose the number of features by a rule. A rule accepts a lower score for fewer features.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from safdr import AnnealingSelector, AnnealingSelectorCV, PathDisplay

X, y = make_classification(
    n_samples=600, n_features=20, n_informative=10, class_sep=0.8, flip_y=0.05, random_state=2
)

# %%
# ``one_se`` is the default: the smallest size within one standard error of the best mean score.
# ``one_sd`` is the rule of the paper and selects fewer features. ``best`` selects the best mean.
rules = ("one_sd", "one_se", "best")
searches = {rule: AnnealingSelectorCV(rule=rule, random_state=0).fit(X, y) for rule in rules}
for rule, search in searches.items():
    print(f"{rule:<8}{search.n_features_:>3} features")

# %%
# The rules read the same scores:
figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
for ax, (rule, search) in zip(axes, searches.items(), strict=True):
    PathDisplay.from_estimator(search).plot(ax)
    ax.set_title(rule)

# %%
# If the number of features is given, no cross-validation is needed:
selector = AnnealingSelector(4, random_state=0).fit(X, y)
print(selector.subset_)
