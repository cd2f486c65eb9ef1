"""Work that is done beside the caller's, one piece after the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Behind:
    """One thread that does one thing at a time, while its owner goes on.

    What the thing raises comes out of the next `wait`, `do` or `close`: nothing is lost, it is told one piece later.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="eagre-output")
        self._last: Future[Any] | None = None

    def wait(self) -> None:
        """Wait until nothing is being done."""
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def do(self, action: Callable[..., Any], *arguments: Any) -> None:
        """Begin ``action(*arguments)`` when the piece before is done, also if that piece failed."""
        try:
            self.wait()
        finally:
            self._last = self._pool.submit(action, *arguments)

    def close(self) -> None:
        """Wait, and end the thread."""
        try:
            self.wait()
        finally:
            self._pool.shutdown()
