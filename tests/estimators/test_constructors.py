"""What constructors take, store and say, and what the docstrings say of it."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import protolearn
from protolearn.core.parameters import stores_parameters
from protolearn.core.schedules import SCHEDULES
from protolearn.estimators.documentation import PARAMETERS
from protolearn.estimators.learning import LearningClassifier
from protolearn.initializers import INITIALIZERS
from protolearn.metrics import METRICS
from protolearn.metrics.base import NORMALIZATIONS
from protolearn.solvers import SOLVERS

LEARNERS = [
    value
    for value in (getattr(protolearn, name) for name in protolearn.__all__)
    if inspect.isclass(value) and issubclass(value, LearningClassifier)
]


class WithPlainConstructor(protolearn.LOGM):
    def __init__(self, n_prototypes=2, extra=5):
        super().__init__(n_prototypes, max_iter=7)
        self.extra = extra


class WithStoredConstructor(protolearn.GLVQ):
    @stores_parameters
    def __init__(self, n_prototypes=2, *, transfer="identity", extra=5) -> None:
        super().__init__(n_prototypes, solver="lbfgs")


@pytest.mark.parametrize("kind", LEARNERS, ids=lambda kind: kind.__name__)
def test_each_argument_is_stored_as_given(kind):
    names = list(inspect.signature(kind).parameters)
    given = {name: object() for name in names}
    model = kind(given.pop("n_prototypes"), **given)
    assert {name: getattr(model, name) for name in given} == given
    assert sorted(names) == sorted(model.get_params()) == sorted(vars(model))


@pytest.mark.parametrize("kind", [WithPlainConstructor, WithStoredConstructor])
def test_a_subclass_with_a_constructor_of_its_own(kind):
    model = kind(3, extra=[1])
    assert model.get_params()["extra"] == [1]
    assert model.n_prototypes == 3
    assert (model.max_iter, model.solver) == ((7, "online") if kind is WithPlainConstructor else (100, "lbfgs"))
    assert vars(clone(model)) == vars(pickle.loads(pickle.dumps(model))) == vars(model)
    X = np.arange(12.0)[:, None]
    assert model.fit(X, X[:, 0] > 5).score(X, X[:, 0] > 5) == 1.0


@pytest.mark.parametrize(
    ("kind", "keyword", "remedy"),
    [
        ("LVQ1", "solver", "LVQ1 has no parameter 'solver': a rule that has no loss .* GLVQ"),
        ("GMLVQ", "metric", "GMLVQ has no parameter 'metric': .* PrototypeClassifier takes"),
        ("LOGM", "n_prototype", "LOGM has no parameter 'n_prototype'; did you mean 'n_prototypes'"),
        ("HartCondensing", "zzz", r"HartCondensing has no parameter 'zzz'\. It has shuffle, edit_neighbors"),
    ],
)
def test_an_unknown_keyword_names_the_remedy(kind, keyword, remedy):
    with pytest.raises(TypeError, match=remedy):
        getattr(protolearn, kind)(**{keyword: 3})


def test_too_many_positions_are_refused_as_python_does():
    with pytest.raises(TypeError, match="takes from 1 to 2 positional arguments but 3 were given"):
        protolearn.LOGM(2, 3)


@pytest.mark.parametrize("kind", LEARNERS, ids=lambda kind: kind.__name__)
def test_the_docstring_offers_the_solvers_that_fit_takes(kind):
    model = kind()
    listed = {name for name in SOLVERS if f'- "{name}": ' in kind.__doc__}
    X, y = np.arange(12.0)[:, None], np.arange(12) > 5
    taken = set()
    for name in SOLVERS if "solver" in model.get_params() else []:
        try:
            model.set_params(solver=name, max_iter=1).fit(X, y)
        except ValueError as error:
            if "solver must be one of" not in str(error):
                raise
        else:
            taken.add(name)
    assert listed == taken


def test_only_methods_whose_rates_are_made_for_sums_offer_batch_sum():
    assert [kind.__name__ for kind in LEARNERS if "batch_sum" in kind._solvers()] == ["LPD"]


@pytest.mark.parametrize(
    ("parameter", "registry"),
    [("metric", METRICS), ("init", INITIALIZERS), ("schedule", SCHEDULES), ("normalization", NORMALIZATIONS)],
)
def test_the_text_of_a_parameter_names_every_registered_choice(parameter, registry):
    assert [name for name in registry if f'"{name}"' not in PARAMETERS[parameter]] == []
