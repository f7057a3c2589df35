"""Bytes of a model on a device: the tables in flash, and the memory that one prediction needs."""

from __future__ import annotations

from dataclasses import dataclass

from protolearn.export.fixed_point import FixedPointModel
from protolearn.export.plain import PlainModel, PlainSets


@dataclass(frozen=True)
class Size:
    """Bytes of the exported model.

    flash : tables that decide the class, with the scales of the input; code and class names not counted
    ram : one row as `predict` takes it, and what `predict` holds besides single numbers
    tables : bytes of each table
    """

    flash: int
    ram: int
    tables: dict[str, int]


def index_bytes(largest: int) -> int:
    """Bytes of an unsigned integer that holds `largest`."""
    return 1 if largest < 1 << 8 else 2


def model_size(model: PlainModel | PlainSets | FixedPointModel) -> Size:
    """What the tables and one prediction take; a table of one number is written into the code, and counts as one."""
    if isinstance(model, PlainSets):
        return _size_of_sets(model)
    plain = model if isinstance(model, PlainModel) else model.plain
    tables = {"class_ends": plain.n_classes * index_bytes(plain.n_prototypes)}
    if plain.columns is not None:
        tables["columns"] = plain.n_used * index_bytes(plain.n_inputs - 1)
    buffer = 0
    if plain.encoding is not None:
        encoding = plain.encoding
        tables["inputs"] = plain.n_used * index_bytes(plain.n_inputs - 1)
        parts = {"begin": encoding.begin, "rate": encoding.rate, "quantiles": encoding.quantiles}
        tables |= {name: 4 * array.size for name, array in parts.items() if array is not None}
        buffer = 4 * plain.n_used
    if isinstance(model, PlainModel):
        item = 4
        arrays = {"weights": model.weights, "maps": model.maps, "origin": model.origin, "bias": model.bias}
        tables |= {name: 4 * array.size for name, array in arrays.items() if array is not None and array.any()}
        ram = buffer + 4 * (plain.n_inputs + (0 if model.maps is None else model.maps.shape[1]))
    else:
        item = 1 if model.dtype == "int8" else 2
        tables["scales"] = 4 * (model.offset.size + model.factor.size)
        ram = (1 if model.row_dtype == "int8" else 2) * plain.n_used
        if model.weights is not None:
            tables["weights"] = 2 * model.weights.size
        if model.maps is not None:
            tables["maps"] = item * model.maps.size
            tables["multipliers"] = 2 * model.multiplier.size
            tables["starts"] = 4 * model.start.size
            ram += 2 * item * model.maps.shape[1]
    tables["positions"] = item * model.positions.size
    return Size(sum(tables.values()), ram, tables)


def _size_of_sets(model: PlainSets) -> Size:
    sizes = [model_size(one) for one in model.sets]
    tables = {f"set {k} {name}": n for k, size in enumerate(sizes) for name, n in size.tables.items()}
    # The probabilities of all sets, and those of the set that is at work.
    ram = max(size.ram for size in sizes) + 2 * 4 * len(model.classes)
    return Size(sum(tables.values()), ram, tables)
