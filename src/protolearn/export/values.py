"""Python values as JSON and back: numbers, texts, containers, arrays, and nothing that could run.

What JSON has stands for itself. Everything else is an object that one of these keys gives away (docs/model-file.md):

    {"float": "nan"}                                      numbers that JSON lacks
    {"tuple": [...]}, {"dict": [[key, value], ...]}
    {"array": base64, "dtype": "<f8", "shape": [2, 3]}    numbers, little-endian, row by row ("order": "F": by column)
    {"array": [...], "dtype": "<U5", "shape": [2]}        texts; dtype "object": texts and numbers
    {"scalar": {array}}                                   one number of a NumPy type
    {"random_state": {...}}                               the state of a Mersenne twister
    {"part": name, "fields": {...}}                       a metric, a loss or a history, by a name of a fixed list
    {"class": name, ...}                                  an estimator: `protolearn.export.model_file`
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from math import isfinite
from typing import Any

import numpy as np

DTYPES = ("|b1", "|i1", "|u1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")
_NOT_IN_JSON = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_TWISTER_WORDS = 624
_DEEPEST = 50
# NumPy gives every text of an array the room of the widest one: a short file must not ask for much memory.
_WIDEST_TEXT = 4096

Encode = Callable[[Any, str], Any]
Decode = Callable[[dict, str], Any]


class ModelFileError(ValueError):
    """A model that no file can hold, or a file that does not hold what was saved."""


@cache
def parts() -> dict[str, type]:
    """The small values that a model may hold, by class name: our metrics and losses, and LaMaLVQ's history."""
    from protolearn.estimators.lamalvq import History
    from protolearn.losses import LOSSES
    from protolearn.metrics import METRICS

    found = [History, *(type(metric) for _, metric in METRICS.items()), *(loss for _, loss in LOSSES.items())]
    return {part.__name__: part for part in found if part.__module__.startswith("protolearn.")}


def encode(value: Any, where: str, estimator: Encode) -> Any:
    """`value` as JSON; `where` names it in the error for a value that cannot be written."""
    if isinstance(value, np.generic):
        return {"scalar": _encode_array(np.asarray(value), where)}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else {"float": str(value)}
    if isinstance(value, np.ndarray):
        return _encode_array(value, where)
    if isinstance(value, list):
        # A curve may hold NumPy's floats: plain ones say the same, and can be read.
        plain = [float(item) if isinstance(item, np.float64) else item for item in value]
        return [encode(item, where, estimator) for item in plain]
    if isinstance(value, tuple):
        return {"tuple": [encode(item, where, estimator) for item in value]}
    if isinstance(value, dict):
        return {
            "dict": [[encode(key, where, estimator), encode(item, where, estimator)] for key, item in value.items()]
        }
    if isinstance(value, np.random.RandomState):
        return {"random_state": _encode_random_state(value, where)}
    if parts().get(type(value).__name__) is type(value):
        names = [field.name for field in fields(value)] if is_dataclass(value) else []
        encoded = {name: encode(getattr(value, name), f"{where}.{name}", estimator) for name in names}
        return {"part": type(value).__name__, "fields": encoded}
    if hasattr(value, "get_params") and not isinstance(value, type):
        return estimator(value, where)
    kind = "a function" if callable(value) else f"a {type(value).__name__}"
    raise ModelFileError(f"{where} is {kind}, which a model file cannot hold; change it, or keep the model by joblib.")


def decode(value: Any, where: str, estimator: Decode, depth: int = 0) -> Any:
    """The value that `encode` wrote; `where` names it in the error for anything else."""
    if depth > _DEEPEST:
        raise ModelFileError(f"{where} is nested too deeply")

    def inner(item: Any) -> Any:
        return decode(item, where, estimator, depth + 1)

    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [inner(item) for item in value]
    if "float" in value:
        return _NOT_IN_JSON[value["float"]]
    if "array" in value:
        return _decode_array(value, where)
    if "scalar" in value:
        return _decode_array(value["scalar"], where)[()]
    if "tuple" in value:
        return tuple(inner(item) for item in value["tuple"])
    if "dict" in value:
        return {inner(key): inner(item) for key, item in value["dict"]}
    if "random_state" in value:
        return _decode_random_state(value["random_state"], where)
    if "part" in value:
        part = parts().get(value["part"])
        if part is None:
            raise ModelFileError(f"{where} names {value['part']!r:.80}, which no model has")
        return part(**{name: inner(item) for name, item in value["fields"].items()})
    if "class" in value:
        return estimator(value, where)
    raise ModelFileError(f"{where} is none of the values that a model has")


