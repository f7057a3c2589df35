"""Condensing by a mixture of Gaussians for each class: Lozano, Sotoca, Sanchez and Pla."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from protolearn.core.prototypes import PrototypeSet
from protolearn.data import Samples
from protolearn.data.samples import Combine
from protolearn.metrics import METRICS
from protolearn.reduction.class_sums import OfRows, sum_over_class, sums_over_classes

STOPPING = ("accuracy", "algorithm1", "likelihood")
# No variance falls below this share of the square of the feature's range: a component on a single sample stays finite.
_FLOOR = 1e-5
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
    """Where the mixtures start: section 3.1, which leaves the sizes open.

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
    """One class, as EM reads it: by sums over its rows."""

    data: Samples
    code: int
    total: float
    centroid: np.ndarray
    ranges: np.ndarray
    floor: np.ndarray

    @property
    def one_sample(self) -> float:
        """The share of one sample: of one of weight 1, or of a mean one where weights are smaller."""
        return min(1.0 / self.total, 1.0 / self.data.class_counts[self.code])

    def reduce(self, function: OfRows, combine: Combine = operator.add) -> Any:
        """The sum over the rows of the class."""
        return sum_over_class(self.data, self.code, function, combine)


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


def class_data(data: Samples, *, whole_range: bool = False) -> list[ClassData]:
    """Centroid, ranges and smallest variances of each class."""
    extents = sums_over_classes(data, [_extent] * data.n_classes)
    low, high = (
        np.min([extent.low for extent in extents], axis=0),
        np.max([extent.high for extent in extents], axis=0),
    )
    whole = high - low
    # A feature that never changes tells nothing; any variance will do for it.
    floor = np.where(whole > 0, _FLOOR * whole**2, 1.0)
    return [
        ClassData(
            data, code, found.weight, found.sum / found.weight, whole if whole_range else found.high - found.low, floor
        )
        for code, found in enumerate(extents)
    ]


@dataclass(frozen=True)
class _Extent:
    """Lowest and highest values, sum and weight of some rows."""

    low: np.ndarray
    high: np.ndarray
    sum: np.ndarray
    weight: float

    def __add__(self, other: _Extent) -> _Extent:
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return _Extent(low, high, self.sum + other.sum, self.weight + other.weight)


def _extent(X: np.ndarray, weight: np.ndarray) -> _Extent:
    return _Extent(X.min(axis=0), X.max(axis=0), weight @ X, float(weight.sum()))


def distinct_rows(part: ClassData, most: int) -> int:
    """How many different rows a class has, counted up to `most`."""
    return min(len(part.reduce(partial(_different, most), operator.or_)), most)


def distinct_rows_of_classes(parts: list[ClassData], most: list[int]) -> list[int]:
    """The same for all classes, from one pass over the samples."""
    found = sums_over_classes(parts[0].data, [partial(_different, n) for n in most], operator.or_)
    return [min(len(different), n) for different, n in zip(found, most, strict=True)]


def _different(most: int, X: np.ndarray, weight: np.ndarray) -> set[bytes]:
    different: set[bytes] = set()
    # Adding zero turns -0.0 into 0.0, which equals it but has other bits.
    for row in X + 0.0:
        different.add(row.tobytes())
        if len(different) >= most:
            break
    return different


@dataclass(frozen=True)
class EMSums:
    """What an EM step needs of some rows: mass and first two moments around the centroid, for each component."""

    likelihood: float
    mass: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def __add__(self, other: EMSums) -> EMSums:
        return EMSums(
            self.likelihood + other.likelihood,
            self.mass + other.mass,
            self.first + other.first,
            self.second + other.second,
        )


def em_sums(mixture: Mixture, centroid: np.ndarray, X: np.ndarray, weight: np.ndarray) -> EMSums:
    """Responsibilities (3) of some rows, summed up."""
    terms = mixture.log_densities(X)
    total = logsumexp(terms, axis=1)
    R = np.exp(terms - total[:, None]) * weight[:, None]
    # Sums of squares around the centroid: around the origin they would lose digits.
    X = X - centroid
    return EMSums(float(weight @ total), R.sum(axis=0), R.T @ X, R.T @ X**2)


def em_step(part: ClassData, mixture: Mixture) -> tuple[Mixture, float]:
    """One EM step, and the log-likelihood of the mixture before it.

        R_tm      = alpha_m N_m(x_t) / sum_l alpha_l N_l(x_t)                         (3)
        alpha_m   = mean_t R_tm,  mu_m = sum_t R_tm x_t / sum_t R_tm                  (4)
        sigma_m^2 = sum_t R_tm (x_t - mu_m)^2 / sum_t R_tm                            (5)

    (5) is printed without the square, which makes a variance of a standard deviation, and EM lose likelihood. In
    (3) the paper's P_m is a responsibility, in (2) a density. A variance stops at the floor, the best value there
    is at or above it, so the likelihood still never falls. A component that has lost its samples is seated anew.
    """
    return _stepped(part, mixture, part.reduce(partial(em_sums, mixture, part.centroid)))


