"""From a fitted classifier, or a pipeline that ends in one, to plain arrays in the units of the input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from protolearn.core.prototypes import PrototypeSet
from protolearn.estimators.lmnn import LMNN
from protolearn.estimators.prediction import NearestPrototypeMixin
from protolearn.export.plain import Encoding, PlainModel, PlainSets, RawColumn
from protolearn.reduction.mixtgauss import MixtGauss
from protolearn.tables import NormalScores, PiecewiseLinearBins, Preparation

Fold = Callable[[Any, PlainModel], PlainModel]
_MEANS = "probabilities that are sums over prototypes or means over several sets"


def plain_model(model: Any) -> PlainModel:
    """A fitted classifier of this library, or a pipeline of scalers and linear maps that ends in one, as arrays.

    Parameters
    ----------
    model : fitted classifier, Pipeline, or a search over them (`best_estimator_`); a PlainModel stays as it is

    Returns
    -------
    plain : PlainModel, which predicts the same from the rows that `model` takes
    """
    if isinstance(model, PlainModel):
        return model
    model = deciding_model(model)
    return _folded([step for _, step in model.steps] if isinstance(model, Pipeline) else [model], FOLDS)


def written_model(model: Any) -> PlainModel | PlainSets:
    """What a program is written from: as `plain_model`, and behind bins or normal scores, and of several sets too."""
    if isinstance(model, PlainModel | PlainSets):
        return model
    steps = [model]
    while True:
        last = steps[-1]
        if isinstance(last, Pipeline):
            steps[-1:] = [step for _, step in last.steps]
        elif hasattr(last, "best_estimator_") and getattr(last, "nearest_decides_", True):
            steps[-1] = last.best_estimator_
        else:
            break
    folds = FOLDS | ENCODINGS
    if not hasattr(last, "nearest_decides_"):
        return _folded(steps, folds)
    sets = []
    for pipeline, soft in zip(last.estimators_, last._soft, strict=True):
        one = _folded([*steps[:-1], *(step for _, step in pipeline.steps)], folds)
        sets.append(_of_classes(_summed(one, pipeline[-1]._link_and_slope()[1]) if soft else one, last.classes_))
    return PlainSets(tuple(sets), last.shares_, last.temperatures_)


def _summed(plain: PlainModel, slope: float) -> PlainModel:
    """A set whose classes have the sum of exp(-slope D) of their prototypes: that of a mixture without a bias."""
    bias = np.zeros(plain.n_prototypes)
    if plain.maps is not None:
        root = np.sqrt(slope)
        return plain.with_arrays(maps=root * plain.maps, positions=root * plain.positions, bias=bias)
    weights = np.ones((1, plain.n_used)) if plain.weights is None else plain.weights
    return plain.with_arrays(weights=slope * weights, bias=bias)


def _of_classes(plain: PlainModel, classes: np.ndarray) -> PlainModel:
    """A set among the classes of the whole model, of which it may lack some."""
    if plain.n_classes == len(classes):
        return plain
    if plain.scope == "class":
        own = {name: getattr(plain, name) for name in ("weights", "maps")}
        arrays = {name: None if array is None else array[plain.slot] for name, array in own.items()}
        plain = plain.with_arrays(scope="prototype", **arrays)
    return plain.with_arrays(classes=classes, labels=np.searchsorted(classes, plain.classes)[plain.labels])


def _folded(steps: list[Any], folds: dict[type, Fold]) -> PlainModel:
    classifier = steps[-1]
    if not isinstance(classifier, NearestPrototypeMixin):
        raise ValueError(
            "An export takes a classifier of protolearn, alone or at the end of a Pipeline; got "
            f"{type(classifier).__name__}."
        )
    try:
        check_is_fitted(classifier)
    except NotFittedError:
        raise ValueError(f"This {type(classifier).__name__} is not fitted yet; call fit first.") from None
    plain = from_classifier(classifier)
    for step in reversed(steps[:-1]):
        if step is not None and not isinstance(step, str):
            plain = folder_of(step, folds)(step, plain)
    if plain.raw_columns is not None:
        return plain
    names = getattr(steps[0], "feature_names_in_", plain.feature_names)
    return plain.with_arrays(feature_names=tuple(str(name) for name in names))


def deciding_model(model: Any) -> Any:
    """The classifier or pipeline that decides for a search, or for AutoPrototypes where it is one prototype set.

    A pipeline that ends in such a model becomes one pipeline of all steps.
    """
    if isinstance(model, Pipeline):
        last = model.steps[-1][1]
        inner = deciding_model(last)
        if inner is last:
            return model
        steps = inner.steps if isinstance(inner, Pipeline) else [("classifier", inner)]
        return Pipeline([*model.steps[:-1], *((f"{model.steps[-1][0]}_{name}", step) for name, step in steps)])
    while hasattr(model, "best_estimator_"):
        if not getattr(model, "nearest_decides_", True):
            raise ValueError(
                f"This {type(model).__name__} decides by {_MEANS}, and the nearest of one set of prototypes must "
                "decide here; fit it with members=1."
            )
        model = model.best_estimator_
    return model


def input_rows(model: Any, X: Any) -> np.ndarray:
    """Rows of a table as the inputs of the plain model: a Preparation's numbers before it scales them."""
    first = model
    while isinstance(first, Pipeline) or hasattr(first, "best_estimator_"):
        first = first.steps[0][1] if isinstance(first, Pipeline) else first.best_estimator_
    if isinstance(first, Preparation):
        return first.transform(X) / first.factor_ + first.offset_
    return np.asarray(X, dtype=np.float64)


