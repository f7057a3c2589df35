"""Every classifier and metric, exported: how often the C program, onnxruntime and node give another label than Python.

    PROTOLEARN_DATA=<folder> python -m reproduction.agreement [--rows FILE.csv] [--sets iris wine ...]

A label may differ where the two nearest distances differ by less than 1e-5 of them: such rows are counted. Fixed point
is judged by accuracy. docs/export.md has the table.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import protolearn
from protolearn.export import export_c, export_js, to_onnx
from protolearn.export.c import DTYPES
from protolearn.export.folding import plain_model
from protolearn.metrics import METRICS
from protolearn.metrics.omega import Omega
from reproduction.datasets import load
from reproduction.programs import run_c, run_js
from reproduction.report import provenance, table, write_section

COMMAND = "python -m reproduction.agreement"
SETS = ("breast", "glass", "heart", "iris", "liver", "pima", "sonar", "vehicle", "vowel", "wine")
NEAR = 1e-5
METRIC_CHOICES: dict[str, Any] = {
    **{name: name for name in METRICS},
    "omega, rank 2": Omega(n_components=2),
    "local omega, rank 2": Omega(n_components=2, scope="prototype"),
}
WITH_METRIC = (
    "LVQ1", "OLVQ1", "LVQ2", "LVQ21", "LVQ3", "DSM", "GLVQ", "MCE", "SNPC", "MAXP1", "RSLVQ", "RSLVQ1", "LOGM",
    "PrototypeClassifier", "NearestPrototype",
)  # fmt: skip
FIELDS = ("set", "model", "rows", "near_ties", "c", "onnx", "js", "accuracy", "int8", "int16", "probability")


def _hinge(d_own, d_rival, slope):
    margin = slope * (d_rival - d_own)
    if margin >= 1.0:
        return 0.0, 0.0, 0.0
    return 1.0 - margin, slope, -slope


def cases(max_iter: int = 5) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every classifier, each under every metric it takes."""

    def make(name: str, **settings: Any) -> Callable[[], Any]:
        kind = getattr(protolearn, name)
        known = kind().get_params()
        chosen = {"random_state": 0, "n_prototypes": 2, "max_iter": max_iter} | settings
        return lambda: kind(**{key: value for key, value in chosen.items() if key in known})

    for name in WITH_METRIC:
        for metric, choice in METRIC_CHOICES.items():
            yield f"{name}, {metric}", make(name, metric=choice)
    yield "PrototypeClassifier, own loss", make("PrototypeClassifier", loss=_hinge)
    yield "GRLVQ", make("GRLVQ")
    yield "GMLVQ", make("GMLVQ")
    yield "GMLVQ, rank 2", make("GMLVQ", n_components=2)
    yield "LGMLVQ, class", make("LGMLVQ", scope="class")
    yield "LGMLVQ, prototype", make("LGMLVQ", scope="prototype")
    yield "LPD", make("LPD")
    yield "Learn1NN", make("Learn1NN")
    for scope in ("global", "class", "prototype"):
        yield f"LaMaLVQ, {scope}", make("LaMaLVQ", scope=scope, rounds=2, epochs=2, max_iter=20)
    for name in ("WilsonEditing", "HartCondensing", "ChenCondensing", "MixtGauss"):
        yield name, make(name)
    yield "MixtGauss, mixture", make("MixtGauss", classify_by="mixture")


def near_ties(D: np.ndarray) -> np.ndarray:
    """Rows whose two nearest distances, of different prototypes or classes, differ by less than 1e-5 of them."""
    two = np.partition(D, 1, axis=1)[:, :2]
    return two[:, 1] - two[:, 0] < NEAR * np.maximum(np.abs(two[:, 1]), 1e-300)


