"""Text tables: a header line, then rows of numbers; comma, semicolon, tab or blank separated."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from eagre.errors import InputError
from eagre.io.files import listing
from eagre.names import nearest

_DATE_AND_TIME = re.compile(r"^(\"?\d{4}-\d\d-\d\d)[ T]+(\d\d?:\d\d)")
_LIKE_A_DATE = re.compile(r"\d+[./:-]\d")
_UNIT = re.compile(r"^(.*?)\s*[(\[]\s*([^)\]]*?)\s*[)\]]$")


@dataclass(frozen=True)
class Table:
    """Text table whose rows are not yet converted to numbers.

    Parameters
    ----------
    path : Path
        The file.
    names : list of str
        Column names; ``"1"``, ``"2"`` ... if the file has no header.
    rows : list of str
        Data rows.
    lines : list of int
        Line number of each row in the file, from 1.
    delimiter : str or None
        Separator of the columns; None for blanks.
    """

    path: Path
    names: list[str]
    rows: list[str]
    lines: list[int]
    delimiter: str | None

    def cells(self, row: int) -> list[str]:
        """Return the cells of one row."""
        if self.delimiter is None:
            return self.rows[row].split()
        return [cell.strip() for cell in split_row(self.rows[row], self.delimiter, self.path, self.lines[row])]

    def numbers(self, columns: list[int]) -> np.ndarray:
        """Return the numbers of some columns, (rows, columns), float64.

        Raises
        ------
        InputError
            With the line and column of the first cell that is missing or not a finite number.
        """
        try:
            data = np.loadtxt(
                self.rows, delimiter=self.delimiter, usecols=columns, ndmin=2, comments=None, quotechar='"'
            )
        except (ValueError, IndexError):
            data = None
        if data is None or not np.isfinite(data).all():
            self._refuse_bad_cell(columns)
            raise InputError(
                f"{self.path}: the rows are not {len(self.names)} numbers each",
                problem=f"The rows of {self.path} do not all have {len(self.names)} numbers.",
            )
        return data

    def dates(self, column: int) -> np.ndarray:
        """Return the dates of one column as seconds since 1970-01-01, UTC, (rows,)."""
        seconds = np.empty(len(self.rows))
        for row in range(len(self.rows)):
            cells = self.cells(row)
            date = parse_date(cells[column]) if column < len(cells) else None
            if date is None:
                got = cells[column] if column < len(cells) else "nothing"
                raise InputError(
                    f"{self.path}, line {self.lines[row]}: {got[:40]!r} as a date",
                    allowed="ISO dates in every row",
                    fix="2026-01-31T12:00:00",
                    problem=f"Line {self.lines[row]} of {self.path} has no valid date.",
                )
            seconds[row] = (date - datetime(1970, 1, 1)).total_seconds()
        return seconds

    def _refuse_bad_cell(self, columns: list[int]) -> None:
        """Raise `InputError` for the first cell that is not a finite number."""
        for row, line in enumerate(self.lines):
            cells = self.cells(row)
            for column in columns:
                text = cells[column] if column < len(cells) else ""
                number = _number(text)
                if number is None or not np.isfinite(number):
                    raise InputError(
                        f"{self.path}, line {line}: {text[:40]!r} in column {self.names[column]!r}"
                        if text
                        else f"{self.path}, line {line}: nothing in column {self.names[column]!r}",
                        allowed="a finite number in every row (remove rows without a value)",
                        problem=f"Line {line} of {self.path} has no finite number in column {self.names[column]!r}.",
                    )


def read_table(path: Path, a_row: str = "a time", example: tuple[str, str] = ("time,value", "0,0.0")) -> Table:
    """Read the names and rows of a text table.

    Lines that are empty or start with ``#`` are skipped; so are lines above the header. The header is the
    last line before the first row that starts with a number or an ISO date. Decimal commas are valid if
    another character separates the columns. Errors describe a row by `a_row` and show the header
    and a row of `example`.

    Raises
    ------
    InputError
        If there is no row of numbers, or the header has another number of columns than the first row.
    """
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    lines = [
        (number, _DATE_AND_TIME.sub(lambda match: f"{match[1]}T{match[2]:0>5}", line.strip(" \r\n")))
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    first = next((k for k, (_, line) in enumerate(lines) if _starts_row(line)), None)
    if first is None:
        raise _no_row(path, lines, a_row, example)
    delimiter = _delimiter(lines[first][1])
    rows = [line for _, line in lines[first:]]
    if delimiter in (";", "\t") and any("," in row for row in rows) and not any("." in row for row in rows):
        rows = [line.replace(",", ".") for line in rows]
    table = Table(path, [], rows, [number for number, _ in lines[first:]], delimiter)
    count = len(table.cells(0))
    names = _names(lines[first - 1], delimiter, count, path) if first else [str(k + 1) for k in range(count)]
    if names is None:
        raise InputError(
            f"{path}: the header in line {lines[first - 1][0]} does not have {count} names",
            allowed="one name per column, separated in the same way as the rows",
            problem=f"The header of {path} does not name every column.",
        )
    table = Table(path, names, rows, table.lines, delimiter)
    _check_header(path, lines[: first + 1], table)
    _check_counts(table)
    return table


def _check_header(path: Path, lines: list[tuple[int, str]], table: Table) -> None:
    """Raise `InputError` if the line above the first row, the last of `lines`, is a row that cannot be read."""
    if len(lines) < 2:
        return
    number, line = lines[-2]
    first, *others = table.names
    numbers = [_number(name) for name in others if name]
    above = _names(lines[-3], table.delimiter, len(table.names), path) if len(lines) > 2 else None
    no_time = not first and numbers and None not in numbers and above is not None
    if no_time or _LIKE_A_DATE.match(first):
        raise InputError(
            f"{path}, line {number}: {line[:60]!r} as a row",
            allowed="a number or an ISO date in the first column of every row",
            fix="2026-01-31T08:00:00",
            problem=f"Line {number} of {path} does not begin with a number or a valid date.",
        )


def _check_counts(table: Table) -> None:
    """Raise `InputError` for the first row with more values than the table has columns."""
    count, mark = len(table.names), table.delimiter
    for row, text in enumerate(table.rows):
        if mark is not None and text.count(mark) < count:
            continue
        cells = table.cells(row)
        if any(cells[count:]):
            comma = mark == "," and any("." not in cell for cell in cells)
            raise InputError(
                f"{table.path}, line {table.lines[row]}: {len(cells)} values for {count} columns: {text[:60]!r}",
                allowed=f"{count} values in every row"
                + (", with decimal points, or semicolons between values with decimal commas" if comma else ""),
                problem=f"Line {table.lines[row]} of {table.path} has more values than the table has columns.",
            )


def split_row(row: str, delimiter: str, path: Path, line: int) -> list[str]:
    """Return the cells of a row of a text table.

    Raises
    ------
    InputError
        If a cell is longer than the library `csv` allows.
    """
    with reading_rows(path, line):
        return next(csv.reader([row], delimiter=delimiter), [])


@contextmanager
def reading_rows(path: Path | str, line: int | None = None) -> Iterator[None]:
    """Convert errors of the library `csv` inside the block to `InputError`."""
    try:
        yield
    except UnicodeDecodeError as error:
        allowed, problem = "text in UTF-8", f"The table {path} is not encoded in UTF-8."
        raise InputError(f"{path}: byte {error.start} is not UTF-8", allowed=allowed, problem=problem) from None
    except csv.Error as error:
        where = str(path) if line is None else f"{path}, line {line}"
        problem = f"A cell of the table cannot be read: {error}."
        allowed = f"cells of at most {csv.field_size_limit():,} characters, with closed quotation marks"
        raise InputError(where, allowed=allowed, problem=problem) from None


def _no_row(path: Path, lines: list[tuple[int, str]], a_row: str, example: tuple[str, str]) -> InputError:
    """Return the error for a table without a row of numbers, with a hint if its second line begins with a date."""
    _, line = lines[1] if len(lines) > 1 else (0, "")
    word = re.split(r"[,;\t]", line)[0].strip().strip('"')
    if _LIKE_A_DATE.match(word):
        return InputError(
            f"{path}: {word[:40]!r} as a number or a date",
            allowed="numbers, or dates as in ISO 8601: year-month-day, hours to 24",
            fix="2026-01-31T18:30:00",
            problem=f"A date in {path} is not in ISO 8601 format.",
        )
    return InputError(
        f"{path}: no row of numbers",
        allowed=f"a header line, then one row {a_row}",
        fix="\n".join(example),
        problem=f"The table {path} has no row of numbers.",
    )


def find_column(names: list[str], column: str, path: Path, what: str) -> int:
    """Return the index of the column `column`; case and a unit in brackets are ignored.

    Raises
    ------
    InputError
        With the available names and the nearest name.
    """
    forms = (
        names,
        [name.casefold() for name in names],
        [split_unit(name)[0] for name in names],
        [split_unit(name)[0].casefold() for name in names],
    )
    for form, key in zip(forms, (column, column.casefold(), column, column.casefold()), strict=True):
        if form.count(key) == 1:
            return form.index(key)
    near = nearest(column, names)
    raise InputError(
        f"{what} = {column!r} for {path}",
        allowed=f"one of its columns: {listing(names, 20)}",
        fix=f'{what} = "{near}"' if near else "",
        problem=f"The file {path} has no column {column!r}.",
    )


def split_unit(name: str) -> tuple[str, str]:
    """Split a column name and its unit: ``"time (s)"`` gives ``("time", "s")``."""
    match = _UNIT.match(name.strip())
    return (match.group(1), match.group(2)) if match else (name.strip(), "")


def parse_date(text: str) -> datetime | None:
    """Parse an ISO 8601 date as UTC without a time zone; return None for other text."""
    if len(text) < 8 or "-" not in text[1:]:
        return None
    try:
        date = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return date.astimezone(UTC).replace(tzinfo=None) if date.tzinfo else date
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _starts_row(line: str) -> bool:
    """Return True if a line starts with a number or a date."""
    word = re.split(r"[,;\s]", line.strip().lstrip('"'), maxsplit=1)[0].rstrip('"')
    return _number(word) is not None or parse_date(word) is not None


def _delimiter(row: str) -> str | None:
    """Return the separator of the columns of a row; None for blanks."""
    return next((mark for mark in (";", "\t", ",") if mark in row), None)


def _names(header: tuple[int, str], delimiter: str | None, count: int, path: Path) -> list[str] | None:
    """Return the column names of the header, split like the rows, or at any separator that gives `count` names."""
    number, line = header
    splits = [split_row(line, delimiter, path, number)] if delimiter else [line.split()]
    splits += [re.split(pattern, line) for pattern in (r"\t+", r"\s*[;,]\s*", r"\s{2,}", r"\s+")]
    for names in splits:
        if len(names) == count:
            return [name.strip().strip('"') for name in names]
    return None
