"""Accuracy against bytes, one panel a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

_LOOKS = {
    "protolearn": {"color": "tab:red", "marker": "o", "linewidth": 2.0},
    "linear, int8": {"color": "tab:blue", "marker": "s"},
    "decision tree": {"color": "tab:green", "marker": "^"},
    "random forest": {"color": "tab:brown", "marker": "v"},
}


def plot_sizes(
    rows: Sequence[Mapping[str, str]],
    path: Path,
    sets: Sequence[str],
    published: Mapping[str, Sequence[tuple[str, int, float]]],
) -> None:
    """Draw the rows of `reproduction.size`; of our methods the one that validation prefers.

    Parameters
    ----------
    rows : with "set", "budget", "method", "bytes", "validation" and "test"
    path : picture to write
    sets : names of the panels
    published : figures of others by set: text, bytes, accuracy
    """
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(sets), figsize=(3.6 * len(sets), 3.4), squeeze=False)
    for panel, name in zip(panels[0], sets, strict=True):
        lines: dict[str, dict[int, tuple[float, int, float]]] = {method: {} for method in _LOOKS}
        for row in rows:
            if row["set"] != name or float(row["test"]) == 0.0:
                continue
            method = "protolearn" if "shrunk" in row["method"] else row["method"]
            found = (float(row["validation"]), int(row["bytes"]), float(row["test"]))
            budget = int(row["budget"])
            if budget not in lines[method] or found[0] > lines[method][budget][0]:
                lines[method][budget] = found
        for method, line in lines.items():
            points = [line[budget] for budget in sorted(line)]
            sizes, scores = [size for _, size, _ in points], [100 * test for _, _, test in points]
            panel.plot(sizes, scores, label=method, markersize=4, **_LOOKS[method])  # type: ignore[arg-type]
        for mark, (text, size, accuracy) in zip("*PX", published.get(name, ()), strict=False):
            panel.plot([size], [100 * accuracy], mark, color="black", markersize=8, label=text)
        panel.set_xscale("log", base=2)
        ticks = [1024, 2048, 4096, 16384, 65536]
        panel.set_xticks(ticks, [f"{tick // 1024}" for tick in ticks])
        panel.set_xlabel("kB of tables")
        panel.set_title(name)
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("test accuracy, %")
    labelled = [pair for panel in panels[0] for pair in zip(*panel.get_legend_handles_labels(), strict=True)]
    handles = {text: handle for handle, text in labelled}
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncol=len(handles), frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)
