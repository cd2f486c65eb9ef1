"""Validations: functions that run a model and yield checks, their results, and the report files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

COLUMNS = ("case", "precision", "quantity", "value", "limit", "passed", "detail")


@dataclass(frozen=True)
class Result:
    """Value of a validation case with its limit.

    Parameters
    ----------
    case : str
        Name of the case.
    precision : str
        ``"single"`` or ``"double"``, or ``"single/double"`` for a comparison of the two.
    quantity : str
        Measured quantity, with its unit.
    value : float
    limit : float or None
        Largest accepted value; None for a value that is only reported.
    at_least : bool
        True if `limit` is the smallest accepted value (orders of convergence).
    detail : str
        Grid, steps, end time.
    """

    case: str
    precision: str
    quantity: str
    value: float
    limit: float | None = None
    at_least: bool = False
    detail: str = ""

    @property
    def passed(self) -> bool:
        """True if the value is within its limit, or has no limit; NaN never passes."""
        if self.limit is None:
            return self.value == self.value
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def compared(self) -> bool:
        """False for a case that could not be run: it is listed but not counted."""
        return not self.quantity.startswith("not run")

    @property
    def limit_text(self) -> str:
        """Limit as shown in the report."""
        if self.limit is None:
            return ""
        return f"{'>=' if self.at_least else '<='} {self.limit:.4g}"

    def row(self) -> tuple[str, ...]:
        """Return strings for the columns `COLUMNS`."""
        status = "" if self.limit is None and self.passed else ("yes" if self.passed else "NO")
        return (self.case, self.precision, self.quantity, f"{self.value:.4g}", self.limit_text, status, self.detail)


def write_report(folder: Path, results: Sequence[Result], title: str, plots: Sequence[Path] = ()) -> list[Path]:
    """Write ``validation.csv`` and ``validation.md`` into `folder` and return the two paths.

    The Markdown page has the same table and shows the pictures, which are in the same folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    table, page = folder / "validation.csv", folder / "validation.md"
    with table.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        writer.writerows(result.row() for result in results)
    failed = sum(not result.passed for result in results)
    compared = sum(result.compared for result in results)
    lines = [f"# {title}", "", f"{compared} numbers, {failed} outside their limits.", ""]
    lines += ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    lines += ["| " + " | ".join(text.replace("|", "\\|") for text in result.row()) + " |" for result in results]
    for plot in plots:
        lines += ["", f"![{plot.stem}]({plot.name})"]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [table, page]


PRECISIONS = ("single", "double")
BOTH = "single/double"
"""Precision of a comparison of the two."""


class Check(NamedTuple):
    """Value of a validation; the case and the precision are those of the run."""

    quantity: str
    value: float
    limit: float | None = None
    at_least: bool = False
    detail: str = ""
    precision: str = ""  # if different from the precision of the run


@dataclass
class Setting:
    """Settings of validations: device, precisions, and the folder for pictures (None: no pictures).

    `chosen` is True if the user named the cases; missing data are then an error.
    """

    device: Any = "auto"
    precisions: tuple[str, ...] = PRECISIONS
    folder: Path | None = None
    chosen: bool = True
    pictures: list[Path] = field(default_factory=list)


class Run(NamedTuple):
    """One run of a validation: name of the case, and precision."""

    name: str
    precision: str
    setting: Setting

    @property
    def options(self) -> dict[str, Any]:
        """Device and precision as model arguments."""
        return {"device": self.setting.device, "precision": self.precision}

    def picture(self, draw: Callable[..., Path], title: str, *args: Any, **options: Any) -> None:
        """Draw ``<name>-<precision>.png`` into the folder, if any."""
        if self.setting.folder is not None:
            self.setting.folder.mkdir(parents=True, exist_ok=True)
            path = self.setting.folder / f"{self.name}-{self.precision.replace('/', '-')}.png"
            self.setting.pictures.append(draw(path, title, *args, **options))


class Validation(NamedTuple):
    """Checks of a case, yielded by ``find(run)`` in each requested precision or in `precision` only."""

    find: Callable[[Run], Iterable[Check]]
    precision: str = ""

    def results(self, name: str, setting: Setting) -> Iterator[Result]:
        """Run the validation as the case `name`."""
        for precision in (self.precision,) if self.precision else setting.precisions:
            for check in self.find(Run(name, precision, setting)):
                yield Result(name, check.precision or precision, *check[:-1])


def each(find: Callable[..., Iterable[Check]], *arguments: Any, **options: Any) -> Validation:
    """Return a validation of ``find(run, *arguments, **options)`` in each requested precision."""
    return Validation(lambda run: find(run, *arguments, **options))


def once(precision: str, find: Callable[..., Iterable[Check]], *arguments: Any, **options: Any) -> Validation:
    """Return a validation of ``find(run, *arguments, **options)`` in one precision."""
    return Validation(lambda run: find(run, *arguments, **options), precision)
