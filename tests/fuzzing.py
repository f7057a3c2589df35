"""Fits of every estimator on tables nobody would choose, with parameters that are right or nearly so.

python tests/fuzzing.py --fits 10000 --seed 0       counts of what happened, and a command for each failure
python tests/fuzzing.py --seed 0 --only 417         one fit again, with its input and its traceback

A fit ends well where the model and all its numbers are finite, and `predict`, the function of one row, the largest
entry of `predict_proba` and a loop over the prototypes in longdouble name one class for each row; or in a ValueError or
TypeError that protolearn or scikit-learn's validation raises on purpose. The loop lets a class pass whose distance is
as small as the least one within the rounding of differences that are taken one by one, squared and summed up.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

import protolearn
from protolearn.initializers import INITIALIZERS
from protolearn.losses import LOSSES
from protolearn.metrics import METRICS

NAMES = [name for name in protolearn.__all__ if name not in ("save", "load")]
GOOD = ("clean", "clear error")
# The class is as near as the nearest within the rounding of |x|^2 - 2 x'm + |m|^2, though not of the differences.
LOST_DIGITS = "digits lost"
_SECONDS = 120

# Values of each parameter: good ones, and wrong or extreme ones.
CHOICES: dict[str, tuple[list, list]] = {
    "n_prototypes": ([1, 2, 3, 5, 0.1, 0.5], [0, -1, 1.5, 100, "auto", 10**30, True, None]),
    "init": ([*INITIALIZERS, "rows", "pairs"], ["middle", "row", 3, ["a"], [[1.0], [1.0, 2.0]]]),
    "metric": (list(METRICS), ["cosine", 3]),
    "loss": (list(LOSSES), ["hinge", None]),
    "solver": (["online", "gradient", "lbfgs", "adam"], ["newton", None]),
    "max_iter": ([1, 2, 5, 10], [0, 1.5, "many"]),
    "rounds": ([1, 2], [0]),
    "epochs": ([1, 3], [-1]),
    "learning_rate": ([0.01, 0.1, 0.5, 1.0, 10.0], [0, -1, np.nan, 1e300, 1e-300, 5e-324]),
    "slope": ([None, 0.1, 1.0, 100.0], [0.0, 1e308, 1e-308, np.inf]),
    "sigma": ([None, 0.1, 10.0], [0, 1e-300, 1e300, np.inf, np.nan]),
    "annealing": ([1.0, 1.001, 0.99], [0.0, 1e300, 1e-300]),
    "regularization": ([0.0, 0.01, 1.0], [-1.0, 1e300]),
    "metric_learning_rate": ([0.0, 0.01, 0.1, 1.0], [-1.0, 1e300, 1e-300]),
    "learn_prototypes": ([True], [False]),
    "shuffle": ([True, False], ["yes"]),
    "batch_size": ([1, 7, 128], [0, 10**30]),
    "tol": ([None, 0.0, 1e-3], [-1.0, np.nan, np.inf]),
    "class_weight": ([None, "balanced"], ["fair", {0: 1e300}]),
    "schedule": (["linear", "constant", "inverse_time"], ["cosine"]),
    "n_nearest": ([None, 2, 3, 10], [1, 10**30]),
    "include_own": ([True, False], []),
    "window": ([0.1, 0.3], [0.0, 1.0]),
    "epsilon": ([0.1, 0.5], [-1.0]),
    "normalization": (["mean", "sum"], ["max"]),
    "transfer": (["sigmoid", "identity"], ["tanh"]),
    "scope": (["global", "class", "prototype"], ["all"]),
    "n_components": ([None, 1, 2], [0, 50]),
    "n_neighbors": ([1, 3, 5], [0, 100, "auto"]),
    "edit_neighbors": ([None, 1, 3, "auto"], [0]),
    "method": (["wilson", "repeated", "multi"], ["tomek"]),
    "centroids": (["block", "class"], ["row"]),
    "criterion": (["diameter", "overlap"], ["width"]),
    "exact_diameter": ([True, False, None], []),
    "classify_by": (["prototypes", "mixture"], ["means"]),
    "stopping": (["accuracy", "algorithm1", "likelihood"], ["never"]),
    "range_of": (["class", "all"], ["row"]),
    "literal_variance": ([True, False], []),
    "disturbance": ([0.01, 0.1, 1.0], [0.0, 1e300]),
    "initial_spread": ([0.01, 0.1, 1.0], [0.0, 1e300, 1e-300]),
    "version": (["pattern", "prototype"], ["row"]),
    "mode": (["single", "consecutive", None], ["double"]),
    "update": (["glvq", "lama", "gradient"], ["lvq"]),
    "matrix_update": ([None, "batch"], ["online"]),
    "batch_step": (["sum", "damped"], ["mean"]),
    "accept": (["always", "validation"], ["never"]),
    "margin": ([0.01, 0.5, 1.0], [0.0, 1e300, 1e-300]),
    "push_pull": ([0.1, 0.9], [0.0, 1.0]),
    "n_rounds": ([1, 2], [0]),
    "exponent": ([1.0, 2.0, 4.0], [0.0, 1e300]),
    "keep": (["last", "best", "validation"], ["first"]),
    "check_every": ([1, 2], [0]),
    "cv": ([2, 5], [1]),
    "n_blocks": ([2, 3], [1, 100]),
    "candidates": ([(1, 3), [1, 3, 5]], [(), "three", (0,)]),
    "refresh_targets": ([True, False], []),
    "invader_interval": ([1, 5], [0]),
    "warm_start": ([True, False], []),
    "validation_fraction": ([0.2, 0.5], [0.0, 1.0]),
    "patience": ([None, 1, 3], [0]),
    "weights": ([None, "uniform"], []),
    "random_state": ([0, 1], [-1, 10**30, "seed"]),
}
LARGE_MARGIN = {"solver": (["factor", "projection"], ["lbfgs"])}
# Where an estimator takes others.
SPECIAL: dict[str, dict[str, tuple[list, list]]] = {
    "LaMaLVQ": LARGE_MARGIN,
    "LMNN": {**LARGE_MARGIN, "init": (["identity", "pca", "lda"], ["kmeans", "rows", "pairs", np.inf])},
    "Learn1NN": {"loss": (["margin", "cross_entropy"], ["logm"])},
    "LGMLVQ": {"scope": (["class", "prototype"], ["global"])},
    "ChenCondensing": {"n_prototypes": ([1, 2, 5, 0.1, None], [0, 2.0, "auto"])},
    "MixtGauss": {
        "n_prototypes": ([1, 2, 5, 0.1, "bic"], [0, None]),
        "init": (["centroid", *INITIALIZERS], ["rows", None]),
    },
    "WilsonEditing": {"n_neighbors": ([1, 3, 5, "auto"], [0, 100])},
}
# What keeps a fit short.
SHORT = {"max_iter": 5, "rounds": 1, "epochs": 2, "max_consecutive": 2, "max_components": 3}


@dataclass
class Case:
    """One fit."""

    name: str
    parameters: dict
    rows: object
    labels: np.ndarray
    layout: str


def make_case(seed: int, number: int) -> Case:
    """The input of one fit, from two numbers."""
    rng = np.random.default_rng([seed, number])
    name = NAMES[rng.integers(len(NAMES))]
    n, d = int(rng.integers(1, 61)), int(rng.integers(1, 41))
    n_classes = int(rng.choice([1, 2, 3, 5], p=[0.03, 0.4, 0.37, 0.2]))
    y = rng.integers(0, n_classes, size=n)
    X = _values(rng, n, d, y)
    labels = [y, y - 1, y * 1.0, np.array(["no", "yes", "élan", "a b", ""])[y], y == 1][rng.integers(5)]
    layout = LAYOUTS_NAMES[rng.integers(len(LAYOUTS_NAMES))]
    with np.errstate(over="ignore", invalid="ignore"):
        rows = LAYOUTS[layout](X)
    return Case(name, _parameters(rng, name, X, labels), rows, labels, layout)


def _values(rng: np.random.Generator, n: int, d: int, y: np.ndarray) -> np.ndarray:
    kind = rng.choice(["blobs", "noise", "whole", "flags", "few points", "constant columns"])
    X = rng.normal(size=(n, d))
    reach = rng.choice([60.0, 300.0], p=[0.7, 0.3])
    if kind == "blobs":
        X += 2.0 * rng.normal(size=(5, d))[y]
    elif kind == "whole":
        X = rng.integers(-3, 4, size=(n, d)).astype(float)
    elif kind == "flags":
        X = (rng.random((n, d)) < 0.3).astype(float)
    elif kind == "few points":
        X = X[rng.integers(min(n, 5), size=n)]
    elif kind == "constant columns":
        X[:, rng.random(d) < 0.5] = rng.normal()
    scale = rng.choice(["none", "common", "mild", "wild", "offset", "one wide"], p=[0.4, 0.12, 0.16, 0.08, 0.12, 0.12])
    with np.errstate(over="ignore", under="ignore"):
        if scale == "common":
            X *= 10.0 ** rng.uniform(-reach, reach)
        elif scale == "mild":
            X *= 10.0 ** rng.uniform(-6, 6, size=d)
        elif scale == "wild":
            X *= 10.0 ** rng.uniform(-reach, reach, size=d)
        elif scale == "offset":
            X += 10.0 ** rng.uniform(0, 12)
        elif scale == "one wide":
            X[:, rng.integers(d)] *= 10.0 ** rng.uniform(0, 8)
    return X


def _read_only(X: np.ndarray) -> np.ndarray:
    X.flags.writeable = False
    return X


LAYOUTS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "int64": lambda X: np.clip(X, -1e15, 1e15).astype(np.int64),
    "Fortran": np.asfortranarray,
    "Fortran float32": lambda X: np.asfortranarray(X.astype(np.float32)),
    "read-only": lambda X: _read_only(X.copy()),
    "read-only float32": lambda X: _read_only(X.astype(np.float32)),
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "sparse": sparse.csr_array,
    "sparse float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
    "sparse columns": sparse.csc_array,
    "frame": pd.DataFrame,
    "list": lambda X: X.tolist(),
}
LAYOUTS_NAMES = list(LAYOUTS)


def _parameters(rng: np.random.Generator, name: str, X: np.ndarray, labels: np.ndarray) -> dict:
    kind = getattr(protolearn, name)
    known = kind().get_params()
    chosen = {key: value for key, value in SHORT.items() if key in known}
    chosen |= {"random_state": 0} if "random_state" in known else {}
    for key in known:
        choices = CHOICES | SPECIAL.get(name, {})
        if key not in choices or rng.random() > 0.3:
            continue
        good, wrong = choices[key]
        pool = wrong if wrong and rng.random() < 0.05 else good
        chosen[key] = pool[rng.integers(len(pool))]
    if chosen.get("init") in ("rows", "row", "pairs"):
        picked = np.unique(labels, return_index=True)[1]
        chosen["init"] = {"rows": X[picked], "row": X[:1], "pairs": (X[picked], labels[picked])}[chosen["init"]]
    return chosen


def judge(case: Case) -> tuple[str, str]:
    """What became of a fit, in a word or two, and the reason."""
    model = getattr(protolearn, case.name)(**case.parameters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            verdict = _fitted(model, case)
        except (ValueError, TypeError) as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            ours = os.sep + "protolearn" + os.sep in last.filename and (last.line or "").startswith("raise ")
            theirs = os.path.join("sklearn", "utils") in last.filename or last.filename.endswith("sklearn/base.py")
            if (ours or theirs) and len(str(error)) > 20:
                return "clear error", str(error)
            return "error from inside", f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
        except TimeoutError:
            return "hang", f"longer than {_SECONDS} s"
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            return "error from inside", f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
    inside = [
        warning
        for warning in caught
        if not issubclass(warning.category, ConvergenceWarning | DataConversionWarning | FutureWarning)
        and (warning.category is not UserWarning)
    ]
    if verdict[0] == "clean" and inside:
        where = f"{inside[0].filename}:{inside[0].lineno}"
        return "warning from inside", f"{inside[0].category.__name__}: {inside[0].message} ({where})"
    return verdict


def _fitted(model, case: Case) -> tuple[str, str]:
    X, y = case.rows, case.labels
    model.fit(X, y)
    learned = {key: value for key, value in vars(model).items() if isinstance(value, np.ndarray) and key[-1] == "_"}
    for key, value in {**learned, **{"_theta": getattr(model, "_theta", None)}}.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isfinite(value).all():
            return "not finite in silence", f"{key} of the model"
    if case.name == "LMNN":
        if not np.isfinite(model.transform(X)).all():
            return "not finite in silence", "transform"
        return "clean", ""
    labels = model.predict(X)
    P = model.predict_proba(X)
    if not np.isfinite(P).all() or not np.allclose(P.sum(axis=1), 1.0):
        return "not finite in silence", "predict_proba"
    wrong = np.flatnonzero(model.classes_[P.argmax(axis=1)] != labels)
    if len(wrong):
        return "probabilities against predict", f"{len(wrong)} of {len(P)} rows, first {wrong[0]}"
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    dense = dense if dense.dtype == np.float32 else dense.astype(np.float64)
    classify = model.row_classifier()
    one_by_one = np.array([classify(row) for row in dense])
    if hasattr(model, "estimators_"):
        rows = np.arange(len(P))
        codes = np.searchsorted(model.classes_, one_by_one)
        if (P[rows, codes] < P.max(axis=1) - 1e-4).any():
            return "row_classifier against predict", f"first {np.flatnonzero(one_by_one != labels)[0]}"
        # Each set classifies prepared rows by its own prototypes.
        of_sets = [(one[-1], one[:-1].transform(X)) for one in model.estimators_]
        asked = [("predict of a set", one, Z, one.predict(Z), Z.dtype) for one, Z in of_sets]
    else:
        asked = [
            ("predict", model, dense, labels, dense.dtype),
            ("row_classifier", model, dense, one_by_one, np.dtype(np.float64)),
        ]
    for what, one, Z, found, precision in asked:
        wrong, beyond = wrongly_classified(one, Z, found, precision)
        if len(wrong):
            verdict = f"{what} against the loop" if len(beyond) else LOST_DIGITS
            return verdict, f"{what}: {len(wrong)} of {len(P)} rows, first {wrong[0]}"
    return "clean", ""


def wrongly_classified(model, X: np.ndarray, labels: np.ndarray, precision: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Rows for which a loop in longdouble finds a class nearer than theirs.

    By more than the rounding of differences; and by more than that of the expanded square.
    """
    D, error, expanded = class_distances(model, X)
    codes = np.searchsorted(model.classes_, labels)
    rows = np.arange(len(X))
    narrow = precision == np.float32 and model.prototypes_.dtype == np.float32
    eps = np.finfo(np.float32 if narrow else np.float64).eps
    least = D.argmin(axis=1)
    # Squares below the least number vanish.
    slack = eps * (error[rows, codes] + error[rows, least]) + X.shape[1] * np.finfo(np.float64).tiny
    gap = D[rows, codes] - D[rows, least]
    return np.flatnonzero(gap > slack), np.flatnonzero(gap > slack + eps * expanded[rows, codes])