def _encode_array(array: np.ndarray, where: str) -> dict[str, Any]:
    kind = array.dtype.kind
    if kind == "U" or kind == "O":
        items = array.ravel().tolist()
        if all(isinstance(item, str | bool | int) or (isinstance(item, float) and isfinite(item)) for item in items):
            longest = max((len(item) for item in items if isinstance(item, str)), default=0)
            width = min(array.dtype.itemsize // 4, max(longest, _WIDEST_TEXT))
            dtype = "object" if kind == "O" else f"<U{width}"
            return {"array": items, "dtype": dtype, "shape": list(array.shape)}
    little = array.dtype.newbyteorder("<").str
    if little not in DTYPES:
        raise ModelFileError(f"{where} is an array of {array.dtype}, which a model file cannot hold; convert it.")
    # The order in memory decides how a matrix product rounds.
    by_column = array.flags.f_contiguous and not array.flags.c_contiguous
    data = array.astype(little, copy=False).tobytes(order="F" if by_column else "C")
    encoded = {"array": base64.b64encode(data).decode("ascii"), "dtype": little, "shape": list(array.shape)}
    return {**encoded, "order": "F"} if by_column else encoded


def _decode_array(value: Any, where: str) -> np.ndarray:
    shape, dtype, data = value["shape"], value["dtype"], value["array"]
    if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in shape):
        raise ModelFileError(f"{where} has a shape that is none")
    size = math.prod(shape)
    if isinstance(data, list):
        if len(data) != size or not all(isinstance(item, str | bool | int | float) for item in data):
            raise ModelFileError(f"{where} has another number of entries than its shape says")
        if dtype == "object":
            array = np.empty(size, dtype=object)
            array[:] = data
            return array.reshape(shape)
        width = int(dtype.removeprefix("<U"))
        if dtype != f"<U{width}" or width > max(_WIDEST_TEXT, *map(len, data), 0):
            raise ModelFileError(f"{where} has a text type that does not fit its texts")
        return np.array(data, dtype=dtype).reshape(shape)
    if dtype not in DTYPES or value.get("order", "C") not in ("C", "F"):
        raise ModelFileError(f"{where} is an array of a type that no model has")
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise ModelFileError(f"{where} is not base64") from None
    if len(raw) != size * np.dtype(dtype).itemsize:
        raise ModelFileError(f"{where} has another number of entries than its shape says")
    # A copy: what frombuffer gives cannot be written to, and learning goes on in place.
    flat = np.frombuffer(raw, dtype=dtype).astype(np.dtype(dtype).newbyteorder("="))
    return flat.reshape(shape, order=value.get("order", "C"))


def _encode_random_state(random: np.random.RandomState, where: str) -> dict[str, Any]:
    kind, key, position, has_gauss, cached = random.get_state()
    if kind != "MT19937":
        raise ModelFileError(f"{where} draws from {kind}, which a model file cannot hold; give a number as the seed.")
    words = _encode_array(np.asarray(key, dtype=np.uint32), where)
    return {"words": words, "position": int(position), "has_gauss": int(has_gauss), "gauss": float(cached)}


def _decode_random_state(value: dict, where: str) -> np.random.RandomState:
    words = _decode_array(value["words"], where)
    position, has_gauss = value["position"], value["has_gauss"]
    # NumPy checks the number of words, but not where the next one is read from.
    in_range = isinstance(position, int) and 0 <= position <= _TWISTER_WORDS and has_gauss in (0, 1)
    if words.shape != (_TWISTER_WORDS,) or words.dtype != np.uint32 or not in_range:
        raise ModelFileError(f"{where} is not the state of a random number generator")
    random = np.random.RandomState()
    random.set_state(("MT19937", words, position, has_gauss, float(value["gauss"])))
    return random
