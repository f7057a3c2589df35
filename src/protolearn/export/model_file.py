"""Model files: a fitted estimator as one versioned JSON file that can be read by anybody and runs nothing.

    {"format": "protolearn-model", "version": 1, "sha256": "...", "written_by": "protolearn 0.1.0", "model": estimator}
    estimator = {"class": name, "parameters": {name: value}, "fitted": {name: value}}

The class comes from a fixed list, parameters are those of its constructor, fitted attributes those of `schema`; values
are written by `protolearn.export.values`. The checksum is that of the whole file with zeros in its place.
docs/model-file.md says what another reader needs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import warnings
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from protolearn.estimators.lamalvq import History
from protolearn.estimators.prediction import NearestPrototypeMixin
from protolearn.export.pipeline import RowPipeline
from protolearn.export.values import ModelFileError, decode, encode
from protolearn.tables.preparation import Preparation

FORMAT = "protolearn-model"
VERSION = 1
_NO_CHECKSUM = "0" * 64
_CHECKSUM = re.compile(rb'"sha256": "([0-9a-f]{64})"')

# Fitted attributes by the class that sets them; an estimator has those of all its bases.
_FITTED: dict[str, str] = {
    "BaseEstimator": "n_features_in_ feature_names_in_",
    "NearestPrototypeMixin": "classes_ prototypes_ prototype_labels_ temperature_ case_names_ reliability_",
    "CheckedClassifier": "data_min_ data_max_",
    "PrototypeBase": "_theta",
    "LearningClassifier": "prototype_cases_ relevances_ omega_ loss_curve_ n_iter_ _link _final_slope _scale "
    "_largest_distance _steps _rates _stream_random _free_positions _slope_factor",
    "LPD": "weights_ weights_start_",
    "Learn1NN": "sigma_ _default_sigma",
    "LaMaLVQ": "omega_ margin_ history_ loss_curve_ n_iter_",
    "LMNN": "components_ loss_curve_ n_iter_ n_invaders_",
    "Reducer": "reduction_",
    "Selector": "sample_indices_",
    "WilsonEditing": "n_neighbors_ cv_scores_",
    "Generator": "sample_prototypes_",
    "MixtGauss": "variances_ priors_ class_prior_ log_likelihood_curve_ accuracy_curve_ n_iter_ _means",
    "StructuralRiskSelector": "classes_ results_ best_estimator_ best_n_prototypes_",
    "Preparation": "is_number_ levels_ fill_ had_missing_ data_min_ data_max_ is_whole_ offset_ factor_",
    "AutoPrototypes": "classes_ estimators_ shares_ temperatures_ cv_results_ _soft _chosen stopped_by_ reliability_",
    "PiecewiseLinearBins": "edges_ mean_ scale_",
    "NormalScores": "quantiles_ mean_ scale_",
    "StandardScaler": "mean_ var_ scale_ n_samples_seen_",
    "MinMaxScaler": "min_ scale_ data_min_ data_max_ data_range_ n_samples_seen_",
}
# What they are, where they are not arrays.
_KINDS: dict[str, Any] = {
    "n_features_in_": int,
    **dict.fromkeys(("n_iter_", "n_invaders_", "n_neighbors_", "best_n_prototypes_", "_steps"), Integral),
    **dict.fromkeys(("sigma_", "margin_", "reduction_", "temperature_"), Real),
    **dict.fromkeys(("_final_slope", "_slope_factor", "_scale", "_largest_distance", "_default_sigma"), Real),
    **dict.fromkeys(("_link", "weights_start_"), str),
    **dict.fromkeys(("loss_curve_", "log_likelihood_curve_", "accuracy_curve_", "levels_", "edges_"), list),
    **dict.fromkeys(("estimators_", "_soft", "_chosen"), list),
    **dict.fromkeys(("cv_scores_", "results_", "cv_results_"), dict),
    "stopped_by_": (str, NoneType),
    "n_samples_seen_": (Real, np.ndarray),
    "history_": History,
    "best_estimator_": BaseEstimator,
    # A StandardScaler without mean or deviation has None there.
    **dict.fromkeys(("_rates", "mean_", "var_", "scale_"), (np.ndarray, NoneType)),
    **dict.fromkeys(("prototype_cases_", "_free_positions"), (np.ndarray, NoneType)),
    "_stream_random": np.random.RandomState,
}
_OTHERS = {
    "StructuralRiskSelector": "protolearn.auto.srm",
    "ColumnChoice": "protolearn.tables.choice",
    "Preparation": "protolearn.tables.preparation",
    "PiecewiseLinearBins": "protolearn.tables.encoding",
    "NormalScores": "protolearn.tables.encoding",
    "Pipeline": "sklearn.pipeline",
    "StandardScaler": "sklearn.preprocessing",
    "MinMaxScaler": "sklearn.preprocessing",
}
# Of scikit-learn's classes the parameters that the fitted model needs, so that files do not depend on its version; a
# folder for its cache (memory) is no part of a model.
_PARAMETERS = {
    "Pipeline": ("steps", "verbose"),
    "StandardScaler": ("copy", "with_mean", "with_std"),
    "MinMaxScaler": ("feature_range", "copy", "clip"),
}


def estimator_class(name: str) -> type | None:
    """The class that a model file calls so, if it may: the other classes are not imported, which would take as long."""
    import protolearn

    if name in protolearn.__all__:
        return getattr(protolearn, name)
    return getattr(import_module(_OTHERS[name]), name) if name in _OTHERS else None


def schema(estimator: type) -> list[str]:
    """The fitted attributes of a class that go into its model file."""
    names: list[str] = []
    for base in reversed(estimator.__mro__):
        names += _FITTED.get(base.__name__, "").split()
    return list(dict.fromkeys(names))


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted model to a file that `load` reads, in this process or in another one.

    Parameters
    ----------
    model : any fitted estimator of protolearn, or a Pipeline of such, of Preparation, StandardScaler and MinMaxScaler
    path : file to write; what was there stays until the new file is complete

    Raises
    ------
    ModelFileError
        Where the model is not fitted or holds something that no file can hold, such as a loss function of your own;
        nothing is written then.
    """
    write_bytes(path, dumps(model))


