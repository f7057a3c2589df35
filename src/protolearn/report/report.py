"""The report: what a fitted model is, how good, how small, and why it decides as it does, in one HTML file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import protolearn
from protolearn.data.containers import rows_of
from protolearn.explain.certificate import certified_accuracy
from protolearn.explain.importance import mean_contributions
from protolearn.explain.rejection import rejection_curve
from protolearn.export.model_file import write_bytes
from protolearn.report.calibration import calibration, calibration_error, plot_calibration
from protolearn.report.cases import case_cards, cases, said_of_columns
from protolearn.report.certified import plot_certified_accuracy
from protolearn.report.confusion import plot_confusion
from protolearn.report.curves import plot_loss, plot_tradeoff
from protolearn.report.drawing import draw
from protolearn.report.fitted import FittedModel, fitted_model, image_shape_of
from protolearn.report.metric_plots import learns_a_metric, plot_omega, plot_relevances, relevances_of
from protolearn.report.page import Section, code, figure, page, pair, paragraph, table, text
from protolearn.report.plots import plot_prototypes
from protolearn.report.projections import plot_decision_regions, plot_embedding
from protolearn.report.recall import recall_table
from protolearn.report.rejection import plot_rejection
from protolearn.report.source import Source
from protolearn.report.try_form import try_form
from protolearn.report.uncertain import uncertain_rows

_MOST_POINTS = 2000
_MOST_IMAGES = 8
_MOST_LINES = 10
_MOST_CARDS = 12
_MOST_BARS = 20
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
    """
    html = report_page(
        model, train, y_train, test, y_test, table=table, tradeoff=tradeoff, verdict=verdict, source=source
    )
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
) -> str:
    """The HTML that `write_report` writes; parameters as there."""
    fitted = fitted_model(model)
    y_train, y_test = np.asarray(y_train), np.asarray(y_test)
    if not table or not len(y_test):
        raise ValueError("A report needs the table of methods and at least one test row; pass both.")
    source = source or Source()
    kind = type(fitted.classifier).__name__
    form, script = try_form(model, test, train)
    importance = _importance(model, fitted, test)
    sections = [
        _right(model, fitted, test, y_train, y_test),
        _prototypes(model, fitted, train, y_train, importance, source),
        _relevances(model, fitted, importance),
        *_certainty(model, fitted, test, y_test, source),
        Section("try", "Try a row", form),
        _summary(table, _one_sentence(fitted, table) if verdict is None else verdict),
        _tradeoff(fitted, tradeoff, table),
        _embedding(model, fitted, train, y_train),
        _learning(model, fitted),
        _loading(kind, train, fitted),
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
        f"The model compares a row with {n_prototypes} prototypes, which are typical cases, and gives the class of the "
        f"one most like it. It has learned them from {len(y_train):,} rows of {n_classes} classes. Everything below is "
        f"measured on {len(y_test):,} test rows that were kept aside."
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
            f"{row['microseconds']:,.2f}",
        )
        for row in rows
    ]
    header = ("method", "accuracy, %", "numbers", "kB", "µs")
    shown = table(
        header,
        lines,
        caption="Accuracy on the test rows, numbers and kilobytes stored, microseconds a prediction",
        own=len(lines) - 1,
    )
    return Section("summary", "Compared with other methods", paragraph(verdict) + shown)


