"""Virtual environments for peers that need other versions than ours, made on request and kept for the next run.

Packages come from wherever pip is configured to find them. An environment that cannot be made costs its peers only.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HOME = Path.home() / ".cache" / "protolearn-benchmarks"
_READY = "ready.json"
_ELSEWHERE = str(Path(__file__).parent / "elsewhere")


@dataclass(frozen=True)
class Recipe:
    """What an environment holds.

    requirements : lists for pip; where one cannot be installed the next is tried
    check : what must run afterwards, with elsewhere/worker.py at hand
    newest : the newest Python that the old packages have wheels for
    """

    requirements: tuple[tuple[str, ...], ...]
    check: str
    newest: tuple[int, int] = (3, 13)


_OLD = ("scikit-learn==1.5.2", "numpy==1.26.4", "scipy==1.10.1", "setuptools<81")
# prototorch imports pkg_resources, which setuptools 81 removed.
_TORCH = ("prototorch==0.7.6", "prototorch-models==0.7.1", "setuptools<81", "scikit-learn")
RECIPES = {
    "sklearn-1.5": Recipe(
        (("sklvq==0.1.2", "sklearn-lvq==1.1.1", *_OLD),), "import worker, sklvq; worker.imported_sklearn_lvq()", (3, 11)
    ),
    # pylmnn imports six without saying so.
    "lmnn": Recipe(
        (("metric-learn==0.7.0", "pylmnn==1.6.4", "six", *_OLD),),
        "import metric_learn, lmnn; lmnn.model('pylmnn', 1, 1)",
        (3, 11),
    ),
    # The build without CUDA, where the index has it: the other one takes five gigabytes and computes the same.
    "prototorch": Recipe(
        (("torch==2.13.0+cpu", *_TORCH), ("torch==2.13.0", *_TORCH)), "import worker; worker.imported_prototorch()"
    ),
}


class CannotBeMade(Exception):
    """Why an environment is missing, in one sentence."""


@dataclass
class Environments:
    """Environments in one folder, each tried once a run."""

    folder: Path = HOME
    recipes: dict[str, Recipe] = field(default_factory=lambda: dict(RECIPES))
    _failed: dict[str, str] = field(default_factory=dict)

    def python(self, name: str) -> Path:
        """The interpreter of an environment, which is made where it is missing."""
        if name in self._failed:
            raise CannotBeMade(self._failed[name])
        place = self.folder / name
        recipe = self.recipes[name]
        python = place / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        try:
            if not _is_ready(place, recipe):
                _make(place, python, name, recipe)
        except CannotBeMade as error:
            self._failed[name] = str(error)
            raise
        return python

    def version(self, name: str, package: str) -> str:
        """The version of a package in an environment; nothing where that is not ready."""
        ready = self.folder / name / _READY
        return json.loads(ready.read_text(encoding="utf-8"))["versions"].get(package, "") if ready.is_file() else ""


def _is_ready(place: Path, recipe: Recipe) -> bool:
    ready = place / _READY
    if not ready.is_file():
        return False
    return json.loads(ready.read_text(encoding="utf-8"))["requirements"] == [list(one) for one in recipe.requirements]


def _make(place: Path, python: Path, name: str, recipe: Recipe) -> None:
    base = _interpreter(recipe.newest)
    if base is None:
        newest = ".".join(map(str, recipe.newest))
        raise CannotBeMade(
            f"The environment {name} needs Python {newest} or older, and there is none on the path; install one."
        )
    print(f"making the environment {name} in {place}, which may take minutes", file=sys.stderr, flush=True)
    shutil.rmtree(place, ignore_errors=True)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _run([base, "-m", "venv", str(place)])
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotBeMade(f"The environment {name} cannot be made in {place}: {_reason(error)}") from error
    for number, requirements in enumerate(recipe.requirements, start=1):
        try:
            _run([str(python), "-m", "pip", "install", "--quiet", *requirements])
            break
        except subprocess.CalledProcessError as error:
            if number == len(recipe.requirements):
                raise CannotBeMade(
                    f"The environment {name} cannot be made, because pip fails: {_reason(error)}"
                ) from error
    try:
        _run([str(python), "-W", "ignore", "-c", f"import sys; sys.path.append({_ELSEWHERE!r}); {recipe.check}"])
    except subprocess.CalledProcessError as error:
        raise CannotBeMade(f"The packages of the environment {name} do not work: {_reason(error)}") from error
    listed = json.loads(_run([str(python), "-m", "pip", "list", "--format", "json"]))
    found = {
        "requirements": [list(one) for one in recipe.requirements],
        "versions": {package["name"].lower(): package["version"] for package in listed},
    }
    (place / _READY).write_text(json.dumps(found, indent=1), encoding="utf-8")


def _interpreter(newest: tuple[int, int]) -> str | None:
    """This Python where it is old enough, else the newest of the older ones on the path that starts."""
    if sys.version_info[:2] <= newest:
        return sys.executable
    for minor in range(newest[1], 9, -1):
        found = shutil.which(f"python3.{minor}")
        if found and subprocess.run([found, "-V"], capture_output=True, check=False).returncode == 0:
            return found
    return None


def _run(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _reason(error: OSError | subprocess.CalledProcessError) -> str:
    """The last line that says what went wrong."""
    if isinstance(error, OSError):
        return str(error)
    lines = [line.strip() for line in (error.stderr or "").splitlines() if line.strip()]
    told = [line for line in lines if line.lower().startswith("error")]
    return (told or lines or [f"exit status {error.returncode}"])[-1]
