"""The papers' experiments: data sets, protocols, and reports beside the published figures."""

PAPERS = {
    "lpd": "reproduction.lpd",
    "mixtgauss": "reproduction.mixtgauss",
    "learn1nn": "reproduction.learn1nn",
    "logm": "reproduction.logm",
    "lamalvq": "reproduction.lamalvq",
}
"""A paper's name on the command line -> the module with its `PAPER` (reproduction.reproduce)."""
