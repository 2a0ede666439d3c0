"""
More than two classes
=====================

Three cultivars of wine, thirteen measurements. The criterion is the trace of the between-class
scatter in units of the within-class scatter; the model is a softmax.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from safdr import AnnealingSelector, AnnealingSelectorCV

data = load_wine(as_frame=True)
X, y = data.data, data.target_names[data.target]

search = AnnealingSelectorCV(max_features=8, random_state=0).fit(X, y)
print(search.n_features_by_rule_)
print(list(search.get_feature_names_out()))

# %%
# The chosen three, two at a time:
three = AnnealingSelector(3, random_state=0).fit(X, y)
names = three.get_feature_names_out()
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, (i, j) in zip(axes, ((0, 1), (0, 2), (1, 2)), strict=True):
    for label in three.classes_:
        ax.scatter(X.loc[y == label, names[i]], X.loc[y == label, names[j]], s=12, label=label)
    ax.set(xlabel=names[i], ylabel=names[j])
axes[0].legend()
figure.suptitle("Three classes on three of thirteen features")

# %%
# Coefficients, one row a class, on the measurements as they are:
for label, coefficients in zip(three.classes_, three.estimator_.coef_, strict=True):
    terms = zip(three.get_feature_names_out(), coefficients, strict=True)
    print(label, {name: round(float(value), 3) for name, value in terms})
