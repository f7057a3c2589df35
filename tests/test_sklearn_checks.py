"""scikit-learn's own checks, all of them, for every estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import protolearn

ESTIMATORS = [getattr(protolearn, name)() for name in protolearn.__all__ if isinstance(getattr(protolearn, name), type)]

# AutoPrototypes weighs rows in learning, in temperatures and in what chooses. Its preparations count each row once, as
# scikit-learn's own transformers without sample_weight do, so a weight of 2 is not exactly a row that comes twice.
EXPECTED = {
    "AutoPrototypes": {
        "check_sample_weight_equivalence_on_dense_data": "the preparations of the candidates take no weights",
        # Before 1.7 this check does not ask whether an estimator takes sparse rows.
        "check_sample_weight_equivalence_on_sparse_data": "AutoPrototypes takes dense tables",
    }
}


def expected_failures(estimator):
    return EXPECTED.get(type(estimator).__name__, {})


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_every_public_class_is_checked():
    assert len(ESTIMATORS) >= 18
