"""TL-NMF as an estimator of scikit-learn."""
