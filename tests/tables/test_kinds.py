"""Columns that are not what they look like: decimal commas, dates, identifiers; each is said in one sentence."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from protolearn.tables import read_table
from protolearn.tables.kinds import identifiers, possible_identifiers


def read(path, text):
    path.write_text(text)
    told = []
    return read_table(path, tell=lambda remark: told.append(str(remark))), told


def test_decimal_commas_are_numbers(tmp_path):
    frame, told = read(tmp_path / "t.csv", 'a;b;c;d\n1,5;1.234,5;x,1;7\n24;-2,0;y;8\n;NA;"1,5";9\n')
    assert frame.rows() == [(1.5, 1234.5, "x,1", 7), (24.0, -2.0, "y", 8), (None, None, "1,5", 9)]
    assert told == [
        "a is read as numbers with decimal commas, such as '1,5'.",
        "b is read as numbers with decimal commas, such as '1.234,5'.",
    ]


def test_commas_that_may_separate_thousands_stay_texts(tmp_path):
    """1,234 may be a thousand or one and a quarter in a file of commas."""
    frame, told = read(tmp_path / "t.csv", 'a,b\n"1,234",x\n"2,000",y\n7,z\n')
    assert frame["a"].to_list() == ["1,234", "2,000", "7"]
    assert told == [
        "a is read as texts: does the comma of 1,234 separate thousands or decimals? Write numbers as 1234.5."
    ]


def test_decimal_commas_in_a_file_of_commas_are_numbers(tmp_path):
    frame, told = read(tmp_path / "t.csv", 'a,b\n"12,5",x\n"2,250",y\n24,z\n')
    assert frame["a"].to_list() == [12.5, 2.25, 24.0]
    assert told == ["a is read as numbers with decimal commas, such as '12,5'."]


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


@pytest.mark.parametrize(
    ("text", "wanted", "clock"),
    [
        ("2020-01-05T00:00:00Z", "2020-01-05", 0),
        ("2020-01-05T01:30:00+02:00", "2020-01-04", 23.5),
        ("2020-01-05 23:30-0130", "2020-01-06", 1),
        ("2020.1.5", "2020-01-05", 0),
        ("05.01.20", "2020-01-05", 0),
        ("05.01.69", "1969-01-05", 0),
        ("05 Jan 2020", "2020-01-05", 0),
        ("5-JAN-20", "2020-01-05", 0),
        ("5. January 2020", "2020-01-05", 0),
        ("Sept 5, 2020", "2020-09-05", 0),
        ("September 5 2020 11:15 pm", "2020-09-05", 23.25),
        ("2020-01-05 12:00 AM", "2020-01-05", 0),
    ],
)
def test_other_dates_are_days_too(text, wanted, clock, tmp_path):
    """Each is known from its form alone, so that a column may mix them."""
    frame, told = read(tmp_path / "t.csv", f'd,e\n"{text}",1\n2020-03-01,2\n7.3.2020,3\n')
    day_0 = dt.date(1970, 1, 1)
    wanted = (dt.date.fromisoformat(wanted) - day_0).days + clock / 24
    assert frame["d"].to_list() == [pytest.approx(wanted), 18322, 18328]
    short = ", the years 69 to 99 as those before 2000" if text[-4:-2] in (".0", ".6") or text[-3] in ".-" else ""
    assert told == [f"d is read as dates, such as {text}, as days since 1970-01-01{short}."]


@pytest.mark.parametrize(
    ("texts", "months", "told"),
    [
        (["03/04/2020", "25/12/2020"], [4, 12], "dates that begin with the day, such as 25/12/2020, as days since"),
        (["03/04/2020", "09/19/2020"], [3, 9], "dates that begin with the month, such as 09/19/2020, as days since"),
        (["3-4-2020 06:00", "25-12-2020 07:00"], [4, 12], "dates that begin with the day, such as 25-12-2020 07:00"),
        (["03/04/20", "09/19/20"], [3, 9], "dates that begin with the month, such as 09/19/20, as days since"),
    ],
)
def test_a_part_above_12_says_where_the_month_stands(texts, months, told, tmp_path):
    frame, said = read(tmp_path / "t.csv", "d,e\n" + "".join(f"{text},1\n" for text in texts))
    days = [dt.date(1970, 1, 1) + dt.timedelta(days=int(day)) for day in frame["d"]]
    assert [day.month for day in days] == months
    assert len(said) == 1
    assert said[0].startswith(f"d is read as {told}")


def test_dates_that_may_be_read_in_two_ways_stay_texts(tmp_path):
    frame, told = read(tmp_path / "t.csv", "d,e\n03/04/2020,1\n05/12/2020,2\n")
    assert frame["d"].to_list() == ["03/04/2020", "05/12/2020"]
    assert told == ["d is read as texts: does 03/04/2020 begin with the day or the month? Write dates as 2020-04-03."]


def test_a_column_is_read_as_that_of_the_training_set_was(tmp_path):
    (tmp_path / "t.csv").write_text('d;e;f;g\n03/04/2020;1.234;7.5;"5,5"\n')
    forms = {"d": "date, month first", "e": "decimal comma", "f": "decimal comma", "x": "date"}
    frame = read_table(tmp_path / "t.csv", spelled=forms)
    assert frame.rows() == [(18325.0, 1234.0, 7.5, 5.5)]


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ([*map(str, range(28)), "V27", "E9"], "c is read as texts: 'V27' in row 29 and 1 more are among 28 numbers."),
        ([*(f"2020-01-{k}" for k in range(10, 30)), "late"], "c is read as texts: 'late' in row 21 is among 20 dates."),
        ([*(f"{k},5" for k in range(20)), "?", "-"], "c is read as texts: '-' in row 22 is among 20 numbers."),
        ([*map(str, range(9)), "x", "y"], None),
    ],
)
def test_texts_that_are_nearly_all_numbers_are_named(texts, told, tmp_path):
    frame, said = read(tmp_path / "t.csv", "c;d\n" + "".join(f"{text};1\n" for text in texts))
    assert frame["c"].dtype == pl.String
    assert said == ([told] if told else [])


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
            "salary": np.sort(rng.permutation(1000 * np.arange(n))),
        }
    )
    assert set(identifiers(frame)) == {"patient_id", "PassengerId", "row", "name"}
    assert identifiers(frame.head(19)) == {}


def test_possible_identifiers():
    """Two rows for each patient; numbers that may be those of the rows, or rows in the order of their numbers."""
    n = 60
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "patient_id": np.arange(n) // 2 * 7,
            "pid": [f"P{k // 2}" for k in range(n)],
            "salary": 1000 * np.arange(n) + rng.integers(0, 1000, n),
            "age": rng.integers(20, 60, n),
            "town": [f"t{k % 12}" for k in range(n)],
            "group_id": np.arange(n) % 4,
        }
    )
    assert possible_identifiers(frame) == {
        "patient_id": "30 different whole numbers in 60 rows",
        "pid": "30 different texts in 60 rows",
        "salary": "its whole numbers go on from row to row",
    }
    assert possible_identifiers(frame.head(19)) == {}