def _tradeoff(
    fitted: FittedModel, rows: Sequence[Mapping[str, Any]] | None, methods: Sequence[Mapping[str, Any]]
) -> Section:
    name, title = "tradeoff", "How many prototypes"
    if not rows:
        return Section(
            name,
            title,
            paragraph("Only one number of prototypes was tried; `--prototypes auto` tries several.", "soft"),
            False,
        )
    n_prototypes = len(fitted.classifier.prototypes_)
    best = max(rows, key=lambda row: row["accuracy"])
    said = (
        f"Accuracy by number of prototypes; the best of {len(rows)} sizes is {best['prototypes']:g} with "
        f"{100 * best['accuracy']:.1f} %."
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


def _right(model: Any, fitted: FittedModel, test: Any, y_train: np.ndarray, y_test: np.ndarray) -> Section:
    predicted = fitted.predict(fitted.features(test))
    trained, counts = np.unique(y_train, return_counts=True)
    finding = trained[counts.argmin()] if len(trained) == 2 else None
    labels = np.union1d(fitted.classifier.classes_, y_test)
    longest = min(max(len(str(label)) for label in labels), 28)
    size = float(np.clip(0.26 * len(labels) + 1.6 + 0.07 * longest, 3.0, 8.0))
    said = "Each line holds the test rows of one class, each column those that are given one class."
    picture = draw(
        "confusion", lambda ax: plot_confusion(model, test, y_test, ax=ax), said, width=size + 0.9, height=size
    )
    shown, drawn = recall_table(y_test, predicted, finding), figure(picture, said, "" if size < 5.5 else "wide")
    return Section("confusion", "How often it is right", pair(shown, drawn) if size < 5.5 else shown + drawn)


def _importance(model: Any, fitted: FittedModel, test: Any) -> tuple[list[str], np.ndarray] | None:
    """How much each column decides, on the first test rows; None where densities decide."""
    if getattr(fitted.classifier, "classify_by", "prototypes") != "prototypes":
        return None
    n_rows = min(_MOST_EXPLAINED, getattr(test, "shape", np.shape(test))[0])
    return mean_contributions(model, rows_of(test, np.arange(n_rows)))


def _prototypes(
    model: Any,
    fitted: FittedModel,
    train: Any,
    y_train: np.ndarray,
    importance: tuple[list[str], np.ndarray] | None,
    source: Source,
) -> Section:
    classifier = fitted.classifier
    labels, counts = np.unique(classifier.prototype_labels_, return_counts=True)
    shape = image_shape_of(classifier.prototypes_.shape[1], fitted.feature_names)
    most = _MOST_IMAGES if shape is not None else max(_MOST_CARDS // len(labels), 1)
    cut = f" Shown are the first {most} of each class." if counts.max() > most else ""
    columns, found = cases(model, train, y_train, most)
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
    shares = np.full(len(columns), 1.0) if importance is None else importance[1]
    said = (
        "A row gets the class of the prototype that it is most like. A prototype is learned and need not be a row of "
        "the table; beside it stands the training row of the same class that is most like it. Numbers are in the units "
        f"of the table.{cut}{said_of_columns(len(columns))} {source.about_rows}"
    )
    body = paragraph(said) + case_cards(columns, found, shares, source)
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


def _relevances(model: Any, fitted: FittedModel, importance: tuple[list[str], np.ndarray] | None) -> Section:
    name, title = "relevances", "Which columns count"
    body = "" if importance is None else _decides(*importance)
    if learns_a_metric(model):
        body += _learned(model, fitted, name)
    elif importance is None:
        body = paragraph("This model decides by densities, in which all columns count alike.", "soft")
    return Section(name, title, body)


def _decides(columns: list[str], shares: np.ndarray) -> str:
    order = np.argsort(-shares, kind="stable")[:_MOST_BARS]
    said = (
        "How much each column decides: the mean size of what it adds for or against a class, over the test rows, as a "
        "share of all columns."
    )
    cut = f" Of {len(columns)} columns the first {_MOST_BARS}." if len(columns) > _MOST_BARS else ""
    largest = max(float(shares.max()), 1e-12)
    bars = "".join(
        f'<div class="bar"><span>{text(columns[j])}</span><svg viewBox="0 0 100 10" preserveAspectRatio="none" '
        f'aria-hidden="true"><rect x="0" y="1" width="{100 * shares[j] / largest:.1f}" height="8" '
        f'style="fill:var(--accent)"/></svg><span class="number">{100 * shares[j]:.1f} %</span></div>'
        for j in order
    )
    return paragraph(said + cut) + f'<div class="bars">{bars}</div>'


def _learned(model: Any, fitted: FittedModel, name: str) -> str:
    """The weights or the matrix that the distance has learned."""
    shares = relevances_of(model)
    order = np.argsort(-shares.mean(axis=0), kind="stable")
    first = ", ".join(f"{fitted.feature_names[j]} ({100 * shares.mean(axis=0)[j]:.0f} %)" for j in order[:3])
    said = f"Share of each feature in the learned distance; most have: {first}."
    rows = min(len(order), 30)
    local = len(shares) > 1
    picture = draw(
        name, lambda ax: plot_relevances(model, ax=ax), said, width=max(5.2, 0.2 * rows + 2) if local else 5.2,
        height=float(np.clip(0.2 * len(shares) + 2, 3, 8)) if local else 0.2 * rows + 0.9,
    )  # fmt: skip
    body = figure(picture, said, "wide" if local and rows > 14 else "")
    omega = getattr(fitted.classifier, "omega_", None)
    if omega is not None and np.ndim(omega) == 2:
        told = "The matrix of the distance: off the diagonal, pairs count together (red) or against each other (blue)."
        size = float(np.clip(0.16 * len(order) + 2.2, 3.4, 8))
        matrix = draw("omega", lambda ax: plot_omega(model, ax=ax), told, width=size + 0.8, height=size)
        body = pair(body, figure(matrix, told, "" if size < 5.5 else "wide"))
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
        told = f"{type(fitted.classifier).__name__} as fitted here has no learning curve."
        return Section(name, title, paragraph(told, "soft"), False)
    said = f"The loss after each of {len(curve)} epochs, from {curve[0]:.4g} to {curve[-1]:.4g}."
    picture = draw(name, lambda ax: plot_loss(model, ax=ax), said, height=3.9)
    return Section(name, title, figure(picture, said), False)


def _certainty(model: Any, fitted: FittedModel, test: Any, y_test: np.ndarray, source: Source) -> list[Section]:
    """What the relative distance is good for; a model that decides otherwise has none."""
    title = "The least certain decisions"
    if getattr(fitted.classifier, "classify_by", "prototypes") != "prototypes":
        told = paragraph(
            'This model decides by densities, not by distances; fit it with classify_by="prototypes".', "soft"
        )
        return [Section("rejection", "Leaving unclear rows to a person", told), Section("uncertain", title, told)]
    return [
        Section("uncertain", title, uncertain_rows(model, test, y_test, source)),
        _rejection(model, fitted, test, y_test),
        _calibration(model, test, y_test),
        _certified(model, test, y_test),
    ]


def _rejection(model: Any, fitted: FittedModel, test: Any, y_test: np.ndarray) -> Section:
    curve = rejection_curve(model.predict_proba(test).max(axis=1), fitted.predict(fitted.features(test)) == y_test)
    said = (
        "Accuracy on the rows kept when those of the smallest probability, that of the class given, are left to "
        "somebody else."
    )
    lines: list[tuple[str, str, str, float]] = []
    for wanted in (0.0, 0.05, 0.1, 0.2, 0.3, 0.5):
        # The first point of the curve at which at least this share is rejected.
        at = int(np.searchsorted(curve.rejected, wanted - 1e-12))
        if at < len(curve.rejected) and (not lines or curve.rejected[at] > lines[-1][3]):
            limit = _short(float(curve.threshold[at - 1]), float(curve.threshold[at])) if at else "0"
            rejected, accuracy = 100 * curve.rejected[at], 100 * curve.accuracy[at]
            lines.append((f"{rejected:.1f}", f"{accuracy:.2f}", limit, curve.rejected[at]))
    shown = table(
        ("rows rejected, %", "accuracy of the rest, %", "threshold"),
        [line[:3] for line in lines],
        caption="Thresholds of `protolearn predict --reject`, on the test rows",
    )
    picture = draw("rejection", lambda ax: plot_rejection(model, test, y_test, ax=ax), said, height=3.0)
    return Section("rejection", "Leaving unclear rows to a person", pair(figure(picture, said), shown))


def _calibration(model: Any, test: Any, y_test: np.ndarray) -> Section:
    bins = calibration(model, test, y_test)
    said = (
        "Whether the probabilities hold: test rows in groups of rising probability, and how many of each group are "
        f"right. On average the two are {100 * calibration_error(bins):.1f} points apart."
    )
    shown = table(
        ("probability given, %", "right", "right, % (interval)"),
        [
            (
                f"{100 * mean:.1f}" if mean < 0.99 else "> 99",
                f"{share.found} of {share.of}",
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


def _loading(kind: str, train: Any, fitted: FittedModel) -> Section:
    names = getattr(train, "columns", None)
    n_columns = getattr(train, "shape", np.shape(train))[1]
    takes = (
        f"columns {', '.join(map(str, list(names)[:12]))}{', ...' if n_columns > 12 else ''}"
        if names is not None
        else f"{n_columns} columns of numbers"
    )
    lines = (
        'from protolearn import load\n\nmodel = load("model.json")\nmodel.predict(rows)\nmodel.predict_proba(rows)\n'
    )
    shell = "protolearn predict model.json new.csv --proba\nprotolearn explain model.json new.csv --row 1\n"
    body = paragraph(
        "The model file that `protolearn fit --out model.json` writes takes raw rows, with the preparation of their "
        f"columns inside it: {takes}. Loading it runs nothing."
    )
    return Section("load", "How to use the model", body + code(lines) + paragraph("Or from a shell:") + code(shell))
