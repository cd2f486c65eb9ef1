"""Background writer: one thread that runs write operations one at a time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


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
