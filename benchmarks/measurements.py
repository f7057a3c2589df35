"""What a case measures: one row a number, kept in a CSV file, and the ratios of rows that were taken in turn."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Measurement:
    """One number.

    part : piece of the case, as `--only` names it; a part that is measured again replaces its old rows
    data : what it was measured on, with its size
    task : what was done, for example the method
    library : who did it
    setting : solver, number type, threads
    measure, unit, value : what the number says
    repeat : numbers of the same repeat were taken one after the other
    version : of the library
    note : what a reader has to know, for example that fewer epochs were run
    machine : where it was measured; figures of another machine stand beside these, not in their place
    """

    part: str
    data: str
    task: str
    library: str
    setting: str
    measure: str
    unit: str
    value: float
    repeat: int = 0
    version: str = ""
    note: str = ""
    machine: str = ""


COLUMNS = tuple(field.name for field in fields(Measurement))


def read(path: Path) -> list[Measurement]:
    """Rows of a CSV file; none where there is no file yet."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Measurement(**{**row, "value": float(row["value"]), "repeat": int(row["repeat"])})
            for row in csv.DictReader(file)
        ]


def write(path: Path, rows: Iterable[Measurement]) -> None:
    """Rows as a CSV file, written whole or not at all."""
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for row in rows:
            table.writerow({**asdict(row), "value": f"{row.value:.7g}"})
    temporary.replace(path)


def replaced(
    old: Sequence[Measurement], new: Sequence[Measurement], parts: Iterable[str], machine: str = ""
) -> list[Measurement]:
    """`old` without the parts that were measured again on this machine, then `new`, which was."""
    again = set(parts)
    kept = [row for row in old if row.part not in again or row.machine != machine]
    return kept + [replace(row, machine=machine) for row in new]


def by_machine(rows: Iterable[Measurement]) -> dict[str, list[Measurement]]:
    """The rows of each machine, that of the last row first."""
    found: dict[str, list[Measurement]] = {}
    for row in rows:
        found.setdefault(row.machine, []).append(row)
    return dict(reversed(found.items()))


def where(rows: Iterable[Measurement], **wanted: Any) -> list[Measurement]:
    """Rows whose columns have these values."""
    return [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]


def median(rows: Iterable[Measurement]) -> float:
    """The median of the values; not a number where there are none."""
    values = [row.value for row in rows]
    return statistics.median(values) if values else float("nan")


def number(value: float) -> str:
    """Two or three figures, without an exponent where it can be helped."""
    for least, digits in ((100, ".0f"), (10, ".1f"), (0.1, ".2f")):
        if abs(value) >= least:
            return f"{value:{digits}}"
    return f"{value:.2g}"


def spread(rows: Iterable[Measurement]) -> str:
    """The median with the least and the largest value."""
    values = [row.value for row in rows]
    if not values:
        return ""
    middle = number(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({number(min(values))} to {number(max(values))})"


@dataclass(frozen=True)
class Ratio:
    """How two things that were measured in turn compare, and what was wanted.

    what, against : ours and the reference
    median, low, high, n : of the ratios of the same repeats
    least, most : what is wanted, where anything is
    over, under, unit : the medians of the two sides, and what they are counted in
    accuracy : of both on test rows, where there is one
    note : what a reader has to know
    holds : a second condition, for example on accuracy
    """

    what: str
    against: str
    median: float
    low: float
    high: float
    n: int
    least: float | None = None
    most: float | None = None
    over: float = float("nan")
    under: float = float("nan")
    unit: str = ""
    accuracy: str = ""
    note: str = ""
    holds: bool = True

    @property
    def met(self) -> bool | None:
        """Whether it is as wanted; None where nothing is."""
        if self.least is None and self.most is None:
            return None
        return (
            self.holds
            and (self.least is None or self.median >= self.least)
            and (self.most is None or self.median <= self.most)
        )

    @property
    def wanted(self) -> str:
        """What is wanted, in words."""
        if self.least is not None:
            return f"at least {self.least:g}"
        return "" if self.most is None else f"at most {self.most:g}"

    def cells(self) -> tuple[str, ...]:
        """A row of the table of ratios."""
        middle = number(self.median)
        between = middle if self.n == 1 else f"{middle} ({number(self.low)} to {number(self.high)})"
        verdict = {None: "", True: "yes", False: "**no**"}[self.met]
        return self.what, self.against, between, self.wanted, verdict, self.note


RATIO_HEADER = ("ours", "against", "ratio, median (least to largest)", "wanted", "met", "note")


def ratio(
    over: Sequence[Measurement], under: Sequence[Measurement], what: str, against: str, **wanted: Any
) -> Ratio | None:
    """The ratios of the repeats that both have, each to the one taken beside it; None where there is none.

    Speeds: `over` ours, `under` the reference. Times: `over` the reference, `under` ours. So larger is faster.
    """
    below = {row.repeat: row.value for row in under}
    pairs = [row.value / below[row.repeat] for row in over if row.repeat in below]
    if not pairs:
        return None
    sides = {"over": median(over), "under": median(under), "unit": over[0].unit}
    return Ratio(what, against, statistics.median(pairs), min(pairs), max(pairs), len(pairs), **sides, **wanted)
