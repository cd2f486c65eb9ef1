"""Base class of the writers of results, which are context managers."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Writer:
    """Writer of results, closed at the end of a ``with`` block.

    If the block fails, an error of closing the file becomes a note of the first error.
    """

    def close(self) -> None:
        """Close the file."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except OSError as failed:
            if error is None:
                raise
            error.add_note(str(failed))
