"""One text for each shared parameter, put into the docstring of every estimator that has it."""

from __future__ import annotations

import inspect
from textwrap import dedent, indent
from typing import TypeVar

PARAMETERS = {
    "n_prototypes": """int, dict or float
        Prototypes for each class: one number for all, a dict from class to number, or a share between 0 and 1 of the
        training set, divided by class size, at least one each.""",
    "init": """str, array, pair (positions, labels), fitted estimator or callable
        Where the prototypes start: "kmeans" (of each class), "class_mean", "random" (training samples), "eveninit",
        "propinit" or "balance" (LVQ_PAK's).""",
    "metric": """str or Metric
        "euclidean"; "relevance", "class_relevance" or "local_relevance": one weight a feature, for all prototypes, for
        each class or for each prototype; "omega", "class_omega" or "local_omega": a matrix, likewise.""",
    "metric_parameters": """array, optional
        Weights (n_features,) or Omega (n_components, n_features) to use instead of the metric's start, or one for each
        class or prototype.""",
    "loss": """str, Loss or function
        A registered loss, or your own `f(d_own, d_rival, slope) -> (loss, d loss / d d_own, d loss / d d_rival)`.""",
    "solver": """{"online", "gradient", "lbfgs", "adam"}
        "online": one sample at a time, as in the paper; "gradient": batch gradient descent with line search; "lbfgs":
        scipy's L-BFGS; "adam": mini-batches.""",
    "max_iter": "int\n        Epochs (T).",
    "learning_rate": """float
        tau; the first step is 0.1 tau cov, cov the mean squared distance of the samples to the nearest start: no unit,
        0.1 to 2 in the paper.""",
    "alpha": """float
        alpha, the share of the way to the sample that a prototype moves.""",
    "schedule": """{"linear", "constant", "inverse_time"} or function (step, n_steps) -> factor
        How the learning rate falls.""",
    "slope": """float, optional
        xi; None takes the paper's, 2 / cov, or 10 for GLVQ's sigmoid, which has no unit.""",
    "annealing": """float
        Factor of the slope after each sample.""",
    "regularization": """float
        alpha, the weight of the term that keeps prototypes near their samples: (22) for losses of two prototypes, (25)
        for those of all.""",
    "metric_learning_rate": """float
        rho / eta, the rate of the metric over that of the prototypes; 0 freezes the metric.""",
    "normalization": """{"mean", "sum"}
        What the weights (the trace of Omega'Omega) are scaled to after each step: a mean of 1, which starts at the
        Euclidean distance, or a sum of 1.""",
    "n_components": "int, optional\n        Rows of Omega; None takes as many as there are features.",
    "scope": """{"class", "prototype"}
        Which prototypes share an Omega.""",
    "transfer": """{"sigmoid", "identity"}
        What the relative distance goes through.""",
    "window": """float
        Width w of the window around the mid-plane of the two nearest prototypes, 0.2 to 0.3.""",
    "lvq_pak_window": "bool\n        Test squared distances, as LVQ_PAK does: a narrower window.",
    "epsilon": "float\n        Factor of the steps where both nearest prototypes are right, 0.1 to 0.5.",
    "n_nearest": "int, optional\n        How many nearest prototypes take part; None takes S + 1.",
    "include_own": "bool\n        Put the nearest own prototype among them where there is none.",
    "learn_prototypes": "bool\n        False leaves the prototypes where they start and learns the metric only.",
    "shuffle": """bool
        A new random order each epoch, which depends on `random_state` and not on the order of the rows; False presents
        the rows as they stand.""",
    "batch_size": 'int\n        Rows of a mini-batch, for solver="adam".',
    "tol": """float, optional
        Stop when the loss changes by less than this share in an epoch. None: all epochs for "online", as in the papers;
        1e-6 for the others.""",
    "class_weight": """dict, "balanced" or None
        Weights of the classes.""",
    "random_state": "int, RandomState or None\n        Seed of the start and of the order of presentation.",
    "warm_start": "bool\n        Go on from the fit before.",
    "verbose": "int\n        1 shows one line of progress.",
    "callback": """function, optional
        Called after each epoch as `callback(epoch, loss, prototypes)`; returning True stops the fit.""",
}

ATTRIBUTES = """
    Attributes
    ----------
    prototypes_ : array of shape (n_prototypes, n_features)
    prototype_labels_ : array of shape (n_prototypes,)
        Class of each prototype.
    classes_ : array of shape (n_classes,)
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn
"""
LEARNED_ATTRIBUTES = """    loss_curve_ : list
        Mean loss of each epoch; for a rule without a loss, the share of samples met on the wrong side.
    n_iter_ : int
        Epochs run.
    relevances_ : array, with a relevance metric only
        Weights of the features: one vector, or one for each class or prototype.
    omega_ : array, with an omega metric only
        The learned map: one matrix, or one for each class or prototype.
"""

Estimator = TypeVar("Estimator", bound=type)


def documented(estimator: Estimator) -> Estimator:
    """Put the texts of the parameters and attributes before the "Examples" of an estimator's docstring.

    `_texts` maps a parameter to another entry of PARAMETERS, `_parameter_texts` holds texts of the estimator's own.
    """
    texts = PARAMETERS | getattr(estimator, "_parameter_texts", {})
    lines = ["    Parameters", "    ----------"]
    for name, parameter in inspect.signature(estimator).parameters.items():
        text = texts[getattr(estimator, "_texts", {}).get(name, name)]
        kind, _, rest = text.partition("\n")
        lines.append(f"    {name} : {kind}, default={parameter.default!r}")
        if rest:
            lines.append(indent(dedent(rest), " " * 8))
    head, _, examples = (estimator.__doc__ or "").partition("    Examples\n")
    learned = LEARNED_ATTRIBUTES if hasattr(estimator, "partial_fit") else ""
    body = head + "\n".join(lines) + "\n" + ATTRIBUTES + learned
    estimator.__doc__ = body + ("\n    Examples\n" + examples if examples else "")
    return estimator
