"""Learn1NN's experiments: Bermejo's Tables 2 and 3, the toy problem of section 4.3, the widest margin, the penalty.

`python -m reproduction learn1nn`. Table 3 is in `ripley.py`, Table 2 on its stand-in in `letters.py`.
"""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC

from protolearn.auto.srm import complexity_penalty
from protolearn.estimators.learn1nn import Learn1NN
from reproduction import letters, ripley
from reproduction.artificial import learn1nn_toy, separable_points
from reproduction.protocols import LEARN1NN_LETTERS, LEARN1NN_RIPLEY, LEARN1NN_TOY
from reproduction.report import Block, Sheet
from reproduction.reproduce import Experiment, Outcome, Paper, Quick, Rows, Table, Unit

TOY = {
    "margin": ("margin", False),
    "margin, outlier": ("margin", True),
    "cross_entropy": ("cross_entropy", False),
    "cross_entropy, outlier": ("cross_entropy", True),
}
ANGLES = {f"{2 * n} prototypes": n for n in (1, 6, 25)}


def toy_prototypes(*, outlier: bool, loss: str, sigma: float = 25.0, penalty: float = 1e-4) -> tuple[float, float]:
    """w_A and w_B of section 4.3 at the minimum of the loss with (34), lambda = 1e-4 as in the paper's figure."""
    X, y = learn1nn_toy(outlier=outlier)
    model = Learn1NN(
        init=(np.array([[1.0], [6.0]]), np.array(["a", "b"])),
        bounds=None,
        loss=loss,
        sigma=sigma,
        regularization=penalty * sigma,
        solver="lbfgs",
        max_iter=2000,
        tol=1e-10,
    ).fit(X, y)
    return float(model.prototypes_[0, 0]), float(model.prototypes_[1, 0])


def widest_margin_angle(per_class: int, seed: int = 0) -> float:
    """Degrees between learn1NN's border on the separable points and the plane of a hard-margin linear SVC."""
    X, y = separable_points()
    random = np.random.RandomState(seed)
    drawn = [X[y == c][random.randint((y == c).sum(), size=per_class)] for c in (0, 1)]
    start = np.concatenate(drawn) + 0.1 * random.randn(2 * per_class, 2), np.repeat([0, 1], per_class)
    model = Learn1NN(
        init=start,
        bounds=None,
        sigma=25.0,
        learning_rate=0.3,
        schedule="constant",
        max_iter=20000,
        random_state=seed,
    ).fit(X, y)
    plane = SVC(kernel="linear", C=1e6).fit(X, y)
    normal = plane.coef_[0] / np.linalg.norm(plane.coef_[0])
    along = np.array([-normal[1], normal[0]])
    middle = np.array([7.5, 6.5])
    steps = np.linspace(-3.0, 3.0, 6001)
    crossings = []
    for t in (-4.0, 4.0):
        side = model.predict(middle + t * along + steps[:, None] * normal)
        crossings.append(steps[np.flatnonzero(side[1:] != side[:-1])[0]])
    return float(np.degrees(np.arctan(abs(crossings[1] - crossings[0]) / 8.0)))


def measure_toy(unit: Unit) -> Outcome:
    """The border F of the toy problem, half way between w_A and w_B."""
    loss, outlier = TOY[unit.method]
    a, b = toy_prototypes(outlier=outlier, loss=loss)
    return Outcome((a + b) / 2, {"w_A": a, "w_B": b})


def measure_angle(unit: Unit) -> Outcome:
    """Degrees off the widest margin from one random start."""
    return Outcome(widest_margin_angle(ANGLES[unit.method], unit.seed))


def show_toy(rows: Rows) -> list[Block]:
    """Borders with and without the outlier, and the angles to the widest margin."""
    found = {row["method"]: row for row in rows.of.get("toy", ())}
    angles = rows.values("margin").get("separable points", {})
    blocks: list[Block] = []
    if found:
        lines = []
        for method, row in found.items():
            loss, outlier = TOY[method]
            numbers = (row["more"]["w_A"], row["more"]["w_B"], row["value"])
            lines.append((loss, "yes" if outlier else "no", *(f"{number:.2f}" for number in numbers)))
        blocks += [
            "The ten numbers of section 4.3, two prototypes, sigma = 25, the regulariser (34) with lambda = 1e-4, "
            "minimised by L-BFGS from w_A = 1, w_B = 6. The paper: border F = 3.5 with and without the outlier at -7; "
            "with the cross entropy the outlier makes w_A = w_B the minimum.",
            Sheet("Minimum of the loss", ("loss", "outlier", "w_A", "w_B", "F"), tuple(lines)),
        ]
    if angles:
        most = max(map(len, angles.values()))
        lines = [(method.split()[0], *(f"{angle:.2f}" for angle in values)) for method, values in angles.items()]
        blocks += [
            "Eleven separable points with the support vectors and border that section 6 prints (the other points are "
            "ours), sigma = 25, alpha = 0.3, 20000 epochs, no regulariser: degrees between the border and that of "
            "scikit-learn's linear SVC (C = 1e6), for each random start. The points have three support vectors on each "
            "side. With one or two, a border of many prototypes may bend between them, and online learning with 12 and "
            "50 prototypes ended 4 to 6 degrees off.",
            Sheet("Degrees off the widest margin", ("prototypes", *(f"start {n}" for n in range(most))), tuple(lines)),
        ]
    return blocks


