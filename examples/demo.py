"""Choose the fewest features that tell malignant from benign, and show the model on them."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safdr import AnnealingSelectorCV

data = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.2, stratify=data.target, random_state=0
)

search = AnnealingSelectorCV(max_features=10, n_jobs=2, random_state=0).fit(X_train, y_train)
everything = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)

n_features = X_train.shape[1]
print(
    f"Breast cancer (Wisconsin): {len(X_train)} rows to learn from, {len(X_test)} held out, "
    f"{n_features} features\n"
)
print(f"{'chosen feature':<25}{'coefficient':>13}{'odds ratio a standard deviation':>34}")
names = search.get_feature_names_out(data.feature_names)
spreads = search.transform(X_train).std(axis=0)
for name, coefficient, spread in zip(names, search.estimator_.coef_[0], spreads, strict=True):
    print(f"{name:<25}{coefficient:>13.5g}{np.exp(coefficient * spread):>34.3g}")
print(f"{'(intercept)':<25}{search.estimator_.intercept_[0]:>13.5g}\n")

chosen_auc = roc_auc_score(y_test, search.decision_function(X_test))
full_auc = roc_auc_score(y_test, everything.decision_function(X_test))
print(f"AUC on held-out rows: {chosen_auc:.4f} with {search.n_features_} features,")
print(f"                      {full_auc:.4f} with all {n_features} (a penalised logistic model).")
print(f"What each rule would choose: {search.n_features_by_rule_}")
