"""The recipes of CONTRIBUTING.md work as they are printed; that for a metric is a doctest there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

RECIPES = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(), re.DOTALL)

SOLVERS = ("online", "gradient", "lbfgs", "adam")
EVERY_SOLVER = """
from sklearn.datasets import load_iris
from protolearn import PrototypeClassifier
from protolearn.metrics import METRICS

X, y = load_iris(return_X_y=True)
for solver in SOLVERS:
    for metric in METRICS:
        model = PrototypeClassifier(metric=metric, solver=solver, max_iter=30, random_state=0, **OPTIONS).fit(X, y)
        assert model.score(X, y) > 0.9, (metric, solver)
"""


@pytest.mark.parametrize(
    ("says", "options", "solvers"),
    [
        ("Exponential loss", {"loss": "exponential"}, SOLVERS),
        ("Prototypes at the medians", {"init": "class_median"}, SOLVERS),
        ("Gradient descent by fixed steps", {"loss": "glvq"}, ["fixed_steps"]),
    ],
)
def test_a_recipe_is_one_file(says, options, solvers, tmp_path):
    (recipe,) = (code for code in RECIPES if says in code)
    file = tmp_path / "recipe.py"
    file.write_text(f"{recipe}\n{EVERY_SOLVER.replace('OPTIONS', repr(options)).replace('SOLVERS', repr(solvers))}")
    subprocess.run([sys.executable, file], check=True)


def test_the_gradient_of_the_recipe_for_a_loss():
    (recipe,) = (code for code in RECIPES if "Exponential loss" in code)
    loss = {"__name__": "recipe"}
    exec(recipe.replace(', name="exponential"', ""), loss)
    formula = loss["ExponentialLoss"].coefficients
    value, pull, push = formula(0.7, 1.1, 1.3)
    assert pull == pytest.approx((formula(0.7 + 1e-6, 1.1, 1.3)[0] - value) / 1e-6, rel=1e-5)
    assert push == pytest.approx((formula(0.7, 1.1 + 1e-6, 1.3)[0] - value) / 1e-6, rel=1e-5)
