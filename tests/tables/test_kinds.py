"""Columns that are not what they look like: decimal commas, dates, identifiers; each is said in one sentence."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from protolearn.tables import read_table
from protolearn.tables.kinds import identifiers


def read(path, text):
    path.write_text(text)
    told = []
    return read_table(path, tell=told.append), told


def test_decimal_commas_are_numbers(tmp_path):
    frame, told = read(tmp_path / "t.csv", 'a;b;c;d\n1,5;1.234,5;x,1;7\n24;-2,0;y;8\n;NA;"1,5";9\n')
    assert frame.rows() == [(1.5, 1234.5, "x,1", 7), (24.0, -2.0, "y", 8), (None, None, "1,5", 9)]
    assert told == [
        "a is read as numbers with decimal commas, such as '1,5'.",
        "b is read as numbers with decimal commas, such as '1.234,5'.",
    ]


def test_commas_in_a_file_of_commas_stay_texts(tmp_path):
    """1,234 may be a thousand or one and a quarter there."""
    frame, told = read(tmp_path / "t.csv", 'a,b\n"1,234",x\n"2,000",y\n')
    assert frame["a"].to_list() == ["1,234", "2,000"]
    assert told == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2020-04-03", "1969-12-31"),
        ("2020/4/3", "1969/12/31"),
        ("3.4.2020", "31.12.1969"),
        ("2020-04-03 06:00", "1969-12-31 00:00"),
        ("2020-04-03T06:00:00", "1969-12-31T12:30:00"),
        ("2020-04-03T06:00:00.250", "1969-12-31T12:30:00.000"),
        ("03.04.2020 06:00:10", "31.12.1969 23:59:59"),
    ],
)
def test_dates_are_days(first, second, tmp_path):
    frame, told = read(tmp_path / "t.csv", f"d,e\n{first},1\n,2\n{second},3\n")
    form = "%d.%m.%Y" if "." in first[:4] else "%Y/%m/%d" if "/" in first else "%Y-%m-%d"
    clock = "" if ":" not in first else " %H:%M" if first.count(":") == 1 else " %H:%M:%S"
    clock += ".%f" if "." in first[10:] else ""
    wanted = [
        (dt.datetime.strptime(text.replace("T", " "), form + clock) - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)
        for text in (first, second)
    ]
    assert frame["d"].to_list() == [pytest.approx(wanted[0]), None, pytest.approx(wanted[1])]
    assert told == [f"d is read as dates, such as {first}, as days since 1970-01-01."]


def test_dates_of_parquet_are_the_same_days(tmp_path):
    frame = pl.DataFrame({"d": [dt.date(1970, 1, 11), None], "t": [dt.datetime(1970, 1, 1, 12), None], "x": [1, 2]})
    frame.write_parquet(tmp_path / "t.parquet")
    told = []
    assert read_table(tmp_path / "t.parquet", tell=told.append).rows() == [(10.0, 0.5, 1), (None, None, 2)]
    assert len(told) == 2


def test_dates_that_may_be_read_in_two_ways_stay_texts(tmp_path):
    frame, told = read(tmp_path / "t.csv", "d,e\n03/04/2020,1\n25/12/2020,2\n")
    assert frame["d"].to_list() == ["03/04/2020", "25/12/2020"]
    assert told == ["d is read as texts: does 03/04/2020 begin with the day or the month? Write dates as 2020-04-03."]


@pytest.mark.parametrize("text", ["2020-13-01", "32.01.2020", "2020-01-01 25:00", "1.2.3", "tomorrow"])
def test_what_is_no_date_stays_text(text, tmp_path):
    frame, told = read(tmp_path / "t.csv", f"d,e\n2020-01-01,1\n{text},2\n")
    assert frame["d"].dtype == pl.String
    assert told == []


def test_identifiers():
    rng = np.random.default_rng(0)
    n = 50
    frame = pl.DataFrame(
        {
            "patient_id": rng.permutation(7 * np.arange(n)),
            "PassengerId": rng.permutation(n) + 800,
            "row": np.arange(n),
            "name": [f"n{k}" for k in range(n)],
            "acid": rng.permutation(n),
            "age": rng.integers(20, 60, n),
            "income": rng.permutation(1000 * np.arange(n)),
            "weight": np.linspace(50, 100, n),
            "id": [*range(n - 1), 0],
            "colour": ["red", "blue"] * (n // 2),
            "nr": [None, *range(n - 1)],
        }
    )
    assert set(identifiers(frame)) == {"patient_id", "PassengerId", "row", "name"}
    assert identifiers(frame.head(19)) == {}
