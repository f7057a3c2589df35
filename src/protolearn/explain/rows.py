"""One row of a table in any form: a table of one row, a Series, a dict, a list or an array."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from protolearn.explain.inputs import Inputs
from protolearn.tables.columns import is_frame


class Row:
    """One row in any form, its values by column, and tables of rows like it."""

    def __init__(self, row: Any, inputs: Inputs) -> None:
        self.given, self.inputs = row, inputs
        if is_frame(row):
            self.table = row
            names = list(row.columns)
        elif isinstance(row, Mapping):
            self.table, names = None, list(row)
        elif hasattr(row, "index") and hasattr(row, "to_dict"):
            self.table, names = None, list(row.index)
        else:
            array = np.asarray(row, dtype=object if inputs.preparation is not None else None)
            self.table = array if array.ndim == 2 else array[None]
            names = list(range(self.table.shape[1]))
        if self.table is not None and len(self.table) != 1:
            raise ValueError(f"counterfactual takes one row, and got {len(self.table)}; call it for each of them.")
        self.names = names
        if self.table is None:
            values = dict(row) if isinstance(row, Mapping) else row.to_dict()
            lacking = [name for name in inputs.columns if name not in values]
            if lacking:
                raise ValueError(f"The row lacks column {lacking[0]} of the training set.")
            self.all = [values[name] for name in names]
            self.place = [names.index(name) for name in inputs.columns]
            self.table = self.tables([[self.all[k] for k in self.place]])
        elif is_frame(self.table):
            self.all = [self.table[name].to_list()[0] for name in names]
            known = [str(name) for name in names]
            by_name = all(name in known for name in inputs.columns)
            self.place = [known.index(name) for name in inputs.columns] if by_name else list(range(len(inputs.columns)))
        else:
            self.all, self.place = list(self.table[0]), list(range(len(names)))
            if len(names) != len(inputs.columns):
                raise ValueError(f"The row has {len(names)} values, and the model takes {len(inputs.columns)}.")
        self.values = [self.all[k] for k in self.place]

    def _filled(self, values: list[Any]) -> list[Any]:
        whole = list(self.all)
        for k, value in zip(self.place, values, strict=True):
            whole[k] = value
        return whole

    def tables(self, rows: list[list[Any]]) -> Any:
        """A table of rows, of the type that the row was given in where that is a frame."""
        filled = [self._filled(values) for values in rows]
        if is_frame(self.given):
            if self.inputs.preparation is None and len(self.names) == len(self.place) and hasattr(self.given, "iloc"):
                return type(self.given)(np.array(filled, dtype=self._number_type()), columns=self.given.columns)
            return type(self.given)({name: [row[k] for row in filled] for k, name in enumerate(self.names)})
        kept = [[row[k] for k in self.place] for row in filled]
        if self.inputs.preparation is not None:
            return np.array(kept, dtype=object)
        return np.array(kept, dtype=self._number_type())

    def _number_type(self) -> Any:
        kinds = self.given.dtypes if is_frame(self.given) else [getattr(self.given, "dtype", None)]
        return np.float32 if {str(kind).lower() for kind in kinds} == {"float32"} else np.float64

    def predicted(self, table: Any) -> np.ndarray:
        """The classes that the model gives to the rows of a table."""
        with warnings.catch_warnings():
            # A list or a dict has no names that scikit-learn sees; the columns are in their order.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return np.asarray(self.inputs.model.predict(table))

    def like(self, values: list[Any]) -> Any:
        """A row of these values in the form of the row that was given."""
        given, filled = self.given, self._filled(values)
        if is_frame(given):
            return self.tables([values])
        if isinstance(given, Mapping):
            return dict(zip(self.names, filled, strict=True))
        if hasattr(given, "index") and hasattr(given, "to_dict"):
            return type(given)(filled, index=given.index)
        if isinstance(given, np.ndarray):
            changed = np.array([filled])
            dtype = np.result_type(changed, given) if given.dtype != np.float32 else given.dtype
            return (changed if given.ndim == 2 else changed[0]).astype(dtype)
        return [filled] if isinstance(given[0], list | tuple) else filled
