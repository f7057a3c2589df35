"""Export to ONNX: converters for skl2onnx, so that a whole scikit-learn pipeline converts.

    D = (Z Z) E + Z B + c            Z = x - o, or M (x - o) for every map M that some prototype uses

x are the inputs, or their bins or normal scores. One formula for all metrics: E holds the weights of each prototype (or
marks the rows of its map), B = -2 times weights and positions, c their squares. It is computed in double, since the
expanded square loses digits in float32; labels and probabilities are those of Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from protolearn.export.folding import deciding_model, encoding_of, written_model
from protolearn.export.plain import LEAST_SET_LOG, SAME_QUANTILE, Encoding, PlainModel, PlainSets
from protolearn.export.rows import LEAST_SHARE, MIDDLE, TAIL
from protolearn.tables import NormalScores, PiecewiseLinearBins, Preparation
from protolearn.tables.choice import ColumnChoice

# ONNX 1.12; onnxruntime 1.12 and later run it.
OPSET = 17
# The first opset in which the axes of a reduction are an input.
_AXES_ARE_INPUTS = 18
# Steps before normal scores hand on numbers in float32.
_SAME_QUANTILE_IN_FLOAT = 1e-6
# -ln of a component that is not there.
_NO_COMPONENT = 1e30


def to_onnx(model: Any, *, target_opset: int = OPSET) -> Any:
    """A fitted classifier, or a scikit-learn Pipeline that ends in one, as an ONNX model.

    The input is "X", float32 of shape (rows, features); the outputs are "label" (int64 or string, as the classes are)
    and "probabilities" (float32, one column a class in the order of `classes_`).

    Parameters
    ----------
    model : fitted classifier of protolearn, or Pipeline of steps that skl2onnx knows and a classifier of protolearn;
        AutoPrototypes too, with all its sets
    target_opset : int, version of the ONNX operators

    Returns
    -------
    onnx_model : onnx.ModelProto; `onnx_model.SerializeToString()` is the content of a file

    Raises
    ------
    ValueError
        Where the model has a metric of your own, takes texts, or is not fitted.
    """
    register_converters()
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType

    last = model
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    if getattr(last, "nearest_decides_", True):
        model = deciding_model(model)
    classifier = model.steps[-1][1] if isinstance(model, Pipeline) else model
    written_model(classifier)
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    if hasattr(first, "best_estimator_"):
        first = first.best_estimator_[0]
    if isinstance(first, Preparation) and not first.is_number_.all():
        name = first.column_names()[int(np.argmin(first.is_number_))]
        raise ValueError(
            f"The ONNX model takes rows of numbers, and column {name} holds texts; turn it into numbers before fit, or "
            "export to JavaScript."
        )
    _onnx_classes(classifier.classes_)
    return convert_sklearn(
        model,
        name="protolearn",
        initial_types=[("X", FloatTensorType([None, model.n_features_in_]))],
        options={id(classifier): {"zipmap": False}},
        target_opset=target_opset,
    )


@cache
def register_converters() -> None:
    """Tell skl2onnx how the classifiers of the library, and its steps before them, are written; `to_onnx` calls it."""
    try:
        from skl2onnx import update_registered_converter
        from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
    except ImportError:
        raise ImportError('ONNX needs more packages; install them with pip install "protolearn[onnx]".') from None
    import protolearn

    options = {
        "zipmap": [True, False, "columns"],
        "nocl": [True, False],
        "output_class_labels": [False, True],
        "raw_scores": [False],
    }
    for name in protolearn.__all__:
        kind = getattr(protolearn, name)
        if hasattr(kind, "predict"):
            update_registered_converter(
                kind,
                f"Protolearn{name}",
                calculate_linear_classifier_output_shapes,
                _convert_classifier,
                options=options,
            )
    update_registered_converter(protolearn.LMNN, "ProtolearnLMNN", _shape_of(_n_components), _convert_map)
    update_registered_converter(ColumnChoice, "ProtolearnColumnChoice", _shape_of(_n_kept), _convert_columns)
    for step in (PiecewiseLinearBins, NormalScores):
        update_registered_converter(step, f"Protolearn{step.__name__}", _shape_of(_n_encoded), _convert_encoding)
    update_registered_converter(Preparation, "ProtolearnPreparation", _shape_of(_n_prepared), _convert_preparation)


def _onnx_classes(classes: np.ndarray) -> np.ndarray:
    """The labels in a type that ONNX has."""
    if classes.dtype.kind in "UO" and all(isinstance(label, str) for label in classes):
        return classes.astype(np.str_)
    if classes.dtype.kind in "iub" or (classes.dtype.kind == "f" and (classes == np.rint(classes)).all()):
        return classes.astype(np.int64)
    raise ValueError("ONNX has labels that are whole numbers or texts; give the classes such names before fit.")


class _Graph:
    """Operators of one opset on doubles."""

    def __init__(self, opset: int) -> None:
        from skl2onnx.algebra import onnx_ops

        self.operators, self.opset = onnx_ops, opset

    def __call__(self, name: str, *inputs: Any, **attributes: Any) -> Any:
        return getattr(self.operators, f"Onnx{name}")(*inputs, op_version=self.opset, **attributes)

    def reduce(self, name: str, value: Any, axis: int, keepdims: int = 1) -> Any:
        """A reduction along one axis."""
        if name == "ReduceSum" or self.opset >= _AXES_ARE_INPUTS:
            return self(name, value, np.array([axis], dtype=np.int64), keepdims=keepdims)
        return self(name, value, axes=[axis], keepdims=keepdims)


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    from onnx import TensorProto
    from skl2onnx.common.data_types import DoubleTensorType

    classifier = operator.raw_operator
    written = written_model(classifier)
    graph = _Graph(container.target_opset)
    x = graph("Cast", operator.inputs[0], to=TensorProto.DOUBLE)
    if isinstance(written, PlainSets):
        # All sets have prepared their columns from the same rows in the same way.
        probabilities = _mean_of_sets(graph, _prepared(graph, x, classifier.best_estimator_[0]), written)
        nearest = graph("ArgMax", probabilities, axis=1, keepdims=0)
    else:
        distances = _class_distances(graph, x, written)
        probabilities = _probabilities(graph, distances, written)
        nearest = graph("ArgMin", distances, axis=1, keepdims=0)
    classes = _onnx_classes(classifier.classes_)
    graph("Gather", classes, nearest, axis=0, output_names=[operator.outputs[0].full_name]).add_to(scope, container)
    wide = isinstance(operator.outputs[1].type, DoubleTensorType)
    graph(
        "Cast",
        probabilities,
        to=TensorProto.DOUBLE if wide else TensorProto.FLOAT,
        output_names=[operator.outputs[1].full_name],
    ).add_to(scope, container)


def _mean_of_sets(graph: _Graph, x: Any, model: PlainSets) -> Any:
    """The mean over the sets of the probabilities of the classes, each to the power of its temperature."""
    total = None
    for plain, share, temperature in zip(model.sets, model.shares, model.temperatures, strict=True):
        features = x if plain.encoding is None else _encoded(graph, x, plain.encoding, SAME_QUANTILE)
        logs = graph("Log", _probabilities(graph, _class_distances(graph, features, plain), plain))
        powers = graph("Mul", graph("Max", logs, np.array([LEAST_SET_LOG])), np.array([float(temperature)]))
        part = graph("Mul", graph("Softmax", powers, axis=1), np.array([float(share)]))
        total = part if total is None else graph("Add", total, part)
    return total


def _class_distances(graph: _Graph, x: Any, plain: PlainModel) -> Any:
    """One distance for each class, infinite for a class without prototypes."""
    distances = _distances(graph, x, plain)
    counts = np.bincount(plain.labels, minlength=plain.n_classes)
    starts = plain.class_ends - counts
    # Short classes name their first prototype again.
    places = np.arange(max(counts.max(), 1))
    members = np.where(places < counts[:, None], starts[:, None] + places, starts[:, None])
    members = np.minimum(members, plain.n_prototypes - 1)
    gathered = graph("Gather", distances, members.astype(np.int64), axis=1)
    if plain.bias is None:
        nearest = graph.reduce("ReduceMin", gathered, 2, keepdims=0)
        return graph("Add", nearest, np.where(counts > 0, 0.0, np.inf)) if (counts == 0).any() else nearest
    twice = np.where(places < counts[:, None], 0.0, _NO_COMPONENT)
    energies = graph("Neg", graph("Add", gathered, twice))
    return graph("Neg", graph.reduce("ReduceLogSumExp", energies, 2, keepdims=0))


def _distances(graph: _Graph, x: Any, plain: PlainModel) -> Any:
    if plain.maps is None:
        origin = plain.positions.mean(axis=0)
        weights = np.ones((1, plain.n_used)) if plain.weights is None else plain.weights
        weights = weights[plain.slot]
        positions = plain.positions - origin
        z = graph("Sub", x, origin)
        squares, mixed = weights.T, -2.0 * (weights * positions).T
        constant = (weights * positions**2).sum(axis=1)
    else:
        n_slots, rank, _ = plain.maps.shape
        z = graph("MatMul", graph("Sub", x, plain.origin), plain.maps.reshape(n_slots * rank, -1).T.copy())
        own = np.repeat(np.arange(n_slots)[:, None] == plain.slot, rank, axis=0)
        squares = own.astype(np.float64)
        mixed = np.where(own, -2.0 * np.tile(plain.positions.T, (n_slots, 1)), 0.0)
        constant = (plain.positions**2).sum(axis=1)
    if (squares == squares[:, :1]).all():
        squares = squares[:, :1]
    square = graph("MatMul", graph("Mul", z, z), np.ascontiguousarray(squares))
    product = graph("MatMul", z, np.ascontiguousarray(mixed))
    distances = graph("Max", graph("Add", graph("Add", square, product), constant), np.zeros(1))
    return distances if plain.bias is None else graph("Add", distances, plain.bias)


def _probabilities(graph: _Graph, distances: Any, plain: PlainModel) -> Any:
    """protolearn.losses.links, operator by operator."""
    if plain.bias is not None:
        return graph("Softmax", graph("Neg", distances), axis=1)
    one = np.ones(1)
    if plain.link in ("relative", "power"):
        low = graph.reduce("ReduceMin", distances, 1)
        ratio = graph("Where", graph("Equal", distances, low), one, graph("Div", low, distances))
        share = graph("Pow", ratio, np.array([plain.slope / 2.0 if plain.link == "power" else 1.0]))
        return graph("Div", share, graph.reduce("ReduceSum", share, 1))
    if plain.link == "relative_sigmoid":
        distances = _relative(graph, distances)
    return graph("Softmax", graph("Mul", distances, np.array([-plain.slope])), axis=1)


def _relative(graph: _Graph, distances: Any) -> Any:
    """Class distances over the sum of the two smallest; 1/2 for each of several zeros."""
    infinite, zero = np.array([np.inf]), np.zeros(1)
    two = graph("TopK", distances, np.array([2], dtype=np.int64), axis=1, largest=0, output_names=None)
    total = graph.reduce("ReduceSum", two[0], 1)
    at_zero = graph("Where", graph("Greater", distances, zero), infinite, np.array([0.5]))
    relative = graph("Where", graph("Greater", total, zero), graph("Div", distances, total), at_zero)
    return graph("Where", graph("IsInf", distances), infinite, relative)


def _n_components(step: Any) -> int:
    return len(step.components_)


def _n_kept(step: Any) -> int:
    return int(step.get_support().sum())


def _n_prepared(step: Any) -> int:
    return len(step.factor_)


def _n_encoded(step: Any) -> int:
    return len(step.scale_)


def _shape_of(n_columns: Callable[[Any], int]) -> Callable[[Any], None]:
    """What tells skl2onnx the shape of a transformer's output."""

    def shape(operator: Any) -> None:
        given = operator.inputs[0].type
        operator.outputs[0].type = type(given)([given.shape[0], n_columns(operator.raw_operator)])

    return shape


