"""Large margin nearest neighbours: a linear map under which neighbours of a sample share its class."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from protolearn.core.pages import HasPage
from protolearn.core.parameters import as_numbers, check_choice, check_count, check_number, stores_parameters
from protolearn.data import class_codes
from protolearn.data.ranges import check_finite, check_range, finite_or_refused, size_and_spread
from protolearn.solvers.large_margin import METRIC_SOLVERS, solve_large_margin
from protolearn.solvers.progress import ProgressLine
from protolearn.solvers.triples import TripleProblem

_STARTS = ("identity", "pca", "lda")


class LMNN(HasPage, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Large margin nearest neighbours: learn a linear map for nearest-neighbour classification.

        cost = (1 - mu) sum_ij D_ij + mu sum_ijl [margin + D_ij - D_il]_+,   D_ij = |Omega (x_i - x_j)|^2    LaMaLVQ (2)

    j runs over the targets of i, its `n_neighbors` nearest samples of the same class before learning; l over all
    samples of other classes. Weinberg and Saul (2009).

    The minimum does not depend on the units of the features, but the targets do: scale features of different kinds
    first. The margin only sets the unit of the learned distance. A class with fewer than `n_neighbors` + 1 samples
    has fewer targets, and one with a single sample has none.

    Parameters
    ----------
    n_neighbors : int, default=3
        Targets of each sample (k).
    n_components : int, optional, default=None
        Rows of Omega; None takes as many as there are features. Fewer need solver="factor".
    margin : float, default=1.0
        What an invader must be further away than a target, in squared distance (kappa).
    push_pull : float, default=0.5
        Weight of the push, between 0 and 1 (mu); the pull has 1 - mu.
    init : {"identity", "pca", "lda"} or array of shape (n_components, n_features), default="identity"
        Omega before learning, which also decides the targets where it is an array.
    solver : {"factor", "projection"}, default="factor"
        "factor": L-BFGS on Omega; "projection": projected gradient on Omega'Omega, with eigen-decompositions.
    max_iter : int, default=500
        Steps at most.
    tol : float, default=1e-4
        Converged when the cost falls by less than this share between two searches for invaders.
    invader_interval : int, default=10
        Steps between two exact searches for invaders.
    n_rounds : int, default=1
        How often the targets are found and the metric is learned; from the second time on, the targets are those
        under the metric of the time before. The cost never rises from one round to the next.
    random_state : int, RandomState or None, default=None
        Not used: nothing is drawn. It is there so that LMNN can stand where an estimator with a seed stood.
    verbose : int, default=0
        1 shows one line of progress.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Omega.
    loss_curve_ : list
        Exact cost at the start and after each exact search for invaders.
    n_iter_ : int
        Steps taken.
    n_invaders_ : int
        Active triples at the end.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from protolearn import LMNN
    >>> X, y = load_wine(return_X_y=True)
    >>> plain = make_pipeline(StandardScaler(), KNeighborsClassifier(3))
    >>> learned = make_pipeline(StandardScaler(), LMNN(), KNeighborsClassifier(3))
    >>> bool(cross_val_score(learned, X, y).mean() > cross_val_score(plain, X, y).mean())
    True
    """

    @stores_parameters
    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        n_components: int | None = None,
        margin: float = 1.0,
        push_pull: float = 0.5,
        init: Any = "identity",
        solver: str = "factor",
        max_iter: int = 500,
        tol: float = 1e-4,
        invader_interval: int = 10,
        n_rounds: int = 1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None: ...

    def _check_parameters(self) -> None:
        check_count("n_neighbors", self.n_neighbors)
        check_count("n_components", self.n_components, optional=True)
        check_number("margin", self.margin, above=0)
        check_number("push_pull", self.push_pull, above=0, below=1)
        check_choice("solver", self.solver, METRIC_SOLVERS)
        check_count("max_iter", self.max_iter)
        check_number("tol", self.tol, at_least=0)
        check_count("invader_interval", self.invader_interval)
        check_count("n_rounds", self.n_rounds)
        if isinstance(self.init, str):
            check_choice("init", self.init, _STARTS)

    def fit(self, X: Any, y: Any) -> LMNN:
        """Learn the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels of any kind, two classes or more.

        Returns
        -------
        self
        """
        self._check_parameters()
        # scikit-learn sums float32 rows to see whether all are finite; the sum may overflow both ways.
        with np.errstate(over="ignore", invalid="ignore"):
            X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_classification_targets(y)
        check_range("X", *size_and_spread(X), X.dtype)
        classes, codes = class_codes(y)
        if len(classes) < 2:
            raise ValueError(f"LMNN needs two classes to keep apart; y has one class, {classes[0]!s}.")
        if np.bincount(codes).max() < 2:
            raise ValueError("LMNN pulls samples of one class together, and no class of y has two samples; add some.")
        dtype = X.dtype
        X = X.astype(np.float64, copy=False)
        with finite_or_refused(type(self).__name__):
            omega = self._start(X, codes)
        near = np.eye(X.shape[1]) if isinstance(self.init, str) else omega
        numbers = {"margin": self.margin, "pull": 1.0 - self.push_pull, "push": self.push_pull}
        problem = TripleProblem.among_points(X, codes, self.n_neighbors, **numbers)
        line = ProgressLine(type(self).__name__, self.max_iter) if self.verbose else None
        self.loss_curve_: list[float] = []
        self.n_iter_ = 0
        for _ in range(self.n_rounds):
            problem = problem.with_targets(near)
            with finite_or_refused(type(self).__name__):
                found = solve_large_margin(
                    problem,
                    omega,
                    solver=self.solver,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    invader_interval=self.invader_interval,
                    watch=None if line is None else line.epoch,
                )
                check_finite(found.omega.astype(dtype))
            omega = near = found.omega
            self.loss_curve_ += found.cost_curve
            self.n_iter_ += found.n_iter
        if line is not None:
            line.end()
        if not found.converged:
            warnings.warn(
                f"LMNN did not converge in max_iter={self.max_iter} steps; raise max_iter, or tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.n_invaders_ = found.n_active
        self.components_ = omega.astype(dtype)
        return self

    def _start(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Omega before learning."""
        d = X.shape[1]
        if not isinstance(self.init, str):
            omega = as_numbers(self.init)
            if omega is None or omega.ndim != 2:
                raise ValueError(
                    f"init must be one of {', '.join(_STARTS)}, or a matrix with {d} columns; got {self.init!r:.80}."
                )
            wanted = (len(omega) if self.n_components is None else self.n_components, d)
            if omega.shape != wanted or not np.isfinite(omega).all():
                raise ValueError(f"init must hold finite numbers and have shape {wanted}; got {omega.shape}.")
            return omega
        rows = d if self.n_components is None else self.n_components
        if rows > d:
            raise ValueError(
                f"n_components={rows} is more than the {d} features of X; choose at most {d}, or None for all."
            )
        if rows < d and self.solver == "projection":
            raise ValueError('solver="projection" learns a full matrix; choose solver="factor" for n_components.')
        if self.init == "identity":
            return np.eye(d)[:rows]
        if self.init == "pca":
            return np.linalg.eigh(np.cov(X.T, bias=True).reshape(d, d))[1][:, ::-1].T[:rows]
        # The eigen solver gives as many axes as there are features, the most discriminating first.
        return LinearDiscriminantAnalysis(solver="eigen", shrinkage=1e-3).fit(X, codes).scalings_.T[:rows]

    def transform(self, X: Any) -> np.ndarray:
        """The samples after the map, Omega x.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        mapped : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        with np.errstate(over="ignore", invalid="ignore"):
            X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
            mapped = X @ self.components_.T.astype(X.dtype, copy=False)
        if not np.isfinite(mapped).all():
            raise ValueError(
                "X holds numbers too large to map: they lie far outside the training set; check their unit."
            )
        return mapped

    def mahalanobis_matrix(self) -> np.ndarray:
        """Lambda = Omega'Omega, the matrix of the learned squared distance (x - z)' Lambda (x - z).

        Returns
        -------
        matrix : ndarray of shape (n_features, n_features), symmetric and positive semi-definite
        """
        check_is_fitted(self)
        omega = self.components_.astype(np.float64)
        return omega.T @ omega

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
