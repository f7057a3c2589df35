"""Data sets on which training is compared: standardised, with one start for every library, as files for the workers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def digits(quick: bool = False) -> tuple[str, Parts]:
    """scikit-learn's digits, 70 % for training."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    n = 200 if quick else len(y)
    return "digits", (X[:n], y[:n], X_test, y_test)


def styles(n: int, n_test: int) -> Parts:
    """Ten classes of four styles in a space of 24 dimensions, bent into 256."""
    random = np.random.RandomState(7)
    spread = random.randn(24, 256) / np.sqrt(24)
    centres = (random.randn(10, 24) * 0.5)[:, None, :] + random.randn(10, 4, 24) * 0.95

    def draw(rows: int) -> tuple[np.ndarray, np.ndarray]:
        y, style = random.randint(0, 10, rows), random.randint(0, 4, rows)
        hidden = centres[y, style] + random.randn(rows, 24) * 0.95 * np.linspace(1.6, 0.4, 24)
        return np.tanh(hidden @ spread) + 0.25 * random.randn(rows, 256), y

    return *draw(n), *draw(n_test)


def usps(quick: bool = False) -> tuple[str, Parts]:
    """USPS where PROTOLEARN_DATA has it, else made data of its size."""
    from reproduction.datasets import load

    if quick:
        return "made", styles(200, 100)
    try:
        return "usps", load("usps").split()
    except FileNotFoundError as error:
        print(f"  made data of its size in place of usps: {error}", file=sys.stderr, flush=True)
        return "made", styles(7291, 2007)


def made(quick: bool = False) -> tuple[str, Parts]:
    """20,000 x 32, ten overlapping classes of three clumps each; a quarter for testing."""
    from sklearn.datasets import make_classification
    from sklearn.model_selection import train_test_split

    X, y = make_classification(
        400 if quick else 20_000, 32, n_informative=16, n_redundant=8, n_classes=10, n_clusters_per_class=3,
        class_sep=1.5, random_state=0,
    )  # fmt: skip
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    return "made", (X, y, X_test, y_test)


PROBLEMS: dict[str, Callable[[bool], tuple[str, Parts]]] = {"digits": digits, "usps": usps, "made32": made}


def store(name: str, folder: Path, per_class: int = 5, quick: bool = False) -> tuple[str, int, Path]:
    """The name with its size, the number of training rows, and the file; k-means of each class is the start."""
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import StandardScaler

    title, (X, y, X_test, y_test) = PROBLEMS[name](quick)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    classes, y = np.unique(y, return_inverse=True)
    path = folder / f"{name}-{per_class}.npz"
    if not path.exists():
        centres = [
            KMeans(per_class, n_init=1, random_state=0).fit(X[y == code]).cluster_centers_
            for code in range(len(classes))
        ]
        np.savez(
            path, X=X, y=y, X_test=X_test, y_test=np.searchsorted(classes, y_test), W=np.concatenate(centres),
            L=np.repeat(np.arange(len(classes)), per_class),
        )  # fmt: skip
    return f"{title} {X.shape[0]} x {X.shape[1]}", X.shape[0], path
