"""The form of the report in which a reader tries a row: the model runs in the page, as exported JavaScript."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from protolearn.export.folding import deciding_model
from protolearn.report.fitted import fitted_model
from protolearn.report.page import paragraph, text
from protolearn.tables import Preparation

_MOST_COLUMNS = 60
_EXAMPLES = 20

_SCRIPT = """
{
  const form = document.getElementById("try-form"), answer = document.getElementById("try-answer");
  const shares = document.getElementById("try-shares");
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
  function show() {
    let row, share;
    try { row = encoded(); share = probabilities(row); } catch (error) {
      answer.textContent = "Fill in every field.";
      shares.textContent = "";
      return;
    }
    const two = classDistances(row).sort((a, b) => a - b);
    const certainty = two[1] === Infinity ? 1 : two[0] + two[1] > 0 ? (two[1] - two[0]) / (two[1] + two[0]) : 0;
    answer.textContent = "Predicted: " + predict(row);
    shares.textContent = "Certainty " + certainty.toFixed(2) + " of 1 (relative distance). Probabilities: " +
      classes.map((label, c) => [share[c], label]).sort((a, b) => b[0] - a[0]).slice(0, 6)
        .map(([p, label]) => label + " " + (100 * p).toFixed(1) + " %").join(", ");
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


def try_form(model: Any, rows: Any) -> tuple[str, str]:
    """The HTML of the form and its script; where the model cannot run in a page, a sentence and no script.

    Parameters
    ----------
    model : fitted classifier, or a pipeline ending in one
    rows : raw rows, the first of which fill the form
    """
    try:
        from protolearn.export.js import module_source

        source, given = _given(model, rows, module_source)
    except (ImportError, ValueError, TypeError) as error:
        return paragraph(f"This model cannot be tried in the page: {error}", "soft"), ""
    if len(given["columns"]) > _MOST_COLUMNS:
        return paragraph(
            f"With {len(given['columns'])} columns a form is no help; load the model and pass it a table.", "soft"
        ), ""
    fields = "".join(_field(number, column) for number, column in enumerate(given["columns"]))
    data = json.dumps(given, allow_nan=False).replace("<", "\\u003c")
    html = (
        paragraph("The model itself runs in this page. It begins with a row of the test set.", "soft")
        + f'<form id="try-form" autocomplete="off">{fields}'
        '<div><button type="button" id="try-next">Another test row</button></div></form>'
        '<output id="try-answer" for="try-form" aria-live="polite"></output><p class="soft" id="try-shares"></p>'
        f'<script type="application/json" id="try-data">{data}</script>'
        "<noscript><p>The form needs JavaScript, which is switched off here.</p></noscript>"
    )
    return html, source + _SCRIPT


def _field(number: int, column: dict[str, Any]) -> str:
    name = text(column["name"])
    if column["levels"] is None:
        entry = f'<input id="try-{number}" type="number" step="any" inputmode="decimal">'
    else:
        levels = "".join(f'<option value="{text(level)}">{text(level)}</option>' for level in column["levels"])
        entry = f'<select id="try-{number}"><option value="">(none)</option>{levels}</select>'
    return f'<label for="try-{number}">{name}{entry}</label>'


def _given(model: Any, rows: Any, module_source: Any) -> tuple[str, dict[str, Any]]:
    """The exported model, and what the form needs to know: columns, their preparation, examples."""
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
    return source, {**known, "columns": columns, "examples": _examples(columns, rows)}


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
