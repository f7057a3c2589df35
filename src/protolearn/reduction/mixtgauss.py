"""Condensing by a mixture of Gaussians for each class: Lozano, Sotoca, Sanchez and Pla."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from protolearn.data import TrainingSet
from protolearn.metrics import METRICS

STOPPING = ("accuracy", "algorithm1", "likelihood")
# No variance falls below this share of the square of the feature's range: a component on a single sample stays finite.
_FLOOR = 1e-5
# Products with a handful of components gain nothing from blocks that fit in cache, and many small ones cost time.
_BLOCK_BYTES = 1 << 23
# A component that holds less than this share of one sample is empty.
_EMPTY = 0.5


@dataclass(frozen=True)
class Mixture:
    """One class: M Gaussians with independent features.

    means, variances : (M, n_features)
    priors : (M,), the paper's alpha, which sum to 1
    """

    means: np.ndarray
    variances: np.ndarray
    priors: np.ndarray

    def log_densities(self, X: np.ndarray) -> np.ndarray:
        """ln(alpha_m prod_k N(x_k; mu_mk, sigma_mk)) for each row and component: the terms of (2)."""
        # Measured from the middle of the means: far from the origin the expanded square loses its digits.
        origin = self.means.mean(axis=0)
        X, means = X - origin, self.means - origin
        precision = 1.0 / self.variances
        squares = (X**2) @ precision.T - 2.0 * (X @ (means * precision).T) + (means**2 * precision).sum(axis=1)
        constant = np.log(self.priors) - 0.5 * np.log(2.0 * np.pi * self.variances).sum(axis=1)
        return constant - 0.5 * np.maximum(squares, 0.0)


@dataclass(frozen=True)
class MixtureStart:
    """Where the mixtures start: section 3.1, which leaves the sizes open (A7).

    disturbance : the means are the centroid plus uniform noise of up to this share of each feature's range
    spread : the first standard deviation, as a share of the range
    literal_variance : take spread times the range as the VARIANCE, as printed, which depends on the unit of the data
    whole_range : the range of all samples instead of that of the class
    """

    disturbance: float = 0.1
    spread: float = 0.1
    literal_variance: bool = False
    whole_range: bool = False

    def mixture(
        self, centroid: np.ndarray, ranges: np.ndarray, floor: np.ndarray, n: int, random: np.random.RandomState
    ) -> Mixture:
        """`n` components around the centroid; a single one sits on it."""
        noise = random.uniform(-1.0, 1.0, size=(n, len(centroid))) if n > 1 else np.zeros((1, len(centroid)))
        return self.around(centroid + self.disturbance * ranges * noise, ranges, floor)

    def around(self, means: np.ndarray, ranges: np.ndarray, floor: np.ndarray) -> Mixture:
        """Equal components at the given means."""
        variance = self.spread * ranges if self.literal_variance else (self.spread * ranges) ** 2
        variances = np.repeat(np.maximum(variance, floor)[None], len(means), axis=0)
        return Mixture(means, variances, np.full(len(means), 1.0 / len(means)))


@dataclass(frozen=True)
class ClassData:
    """The rows of one class, as EM reads them."""

    data: TrainingSet
    rows: np.ndarray
    centroid: np.ndarray
    ranges: np.ndarray
    floor: np.ndarray

    @cached_property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.data.weights(self.rows).sum())

    @property
    def one_sample(self) -> float:
        """The share of one sample: of one of weight 1, or of a mean one where weights are smaller."""
        return min(1.0 / self.total, 1.0 / len(self.rows))

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows in float64 and their weights, block by block."""
        size = max(_BLOCK_BYTES // (8 * self.data.n_features), 1)
        for start in range(0, len(self.rows), size):
            rows = self.rows[start : start + size]
            yield self.data.rows(rows).astype(np.float64, copy=False), self.data.weights(rows)


@dataclass(frozen=True)
class Mixtures:
    """The fitted mixtures of all classes.

    mixtures : one for each class, in the order of the codes
    n_iter : EM steps made
    log_likelihood : sum over all samples before each step and after the last one
    accuracy : share of the training set that 1-NN on the means gets right, at the same times
    """

    mixtures: list[Mixture]
    n_iter: int
    log_likelihood: list[float]
    accuracy: list[float]


def class_data(data: TrainingSet, *, whole_range: bool = False) -> list[ClassData]:
    """Centroid, ranges and smallest variances of each class."""
    from_all = np.full(data.n_features, np.inf), np.full(data.n_features, -np.inf)
    parts = []
    for code in range(data.n_classes):
        rows = data.class_rows(code)
        low, high, total = np.full(data.n_features, np.inf), np.full(data.n_features, -np.inf), 0.0
        centroid = np.zeros(data.n_features)
        for X, weight in ClassData(data, rows, low, low, low).blocks():
            np.minimum(low, X.min(axis=0), out=low)
            np.maximum(high, X.max(axis=0), out=high)
            centroid += weight @ X
            total += weight.sum()
        np.minimum(from_all[0], low, out=from_all[0])
        np.maximum(from_all[1], high, out=from_all[1])
        parts.append((rows, centroid / total, high - low))
    whole = from_all[1] - from_all[0]
    # A feature that never changes tells nothing; any variance will do for it.
    floor = np.where(whole > 0, _FLOOR * whole**2, 1.0)
    return [ClassData(data, rows, mean, whole if whole_range else own, floor) for rows, mean, own in parts]


def distinct_rows(part: ClassData, most: int) -> int:
    """How many different rows a class has, counted up to `most`."""
    different: set[bytes] = set()
    for X, _ in part.blocks():
        # Adding zero turns -0.0 into 0.0, which equals it but has other bits.
        for row in X + 0.0:
            different.add(row.tobytes())
            if len(different) >= most:
                return most
    return len(different)


def em_step(part: ClassData, mixture: Mixture) -> tuple[Mixture, float]:
    """One EM step, and the log-likelihood of the mixture before it.

        R_tm      = alpha_m N_m(x_t) / sum_l alpha_l N_l(x_t)                         (3)
        alpha_m   = mean_t R_tm,  mu_m = sum_t R_tm x_t / sum_t R_tm                  (4)
        sigma_m^2 = sum_t R_tm (x_t - mu_m)^2 / sum_t R_tm                            (5)

    (5) is printed without the square, which makes a variance of a standard deviation, and EM lose likelihood (A6). In
    (3) the paper's P_m is a responsibility, in (2) a density (A5). A variance stops at the floor, the best value there
    is at or above it, so the likelihood still never falls. A component that has lost its samples is seated anew.
    """
    m, d = mixture.means.shape
    mass, first, second = np.zeros(m), np.zeros((m, d)), np.zeros((m, d))
    likelihood = 0.0
    # Sums of squares around the centroid: around the origin they would lose digits.
    for X, weight in part.blocks():
        terms = mixture.log_densities(X)
        total = logsumexp(terms, axis=1)
        likelihood += float(weight @ total)
        R = np.exp(terms - total[:, None]) * weight[:, None]
        mass += R.sum(axis=0)
        X = X - part.centroid
        first += R.T @ X
        second += R.T @ X**2
    present = mass > 0
    share = np.where(present, mass, 1.0)[:, None]
    offset = first / share
    means = np.where(present[:, None], part.centroid + offset, mixture.means)
    variances = np.where(present[:, None], np.maximum(second / share - offset**2, part.floor), mixture.variances)
    priors = np.maximum(mass / mass.sum(), np.finfo(float).tiny)
    stepped = Mixture(means, variances, priors / priors.sum())
    for component in np.flatnonzero(mass < _EMPTY * part.one_sample * mass.sum()):
        stepped = _seated_anew(part, stepped, int(component))
    return stepped, likelihood


def _seated_anew(part: ClassData, mixture: Mixture, component: int) -> Mixture:
    """The mixture with an empty component moved to the sample it fits worst, as wide as the likelihood lets it be.

    It gets the prior of one sample. The others lose that much, which costs about 1 in all; the sample gains the more
    the narrower the component is. Where even the narrowest one does not pay, it stays empty.
    """
    before, worst, position = 0.0, np.inf, mixture.means[component]
    for X, weight in part.blocks():
        fits = logsumexp(mixture.log_densities(X), axis=1)
        before += float(weight @ fits)
        if fits.min() < worst:
            worst, position = float(fits.min()), X[fits.argmin()]
    means, variances, priors = mixture.means.copy(), mixture.variances.copy(), mixture.priors.copy()
    means[component] = position
    priors[component] = 0.0
    priors *= (1.0 - part.one_sample) / priors.sum()
    priors[component] = part.one_sample
    width = np.maximum((part.ranges / 10.0) ** 2, part.floor)
    while True:
        variances[component] = width
        seated = Mixture(means, variances.copy(), priors)
        if log_likelihood(part, seated) >= before:
            return seated
        if (width <= part.floor).all():
            return mixture
        width = np.maximum(width / 4.0, part.floor)


def log_likelihood(part: ClassData, mixture: Mixture) -> float:
    """Sum of ln P*(x | c), (2), over the rows of the class."""
    return sum(float(weight @ logsumexp(mixture.log_densities(X), axis=1)) for X, weight in part.blocks())


def class_accuracies(data: TrainingSet, mixtures: list[Mixture]) -> np.ndarray:
    """Share of each class that 1-NN on the means gets right."""
    labels = np.repeat(np.arange(len(mixtures)), [len(mixture.means) for mixture in mixtures])
    metric = METRICS["euclidean"]
    prototypes = metric.start(np.concatenate([mixture.means for mixture in mixtures]), labels, data)
    hits, totals = np.zeros(data.n_classes), np.zeros(data.n_classes)
    for X, y, weight in data.blocks(len(labels)):
        right = labels[metric.distances(X, prototypes).argmin(axis=1)] == y
        hits += np.bincount(y, weights=weight * right, minlength=data.n_classes)
        totals += np.bincount(y, weights=weight, minlength=data.n_classes)
    return hits / totals


def fit_mixtures(
    data: TrainingSet, parts: list[ClassData], start: list[Mixture], *, stopping: str, max_iter: int, tol: float
) -> Mixtures:
    """EM for all classes, stopped by what 1-NN on the means makes of the training set (Algorithm 1) or by EM itself.

    "accuracy" : after each step a class that 1-NN gets wrong more often goes back, and the accuracies are measured
        anew; when the others have moved the same step may pass. Stops when no class got better; the result is the best
        state on the way
    "algorithm1" : as printed. The accuracy is not measured again after a class went back, so that the step just
        rejected is compared with itself, counts as equal, and passes (A8); the result is the last state
    "likelihood" : until the log-likelihood of every class gains less than `tol` of a unit a sample
    """
    if stopping == "likelihood":
        return _until_likelihood(data, parts, start, max_iter, tol)
    mixtures = list(start)
    shares = _shares(data, parts)
    accuracy = class_accuracies(data, mixtures)
    likelihoods, accuracies = [], [float(shares @ accuracy)]
    best, best_accuracy = mixtures, accuracies[0]
    n_iter = 0
    improved = True
    while improved and n_iter < max_iter:
        n_iter += 1
        before = mixtures
        stepped = [em_step(part, mixture) for part, mixture in zip(parts, before, strict=True)]
        likelihoods.append(sum(value for _, value in stepped))
        reached = class_accuracies(data, [mixture for mixture, _ in stepped])
        worse = reached < accuracy
        improved = bool((reached > accuracy).any())
        mixtures = [old if back else new for (new, _), old, back in zip(stepped, before, worse, strict=True)]
        if stopping == "accuracy" and worse.any():
            reached = class_accuracies(data, mixtures)
        accuracy = reached
        accuracies.append(float(shares @ accuracy))
        if accuracies[-1] > best_accuracy or stopping == "algorithm1":
            best, best_accuracy = mixtures, accuracies[-1]
    likelihoods.append(sum(log_likelihood(part, mixture) for part, mixture in zip(parts, mixtures, strict=True)))
    return Mixtures(best, n_iter, likelihoods, accuracies)


def _shares(data: TrainingSet, parts: list[ClassData]) -> np.ndarray:
    return np.array([part.total for part in parts]) / data.total_weight


def _until_likelihood(
    data: TrainingSet, parts: list[ClassData], start: list[Mixture], max_iter: int, tol: float
) -> Mixtures:
    curves = [fit_one(part, mixture, max_iter, tol) for part, mixture in zip(parts, start, strict=True)]
    mixtures = [mixture for mixture, _ in curves]
    longest = max(len(curve) for _, curve in curves)
    total = np.sum([np.pad(curve, (0, longest - len(curve)), mode="edge") for _, curve in curves], axis=0)
    shares = _shares(data, parts)
    ends = [float(shares @ class_accuracies(data, stage)) for stage in (start, mixtures)]
    return Mixtures(mixtures, longest - 1, [float(value) for value in total], ends)


def fit_one(part: ClassData, mixture: Mixture, max_iter: int, tol: float) -> tuple[Mixture, list[float]]:
    """EM for one class until its log-likelihood gains less than `tol` a sample; the curve, the last value included."""
    curve: list[float] = []
    for _ in range(max_iter):
        stepped, value = em_step(part, mixture)
        curve.append(value)
        if len(curve) > 1 and curve[-1] - curve[-2] < tol * part.total:
            return mixture, curve
        mixture = stepped
    return mixture, [*curve, log_likelihood(part, mixture)]


def choose_by_bic(part: ClassData, begin: Callable[[int], Mixture], largest: int, max_iter: int, tol: float) -> Mixture:
    """The start, of those with 1 to `largest` components, from which EM reaches the lowest information criterion.

    BIC = -2 ln L + (2 d M + M - 1) ln n
    """
    starts, scores = [], []
    for m in range(1, distinct_rows(part, largest) + 1):
        starts.append(begin(m))
        _, curve = fit_one(part, starts[-1], max_iter, tol)
        n_parameters = 2 * len(part.centroid) * m + m - 1
        scores.append(-2.0 * curve[-1] + n_parameters * np.log(part.total))
    return starts[int(np.argmin(scores))]
