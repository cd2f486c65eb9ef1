"""Paths of input and output files, and all error messages about files and disks."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from eagre.errors import EagreError, InputError
from eagre.names import nearest

RESERVED_BYTES = 1 << 18
"""Free space, bytes, that `check_space` requires in addition to a record, for the tables of the file format."""

_REASONS = {
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than the system allows; check the limit of the file size, ulimit -f",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}
_NO_SPACE = {_REASONS[number] for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)}
_ELSEWHERE = "a folder that can be written"


class WriteError(EagreError, OSError):
    """An output file cannot be written: full disk, quota, or change by another program.

    Parameters
    ----------
    path : path-like
        The file.
    reason : str
        Reason of the failure.
    lost : str, optional
        Records that can no longer be read.
    safe : str, optional
        Records that are on disk.
    fix : str, optional
        Suggested action.
    """

    def __init__(
        self, path: str | os.PathLike[str], reason: str, *, lost: str = "", safe: str = "", fix: str = ""
    ) -> None:
        self.path, self.reason, self.lost, self.safe, self.fix = Path(path), reason, lost, safe, fix
        lines = [f"cannot write {path}: {reason}"]
        if lost:
            lines.append(f"lost:    {lost}")
        if safe:
            lines.append(f"safe:    {safe}")
        if fix:
            lines.append(f"write:   {fix}")
        super().__init__("\n".join(lines))


def nearest_file(name: str, names: Iterable[str]) -> str | None:
    """Return the file name that is most likely a misspelling of `name`, or None.

    The name has the same suffix and at most a quarter of its letters differ (at most one in short names), or it
    differs in the suffix only.
    """
    stem, suffix = Path(name).stem.casefold(), Path(name).suffix.casefold()
    similar: list[tuple[int, str]] = []
    for one in names:
        other_stem = Path(one).stem.casefold()
        if other_stem != stem and Path(one).suffix.casefold() != suffix:
            continue
        apart = _edits(stem, other_stem)
        if apart <= max(1, max(len(stem), len(other_stem)) // 4) and apart < len(stem):
            similar.append((apart, one))
    return min(similar)[1] if similar else None


def _edits(a: str, b: str) -> int:
    """Return the edit distance from a to b with transpositions (Damerau and Levenshtein)."""
    rows = [list(range(len(b) + 1))]
    for i, letter in enumerate(a, 1):
        row = [i]
        for k, other in enumerate(b, 1):
            cost = min(rows[-1][k] + 1, row[-1] + 1, rows[-1][k - 1] + (letter != other))
            swapped = i > 1 and k > 1 and letter == b[k - 2] and a[i - 2] == other
            row.append(min(cost, rows[-2][k - 2] + 1) if swapped else cost)
        rows.append(row)
    return rows[-1][-1]


def listing(names: Iterable[str], max_count: int = 8) -> str:
    """Return names as a list for a message, at most `max_count` of them."""
    names = list(names)
    return ", ".join(names[:max_count]) + (f" and {len(names) - max_count} more" if len(names) > max_count else "")


def choose(name: str, names: Iterable[str], what: str, write: str = "{}") -> None:
    """Raise `InputError` unless `name` is one of `names`.

    Parameters
    ----------
    name : str
        Requested name.
    names : iterable of str
        Available names.
    what : str
        Description of the names, for the message: ``"variable"``.
    write : str
        Pattern of the correction; ``{}`` is replaced by the nearest name.

    Raises
    ------
    InputError
        With the available names and the nearest name.
    """
    names = list(names)
    if name in names:
        return
    near = nearest(name, names)
    fix = write.format(near) if near else ""
    raise InputError(
        f"{what} {name!r}",
        allowed=listing(names, 30) or "no name: the list is empty",
        fix=fix,
        problem=f"Unknown name {name!r}.",
    )


def input_file(path: str | os.PathLike[str], what: str = "file") -> Path:
    """Return the absolute path of a file that exists and is readable.

    Parameters
    ----------
    path : path-like
        Path from the user; ``~`` is expanded.
    what : str
        Description of the file, for the message: ``"DEM"``.

    Raises
    ------
    InputError
        If the file is missing (with the full path and the nearest name in its folder), a folder, or not readable.
    """
    full = Path(path).expanduser().absolute()
    if full.is_file():
        if not os.access(full, os.R_OK):
            raise InputError(
                f"{what} {full}: no permission to read it",
                fix=f"chmod u+r {full}",
                problem=f"The file {full} is not readable.",
            )
        return full
    if full.is_dir():
        raise InputError(
            f"{what} {full}: a folder",
            allowed="a file",
            fix=f'file = "{path}/NAME"',
            problem=f"The path {full} is a folder.",
        )
    if not full.parent.is_dir():
        raise InputError(
            f"{what} {full}: the folder {first_missing(full.parent)} does not exist",
            allowed="a file",
            problem=f"The folder {first_missing(full.parent)} does not exist.",
        )
    names = sorted(entry.name for entry in full.parent.iterdir() if entry.is_file())
    near = nearest_file(full.name, names)
    raise InputError(
        f"{what} {full}: no such file",
        allowed=f"a file in {full.parent}: {listing(names)}" if names else f"a file ({full.parent} has none)",
        fix=f'file = "{Path(path).with_name(near)}"' if near else "",
        problem=f"The file {full} does not exist.",
    )


def output_file(
    path: str | os.PathLike[str],
    *,
    suffixes: Sequence[str],
    overwrite: bool = False,
    what: str = "output",
    replace: str = "overwrite = true",
    inputs: Iterable[Path] = (),
) -> Path:
    """Return the absolute path of a file that can be written.

    Parameters
    ----------
    path : path-like
        Path from the user; ``~`` is expanded.
    suffixes : sequence of str
        Allowed suffixes, for example ``(".nc",)``.
    overwrite : bool
        Allow an existing file.
    what : str
        Description of the file, for the message.
    replace : str
        Suggestion for replacing an existing file.
    inputs : iterable of Path
        Input files, which the output must not overwrite under any name.

    Raises
    ------
    InputError
        If the suffix is not supported, the folder is missing or not writable, the path is a folder or one of `inputs`,
        or the file exists and `overwrite` is False.
    """
    full = Path(path).expanduser().absolute()
    if full.is_dir() and not (full.suffix.lower() == ".zarr" and is_store(full)):
        inside = Path(path) / f"NAME{suffixes[0]}"
        fix = f"{what} {inside}" if what.startswith("-") else f'"{inside}"'
        problem = "The output path is a folder, and a file is required."
        allowed = f"a file name that ends in {' or '.join(suffixes)}"
        raise InputError(f"{what} {full}: a folder", allowed=allowed, fix=fix, problem=problem)
    if full.suffix.lower() not in suffixes:
        name = full.name and Path(path).with_suffix(suffixes[0])
        fix = f"{what} {name}" if what.startswith("-") else f'"{name}"'
        allowed = f"a name that ends in {' or '.join(suffixes)}"
        problem = f"The ending of the file name {full.name} is not supported."
        raise InputError(f"{what} {full}", allowed=allowed, fix=fix, problem=problem)
    for source in inputs:
        if is_same_file(full, source):
            problem = f"The {what} would overwrite the input {source}."
            raise InputError(f"{what} {full}", allowed="another file than the inputs", problem=problem)
    _check_folder(full, what)
    if full.exists() and not overwrite:
        raise InputError(
            f"{what} {full}",
            allowed="a new file name, or permission to replace the file",
            fix=f"{replace}, or another file name",
            problem=f"The file {full} exists already.",
        )
    return full


def _check_folder(full: Path, what: str) -> None:
    """Raise `InputError` if the folder of an output does not exist or is not writable."""
    folder = full.parent
    if not folder.is_dir():
        missing = first_missing(folder)
        if missing.exists():
            raise InputError(
                f"{what} {full}: {missing} is a file",
                allowed="a folder",
                problem=f"The path {missing} is a file, not a folder.",
            )
        raise InputError(
            f"{what} {full}: the folder {missing} does not exist",
            fix=f"mkdir -p {folder}",
            problem=f"The folder {missing} does not exist.",
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"{what} {full}: no permission to write in {folder}",
            allowed="a writable folder",
            problem=f"The folder {folder} is not writable.",
        )


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether two paths name one file, also through links and other spellings and if it does not exist."""
    return _identity(one) == _identity(other)


