"""What `fit` claims: differences beyond the noise only, and the size of the noise as an exact test has it."""

import itertools

import numpy as np
import pytest
from scipy.stats import binomtest

from protolearn.cli import references, verdict
from protolearn.cli.verdict import Line, about, difference


def answers(n, first_alone, second_alone, both=0):
    """True labels and two predictions, of which so many rows are right by one alone or by both."""
    y = np.zeros(n, dtype=int)
    own, other = np.ones(n, dtype=int), np.ones(n, dtype=int)
    own[:first_alone] = 0
    other[first_alone : first_alone + second_alone] = 0
    own[n - both :] = other[n - both :] = 0
    return y, own, other


@pytest.mark.parametrize("n", [20, 60, 500])
def test_the_noise_agrees_with_mcnemars_exact_test(n):
    """The two may differ where the exact p-value is near 0.05, and nowhere else."""
    seen = set()
    for b, c in itertools.product(range(16), range(16)):
        if b + c > n:
            continue
        found = difference(*answers(n, b, c))
        assert found.points == pytest.approx(100 * (b - c) / n)
        p = binomtest(b, b + c).pvalue if b + c else 1.0
        assert found.beyond or p > 0.02
        assert not found.beyond or p < 0.13
        seen.add(found.beyond)
    assert seen == {True, False}


def test_few_rows_right_by_one_alone_are_no_evidence():
    assert not difference(*answers(60, 5, 0)).beyond
    assert difference(*answers(60, 6, 0)).beyond


def test_the_noise_covers_what_chance_makes():
    """Two models of one accuracy: at most about 5 % of the tests find a difference."""
    rng = np.random.default_rng(0)
    y = np.zeros(200, dtype=int)
    found = 0
    for _ in range(2000):
        shared = rng.random(200) < 0.7
        own, other = (np.where(shared, 0, rng.random(200) < 0.5).astype(int) for _ in range(2))
        found += difference(y, own, other).beyond
    assert 0.02 < found / 2000 < 0.065


def test_balanced_differences_count_each_class_the_same():
    y = np.repeat([0, 1], [900, 100])
    own, other = y.copy(), y.copy()
    own[900:960] = 0
    other[:60] = 1
    assert difference(y, own, other).points == pytest.approx(0)
    found = difference(y, own, other, balanced=True)
    assert found.points == pytest.approx(100 * ((1 + 0.4) / 2 - (840 / 900 + 1) / 2))
    assert found.beyond


def lines(y, own, neighbours, best=None, n_bytes=(10_000, 100)):
    table = [
        Line("majority class", None, 1, 4, np.zeros_like(y)),
        Line("9-NN on all 99 rows", None, 9, n_bytes[0], neighbours),
    ]
    if best is not None:
        table.append(Line("RBF SVM, 9 support vectors", None, 9, 50, best))
    return [*table, Line("3 prototypes", None, 9, n_bytes[1], own)]


def wrong(y, n, begin=0):
    found = y.copy()
    found[begin : begin + n] = 1 - found[begin : begin + n]
    return found


Y = np.arange(1000) % 2


def test_a_loss_comes_first_and_loud():
    told = verdict.verdict(Y, lines(Y, wrong(Y, 200), wrong(Y, 20)), [0, 96, 1], "To try: more.", balanced=False)
    assert told == [
        "LESS accurate than 9-NN, by 18.0 points of accuracy on 1000 test rows (noise +-2.4); about 100 x smaller and "
        "about 96 x faster.",
        "To try: more.",
    ]


def test_a_gain_and_a_better_reference():
    table = lines(Y, wrong(Y, 100), wrong(Y, 200), wrong(Y, 50))
    told = verdict.verdict(Y, table, [0, 10, 10, 10], "To try: more.", balanced=False)
    assert told[0].startswith("More accurate than 9-NN, by 10.0 points of accuracy on 1000 test rows (noise +-")
    assert told[0].endswith("; about 100 x smaller and about as fast.")
    assert told[1].startswith("RBF SVM is more accurate, by 5.0 points (noise +-")
    assert told[2] == "To try: more."


def test_equal_within_noise_says_so_and_no_remedy():
    table = lines(Y, wrong(Y, 100), wrong(Y, 100, 50), n_bytes=(100, 250))
    told = verdict.verdict(Y, table, [0, 1, 2], "To try: more.", balanced=False)
    assert told == [
        "As accurate as 9-NN within the noise of 1000 test rows (+0.0 points +-2.0); about 2.5 x larger and "
        "about 2.0 x slower."
    ]


def test_a_test_of_few_rows_shows_nothing():
    y = Y[:20]
    told = verdict.verdict(y, lines(y, wrong(y, 4), wrong(y, 4, 2)), [0, 1, 1], "To try: more.", balanced=False)
    assert told[0].startswith("No difference from 9-NN can be seen in 20 test rows (+0.0 points +-")
    assert "): test on more; about 100 x smaller" in told[0]


def test_equal_within_noise_names_balanced_accuracy():
    told = verdict.verdict(Y, lines(Y, wrong(Y, 100), wrong(Y, 100, 50)), [0, 1, 2], "", balanced=True)
    assert "(+0.0 points of balanced accuracy +-2.0)" in told[0]


def test_no_better_than_the_largest_class_is_said():
    y = np.repeat([0, 1], [993, 7])
    told = verdict.verdict(y, lines(y, np.zeros_like(y), np.zeros_like(y)), [0, 1, 1], "", balanced=False)
    assert "NOT above always answering with the largest class" in told[1]
    assert told[1].endswith("the columns may say little about the classes.")
    told = verdict.verdict(y, lines(y, np.zeros_like(y), y), [0, 1, 1], "", balanced=False)
    assert told[1].endswith("the largest class, beyond the noise.")


