"""One text for each shared parameter, put into the docstring of every estimator that has it."""

from __future__ import annotations

import inspect
from textwrap import dedent, indent
from typing import TypeVar

from protolearn.solvers import SOLVERS

PARAMETERS = {
    "n_prototypes": """int, dict, float or "auto"
        How many prototypes each class gets (S): one number for all classes, a dict from class to number, or a share of
        the training set between 0 and 1, divided by class size, at least one each. More fit finer borders and take
        more time and memory; try 1 to 5, for large sets up to 25. "auto" fits on three folds with 1, 2, 3, 5, 8, ...
        for each class until held-out rows gain nothing, and takes the fewest that they do not tell from the best.""",
    "init": """str, array, pair (positions, labels), fitted estimator or callable
        Where the prototypes start. "kmeans": cluster centres of each class; "class_mean": the mean of each class;
        "random": training samples; "border": training samples near the decision border; "eveninit", "propinit",
        "balance": the starts of LVQ_PAK; "all": every training sample. An array holds positions in the order of the
        sorted classes.
        `protolearn.initializers.SharedStart` computes one start for all settings of a search.""",
    "lpd_init": """str, array, pair (positions, labels), fitted estimator or callable
        Where the prototypes start. "random": training samples, as in the paper; "border": training samples near the
        decision border, which the paper leaves to future work; or another start of the library, such as "kmeans".""",
    "bounds": """{"data", "class"} or None
        What prototypes stay inside, so that each could be a case. "data": the range that each feature has in the
        training set. Learning is that of the paper; at the end the prototypes are shrunk towards a point that is
        equally far from all of them, which moves no border between classes, or learn on inside where no such point
        lies in the range. "class": the middle four fifths of each feature in the class of the prototype, for
        prototypes that look like rows of their class; those that learning left outside learn on there, which takes
        half as long again and costs accuracy: on 21 tables 0.1 to 0.4 points in mean with one prototype a class, 0.9
        with three. It needs dense rows in memory.
        None: prototypes stay where the paper's learning leaves them, often outside; so do those of a stream
        (`partial_fit`), whose range is not known.""",
    "initial_weights": """{"auto", "ones", "inverse_std"}
        Where the weights of the features start (w): at 1, or at 1 / standard deviation of the feature in the class.
        "auto" takes the one that makes fewer errors when each training sample is classified by all others.""",
    "nu": """float
        How far a step moves the positions (nu). Try factors of 10 around the default.""",
    "mu": """float
        How far a step moves the weights of the features (mu), less than the positions; 0 keeps them where they
        start.""",
    "step_factors": """{"scale_free", "constant", "inverse_std"}
        What the two rates are multiplied by (mu_ij, nu_ij). "scale_free": a factor that makes them mean the same in
        any unit of the data; "constant": nothing; "inverse_std": 1 / standard deviation of the feature where the
        weights start there, as in the paper.""",
    "beta": """float
        How steep the sigmoid of the loss is (beta): larger values count errors, smaller ones look at more samples on
        both sides of the border. Try 5 to 10.""",
    "exponent": """float
        Power of the distances in the probabilities of `predict_proba` and `verify` (alpha of LPD (9)). Larger values
        give probabilities nearer to 0 and 1; predicted classes do not change.""",
    "lpd_tol": """float, optional
        Stop when an epoch changes the mean loss by less than this share (epsilon): of the first loss for "batch_sum",
        where None takes 1e-7; of the present one for the others, see LOGM.""",
    "learn1nn_alpha": """float
        How far a sample moves its prototypes (alpha): the way to the sample is multiplied by alpha d_k (1 - d_k),
        which is at most alpha / 4. Try 0.03 to 0.3.""",
    "sigma": """float, optional
        Variance of the Gaussian kernel (sigma): how far from the border samples still move prototypes, as a squared
        distance. None takes a third of the mean difference between the squared distances to own and rival start; `inf`
        is the limit in which all samples count the same. Try 0.25 to 1 times that difference.""",
    "sigma_annealing": """float
        Factor of 1 / sigma after each sample: above 1 the kernel narrows while learning, so that only samples near the
        border still count. Try 1.00001.""",
    "learn1nn_lambda": """float
        How strongly prototypes are kept from running away from the border (lambda sigma of learn1NN (34)). With more
        than two prototypes each is drawn to the nearest one of another class. Try 0 to 0.01.""",
    "learn1nn_loss": """{"margin", "cross_entropy"}
        "margin": the paper's loss, learn1NN (11); "cross_entropy": learn1NN (24), which a few outliers can spoil.""",
    "keep": """{"last", "best", "validation"}
        Early stopping: which prototypes `fit` returns. "last": those after the last epoch; "best": those with the
        fewest errors on the training set; "validation": those with the fewest errors on held-out samples.""",
    "validation_fraction": """float
        Share of each class that keep="validation" holds out, unless `fit` is given X_val and y_val.""",
    "check_every": """int
        Epochs between two counts of the errors, for keep="best" and keep="validation".""",
    "patience": """int, optional
        How many counts of the errors in a row may bring no fewer before learning stops; None runs all epochs.""",
    "metric": """str or Metric
        How distances are measured, and what of them is learned.

        - "euclidean": all features count the same; nothing is learned.
        - "relevance": one learned weight a feature, for all prototypes; "class_relevance": one a feature and class;
          "local_relevance": one a feature and prototype (lambda).
        - "omega": a learned linear map of the features, for all prototypes; "class_omega": one for each class;
          "local_omega": one for each prototype (Omega). Learns correlated features, and takes more samples and time.
        - "squared_relevance", "class_squared_relevance", "local_squared_relevance": the same as the weights above, as
          squares that are not normalised (LPD's w).
        - "class_variance": as "class_squared_relevance", started at 1 / standard deviation in the class.

        Try "relevance" where features differ in use, "omega" where they are correlated.""",
    "metric_parameters": """array, optional
        Weights of shape (n_features,) or Omega of shape (n_components, n_features) that take the place of the metric's
        start, or a stack of them, one for each class or prototype.""",
    "loss": """str, Loss or function
        What learning minimises: the name of a loss of the library, such as "logm" or "glvq", or a function of your own
        `f(d_own, d_rival, slope) -> (loss, d loss / d d_own, d loss / d d_rival)` of squared distances.""",
    "max_iter": """int
        Passes over the training set (epochs, T); for solver="lbfgs" its iterations.""",
    "learning_rate": """float
        How far the first steps move the prototypes (tau). The unit is a tenth of the mean squared distance of the
        samples to the nearest start (0.1 cov), so that no unit of the data matters. Try 0.1 to 2. "lbfgs" does without
        it.""",
    "alpha": """float
        The share of the way to the sample that the first steps move a prototype (alpha). Try 0.01 to 0.3.""",
    "schedule": """{"linear", "constant", "inverse_time"} or function (step, n_steps) -> factor
        How the steps become smaller. "linear": evenly down to 0 at the end; "constant": not at all; "inverse_time":
        as C / (C + step) with C = n_steps / 100, LVQ_PAK's other choice.""",
    "slope": """float, optional
        How steep the loss is at the border (xi): larger values count errors, smaller ones look at more samples on both
        sides. None takes 10 for GLVQ's sigmoid, whose measure has no unit, and the paper's 2 / cov for losses of
        squared distances, cov the mean squared distance of the samples to the nearest start.""",
    "annealing": """float
        Factor of the slope after each sample: above 1 the loss becomes steeper while learning. 1 leaves it as it is;
        the paper takes 1.00001 for SNPC.""",
    "regularization": """float
        How strongly prototypes are drawn to the samples of their class (alpha), which keeps them from drifting away:
        alpha times the term of LOGM (22) for losses of the two nearest prototypes, of LOGM (25) for losses of all.
        Try 0, 0.001, 0.005, 0.01, 0.05, as the paper does.""",
    "ridge": """float
        How strongly the prototypes and the metric are held to where they start (lambda / 2N times the squared moves,
        each in the unit of one feature). Try 0.3 to 3 where the metric has many parameters. For the solvers that see
        all samples at once: "lbfgs", "gradient" and "adam".""",
    "metric_learning_rate": """float
        How fast the metric learns, as a multiple of the rate of the prototypes (rho / eta); 0 freezes the metric.
        Unused by metric="euclidean". Try 0.01 to 1.""",
    "normalization": """{"mean", "sum", "free"}
        What the weights of the features (or the diagonal of Omega'Omega) are scaled to after each step. "mean": a mean
        of 1, which starts at the Euclidean distance; "sum": a sum of 1, as in the papers; "free": starts as "mean"
        and is not scaled, so that the size of the distances is learned too.""",
    "n_components": """int, optional
        To how many numbers the learned map takes a sample: the rows of Omega. None keeps as many as there are
        features; fewer learn and predict faster, and 2 can be drawn.""",
    "map_rows": """int, "auto" or None
        To how many numbers the learned map takes a sample: the rows of Omega. "auto" keeps as many as there are
        features up to 300, and 60 above; None keeps as many always. Fewer learn and predict faster, and 2 can be
        drawn.""",
    "scope": """{"class", "prototype"}
        Whether each class or each prototype learns a map of its own (Omega).""",
    "transfer": """{"sigmoid", "identity"}
        What the relative distance goes through (f): "sigmoid" weakens samples far from the border, "identity" weighs
        all samples by their relative distance alone.""",
    "window": """float
        How far from the mid-plane of the two nearest prototypes a sample may lie and still move them (w), as a share
        of their distance. Try 0.2 to 0.3.""",
    "lvq_pak_window": """bool
        Test squared distances against the window, as LVQ_PAK does, which makes it narrower.""",
    "epsilon": """float
        Factor of the steps where both nearest prototypes are of the right class (epsilon). Try 0.1 to 0.5.""",
    "n_nearest": """int, optional
        How many of the nearest prototypes take part; None takes one more than a class has (S + 1).""",
    "include_own": """bool
        Put the nearest prototype of the right class among them where there is none.""",
    "learn_prototypes": """bool
        Whether the positions learn; False leaves them where they start and learns the metric only.""",
    "shuffle": """bool
        Present the samples in a new random order each epoch, given by `random_state` and, up to 65,536 rows, not by
        the order of the rows; False presents the rows as they stand.""",
    "batch_size": """int
        Rows of a mini-batch, for solver="adam".""",
    "tol": """float, optional
        Stop when an epoch changes the mean loss by less than this share. None runs all epochs with "online", as in the
        papers, and takes 1e-6 for the others; "lbfgs", whose steps are smaller, takes a hundredth of the number.""",
    "class_weight": """dict, "balanced" or None
        How much the samples of each class count: a dict from class to factor; "balanced": all classes the same in sum;
        None: each sample the same.""",
    "random_state": """int, RandomState or None
        Seed of the start and of the order of the samples; the same number gives the same model.""",
    "warm_start": """bool
        Let `fit` go on from the prototypes of the fit before instead of a new start.""",
    "verbose": """int
        1 shows one line of progress, 0 nothing.""",
    "callback": """function, optional
        Called after each epoch as `callback(epoch, loss, prototypes)`; returning True stops the fit.""",
    "editing_neighbors": """int or "auto"
        How many nearest other samples vote on a sample (k). "auto" takes the number of `candidates`, or no editing,
        whose edited set has the best cross-validated 1-NN accuracy on the training set.""",
    "editing": """{"wilson", "repeated", "multi"}
        "wilson": one pass; "repeated": passes until no sample leaves; "multi": the samples are cut into random blocks,
        each edited by 1-NN on the next, again and again (multi-edit).""",
    "candidates": """sequence of int
        Numbers of neighbours that "auto" compares, beside no editing.""",
    "cv": """int
        Folds of the cross-validation of "auto".""",
    "n_blocks": """int
        Into how many blocks multi-edit cuts the samples.""",
    "editing_patience": """int
        After how many rounds in a row without a removal multi-edit ends.""",
    "hart_shuffle": """bool
        Visit the samples in a random order instead of as they stand.""",
    "edit_neighbors": """int, "auto" or None
        Edit by Wilson's rule first, with this many neighbours (k); the set then classifies rightly what editing left.
        None edits nothing.""",
    "total_prototypes": """int, float or None
        How many prototypes the whole set gets: this number times the number of classes, or a share of the training set
        between 0 and 1; the data decide which classes get them. None splits until every block holds one class.""",
    "centroids": """{"block", "class"}
        "block": one prototype for each block, labelled by its majority; "class": one for each class in a block.""",
    "criterion": """{"diameter", "overlap"}
        Which block of several classes is split next: the widest, or the one whose classes overlap most.""",
    "exact_diameter": """bool or None
        Whether diameters are exact, which takes time that grows with the square of a block; None: for blocks of up to
        4096 samples. Otherwise a few passes over the block find a pair at least half as far apart as the farthest.""",
    "mixture_components": """int, dict, float, "bic" or "auto"
        How many Gaussians each class gets (M): one number for all classes, a dict from class to number, or a share of
        the training set between 0 and 1, divided by class size; "bic" takes the number with the best Bayesian
        information criterion, "auto" the fewest that held-out rows do not tell from the best.""",
    "mixture_init": """str
        Where the means start. "centroid": at the class centroid plus `disturbance`, as in the paper; or where
        prototypes of other classifiers start: "kmeans", "random", "class_mean", ...""",
    "disturbance": """float
        How far from the centroid the means may start, as a share of each feature's range.""",
    "initial_spread": """float
        First standard deviation of a Gaussian, as a share of each feature's range.""",
    "literal_variance": """bool
        Take `initial_spread` times the range for the variance, as printed; the start then depends on the unit.""",
    "range_of": """{"class", "all"}
        Which samples the range is of: those of the class, or all.""",
    "stopping": """{"accuracy", "algorithm1", "likelihood"}
        When a class stops learning. "accuracy": when 1-NN on the means gets no better for it, where a class that got
        worse goes back, and the best state counts; "algorithm1": the same as printed, where a rejected step passes the
        second time and the last state counts; "likelihood": when EM has converged.""",
    "classify_by": """{"prototypes", "mixture"}
        "prototypes": 1-NN on the means; "mixture": the class with the largest prior times density.""",
    "max_components": """int
        How many Gaussians for a class "bic" tries at most.""",
    "em_steps": """int
        How many EM steps are made at most.""",
    "em_tol": """float
        "likelihood" and "bic" end when a step gains less log-likelihood a sample than this.""",
}