def load(path: str | os.PathLike) -> Any:
    """Read a model that `save` wrote; it predicts bit for bit what the saved one does.

    Nothing in the file can be run: it holds names from a fixed list, numbers and texts.

    Parameters
    ----------
    path : file to read

    Returns
    -------
    model : the fitted estimator; a Pipeline has `row_classifier`, a function of one raw row

    Raises
    ------
    ModelFileError
        Where the file is cut off, altered, from a newer protolearn, or no model file.
    """
    return loads(Path(path).read_bytes(), os.fspath(path))


def dumps(model: Any) -> bytes:
    """The content of a model file."""
    import protolearn

    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        raise ModelFileError(
            f"Only a fitted model can be saved, and this {type(model).__name__} is none; call fit first."
        ) from None
    _check_last_step(model)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "sha256": _NO_CHECKSUM,
        "written_by": f"protolearn {protolearn.__version__}",
        "model": _encode_estimator(model, type(model).__name__),
    }
    data = json.dumps(content, indent=1, allow_nan=False).encode("ascii") + b"\n"
    return data.replace(_NO_CHECKSUM.encode(), hashlib.sha256(data).hexdigest().encode(), 1)


def loads(data: bytes, name: str = "The file") -> Any:
    """The model in the content of a model file; `name` stands for it in errors."""
    try:
        content = json.loads(data.decode("ascii"))
    except (ValueError, RecursionError):
        raise ModelFileError(
            f"{name} is cut off or is no model file: it does not hold complete JSON; save the model again."
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f'{name} is no model file: it does not begin with "format": "{FORMAT}".')
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"{name} was altered: its version is no number; save the model again.")
    if version > VERSION:
        raise ModelFileError(
            f"{name} has version {version} of the format and this protolearn reads up to version {VERSION}; update "
            "protolearn."
        )
    found = _CHECKSUM.search(data)
    start, end = (0, 0) if found is None else found.span(1)
    sha256 = hashlib.sha256(data[:start] + _NO_CHECKSUM.encode() + data[end:]).hexdigest()
    if found is None or found[1].decode() != sha256:
        raise ModelFileError(
            f"{name} was altered after it was saved: its checksum does not match; save the model again or "
            "fetch the file anew."
        )
    try:
        model = _decode_estimator(content["model"], "model")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _check_last_step(model)
            _check_consistent(model)
    except Exception as error:
        # Whoever alters a file can make its checksum match: whatever is wrong inside is a wrong file, not our fault.
        reason = str(error) if isinstance(error, ModelFileError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(f"{name} holds no model that protolearn wrote: {reason:.200}.") from None
    return RowPipeline(model.steps, verbose=model.verbose) if type(model) is Pipeline else model


def write_bytes(path: str | os.PathLike, data: bytes) -> None:
    """Replace a file at once: a reader sees the old content or the new one, and a crash leaves one of them."""
    target = Path(path)
    if target.exists() and not target.is_file():
        # A pipe or /dev/stdout cannot be replaced.
        target.write_bytes(data)
        return
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _permissions(target))
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _permissions(target: Path) -> int:
    """Those of the file that is replaced, or of any new file: mkstemp lets only its owner read."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _encode_estimator(model: Any, where: str) -> dict[str, Any]:
    if type(model) is RowPipeline:
        return _encode_estimator(Pipeline(model.steps, verbose=model.verbose), where)
    name = type(model).__name__
    if estimator_class(name) is not type(model):
        raise ModelFileError(
            f"{where} is a {name}, which a model file cannot hold; it takes the estimators of protolearn, Pipeline, "
            "Preparation, StandardScaler and MinMaxScaler. Keep the model by joblib."
        )
    parameters = {key: encode(value, f"{name}({key}=...)", _encode_estimator) for key, value in _parameters(model)}
    fitted = {
        key: encode(_checked(vars(model)[key], key, name), f"{key} of {name}", _encode_estimator)
        for key in schema(type(model))
        if key in vars(model)
    }
    return {"class": name, "parameters": parameters, "fitted": fitted}


def _checked(attribute: Any, key: str, name: str) -> Any:
    if not isinstance(attribute, _KINDS.get(key, np.ndarray)):
        raise ModelFileError(f"{key} of {name} is a {type(attribute).__name__}, which it cannot be")
    return attribute


def _parameters(model: Any) -> list[tuple[str, Any]]:
    known = model.get_params(deep=False)
    return [(name, known[name]) for name in _PARAMETERS.get(type(model).__name__, known)]


def _decode_estimator(value: Any, where: str) -> Any:
    kind = estimator_class(value["class"])
    if kind is None:
        raise ModelFileError(f"{where} is of class {value['class']!r:.80}, which is none that a model file may name")
    name = kind.__name__
    parameters = {
        key: decode(item, f"{name}({key}=...)", _decode_estimator) for key, item in value["parameters"].items()
    }
    known = {key for key, _ in _parameters(kind(steps=[]) if name == "Pipeline" else kind())}
    unknown = (set(parameters) - known) | (set(value["fitted"]) - set(schema(kind)))
    if unknown:
        raise ModelFileError(f"{name} has no {min(unknown):.80}")
    model = kind(**parameters)
    for key, item in value["fitted"].items():
        attribute = decode(item, f"{key} of {name}", _decode_estimator)
        setattr(model, key, _checked(attribute, key, name))
    return model


def _check_last_step(model: Any) -> None:
    """Raise where a pipeline ends before a step that learned from classes."""
    while isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step not in ("passthrough", None)]
        if not steps:
            return
        model = steps[-1]
        if not isinstance(model, Pipeline) and not get_tags(model).target_tags.required:
            raise ModelFileError(f"a pipeline that ends in {type(model).__name__} lacks its classifier")


def _check_consistent(model: Any) -> None:
    """Raise where shapes or labels of a model, or of a part of it, do not belong together."""
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            if step not in ("passthrough", None):
                _check_consistent(step)
        first = next((step for _, step in model.steps if step not in ("passthrough", None)), None)
        if first is None:
            raise ModelFileError("a pipeline without steps is no model")
        _check_answer(model, _row_for(first))
        return
    check_is_fitted(model)
    n_features = vars(model)["n_features_in_"]
    names = getattr(model, "feature_names_in_", None)
    if names is not None and (len(names) != n_features or not all(isinstance(name, str) for name in names)):
        raise ModelFileError("the names of the features are not one text each")
    for part in getattr(model, "estimators_", []):
        _check_last_step(part)
        _check_consistent(part)
    if not isinstance(model, NearestPrototypeMixin):
        _check_answer(model, _row_for(model))
        return
    prototypes, labels, classes = model.prototypes_, model.prototype_labels_, model.classes_
    if prototypes.ndim != 2 or labels.shape != (len(prototypes),) or not np.isin(labels, classes).all():
        raise ModelFileError("prototypes, their labels and the classes do not belong together")
    if prototypes.shape[1] != n_features or prototypes.dtype.kind != "f" or classes.ndim != 1:
        raise ModelFileError("prototypes and features do not belong together")
    # Metric parameters and links that do not fit show in the first prediction.
    if not np.isfinite(prototypes).all():
        raise ModelFileError("prototypes are not finite")
    _check_answer(model, _row_for(model))


def _row_for(model: Any) -> Any:
    """One row that a fitted estimator takes."""
    if hasattr(model, "estimators_"):
        return _row_for(model.estimators_[0][0])
    if isinstance(model, Preparation):
        # The first row of the inverse passes through all that `transform` reads.
        return model.inverse_transform(np.zeros((1, len(model.factor_))))
    return np.zeros((1, model.n_features_in_))


def _check_answer(model: Any, row: Any) -> None:
    """Raise where a model has no answer to a row, or one that is not finite."""
    methods = [name for name in ("predict_proba", "predict", "transform") if hasattr(model, name)]
    if not methods:
        raise ModelFileError("it neither predicts nor transforms")
    for name in methods:
        answer = np.asarray(getattr(model, name)(row))
        if answer.dtype.kind == "f" and not np.isfinite(answer).all():
            raise ModelFileError(f"its {name} gives numbers that are not finite")
