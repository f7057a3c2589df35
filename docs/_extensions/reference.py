"""The pages of the reference, written from the package: every public name, and what each estimator can do."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import protolearn

# Heading, one sentence, names. A public name that stands in no group is listed under the last heading.
GROUPS = (
    (
        "Everything chosen for you",
        "One call that needs no settings, and one that replaces a model you have.",
        ("AutoPrototypes", "compress"),
    ),
    (
        "Learned prototypes",
        "The loss decides what the prototypes learn. Start with `LOGM`.",
        ("LOGM", "GLVQ", "MCE", "RSLVQ", "RSLVQ1", "SNPC", "MAXP1", "Learn1NN", "PrototypeClassifier"),
    ),
    (
        "Learned prototypes and a learned distance",
        "These classes learn which features count, and how features act together.",
        ("GMLVQ", "LGMLVQ", "GRLVQ", "LPD", "LaMaLVQ"),
    ),
    (
        "Kohonen's rules",
        "The classical updates, for comparison and for teaching.",
        ("LVQ1", "OLVQ1", "LVQ2", "LVQ21", "LVQ3", "DSM"),
    ),
    (
        "Smaller training sets",
        "Reducers keep some of your samples, or make a few new ones, and classify by the nearest.",
        ("WilsonEditing", "HartCondensing", "ChenCondensing", "MixtGauss"),
    ),
    ("A distance for k-NN", "A linear map under which nearest neighbours share their class.", ("LMNN",)),
    ("Prototypes that you give", "No learning: class means, k-means centres or an array.", ("NearestPrototype",)),
    ("Model files", "One JSON file, which loads without running code.", ("save", "load")),
    ("More", "", ()),
)
# Folder of the package, heading, one sentence, names below it; "*" stands for its `__all__`.
ROOMS = (
    ("explain", "Explaining decisions", "Why a row gets its class, and what would change the decision.", ("*",)),
    (
        "report",
        "Pictures and reports",
        "Plots of fitted models, and the report of `protolearn fit`. These functions need matplotlib.",
        ("*", "report.report_page", "report.write_report"),
    ),
    ("export", "Export", "A fitted model as C99, JavaScript, Python or ONNX.", ("*",)),
    (
        "auto",
        "Choosing sizes",
        "Models within a budget of bytes; the number of prototypes by validation or by structural risk.",
        (
            "*",
            "srm.StructuralRiskSelector",
            "srm.complexity_penalty",
            "srm.vc_dimension",
            "validation.choose_on_validation",
        ),
    ),
    (
        "compare",
        "Comparing methods",
        "Methods on the same folds, and the table of their figures.",
        ("comparison.compare", "summary.summary"),
    ),
    ("tables", "Tables", "Columns of any kind as features.", ("*",)),
    ("data", "Data in blocks", "Training sets that do not fit into memory.", ("Blocks", "ParquetBlocks")),
    ("initializers", "Starts", "Where prototypes start.", ("SharedStart",)),
    ("metrics", "Metrics", "The base of a distance of your own, and the learned matrix.", ("Metric", "omega.Omega")),
    ("losses", "Losses", "The base of a loss of your own.", ("PairLoss",)),
)
HERE = Path(__file__).parents[1] / "reference"


def public_names(room: str, chosen: tuple[str, ...]) -> list[str]:
    """The names that a folder of the package shows."""
    found = import_module(f"protolearn.{room}").__all__ if "*" in chosen else []
    return sorted([*found, *(name for name in chosen if name != "*")], key=str.lower)


def listing(module: str, names: Any) -> list[str]:
    """A table of names, each with its page."""
    rows = [f"   {module}.{name}" for name in names]
    return [
        "```{eval-rst}",
        ".. autosummary::",
        "   :toctree: generated",
        "   :nosignatures:",
        "",
        *rows,
        "```",
        "",
    ]


def index() -> str:
    """The first page."""
    lines = ["# Reference", ""]
    lines += ["All names of this page are imported from `protolearn`: `from protolearn import LOGM`.", ""]
    lines += [
        "What each estimator accepts is in [one table](tags.md); the papers are on [another page](../papers.md).",
        "",
    ]
    left = {*protolearn.__all__, *protolearn._HOME} - {name for _, _, names in GROUPS for name in names}
    for heading, sentence, names in GROUPS:
        shown = sorted(left, key=str.lower) if heading == "More" else [n for n in names if n in protolearn._HOME]
        if shown:
            lines += [f"## {heading}", "", sentence, "", *listing("protolearn", shown)]
    for room, heading, sentence, chosen in ROOMS:
        lines += [f"## {heading}: `protolearn.{room}`", "", sentence, ""]
        lines += listing(f"protolearn.{room}", public_names(room, chosen))
    lines += ["```{toctree}", ":hidden:", "", "tags", "../papers", "```", ""]
    return "\n".join(lines)


def abilities(estimator: Any) -> list[bool]:
    """What an estimator can do, by its tags and its methods."""
    import inspect

    tags = estimator.__sklearn_tags__()
    fit = inspect.signature(estimator.fit).parameters
    names = inspect.signature(type(estimator)).parameters
    return [
        tags.input_tags.sparse,
        tags.input_tags.allow_nan,
        "sample_weight" in fit,
        "class_weight" in names,
        hasattr(estimator, "partial_fit"),
        hasattr(estimator, "predict_proba"),
        hasattr(estimator, "transform"),
        hasattr(estimator, "fit_resample"),
        "metric" in names or "scope" in names,
    ]


HEADINGS = (
    "sparse `X`",
    "NaN in `X`",
    "`sample_weight`",
    "`class_weight`",
    "`partial_fit`",
    "`predict_proba`",
    "`transform`",
    "`fit_resample`",
    "choice of metric",
)


def tags() -> str:
    """The table of what each estimator can do."""
    lines = ["# What each estimator accepts", ""]
    lines += ["The table is made from the estimators when the site is built.", ""]
    lines += ["::::{div} table-wide", ""]
    lines += ["| | " + " | ".join(HEADINGS) + " |", "|---" * (len(HEADINGS) + 1) + "|"]
    for name in sorted(protolearn.__all__, key=str.lower):
        estimator = getattr(protolearn, name)()
        marks = ["yes" if able else "" for able in abilities(estimator)]
        lines.append(f"| {{py:class}}`~protolearn.{name}` | " + " | ".join(marks) + " |")
    lines += ["", "::::", ""]
    lines += ["All estimators take NumPy arrays, pandas and polars data frames, float32 and float64. `AutoPrototypes`"]
    lines += ["also takes columns of texts and missing values; the others need a step before them:"]
    lines += ["[categories and missing values](../guide/tables.md)."]
    return "\n".join([*lines, ""])


def write(app: Any, config: Any) -> None:
    """Write the pages, each only where it differs, so that Sphinx reads it again only then."""
    HERE.mkdir(exist_ok=True)
    for name, text in (("index.md", index()), ("tags.md", tags())):
        path = HERE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx; the pages are there before it looks for pages."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True}
