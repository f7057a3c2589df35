"""Tables from files: every format, compressed or not, and one sentence for every file that is not what it should be."""

import bz2
import gzip
import io
import lzma
import sys
import tracemalloc

import numpy as np
import polars as pl
import pyarrow
import pytest

from protolearn.tables import TableError, read_table, reading
from shop import mutated

FRAME = pl.DataFrame({"age": [20.5, None, 30.0], "colour": ["red", "bl,ue", None], "n": [1, 2, 3]})
CSV = b'age,colour,n\n20.5,red,1\n?,"bl,ue",2\n 30.0 ,NA,3\n'
ARFF = b"""% a comment
@RELATION things
@ATTRIBUTE age NUMERIC
@ATTRIBUTE colour {red,blue}
@ATTRIBUTE n NUMERIC
@DATA
20.5,red,1
?,blue,2
30.0,?,3
"""


def parquet():
    file = io.BytesIO()
    FRAME.write_parquet(file)
    return file.getvalue()


FILES = {
    "t.csv": CSV,
    "t.tsv": CSV.replace(b"bl,ue", b"BL").replace(b",", b"\t").replace(b"BL", b"bl,ue"),
    "semicolon.csv": CSV.replace(b"bl,ue", b"BL").replace(b",", b";").replace(b"BL", b"bl,ue"),
    "windows.csv": b"\xef\xbb\xbf" + CSV.replace(b"\n", b"\r\n"),
    "t.parquet": parquet(),
    "t.arff": ARFF,
    "noname": CSV,
    "noname_parquet": parquet(),
    "noname_arff": ARFF,
}
ZSTD = pyarrow.compress(CSV, codec="zstd", asbytes=True)


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_table(name, tmp_path):
    (tmp_path / name).write_bytes(FILES[name])
    frame = read_table(tmp_path / name)
    # SciPy does not read commas within the texts of ARFF.
    expected = FRAME.with_columns(pl.col("colour").str.replace(",", "")) if "arff" in name else FRAME
    assert frame.fill_nan(None).cast({"n": pl.Int64}).equals(expected)


@pytest.mark.parametrize("name", ["t.csv", "t.arff", "t.parquet"])
@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_compressed(name, suffix, compress, tmp_path):
    (tmp_path / f"{name}.{suffix}").write_bytes(compress(FILES[name]))
    assert read_table(tmp_path / f"{name}.{suffix}").columns == FRAME.columns


def test_zstandard(tmp_path):
    with pyarrow.CompressedOutputStream(str(tmp_path / "t.csv.zst"), "zstd") as file:
        file.write(CSV)
    assert read_table(tmp_path / "t.csv.zst").equals(FRAME)


@pytest.mark.parametrize("data", [CSV, gzip.compress(CSV), parquet(), ARFF], ids=["csv", "gz", "parquet", "arff"])
def test_standard_input_is_recognised(data, monkeypatch):
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": io.BytesIO(data)}))
    assert read_table("-").columns == FRAME.columns


@pytest.mark.parametrize(("first", "names"), [(1, ["f1", "f2", "f3"]), (0, ["f0", "f1", "f2"])])
def test_libsvm_keeps_the_numbers_of_its_features(first, names, tmp_path):
    lines = f"1 {first}:0.5 {first + 2}:2\n-1 {first + 1}:1 # remark\n"
    (tmp_path / "t.svm").write_text(lines)
    frame = read_table(tmp_path / "t.svm")
    assert frame.columns == ["target", *names]
    assert frame.rows() == [(1, 0.5, 0.0, 2.0), (-1, 0.0, 1.0, 0.0)]
    (tmp_path / "noname").write_text(lines)
    wider = read_table(tmp_path / "noname", columns=[*names, "f7"])
    assert wider["f7"].to_list() == [0.0, 0.0]


def test_npz(tmp_path):
    images = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    np.savez(tmp_path / "t.npz", X=images, y=np.array([1.0, 2.0, 1.0]))
    frame = read_table(tmp_path / "t.npz")
    assert frame.columns == ["target", "f0", "f1", "f2", "f3"]
    assert frame["target"].to_list() == [1, 2, 1]
    assert frame["f3"].dtype == pl.Float32
    np.savez(tmp_path / "t.npz", X=images.reshape(3, 4), feature_names=list("abcd"))
    assert read_table(tmp_path / "t.npz").columns == list("abcd")


