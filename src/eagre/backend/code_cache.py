"""Compiled code on disk, in the format of the compilers.

Damaged files are compiled again and read-only folders are used. Folders and files that other users can write raise an
error: their content, pickles and machine code, is executed.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from eagre.backend.cache_folder import WRITABLE_BY_OTHERS, check_private, make_private


def whole(cache: Any, sig: Any, target_context: Any) -> Any:
    """Nothing: the compiler's own way to load."""
    return None


def sound(cache: Any, locators: Sequence[Any], quick: Callable[[Any, Any, Any], Any] = whole) -> Any:
    """A compiler's class of caches, made robust.

    Parameters
    ----------
    cache : class
        Of Numba or numba-cuda; theirs raises where a file is cut, and passes over a folder that it cannot write.
    locators : sequence of classes
        Where they look for a function's folder; the last one takes the folder of its source.
    quick : callable (cache, signature, target context)
        Gives what is on the disk without the compiler's start-up, or None: then the compiler looks itself.
    """
    *others, beside = locators

    class Locator(beside):
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
                if found := quick(self, sig, target_context):
                    return found
                return super().load_overload(sig, target_context)
            except Exception:  # whatever a pickle that was cut raises
                try:
                    self.flush()
                except OSError:
                    self.disable()
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            with suppress(OSError):
                super().save_overload(sig, data)
                for path in _files(self):
                    path.chmod(path.stat().st_mode & ~WRITABLE_BY_OTHERS)  # the user's umask may allow the group

    return Sound


def _files(cache: Any) -> list[Path]:
    """Return the files of one function: the index and the code."""
    return list(Path(cache.cache_path).glob(f"{glob.escape(cache._impl.filename_base)}.*"))
