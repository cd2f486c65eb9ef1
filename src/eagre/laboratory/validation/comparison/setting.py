"""Definition of validations: functions that run a model and yield checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from eagre.laboratory.validation.comparison.result import Result

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
