"""Explanations, plots and reports of fitted models."""
