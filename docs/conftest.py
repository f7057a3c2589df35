"""pytest runs the code of the pages that people write, not of those that Sphinx makes."""

collect_ignore_glob = ["conf.py", "_extensions/*", "auto_examples/*", "reference/*"]
