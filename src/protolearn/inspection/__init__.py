"""Looking at fitted models: verification curves, plots."""
