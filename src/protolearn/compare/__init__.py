"""Methods side by side on the same folds: accuracies, ranks and tests of significance."""
