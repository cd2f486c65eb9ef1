"""Pictures that replace an existing file only after they are complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from eagre.io.files import writing
from eagre.temporary import temporary_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextmanager
def saved(output: Path) -> Iterator[Path]:
    """Yield the path of a temporary file that replaces `output` at the end of the block.

    Raises
    ------
    WriteError
        If the disk is full or the folder is not writable.
    """
    safe = f"the older {output} is untouched" if output.exists() else "nothing was written"
    with (
        writing(output, safe=safe, fix="free some space, or -o in another folder"),
        temporary_path(output) as temporary,
    ):
        yield temporary
        os.replace(temporary, output)


def lay_out(figure: Figure) -> None:
    """Run the constrained layout; the size of a map of fixed aspect, with colour bars, converges in the second pass."""
    for _ in range(2):
        figure.draw_without_rendering()


def save(figure: Figure, output: str | Path, dpi: int) -> None:
    """Write a figure in the format of the file extension; `dpi` : dots per inch."""
    output = Path(output)
    lay_out(figure)
    with saved(output) as temporary:
        figure.savefig(temporary, dpi=dpi, format=output.suffix.removeprefix(".").lower() or "png")
