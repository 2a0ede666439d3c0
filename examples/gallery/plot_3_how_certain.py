"""
How certain is the selection?
=============================

Four questions: is the subset optimal, do other subsets come close, do half-samples select the same
features, and what replaces each feature?
"""

from sklearn.datasets import load_breast_cancer

from safdr import (
    AnnealingSelector,
    StabilityDisplay,
    SubstitutesDisplay,
    near_optimal,
    prove,
    stability,
)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
selector = AnnealingSelector(3, random_state=0).fit(X, y)
print(list(selector.get_feature_names_out()))

# %%
# A proof bounds the criterion over all subsets. ``near_optimal`` lists the subsets within 1 % of
# the best one. Both are about the training rows.
proof = prove(selector, X, y)
print("proven" if proof.optimal else "not proven", list(X.columns[proof.subset]))
near = near_optimal(selector, X, y, rtol=0.01)
print(f"subsets within 1 %: {near.n_total}")

# %%
# Select again on half-samples. The stability index is 1 if all agree, and 0 for chance.
found = stability(selector, X, y, n_resamples=40, random_state=0)
StabilityDisplay(found).plot()

# %%
# Replace each feature by its best substitutes, and leave it out:
display = SubstitutesDisplay.from_estimator(selector, X, y).plot()
columns = ["selected", "replacement", "score_difference"]
print(display.to_frame()[columns].round(4).to_string(index=False))
