"""
Regression
==========

A measured target instead of classes: R² is the criterion and the score. The diabetes data with
all squares and products have 65 features and 442 rows.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import PolynomialFeatures

from safdr import AnnealingRegressorSelectorCV, PathDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True)
expand = PolynomialFeatures(2, include_bias=False).fit(X)
X2 = pd.DataFrame(expand.transform(X), columns=expand.get_feature_names_out())

search = AnnealingRegressorSelectorCV(max_features=12, random_state=0).fit(X2, y)
print(search.rule_note_)
for name, value in zip(search.get_feature_names_out(), search.estimator_.coef_, strict=True):
    print(f"{name:<12}{value:>10.0f}")

# %%
PathDisplay.from_estimator(search).plot().ax_.set_title("R² against the number of features")

# %%
# Predictions against what was measured:
figure, ax = plt.subplots(layout="constrained")
ax.scatter(search.predict(X2), y, s=9, alpha=0.5)
ax.axline((150, 150), slope=1, color="0.5", lw=1)
ax.set(xlabel="Predicted", ylabel="Measured", title=f"{search.n_features_} of 65 features")
