"""Texts that spell numbers: decimal commas, and dates, which count as days since 1970-01-01.

A file's column has one form, which `form_of` finds and a model keeps, so that one row is read as the whole column was.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection
from itertools import islice

DECIMAL_COMMA = "decimal comma"
DATE = "date"
DAY_FIRST = "date, day first"
MONTH_FIRST = "date, month first"
FORMS = (DECIMAL_COMMA, DATE, DAY_FIRST, MONTH_FIRST)

# 1.234,5 and 24,0; a whole number beside them.
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?(e[+-]?\d+)?", re.IGNORECASE)
# 1,234 and 1,234.50: a comma that separates thousands, or else three decimals.
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_CLOCK = r"([T ]+(?P<hour>\d{1,2}):(?P<minute>\d\d)(:(?P<second>\d\d(\.\d+)?))?( ?(?P<half>[AP]M))?"
_CLOCK += r" ?(?P<zone>Z|[+-]\d\d(:?\d\d)?)?)?"
_YEAR = r"(?P<year>\d{4}|\d\d)"
_DATES = [
    re.compile(date + _CLOCK, re.IGNORECASE)
    for date in (
        r"(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})",
        r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\." + _YEAR,
        r"(?P<one>\d{1,2})([-/])(?P<two>\d{1,2})\2" + _YEAR,
        r"(?P<day>\d{1,2})[ .-]{1,2}(?P<name>[a-z]{3,9})[ .,-]{1,2}" + _YEAR,
        r"(?P<name>[a-z]{3,9})\.? (?P<day>\d{1,2}),? " + _YEAR,
    )
]
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
MILLISECONDS_A_DAY = 86_400_000.0
_DAY_0 = datetime.date(1970, 1, 1).toordinal()
# Years of two digits from here on are those before 2000, as POSIX has them.
_OLD_YEARS = 69
# The texts that are looked at before all are read.
_SAMPLE = 100


def number(text: str, form: str) -> float:
    """The number that a text spells in one of `FORMS`; ValueError where it spells none."""
    if form == DECIMAL_COMMA:
        if _DECIMAL_COMMA.fullmatch(text) is None:
            raise ValueError(text)
        return float(text.replace(".", "").replace(",", "."))
    return _days(text, form)


def form_of(texts: Collection[str], separator: str) -> tuple[str, str]:
    """The form in which most texts of a column spell numbers, "" for none; and a question where two are possible.

    Parameters
    ----------
    texts : the different ones
    separator : of the fields of the file: where that is a comma, 1,234 may be one and a quarter or a thousand
    """
    sample = list(islice(texts, _SAMPLE))

    def most(matches) -> bool:
        return bool(sample) and 2 * sum(bool(matches(text)) for text in sample) > len(sample)

    with_comma = [text for text in texts if "," in text]
    if with_comma and separator == "," and most(_THOUSANDS.fullmatch) and all(map(_THOUSANDS.fullmatch, with_comma)):
        return "", f"does the comma of {with_comma[0]} separate thousands or decimals? Write numbers as 1234.5"
    if with_comma and most(_DECIMAL_COMMA.fullmatch):
        return DECIMAL_COMMA, ""
    if not most(_match):
        return "", ""
    open_ = [(text, match) for text in texts if (match := _match(text)) is not None and "one" in match.groupdict()]
    if not open_:
        return DATE, ""
    if any(int(match["one"]) > 12 for _, match in open_):
        return DAY_FIRST, ""
    if any(int(match["two"]) > 12 for _, match in open_):
        return MONTH_FIRST, ""
    return "", f"does {open_[0][0]} begin with the day or the month? Write dates as 2020-04-03"


def described(form: str, texts: Collection[str]) -> str:
    """What texts in a form are read as, with one of them that shows the form."""
    if form == DECIMAL_COMMA:
        return f"numbers with decimal commas, such as '{next(text for text in texts if ',' in text)}'"
    matches = [(text, match) for text in texts if (match := _match(text)) is not None]
    part = {DAY_FIRST: "one", MONTH_FIRST: "two"}.get(form)
    shown = next(text for text, match in matches if part is None or int(match.groupdict().get(part) or 0) > 12)
    order = {DAY_FIRST: " that begin with the day", MONTH_FIRST: " that begin with the month"}.get(form, "")
    short = any(len(match["year"]) == 2 for _, match in matches)
    years = f", the years {_OLD_YEARS} to 99 as those before 2000" if short else ""
    return f"dates{order}, such as {shown}, as days since 1970-01-01{years}"


def _match(text: str) -> re.Match | None:
    return next((match for date in _DATES if (match := date.fullmatch(text)) is not None), None)


def _days(text: str, form: str) -> float:
    match = _match(text)
    if match is None:
        raise ValueError(text)
    found = match.groupdict()
    if "one" in found:
        if form == DATE:
            raise ValueError(text)
        found["day"], found["month"] = (
            (found["one"], found["two"]) if form == DAY_FIRST else (found["two"], found["one"])
        )
    if "name" in found:
        found["month"] = next((k for k, month in enumerate(_MONTHS, 1) if month.startswith(found["name"].lower())), 0)
    year = int(found["year"])
    if len(found["year"]) == 2:
        year += 1900 if year >= _OLD_YEARS else 2000
    day = datetime.date(year, int(found["month"]), int(found["day"])).toordinal() - _DAY_0
    return day + _seconds(found) / 86_400


def _seconds(found: dict[str, str | None]) -> float:
    """Since midnight in UTC, where the text names a zone."""
    hour, minute, second = (float(found[name] or 0) for name in ("hour", "minute", "second"))
    if found["half"]:
        hour = hour % 12 + (12 if found["half"].upper() == "PM" else 0)
    if hour > 23 or minute > 59 or second >= 61:
        raise ValueError("no time of a day")
    zone = (found["zone"] or "Z").upper().replace(":", "")
    ahead = 0 if zone == "Z" else (-1 if zone[0] == "-" else 1) * (60 * int(zone[1:3]) + int(zone[3:] or 0))
    return 3600 * hour + 60 * (minute - ahead) + second
