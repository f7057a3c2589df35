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
        "propinit" or "balance" (LVQ_PAK's); `protolearn.initializers.SharedStart` computes it once for all settings of
        a search.""",
    "lpd_init": """str, array, pair (positions, labels), fitted estimator or callable
        Where the prototypes start: "random" (training samples, as in the paper), "border" (training samples near the
        decision border, its future work), or another of the library's starts.""",
    "initial_weights": """{"auto", "ones", "inverse_std"}
        Where the weights of the features start: 1, or 1 / standard deviation in the class; "auto" takes the one that
        classifies the training set better, each sample by all others.""",
    "lpd_solver": """{"batch_sum", "online", "gradient", "lbfgs", "adam"}
        "batch_sum": Fig. 1 of the paper; "online": the same steps one sample at a time; the others minimise the mean
        loss in their own ways, without the rates and factors below.""",
    "nu": """float
        nu, the rate of the positions.""",
    "mu": """float
        mu, the rate of the weights; 0 keeps them where they start.""",
    "step_factors": """{"scale_free", "constant", "inverse_std"}
        What the rates are multiplied by: "scale_free" makes the printed numbers mean the same in any unit, "constant"
        takes them as they are, "inverse_std" multiplies them by 1 / standard deviation where the weights start there,
        as the paper does.""",
    "beta": """float
        beta, the slope of the sigmoid; 5 to 10.""",
    "exponent": """float
        alpha of (9), the power of the unsquared distances in `predict_proba` and `verify`.""",
    "lpd_tol": """float, optional
        Stop when the mean loss changes by less than this share of the first one in an epoch; None takes 1e-7 for
        "batch_sum".""",
    "learn1nn_alpha": """float
        alpha: a prototype moves by alpha d_k (1 - d_k) of the way to the sample, at most alpha / 4; 0.03 to 0.3.""",
    "sigma": """float, optional
        Variance of the Gaussian kernel: how far from the border samples still move prototypes. None takes a third of
        the mean difference between the squared distances to own and rival start; `inf` is the limit in which all
        samples count the same.""",
    "sigma_annealing": """float
        Factor of 1 / sigma after each sample: above 1 the kernel narrows while learning.""",
    "learn1nn_lambda": """float
        lambda sigma of (34), which keeps prototypes from running away from the border; 0 to 0.01. With more than two
        prototypes each is drawn to the nearest one of another class.""",
    "learn1nn_loss": """{"margin", "cross_entropy"}
        The paper's loss (11), or the cross entropy (24), which outliers spoil.""",
    "keep": """{"last", "best", "validation"}
        Which prototypes of the way are returned: the last ones, those of the lowest training error, or those of the
        lowest error on held-out samples.""",
    "validation_fraction": """float
        Share of each class that keep="validation" holds out, unless `fit` is given X_val and y_val.""",
    "check_every": "int\n        Epochs between two looks at the error.",
    "patience": """int, optional
        Looks without a lower error after which learning stops; None runs all epochs.""",
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
    "ridge": """float
        How strongly the prototypes and the metric are held to where they start: lambda / 2N times the squared moves,
        each in the unit of one feature; 0.3 to 3 where the metric has many parameters. For the solvers that see all
        samples: "lbfgs", "gradient" and "adam".""",
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
        A new random order each epoch, which depends on `random_state` and, up to 65,536 rows, not on the order of the
        rows; False presents the rows as they stand.""",
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
    "editing_neighbors": """int or "auto"
        How many nearest others vote on a sample (k); "auto" takes the one of `candidates`, or no editing, whose edited
        set has the best cross-validated 1-NN accuracy on the training set.""",
    "editing": """{"wilson", "repeated", "multi"}
        One pass; passes until nothing leaves; or multi-edit: random blocks, each edited by 1-NN on the next.""",
    "candidates": 'sequence of int\n        Numbers of neighbours that "auto" compares, beside no editing.',
    "cv": 'int\n        Folds of "auto".',
    "n_blocks": "int\n        Blocks of multi-edit.",
    "editing_patience": "int\n        Rounds of multi-edit without a removal after which it ends.",
    "hart_shuffle": """bool
        Visit the samples in a random order instead of as they stand.""",
    "edit_neighbors": """int, "auto" or None
        Wilson's editing first, with that many neighbours; the set is then consistent with the edited samples.""",
    "total_prototypes": """int, float or None
        That many times the number of classes in all, or a share between 0 and 1 of the training set; which classes get
        them follows from the data. None splits until every block holds one class.""",
    "centroids": """{"block", "class"}
        One prototype for each block, labelled by its majority, or one for each class in a block.""",
    "criterion": """{"diameter", "overlap"}
        Which block of several classes is split next: the widest, or the one whose classes overlap most.""",
    "exact_diameter": """bool or None
        Exact diameters; None: for blocks of up to 4096 samples. Otherwise a pair at least half as far apart as the
        farthest one, found in a few passes over the block.""",
    "mixture_components": """int, dict, float or "bic"
        Gaussians for each class (M): one number for all, a dict from class to number, a share between 0 and 1 of the
        training set, divided by class size; "bic" takes the number with the best Bayesian information criterion.""",
    "mixture_init": """str
        "centroid": the class centroid plus `disturbance`, as in the paper; or where prototypes of other classifiers
        start: "kmeans", "random", "class_mean", ...""",
    "disturbance": "float\n        Largest disturbance of the centroid, as a share of each feature's range.",
    "initial_spread": """float
        First standard deviation of a Gaussian, as a share of each feature's range.""",
    "literal_variance": """bool
        Take `initial_spread` times the range as the variance, as printed; the start then depends on the unit.""",
    "range_of": '{"class", "all"}\n        Whose range: that of the class or of all samples.',
    "stopping": """{"accuracy", "algorithm1", "likelihood"}
        "accuracy": until 1-NN on the means gets no class better, where a class that got worse goes back, and the best
        state counts; "algorithm1": the same as printed, where a rejected step passes the second time and the last state
        counts; "likelihood": EM to convergence.""",
    "classify_by": """{"prototypes", "mixture"}
        1-NN on the means, or the class with the largest prior times density.""",
    "max_components": 'int\n        Most Gaussians for a class that "bic" tries.',
    "em_steps": "int\n        Most EM steps.",
    "em_tol": """float
        Gain of log-likelihood a sample below which "likelihood" and "bic" end.""",
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
    learned += getattr(estimator, "_attribute_texts", "")
    body = head + "\n".join(lines) + "\n" + ATTRIBUTES + learned
    estimator.__doc__ = body + ("\n    Examples\n" + examples if examples else "")
    return estimator
