"""
A first selection
=================

Thirty measurements of cells tell malignant tumours from benign ones. How few would do?
"""

from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from safdr import AnnealingSelectorCV, PathDisplay, SelectionDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# No scaling is needed. For each number of features up to ten the search runs on five splits; the
# fewest features whose score is within one standard error of the best are selected.
search = AnnealingSelectorCV(max_features=10, random_state=0).fit(X_train, y_train)
print(list(search.get_feature_names_out()))
print(search.rule_note_)

# %%
# The selector is a model too. Rows that took no part in the choice:
auc = roc_auc_score(y_test, search.predict_proba(X_test)[:, 1])
print(f"AUC on held-out rows with {search.n_features_} of {X.shape[1]} features: {auc:.3f}")

# %%
# How the score rises with the number of features:
PathDisplay.from_estimator(search).plot().ax_.set_title("Score against the number of features")

# %%
# And which features come in at which size, and in how many of the splits. Where a row is pale,
# splits disagree: features stand in for each other.
SelectionDisplay.from_estimator(search).plot().ax_.set_title("Who is in, at which size")