def compare(
    models: Sequence[tuple[str, Any]],
    train: np.ndarray,
    test: np.ndarray,
    y: np.ndarray,
    dtypes: Sequence[str] = DTYPES,
) -> Iterator[dict]:
    """Export each fitted model and count, on the test rows, labels that differ and are not near ties."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exports, modules, whose = [], [], []
        for number, (_, model) in enumerate(models):
            for dtype in dtypes:
                if dtype != "float32" and plain_model(model).bias is not None:
                    continue
                with warnings.catch_warnings():
                    # Labels that fixed point changes are what is counted here.
                    warnings.simplefilter("ignore")
                    exports.append(export_c(model, folder / f"m{number}_{dtype}.h", dtype=dtype, X=train))
                whose.append((number, dtype))
            modules.append(folder / f"m{number}.mjs")
            export_js(model, modules[-1])
        answers = dict(zip(whose, run_c(folder, exports, [test] * len(exports)), strict=True))
        scripts = run_js(modules, [test] * len(modules))
    for number, (name, model) in enumerate(models):
        classes = model.classes_
        wanted = np.searchsorted(classes, model.predict(test))
        plain = plain_model(model)
        D = plain.distances(test)
        free = near_ties(D if plain.bias is None else plain.reduced(D))
        truth = np.searchsorted(classes, y)
        onnx_codes, probability = _onnx_answers(model, test)
        row: dict[str, Any] = {"model": name, "rows": len(test), "near_ties": int(free.sum())}
        row["c"] = int(((answers[number, "float32"].codes != wanted) & ~free).sum())
        row["onnx"] = int(((onnx_codes != wanted) & ~free).sum())
        row["js"] = int(((np.array([r["index"] for r in scripts[number]]) != wanted) & ~free).sum())
        row["accuracy"] = round(float(np.mean(wanted == truth)), 6)
        for dtype in ("int8", "int16"):
            found = answers.get((number, dtype))
            row[dtype] = "" if found is None else round(float(np.mean(found.codes == truth)), 6)
        own = model.predict_proba(test)
        by_script = np.array([r["probabilities"] for r in scripts[number]])
        row["probability"] = f"{max(np.abs(probability - own).max(), np.abs(by_script - own).max()):.1e}"
        yield row


def _onnx_answers(model: Any, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import onnxruntime

    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    labels, probabilities = session.run(None, {"X": X.astype(np.float32)})
    return np.searchsorted(model.classes_, labels), probabilities


def parts(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test rows; text labels on every second set, so that both kinds are seen."""
    data = load(name)
    y = np.array([f"class {code}" for code in data.y]) if SETS.index(name) % 2 else data.y
    # As a sensor would give them: Python, onnxruntime and C see the same numbers.
    X = data.X.astype(np.float32).astype(np.float64)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
    return X_train, y_train, X_test, y_test


def run(names: Iterable[str], rows: Path, chosen: Sequence[tuple[str, Callable[[], Any]]], batch: int = 24) -> None:
    """Append one row for each set and model that the file lacks."""
    done = {(row["set"], row["model"]) for row in read(rows)}
    for name in names:
        X, y, X_test, y_test = parts(name)
        left = [(label, make) for label, make in chosen if (name, label) not in done]
        for start in range(0, len(left), batch):
            fitted = []
            for label, make in left[start : start + batch]:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    fitted.append((label, make_pipeline(StandardScaler(), make()).fit(X, y)))
            found = [{"set": name, **row} for row in compare(fitted, X, X_test, y_test)]
            append(rows, found)
            print(f"{name}: {start + len(fitted)} of {len(left)}", flush=True)


def read(path: Path) -> list[dict[str, str]]:
    """The rows written so far."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append(path: Path, found: Sequence[dict]) -> None:
    """Add rows to a file, with its header where it is new."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerows(found)


def summary(rows: Sequence[dict[str, str]]) -> str:
    """One line a set: rows compared, labels that differ, and what fixed point costs."""
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        own = [row for row in rows if row["set"] == name]
        lines.append((name, *_line(own)))
    lines.append(("all", *_line(rows)))
    header = (
        "set", "models", "labels compared", "near ties", "C differs", "onnxruntime differs", "JavaScript differs",
        "int8: mean, worst change of accuracy", "within 1 point or 1 row", "int16",
        "largest difference of a probability",
    )  # fmt: skip
    return table(header, lines)


def _line(rows: Sequence[dict[str, str]]) -> tuple:
    counts = [sum(int(row[key]) for row in rows) for key in ("rows", "near_ties", "c", "onnx", "js")]
    changes = []
    for dtype in ("int8", "int16"):
        change = [100 * (float(row[dtype]) - float(row["accuracy"])) for row in rows if row[dtype]]
        changes.append(f"{np.mean(change):+.2f}, {min(change):+.2f}")
        if dtype == "int8":
            allowed = [max(1.0, 100.01 / int(row["rows"])) for row in rows if row[dtype]]
            changes.append(f"{100 * np.mean(np.abs(change) <= allowed):.1f}%")
    return len(rows), *counts, *changes, max((row["probability"] for row in rows), key=float)


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, default=Path("agreement.csv"))
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args()
    run(options.sets, options.rows, list(cases()))
    text = summary(read(options.rows))
    print(text)
    if options.docs:
        write_section(options.docs / "export.md", "agreement", text + "\n\n" + provenance(COMMAND))


if __name__ == "__main__":
    main()
