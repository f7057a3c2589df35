"""Counterfactuals of a GMLVQ model by another library, in the environment that has it.

python counterfactuals.py dice|ceml PROBLEM.npz FOUND.npz

The problem holds X, y, rows, their labels, and the model: prototypes W, their labels L, and omega.
"""

import sys
import time
import warnings

import numpy as np


class Nearest:
    """The model, as scikit-learn has classifiers."""

    def __init__(self, W, L, omega):
        self.images, self.labels, self.omega = W @ omega.T, L, omega
        self.classes_ = np.unique(L)

    def predict_proba(self, rows):
        """Probabilities from the differences of the nearest distances."""
        images = np.asarray(rows, dtype=float) @ self.omega.T
        D = ((images[:, None, :] - self.images) ** 2).sum(axis=2)
        best = np.stack([D[:, self.labels == label].min(axis=1) for label in self.classes_], axis=1)
        scores = np.exp(-(best - best.min(axis=1, keepdims=True)))
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, rows):
        """The class of the nearest prototype."""
        return self.classes_[self.predict_proba(rows).argmax(axis=1)]


def by_dice(problem):
    """DiCE's random search and its genetic one would both do; the genetic one minimises distance."""
    import dice_ml
    import pandas as pd

    names = [f"x{j}" for j in range(problem["X"].shape[1])]
    classes = np.unique(problem["y"])
    frame = pd.DataFrame(problem["X"], columns=names).assign(outcome=np.searchsorted(classes, problem["y"]))
    data = dice_ml.Data(dataframe=frame, continuous_features=names, outcome_name="outcome")
    model = Nearest(problem["W"], np.searchsorted(classes, problem["L"]), problem["omega"])
    search = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method="genetic")

    def answer(row):
        asked = pd.DataFrame([row], columns=names)
        found = search.generate_counterfactuals(asked, total_CFs=1, desired_class="opposite", verbose=False)
        return found.cf_examples_list[0].final_cfs_df[names].to_numpy(dtype=float)[0]

    return answer


def by_ceml(problem):
    """ceml's programme for GMLVQ; it knows no ranges."""
    from ceml.sklearn import generate_counterfactual
    from sklearn_lvq import GmlvqModel

    # Its own fit stops at SciPy 1.11; what a fit would set is the model that is given.
    model = GmlvqModel(prototypes_per_class=1)
    classes = np.unique(problem["y"])
    order = np.argsort(problem["L"], kind="stable")
    model.classes_ = np.arange(len(classes))
    model.w_, model.c_w_ = problem["W"][order], np.searchsorted(classes, problem["L"][order])
    model.omega_ = problem["omega"]
    model.nb_features = problem["W"].shape[1]
    labels = dict(zip(map(bytes, problem["rows"]), np.searchsorted(classes, problem["labels"]), strict=True))

    def answer(row):
        target = 1 - int(labels[bytes(row)])
        return np.asarray(
            generate_counterfactual(model, row, y_target=target, regularization="l2", return_as_dict=False)[0]
        )

    return answer


def main():
    """All rows, one by one."""
    library, path, out = sys.argv[1:]
    warnings.filterwarnings("ignore")
    with np.load(path, allow_pickle=False) as stored:
        problem = {name: stored[name] for name in stored.files}
    answer = {"dice": by_dice, "ceml": by_ceml}[library](problem)
    found, seconds = np.full(problem["rows"].shape, np.nan), []
    for k, row in enumerate(problem["rows"]):
        begin = time.process_time()
        try:
            found[k] = answer(row)
        except Exception as error:
            print(f"{library}, row {k}: {type(error).__name__}: {error}", file=sys.stderr)
        seconds.append(time.process_time() - begin)
    np.savez(out, found=found, seconds=np.array(seconds))


if __name__ == "__main__":
    main()
