"""The C header: compiles without a warning everywhere, says its size, and is written whole or not at all."""

import subprocess

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GLVQ, GMLVQ, LGMLVQ, LOGM, MixtGauss, NearestPrototype, PrototypeClassifier
from protolearn.explain import certainty, certified_radius
from protolearn.export import export_c
from protolearn.export.c_text import comment, float32, identifier, string
from protolearn.metrics.diagonal import Diagonal
from reproduction.programs import TARGETS, WARNINGS, available, object_size, run_c

needs_gcc = pytest.mark.skipif(not available("gcc"), reason="gcc is not installed")

MODELS = {
    "euclidean": GLVQ(2, max_iter=2, random_state=0),
    "local_weights": LOGM(2, metric="local_relevance", max_iter=2, random_state=0),
    "omega": GMLVQ(2, n_components=3, max_iter=2, random_state=0),
    "class_omega": LGMLVQ(2, scope="class", max_iter=2, random_state=0),
    "prototype_omega": LGMLVQ(2, scope="prototype", max_iter=2, random_state=0),
    "mixture": MixtGauss(2, classify_by="mixture", random_state=0),
}


def _exports(folder, X, y, *steps):
    for name, classifier in MODELS.items():
        model = make_pipeline(*steps, classifier).fit(X, y)
        for dtype in ("float32", "int8", "int16"):
            if dtype == "float32" or name != "mixture":
                yield model, export_c(model, folder / f"{name}-{dtype}.h".replace("-", "_"), dtype=dtype, X=X)


@needs_gcc
def test_distances_and_labels(blobs, tmp_path):
    X, y = blobs
    X = (X * [1, 10, 0.1, 5]).astype(np.float32).astype(np.float64)
    pairs = list(_exports(tmp_path, X, y, StandardScaler(), SelectKBest(k=3)))
    answers = run_c(tmp_path, [export for _, export in pairs], [X] * len(pairs))
    for (model, export), answer in zip(pairs, answers, strict=True):
        D = export.model.distances(X)
        if export.dtype == "float32":
            assert np.array_equal(model.classes_[answer.codes], model.predict(X))
            np.testing.assert_allclose(answer.distances, D, rtol=2e-5, atol=1e-5)
        else:
            # Fixed point has no rounding of its own: Python and C agree number for number.
            assert np.array_equal(answer.distances, D)
            assert np.array_equal(answer.codes, export.model.predict_codes(X))