def _convert_columns(scope: Any, operator: Any, container: Any) -> None:
    graph = _Graph(container.target_opset)
    kept = operator.raw_operator.get_support(indices=True).astype(np.int64)
    graph("Gather", operator.inputs[0], kept, axis=1, output_names=[operator.outputs[0].full_name]).add_to(
        scope, container
    )


def _convert_encoding(scope: Any, operator: Any, container: Any) -> None:
    """Bins or normal scores, then standardised."""
    from onnx import TensorProto
    from skl2onnx.common.data_types import DoubleTensorType

    step = operator.raw_operator
    graph = _Graph(container.target_opset)
    wide = isinstance(operator.inputs[0].type, DoubleTensorType)
    x = graph("Cast", operator.inputs[0], to=TensorProto.DOUBLE)
    z = _encoded(graph, x, encoding_of(step), SAME_QUANTILE if wide else _SAME_QUANTILE_IN_FLOAT)
    scaled = graph("Div", graph("Sub", z, step.mean_), step.scale_)
    kind = TensorProto.DOUBLE if wide else TensorProto.FLOAT
    graph("Cast", scaled, to=kind, output_names=[operator.outputs[0].full_name]).add_to(scope, container)


def _encoded(graph: _Graph, x: Any, encoding: Encoding, same: float) -> Any:
    """protolearn.export.plain.Encoding, operator by operator; quantiles nearer than `same` of their range are one."""
    from onnx import TensorProto

    columns = encoding.columns.astype(np.int64)
    t = graph("Mul", graph("Sub", graph("Gather", x, columns, axis=1), encoding.offset), encoding.factor)
    one, zero = np.ones(1), np.zeros(1)
    if encoding.quantiles is None:
        filled = graph("Mul", graph("Sub", t, encoding.begin), encoding.rate)
        return graph("Min", graph("Max", filled, zero), one)
    q = np.ascontiguousarray(encoding.quantiles)
    room, last = same * (q[:, -1] - q[:, 0]), q.shape[1] - 1

    def wide(value: Any) -> Any:
        return graph("Unsqueeze", value, np.array([2], dtype=np.int64))

    def count(found: Any) -> Any:
        return graph.reduce("ReduceSum", graph("Cast", found, to=TensorProto.DOUBLE), 2, keepdims=0)

    not_above = graph("Not", graph("Greater", q, wide(graph("Add", t, room))))
    below_row = graph("Less", q, wide(graph("Sub", t, room)))
    below = graph("Max", graph("Sub", count(not_above), one), zero)
    above = graph("Min", count(below_row), np.array([float(last)]))
    start = graph.reduce("ReduceMax", graph("Where", not_above, q, q[:, :1]), 2, keepdims=0)
    end = graph.reduce("ReduceMin", graph("Where", below_row, q[:, -1:], q), 2, keepdims=0)
    width = graph("Sub", end, start)
    between = graph("Greater", width, zero)
    part = graph("Div", graph("Sub", t, start), graph("Where", between, width, one))
    middle = graph("Mul", graph("Add", below, above), np.array([0.5]))
    rank = graph("Where", between, graph("Add", below, part), middle)
    return _normal(graph, graph("Div", rank, np.array([float(last)])))


