"""What users call: estimators and functions with the habits of scikit-learn."""