def from_classifier(classifier: NearestPrototypeMixin) -> PlainModel:
    """The arrays of a classifier alone, in the units of what it was fitted on."""
    codes = np.searchsorted(classifier.classes_, classifier.prototype_labels_)
    order = classifier._class_order()
    names = getattr(classifier, "feature_names_in_", None)
    n_features = classifier.prototypes_.shape[1]
    link, slope = classifier._calibrated_link()
    plain = PlainModel(
        classes=classifier.classes_,
        feature_names=tuple(f"x{j}" for j in range(n_features)) if names is None else tuple(map(str, names)),
        labels=codes[order],
        order=order,
        positions=classifier.prototypes_[order].astype(np.float64),
        link=link,
        slope=float(slope),
    )
    if isinstance(classifier, MixtGauss) and classifier.classify_by == "mixture":
        return _mixture(classifier, plain)
    return _with_metric(classifier, plain)


def _mixture(classifier: MixtGauss, plain: PlainModel) -> PlainModel:
    """-ln(P(c) alpha_i N_i(x)) as half a weighted distance and a bias."""
    variances, priors = classifier.variances_[plain.order], classifier.priors_[plain.order]
    bias = 0.5 * np.log(2.0 * np.pi * variances).sum(axis=1) - np.log(priors)
    bias -= np.log(classifier.class_prior_[plain.labels])
    # The means in float64: `prototypes_` has the number type of the training set.
    positions = classifier._means[plain.order].astype(np.float64)
    return plain.with_arrays(positions=positions, weights=0.5 / variances, bias=bias, scope="prototype")


def _with_metric(classifier: NearestPrototypeMixin, plain: PlainModel) -> PlainModel:
    codes = np.searchsorted(classifier.classes_, classifier.prototype_labels_)
    metric, theta, slot = classifier._metric_and_theta(codes)
    fitted = PrototypeSet(classifier.prototypes_, codes, theta, slot).astype(np.dtype(np.float64))
    maps, weights = metric.maps(fitted), metric.weights(fitted)
    if maps is None and weights is None:
        raise ValueError(
            f"The metric {type(metric).__name__} has neither `weights` nor `maps`, and an export cannot write it; fit "
            "with metric='euclidean', a relevance or an omega metric."
        )
    if maps is not None:
        maps = maps[plain.order] if metric.scope == "prototype" else maps
        origin = plain.positions.mean(axis=0)
        slot = plain.with_arrays(scope=metric.scope).slot
        images = np.einsum("nrd,nd->nr", maps[slot], plain.positions - origin)
        return plain.with_arrays(positions=images, maps=maps, origin=origin, scope=metric.scope)
    if weights is None or not metric.adaptive:
        return plain
    return plain.with_arrays(
        weights=weights[plain.order] if metric.scope == "prototype" else weights, scope=metric.scope
    )