def class_distances(model, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distance to the nearest prototype of each class, and how many units of rounding it may be off.

    By differences; and by the expanded square.
    """
    X = X.astype(np.longdouble)
    n_classes = len(model.classes_)
    if getattr(model, "classify_by", "") == "mixture":
        return _mixture_scores(model, X)
    metric, found = model._prototype_set()
    D, error = np.empty((len(X), len(found)), np.longdouble), np.empty((len(X), len(found)), np.longdouble)
    sizes = np.zeros(len(X), np.longdouble)
    terms = 4.0 * (X.shape[1] + 8)
    for i, position in enumerate(found.positions.astype(np.longdouble)):
        gaps = X - position
        theta = found.theta[found.slot[i]].astype(np.longdouble)
        if found.theta.ndim == 3:
            D[:, i] = ((gaps @ theta.T) ** 2).sum(axis=1)
            error[:, i] = terms * ((np.abs(gaps) @ np.abs(theta).T) ** 2).sum(axis=1)
            reach = (np.abs(X) + np.abs(position)) @ np.abs(theta).T
            sizes = np.maximum(sizes, (reach**2).sum(axis=1))
        else:
            weights = metric.weights(found)[found.slot[i]].astype(np.longdouble) if metric.adaptive else 1.0
            D[:, i] = (weights * gaps**2).sum(axis=1)
            error[:, i] = terms * D[:, i]
            reach = np.abs(X) + np.abs(position)
            sizes = np.maximum(sizes, (weights * reach**2).sum(axis=1))
    nearest, slack = np.full((len(X), n_classes), np.inf, np.longdouble), np.zeros((len(X), n_classes), np.longdouble)
    for code in np.unique(found.labels):
        members = np.flatnonzero(found.labels == code)
        best = members[D[:, members].argmin(axis=1)]
        nearest[:, code], slack[:, code] = D[np.arange(len(X)), best], error[np.arange(len(X)), best]
    return nearest, slack, np.repeat(terms * sizes[:, None], n_classes, axis=1)


def _mixture_scores(model, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Minus ln P(c) P(x | c), and 1e7 units of rounding for the logarithms and the sums of exponentials."""
    codes = np.searchsorted(model.classes_, model.prototype_labels_)
    scores = np.empty((len(X), len(model.classes_)), np.longdouble)
    for code in range(len(model.classes_)):
        terms = []
        for i in np.flatnonzero(codes == code):
            variances = model.variances_[i].astype(np.longdouble)
            squares = ((X - model._means[i]) ** 2 / variances + np.log(2 * np.pi * variances)).sum(axis=1)
            terms.append(np.log(model.priors_[i]) - 0.5 * squares)
        scores[:, code] = logsumexp(np.array(terms), axis=0) + np.log(model.class_prior_[code])
    slack = 1e7 * (np.abs(scores) + 1.0)
    return -scores, slack, slack


def run(seed: int, numbers, watch=print) -> Counter:
    """Judge some fits; `watch` is told of each that does not end well."""

    def too_long(*_: object) -> None:
        raise TimeoutError

    counts: Counter = Counter()
    signal.signal(signal.SIGALRM, too_long)
    for number in numbers:
        case = make_case(seed, number)
        signal.alarm(_SECONDS)
        verdict, reason = judge(case)
        signal.alarm(0)
        counts[verdict] += 1
        if verdict not in GOOD:
            watch(
                f"{verdict}: {case.name}({', '.join(f'{k}={v!r:.60}' for k, v in case.parameters.items())}) on "
                f"{case.layout} {np.shape(case.rows)}: {reason:.300}\n"
                f"    python tests/fuzzing.py --seed {seed} --only {number}"
            )
    return counts


def main() -> int:
    """The command line; 1 where a fit did not end well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=1000, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="I", help="number of the first fit")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument("--only", type=int, metavar="I", help="one fit, with its input and its traceback")
    parser.add_argument("--errors", action="store_true", help="also print the clear errors, each sentence once")
    options = parser.parse_args()
    if options.only is not None:
        case = make_case(options.seed, options.only)
        print(case.name, case.parameters, case.layout, repr(case.rows), repr(case.labels), sep="\n")
        print(*judge(case), sep=": ")
        getattr(protolearn, case.name)(**case.parameters).fit(case.rows, case.labels)
        return 0
    numbers = range(options.first, options.first + options.fits)
    show = partial(print, flush=True)
    counts = run(options.seed, _with_progress(numbers) if sys.stderr.isatty() else numbers, show)
    for verdict, count in counts.most_common():
        print(f"{count:7} {verdict}")
    if options.errors:
        sentences = {judge(case)[1] for case in map(partial(make_case, options.seed), numbers)}
        print(*sorted(sentences), sep="\n")
    return int(any(verdict not in GOOD for verdict in counts))


def _with_progress(numbers: range):
    for number in numbers:
        print(f"\r{number - numbers.start} of {len(numbers)}", end="", file=sys.stderr)
        yield number


if __name__ == "__main__":
    sys.exit(main())