def _identity(path: Path) -> tuple[object, ...]:
    """Return device and inode of a file, or device and inode of the folder and the name if it does not exist."""
    real = Path(os.path.realpath(path))
    for existing, name in ((real, ""), (real.parent, os.path.normcase(real.name))):
        with suppress(OSError, ValueError):
            status = existing.stat()
            return (status.st_dev, status.st_ino, name)
    return (os.path.normcase(real),)


def is_store(path: Path) -> bool:
    """Return whether a folder is a Zarr store of format 3, which is treated as one file."""
    return (path / "zarr.json").is_file()


def first_missing(folder: Path) -> Path:
    """Return the uppermost part of `folder` that is not a folder."""
    for ancestor in [*reversed(folder.parents), folder]:
        if not ancestor.is_dir():
            return ancestor
    return folder


def reason(error: BaseException) -> str:
    """Return the reason why a write failed; HDF5 hides the error number in its message."""
    code = getattr(error, "errno", None)
    text = str(error)
    if code is None:
        code = next((number for number in _REASONS if f"errno = {number}," in text), None)
    return _REASONS.get(code or 0) or text or type(error).__name__


@contextmanager
def writing(path: Path, *, safe: str = "", fix: str = "") -> Iterator[None]:
    """Convert errors of the system or HDF5 inside the block to a `WriteError` about `path`.

    `fix` applies to a full disk; for other errors the suggestion is another folder.
    """
    try:
        yield
    except EagreError:
        raise
    except (OSError, RuntimeError) as error:
        why = reason(error)
        raise WriteError(path, why, safe=safe, fix=fix if why in _NO_SPACE or not fix else _ELSEWHERE) from error


