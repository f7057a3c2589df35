"""docs/architecture.md names files that are there, all rooms, and the way that a row does take."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "src" / "protolearn"
# Changes of file on the way down to the arithmetic.
MOST_CHANGES = 12

TRACE = """
import json, os, sys, warnings
from sklearn.datasets import load_iris
import protolearn
from protolearn import GMLVQ, LOGM
warnings.simplefilter("ignore")
X, y = load_iris(return_X_y=True)
root, stack, found = os.path.dirname(protolearn.__file__) + os.sep, [], []

def profile(frame, event, argument):
    if event == "call":
        name = frame.f_code.co_filename
        stack.append(name[len(root):].replace(os.sep, "/") if name.startswith(root) else None)
        files = [name for name in stack if name]
        if frame.f_code.co_name in LEAVES and len(files) > len(found):
            found[:] = files
    elif event == "return" and stack:
        stack.pop()

gmlvq = GMLVQ(solver="lbfgs", max_iter=2, random_state=0).fit(X, y)
call = {"LOGM": lambda: LOGM(max_iter=2, random_state=0).fit(X, y), "GMLVQ": lambda: gmlvq.fit(X, y),
        "predict": lambda: gmlvq.predict(X)}[sys.argv[1]]
LEAVES = {"LOGM": ["softplus_and_logistic"], "GMLVQ": ["_gradient", "expanded_distances"],
          "predict": ["expanded_distances"]}[sys.argv[1]]
sys.setprofile(profile)
call()
sys.setprofile(None)
print(json.dumps([name for i, name in enumerate(found) if i == 0 or name != found[i - 1]]))
"""


def test_every_file_named_is_there():
    files = set(re.findall(r"`((?:\w+/)?\w+\.py)`", PAGE))
    assert len(files) > 30
    names = {path.name for path in PACKAGE.rglob("*.py")}
    assert [file for file in files if not ((PACKAGE / file).is_file() if "/" in file else file in names)] == []


def test_every_room_and_no_other_is_named():
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert set(re.findall(r"(?m)^\| `(\w+)/` \|", PAGE)) == rooms


def test_ten_questions_and_two_pages():
    questions = [line for line in PAGE.partition("## Where is")[2].splitlines() if "? |" in line]
    assert len(questions) == 10
    assert all(re.search(r"`[\w/]+\.py`", line) for line in questions)
    # About 600 words a page.
    assert len(PAGE.split()) < 1250


def test_every_function_named_is_there():
    for name, file in re.findall(r"`(\w+)` in `([\w/]+\.py)`", PAGE):
        assert f"def {name}(" in (PACKAGE / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("call", ["LOGM", "GMLVQ", "predict"])
def test_the_way_of_a_row_is_the_one_it_takes(call):
    done = subprocess.run(
        [sys.executable, "-c", TRACE, call], env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    way = json.loads(done.stdout)
    assert len(way) - 1 <= MOST_CHANGES
    (row,) = (line for line in PAGE.splitlines() if re.match(rf"\| `{call}\(", line))
    named = re.findall(r"`(\w+/\w+\.py)`", row)
    # In this order, with others between them.
    places = iter(way)
    assert all(file in places for file in named)
    assert len(way) <= len(named) + 4
