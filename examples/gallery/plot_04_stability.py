"""
Substitutes and stability
=========================

Would other rows choose the same features, and what could replace each?
"""

from sklearn.datasets import load_breast_cancer

from safdr import AnnealingSelector, StabilityDisplay, SubstitutesDisplay, stability

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
selector = AnnealingSelector(3, random_state=0).fit(X, y)
print(list(selector.get_feature_names_out()))

# %%
# The same search on fifty halves of the rows, in complementary pairs. The index is 1 where all
# choose alike and 0 where they choose as dice do.
found = stability(selector, X, y, random_state=0)
print(found)

# %%
StabilityDisplay.from_stability(found).plot().ax_.set_title(
    "How often halves of the rows choose it"
)

# %%
# What each chosen feature could be replaced with, and what that costs in held-out score:
frame = selector.substitutes(X, y)
print(frame[["chosen", "replacement", "loss_difference", "score_difference"]].round(4).to_string())

# %%
SubstitutesDisplay.from_estimator(selector, X, y).plot().ax_.set_title("What a replacement costs")
