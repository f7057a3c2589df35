"""The k-means start: one thread, so that a forked process ends and small products do not wait for each other."""

import subprocess
import sys

import pytest
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info

from protolearn import NearestPrototype

FORK = """
import os, signal, sys, time
import numpy as np
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors
from scipy import sparse
import protolearn

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 20)).astype(np.float32)
y = np.arange(2000) % 2
# OpenMP's threads begin here.
KMeans(20, n_init=1).fit(X)
NearestNeighbors(algorithm="brute").fit(X).kneighbors(X)
model = {model}
rows = {rows}
model.fit(rows, y)
child = os.fork()
if child == 0:
    signal.alarm(60)
    model.fit(rows, y).predict(rows)
    os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork on this system")
@pytest.mark.parametrize(
    ("model", "rows"),
    [
        ("protolearn.GLVQ(3, max_iter=2)", "X"),
        ("protolearn.GLVQ(3, max_iter=2, init='border')", "X"),
        ("protolearn.GLVQ(3, max_iter=2, init='eveninit')", "X"),
        ("protolearn.WilsonEditing()", "sparse.csr_array(X)"),
        ("protolearn.WilsonEditing('auto')", "X"),
        ("protolearn.WilsonEditing(method='multi')", "X"),
    ],
)
def test_a_fit_in_a_forked_process_after_a_fit_ends(model, rows):
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK.format(model=model, rows=rows)], timeout=300)
    assert ended.returncode == 0


def test_on_one_thread_of_blas_and_openmp(blobs, monkeypatch):
    seen = []
    fit = KMeans.fit

    def watched(self, *arguments, **options):
        seen.append({part["user_api"]: part["num_threads"] for part in threadpool_info()})
        return fit(self, *arguments, **options)

    monkeypatch.setattr(KMeans, "fit", watched)
    NearestPrototype(3).fit(*blobs)
    assert len(seen) == 3
    assert all(set(threads.values()) == {1} and {"blas", "openmp"} <= set(threads) for threads in seen)


def test_is_nearly_as_good_as_the_best_of_ten_runs(blobs):
    X, y = blobs
    model = NearestPrototype(3, random_state=0).fit(X, y)
    for k in range(3):
        rows, means = X[y == k], model.prototypes_[model.prototype_labels_ == k]
        inertia = ((rows[:, None] - means) ** 2).sum(axis=2).min(axis=1).sum()
        assert inertia < 1.2 * KMeans(3, n_init=10, random_state=0).fit(rows).inertia_
