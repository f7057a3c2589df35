"""Constraints for pip: the oldest version that pyproject.toml declares of each dependency, one a line."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
declared = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
for requirement in sorted(set(declared)):
    found = re.match(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", requirement)
    if found:
        name, version = found.groups()
        print(f"{name}=={version if '.' in version else version + '.0'}.*")
