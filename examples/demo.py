"""Select the fewest features that separate malignant from benign tumours, and print the model."""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safdr import AnnealingSelectorCV

data = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, stratify=data.target, random_state=0
)

search = AnnealingSelectorCV(n_jobs=2, random_state=0).fit(X_train, y_train)
full = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)

print(f"Breast cancer (Wisconsin): {len(X_train)} training rows, {len(X_test)} held-out rows\n")
print(f"{'selected feature':<25}{'coefficient':>13}{'per sd':>10}")
names = search.get_feature_names_out(data.feature_names)
effects = search.estimator_.coef_[0] * X_train[:, search.subset_].std(axis=0)
for name, value, effect in zip(names, search.estimator_.coef_[0], effects, strict=True):
    print(f"{name:<25}{value:>13.5g}{effect:>+10.2f}")
print(f"{'(intercept)':<25}{search.estimator_.intercept_[0]:>13.5g}\n")

selected_auc = roc_auc_score(y_test, search.decision_function(X_test))
full_auc = roc_auc_score(y_test, full.decision_function(X_test))
print(f"AUC on held-out rows: {selected_auc:.4f} with {search.n_features_} features,")
print(
    f"                      {full_auc:.4f} with all {X_train.shape[1]} (penalised logistic model)"
)