def folder_of(step: Any, folds: dict[type, Fold]) -> Fold:
    """How a step before the classifier is folded in; an error where it cannot be."""
    for kind, fold in folds.items():
        if isinstance(step, kind):
            return fold
    if isinstance(step, PiecewiseLinearBins | NormalScores):
        raise ValueError(
            f"{type(step).__name__} bends the columns and cannot be folded into the prototypes; fit on columns as they "
            "are (AutoPrototypes does with members=1)."
        )
    known = ", ".join(sorted(kind.__name__ for kind in folds))
    raise ValueError(
        f"The step {type(step).__name__} cannot be folded into the prototypes; put one of {known} before the "
        "classifier, or export to ONNX."
    )


def scaled(plain: PlainModel, factor: np.ndarray, shift: np.ndarray) -> PlainModel:
    """The model of x where the one given is of factor x + shift."""
    if plain.encoding is not None:
        return plain.with_arrays(encoding=plain.encoding.after(factor, -shift / factor))
    if plain.columns is not None:
        factor, shift = factor[plain.columns], shift[plain.columns]
    if plain.maps is not None:
        return plain.with_arrays(maps=plain.maps * factor, origin=(plain.origin - shift) / factor)
    weights = np.ones((1, plain.n_used)) if plain.weights is None else plain.weights
    weights = weights * factor**2
    same = plain.weights is None and (weights == 1.0).all()
    return plain.with_arrays(positions=(plain.positions - shift) / factor, weights=None if same else weights)


def mapped(plain: PlainModel, matrix: np.ndarray, centre: np.ndarray, names: tuple[str, ...]) -> PlainModel:
    """The model of x where the one given is of matrix (x - centre).

    M (T (x - centre) - o) = M T (x - origin) - M (o - T T^+ o),   origin = centre + T^+ o
    """
    if plain.encoding is not None:
        raise ValueError("Bins and normal scores of columns that a map mixed cannot be exported; leave the map out.")
    if plain.columns is not None:
        matrix = matrix[plain.columns]
    if plain.maps is None:
        roots = np.ones((1, plain.n_used)) if plain.weights is None else np.sqrt(plain.weights)
        origin = plain.positions.mean(axis=0)
        maps = np.stack([np.diag(root) for root in roots])
        positions = roots[plain.slot] * (plain.positions - origin)
    else:
        maps, origin, positions = plain.maps, plain.origin, plain.positions
    back = np.linalg.pinv(matrix) @ origin
    rest = origin - matrix @ back
    return plain.with_arrays(
        maps=maps @ matrix,
        origin=centre + back,
        positions=positions + np.einsum("nrd,d->nr", maps[plain.slot], rest),
        weights=None,
        columns=None,
        feature_names=names,
    )


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(n))


def _of_standard(step: StandardScaler, plain: PlainModel) -> PlainModel:
    factor = np.ones(step.n_features_in_) if step.scale_ is None else 1.0 / step.scale_
    mean = np.zeros(step.n_features_in_) if not step.with_mean else step.mean_
    return scaled(plain, factor, -mean * factor)


def _of_min_max(step: MinMaxScaler, plain: PlainModel) -> PlainModel:
    if step.clip:
        raise ValueError("MinMaxScaler(clip=True) is not linear and cannot be folded in; set clip=False.")
    return scaled(plain, step.scale_, step.min_)


