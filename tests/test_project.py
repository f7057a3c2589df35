"""The layers, the registries, the documentation of parameters."""

import ast
import importlib.metadata
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import protolearn
from protolearn.core.jit import Kernel
from protolearn.core.registry import Registry
from protolearn.estimators.documentation import PARAMETERS
from protolearn.estimators.prediction import NearestPrototypeMixin
from protolearn.losses import LOSSES
from protolearn.metrics import METRICS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_rooms_import_only_rooms_below():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_a_name_is_registered_once():
    parts = Registry("part")
    parts.add("a", 1)
    with pytest.raises(ValueError, match="registered already"):
        parts.add("a", 2)
    assert "a" in parts
    assert ["b"] not in parts
    assert len(parts) == 1


@pytest.mark.parametrize("name", protolearn.__all__)
def test_every_parameter_is_documented(name):
    estimator = getattr(protolearn, name)
    for parameter in inspect.signature(estimator).parameters:
        assert f"    {parameter} : " in estimator.__doc__
    assert "Examples" in estimator.__doc__
    assert issubclass(estimator, NearestPrototypeMixin) == ("    prototypes_ : " in estimator.__doc__)


# Attributes that a fit may leave out.
SOMETIMES = {
    "feature_names_in_",  # of a data frame
    "relevances_",  # of a relevance metric
    "omega_",  # of an omega metric
    "cv_scores_",  # with "auto"
}


@pytest.mark.parametrize("name", protolearn.__all__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_fitted_attribute_is_documented(name, iris):
    estimator = getattr(protolearn, name)
    settings = {"time_limit": 5} if "time_limit" in inspect.signature(estimator).parameters else {}
    fitted = estimator(**settings).fit(*iris)
    section = estimator.__doc__.partition("    Attributes\n")[2].partition("    Examples\n")[0]
    documented = {name for line in re.findall(r"(?m)^    (\w[\w, ]*) :", section) for name in line.split(", ")}
    there = {found for found in dir(fitted) if re.fullmatch(r"[a-z]\w*[a-z0-9]_", found) and hasattr(fitted, found)}
    assert there <= documented
    assert documented - there <= SOMETIMES


def test_every_text_is_used():
    used = {
        getattr(estimator, "_texts", {}).get(parameter, parameter)
        for estimator in (getattr(protolearn, name) for name in protolearn.__all__)
        for parameter in inspect.signature(estimator).parameters
    }
    assert set(PARAMETERS) <= used


def test_every_loss_and_metric_says_what_it_does():
    for _, loss in LOSSES.items():
        assert loss.__doc__
        assert isinstance(loss.coefficients, Kernel)
    for _, metric in METRICS.items():
        assert type(metric).__doc__


def test_every_public_name_has_one_home():
    assert set(protolearn._HOME) == {*protolearn.__all__, "load", "save", "compress"}
    assert set(dir(protolearn)) >= set(protolearn._HOME)
    for name in protolearn._HOME:
        assert getattr(protolearn, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'LOGN'"):
        protolearn.LOGN  # noqa: B018


def test_the_version_needs_no_library():
    code = "import sys, protolearn.cli as c; c.parser(); assert not {'numpy', 'numba', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_package_imports_no_compiler():
    code = (
        "import protolearn, sys; [getattr(protolearn, name) for name in protolearn.__all__]; "
        "assert not {'numba', 'llvmlite'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_package_uses_no_private_part_of_a_compiler():
    private = re.compile(r"llvmlite|numba\.core|lower_builtin|pyx_capi")
    found = [path.name for path in (ROOT / "src").rglob("*.py") if private.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_the_package_imports_no_private_part_of_another():
    found = []
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            others = [name for name in names if not name.startswith(("protolearn.", "__future__."))]
            found += [f"{path.name}: {name}" for name in others if re.search(r"(^|\.)_", name)]
    assert found == []


def test_numba_is_none_newer_than_was_tried():
    declared = next(line for line in PROJECT["dependencies"] if line.startswith("numba"))
    bound = re.fullmatch(r"numba>=[\d.]+,<([\d.]+)", declared)[1]
    numba = importlib.metadata.version("numba")
    assert [int(part) for part in numba.split(".")[:2]] < [int(part) for part in bound.split(".")], (
        f"numba {numba} is newer than what protolearn was tried with: where all other tests pass, raise the bound "
        f"numba<{bound} in pyproject.toml; else install an older one, pip install 'numba<{bound}'."
    )


def test_the_conda_recipe_needs_what_the_package_needs():
    recipe = (ROOT / "conda-recipe" / "meta.yaml").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("\ntest:")[0]
    needed = [line.strip("- ").replace(" ", "") for line in run.splitlines() if line.strip()]
    assert needed == [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]


def test_the_check_script_finds_the_oldest_version_of_every_dependency():
    done = subprocess.run([sys.executable, ROOT / ".ci" / "oldest.py"], capture_output=True, text=True, check=True)
    found = dict(line.split("==") for line in done.stdout.splitlines())
    extras = [line for extra in PROJECT["optional-dependencies"].values() for line in extra]
    names = {re.match(r"[\w-]+", line)[0] for line in [*PROJECT["dependencies"], *extras]}
    assert set(found) == names - {"protolearn"}
    assert (found["numpy"], found["polars"]) == ("1.26.*", "1.10.*")
