"""Fitted models outside this process: model files, and code for other places."""