def _of_max_abs(step: MaxAbsScaler, plain: PlainModel) -> PlainModel:
    return scaled(plain, 1.0 / step.scale_, np.zeros(step.n_features_in_))


def _of_robust(step: RobustScaler, plain: PlainModel) -> PlainModel:
    factor = np.ones(step.n_features_in_) if step.scale_ is None else 1.0 / step.scale_
    centre = np.zeros(step.n_features_in_) if step.center_ is None else step.center_
    return scaled(plain, factor, -centre * factor)


def _of_selector(step: SelectorMixin, plain: PlainModel) -> PlainModel:
    kept = step.get_support(indices=True)
    if plain.encoding is not None:
        encoding = replace(plain.encoding, columns=kept[plain.encoding.columns])
        return plain.with_arrays(encoding=encoding, feature_names=_numbered(step.n_features_in_))
    columns = kept if plain.columns is None else kept[plain.columns]
    return plain.with_arrays(columns=columns, feature_names=_numbered(step.n_features_in_))


def _of_pca(step: PCA, plain: PlainModel) -> PlainModel:
    matrix = step.components_ / np.sqrt(step.explained_variance_)[:, None] if step.whiten else step.components_
    return mapped(plain, matrix, step.mean_, _numbered(step.n_features_in_))


def _of_lmnn(step: LMNN, plain: PlainModel) -> PlainModel:
    n_features = step.components_.shape[1]
    return mapped(plain, step.components_, np.zeros(n_features), _numbered(n_features))


def _of_preparation(step: Preparation, plain: PlainModel) -> PlainModel:
    if plain.encoding is None:
        plain = scaled(plain, step.factor_, -step.offset_ * step.factor_)
    else:
        # Digit for digit: what is next to a quantile, and what is on it, have different scores.
        plain = plain.with_arrays(encoding=plain.encoding.after(step.factor_, step.offset_))
    plain = plain.with_arrays(feature_names=tuple(origin.name for origin in step.origins()))
    if step.is_number_.all() and not step.had_missing_.any():
        return plain
    facts = zip(step.column_names(), step.is_number_, step.levels_, step.fill_, step.had_missing_, strict=True)
    columns = tuple(
        RawColumn(
            str(name),
            None if is_number else tuple(levels),
            float(fill),
            bool(flagged),
            step.categories == "ordinal",
            step.missing == "refuse",
        )
        for name, is_number, levels, fill, flagged in facts
    )
    return plain.with_arrays(raw_columns=columns)


def encoding_of(step: PiecewiseLinearBins | NormalScores) -> Encoding:
    """What a step does to its columns before it standardises them."""
    if isinstance(step, NormalScores):
        n = step.n_features_in_
        return Encoding(np.arange(n), np.ones(n), np.zeros(n), quantiles=step.quantiles_.T)
    column, begin, width = step._flat
    return Encoding(column, np.ones(len(column)), np.zeros(len(column)), begin, 1.0 / width)


def _of_encoding(step: PiecewiseLinearBins | NormalScores, plain: PlainModel) -> PlainModel:
    if plain.encoding is not None:
        raise ValueError("Bins or normal scores after one another cannot be exported; leave one of them out.")
    plain = scaled(plain, 1.0 / step.scale_, -step.mean_ / step.scale_)
    encoding = encoding_of(step)
    return plain.with_arrays(
        encoding=encoding if plain.columns is None else encoding.taken(plain.columns),
        columns=None,
        feature_names=_numbered(step.n_features_in_),
    )


FOLDS: dict[type, Fold] = {
    Preparation: _of_preparation,
    StandardScaler: _of_standard,
    MinMaxScaler: _of_min_max,
    MaxAbsScaler: _of_max_abs,
    RobustScaler: _of_robust,
    SelectorMixin: _of_selector,
    PCA: _of_pca,
    LMNN: _of_lmnn,
}
# What bends the columns: programs are written with it, and formulas in the columns are not.
ENCODINGS: dict[type, Fold] = {PiecewiseLinearBins: _of_encoding, NormalScores: _of_encoding}
