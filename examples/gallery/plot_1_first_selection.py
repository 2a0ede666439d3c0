"""
A first selection
=================

Select the few of thirty measurements that separate malignant from benign tumours.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from safdr import AnnealingSelectorCV, PathDisplay, SelectionDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# The features need no scaling. The selector searches each size on five splits. It selects the
# smallest size within one standard error of the best score.
search = AnnealingSelectorCV(random_state=0).fit(X_train, y_train)
print(list(search.get_feature_names_out()))

# %%
# The fitted selector is a logistic model too. Measure it on held-out rows.
auc = roc_auc_score(y_test, search.decision_function(X_test))
print(f"AUC with {search.n_features_} of {X.shape[1]} features: {auc:.3f}")

# %%
# The score by number of features:
PathDisplay.from_estimator(search).plot()

# %%
# The features of each size. If splits disagree on a feature, another feature replaces it.
SelectionDisplay.from_estimator(search).plot()