def _normal(graph: _Graph, share: Any) -> Any:
    """The quantile of the standard normal distribution at a share, from -3 to 3: `protolearn.export.rows`."""

    def polynomial(coefficients: tuple[float, ...], r: Any) -> Any:
        value: Any = np.array([coefficients[0]])
        for number in coefficients[1:]:
            value = graph("Add", graph("Mul", r, value), np.array([number]))
        return value

    def ratio(parts: tuple[tuple[float, ...], ...], r: Any) -> Any:
        return graph("Div", polynomial(parts[0], r), polynomial(parts[1], r))

    least, one = np.array([LEAST_SHARE]), np.ones(1)
    share = graph("Min", graph("Max", share, least), one - least)
    q = graph("Sub", share, np.array([0.5]))
    r = graph("Sub", np.array([0.180625]), graph("Mul", q, q))
    smaller = graph("Min", share, graph("Sub", one, share))
    tail = graph("Sub", graph("Sqrt", graph("Neg", graph("Log", smaller))), np.array([1.6]))
    inside = graph("Not", graph("Less", r, np.zeros(1)))
    outer = graph("Mul", graph("Sign", q), ratio(TAIL, tail))
    return graph("Where", inside, graph("Mul", q, ratio(MIDDLE, r)), outer)


def _convert_preparation(scope: Any, operator: Any, container: Any) -> None:
    """Missing numbers filled in and told by inputs of their own, then scaled."""
    from onnx import TensorProto
    from skl2onnx.common.data_types import DoubleTensorType

    step = operator.raw_operator
    graph = _Graph(container.target_opset)
    wide = isinstance(operator.inputs[0].type, DoubleTensorType)
    x = graph("Cast", operator.inputs[0], to=TensorProto.DOUBLE)
    scaled = graph(
        "Mul", graph("Sub", _prepared(graph, x, step), step.offset_.astype(np.float64)), step.factor_.astype(np.float64)
    )
    kind = TensorProto.DOUBLE if wide else TensorProto.FLOAT
    graph("Cast", scaled, to=kind, output_names=[operator.outputs[0].full_name]).add_to(scope, container)


def _prepared(graph: _Graph, x: Any, step: Preparation) -> Any:
    """Missing numbers filled in, and told by inputs of their own."""
    from onnx import TensorProto

    missing = graph("IsNaN", x)
    filled = graph("Where", missing, step.fill_.astype(np.float64), x)
    flags = graph("Cast", missing, to=TensorProto.DOUBLE)
    both = graph("Concat", flags, filled, axis=1)
    n = step.n_features_in_
    order = [place for j in range(n) for place in ([j, n + j] if step.had_missing_[j] else [n + j])]
    return graph("Gather", both, np.array(order, dtype=np.int64), axis=1)


def _convert_map(scope: Any, operator: Any, container: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType

    graph = _Graph(container.target_opset)
    wide = isinstance(operator.inputs[0].type, DoubleTensorType)
    matrix = operator.raw_operator.components_.T.astype(np.float64 if wide else np.float32)
    graph(
        "MatMul", operator.inputs[0], np.ascontiguousarray(matrix), output_names=[operator.outputs[0].full_name]
    ).add_to(scope, container)
