"""Numbers printed in the five papers that Eagre follows, one CSV file per paper.

Each number has an item (``table-B.1``), a row and a column; see ``README.md`` in this folder.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

NAMES = ("mike21", "amundsen2014", "rojek2015", "madsen2010", "bleichrodt2011")


@dataclass(frozen=True)
class Number:
    """Number of a paper, or computed from printed numbers.

    Parameters
    ----------
    item, row, column : str
        Table, figure or section, and the position within it.
    text : str
        Value as printed; a string without a number is a qualitative statement.
    unit, note : str
    """

    item: str
    row: str
    column: str
    text: str
    unit: str = "1"
    note: str = ""

    @property
    def value(self) -> float | str:
        """The number, or the string if it is not a number."""
        try:
            return float(self.text)
        except ValueError:
            return self.text


@dataclass(frozen=True)
class Paper:
    """Numbers of a paper in the order of the file."""

    name: str
    numbers: tuple[Number, ...]

    @property
    def items(self) -> tuple[str, ...]:
        """Names of the items that have numbers."""
        return tuple(dict.fromkeys(number.item for number in self.numbers))

    def select(self, item: str, row: str | None = None, column: str | None = None) -> list[Number]:
        """Return the numbers of an item; `row` and `column` restrict the selection."""
        return [
            number
            for number in self.numbers
            if number.item == item and row in (None, number.row) and column in (None, number.column)
        ]

    def number(self, item: str, row: str, column: str) -> Number:
        """Return one number with its unit; raise `KeyError` if the file does not contain it exactly once."""
        selected = self.select(item, row, column)
        if len(selected) != 1:
            raise KeyError(f"{self.name} has {len(selected)} numbers {item!r}, {row!r}, {column!r}")
        return selected[0]

    def value(self, item: str, row: str, column: str) -> float:
        """Return the value of one number; raise `ValueError` for a qualitative statement."""
        return float(self.number(item, row, column).value)


@cache
def paper(name: str) -> Paper:
    """Return the numbers of a paper, one of `NAMES`."""
    if name not in NAMES:
        raise KeyError(f"no numbers of a paper {name!r}")
    text = files("eagre.laboratory.papers").joinpath(f"{name}.csv").read_text(encoding="utf-8")
    columns = ("item", "row", "column", "value", "unit", "note")
    rows = csv.DictReader(text.splitlines())
    return Paper(name, tuple(Number(*(row[column] for column in columns)) for row in rows))