@contextmanager
def reading(path: Path, what: str = "file", content: str = "") -> Iterator[None]:
    """Convert any error of a library that reads `path` inside the block to an `InputError`.

    Parameters
    ----------
    path : Path
    what : str
        Kind of file, for the message: ``"restart file"``.
    content : str
        Content that is read inside the block: ``"the variable depth"``. Default: the whole file.
    """
    try:
        yield
    except (EagreError, ImportError, MemoryError):
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        of = f"{content[:1].upper()}{content[1:]} of the" if content else "The"
        problem = f"{of} {what} {path} cannot be read: the file is damaged or incomplete ({lines[0].rstrip('.')})."
        raise InputError(f"{what} {path}", allowed="an undamaged file", problem=problem) from error


def read_values(array: Any, path: Path, what: str = "file") -> np.ndarray:
    """Return the values of a variable of an open dataset, which are read here; `InputError` names the variable."""
    with reading(path, what, f"the variable {array.name}"):
        return np.asarray(array.values)


def check_space(path: Path, needed: int, *, written_path: Path | None = None, safe: str = "", fix: str = "") -> None:
    """Reject a write of `needed` bytes that exceeds the free space or a limit, before it can damage the file.

    Call this before HDF5 opens a file.

    The space at the end of the file is reserved and released at once, which also detects quotas.
    For a file that does not exist, the free space of the disk and the process's limit of the file size are checked.

    Parameters
    ----------
    path : Path
        The file, for the message.
    needed : int
        Bytes to write.
    written_path : Path, optional
        The file that is written, if it takes the name `path` later.
    safe, fix : str, optional
        See `WriteError`.

    Raises
    ------
    WriteError
        With the number of bytes that are needed.
    """
    needed += RESERVED_BYTES
    written_path = path if written_path is None else written_path
    try:
        free = shutil.disk_usage(written_path.parent).free
        if free < needed:
            raise OSError(errno.ENOSPC, "")
        if not written_path.is_dir():
            _check_limit(written_path, needed)
        if written_path.is_file() and hasattr(os, "posix_fallocate"):
            _probe(written_path, needed)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
            return
        text = f"{reason(error)} ({needed / 2**20:.1f} MiB required)"
        raise WriteError(path, text, safe=safe, fix=fix) from error


def _check_limit(path: Path, needed: int) -> None:
    """Compare the size of a file after a write of `needed` bytes with the process's limit (``ulimit -f``)."""
    if os.name != "nt":
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        if limit != resource.RLIM_INFINITY and needed + (path.stat().st_size if path.is_file() else 0) > limit:
            raise OSError(errno.EFBIG, "")


def _probe(path: Path, needed: int) -> None:
    """Reserve and release space at the end of a file."""
    handle = os.open(path, os.O_RDWR)
    try:
        size = os.fstat(handle).st_size
        try:
            os.posix_fallocate(handle, size, needed)
        finally:
            os.ftruncate(handle, size)
    finally:
        os.close(handle)


def sync(path: Path) -> None:
    """Flush the bytes of a file or the entries of a folder to the disk."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
