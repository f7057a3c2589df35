"""The batch rules of LaMaLVQ against loops over targets and invaders, and finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from protolearn.solvers.lama import gradient_moves, lama_moves, matrix_step, perimeters, square
from protolearn.solvers.triples import Candidates, TripleProblem

OMEGA = np.array([[1.0, 0.3, 0.0], [0.0, 0.8, 0.2], [0.1, 0.0, 1.2]])


def problem_at(centres, seed=0):
    random = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 12)
    X = random.standard_normal((36, 3)) + 1.2 * np.eye(3)[y]
    return TripleProblem.around_centres(centres, np.array([0, 1, 2]), X, y, 4, margin=0.5, pull=1.0, push=1.0)


CENTRES = np.array([[0.9, 0.1, 0.0], [0.0, 1.0, 0.2], [0.3, 0.0, 1.1]])


def targets_and_invaders(problem, i):
    D = np.sum(((problem.points - problem.centres[i]) @ OMEGA.T) ** 2, axis=1)
    own = problem.point_labels == problem.centre_labels[i]
    targets = np.argsort(np.where(own, D, np.inf))[:4]
    return targets, np.flatnonzero(~own & (D[targets].max() + problem.margin >= D))


def test_rule_15_by_hand():
    problem = problem_at(CENTRES).with_targets(OMEGA)
    moves = lama_moves(problem, OMEGA)
    for i, centre in enumerate(problem.centres):
        targets, invaders = targets_and_invaders(problem, i)
        assert len(invaders)
        pull = (problem.points[targets] - centre).sum(axis=0) - (problem.points[invaders] - centre).sum(axis=0)
        np.testing.assert_allclose(moves[i], 2 * OMEGA.T @ OMEGA @ pull)
    counted = perimeters(problem, OMEGA)
    assert counted.n_invaders == sum(len(targets_and_invaders(problem, i)[1]) for i in range(3))


def test_gradient_rule_by_finite_differences():
    problem = problem_at(CENTRES).with_targets(OMEGA)

    def cost(centres):
        moved = replace(problem, centres=centres)
        A, B = moved.mapped(OMEGA)
        return Candidates(moved, OMEGA, 0.0).sums(A, B, A, B).cost

    moves = gradient_moves(problem, OMEGA)
    for i in range(3):
        for f in range(3):
            step = np.zeros((3, 3))
            step[i, f] = 1e-6
            numeric = (cost(problem.centres + step) - cost(problem.centres - step)) / 2e-6
            assert moves[i, f] == pytest.approx(-numeric, rel=1e-5, abs=1e-6)


def test_rule_15_is_not_the_gradient():
    problem = problem_at(CENTRES).with_targets(OMEGA)
    one, other = lama_moves(problem, OMEGA).ravel(), gradient_moves(problem, OMEGA).ravel()
    assert one @ other / (np.linalg.norm(one) * np.linalg.norm(other)) < 0.99


def test_invaders_in_the_majority_drive_a_far_prototype_further_and_the_damped_step_brings_it_back():
    problem = problem_at(CENTRES + 50.0).with_targets(np.eye(3))
    far = problem.centres
    assert (np.sum(perimeters(problem, np.eye(3)).sign < 0, axis=1) > 4).any()
    growth = np.linalg.norm(far + 0.01 * lama_moves(problem, np.eye(3)), axis=1) / np.linalg.norm(far, axis=1)
    damped = np.linalg.norm(far + 0.01 * lama_moves(problem, np.eye(3), damped=True), axis=1)
    assert growth.max() > 1
    assert (damped < np.linalg.norm(far, axis=1)).all()


def test_matrix_step_lowers_the_cost_and_stays_positive():
    problem = problem_at(CENTRES).with_targets(np.eye(3))
    A, B = problem.mapped(np.eye(3))
    before = Candidates(problem, np.eye(3), 0.0).sums(A, B, A, B).cost
    omega = matrix_step(problem, np.eye(3), 0.01)
    A, B = problem.mapped(omega)
    assert Candidates(problem, omega, 0.0).sums(A, B, A, B).cost < before
    np.testing.assert_allclose(omega, omega.T, atol=1e-14)
    assert np.linalg.eigvalsh(omega)[0] >= 0


def test_square_root_keeps_the_metric():
    factor = OMEGA[:2]
    root = square(factor, 3)
    np.testing.assert_allclose(root @ root, factor.T @ factor, atol=1e-14)
