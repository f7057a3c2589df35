"""Export to JavaScript: one ES module for a web page or node."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from protolearn.export.folding import plain_model
from protolearn.export.model_file import write_bytes
from protolearn.export.plain import PlainModel, RawColumn

_CODE = """
function checked(row) {
  let values = Array.isArray(row) || ArrayBuffer.isView(row) ? Array.from(row) : featureNames.map((name) => row[name]);
  if (values.length !== featureNames.length) values = [NaN];
  else if (rawColumns) values = rawColumns.flatMap((column, j) => inputs(column, values[j]));
  if (!values.every((v) => typeof v === "number" && Number.isFinite(v)))
    throw new Error(`A row has ${featureNames.length} %(what)s, in the order or under the names of featureNames.`);
  return columns ? columns.map((j) => values[j]) : values;
}

// A value of a table as numbers: whether it is missing, then its number, its code, or 1 for its level.
function inputs(column, value) {
  const missing = value === null || value === undefined || value === "" || Number.isNaN(value);
  if (missing && column.refuses) throw new Error(`A row needs a value of ${column.name}.`);
  const flag = column.flagged ? [missing ? 1 : 0] : [];
  if (!column.levels) return [...flag, missing ? column.fill : value];
  const code = missing ? -1 : column.levels.indexOf(String(value));
  if (column.coded) return [...flag, code < 0 ? column.fill : code];
  return [...flag, ...column.levels.map((_, k) => (k === code ? 1 : 0))];
}

/** Index in `classes` of each prototype: prototypes are in the order of their classes. */
export const labels = [];
for (let c = 0, i = 0; c < classes.length; c++) for (; i < classEnds[c]; i++) labels.push(c);

/** The distance of each prototype: squared, under its metric%(mixture)s. */
export function distances(row) {
  const x = checked(row);
  let z = null, mappedBy = -1;
  return positions.map((p, i) => {
    const s = %(slot)s;
    let sum = bias ? bias[i] : 0;
    if (maps) {
      if (mappedBy !== s) {
        z = maps[s].map((a) => a.reduce((t, v, j) => t + v * (x[j] - origin[j]), 0));
        mappedBy = s;
      }
      for (let k = 0; k < p.length; k++) sum += (z[k] - p[k]) ** 2;
    } else {
      for (let j = 0; j < p.length; j++) sum += (x[j] - p[j]) ** 2 * (weights ? weights[s][j] : 1);
    }
    return sum;
  });
}

/** The distance of each class: that of its nearest prototype%(sum)s. */
export function classDistances(row) {
  const found = distances(row);
  return classes.map((_, c) => {
    const own = found.slice(c ? classEnds[c - 1] : 0, classEnds[c]);
    const low = Math.min(...own);
    if (!bias || !own.length) return low;
    return low - Math.log(own.reduce((t, d) => t + Math.exp(low - d), 0));
  });
}

/** The index in `classes` of the nearest class, the first one on a tie. */
export function predictIndex(row) {
  const found = classDistances(row);
  return found.indexOf(Math.min(...found));
}

/** The class of a row: an array of numbers, or an object of numbers by feature name. */
export function predict(row) {
  return classes[predictIndex(row)];
}

/** The probability of each class. */
export function probabilities(row) {
  const d = classDistances(row);
  const low = Math.min(...d);
  let share;
  if (link === "relative" || link === "power") {
    const exponent = link === "power" ? slope / 2 : 1;
    share = d.map((v) => (v === low ? 1 : low / v) ** exponent);
  } else {
    let score = d;
    if (link === "relative_sigmoid") {
      const two = [...d].sort((a, b) => a - b).slice(0, 2);
      const total = two[0] + two[1];
      score = d.map((v) => (!Number.isFinite(v) ? Infinity : total > 0 ? v / total : v > 0 ? Infinity : 0.5));
    }
    const least = Math.min(...score);
    share = score.map((v) => Math.exp(-slope * (v - least)));
  }
  const sum = share.reduce((t, v) => t + v, 0);
  return share.map((v) => v / sum);
}
"""


def module_source(model: Any) -> str:
    """The text of the module that `export_js` writes; it may stand in a web page as it is.

    Parameters
    ----------
    model : fitted classifier or Pipeline, as for `export_c`

    Returns
    -------
    source : str
    """
    plain = model if isinstance(model, PlainModel) else plain_model(model)
    mixture = plain.bias is not None
    raw = plain.raw_columns
    names = list(plain.feature_names) if raw is None else [column.name for column in raw]
    arrays = {
        "columns": plain.columns,
        "classEnds": plain.class_ends,
        "positions": plain.positions,
        "weights": plain.weights,
        "maps": plain.maps,
        "origin": plain.origin,
        "bias": plain.bias,
    }
    lines = [
        f"// Nearest prototype classifier written by protolearn: {plain.n_prototypes} prototypes, {plain.n_classes} "
        "classes.",
        f"export const classes = {_json([label_value(label) for label in plain.classes])};",
        f"export const featureNames = {_json(names)};",
        f"const rawColumns = {_json(None if raw is None else [_column(column) for column in raw])};",
        *(f"const {name} = {_json(None if array is None else array.tolist())};" for name, array in arrays.items()),
        f"const link = {_json('difference' if mixture else plain.link)};",
        f"const slope = {_json(1.0 if mixture else plain.slope)};",
    ]
    slots = {"global": "0", "class": "labels[i]", "prototype": "i"}
    words = {
        "slot": slots[plain.scope],
        "what": "finite numbers"
        if raw is None
        else "values: finite numbers, and texts where the training set had them",
        "mixture": ", minus the logarithm of its density" if mixture else "",
        "sum": ", or minus the logarithm of the sum of its densities" if mixture else "",
    }
    return "\n".join(lines) + "\n" + _CODE % words


def export_js(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted classifier as an ES module without dependencies, for a web page or node.

    The module has `predict(row)`, `probabilities(row)`, `distances(row)`, `classes` and `featureNames`; a row is an
    array, or an object with the names of the features, of a table's columns where the model begins with a Preparation,
    texts and missing values as they are. It computes in float64, as Python does.

    Parameters
    ----------
    model : fitted classifier or Pipeline, as for `export_c`
    path : the module to write, usually `.mjs` or `.js`

    Raises
    ------
    ValueError
        Where the model cannot be written; no file is written then.
    """
    write_bytes(path, module_source(model).encode("ascii"))


def _column(column: RawColumn) -> dict[str, Any]:
    return {**vars(column), "levels": None if column.levels is None else list(column.levels)}


def label_value(label: Any) -> Any:
    """A class label as JSON and Python write it: a number, a truth value, or a text."""
    if isinstance(label, np.generic):
        label = label.item()
    return label if isinstance(label, bool | int | float) else str(label)


def _json(value: Any) -> str:
    # "<" only as an escape: a class called "</script>" must not end the script it stands in.
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")
