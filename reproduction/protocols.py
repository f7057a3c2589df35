"""Each paper's protocol as data: how it splits, scales and tunes.

`Protocol` says what is common to all of them; what a paper does with a part (edit it, draw prototypes, tune) is in its
own module, which reads its numbers from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from reproduction.datasets import DataSet

Values = tuple[Any, ...]


@dataclass(frozen=True)
class Protocol:
    """How one experiment of a paper is run.

    folds : of a stratified, shuffled cross-validation; None takes the official split
    repeats : how often the paper does it: cross-validations with other folds, or runs on the official split
    scaling : "minmax" (each feature to [-1, 1]) or "standard", by the training part; None leaves the features
    hold_out : stratified share of the training part on which settings are chosen; None where the paper does otherwise
    inner_folds : of a cross-validation of the training part on which settings are chosen (k of Wilson's editing)
    grid : parameter -> the values that are tried
    epochs : of each fit; None leaves the method's own
    samples : data set -> share of each class that is drawn anew for each fold
    first_folds : how many folds of each cross-validation are run; None all of them
    """

    folds: int | None
    repeats: int = 1
    scaling: str | None = None
    hold_out: float | None = None
    inner_folds: int | None = None
    grid: Mapping[str, Values] = field(default_factory=dict)
    epochs: int | None = None
    samples: Mapping[str, float] = field(default_factory=dict)
    first_folds: int | None = None

    @property
    def rows_a_repeat(self) -> int:
        """How many training parts one repeat has."""
        return 1 if self.folds is None else min(self.first_folds or self.folds, self.folds)

    def changed(self, **fields: Any) -> Protocol:
        """The same protocol with other numbers, such as those of a quick run."""
        return replace(self, **fields)

    def split(self, data: DataSet, fold: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the training and of the test rows; `seed` is that of the repeat.

        A share of the rows (`samples`) is drawn first, by the seed and the fold.
        """
        if self.folds is None:
            if data.is_test is None:
                raise ValueError(f"The data set {data.name} has no official split; give the protocol folds.")
            return np.flatnonzero(~data.is_test), np.flatnonzero(data.is_test)
        rows = self._drawn(data, fold, seed)
        cut = StratifiedKFold(self.folds, shuffle=True, random_state=seed).split(rows, data.y[rows])
        train, test = list(cut)[fold]
        return rows[train], rows[test]

    def _drawn(self, data: DataSet, fold: int, seed: int) -> np.ndarray:
        share = self.samples.get(data.name)
        if share is None or self.folds is None:
            return np.arange(len(data.y))
        random = np.random.default_rng(self.folds * seed + fold)
        classes = [np.flatnonzero(data.y == label) for label in np.unique(data.y)]
        return np.concatenate([random.choice(rows, round(share * len(rows)), replace=False) for rows in classes])

    def scaled(self, X: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Training and test part, scaled as the training part says."""
        if self.scaling is None:
            return X, X_test
        scale = (MinMaxScaler((-1, 1)) if self.scaling == "minmax" else StandardScaler()).fit(X)
        return scale.transform(X), scale.transform(X_test)

    def held_out(self, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the rows to learn from, and of those on which settings are chosen."""
        fit, held = train_test_split(np.arange(len(y)), test_size=self.hold_out, stratify=y, random_state=seed)
        return fit, held


# Jin, Liu and Hou (2010), 6.2: S, alpha and tau, 125 points; eight sets have a split, larger S and fewer rounds.
LOGM_SMALL = Protocol(
    folds=10,
    repeats=10,
    scaling="minmax",
    hold_out=1 / 3,
    grid={
        "n_prototypes": (1, 2, 3, 4, 5),
        "regularization": (0.0, 0.001, 0.005, 0.01, 0.05),
        "learning_rate": (0.1, 0.5, 1.0, 1.5, 2.0),
    },
    epochs=100,
)
LOGM_LARGE = LOGM_SMALL.changed(
    folds=None,
    repeats=1,
    hold_out=1 / 5,
    grid={**LOGM_SMALL.grid, "n_prototypes": (5, 10, 15, 20, 25)},
    epochs=40,
)

# Paredes and Vidal (2006), 3.2: no scaling; the number of repeats is not stated, nor are LVQ's settings: the rate
# is chosen from ours on a quarter of the training part. 3.1: 100 random starts; 3.3: five of ten images, and mirrors.
LPD_TABLES = Protocol(folds=5, hold_out=1 / 4, grid={"learning_rate": (0.01, 0.03, 0.1, 0.3)})
LPD_GRID = Protocol(folds=None, repeats=100)
LPD_FACES = Protocol(folds=None)

# Lozano et al., 4: the sizes of the parts are those of five folds; Wilson's k by five folds of the training part.
MIXTGAUSS_TABLES = Protocol(folds=5, inner_folds=5)

# Bermejo, 5.2: Ripley's split, 100 runs; alpha and sigma on 250 more samples, the values tried are ours.
LEARN1NN_RIPLEY = Protocol(
    folds=None,
    repeats=100,
    grid={"learning_rate": (0.01, 0.03), "sigma": (0.05, 0.1, 0.15, 0.2, 0.3)},
)
# Bermejo, 4.3 and 6: the toy problems, whose data are drawn.
LEARN1NN_TOY = Protocol(folds=None)
# Bermejo, 5.1: a split with a validation part, ten runs.
LEARN1NN_LETTERS = Protocol(folds=None, repeats=10)

# Kelders (2013), Table 4: ten folds, z-normalised; of Letter a new fortieth of each class for each fold.
LAMALVQ_TABLES = Protocol(folds=10, scaling="standard", samples={"letter": 0.025}, grid={"rounds": (30,)})
# LaMaLVQ beside GMLVQ, and LMNN beside 3-NN: ours, not the thesis's.
LAMALVQ_VERSUS = Protocol(folds=5, scaling="standard")