@needs_gcc
def test_extreme_rows_neither_overflow_nor_fail(blobs, tmp_path):
    X, y = blobs
    rng = np.random.default_rng(0)
    rows = rng.choice([-3e38, -1.0, 0.0, 1.0, 3e38], size=(300, 4))
    exports = [export for _, export in _exports(tmp_path, X, y) if export.dtype != "float32"]
    # The program stops where an integer overflows or a float does not fit an integer.
    checks = ("-O1", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all")
    answers = run_c(tmp_path, exports, [rows] * len(exports), checks)
    for export, answer in zip(exports, answers, strict=True):
        assert np.array_equal(answer.distances, export.model.distances(rows))
        assert answer.distances.max() <= export.model.bounds[1]
    missing = run_c(tmp_path, exports, [np.full((1, 4), np.nan)] * len(exports), checks)
    for export, answer in zip(exports, missing, strict=True):
        assert np.array_equal(answer.distances, export.model.distances_of(np.full((1, 4), -export.model.row_top)))


@needs_gcc
@pytest.mark.parametrize("metric", ["euclidean", "class_relevance"])
def test_rows_wider_than_the_tables(tmp_path, metric):
    random = np.random.default_rng(0)
    X = random.uniform(-10.0, 10.0, size=(400, 3)).astype(np.float32).astype(np.float64)
    near = X[:40] * 0.002
    model = NearestPrototype(1, init="class_mean", metric=metric, random_state=0).fit(near, near.sum(axis=1) > 0)
    export = export_c(model, tmp_path / "close.h", dtype="int8", X=X)
    assert export.model.row_dtype == "int16"
    rows = np.vstack([X, random.choice([-3e38, 3e38], size=(50, 3))])
    checks = ("-O1", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all")
    (answer,) = run_c(tmp_path, [export], [rows], checks)
    assert np.array_equal(answer.distances, export.model.distances(rows))
    assert export.kept > 0.98


@pytest.mark.parametrize("target", TARGETS)
def test_compiles_without_a_warning(blobs, tmp_path, target):
    if not available(TARGETS[target][0]):
        pytest.skip(f"{TARGETS[target][0]} is not installed")
    X, y = blobs
    for _, export in _exports(tmp_path, X, y, StandardScaler()):
        if export.prefix.startswith("mixture") and target.startswith("ARM"):
            # The mixture rule needs expf and logf of a C library, which Debian packs apart from this compiler.
            continue
        size = object_size(tmp_path, export, target)
        # All tables in flash, none in RAM; the code besides is short.
        assert size.data == size.bss == 0
        assert export.size.flash - 16 <= size.text <= export.size.flash + 2500


def test_size_is_in_the_header_and_in_the_result(blobs, tmp_path):
    X, y = blobs
    path = tmp_path / "tiny.h"
    found = export_c(GLVQ(2, max_iter=2, random_state=0).fit(X, y), path)
    # 6 prototypes of 4 floats, 3 ends of classes; a row of 4 floats.
    assert (found.size.flash, found.size.ram) == (6 * 4 * 4 + 3, 16)
    assert "flash: 99 bytes of tables (class_ends 3, positions 96)" in path.read_text()
    assert found.prefix == "tiny"


@needs_gcc
def test_names_that_C_could_misread(iris, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    names = np.array(['say "hi" */', "back\\slash ??/", "\u00fcber\n@_$_%d"])
    frame = pandas.DataFrame(X, columns=["a */ int x;", "??/", "\u00e9@", "b\nc\\"])
    export_c(GLVQ(max_iter=2).fit(frame, names[y]), tmp_path / "odd.h")
    program = tmp_path / "odd.c"
    program.write_text(
        '#include <stdio.h>\n#include "odd.h"\n'
        "int main(void) { int c; for (c = 0; c < ODD_N_CLASSES; c++) fputs(odd_class_names[c], stdout), putchar(0);"
        "return 0; }\n"
    )
    subprocess.run(["gcc", *WARNINGS, str(program), "-o", str(tmp_path / "odd")], check=True)
    output = subprocess.run([str(tmp_path / "odd")], capture_output=True, check=True).stdout
    assert output.decode().split("\0")[:-1] == sorted(names)


@needs_gcc
def test_unused_functions_do_not_warn(iris, tmp_path):
    X, y = iris
    export_c(GMLVQ(max_iter=2).fit(X, y), tmp_path / "unused.h", dtype="int8", X=X)
    program = tmp_path / "unused.c"
    program.write_text('#include "unused.h"\nint main(void) { return 0; }\n')
    subprocess.run(["gcc", *WARNINGS, "-c", str(program), "-o", str(tmp_path / "unused.o")], check=True)


def test_texts_for_C():
    assert identifier("/tmp/My model-2.h") == "my_model_2"
    assert identifier("3d.h") == "model_3d"
    assert identifier("\u00e9.h") == "model"
    assert string('a"b') == '"a\\042b"'
    assert comment("a */ b\\") == "a * / b."
    assert [float32(v) for v in (1.0, 0.1, 1e-5, 3e20, 1e-45)] == ["1.0f", "0.1f", "1e-05f", "3e+20f", "0.0f"]
    with pytest.raises(ValueError, match="does not fit float32"):
        float32(1e39)


def _hinge(d_own, d_rival, slope):
    margin = slope * (d_rival - d_own)
    if margin >= 1.0:
        return 0.0, 0.0, 0.0
    return 1.0 - margin, slope, -slope


class _OwnMetric(Diagonal):
    """A distance that says nothing of its form."""

    def weights(self, prototypes):
        return None


def test_own_loss_is_fine_and_own_metric_is_refused_before_a_file_is_there(iris, tmp_path):
    X, y = iris
    export_c(PrototypeClassifier(loss=_hinge, max_iter=2).fit(X, y), tmp_path / "hinge.h")
    with pytest.raises(ValueError, match="has neither `weights` nor `maps`, and an export cannot write it"):
        export_c(LOGM(metric=_OwnMetric(), max_iter=2).fit(X, y), tmp_path / "own.h")
    with pytest.raises(ValueError, match="pass X"):
        export_c(GLVQ(max_iter=2).fit(X, y), tmp_path / "own.h", dtype="int8")
    with pytest.raises(ValueError, match="dtype must be one of 'float32', 'int8', 'int16'"):
        export_c(GLVQ(max_iter=2).fit(X, y), tmp_path / "own.h", dtype="float64")
    assert [path.name for path in tmp_path.iterdir()] == ["hinge.h"]


def test_a_failed_write_leaves_the_old_file(iris, tmp_path, monkeypatch):
    X, y = iris
    model = GLVQ(max_iter=2).fit(X, y)
    path = tmp_path / "model.h"
    export_c(model, path)
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        export_c(GLVQ(3, max_iter=2).fit(X, y), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_too_many_prototypes_for_the_header(iris, tmp_path):
    X, y = iris
    model = GLVQ(max_iter=2).fit(X, y)
    model.prototypes_ = np.zeros((70000, 4))
    model.prototype_labels_ = np.zeros(70000, dtype=int)
    with pytest.raises(ValueError, match="at most 65535 prototypes"):
        export_c(model, tmp_path / "large.h")
    assert not list(tmp_path.iterdir())


def _run_example(folder, rows):
    """What the example program, compiled without a warning, prints for each row."""
    subprocess.run(["gcc", *WARNINGS, "main.c", "-o", "example", "-lm"], cwd=folder, check=True)
    found = []
    for row in rows:
        command = [folder / "example", *(repr(float(value)) for value in row)]
        found.append(subprocess.run(command, capture_output=True, text=True, check=False).stdout.split("\n")[:-1])
    return found


@needs_gcc
@pytest.mark.parametrize(
    "classifier",
    [
        GLVQ(1, max_iter=5, random_state=0),
        LOGM(1, metric="relevance", max_iter=5, random_state=0),
        GMLVQ(1, n_components=2, max_iter=5, random_state=0),
        GMLVQ(2, max_iter=5, random_state=0),
        LOGM(2, metric="local_relevance", max_iter=5, random_state=0),
        LGMLVQ(2, scope="class", max_iter=5, random_state=0),
    ],
    ids=str,
)
def test_certainty_and_radius_in_the_example(blobs, tmp_path, classifier):
    X, y = blobs
    X = (X * [1, 10, 0.1, 5]).astype(np.float32).astype(np.float64)
    names = np.array(["low", "middle", "high"])
    model = make_pipeline(StandardScaler(), classifier).fit(X, names[y])
    export_c(model, tmp_path / "blobs.h", example=tmp_path / "main.c")
    rows = X[::10]
    found = _run_example(tmp_path, rows)
    assert [lines[0] for lines in found] == model.predict(rows).tolist()
    measured = np.array([float(lines[1].removeprefix("certainty ")) for lines in found])
    np.testing.assert_allclose(measured, certainty(model, rows), atol=2e-5)
    if classifier.get_params().get("metric") == "local_relevance" or isinstance(classifier, LGMLVQ):
        assert {len(lines) for lines in found} == {2}
        return
    measured = np.array([float(lines[2].removeprefix("radius ")) for lines in found])
    wanted = certified_radius(model, rows)
    if classifier.n_prototypes == 1:
        np.testing.assert_allclose(measured, wanted, rtol=1e-3, atol=1e-4)
    else:
        assert (measured <= wanted * 1.001 + 1e-4).all()
        assert np.median(measured / wanted) > 0.5


@needs_gcc
def test_fixed_point_has_a_certainty_too(blobs, tmp_path):
    X, y = blobs
    model = make_pipeline(StandardScaler(), GLVQ(1, max_iter=5, random_state=0)).fit(X, y)
    export = export_c(model, tmp_path / "blobs.h", dtype="int16", X=X, example=tmp_path / "main.c")
    found = _run_example(tmp_path, X[::10])
    assert [int(lines[0]) for lines in found] == export.model.predict(X[::10]).tolist()
    measured = [float(lines[1].removeprefix("certainty ")) for lines in found]
    np.testing.assert_allclose(measured, certainty(model, X[::10]), atol=1e-3)


@needs_gcc
def test_a_row_without_a_number_has_no_class(blobs, tmp_path):
    X, y = blobs
    exports = [export for _, export in _exports(tmp_path, X, y, StandardScaler()) if export.dtype == "float32"]
    rows = np.repeat(X[:1], 12, axis=0)
    for j, value in enumerate([np.nan, np.inf, 1e30]):
        rows[4 * j + np.arange(4), np.arange(4)] = value
    for export, answer in zip(exports, run_c(tmp_path, exports, [rows] * len(exports)), strict=True):
        assert (answer.codes == 3).all(), export.prefix
    export_c(GLVQ(max_iter=2).fit(X, y), tmp_path / "blobs.h", example=tmp_path / "main.c")
    assert _run_example(tmp_path, [[1.0, np.nan, 1.0, 1.0]]) == [["no class"]]


@needs_gcc
def test_a_threshold_leaves_a_row_to_somebody_else(blobs, tmp_path):
    X, y = blobs
    model = GLVQ(2, max_iter=2, random_state=0).fit(X, y)
    export_c(model, tmp_path / "m.h")
    row = ", ".join(f"{value!r}f" for value in X[0].tolist())
    sure = float(certainty(model, X[:1])[0])
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "m.h"\nint main(void)\n{\n'
        f"    const float x[M_N_INPUTS] = {{{row}}};\n"
        f'    printf("%d %d\\n", m_decide(x, {sure - 1e-4!r}f), m_decide(x, {sure + 1e-4!r}f));\n    return 0;\n}}\n'
    )
    subprocess.run(["gcc", *WARNINGS, "main.c", "-o", "main"], cwd=tmp_path, check=True)
    found = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout.split()
    assert found == [str(model.predict(X[:1])[0]), "3"]


def test_names_of_the_inputs_as_constants(iris, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    frame = pandas.DataFrame(X, columns=["petal length (cm)", "a", "A!", "a_2"])
    text = export_c(GLVQ(max_iter=2).fit(frame, y), tmp_path / "m.h") and (tmp_path / "m.h").read_text()
    assert "M_IN_PETAL_LENGTH_CM = 0, M_IN_A_1 = 1, M_IN_A_2 = 2, M_IN_A_2_ = 3" in text
