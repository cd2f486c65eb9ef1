"""How a validation is run: on which device, in which precisions, with or without pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eagre.validation.result import Result

PRECISIONS = ("single", "double")


@dataclass
class Setting:
    """What a validation needs to know: device, precisions, the folder for pictures (None: no pictures).

    `chosen` is True if the user named the cases: then one whose data are missing is an error.
    """

    device: Any = "auto"
    precisions: tuple[str, ...] = PRECISIONS
    folder: Path | None = None
    chosen: bool = True
    pictures: list[Path] = field(default_factory=list)

    def picture(self, draw: Callable[..., Path], name: str, *args: Any, **options: Any) -> None:
        """Draw ``<name>.png`` into the folder, if there is one."""
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.pictures.append(draw(self.folder / f"{name}.png", *args, **options))


Validation = Callable[[Setting], list[Result]]
