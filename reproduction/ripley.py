"""Ripley's synthetic data in the manner of learn1NN's section 5.2: Table 3."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from protolearn.estimators.learn1nn import Learn1NN
from protolearn.estimators.lvq import LVQ1
from reproduction.datasets import load
from reproduction.learn1nn_published import RIPLEY
from reproduction.protocols import LEARN1NN_RIPLEY
from reproduction.report import Beside, Block, Sheet
from reproduction.reproduce import Outcome, Rows, Unit

SIZES = tuple(RIPLEY["learn1NN"])
_GRIDS = {
    "learn1NN": dict(LEARN1NN_RIPLEY.grid),
    "LVQ1": {"learning_rate": (0.02, 0.05, 0.1)},
}
# What the rows of `ripley-tuning` choose; the table says so, or that they do not.
CHOSEN: dict[str, dict[str, float]] = {
    "learn1NN": {"learning_rate": 0.01, "sigma": 0.15},
    "LVQ1": {"learning_rate": 0.02},
}
_TUNING_ORDERS = 1000


def _settings(name: str) -> list[dict[str, float]]:
    grid = _GRIDS[name]
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def said(settings: dict[str, float]) -> str:
    """alpha and sigma in words."""
    names = {"learning_rate": "alpha", "sigma": "sigma"}
    return ", ".join(f"{names[key]} {value:g}" for key, value in settings.items())


METHODS = {f"{name} M={total}": (name, total) for total in SIZES for name in RIPLEY}
TUNING = {
    f"{name} M={total} {said(settings)}": (name, total, settings)
    for name in RIPLEY
    for settings in _settings(name)
    for total in SIZES
}


def ripley_sample(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """New samples of Ripley's mixture: two classes, two Gaussians of variance 0.03 each."""
    random = np.random.RandomState(seed)
    centres = np.array([[-0.7, 0.3], [0.3, 0.3], [-0.3, 0.7], [0.4, 0.7]])
    component = random.randint(4, size=n)
    return centres[component] + np.sqrt(0.03) * random.randn(n, 2), (component > 1).astype(np.int64)


def bayes_border(X: np.ndarray) -> np.ndarray:
    """Log ratio of the two class densities of Ripley's mixture: above 0 on the side of class 1."""
    centres = np.array([[-0.7, 0.3], [0.3, 0.3], [-0.3, 0.7], [0.4, 0.7]])
    D = ((X[:, None] - centres[None]) ** 2).sum(axis=2)
    density = np.exp(-D / 0.06)
    return np.log(density[:, 2:].sum(axis=1)) - np.log(density[:, :2].sum(axis=1))


def ripley_model(per_class: int, seed: int, **settings: Any) -> Learn1NN:
    """Section 5.2: eveninit, constant alpha, stopped at a minimum of the training error, looked at each 200 epochs.

    Two looks without a lower error end it: after one, a run that has only paused is lost now and then.
    """
    return Learn1NN(
        per_class,
        init="eveninit",
        bounds=None,
        schedule="constant",
        max_iter=4000,
        keep="best",
        check_every=200,
        patience=2,
        random_state=seed,
        **settings,
    )


def lvq1_model(per_class: int, seed: int, **settings: Any) -> LVQ1:
    """LVQ1 from the same start, 200 epochs, rate falling to 0."""
    return LVQ1(per_class, init="eveninit", bounds=None, max_iter=200, random_state=seed, **settings)


_MODELS: dict[str, Any] = {"learn1NN": ripley_model, "LVQ1": lvq1_model}


