"""scikit-learn's own checks, all of them, for every estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import protolearn

ESTIMATORS = [getattr(protolearn, name)() for name in protolearn.__all__ if isinstance(getattr(protolearn, name), type)]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_every_public_class_is_checked():
    assert len(ESTIMATORS) >= 18
