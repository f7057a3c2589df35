"""The report: what a fitted model is, how good, how small, and why it decides as it does, in one HTML file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import protolearn
from protolearn.data.containers import rows_of
from protolearn.explain.certificate import certified_accuracy
from protolearn.explain.importance import mean_contributions
from protolearn.explain.rejection import rejection_curve
from protolearn.explain.units import units_of
from protolearn.export.model_file import write_bytes
from protolearn.report.calibration import calibration, calibration_error, plot_calibration
from protolearn.report.cases import MOST_LINES, case_cards, cases
from protolearn.report.certified import plot_certified_accuracy
from protolearn.report.columns import Line, lines_of
from protolearn.report.confusion import plot_confusion
from protolearn.report.curves import plot_loss, plot_tradeoff
from protolearn.report.drawing import draw
from protolearn.report.fitted import FittedModel, fitted_model, image_shape_of
from protolearn.report.metric_plots import learns_a_metric, plot_omega, plot_relevances, relevances_of
from protolearn.report.page import Section, code, figure, page, pair, paragraph, table
from protolearn.report.page import name as column_name
from protolearn.report.plots import plot_prototypes
from protolearn.report.projections import plot_decision_regions, plot_embedding
from protolearn.report.recall import Share, rarer_class, recall_table
from protolearn.report.rejection import plot_rejection
from protolearn.report.sets import class_sets
from protolearn.report.source import Source
from protolearn.report.try_form import try_form
from protolearn.report.uncertain import uncertain_rows

_MOST_POINTS = 2000
_MOST_IMAGES = 8
_MOST_LINES = 10
_MOST_CARDS = 12
_MOST_BARS = 20
# Of more features neither a matrix nor a table of weights is read.
_MOST_LEARNED = 10
_MOST_EXPLAINED = 500


def write_report(
    path: str | os.PathLike,
    model: Any,
    train: Any,
    y_train: Any,
    test: Any,
    y_test: Any,
    *,
    table: Sequence[Mapping[str, Any]],
    tradeoff: Sequence[Mapping[str, Any]] | None = None,
    verdict: str | None = None,
    source: Source | None = None,
    finding: Any = None,
) -> None:
    """Write a report on a fitted model: one HTML file that needs no network.

    Parameters
    ----------
    path : the file to write; it is replaced at once or not at all
    model : fitted classifier with prototypes, or a pipeline ending in one
    train, y_train : raw training rows and labels
    test, y_test : raw test rows and labels, which the model has not seen
    table : one dict a method, with the keys "method", "accuracy" (0 to 1), "numbers" (None where they cannot be
        counted), "kilobytes" and "microseconds" (a prediction); the last one is this model, one whose name begins with
        "1-NN" what it is compared with
    tradeoff : one dict a size, with the keys "prototypes", "accuracy" and "spread"; None leaves the curve out
    verdict : how the model compares with the others, in place of a sentence about size and speed
    source : the name of the data, the date, the command, and identifiers of the rows
    finding : the class whose recall is the sensitivity; None takes the rarer of two classes where one is clearly rarer
    """
    html = report_page(
        model, train, y_train, test, y_test, table=table, tradeoff=tradeoff, verdict=verdict, source=source,
        finding=finding,
    )  # fmt: skip
    write_bytes(path, html.encode("utf-8", "xmlcharrefreplace"))


def report_page(
    model: Any,
    train: Any,
    y_train: Any,
    test: Any,
    y_test: Any,
    *,
    table: Sequence[Mapping[str, Any]],
    tradeoff: Sequence[Mapping[str, Any]] | None = None,
    verdict: str | None = None,
    source: Source | None = None,
    finding: Any = None,
) -> str:
    """The HTML that `write_report` writes; parameters as there."""
    fitted = fitted_model(model)
    y_train, y_test = np.asarray(y_train), np.asarray(y_test)
    if not table or not len(y_test):
        raise ValueError("A report needs the table of methods and at least one test row; pass both.")
    if finding is not None and finding not in fitted.classifier.classes_.tolist():
        known = ", ".join(map(str, fitted.classifier.classes_[:10]))
        raise ValueError(f"The model knows no class {finding!r} to be the finding; choose one of {known}.")
    source = source or Source()
    checked, bins = _certainty(model, fitted, test, y_test, source)
    form, script = try_form(model, test, train, bins, source.model_file)
    lines = lines_of(model, train)
    importance = _importance(model, fitted, test, lines)
    sections = [
        _right(model, fitted, test, y_train, y_test, finding),
        _prototypes(model, fitted, train, y_train, lines, importance, source),
        _relevances(model, fitted, lines, importance),
        *checked,
        Section("try", "Try a row", form),
        _summary(table, _one_sentence(fitted, table) if verdict is None else verdict),
        # Pictures stand side by side, sentences below them.
        *sorted(
            [_tradeoff(fitted, tradeoff), _embedding(model, fitted, train, y_train), _learning(model, fitted)],
            key=lambda section: section.whole,
        ),
        _loading(train, source),
    ]
    return page(
        _title(fitted, source),
        _lead(fitted, y_train, y_test, source),
        sections,
        footer=f"Written by protolearn {protolearn.__version__}. This file holds everything it shows; nothing is "
        "loaded from elsewhere.",
        script=script,
    )


def _title(fitted: FittedModel, source: Source) -> str:
    """The data and what is decided."""
    labels = [str(label) for label in fitted.classifier.classes_]
    decided = " or ".join([", ".join(labels[:-1]), labels[-1]])
    if len(labels) > 4 or len(decided) > 60:
        decided = f"{len(labels)} classes"
    return f"{source.data or 'Report'}: {decided}"


def _lead(fitted: FittedModel, y_train: np.ndarray, y_test: np.ndarray, source: Source) -> str:
    """What the model does, and where the report comes from."""
    n_prototypes, n_classes = len(fitted.classifier.prototypes_), len(fitted.classifier.classes_)
    said = (
        f"The model compares a row with {n_prototypes} prototypes and gives the class of the one most like it. A "
        f"prototype is a point of one class; the model has learned all of them from {len(y_train):,} rows of "
        f"{n_classes} classes. What follows is measured on {len(y_test):,} test rows that were kept aside."
    )
    known = [f"Data: {source.data}." if source.data else "", f"Date: {source.date}." if source.date else ""]
    about = " ".join(part for part in known if part)
    lead = paragraph(said) + (paragraph(about, "soft") if about else "")
    return lead + (code(source.command) if source.command else "")


def _one_sentence(fitted: FittedModel, rows: Sequence[Mapping[str, Any]]) -> str:
    """How much smaller and faster, against 1-NN or whatever comes first in the table."""
    own = rows[-1]
    n_prototypes = len(fitted.classifier.prototypes_)
    begin = (
        f"{n_prototypes} prototypes ({int(own['numbers']):,} numbers) classify {100 * own['accuracy']:.1f} % of the "
        "test rows right"
    )
    if len(rows) < 2:
        return begin + "."
    other = next((row for row in rows[:-1] if str(row["method"]).lower().startswith("1-nn")), rows[0])
    size = _ratio(other["numbers"], own["numbers"], "smaller", "larger")
    speed = _ratio(other["microseconds"], own["microseconds"], "faster", "slower")
    return f"{begin}; {other['method']}, {100 * other['accuracy']:.1f} %. The model is {size} and {speed}."


def _ratio(theirs: float, ours: float, better: str, worse: str) -> str:
    if not (theirs > 0 and ours > 0):
        return f"not {better}"
    factor, word = (theirs / ours, better) if theirs >= ours else (ours / theirs, worse)
    return f"{factor:.0f} x {word}" if factor >= 9.5 else f"{factor:.1f} x {word}"


def _summary(rows: Sequence[Mapping[str, Any]], verdict: str) -> Section:
    lines = [
        (
            row["method"],
            f"{100 * row['accuracy']:.2f}",
            "-" if row["numbers"] is None else f"{int(row['numbers']):,}",
            f"{row['kilobytes']:,.1f}",
            _rows_a_second(row["microseconds"]),
        )
        for row in rows
    ]
    header = ("method", "right, %", "numbers stored", "KB", "rows a second")
    shown = table(
        header,
        lines,
        caption="Test rows that are right; what the method stores; rows it classifies in a second, many at once",
        own=len(lines) - 1,
        wrap=True,
    )
    return Section("summary", "Compared with other methods", paragraph(verdict) + shown)


def _rows_a_second(microseconds: float) -> str:
    """In two digits, which is all that a measured time is good for."""
    return f"{float(f'{1e6 / microseconds:.2g}'):,.0f}" if microseconds > 0 else "-"


def _tradeoff(fitted: FittedModel, rows: Sequence[Mapping[str, Any]] | None) -> Section:
    name, title = "tradeoff", "How many prototypes"
    if not rows:
        return Section(
            name,
            title,
            paragraph("Only one number of prototypes was tried; `--prototypes auto` tries several.", "soft"),
        )
    n_prototypes = len(fitted.classifier.prototypes_)
    best = max(rows, key=lambda row: row["accuracy"])
    said = (
        f"Accuracy on rows held out, by number of prototypes; the best of {len(rows)} sizes is "
        f"{best['prototypes']:g} with {100 * best['accuracy']:.1f} %."
    )
    picture = draw(name, lambda ax: plot_tradeoff(rows, chosen=n_prototypes, ax=ax), said)
    return Section(
        name,
        title,
        figure(
            picture, f"{said} Bars show the standard error. The model of this report has {n_prototypes} (dotted line)."
        ),
        False,
    )


def _right(
    model: Any, fitted: FittedModel, test: Any, y_train: np.ndarray, y_test: np.ndarray, finding: Any
) -> Section:
    predicted = fitted.predict(fitted.features(test))
    chosen = ""
    if finding is None:
        finding, chosen = rarer_class(y_train), "the rarer class in training"
    labels = np.union1d(fitted.classifier.classes_, y_test)
    longest = min(max(len(str(label)) for label in labels), 28)
    size = float(np.clip(0.26 * len(labels) + 1.6 + 0.07 * longest, 3.0, 8.0))
    said = "Each line holds the test rows of one class, each column those that are given one class."
    picture = draw(
        "confusion", lambda ax: plot_confusion(model, test, y_test, ax=ax), said, width=size + 0.9, height=size
    )
    shown, drawn = recall_table(y_test, predicted, finding, chosen), figure(picture, said, "" if size < 5.5 else "wide")
    return Section("confusion", "How often it is right", pair(shown, drawn) if size < 5.5 else shown + drawn)


def _importance(model: Any, fitted: FittedModel, test: Any, lines: list[Line]) -> np.ndarray | None:
    """How much each line decides, on the first test rows; None where densities decide."""
    if getattr(fitted.classifier, "classify_by", "prototypes") != "prototypes":
        return None
    n_rows = min(_MOST_EXPLAINED, getattr(test, "shape", np.shape(test))[0])
    _, shares = mean_contributions(model, rows_of(test, np.arange(n_rows)))
    return np.array([shares[line.columns].sum() for line in lines])


def _prototypes(
    model: Any,
    fitted: FittedModel,
    train: Any,
    y_train: np.ndarray,
    lines: list[Line],
    importance: np.ndarray | None,
    source: Source,
) -> Section:
    classifier = fitted.classifier
    labels, counts = np.unique(classifier.prototype_labels_, return_counts=True)
    shape = image_shape_of(classifier.prototypes_.shape[1], fitted.feature_names)
    most = _MOST_IMAGES if shape is not None else max(_MOST_CARDS // len(labels), 1)
    cut = f" Shown are the first {most} of each class." if counts.max() > most else ""
    _, found = cases(model, train, y_train, most)
    if shape is not None:
        said = f"Each picture is a prototype, one line a class.{cut}"
        beside = "The training rows of the same class most like them, in the same places."
        width, height = 0.55 * min(int(counts.max()), most) + 1.0, 0.58 * len(labels) + 0.3

        def pictures(name: str, told: str, rows: np.ndarray | None) -> str:
            plot = partial(plot_prototypes, model, image_shape=shape, max_per_class=most, positions=rows)
            return figure(draw(name, lambda ax: plot(ax=ax), told, width=width, height=height), told, "small")

        of_rows = np.full(classifier.prototypes_.shape, np.nan)
        for one in found:
            of_rows[one.prototype] = [np.nan if value is None else value for value in one.row_values]
        named = table(
            ("prototype", "class", "most like it"),
            [(one.prototype + 1, one.label, "-" if one.row is None else source.train_row(one.row)) for one in found],
            caption="The numbers of the prototypes, as `protolearn explain` gives them",
            columns=3,
        )
        body = pair(pictures("prototypes", said, None), pictures("cases", beside, of_rows)) + _folded(
            "Numbers of the prototypes and their training rows", named
        )
        return Section("prototypes", "The prototypes", body)
    shares = np.ones(len(lines)) if importance is None else importance
    n_shown = min(len(lines), MOST_LINES)
    ordered = "" if importance is None else " The columns that decide most stand first."
    if n_shown < len(lines):
        ordered = f" Of {len(lines)} columns the {n_shown} that decide most are shown."
    if any(line.levels or line.indicator for line in lines):
        ordered += (
            " A prototype lies between rows: where a column of the table holds only 0 and 1, its value is given as a "
            "percentage, as if the prototype stood for rows of which so many have 1."
        )
    said = (
        "A row gets the class of the prototype that it is most like. A prototype is learned and need not be a row of "
        "the table; beside it stands the training row of the same class that is most like it. Numbers are in the units "
        f"of the table.{cut}{ordered} {source.about_rows}"
    )
    body = paragraph(said) + case_cards(lines, found, shares, source)
    if len(fitted.feature_names) <= _MOST_LINES:
        told = "Each line is a prototype: its value in each column, as the model scales it."
        picture = draw(
            "prototypes", lambda ax: plot_prototypes(model, max_per_class=most, ax=ax), told,
            width=float(np.clip(0.22 * len(fitted.feature_names) + 2.4, 5.2, 10)), height=4.0,
        )  # fmt: skip
        body += figure(picture, told)
    return Section("prototypes", "The prototypes", body)


def _folded(title: str, body: str) -> str:
    """What opens on a click."""
    return f"<details><summary>{title}</summary>{body}</details>"


def _relevances(model: Any, fitted: FittedModel, lines: list[Line], importance: np.ndarray | None) -> Section:
    name, title = "relevances", "Which columns count"
    body = "" if importance is None else _decides(lines, importance)
    if learns_a_metric(model) and len(fitted.feature_names) <= _MOST_LEARNED:
        body += _learned(model, fitted, name, lines, importance)
    elif importance is None:
        body = paragraph("This model decides by densities, in which all columns count alike.", "soft")
    return Section(name, title, body)


def _decides(lines: list[Line], shares: np.ndarray) -> str:
    order = np.argsort(-shares, kind="stable")[:_MOST_BARS]
    said = (
        "How much each column decides: the mean size of what it adds for or against a class, over the test rows, as a "
        "share of all columns."
    )
    cut = f" Of {len(lines)} columns the first {_MOST_BARS}." if len(lines) > _MOST_BARS else ""
    largest = max(float(shares.max()), 1e-12)
    bars = "".join(
        f'<div class="bar"><span>{column_name(lines[j].name)}</span>'
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect x="0" y="1" width="{100 * shares[j] / largest:.1f}" height="8" '
        f'style="fill:var(--accent)"/></svg><span class="number">{100 * shares[j]:.1f} %</span></div>'
        for j in order
    )
    return paragraph(said + cut) + f'<div class="bars">{bars}</div>'


def _learned(model: Any, fitted: FittedModel, name: str, lines: list[Line], importance: np.ndarray | None) -> str:
    """The weights or the matrix that the distance has learned, the features in the order of the bars."""
    shares = relevances_of(model)
    order = np.argsort(-shares.mean(axis=0), kind="stable")
    if importance is not None:
        share_of = {j: share for line, share in zip(lines, importance, strict=True) for j in line.columns}
        of_feature = [share_of[int(j)] for j in units_of(model)[0].column_of]
        order = np.argsort(-np.array(of_feature), kind="stable")
    said = (
        "How much weight the learned distance gives each column, in the order above. A column with a large weight "
        "decides little where its values hardly differ between the prototypes."
    )
    local = len(shares) > 1
    picture = draw(
        name, lambda ax: plot_relevances(model, features=order.tolist(), ax=ax), said,
        height=float(np.clip(0.2 * len(shares) + 2, 3, 8)) if local else 0.2 * len(order) + 0.9,
    )  # fmt: skip
    body = figure(picture, said)
    omega = getattr(fitted.classifier, "omega_", None)
    if omega is not None and np.ndim(omega) == 2:
        told = (
            "Columns that count together: the distance adds up what two columns with a red field differ by, and takes "
            "that of two columns with a blue field off each other. On the diagonal stand the weights."
        )
        size = float(np.clip(0.16 * len(order) + 2.2, 3.4, 8))
        matrix = draw(
            "omega", lambda ax: plot_omega(model, features=order.tolist(), ax=ax), told, width=size + 0.8, height=size
        )
        body = pair(body, figure(matrix, told))
    return body


def _embedding(model: Any, fitted: FittedModel, train: Any, y_train: np.ndarray) -> Section:
    chosen = np.arange(len(y_train))
    cut = ""
    if len(chosen) > _MOST_POINTS:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, _MOST_POINTS, replace=False))
        cut = f" {_MOST_POINTS} of {len(y_train):,} rows are drawn."
    rows, labels = rows_of(train, chosen), y_train[chosen]
    flat = len(fitted.feature_names) == 2
    plot = plot_decision_regions if flat else plot_embedding
    said = "Training rows (dots) and prototypes (large marks) in two dimensions."
    picture = draw("embedding", lambda ax: plot(model, rows, labels, ax=ax), said, height=3.9)
    return Section("embedding", "The data in two dimensions", figure(picture, said + cut), False)


def _learning(model: Any, fitted: FittedModel) -> Section:
    name, title = "learning", "How learning went"
    curve = getattr(fitted.classifier, "loss_curve_", None)
    if curve is None or len(curve) < 2:
        told = f"{type(fitted.classifier).__name__} does not learn step by step, so there is no curve to show."
        return Section(name, title, paragraph(told, "soft"))
    said = (
        "Learning makes a measure of error, the loss, smaller step by step: here it is after each of "
        f"{len(curve)} steps (epochs), from {curve[0]:.4g} to {curve[-1]:.4g}. The curve should end level."
    )
    picture = draw(name, lambda ax: plot_loss(model, ax=ax), said, height=3.9)
    return Section(name, title, figure(picture, said), False)


def _certainty(
    model: Any, fitted: FittedModel, test: Any, y_test: np.ndarray, source: Source
) -> tuple[list[Section], list[tuple[float, Share]]]:
    """What the relative distance is good for, and bins of `calibration`; a model that decides otherwise has none."""
    title = "The least certain decisions"
    if getattr(fitted.classifier, "classify_by", "prototypes") != "prototypes":
        told = paragraph(
            'This model decides by densities, not by distances; fit it with classify_by="prototypes".', "soft"
        )
        return [Section("rejection", "Leaving unclear rows to a person", told), Section("uncertain", title, told)], []
    bins = calibration(model, test, y_test)
    sections = [
        Section("uncertain", title, uncertain_rows(model, test, y_test, source)),
        _rejection(model, fitted, test, y_test),
        _calibration(model, test, y_test, bins),
        class_sets(model, test, y_test),
        _certified(model, test, y_test),
    ]
    return sections, bins


def _rejection(model: Any, fitted: FittedModel, test: Any, y_test: np.ndarray) -> Section:
    curve = rejection_curve(model.predict_proba(test).max(axis=1), fitted.predict(fitted.features(test)) == y_test)
    said = (
        "How many of the other rows are right when the least certain rows, those whose class has the smallest "
        "probability, are left to a person."
    )
    n_rows = len(y_test)
    lines: list[tuple[str, str, str, str]] = []
    last = -1
    for wanted in (0.0, 0.05, 0.1, 0.2, 0.3, 0.5):
        # The first point of the curve at which at least this share is rejected.
        at = int(np.searchsorted(curve.rejected, wanted - 1e-12))
        if last < at < len(curve.rejected):
            last = at
            limit = _short(float(curve.threshold[at - 1]), float(curve.threshold[at])) if at else "0"
            rejected = round(n_rows * curve.rejected[at])
            kept = Share(round((n_rows - rejected) * curve.accuracy[at]), n_rows - rejected)
            left = f"{rejected} ({100 * curve.rejected[at]:.0f}\u00a0%)"
            lines.append((left, kept.counts, f"{kept.percent} ({kept.between})", limit))
    shown = table(
        ("rows left to a person", "right of the rest", "right, % (interval)", "least probability"),
        lines,
        caption="`protolearn predict --reject` takes the least probability. 95 % intervals, on the test rows",
        wrap=True,
    )
    picture = draw("rejection", lambda ax: plot_rejection(model, test, y_test, ax=ax), said, height=3.0)
    return Section("rejection", "Leaving unclear rows to a person", pair(figure(picture, said), shown))


def _calibration(model: Any, test: Any, y_test: np.ndarray, bins: list[tuple[float, Share]]) -> Section:
    said = (
        "Whether the probabilities hold: test rows in groups of rising probability, and how many of each group are "
        f"right. On average the two are {100 * calibration_error(bins):.1f} points apart."
    )
    shown = table(
        ("probability given, %", "right", "right, % (interval)"),
        [
            (
                f"{100 * mean:.1f}" if mean < 0.99 else "> 99",
                share.counts,
                f"{share.percent} ({share.between})",
            )
            for mean, share in bins
        ],
        caption="Among rows like these, so many are right",
        wrap=True,
    )
    picture = draw("calibration", lambda ax: plot_calibration(model, test, y_test, ax=ax), said, height=3.4)
    return Section("calibration", "Do the probabilities hold?", pair(paragraph(said) + shown, figure(picture, "")))


def _certified(model: Any, test: Any, y_test: np.ndarray) -> Section:
    title = "How much a row may change"
    said = (
        "The share of test rows that are right and provably stay so, however all their numbers change at once by at "
        "most this part of the range of their columns in training. Nothing is tried out: it follows from the distances."
    )
    try:
        levels = np.array([0.0, 0.01, 0.02, 0.05, 0.1])
        settings = {"norm": "inf", "scale": "range", "exact": False}
        shares = certified_accuracy(model, test, y_test, levels, **settings)
        picture = draw(
            "certified", lambda ax: plot_certified_accuracy(model, test, y_test, exact=False, ax=ax), said, height=3.4
        )
    except ValueError as error:
        return Section("certified", title, paragraph(f"For this model nothing is certified: {error}", "soft"))
    shown = table(
        ("every number by at most, % of its range", "right for certain, at least, %"),
        [(f"{100 * level:g}", f"{100 * share:.1f}") for level, share in zip(levels, shares, strict=True)],
        caption="Certified accuracy on the test rows",
        wrap=True,
    )
    return Section("certified", title, pair(paragraph(said) + shown, figure(picture, "")))


def _short(above: float, at_most: float) -> str:
    """The shortest decimal number within (above, at_most]."""
    for digits in range(2, 17):
        number = np.floor(at_most * 10**digits) / 10**digits
        if number > above:
            return f"{number:.{digits}f}"
    return repr(at_most)


def _loading(train: Any, source: Source) -> Section:
    names = getattr(train, "columns", None)
    n_columns = getattr(train, "shape", np.shape(train))[1]
    takes = f"{n_columns} columns of numbers"
    if names is not None:
        more = f" and {n_columns - 12} more" if n_columns > 12 else ""
        takes = f"the columns {', '.join(map(str, list(names)[:12]))}{more}"
    file = source.model_file
    lines = f"from protolearn import load\n\nmodel = load({file!r})\nmodel.predict(rows)\nmodel.predict_proba(rows)\n"
    shell = "".join(
        shlex.join(["protolearn", command, file, "new.csv", *options]) + "\n"
        for command, *options in (("predict", "--proba"), ("explain", "--row", "1"))
    )
    body = paragraph(
        f"Give the model new rows as they are in the table, with {takes}: the model scales and encodes them as it has "
        "learned to. The model file holds numbers and names and no program, so that a file from somebody else can do "
        "no harm."
    )
    return Section("load", "How to use the model", body + code(lines) + paragraph("Or from a shell:") + code(shell))
