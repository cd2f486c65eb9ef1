"""Compiled code on disk, in the format of the compilers.

Damaged files are compiled again, and read-only folders are used. Folders and files that other users can write raise an
error, because their content, pickles and machine code, is executed.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from eagre.backend.compilation.cache_folder import WRITABLE_BY_OTHERS, check_private, make_private


def whole(cache: Any, sig: Any, target_context: Any) -> Any:
    """Return None: use the compiler's own loading."""
    return None


def sound(cache: Any, locators: Sequence[Any], quick: Callable[[Any, Any, Any], Any] = whole) -> Any:
    """Return a more robust version of a compiler's cache class.

    Parameters
    ----------
    cache : class
        Class of Numba or numba-cuda, which raises for truncated files and ignores read-only folders.
    locators : sequence of classes
        Locators of a function's folder; the last one uses the folder of its source.
    quick : callable (cache, signature, target context)
        Loads from disk without the compiler's start-up, or returns None to let the compiler load.
    """
    *others, source_locator = locators

    class Locator(source_locator):
        def ensure_cache_path(self) -> None:
            with suppress(OSError):
                make_private(Path(self.get_cache_path()))

    class Files(cache._impl_class):
        _locator_classes = (*others, Locator)

    class Sound(cache):
        _impl_class = Files

        def __init__(self, function: Any) -> None:
            super().__init__(function)
            self.module = function.__module__

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            for path in (Path(self.cache_path), *_files(self)):
                check_private(path)
            try:
                if overload := quick(self, sig, target_context):
                    return overload
                return super().load_overload(sig, target_context)
            except Exception:  # a truncated pickle can raise any exception
                try:
                    self.flush()
                except OSError:
                    self.disable()
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            with suppress(OSError):
                super().save_overload(sig, data)
                for path in _files(self):
                    path.chmod(path.stat().st_mode & ~WRITABLE_BY_OTHERS)  # the user's umask may allow group writes

    return Sound


def _files(cache: Any) -> list[Path]:
    """Return the files of one function: the index and the code."""
    return list(Path(cache.cache_path).glob(f"{glob.escape(cache._impl.filename_base)}.*"))
