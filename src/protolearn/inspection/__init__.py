"""Looking at fitted models and results. matplotlib is imported on use, and only here."""
