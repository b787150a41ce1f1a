"""The estimator for scikit-learn."""
