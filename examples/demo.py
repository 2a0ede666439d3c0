"""Choose the fewest features that tell malignant from benign, and show the model on them."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safdr import AnnealingSelectorCV

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)

search = AnnealingSelectorCV(max_features=10, n_jobs=2, random_state=0).fit(X_train, y_train)
everything = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)

print(
    f"Breast cancer (Wisconsin): {len(X_train)} rows to learn from, {len(X_test)} held out, "
    f"{X.shape[1]} features\n"
)
print(f"{'chosen feature':<25}{'coefficient':>13}{'odds ratio a standard deviation':>34}")
for name, coefficient in zip(
    search.get_feature_names_out(), search.estimator_.coef_[0], strict=True
):
    odds_ratio = np.exp(coefficient * X_train[name].std())
    print(f"{name:<25}{coefficient:>13.5g}{odds_ratio:>34.3g}")
print(f"{'(intercept)':<25}{search.estimator_.intercept_[0]:>13.5g}\n")

chosen_auc = roc_auc_score(y_test, search.decision_function(X_test))
full_auc = roc_auc_score(y_test, everything.decision_function(X_test))
print(f"AUC on held-out rows: {chosen_auc:.4f} with {search.n_features_} features,")
print(f"                      {full_auc:.4f} with all {X.shape[1]} (a penalised logistic model).")
print(f"Other rules would choose: {search.n_features_by_rule_}")