def show_penalty(rows: Rows) -> list[Block]:
    """Section 7: the penalty of structural risk minimisation is larger than any error; computed, no rows."""
    numbers = (1, 2, 3, 4, 8, 16, 32, 64)
    columns = ((2, 10000), (2, 250), (64, 24420))
    lines = tuple((str(m), *(f"{complexity_penalty(m, d, n):.2f}" for d, n in columns)) for m in numbers)
    return [
        "The penalty r(M, N) of (31), to be added to a training error between 0 and 1. It passes 1 at three prototypes "
        "for the paper's own example (N = 10000, d = 2): the paper calls it too large to be of use, and so it is. "
        "`reproduction/figures/structural_risk.py` draws Fig. 11.",
        Sheet("r(M, N)", ("M", *(f"N = {n}, d = {d}" for d, n in columns)), lines),
    ]


def about(rows: Rows) -> str:
    """How the rows were made."""
    return (
        "Test error in per cent; a row is a run, with its own order of the data and its own start. Settings are chosen "
        "on a validation part, as in the paper; the experiments named tuning show the choice."
    )


_LETTERS = ("ocr_letters",)
PAPER = Paper(
    "learn1nn",
    "learn1NN: Gaussian learning of the 1-NN rule (Bermejo, chapter 8)",
    "Bermejo, chapter 8",
    about,
    (
        Experiment("toy", LEARN1NN_TOY, ("toy",), tuple(TOY), measure_toy, Quick(LEARN1NN_TOY, ("toy",))),
        Experiment(
            "margin",
            LEARN1NN_TOY,
            ("separable points",),
            tuple(ANGLES),
            measure_angle,
            Quick(LEARN1NN_TOY, ("separable points",), 3),
            repeats=3,
        ),
        Experiment(
            "ripley-tuning",
            LEARN1NN_RIPLEY,
            ("synth",),
            tuple(ripley.TUNING),
            ripley.measure_tuning,
            Quick(LEARN1NN_RIPLEY, ()),
            repeats=3,
        ),
        Experiment(
            "ripley",
            LEARN1NN_RIPLEY,
            ("synth",),
            tuple(ripley.METHODS),
            ripley.measure,
            Quick(LEARN1NN_RIPLEY, ("synth",), 5),
            repeats=100,
        ),
        Experiment(
            "letters-tuning",
            LEARN1NN_LETTERS,
            _LETTERS,
            tuple(letters.METHODS),
            letters.measure_tuning,
            Quick(LEARN1NN_LETTERS, ()),
        ),
        Experiment(
            "letters",
            LEARN1NN_LETTERS,
            _LETTERS,
            letters.SMALL,
            letters.measure,
            Quick(LEARN1NN_LETTERS, _LETTERS, 1),
            repeats=10,
        ),
        Experiment(
            "letters-large", LEARN1NN_LETTERS, _LETTERS, letters.LARGE, letters.measure, Quick(LEARN1NN_LETTERS, ())
        ),
    ),
    (
        Table(
            "2",
            "handwritten letters",
            {"letters-tuning": tuple(letters.METHODS), "letters": letters.SMALL, "letters-large": letters.LARGE},
            letters.show,
            "learn1nn-table-2",
        ),
        Table(
            "3",
            "Ripley's synthetic data",
            {"ripley-tuning": tuple(ripley.TUNING), "ripley": tuple(ripley.METHODS)},
            ripley.show,
            "learn1nn-table-3",
        ),
        Table(
            "toy",
            "toy problem and widest margin (sections 4.3 and 6)",
            {"toy": tuple(TOY), "margin": tuple(ANGLES)},
            show_toy,
            "learn1nn-toy",
        ),
        Table("srm", "structural risk minimisation (section 7, Fig. 11)", {}, show_penalty, "learn1nn-srm"),
    ),
)
