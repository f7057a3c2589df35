"""From the distance to each class's nearest prototype to scores and probabilities.

Each link makes rows that sum to 1, whose largest entry is the class of the nearest prototype. With two classes
"difference" is the sigmoid of MCE and LOGM, "relative_sigmoid" that of GLVQ in the LOGM paper, "relative" the relative
distance d_other / (d_own + d_other) of GLVQ. With more classes the first two are a softmax over the classes' nearest
prototypes. "power" is LPD's (9): unsquared distances to the power of minus the exponent, which takes the place of the
slope; "relative" is the same with the exponent 2.
"""

from __future__ import annotations

import numpy as np

LARGEST_SLOPE = float(np.finfo(np.float64).max)
LINKS = ("difference", "relative_sigmoid", "relative", "power")


def _relative(class_distances: np.ndarray) -> np.ndarray:
    """Class distances over the sum of the two smallest; 1/2 for each of several zeros."""
    if class_distances.shape[1] == 1:
        return np.zeros_like(class_distances)
    two = np.partition(class_distances, 1, axis=1)[:, :2]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        total = two.sum(axis=1, keepdims=True)
        relative = np.where(total > 0, class_distances / total, np.where(class_distances > 0, np.inf, 0.5))
    # A class without prototypes yet is infinitely far; so is its relative distance.
    return np.where(np.isfinite(class_distances), relative, np.inf)


def class_scores(class_distances: np.ndarray, link: str) -> np.ndarray:
    """Scores that rise as a class gets nearer, in the order of the probabilities."""
    return -(class_distances if link == "difference" else _relative(class_distances))


def class_probabilities(class_distances: np.ndarray, link: str, slope: float) -> np.ndarray:
    """Probabilities of the classes, (n_samples, n_classes)."""
    class_distances = np.asarray(class_distances, dtype=np.float64)
    if link in ("relative", "power"):
        return _inverse_power(class_distances, slope if link == "power" else 2.0)
    scores = class_scores(class_distances, link)
    # How far behind the nearest class, so that a large slope makes infinities of one sign only.
    behind = scores - scores.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        share = np.exp(min(slope, LARGEST_SLOPE) * behind)
    return share / share.sum(axis=1, keepdims=True)


def log_class_probabilities(class_distances: np.ndarray, link: str, slope: float) -> np.ndarray:
    """The logarithms of `class_probabilities`; finite where probabilities are too small for a number."""
    class_distances = np.asarray(class_distances, dtype=np.float64)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if link in ("relative", "power"):
            nearest = class_distances.min(axis=1, keepdims=True)
            behind = np.where(class_distances == nearest, 0.0, np.log(nearest) - np.log(class_distances))
            behind *= (slope if link == "power" else 2.0) / 2.0
        else:
            scores = class_scores(class_distances, link)
            behind = min(slope, LARGEST_SLOPE) * (scores - scores.max(axis=1, keepdims=True))
    return behind - np.log(np.exp(behind).sum(axis=1, keepdims=True))


def at_temperature(link: str, slope: float, temperature: float) -> tuple[str, float]:
    """The link and slope whose probabilities are those of the given ones to a power, divided by their sum."""
    if temperature == 1.0:
        return link, slope
    return ("power", 2.0 * temperature) if link == "relative" else (link, slope * temperature)


def _inverse_power(class_distances: np.ndarray, exponent: float) -> np.ndarray:
    """P_c = d_c^-a / sum of d^-a, d the unsquared distances: LPD (9)."""
    nearest = class_distances.min(axis=1, keepdims=True)
    # nearest / distance is 1 for the nearest class and for each of several zeros.
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(class_distances == nearest, 1.0, nearest / class_distances)
    share = ratio ** (exponent / 2.0)
    return share / share.sum(axis=1, keepdims=True)
