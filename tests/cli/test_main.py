"""The command `protolearn`: the demo, the methods, what it says where something is wrong."""

import subprocess
import sys

import numpy as np
import pytest

from protolearn import LOGM, cli
from protolearn.cli import digits
from protolearn.report import plot_prototypes


def test_demo_prints_the_table_and_saves_the_picture(tmp_path, capsys):
    picture = tmp_path / "prototypes.png"
    assert cli.main(["demo", "--picture", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "-NN on all 1257 samples" in out
    assert "LOGM, 50 prototypes" in out
    assert "-NN within the noise of 540 test rows (" in out.splitlines()[-1]
    assert "about 25 x smaller and about " in out.splitlines()[-1]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_keeps_the_accuracy():
    y, (_, everything, few), _ = digits.compare_on_digits()
    assert np.mean(few.predicted == y) >= np.mean(everything.predicted == y) - 0.005
    assert few.numbers * 25 <= everything.numbers


def test_demo_without_matplotlib_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    digits.run(tmp_path / "x.png")
    assert 'pip install "protolearn[plot]"' in capsys.readouterr().out


def test_demo_into_a_folder_that_is_not_there(tmp_path, capsys):
    assert cli.main(["demo", "--picture", str(tmp_path / "no" / "x.png")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_methods_lists_every_one(capsys):
    import protolearn

    assert cli.main(["methods"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(protolearn.__all__)


def test_wrong_use_ends_with_2(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["learn"])
    assert ended.value.code == 2


def test_failures_end_with_1(monkeypatch, capsys, tmp_path):
    for error, message in ((OSError("disk full"), "disk full"), (KeyboardInterrupt(), "interrupted")):

        def fail(picture, error=error):
            raise error

        monkeypatch.setattr(digits, "run", fail)
        assert cli.main(["demo", "--picture", str(tmp_path / "x.png")]) == 1
        assert message in capsys.readouterr().err


def test_runs_as_a_module_and_imports_no_optional_part():
    code = (
        "import sys, protolearn.cli; protolearn.cli.main(['methods']); "
        "heavy = {'matplotlib', 'dask', 'onnx', 'torch', 'imblearn'} & set(sys.modules); assert not heavy, heavy"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout


def test_pictures_of_prototypes(iris):
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    model = LOGM({label: 1 + label % 3 for label in range(10)}, random_state=0, max_iter=3).fit(X, y)
    axes = plot_prototypes(model)
    image = np.ma.getdata(axes.images[0].get_array())
    assert image.shape == (10 * 9 - 1, 3 * 9 - 1)
    np.testing.assert_allclose(image[:8, :8].ravel(), model.prototypes_[0])
    assert plot_prototypes(model, image_shape=(4, 16), ax=axes) is axes
    with pytest.raises(ValueError, match="do not form an image"):
        plot_prototypes(model, image_shape=(3, 3))
    with pytest.raises(ValueError, match="do not form an image"):
        plot_prototypes(LOGM(max_iter=1).fit(iris[0][:, :3], iris[1]), kind="images")
