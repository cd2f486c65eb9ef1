"""Pictures that take their name once they are whole: what stood there stays if they cannot be written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from eagre.io.files import writing
from eagre.temporary import beside

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextmanager
def saved(output: Path) -> Iterator[Path]:
    """A file beside `output`, whose name it takes at the end of the block.

    Raises
    ------
    WriteError
        If the disk is full, or the folder cannot be written.
    """
    safe = f"the older {output} is untouched" if output.exists() else "nothing was written"
    with writing(output, safe=safe, fix="free some space, or -o in another folder"), beside(output) as place:
        yield place
        os.replace(place, output)


def save(figure: Figure, output: str | Path, dpi: int) -> None:
    """Write a figure as the ending of a name says; dpi : dots per inch."""
    output = Path(output)
    with saved(output) as place:
        figure.savefig(place, dpi=dpi, format=output.suffix.removeprefix(".").lower() or "png")
