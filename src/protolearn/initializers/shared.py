"""A start that is computed once for all fits on the same samples: for searches over settings."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import joblib
import numpy as np

from protolearn.data import TrainingSet
from protolearn.initializers.base import INITIALIZERS, Initializer

_MOST_REMEMBERED = 256


class SharedStart:
    """An initializer that remembers what it found: a search over settings clusters each fold once.

    Fits on the same samples, with the same numbers of prototypes and the same seed, begin at the same prototypes; all
    settings of a grid that only change what is learned afterwards (learning rate, slope, regularization, solver...)
    therefore repeat the same k-means. With this as `init` they get what the first of them found, and the model is the
    one they would have got without it, bit for bit: the random numbers that follow are the same too.

    Clones of an estimator share it. Between processes (`n_jobs`), and between runs, they share through `memory`. The
    scaling before it is shared by `Pipeline(memory=...)` of scikit-learn.

    Parameters
    ----------
    init : the initializer to ask, by name or as a function (data, counts, random)
    memory : None to remember in this object, or a folder or `joblib.Memory` to remember on disk

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from protolearn import LOGM
    >>> from protolearn.initializers import SharedStart
    >>> start = SharedStart("kmeans")
    >>> search = GridSearchCV(LOGM(2, init=start, random_state=0), {"learning_rate": [0.3, 1, 3]}, cv=5)
    >>> search = search.fit(*load_iris(return_X_y=True))
    >>> start.n_computed
    6
    """

    def __init__(self, init: str | Initializer = "kmeans", memory: Any = None) -> None:
        self.init = init
        self.memory = memory
        self.n_computed = 0
        self._found: OrderedDict[str, tuple] = OrderedDict()
        self._store = None
        if memory is not None:
            store = memory if hasattr(memory, "cache") else joblib.Memory(memory, verbose=0)
            self._store = store.cache(_begin)

    def __call__(
        self, data: TrainingSet, counts: np.ndarray, random: np.random.RandomState
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions and labels, as the initializer gives them."""
        asked = (self.init, data.X, data.y, data.weight, data.n_classes, counts, random.get_state())
        if self._store is not None:
            positions, labels, state = self._store(*asked)
        else:
            positions, labels, state = self._remembered(asked)
        random.set_state(state)
        return positions.copy(), labels.copy()

    def _remembered(self, asked: tuple) -> tuple:
        key = joblib.hash(asked)
        if key not in self._found:
            self._found[key] = _begin(*asked)
            self.n_computed += 1
            while len(self._found) > _MOST_REMEMBERED:
                self._found.popitem(last=False)
        return self._found[key]

    def __sklearn_clone__(self) -> SharedStart:
        return self

    def __repr__(self) -> str:
        return f"SharedStart({self.init!r})"


def _begin(
    init: str | Initializer,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    n_classes: int,
    counts: np.ndarray,
    state: Any,
) -> tuple[np.ndarray, np.ndarray, Any]:
    """The start, and the state of the random numbers behind it."""
    random = np.random.RandomState()
    random.set_state(state)
    choose = INITIALIZERS[init] if isinstance(init, str) else init
    positions, labels = choose(TrainingSet(X, y, weight, n_classes), counts, random)
    return positions, labels, random.get_state()
