"""The four solvers: they agree on the minimum, stop when told, and keep what they have."""

import io

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from problems import DIFFERENTIABLE
from protolearn import GMLVQ, LOGM, LVQ1, RSLVQ, SNPC, PrototypeClassifier
from protolearn.solvers.progress import ProgressLine

ANY_LOSS = ["online", "gradient", "lbfgs", "adam"]
BATCH = ANY_LOSS[1:]


@pytest.mark.parametrize("solver", ANY_LOSS)
@pytest.mark.parametrize("loss", list(DIFFERENTIABLE))
@pytest.mark.parametrize("metric", ["euclidean", "relevance", "class_omega"])
def test_every_loss_runs_with_every_solver_and_metric(solver, loss, metric, iris):
    X, y = iris
    model = PrototypeClassifier(2, loss=loss, solver=solver, metric=metric, max_iter=20, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.9
    assert 1 <= model.n_iter_ <= 20
    assert model.loss_curve_[-1] < model.loss_curve_[0]


@pytest.mark.parametrize("solver", BATCH)
@pytest.mark.parametrize("metric", ["euclidean", "relevance", "squared_relevance", "omega", "local_omega"])
def test_float32_with_every_penalty(solver, metric, iris):
    """Also with that of the prototypes alone, which is float64."""
    X, y = iris
    for loss in ("learn1nn", "logm"):
        model = PrototypeClassifier(loss=loss, solver=solver, metric=metric, regularization=0.01, max_iter=5)
        assert model.set_params(random_state=0).fit(X.astype(np.float32), y).prototypes_.dtype == np.float32


@pytest.mark.parametrize("loss", ["logm", "glvq_sigmoid", "rslvq"])
def test_batch_losses_fall(loss, blobs):
    for solver in ("gradient", "lbfgs"):
        model = PrototypeClassifier(2, loss=loss, solver=solver, max_iter=50, random_state=0).fit(*blobs)
        assert (np.diff(model.loss_curve_) <= 1e-12).all()
        assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_lbfgs_finds_what_scipy_finds_on_the_written_out_loss(blobs):
    """One prototype a class, the loss in plain numpy, scipy's own numerical gradient."""
    X, y = blobs
    X, y = X[y < 2], y[y < 2]
    model = LOGM(solver="lbfgs", max_iter=500, tol=1e-10, random_state=0, regularization=0.01).fit(X, y)
    slope = model._final_slope

    def loss(flat):
        D = ((X[:, None] - flat.reshape(2, -1)) ** 2).sum(axis=2)
        own, rival = D[np.arange(len(y)), y], D[np.arange(len(y)), 1 - y]
        return np.mean(np.logaddexp(0, slope * (own - rival)) + 0.01 * own)

    start = np.concatenate([X[y == k].mean(axis=0) for k in (0, 1)])
    found = minimize(loss, start, options={"gtol": 1e-8})
    assert model.loss_curve_[-1] == pytest.approx(found.fun, abs=1e-6)


def test_solvers_agree_on_a_smooth_problem(blobs):
    ends = {
        solver: LOGM(solver=solver, max_iter=400, random_state=0, regularization=0.05, batch_size=30)
        .fit(*blobs)
        .loss_curve_[-1]
        for solver in BATCH
    }
    assert max(ends.values()) - min(ends.values()) < 0.01


def test_metric_stays_normalised(blobs):
    for solver in ANY_LOSS:
        for name in ("relevance", "class_relevance", "local_relevance", "omega", "class_omega", "local_omega"):
            model = LOGM(2, metric=name, solver=solver, max_iter=10, random_state=0).fit(*blobs)
            theta = model._theta
            total = theta.sum(axis=1) if theta.ndim == 2 else (theta**2).sum(axis=(1, 2))
            np.testing.assert_allclose(total, 4.0, rtol=1e-6)
            assert theta.ndim == 3 or (theta >= 0).all()


@pytest.mark.parametrize("solver", ANY_LOSS)
def test_frozen_prototypes_stay(solver, blobs):
    X, y = blobs
    for metric in ("relevance", "local_relevance"):
        model = LOGM(2, metric=metric, learn_prototypes=False, solver=solver, max_iter=20, random_state=0).fit(X, y)
        start = LOGM(2, metric=metric, max_iter=1, learning_rate=1e-12, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.prototypes_, start.prototypes_, atol=1e-9)
        assert np.abs(model.relevances_ - 1).max() > 1e-3


def test_callback_sees_every_epoch_and_stops_the_fit(blobs):
    for solver in ANY_LOSS:
        seen = []

        def callback(epoch, loss, prototypes, seen=seen):
            seen.append((epoch, loss, prototypes.shape))
            return epoch == 3

        model = LOGM(2, solver=solver, max_iter=50, random_state=0, callback=callback).fit(*blobs)
        assert [epoch for epoch, _, _ in seen] == [1, 2, 3]
        assert seen[0][2] == (6, 4)
        assert model.n_iter_ == 3
        assert model.loss_curve_ == [loss for _, loss, _ in seen]


def test_a_callback_changes_nothing_else(blobs):
    watched = LOGM(2, random_state=0, callback=lambda *_: False).fit(*blobs)
    np.testing.assert_array_equal(watched.prototypes_, LOGM(2, random_state=0).fit(*blobs).prototypes_)


def test_tolerance_ends_an_online_fit(blobs):
    model = LOGM(random_state=0, max_iter=1000, tol=1e-3).fit(*blobs)
    assert model.n_iter_ < 1000


def test_interrupt_keeps_what_is_done(blobs):
    X, y = blobs
    for solver in ANY_LOSS:

        def interrupt(epoch, loss, prototypes):
            if epoch == 4:
                raise KeyboardInterrupt

        model = LOGM(2, solver=solver, max_iter=50, random_state=0, callback=interrupt)
        with pytest.raises(KeyboardInterrupt, match="holds the prototypes of that moment"):
            model.fit(X, y)
        assert len(model.loss_curve_) == 4
        assert model.score(X, y) > 0.6


def test_warm_start_goes_on(blobs):
    X, y = blobs
    model = LOGM(2, max_iter=5, solver="gradient", warm_start=True, random_state=0).fit(X, y)
    first = model.loss_curve_[-1]
    assert model.fit(X, y).loss_curve_[-1] < first


def test_snpc_anneals_its_slope(blobs):
    X, y = blobs
    fixed = SNPC(random_state=0, annealing=1.0).fit(X, y)
    annealed = SNPC(random_state=0, annealing=1.001).fit(X, y)
    assert annealed._final_slope > 100 * fixed._final_slope
    assert np.abs(annealed.prototypes_ - fixed.prototypes_).max() > 1e-3


def test_partial_fit_learns_a_stream(blobs):
    rng = np.random.default_rng(0)
    model = LOGM(2, random_state=0)
    centres = 3 * rng.normal(size=(3, 4))
    for _ in range(30):
        y = rng.integers(0, 3, 40)
        model.partial_fit(centres[y] + rng.normal(size=(40, 4)), y, classes=[0, 1, 2])
    y = rng.integers(0, 3, 300)
    assert model.score(centres[y] + rng.normal(size=(300, 4)), y) > 0.93


@pytest.mark.parametrize("metric", ["euclidean", "local_relevance", "class_omega"])
def test_a_class_that_comes_later_gets_its_prototypes_then(metric, blobs):
    X, y = blobs
    model = RSLVQ(2, random_state=0, metric=metric).partial_fit(X[y == 0], y[y == 0], classes=[0, 1, 2])
    assert (model.predict(X) == 0).all()
    np.testing.assert_array_equal(model.predict_proba(X), np.tile([1.0, 0, 0], (len(X), 1)))
    model.partial_fit(X[y < 2], y[y < 2])
    assert set(model.predict(X)) == {0, 1}
    model.partial_fit(X, y)
    assert np.bincount(model.prototype_labels_).tolist() == [2, 2, 2]
    assert model.predict_proba(X).shape == (120, 3)


def test_partial_fit_with_individual_rates_and_mini_batches(blobs):
    from protolearn import OLVQ1

    X, y = blobs
    model = OLVQ1(2, random_state=0)
    for part in (y < 2, y >= 0, y >= 0):
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert model._rates.shape == (6,)
    assert (model._rates < 0.3).any()
    for solver in ("adam", "gradient"):
        assert LOGM(solver=solver).partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y).n_iter_ == 1


