"""Results of validation cases, and the report files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