@pytest.mark.parametrize(
    ("ratio", "told"),
    [(1220, "about 1000 x smaller"), (847, "about 850 x smaller"), (9.4, "about 9 x smaller"),
     (12.4, "about 12 x smaller"), (2.64, "about 2.6 x smaller"),
     (1.1, "about as small"), (0.9, "about as small"), (0.25, "about 4 x larger")],
)  # fmt: skip
def test_ratios_are_no_more_exact_than_what_is_measured(ratio, told):
    assert about(ratio, "smaller", "larger") == told


def test_uneven_classes_and_recalls():
    y = np.repeat([0, 1], [90, 10])
    assert verdict.uneven(y)
    assert not verdict.uneven(Y)
    assert verdict.neglects(y, np.zeros_like(y))
    assert not verdict.neglects(y, y)
    assert verdict.recall_sentence(y, np.zeros_like(y)) == "Recall of each class: 1 0.000, 0 1.000."
    many = np.repeat(np.arange(8), 2)
    assert verdict.recall_sentence(many, many).endswith("5 1.000 (the lowest 6 of 8).")


@pytest.fixture
def large():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(8000, 4))
    return Z, (Z[:, 0] * Z[:, 1] > 0).astype(int)


class Clock:
    """A clock that only fits move: 1,000 rows take so many seconds, and more rows take longer by a power.

    Boosting takes that long for 100 iterations.
    """

    POWERS = {references.SVC: 2.2, references.LogisticRegression: 1.2, references.HistGradientBoostingClassifier: 1.0}

    def __init__(self, monkeypatch, speed):
        self.now = 0.0
        monkeypatch.setattr(references.time, "monotonic", lambda: self.now)
        for kind, power in self.POWERS.items():
            self._slow(monkeypatch, kind, speed, power)

    def _slow(self, monkeypatch, kind, speed, power):
        fit = kind.fit

        def slow(model, X, y, **more):
            done = getattr(model, "n_iter_", 0) if getattr(model, "warm_start", False) else 0
            fit(model, X, y, **more)
            share = (model.n_iter_ - done) / 100 if kind is references.HistGradientBoostingClassifier else 1.0
            self.now += speed * share * (len(X) / 1000) ** power
            return model

        monkeypatch.setattr(kind, "fit", slow)


@pytest.mark.parametrize(("seconds", "speed"), [(1.0, 0.2), (20.0, 0.7), (1.0, 0.01)])
def test_no_reference_takes_longer_than_the_learning(large, monkeypatch, seconds, speed):
    """With what chooses its settings."""
    clock = Clock(monkeypatch, speed)
    budget = max(references.ALWAYS, seconds * references.SHARE)
    begin, found = 0.0, {}
    for one in references.learned(*large, seconds=seconds):
        assert clock.now - begin <= 1.05 * budget
        begin = clock.now
        found[one.name.split(" on ")[0].split(",")[0]] = one
    assert found["majority class"].numbers == 1
    neighbours = next(one for name, one in found.items() if name.endswith("-NN"))
    assert neighbours.model.n_samples_fit_ == 8000
    for name in ("logistic regression", "RBF SVM", "gradient boosting"):
        _, on, told = found[name].name.partition(" on ")
        assert (speed == 0.01) == (not on)
        assert not on or 1000 <= int(told.split()[0]) < 8000


def test_boosting_that_takes_long_gets_fewer_iterations_and_says_so(large, monkeypatch):
    Z, y = large
    Clock(monkeypatch, 10.0)
    *_, boosting = references.learned(Z[:2000], y[:2000], seconds=0.0)
    assert boosting.name == "gradient boosting, 10 iterations"
    assert boosting.model.n_iter_ == 10
    *_, boosting = references.learned(Z[:2000], y[:2000], seconds=60.0)
    assert boosting.name == "gradient boosting"


def test_small_tables_are_learned_whole(large):
    Z, y = large
    found = list(references.learned(Z[:400], y[:400], seconds=0.0))
    assert [one.name.split(",")[0] for one in found][2:] == ["logistic regression", "RBF SVM", "gradient boosting"]
    assert found[1].name.endswith("-NN on all 400 rows")
    assert found[1].numbers == 400 * 4 + 8
    assert found[-1].numbers is None
    assert found[-1].n_bytes > 10_000
    for one in found[3:]:
        assert np.mean(one.model.predict(Z[400:]) == y[400:]) > 0.85


def test_k_is_chosen_by_what_counts():
    """One class in twenty rows: with balanced weights the smallest k, which finds some of it."""
    rng = np.random.default_rng(1)
    y = (rng.random(1000) < 0.05).astype(int)
    Z = rng.normal(size=(1000, 2)) + 1.5 * y[:, None]
    plain, balanced = (list(references.learned(Z, y, seconds=0, balanced=one)) for one in (False, True))
    assert balanced[1].model.n_neighbors < plain[1].model.n_neighbors
    assert balanced[3].model.class_weight == "balanced"


def test_many_test_rows_are_taken_in_part(large, monkeypatch):
    Z, y = large
    model = references.KNeighborsClassifier().fit(Z, y)
    assert len(references.rows_to_test(model, Z[:900], y[:900], seconds=9, seed=0)) == 900
    now = [0.0]
    monkeypatch.setattr(references.time, "monotonic", lambda: now[0])

    class Slow:
        def predict(self, rows):
            now[0] += 0.002 * len(rows)

    part = references.rows_to_test(Slow(), Z, y, seconds=9, seed=0)
    assert len(part) == pytest.approx(1500, abs=2)
    assert len(set(part.tolist())) == len(part)