def measure(unit: Unit) -> Outcome:
    """Test error of one run; the order of the data, and with it the start, is the run's own."""
    name, total = METHODS[unit.method]
    X, y, X_test, y_test = load("synth").split()
    order = np.random.RandomState(unit.seed).permutation(len(X))
    model = _MODELS[name](total // 2, unit.seed, **CHOSEN[name]).fit(X[order], y[order])
    return Outcome(1 - model.score(X_test, y_test), {"epochs": model.n_iter_})


def measure_tuning(unit: Unit) -> Outcome:
    """Error on 250 new samples of the mixture with one setting."""
    name, total, settings = TUNING[unit.method]
    X, y, _, _ = load("synth").split()
    order = np.random.RandomState(_TUNING_ORDERS + unit.seed).permutation(len(X))
    model = _MODELS[name](total // 2, unit.seed, **settings).fit(X[order], y[order])
    return Outcome(1 - model.score(*ripley_sample(250, seed=0)))


def chosen_by_rows(rows: Rows) -> dict[str, dict[str, float]]:
    """The settings of the lowest mean error over all M and runs, as far as there are rows for all of them."""
    means = rows.means("ripley-tuning").get("synth", {})
    found = {}
    for name in RIPLEY:
        errors = {}
        for settings in _settings(name):
            keys = [f"{name} M={total} {said(settings)}" for total in SIZES]
            if all(key in means for key in keys):
                errors[said(settings)] = float(np.mean([means[key] for key in keys])), settings
        if len(errors) == len(_settings(name)):
            found[name] = min(errors.values(), key=lambda pair: pair[0])[1]
    return found


def show(rows: Rows) -> list[Block]:
    """Mean, deviation, maximum and minimum by number of prototypes, beside the printed ones."""
    values = rows.values("ripley").get("synth", {})
    sheets: list[Block] = []
    means: dict[str, dict[int, float]] = {}
    runs = 0
    for name, printed in RIPLEY.items():
        lines: list[tuple[str | Beside, ...]] = []
        for total, published in printed.items():
            found = 100 * values.get(f"{name} M={total}", np.array([]))
            if len(found):
                runs = max(runs, len(found))
                means.setdefault(name, {})[total] = float(found.mean())
                numbers = (found.mean(), found.std(), found.max(), found.min())
                cells = [Beside(float(ours), theirs) for ours, theirs in zip(numbers, published, strict=True)]
                lines.append((str(total), *cells))
        if lines:
            header = ("M", "mean", "standard deviation", "max", "min")
            sheets.append(Sheet(f"{name}, test error %", header, tuple(lines)))
    if not sheets:
        return []
    tried = " and ".join(f"{key} {value}" for key, value in _GRIDS["learn1NN"].items())
    return [
        f"Test error %, {runs} runs that differ in the order of the data and hence in the start (eveninit); 250 "
        "training and 1000 test samples. alpha and sigma were chosen once for all M on 250 new samples of Ripley's "
        f"mixture (the paper's extra validation set is not public; the mixture is), from {tried}: "
        f"{said(CHOSEN['learn1NN'])}; LVQ1: {said(CHOSEN['LVQ1'])}. {_confirmed(rows)} Learning stops at a minimum of "
        "the training error, looked at each 200 epochs (two looks without a lower one). Bayes rule: 8 %. The form of "
        "this protocol was settled with errors on these data in view.",
        *sheets,
        *_findings(means),
    ]


def _confirmed(rows: Rows) -> str:
    found = chosen_by_rows(rows)
    if not found:
        return "The rows of the experiment ripley-tuning show it."
    folds = rows.counts("ripley-tuning")[1]
    other = [f"{name}: {said(settings)}" for name, settings in found.items() if settings != CHOSEN[name]]
    ending = f"would choose otherwise ({'; '.join(other)})" if other else "choose the same"
    return f"The rows of ripley-tuning (mean of all M and {folds} run{'s' * (folds > 1)}) {ending}."


def _findings(means: dict[str, dict[int, float]]) -> list[str]:
    ours, lvq = means.get("learn1NN", {}), means.get("LVQ1", {})
    if not {4, 32, 64} <= set(ours) & set(lvq):
        return []
    flat = [value for total, value in ours.items() if total >= 4]
    return [
        f"learn1NN at M = 32: {ours[32]:.2f} (published 8.764). From M = 4 on its means lie between {min(flat):.2f} "
        f"and {max(flat):.2f}; LVQ1 goes from {lvq[4]:.2f} at M = 4 to {lvq[64]:.2f} at M = 64. "
        "`reproduction/figures/learn1nn_ripley.py` draws Figs. 6 and 7."
    ]
