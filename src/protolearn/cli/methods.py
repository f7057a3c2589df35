"""`protolearn methods`: the methods, their papers, one line each."""

from __future__ import annotations

import argparse

import protolearn

PAPERS = {
    "AutoPrototypes": "",
    "ChenCondensing": "Chen and Jozwik 1996",
    "DSM": "Geva and Sitte 1991",
    "GLVQ": "Sato and Yamada 1996",
    "GMLVQ": "Schneider, Biehl and Hammer 2009",
    "GRLVQ": "Hammer and Villmann 2002",
    "HartCondensing": "Hart 1968",
    "LaMaLVQ": "Kelders 2013",
    "Learn1NN": "Bermejo 2000",
    "LGMLVQ": "Schneider, Biehl and Hammer 2009",
    "LMNN": "Weinberger and Saul 2009",
    "LOGM": "Jin, Liu and Hou 2010",
    "LPD": "Paredes and Vidal 2006",
    "LVQ1": "Kohonen 1990",
    "LVQ2": "Kohonen 1990",
    "LVQ21": "Kohonen 1990",
    "LVQ3": "Kohonen 1990",
    "MAXP1": "Jin, Liu and Hou 2010",
    "MCE": "Juang and Katagiri 1992",
    "MixtGauss": "Lozano, Sotoca, Sanchez and Pla",
    "NearestPrototype": "",
    "OLVQ1": "Kohonen 1992",
    "PrototypeClassifier": "",
    "RSLVQ": "Seo and Obermayer 2003",
    "RSLVQ1": "Jin, Liu and Hou 2010",
    "SNPC": "Seo, Bode and Obermayer 2003",
    "WilsonEditing": "Wilson 1972",
}
AUTOMATIC = "autoprototypes"
_NO_METHODS = ("LMNN", "AutoPrototypes")
METHODS = {name.lower(): name for name in sorted(protolearn.__all__, key=str.lower) if name not in _NO_METHODS}
"""What `fit --method` takes, and the class it stands for."""


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser("methods", help="the methods, their papers, one line each")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the list."""
    from protolearn.cli.console import table

    rows = [("method", "paper", "")]
    for name in sorted(protolearn.__all__, key=str.lower):
        line = (getattr(protolearn, name).__doc__ or "").splitlines()[0]
        rows.append((name.lower(), PAPERS.get(name, ""), line))
    print(table(rows, right=(False, False, False)))
    return 0
