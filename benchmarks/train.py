"""Training: the online epoch beside sgemm, whole fits beside the peers, LOGM beside a support vector machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks import epochs, peers, support_vectors
from benchmarks.case import Case, Line
from benchmarks.measurements import Measurement, Ratio


def ratios(rows: Sequence[Measurement]) -> list[Ratio]:
    """All of them."""
    return epochs.ratios(rows) + peers.ratios(rows) + support_vectors.ratios(rows)


def tables(rows: Sequence[Measurement]) -> list[tuple[str, Sequence[str], list[tuple]]]:
    """Every fit, and the epochs."""
    return [
        ("Fits of all libraries", peers.HEADER, peers.table_rows(rows)),
        ("LOGM and a support vector machine", support_vectors.HEADER, support_vectors.table_rows(rows)),
        ("Online epochs and NumPy's matrix product", epochs.HEADER, epochs.table_rows(rows)),
    ]


def lines(rows: Sequence[Measurement]) -> list[Line]:
    """Fits beside the peers, then LOGM beside a support vector machine."""
    return peers.lines(rows) + support_vectors.lines(rows)


CASE = Case(
    name="train",
    line="training: the online epoch beside sgemm, whole fits beside the peers, LOGM beside a support vector machine",
    duration="2 minutes; an hour with --peers",
    parts={
        "epochs": partial(epochs.measure, "epochs"),
        **{name: partial(peers.compare, name) for name in peers.NAMES},
        "svm": partial(support_vectors.measure, "svm"),
        "svm-grid": partial(support_vectors.grid, "svm-grid"),
    },
    on_request=("svm-grid",),
    ratios=ratios,
    tables=tables,
    lines=lines,
    text="""
    Every library learns from the same standardised rows, with 5 prototypes a class, from the same k-means start (sklvq
    takes none and starts from class means), for 30 epochs, on one thread unless the setting says otherwise; no step
    size was tuned. An epoch of an L-BFGS solver is one iteration, which may pass over the data more than once. Short
    fits are repeated for a second, those in random order for one and a half, and their mean is one measurement; the
    accuracy is the mean over these fits. A fit that would take long is given fewer epochs or rows, which the note says.
    R's time is that of the call alone. LGMLVQ learns a matrix for each class or for each prototype. LOGM and SVC are
    whole fits, start included; C 16 and gamma 2^-7 are the best of the paper's grid up to gamma 2^-5 on a fifth of the
    training set. The speed of LOGM's epoch counts 3 N P d operations in the processor time of one thread.
    """,
    packages=("threadpoolctl",),
)
