"""The form of the report in which a reader tries a row: the model runs in the page, as exported JavaScript."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from protolearn.explain.border import forms
from protolearn.explain.units import units_of
from protolearn.export.folding import deciding_model
from protolearn.report.fitted import fitted_model
from protolearn.report.page import name, paragraph, text
from protolearn.report.recall import Share
from protolearn.tables import Preparation

_MOST_COLUMNS = 60
_EXAMPLES = 20

_SCRIPT = """
{
  const form = document.getElementById("try-form"), answer = document.getElementById("try-answer");
  const shares = document.getElementById("try-shares"), why = document.getElementById("try-why");
  const warning = document.getElementById("try-warning");
  const given = JSON.parse(document.getElementById("try-data").textContent);
  let example = 0;
  const fields = given.columns.map((_, j) => document.getElementById("try-" + j));
  const value = (j) => {
    const entry = fields[j].value;
    return entry === "" ? null : given.columns[j].levels ? entry : Number(entry);
  };
  function encoded() {
    const v = [];
    given.columns.forEach((column, j) => {
      let x = value(j);
      if (x === null && given.refuse) x = NaN;
      if (!given.prepared) { v.push(x); return; }
      if (column.missing) v.push(x === null ? 1 : 0);
      if (column.levels && given.onehot) {
        for (const level of column.levels) v.push(x !== x ? NaN : level === x ? 1 : 0);
        return;
      }
      if (typeof x === "string") x = column.levels.indexOf(x);
      v.push(x === null ? column.fill : x);
    });
    return given.prepared ? v.map((x, k) => given.factor[k] * (x - given.offset[k])) : v;
  }
  const percent = (p) => p > 0.99 ? "> 99 %" : p < 0.01 ? "< 1 %" : Math.round(100 * p) + " %";
  const short = (x) => x === null ? "missing" : typeof x !== "number" ? String(x) :
    Math.abs(x) >= 1000 && Math.abs(x) < 1e9 ? x.toFixed(0) : String(Number(x.toPrecision(4)));
  // Of the test rows in the bin of the nearest probability, so many were right.
  function frequency(p) {
    if (!given.frequencies.length) return "";
    const [, found, of] = given.frequencies.reduce((a, b) => Math.abs(b[0] - p) < Math.abs(a[0] - p) ? b : a);
    return ` Of ${of} test rows of which the model was about as sure, ${found} were right.`;
  }
  function told(sentence) {
    const line = document.createElement("p");
    line.textContent = sentence;
    return line;
  }
  function cell(line, kind, content, name) {
    const made = line.appendChild(document.createElement(kind));
    made.textContent = content;
    if (kind === "th") made.scope = name || "row";
    else made.className = "number";
    return made;
  }
  // What each column adds to D_rival - D_own, or nothing where that is not what the distances say.
  function reasons(row) {
    if (!given.positions) return;
    const D = distances(row), own = D.indexOf(Math.min(...D));
    const rival = D.reduce((r, d, i) => labels[i] !== labels[own] && (r < 0 || d < D[r]) ? i : r, -1);
    if (rival < 0) return;
    const x = checked(row), picked = (v) => columns ? columns.map((j) => v[j]) : v;
    const of = picked(given.columnOf), added = given.columns.map(() => 0);
    for (const [i, sign] of [[rival, 1], [own, -1]]) {
      const v = picked(given.positions[i]).map((m, j) => m - x[j]), s = given.slots[i];
      const mapped = maps ? maps[s].map((a) => a.reduce((t, w, j) => t + w * v[j], 0)) : null;
      v.forEach((d, j) => {
        const pull = maps ? maps[s].reduce((t, a, k) => t + a[j] * mapped[k], 0) : d * (weights ? weights[s][j] : 1);
        added[of[j]] += sign * d * pull;
      });
    }
    const total = added.reduce((t, v) => t + v, 0);
    if (!(Math.abs(total - (D[rival] - D[own])) <= 1e-6 * (D[rival] + D[own]) + 1e-12)) return;
    const around = document.createElement("div"), table = document.createElement("table");
    const head = table.createTHead().insertRow(), body = table.createTBody();
    around.className = "scroll";
    around.append(table);
    table.className = "wrap";
    const name = (i) => classes[labels[i]] + ", no. " + given.numbers[i];
    ["column", "this row", name(own), name(rival), "speaks for"].forEach((title) => cell(head, "th", title, "col"));
    added.map((v, j) => j).sort((a, b) => Math.abs(added[b]) - Math.abs(added[a])).slice(0, 6).forEach((j) => {
      const line = body.insertRow();
      // A long name breaks after its underscores, not within a word.
      const head = cell(line, "th", "");
      given.columns[j].name.split(/(?<=[_.=])/).forEach((part) => head.append(part, document.createElement("wbr")));
      cell(line, "td", short(value(j)));
      cell(line, "td", short(given.values[own][j]));
      cell(line, "td", short(given.values[rival][j]));
      const share = Math.round(100 * Math.abs(added[j]) / added.reduce((t, v) => t + Math.abs(v), 0));
      cell(line, "td", classes[labels[added[j] >= 0 ? own : rival]] + ", " + share + "\\u00a0%").className =
        "number " + (added[j] >= 0 ? "right" : "wrong");
    });
    why.append(told("Why: the columns that say most, and the two prototypes that the row lies between."), around);
  }
  function show() {
    const empty = [], outside = [], broken = [];
    given.columns.forEach((column, j) => {
      const x = value(j), known = column.low !== null && typeof x === "number";
      const odd = known && (x < column.low || x > column.high);
      if (x === null && !column.missing) empty.push(column.name);
      if (column.whole && x !== null && !Number.isInteger(x)) broken.push(column.name);
      const range = `${short(column.low)} to ${short(column.high)}`;
      if (odd) outside.push(`${column.name} is ${short(x)}, in the training rows ${range}`);
      const refused = (x === null && !column.missing) || broken.includes(column.name);
      fields[j].parentElement.className = odd || refused ? "odd" : "";
    });
    shares.textContent = "";
    why.replaceChildren();
    warning.textContent = outside.length ? "Outside what the model has learned from: " + outside.join("; ") +
      ". What the model says of such a row is a guess." : "";
    if (empty.length) {
      answer.textContent = "No answer: fill in " + empty.join(", ") + ".";
      return;
    }
    if (broken.length) {
      answer.textContent = "No answer: give a whole number for " + broken.join(", ") + ".";
      return;
    }
    let row, share;
    try { row = encoded(); share = probabilities(row); } catch (error) {
      answer.textContent = "No answer: " + error.message;
      return;
    }
    answer.textContent = "Predicted: " + predict(row);
    shares.textContent = "Probabilities: " +
      classes.map((label, c) => [share[c], label]).sort((a, b) => b[0] - a[0]).slice(0, 6)
        .map(([p, label]) => label + " " + percent(p)).join(", ") + "." + frequency(Math.max(...share));
    reasons(row);
  }
  function fill() {
    given.examples[example % given.examples.length].forEach((x, j) => { fields[j].value = x === null ? "" : x; });
    example += 1;
    show();
  }
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("try-next").addEventListener("click", fill);
  fill();
}
"""


def try_form(
    model: Any,
    rows: Any,
    train: Any = None,
    frequencies: Sequence[tuple[float, Share]] = (),
    model_file: str = "model.json",
) -> tuple[str, str]:
    """The HTML of the form and its script; where the model cannot run in a page, a sentence and no script.

    Parameters
    ----------
    model : fitted classifier, or a pipeline ending in one
    rows : raw rows, the first of which fill the form
    train : raw training rows, of whose range the form warns; None: it does not
    frequencies : what `calibration` gives: how many rows are right at such a probability
    model_file : where the model was saved
    """
    try:
        from protolearn.export.js import module_source

        source, given = _given(model, rows, train, module_source)
    except (ImportError, ValueError, TypeError) as error:
        return paragraph(f"This model cannot be tried in the page: {error}", "soft"), ""
    if len(given["columns"]) > _MOST_COLUMNS:
        return paragraph(
            f"A form of {len(given['columns'])} fields would be long to fill in. To try rows of your own, write them "
            f"to a table with the same columns: `protolearn predict {model_file} rows.csv --proba` gives their "
            f"classes, and `protolearn explain {model_file} rows.csv --row 1` the reasons for the first row.",
        ), ""
    given["frequencies"] = [[mean, share.found, share.of] for mean, share in frequencies]
    fields = "".join(_field(number, column) for number, column in enumerate(given["columns"]))
    data = json.dumps(given, allow_nan=False).replace("<", "\\u003c")
    html = (
        paragraph(
            "The model itself runs in this page; what is typed in stays here. It begins with a row of the test set.",
            "soft",
        )
        + f'<form id="try-form" autocomplete="off">{fields}'
        '<div><button type="button" id="try-next">Another test row</button></div></form>'
        '<output id="try-answer" for="try-form" aria-live="polite"></output><p class="soft" id="try-shares"></p>'
        '<p class="wrong" id="try-warning" role="alert"></p><div id="try-why"></div>'
        f'<script type="application/json" id="try-data">{data}</script>'
        "<noscript><p>The form needs JavaScript, which is switched off here.</p></noscript>"
    )
    return html, source + _SCRIPT


def _field(number: int, column: dict[str, Any]) -> str:
    shown = name(column["name"])
    if column["levels"] is None:
        step, keys = ("1", "numeric") if column["whole"] else ("any", "decimal")
        entry = f'<input id="try-{number}" type="number" step="{step}" inputmode="{keys}">'
    else:
        levels = "".join(f'<option value="{text(level)}">{text(level)}</option>' for level in column["levels"])
        entry = f'<select id="try-{number}"><option value="">(none)</option>{levels}</select>'
    return f'<label for="try-{number}">{shown}{entry}</label>'


def _given(model: Any, rows: Any, train: Any, module_source: Any) -> tuple[str, dict[str, Any]]:
    """The exported model, and what the form needs to know: columns, their preparation, examples."""
    given = model
    fitted = fitted_model(model)
    model = deciding_model(model)
    steps = [step for _, step in model.steps[:-1]] if isinstance(model, Pipeline) else []
    first = steps[0] if len(steps) == 1 else None
    if isinstance(first, Preparation):
        names = _column_names(first, rows)
        columns = [
            {
                "name": str(name),
                "levels": None if is_number else list(levels),
                "missing": bool(missing),
                "fill": float(fill),
            }
            for name, is_number, levels, missing, fill in zip(
                names, first.is_number_, first.levels_, first.had_missing_, first.fill_, strict=True
            )
        ]
        source = module_source(fitted.classifier)
        scale = {"factor": first.factor_.tolist(), "offset": first.offset_.tolist()}
        known = {"prepared": True, "onehot": first.categories == "onehot", **scale}
        known["refuse"] = first.missing == "refuse"
    else:
        source = module_source(model)
        names = _column_names(model, rows)
        columns = [{"name": str(name), "levels": None, "missing": False, "fill": 0.0} for name in names]
        known = {"prepared": False, "onehot": False, "refuse": True}
    for j, column in enumerate(columns):
        column["low"], column["high"], column["whole"] = (
            (None, None, False) if column["levels"] is not None else _range(train, column["name"], j)
        )
    return source, {
        **known,
        "columns": columns,
        "examples": _examples(columns, rows),
        **_prototypes(given, known, len(columns)),
    }


def _prototypes(model: Any, known: dict[str, Any], n_columns: int) -> dict[str, Any]:
    """The prototypes as the exported model meets them, for reasons; nothing where columns are not told apart."""
    units, classifier = units_of(model)
    metric, found = classifier._prototype_set()
    if getattr(classifier, "classify_by", "prototypes") != "prototypes" or forms(metric, found) is None:
        return {}
    if units.encoder is not None or (not known["prepared"] and n_columns != len(units.column_of)):
        return {}
    order = classifier._class_order()
    positions = found.positions.astype(np.float64)
    return {
        "positions": (positions if known["prepared"] else positions / units.factor + units.offset).tolist(),
        "slots": np.broadcast_to(found.slot, len(positions)).tolist(),
        "columnOf": units.column_of.tolist(),
        "values": units.values(positions),
        "numbers": (order + 1).tolist(),
    }


def _range(rows: Any, name: Any, place: int) -> tuple[float | None, float | None, bool]:
    """The smallest and the largest number of a column, and whether all of its numbers are whole."""
    if rows is None:
        return None, None, False
    column = rows[name] if hasattr(rows, "columns") else np.asarray(rows)[:, place]
    numbers = np.asarray(column, dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return None, None, False
    return float(numbers.min()), float(numbers.max()), bool((numbers == np.round(numbers)).all())


def _column_names(fitted: Any, rows: Any) -> list[str]:
    names = getattr(fitted, "feature_names_in_", None)
    if names is None:
        names = getattr(rows, "columns", None)
    n_columns = fitted.n_features_in_
    return [f"x{j}" for j in range(n_columns)] if names is None or len(names) != n_columns else list(names)


def _examples(columns: list[dict[str, Any]], rows: Any) -> list[list[Any]]:
    """The first rows as the fields take them: numbers, texts, None where there is no value."""
    framed = hasattr(rows, "columns")
    found = [
        _column(rows[column["name"]] if framed else np.asarray(rows)[:, j], column["levels"] is None)
        for j, column in enumerate(columns)
    ]
    return [list(row) for row in zip(*found, strict=True)][:_EXAMPLES]


def _column(values: Any, numeric: bool) -> list[Any]:
    shown = []
    for value in np.asarray(values)[:_EXAMPLES].tolist():
        missing = value is None or value != value or type(value).__name__ in ("NAType", "NaTType")
        shown.append(None if missing else float(value) if numeric else str(value))
    return shown
