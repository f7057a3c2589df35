"""Export to JavaScript: one ES module for a web page or node."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from protolearn.export.folding import written_model
from protolearn.export.model_file import write_bytes
from protolearn.export.plain import LEAST_SET_LOG, SAME_QUANTILE, PlainModel, PlainSets, RawColumn
from protolearn.export.rows import LEAST_SHARE, MIDDLE, TAIL

_CODE = """
function checked(row) {
  let values = Array.isArray(row) || ArrayBuffer.isView(row) ? Array.from(row) : featureNames.map((name) => row[name]);
  if (values.length !== featureNames.length) values = [NaN];
  else if (rawColumns) values = rawColumns.flatMap((column, j) => inputs(column, values[j]));
  if (!values.every((v) => typeof v === "number" && Number.isFinite(v)))
    throw new Error(`A row has ${featureNames.length} %(what)s, in the order or under the names of featureNames.`);
  return values;
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

const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
const sum = (values) => values.reduce((a, b) => a + b, 0);

// The distance of each prototype of a set.
function distancesOf(set, values) {
  const x = %(features)s;
  const { positions, slot, weights, maps, origin, bias } = set;
  let z = null, mappedBy = -1;
  return positions.map((p, i) => {
    const s = slot[i];
    let total = bias ? bias[i] : 0;
    if (maps) {
      if (mappedBy !== s) {
        z = maps[s].map((a) => a.reduce((t, v, j) => t + v * (x[j] - origin[j]), 0));
        mappedBy = s;
      }
      for (let k = 0; k < p.length; k++) total += (z[k] - p[k]) ** 2;
    } else {
      for (let j = 0; j < p.length; j++) total += (x[j] - p[j]) ** 2 * (weights ? weights[s][j] : 1);
    }
    return total;
  });
}

// The distance of each class of a set: that of its nearest prototype, or minus the log of the sum of exp(-distance).
function classDistancesOf(set, values) {
  const found = distancesOf(set, values);
  return classes.map((_, c) => {
    const own = found.slice(c ? set.classEnds[c - 1] : 0, set.classEnds[c]);
    const low = least(own);
    return set.bias && own.length ? low - Math.log(sum(own.map((d) => Math.exp(low - d)))) : low;
  });
}

// The logarithm of the probability of each class, by one set.
function logProbabilitiesOf(set, values) {
  const d = classDistancesOf(set, values);
  let score = d, slope = set.bias ? 1 : set.slope;
  if (!set.bias && (set.link === "relative" || set.link === "power")) {
    score = d.map(Math.log);
    slope = set.link === "power" ? slope / 2 : 1;
  } else if (!set.bias && set.link === "relative_sigmoid") {
    const total = sum([...d].sort((a, b) => a - b).slice(0, 2));
    score = d.map((v) => (!Number.isFinite(v) ? Infinity : total > 0 ? v / total : v > 0 ? Infinity : 0.5));
  }
  const low = least(score);
  const behind = score.map((v) => (v === low ? 0 : slope * (low - v)));
  const whole = Math.log(sum(behind.map(Math.exp)));
  return behind.map((v) => v - whole);
}

/** The class of a row: an array of numbers, or an object of numbers by feature name. */
export function predict(row) {
  return classes[predictIndex(row)];
}
"""
_USED = "set.columns ? set.columns.map((j) => values[j]) : values"
_ENCODING = """
// Piecewise-linear bins, or normal scores, of the inputs.
function encoded({ columns, factor, offset, begin, rate, quantiles }, values) {
  return columns.map((j, k) => {
    const t = factor[k] * (values[j] - offset[k]);
    if (begin) return Math.min(Math.max((t - begin[k]) * rate[k], 0), 1);
    const q = quantiles[k], last = q.length - 1, same = %(same)s * (q[last] - q[0]);
    const below = Math.max(q.filter((v) => v <= t + same).length - 1, 0);
    const above = Math.min(q.filter((v) => v < t - same).length, last);
    const width = q[above] - q[below];
    return normal((width > 0 ? below + (t - q[below]) / width : (below + above) / 2) / last);
  });
}

// The quantile of the standard normal distribution at a share, from -3 to 3: Wichura (1988), AS 241.
function normal(share) {
  const p = Math.min(Math.max(share, %(least_share)s), 1 - %(least_share)s), q = p - 0.5;
  const ratio = ([above, below], r) => above.reduce((t, a) => t * r + a) / below.reduce((t, a) => t * r + a);
  if (Math.abs(q) <= 0.425) return q * ratio(%(middle)s, 0.180625 - q * q);
  return Math.sign(q) * ratio(%(tail)s, Math.sqrt(-Math.log(Math.min(p, 1 - p))) - 1.6);
}
"""
_ONE_SET = """
const only = sets[0];

/** Index in `classes` of each prototype: prototypes are in the order of their classes. */
export const labels = [];
for (let c = 0, i = 0; c < classes.length; c++) for (; i < only.classEnds[c]; i++) labels.push(c);

/** The distance of each prototype: squared, under its metric%(mixture)s. */
export function distances(row) {
  return distancesOf(only, checked(row));
}

/** The distance of each class: that of its nearest prototype%(sum)s. */
export function classDistances(row) {
  return classDistancesOf(only, checked(row));
}

/** The index in `classes` of the nearest class, the first one on a tie. */
export function predictIndex(row) {
  const found = classDistances(row);
  return found.indexOf(least(found));
}

/** The probability of each class. */
export function probabilities(row) {
  return logProbabilitiesOf(only, checked(row)).map(Math.exp);
}
"""
_NEAREST = """
/** How clear the decision is: (rival - own) / (rival + own), from 0 on the border to 1 on a prototype. */
export function certainty(row) {
  const [own, rival] = classDistances(row).sort((a, b) => a - b);
  const ratio = rival === undefined ? 0 : rival > 0 ? own / rival : 1;
  return (1 - ratio) / (1 + ratio);
}

/** The class where its certainty is at least the threshold; null where somebody else has to decide. */
export function decide(row, threshold) {
  return certainty(row) >= threshold ? predict(row) : null;
}
"""
_RADIUS = """
/**
 * How far a row may move before its class can change: the Euclidean norm of the changes of its inputs. Exact with one
 * prototype a class, a lower bound with more.
 */
export function radius(row) {
  const { positions, weights, maps } = only;
  const found = distances(row), best = found.indexOf(least(found));
  return least(positions.map((p, i) => {
    if (labels[i] === labels[best]) return Infinity;
    const between = p.map((v, k) => v - positions[best][k]);
    const slope = maps
      ? maps[0][0].map((_, j) => sum(between.map((v, k) => maps[0][k][j] * v)))
      : between.map((v, j) => (weights ? weights[0][j] : 1) * v);
    const gap = found[i] - found[best];
    return gap > 0 ? gap / (2 * Math.hypot(...slope)) : 0;
  }));
}
"""
_SETS = """
/** The probability of each class: the mean over the sets, each to the power of its temperature. */
export function probabilities(row) {
  const values = checked(row);
  const found = classes.map(() => 0);
  for (const set of sets) {
    const powers = logProbabilitiesOf(set, values).map((v) => Math.exp(set.temperature * Math.max(v, %(least)s)));
    const whole = sum(powers);
    powers.forEach((v, c) => { found[c] += (set.share * v) / whole; });
  }
  return found;
}

/** The index in `classes` of the most probable class, the first one on a tie. */
export function predictIndex(row) {
  const found = probabilities(row);
  return found.indexOf(-least(found.map((v) => -v)));
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
    written = written_model(model)
    several = isinstance(written, PlainSets)
    sets = written.sets if isinstance(written, PlainSets) else (written,)
    facts = [_set(one) for one in sets]
    if isinstance(written, PlainSets):
        for fact, share, t in zip(facts, written.shares, written.temperatures, strict=True):
            fact |= {"share": float(share), "temperature": float(t)}
    plain = sets[0]
    raw = plain.raw_columns
    names = list(plain.feature_names) if raw is None else [column.name for column in raw]
    parts = [_CODE]
    if any(one.encoding is not None for one in sets):
        parts.append(_ENCODING)
    parts.append(_SETS if several else _ONE_SET)
    if not several and plain.bias is None:
        parts.append(_NEAREST)
        if plain.has_radius:
            parts.append(_RADIUS)
    head = [
        f"// {title(written)}",
        f"export const classes = {_json([label_value(label) for label in plain.classes])};",
        f"export const featureNames = {_json(names)};",
        f"const rawColumns = {_json(None if raw is None else [_column(column) for column in raw])};",
        f"const sets = [{', '.join(map(_json, facts))}];",
    ]
    mixture = plain.bias is not None
    words = {
        "features": f"set.encoding ? encoded(set.encoding, values) : {_USED}" if _ENCODING in parts else _USED,
        "what": "finite numbers"
        if raw is None
        else "values: finite numbers, and texts where the training set had them",
        "mixture": ", minus the logarithm of its density" if mixture else "",
        "sum": ", or minus the logarithm of the sum of its densities" if mixture else "",
        "least": LEAST_SET_LOG,
        "same": SAME_QUANTILE,
        "least_share": LEAST_SHARE,
        "middle": _json(MIDDLE),
        "tail": _json(TAIL),
    }
    return "\n".join(head) + "\n" + "".join(parts) % words


def _set(plain: PlainModel) -> dict[str, Any]:
    """A prototype set as the module stores it."""
    arrays = {
        "columns": plain.columns,
        "classEnds": plain.class_ends,
        "slot": plain.slot,
        "positions": plain.positions,
        "weights": plain.weights,
        "maps": plain.maps,
        "origin": plain.origin,
        "bias": plain.bias,
    }
    encoding = None if plain.encoding is None else {name: _listed(v) for name, v in vars(plain.encoding).items()}
    listed = {name: _listed(array) for name, array in arrays.items()}
    return {**listed, "encoding": encoding, "link": plain.link, "slope": plain.slope}


def _listed(array: Any) -> Any:
    return None if array is None else array.tolist()


def export_js(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted classifier as an ES module without dependencies, for a web page or node.

    The module has `predict(row)`, `probabilities(row)`, `classes` and `featureNames`; where the nearest prototype of
    one set decides, also `distances(row)`, `certainty(row)` and `decide(row, threshold)`, and `radius(row)` where all
    prototypes have one metric. A row is an array, or an object with the names of the features, of a table's columns
    where the model begins with a Preparation, texts and missing values as they are. The module computes in float64, as
    Python does.

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


def title(written: PlainModel | PlainSets) -> str:
    """What a module says first."""
    sets = written.sets if isinstance(written, PlainSets) else (written,)
    counts = ", ".join(str(one.n_prototypes) for one in sets)
    in_sets = f" in {len(sets)} sets" if len(sets) > 1 else ""
    return (
        f"Nearest prototype classifier written by protolearn: {counts} prototypes{in_sets}, {len(sets[0].classes)} "
        "classes."
    )


def label_value(label: Any) -> Any:
    """A class label as JSON and Python write it: a number, a truth value, or a text."""
    if isinstance(label, np.generic):
        label = label.item()
    return label if isinstance(label, bool | int | float) else str(label)


def _json(value: Any) -> str:
    # "<" only as an escape: a class called "</script>" must not end the script it stands in.
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")
