"""The papers' experiments: data sets, protocols, and reports beside the published figures."""

PAPERS = {
    "lpd": "protolearn.experiments.lpd",
    "mixtgauss": "protolearn.experiments.mixtgauss",
    "learn1nn": "protolearn.experiments.learn1nn",
    "logm": "protolearn.experiments.logm",
    "lamalvq": "protolearn.experiments.lamalvq",
}
"""A paper's name on the command line -> the module with its `PAPER` (protolearn.experiments.reproduce)."""