def em_steps(parts: list[ClassData], mixtures: list[Mixture]) -> list[tuple[Mixture, float]]:
    """One EM step of every class, from one pass over the samples."""
    functions = [partial(em_sums, mixture, part.centroid) for part, mixture in zip(parts, mixtures, strict=True)]
    sums = sums_over_classes(parts[0].data, functions)
    return [_stepped(*of_class) for of_class in zip(parts, mixtures, sums, strict=True)]


def _stepped(part: ClassData, mixture: Mixture, sums: EMSums) -> tuple[Mixture, float]:
    mass, first, second = sums.mass, sums.first, sums.second
    present = mass > 0
    share = np.where(present, mass, 1.0)[:, None]
    offset = first / share
    means = np.where(present[:, None], part.centroid + offset, mixture.means)
    variances = np.where(present[:, None], np.maximum(second / share - offset**2, part.floor), mixture.variances)
    priors = np.maximum(mass / mass.sum(), np.finfo(float).tiny)
    stepped = Mixture(means, variances, priors / priors.sum())
    for component in np.flatnonzero(mass < _EMPTY * part.one_sample * mass.sum()):
        stepped = _seated_anew(part, stepped, int(component))
    return stepped, sums.likelihood


def _seated_anew(part: ClassData, mixture: Mixture, component: int) -> Mixture:
    """The mixture with an empty component moved to the sample it fits worst, as wide as the likelihood lets it be.

    It gets the prior of one sample. The others lose that much, which costs about 1 in all; the sample gains the more
    the narrower the component is. Where even the narrowest one does not pay, it stays empty.
    """
    before, _, position = part.reduce(partial(_fit_and_worst, mixture), _sum_and_worst)
    means, variances, priors = mixture.means.copy(), mixture.variances.copy(), mixture.priors.copy()
    means[component] = position
    priors[component] = 0.0
    priors *= (1.0 - part.one_sample) / (priors.sum() or 1.0)
    priors[component] = part.one_sample
    priors = np.maximum(priors, np.finfo(float).tiny)
    width = np.maximum((part.ranges / 10.0) ** 2, part.floor)
    while True:
        variances[component] = width
        seated = Mixture(means, variances.copy(), priors)
        if log_likelihood(part, seated) >= before:
            return seated
        if (width <= part.floor).all():
            return mixture
        width = np.maximum(width / 4.0, part.floor)


def log_joint(mixtures: list[Mixture], class_prior: np.ndarray, X: np.ndarray) -> np.ndarray:
    """ln P(c) P(x | c), (1), for each row and class."""
    joint = [logsumexp(mixture.log_densities(X), axis=1) for mixture in mixtures]
    return np.stack(joint, axis=1) + np.log(class_prior)


def log_likelihood(part: ClassData, mixture: Mixture) -> float:
    """Sum of ln P*(x | c), (2), over the rows of the class."""
    return part.reduce(partial(_log_likelihood, mixture))


def _log_likelihood(mixture: Mixture, X: np.ndarray, weight: np.ndarray) -> float:
    return float(weight @ logsumexp(mixture.log_densities(X), axis=1))


_Worst = tuple[float, float, np.ndarray]


def _fit_and_worst(mixture: Mixture, X: np.ndarray, weight: np.ndarray) -> _Worst:
    """The log-likelihood of some rows, and the lowest one of a row with the row."""
    fits = logsumexp(mixture.log_densities(X), axis=1)
    return float(weight @ fits), float(fits.min()), X[fits.argmin()]


def _sum_and_worst(one: _Worst, other: _Worst) -> _Worst:
    worst = other if other[1] < one[1] else one
    return one[0] + other[0], worst[1], worst[2]


def class_accuracies(data: Samples, mixtures: list[Mixture]) -> np.ndarray:
    """Share of each class that 1-NN on the means gets right."""
    labels = np.repeat(np.arange(len(mixtures)), [len(mixture.means) for mixture in mixtures])
    prototypes = METRICS["euclidean"].start(np.concatenate([mixture.means for mixture in mixtures]), labels, data)
    hits, totals = data.reduce(partial(_hits, prototypes, data.n_classes), len(labels))
    return hits / totals


def _hits(prototypes: PrototypeSet, n_classes: int, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weight of each class that 1-NN gets right, and in all."""
    right = prototypes.labels[METRICS["euclidean"].distances(X, prototypes).argmin(axis=1)] == y
    return np.stack([np.bincount(y, weights=part, minlength=n_classes) for part in (weight * right, weight)])


def fit_mixtures(
    data: Samples, parts: list[ClassData], start: list[Mixture], *, stopping: str, max_iter: int, tol: float
) -> Mixtures:
    """EM for all classes, stopped by what 1-NN on the means makes of the training set (Algorithm 1) or by EM itself.

    "accuracy" : after each step a class that 1-NN gets wrong more often goes back, and the accuracies are measured
        anew; when the others have moved the same step may pass. Stops when no class got better; the result is the best
        state on the way
    "algorithm1" : as printed. The accuracy is not measured again after a class went back, so that the step just
        rejected is compared with itself, counts as equal, and passes; the result is the last state
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
        stepped = em_steps(parts, before)
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


def _shares(data: Samples, parts: list[ClassData]) -> np.ndarray:
    return np.array([part.total for part in parts]) / data.total_weight


def _until_likelihood(
    data: Samples, parts: list[ClassData], start: list[Mixture], max_iter: int, tol: float
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
