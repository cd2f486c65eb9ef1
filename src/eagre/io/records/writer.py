"""Base class of the writers of results, which are context managers, and writing in a background thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self


class BackgroundWriter:
    """One thread that runs one operation at a time, concurrently with its owner.

    An exception of an operation is raised by the next `wait`, `do` or `close`.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="eagre-output")
        self._last: Future[Any] | None = None

    def wait(self) -> None:
        """Wait until the last operation has finished."""
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def do(self, action: Callable[..., Any], *arguments: Any) -> None:
        """Run ``action(*arguments)`` in the thread after the last operation, even if that operation failed."""
        try:
            self.wait()
        finally:
            self._last = self._pool.submit(action, *arguments)

    def close(self) -> None:
        """Wait for the last operation and end the thread."""
        try:
            self.wait()
        finally:
            self._pool.shutdown()


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