ATTRIBUTES = """
    Attributes
    ----------
    prototypes_ : array of shape (n_prototypes, n_features)
    prototype_labels_ : array of shape (n_prototypes,)
        Class of each prototype.
    classes_ : array of shape (n_classes,)
    data_min_, data_max_ : arrays of shape (n_features,)
        The range of each feature in the training set; where its rows came in blocks, with bounds="data" only.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn
"""
LEARNED_ATTRIBUTES = """    prototype_cases_ : array of shape (n_prototypes,) or None
        The row of X nearest to each prototype among those of its class, under the model's metric; None where rows came
        in blocks or as a stream.
    loss_curve_ : list
        Mean loss of each epoch; for a rule without a loss, the share of samples that it found on the wrong side.
    n_iter_ : int
        Epochs run.
"""
LEARNED_METRIC = """    relevances_ : array, with a relevance metric only
        Weights of the features: one vector, or one for each class or prototype.
    omega_ : array, with an omega metric only
        The learned map: one matrix, or one for each class or prototype.
"""

Estimator = TypeVar("Estimator", bound=type)


def documented(estimator: Estimator) -> Estimator:
    """Put the texts of the parameters and attributes before the "Examples" of an estimator's docstring.

    `_texts` maps a parameter to another entry of PARAMETERS, `_parameter_texts` holds texts of the estimator's own.
    The text of `solver` is made of the solvers that the estimator offers.
    """
    texts = PARAMETERS.copy()
    if hasattr(estimator, "_solvers"):
        texts["solver"] = _solver_text(estimator._solvers(), estimator)
    texts |= getattr(estimator, "_parameter_texts", {})
    lines = ["    Parameters", "    ----------"]
    for name, parameter in inspect.signature(estimator).parameters.items():
        kind, _, rest = texts[getattr(estimator, "_texts", {}).get(name, name)].partition("\n")
        lines += [f"    {name} : {kind}, default={_shown(parameter.default)}", indent(dedent(rest), " " * 8)]
    head, _, examples = (estimator.__doc__ or "").partition("    Examples\n")
    learned = LEARNED_ATTRIBUTES if hasattr(estimator, "partial_fit") else ""
    learned += LEARNED_METRIC if learned and "metric" in inspect.signature(estimator).parameters else ""
    learned += getattr(estimator, "_attribute_texts", "")
    body = head + "\n".join(lines) + "\n" + ATTRIBUTES + learned
    estimator.__doc__ = body + ("\n    Examples\n" + examples if examples else "")
    return estimator


def _shown(default: object) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


def _solver_text(names: list[str], estimator: type) -> str:
    """The solvers to choose from, the default first, and what each does."""
    default = inspect.signature(estimator).parameters.get("solver")
    names = sorted(names, key=lambda name: default is not None and name != default.default)
    lines = [f'- "{name}": {SOLVERS[name].text}.' for name in names]
    kinds = ", ".join(f'"{name}"' for name in names)
    return "\n".join([f"{{{kinds}}}", "How the loss is minimised.", "", *lines])