def test_class_weights_shift_the_border(blobs):
    X, y = blobs
    counts = [
        (LOGM(random_state=0, class_weight=weight).fit(X, y).predict(X) == 0).sum()
        for weight in (None, {0: 20.0, 1: 1.0, 2: 1.0})
    ]
    assert counts[1] > counts[0]
    keep = np.r_[0:40, 40:48, 80:88]
    plain = LVQ1(random_state=0).fit(X[keep], y[keep])
    balanced = LVQ1(random_state=0, class_weight="balanced").fit(X[keep], y[keep])
    recall = [np.mean(model.predict(X[40:]) == y[40:]) for model in (plain, balanced)]
    assert recall[1] >= recall[0]


def test_low_rank_omega_starts_at_the_principal_axes(blobs):
    X, y = blobs
    model = GMLVQ(n_components=2, max_iter=1, learning_rate=1e-12, normalization="mean").fit(X, y)
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:2]
    np.testing.assert_allclose(np.abs(model.omega_ @ axes.T), np.sqrt(2) * np.eye(2), atol=1e-6)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_one_line_on_a_terminal():
    out = Terminal()
    line = ProgressLine("LOGM", 3, out)
    for epoch in (1, 2, 3):
        line.epoch(epoch, 0.5 / epoch)
    line.end()
    assert out.getvalue().count("\n") == 1
    assert out.getvalue().endswith("LOGM  3/3  loss 0.1667  0.0 s left\n")