def test_columns_that_stay_texts(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,1\n2,1.0\n")
    assert read_table(tmp_path / "t.csv").rows() == [(1, 1.0), (2, 1.0)]
    assert read_table(tmp_path / "t.csv", texts=["b"]).rows() == [(1, "1"), (2, "1.0")]


def test_without_a_header(tmp_path):
    (tmp_path / "t.csv").write_text("1,x\n2,y\n")
    assert read_table(tmp_path / "t.csv", header=False).rows(named=True)[1] == {"column_1": 2, "column_2": "y"}


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n \n", "is empty"),
        ("a.csv", b"a,b\n", "header line but no rows"),
        ("a.csv", b"a,b\n1,2\n3\n", "line 3 has 1 fields and the first line 2"),
        ("a.csv", b"a,b\n1,2\n3,4,5\n", "line 3 has 3 fields and the first line 2"),
        ("a.csv", b"a,b\n1,2\n\n3,4\n", "line 3 is empty"),
        ("a.csv", b'a,b\n1,"2\n3,4\n', "line 2 cannot be read .* stray quotes"),
        ("a.csv", b"a,a\n1,2\n", "two columns are called 'a'"),
        ("a.csv", b"a,\n1,2\n", "no name for column 2"),
        ("a.csv", b"1.5,2\n1,2\n", "the first line holds numbers .*--no-header"),
        ("a.csv", b"a,b\n\xe4,2\n", r"not UTF-8 \(line 2\)"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        ("a.csv", b"a,b\n1,\x002\n", "no text file: line 2 holds a zero byte"),
        ("a.csv.gz", b"a,b\n1,2\n", "not compressed as its name says"),
        ("a.csv.gz", gzip.compress(b"a,b\n1,2\n")[:-4], "damaged: it cannot be decompressed"),
        ("a.csv.xz", lzma.compress(b"a,b\n1,2\n")[:-4], "damaged: it cannot be decompressed"),
        ("a.csv.bz2", bz2.compress(b"a,b\n1,2\n")[:-4], "damaged: it cannot be decompressed"),
        ("a.csv.zst", ZSTD[:-4], "damaged: it cannot be decompressed"),
        ("a.parquet", parquet()[:-30], "cannot be read as parquet"),
        ("a.parquet", b"PAR1" + bytes(50) + b"PAR1", "cannot be read as parquet"),
        ("a.arff", ARFF.replace(b"NUMERIC", b"string"), "cannot be read as arff"),
        ("a.arff", b"@relation x\n@data\n", "cannot be read as arff|no rows"),
        ("a.arff", ARFF + b"1,red\n", "cannot be read as arff"),
        ("a.svm", b"1 1:x\n", "cannot be read as libsvm"),
        ("a.svm", b"1 1:1 900000000:1\n2 1:1\n", "too many for memory"),
        ("a.npz", b"PK\x03\x04 no", "cannot be read as npz"),
        ("a.npz", npz(Z=np.eye(2)), "has no array X"),
        ("a.npz", npz(X=np.arange(3)), "X of .* must hold numbers"),
        ("a.npz", npz(X=np.array([["a"]])), "X of .* must hold numbers"),
        ("a.npz", npz(X=np.array([[{}]], dtype=object)), "cannot be read as npz"),
        ("a.npz", npz(X=np.eye(2), y=np.arange(3)), "one label for each of the 2 rows"),
        ("a.npz", npz(X=np.eye(2), feature_names=["a"]), "must hold 2 names"),
        ("a.xlsx", b"PK\x03\x04", "format that is not read here"),
    ],
    # Compressed bytes hold the time: two processes would not agree on the names of the tests.
    ids=lambda value: value if isinstance(value, str) else "data",
)
def test_files_that_are_not_what_they_should_be(name, data, message, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(TableError, match=message) as caught:
        read_table(tmp_path / name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_polars_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    (tmp_path / "t.csv").write_bytes(CSV)
    with pytest.raises(TableError, match=r'pip install "protolearn\[cli\]"'):
        read_table(tmp_path / "t.csv")


def by_hand(data):
    """Rows of a CSV file, read by Python's own module."""
    import csv

    text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    first = next(line for line in text.splitlines() if line.strip())
    rows = list(csv.reader(io.StringIO(text.rstrip("\n") + "\n"), delimiter=max(",;\t|", key=first.count)))
    return [[field.strip() for field in row] for row in rows]


def test_400_mutated_csv_files_are_read_right_or_refused(tmp_path):
    """Never another error; and what is read is what Python's csv module reads, field by field."""
    rng = np.random.default_rng(3)
    rows = [f'{k},"te""xt, {k % 3}",{k / 7:.3f},{"red" if k % 2 else ""}' for k in range(12)]
    whole = ("id,text,number,colour\n" + "\n".join(rows) + "\n").encode()
    read = 0
    for _ in range(400):
        data = mutated(whole, rng)
        path = tmp_path / "m.csv"
        path.write_bytes(data)
        try:
            frame = read_table(path)
        except TableError:
            continue
        read += 1
        names, *fields = by_hand(data)
        assert frame.columns == names
        assert frame.height == len(fields)
        for row, expected in zip(frame.rows(), fields, strict=True):
            for value, text in zip(row, expected, strict=True):
                if value is None:
                    assert text in ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?")
                else:
                    assert value == (text if isinstance(value, str) else float(text))
    assert 50 < read < 350


@pytest.mark.parametrize("name", ["t.parquet", "t.arff", "t.svm", "t.npz", "t.csv.gz"])
def test_100_mutated_files_of_other_formats(name, tmp_path):
    rng = np.random.default_rng(4)
    svm = b"".join(b"%d 1:%d 3:0.5\n" % (k % 2, k) for k in range(20))
    whole = {**FILES, "t.svm": svm, "t.npz": npz(X=np.eye(3), y=np.arange(3)), "t.csv.gz": gzip.compress(CSV)}[name]
    refused = 0
    for _ in range(100):
        path = tmp_path / name
        path.write_bytes(mutated(whole, rng))
        try:
            read_table(path)
        except TableError:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        ("gz", gzip.compress),
        ("bz2", bz2.compress),
        ("xz", lzma.compress),
        ("zst", lambda data: pyarrow.compress(data, codec="zstd", asbytes=True)),
    ],
)
def test_a_small_file_that_unpacks_to_a_large_one_is_refused(suffix, compress, tmp_path):
    path = tmp_path / f"t.csv.{suffix}"
    path.write_bytes(compress(b"a,b\n" + b"1,2\n" * (5 << 20)))
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    with pytest.raises(TableError, match=r"unpacks to more than 16 MB; unpack it first"):
        read_table(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 << 20


def test_arrays_that_unpack_to_large_ones_are_refused(tmp_path):
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((3 << 20, 1)), y=np.zeros(3 << 20))
    with pytest.raises(TableError, match=r"t.npz unpacks to more than 16 MB"):
        read_table(tmp_path / "t.npz")


@pytest.mark.parametrize(
    ("most", "message"),
    [(500_000_000, "t.parquet unpacks to more than 16 MB; write it as CSV first"), (4_000_000, "too many for memory")],
)
def test_rows_that_are_all_alike_are_counted_before_they_are_read(most, message, tmp_path, monkeypatch):
    zeros = pl.DataFrame({"a": [0], "b": [1.0]}).lazy()
    zeros.select(pl.all().repeat_by(2 << 20).explode()).collect().write_parquet(tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 100_000
    monkeypatch.setattr(pl, "read_parquet", None)
    monkeypatch.setattr(reading, "_MOST_NUMBERS", most)
    with pytest.raises(TableError, match=message):
        read_table(tmp_path / "t.parquet")


def test_a_parquet_file_of_few_different_values_is_read(tmp_path):
    codes = np.random.default_rng(0).integers(0, 3, (300_000, 2))
    pl.DataFrame({"a": codes[:, 0], "b": codes[:, 1]}).write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").shape == (300_000, 2)


def test_what_compresses_well_and_is_small_is_read(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100_000))
    assert read_table(tmp_path / "t.csv.gz").shape == (100_000, 2)
