"""Training: the online epoch beside sgemm, whole fits beside the peers, LOGM beside a support vector machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks import epochs, peers, support_vectors
from benchmarks.case import Case
from benchmarks.drawing import draw_ratios
from benchmarks.measurements import Measurement, Ratio


def ratios(rows: Sequence[Measurement]) -> list[Ratio]:
    """All of them."""
    return epochs.ratios(rows) + peers.ratios(rows) + support_vectors.ratios(rows)


def tables(rows: Sequence[Measurement]) -> list[tuple[str, Sequence[str], list[tuple]]]:
    """Every fit."""
    return [
        ("Fits of all libraries", peers.HEADER, peers.table_rows(rows)),
        ("LOGM and a support vector machine", support_vectors.HEADER, support_vectors.table_rows(rows)),
    ]


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """The ratios."""
    draw_ratios(ratios(rows), path, "times as fast (share of sgemm's speed for epochs)")


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
    draw=draw,
    text="""
    Epochs are counted as 3 N P d operations, in the processor time of one thread, in turn with numpy's
    product of two 2000 x 2000 float32 matrices. Fits of the libraries: standardised data, 5 prototypes
    a class, 30 epochs, the k-means start given to every library that takes one (sklvq starts from class
    means, which costs it accuracy), no step size tuned; an epoch of an L-BFGS solver is one iteration,
    which may pass over the data more than once. Whatever works in batches and may be the fastest of its
    side is measured on one core and on both, ours and the peers alike, and the best setting of each
    counts. LGMLVQ has a matrix for each class (our default; sklvq and sklearn-lvq offer it, prototorch
    does not) or for each prototype. GMLVQ16 and LGMLVQ16 are both with maps to 16 numbers, ours and
    prototorch's. The ratio is that of the times of an epoch and sample: the fastest of the peers'
    settings against the fastest of ours that is no less accurate on the test set, and in the note
    against the fastest of ours in the peer's number type; where none is as accurate, our most accurate
    one, and then it is not met however fast. Fits shorter than two seconds are repeated for so long, on
    the Xeon and in rows of older code for half a second, online ones, which draw at random, for two and
    a half, and their mean is one measurement. A fit that would take too long, 4 to 12 seconds or more,
    in older rows a minute, was given fewer epochs, which the note says, and so are fewer rows. R counts
    the call alone; ours get a new seed for each fit, and the accuracy is the mean over the fits. LOGM
    and SVC: whole fits, start included; C 16 and gamma 2^-7 are the best of the paper's grid up to
    gamma 2^-5 on a fifth of the training set that was held out (the paper does not print its choice),
    and libsvm trains a machine for each pair of classes. The Xeon has AVX-512; of the EPYCs, the one of
    LGMLVQ on usps and LVQ3 on made has AVX2 and no more. Both sides of a ratio are always of one
    machine and one run. On the EPYC RSLVQ on usps and made, LGMLVQ on usps, LVQ1, LVQ3 and the rows of
    16 components are of older code. The Xeon was measured in quiet hours, but for the rows of 16
    components, which are of a busy hour and of older code. There the fastest peer of LGMLVQ on made is
    sklvq with a matrix a class, and ours is that too. Against prototorch, which is more accurate
    (0.981), counts ours with a matrix a prototype and slope 2 (0.981): in the same run 0.43 us against
    37.0, 86 times. LOGM's epoch at 200 prototypes or more does less than it counts: distances are
    bounded by products of 16-bit integers, of which both processors multiply twice as many a second as
    of float32, and only prototypes that may be the nearest are measured.
    """,
    packages=("threadpoolctl",),
)
