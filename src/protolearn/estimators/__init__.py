"""scikit-learn classifiers: defaults, documentation, which parts."""
