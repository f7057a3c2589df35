"""The small problems that the papers draw: LPD's Fig. 2, the toy and the separable sets of learn1NN."""

from __future__ import annotations

import numpy as np


def lpd_grid() -> tuple[np.ndarray, np.ndarray]:
    """The 476 points of LPD's Fig. 2: two classes, 223 and 253 points, that interlock on a 25 x 21 unit grid.

    Class 0 fills columns 1 to 7, and 1 to 13 in rows 6 to 9 and 17 to 20; class 1 columns 9 to 21, but 15 to 21 in rows
    5 to 10 and 16 to 21. Rows are counted from the top. The figure is drawn, not listed: these are its glyphs.
    """
    points, labels = [], []
    for row in range(1, 26):
        finger = 6 <= row <= 9 or 17 <= row <= 20
        notch = 5 <= row <= 10 or 16 <= row <= 21
        for column in range(1, 22):
            if column <= (13 if finger else 7):
                label = 0
            elif column >= (15 if notch else 9):
                label = 1
            else:
                continue
            points.append((column, 26 - row))
            labels.append(label)
    return np.array(points, dtype=np.float64), np.array(labels)


def learn1nn_toy(*, outlier: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The ten numbers of learn1NN's section 4.3 whose best border is 3.5; the outlier of class b lies at -7."""
    values = [(-1.0, "a"), (0.5, "a"), (1.0, "b"), (2.5, "a"), (3.0, "a")]
    values += [(4.0, "b"), (4.2, "b"), (5.0, "a"), (6.0, "b"), (7.0, "b")]
    if outlier:
        values.append((-7.0, "b"))
    X = np.array([[value] for value, _ in values])
    return X, np.array([label for _, label in values])


def separable_points() -> tuple[np.ndarray, np.ndarray]:
    """Eleven points like those of learn1NN's Fig. 8: support vectors (6, 8) and (9, 5), border x2 = x1 - 1.

    The text gives these two points and the border, the figure the rest. The others are ours: two more support vectors
    on each side, so that the widest-margin border is this line along its whole length, also for a rule that could
    bend it, and five points behind them.
    """
    squares = [(6, 8), (2, 4), (10, 12), (3, 9), (5, 11)]
    dots = [(9, 5), (5, 1), (13, 9), (12, 4), (10, 2), (14, 6)]
    return np.array(squares + dots, dtype=np.float64), np.repeat([0, 1], [len(squares), len(dots)])