def test_progress_is_ten_lines_elsewhere(capsys, blobs):
    LOGM(max_iter=40, verbose=1, random_state=0).fit(*blobs)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("LOGM  40/40  loss ")


def test_custom_loss_compiled_by_the_user(blobs):
    from numba import njit

    @njit
    def squared_hinge(d_own, d_rival, slope):
        z = 1.0 + slope * (d_own - d_rival)
        if z <= 0.0:
            return 0.0, 0.0, 0.0
        return z * z, 2.0 * slope * z, -2.0 * slope * z

    X, y = blobs
    for solver in ANY_LOSS:
        model = PrototypeClassifier(2, loss=squared_hinge, solver=solver, max_iter=30, random_state=0).fit(X, y)
        assert model.score(X, y) > 0.7


def test_plain_epoch_in_python_gives_the_same(blobs):
    """The compiled epoch against twenty lines of numpy."""
    X, y = blobs
    model = LOGM(2, max_iter=3, random_state=0, shuffle=False, regularization=0.02)
    start = LOGM(2, max_iter=1, learning_rate=1e-300, random_state=0, shuffle=False).fit(X, y)
    W, labels = start.prototypes_.copy(), start.prototype_labels_
    cov = ((X[:, None] - W) ** 2).sum(axis=2).min(axis=1).mean()
    xi, eta0 = 2 / cov, 0.1 * cov
    for step in range(3 * len(X)):
        x, k = X[step % len(X)], y[step % len(X)]
        D = ((x - W) ** 2).sum(axis=1)
        own = np.flatnonzero(labels == k)[D[labels == k].argmin()]
        rival = np.flatnonzero(labels != k)[D[labels != k].argmin()]
        eta = eta0 * (1 - step / (3 * len(X)))
        c = xi / (1 + np.exp(-xi * (D[own] - D[rival])))
        W[own] += 2 * eta * (c + 0.02) * (x - W[own])
        W[rival] -= 2 * eta * c * (x - W[rival])
    np.testing.assert_allclose(model.fit(X, y).prototypes_, W, rtol=1e-10)


def test_olvq1_in_python_gives_the_same(blobs):
    from protolearn import OLVQ1

    X, y = blobs
    W, labels = np.array([X[y == k].mean(axis=0) for k in range(3)]), np.arange(3)
    alpha = np.full(3, 0.3)
    for x, k in zip(X, y, strict=True):
        c = ((x - W) ** 2).sum(axis=1).argmin()
        sign = 1 if labels[c] == k else -1
        W[c] += sign * alpha[c] * (x - W[c])
        alpha[c] = min(alpha[c] / (1 + sign * alpha[c]), 0.3)
    found = OLVQ1(max_iter=1, shuffle=False).fit(X, y)
    np.testing.assert_allclose(found.prototypes_, W, rtol=1e-10)
    np.testing.assert_allclose(found._rates, alpha)


def test_nan_loss_of_a_users_function_is_reported(blobs):
    def broken(d_own, d_rival, slope):
        return np.nan, np.nan, np.nan

    for solver in ("online", "gradient", "adam"):
        with pytest.warns(ConvergenceWarning, match="diverged"):
            model = PrototypeClassifier(loss=broken, solver=solver, random_state=0).fit(*blobs)
        assert np.isfinite(model.prototypes_).all()
