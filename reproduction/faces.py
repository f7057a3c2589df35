"""Face verification in the manner of LPD's section 3.3, on the Olivetti faces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.ndimage import zoom
from sklearn.svm import LinearSVC

from protolearn.estimators.lpd import LPD
from protolearn.explain.verification import half_total_error, verification_curve
from reproduction.datasets import load
from reproduction.lpd_published import FACES
from reproduction.report import Block, Sheet
from reproduction.reproduce import Outcome, Rows, Unit

SIZE = (55, 51)
N_CLIENTS = 26
N_TRAIN = 5
EXPONENTS = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
MEANS = "class means (start of LPD)"
METHODS = (
    MEANS, "LPD", "1-NN on pixels, distance", "1-NN on pixels, by (9)", "normalised correlation", "linear SVM",
)  # fmt: skip


@lru_cache(maxsize=1)
def face_images() -> tuple[np.ndarray, np.ndarray]:
    """The Olivetti faces at 55 x 51 grey levels, (400, 55, 51), and who they show."""
    data = load("olivetti")
    images = data.X.reshape(-1, 64, 64)
    return np.array([zoom(image, (SIZE[0] / 64, SIZE[1] / 64), order=1) for image in images]), data.y


@dataclass(frozen=True)
class Claims:
    """One round: training images and their people, test images, who each claims to be, and whether it is true."""

    X: np.ndarray
    y: np.ndarray
    T: np.ndarray
    named: np.ndarray
    true: np.ndarray


def claims_of_round(images: np.ndarray, people: np.ndarray, seed: int) -> Claims:
    """26 clients with five images and their mirrors; their other images and those of all others make claims."""
    rng = np.random.RandomState(seed)
    clients = rng.permutation(np.unique(people))[:N_CLIENTS]
    train: list[int] = []
    tests: list[int] = []
    named: list[int] = []
    truth: list[bool] = []
    for position, person in enumerate(clients):
        own = rng.permutation(np.flatnonzero(people == person))
        train += list(own[:N_TRAIN])
        for image in own[N_TRAIN:]:
            tests += [image, image]
            named += [person, clients[(position + 1) % N_CLIENTS]]
            truth += [True, False]
    for turn, image in enumerate(np.flatnonzero(~np.isin(people, clients))):
        tests.append(int(image))
        named.append(clients[turn % N_CLIENTS])
        truth.append(False)
    both = np.concatenate([images[train], images[train][:, :, ::-1]])
    X, y = both.reshape(len(both), -1), np.tile(people[train], 2)
    return Claims(X, y, images[tests].reshape(len(tests), -1), np.array(named), np.array(truth))


def scores(method: str, claims: Claims, seed: int) -> dict[str, np.ndarray]:
    """Scores of all claims: by exponent for what has one, else under no name."""
    X, y, T, named = claims.X, claims.y, claims.T, claims.named
    rows = np.arange(len(T))
    names = np.unique(y)
    codes = np.searchsorted(names, named)
    if method in (MEANS, "LPD"):
        learns = method == "LPD"
        means = np.array([X[y == name].mean(axis=0) for name in names])
        model = LPD(
            init=(means, names),
            bounds=None,
            initial_weights="ones",
            learning_rate=0.01 if learns else 1e-300,
            metric_learning_rate=0.001 if learns else 0.0,
            max_iter=300 if learns else 1,
            random_state=seed,
        ).fit(X, y)
        return {f"{a:g}": model.set_params(exponent=a).verify(T, named) for a in EXPONENTS}
    if method.startswith("1-NN"):
        D = ((T**2).sum(axis=1)[:, None] - 2 * T @ X.T + (X**2).sum(axis=1)).clip(0)
        if method == "1-NN on pixels, distance":
            return {"": -np.array([D[r, y == named[r]].min() for r in rows])}
        near = np.array([[D[r, y == name].min() for name in names] for r in rows])
        inverse = near ** (-5.0)
        return {"10": (inverse / inverse.sum(axis=1, keepdims=True))[rows, codes]}
    if method == "normalised correlation":
        unit = [(Z - Z.mean(axis=1, keepdims=True)) for Z in (T, X)]
        unit = [Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in unit]
        correlation = unit[0] @ unit[1].T
        return {"": np.array([correlation[r, y == named[r]].max() for r in rows])}
    scale = np.abs(X).max()
    svm = LinearSVC(C=1.0, dual=True, max_iter=20000, random_state=0).fit(X / scale, y)
    return {"": svm.decision_function(T / scale)[rows, codes]}


def rates(score: np.ndarray, true: np.ndarray) -> list[float]:
    """False acceptance and rejection at the least half total error, that error, and with the other half's threshold."""
    curve = verification_curve(score, true)
    at = int(curve.half_total_error.argmin())
    even = np.arange(len(score)) // 2 % 2 == 0
    halves = []
    for chosen, judged in ((even, ~even), (~even, even)):
        threshold = verification_curve(score[chosen], true[chosen]).minimum()[1]
        halves.append(half_total_error(score[judged], true[judged], threshold))
    found = curve.false_acceptance[at], curve.false_rejection[at], curve.half_total_error[at], np.mean(halves)
    return [float(value) for value in found]


def measure(unit: Unit) -> Outcome:
    """Rates of one method in one round; the figure is the least half total error over the exponents."""
    claims = claims_of_round(*face_images(), unit.seed)
    found = {name: rates(score, claims.true) for name, score in scores(unit.method, claims, unit.seed).items()}
    return Outcome(min(values[2] for values in found.values()), {"rates": found})


def show(rows: Rows) -> list[Block]:
    """All rates, mean over the rounds."""
    of = rows.of.get("faces", ())
    lines: list[tuple[Any, ...]] = []
    for method in METHODS:
        found = [row["more"]["rates"] for row in of if row["method"] == method]
        for exponent in found[0] if found else ():
            means = 100 * np.mean([rates[exponent] for rates in found], axis=0)
            lines.append((f"{method}, alpha {exponent}" if exponent else method, *(f"{m:.1f}" for m in means)))
    if not lines:
        return []
    printed = "; ".join(f"{name} {hter:g} ({fa:g}, {fr:g})" for name, (fa, fr, hter) in FACES.items())
    return [
        "The paper's faces (BANCA) are not public; the Olivetti faces stand in for them: 40 people, 10 images each, "
        f"scaled to {SIZE[0]} x {SIZE[1]} grey levels (m = {SIZE[0] * SIZE[1]}), no other treatment. Protocol, for "
        f"each of {rows.counts('faces')[1]} random rounds: {N_CLIENTS} people are clients, the other {40 - N_CLIENTS} "
        f"impostors only. A client's training set is {N_TRAIN} of the images and their mirrors; the other 5 images "
        "claim the client's identity (client tests) and, once each, that of the next client (impostor tests); each "
        f"image of the other {40 - N_CLIENTS} people claims the identity of one client in turn. LPD: one prototype a "
        "person, which starts at the mean of the training images, weights that start at 1, beta = 10. min HTER is the "
        "smallest half-total error rate over the thresholds on these tests, with its false acceptance and rejection, "
        "as in the paper's Table 3; in the last column the threshold of one half of the claims is applied to the other "
        f"half, both ways. Published, on BANCA P, min HTER (FA, FR): {printed}.",
        Sheet(
            "Rates in per cent",
            ("method", "FA %", "FR %", "min HTER %", "HTER %, threshold of the other half"),
            tuple(lines),
        ),
    ]
