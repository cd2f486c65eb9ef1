"""What tuning found on this machine: a file of JSON for each device, which people read and edit.

An entry holds values of layouts (`eagre.layouts.declared`) with the key under which they were measured. Values count
for runs with the same key only: another device, driver, version, source, precision, size or scheme has none. The file's
schema is `store.schema.json` beside this module.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from eagre.errors import InputError
from eagre.layouts.declared import PARAMETERS
from eagre.layouts.kinds import PRECISIONS
from eagre.temporary import beside

FORMAT = 1
SMALL_CELLS_A_SIDE = 512  # up to here, squared, launches and waiting cost more than memory
WORDS = 10  # a cell, about, that a step touches, whatever the model
CACHES = 16  # what a step touches, in last caches, from which a grid is large: marches no longer end unevenly
SIZES = ("small", "cache", "memory", "large")
PARTICULAR = ("small", "cache")  # where the very size counts: how the last wave of blocks ends, whether threads pay
NEAR = 0.01  # part of its cells by which such a grid may differ from that of a search whose values it takes


class Origin(NamedTuple):
    """Where and with what a measurement was made."""

    device: str  # name of the chip and what there is of it
    driver: str
    versions: str  # of the package and of what compiles its kernels
    source: str  # hashes of the text that kernels are made of, and of the user's own table of layouts if there is one


class Use(NamedTuple):
    """What a measurement is for: a kind of model, one of its schemes (or "", for all), a precision and a size."""

    model: str
    scheme: str
    precision: str
    size: str


@dataclass(frozen=True)
class Measured:
    """What was found for one space; tables of cards have such, which are shipped.

    Attributes
    ----------
    space : str
        Name of the space, "shallow-water.march".
    use : Use
    values : dict
        Values of layouts by key; none where nothing was faster than what is shipped.
    same_bits : bool
        Whether results have the bits of the shipped values.
    seconds : dict
        Of a step, "before" and "after".
    found : dict
        What else is told: the grid's shape, the date, numbers of variants.
    """

    space: str
    use: Use
    values: dict[str, Any]
    same_bits: bool
    seconds: dict[str, float]
    found: dict[str, Any] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        """Of the grid on which it was found; 0 where nothing is told of that."""
        return prod(self.found.get("shape") or [0])

    def serves(self, use: Use) -> bool:
        """Whether a run takes it: one of the same model, precision and class of size, and scheme if it has one."""
        return self.use in (use, use._replace(scheme=""))


@dataclass(frozen=True)
class Entry(Measured):
    """What was found on this machine; `origin` : with what, the rest of its key."""

    origin: Origin = field(kw_only=True)

    @property
    def key(self) -> tuple[str, Use, Origin, int]:
        """What one entry replaces another by."""
        return self.space, self.use, self.origin, self.cells if self.use.size in PARTICULAR else 0


@dataclass(frozen=True)
class Scheme:
    """Which scheme was fastest in a whole run; `seconds` : of a run by scheme."""

    use: Use
    origin: Origin
    scheme: str
    seconds: dict[str, float]

    @property
    def key(self) -> tuple[Use, Origin]:
        """What one replaces another by."""
        return self.use, self.origin


class Store(NamedTuple):
    """All that a file holds."""

    entries: tuple[Entry, ...] = ()
    schemes: tuple[Scheme, ...] = ()

    def adding(self, *new: Entry | Scheme) -> Store:
        """With others, which replace those of the same key."""
        entries = {one.key: one for one in (*self.entries, *(one for one in new if isinstance(one, Entry)))}
        schemes = {one.key: one for one in (*self.schemes, *(one for one in new if isinstance(one, Scheme)))}
        return Store(tuple(entries.values()), tuple(schemes.values()))


def size_class(cells: int, precision: str, cache: float) -> str:
    """The class of a grid: "small", "cache" (what a step touches fits the last cache, bytes), "memory" or "large"."""
    if cells <= SMALL_CELLS_A_SIDE**2:
        return "small"
    touched = WORDS * (4 if precision == "single" else 8) * cells
    return "cache" if touched <= cache else "memory" if touched <= CACHES * cache else "large"


def nearest(entries: Iterable[Entry], cells: int) -> list[Entry]:
    """Of each space the entry found on the grid that is most like one of so many cells, if it is like enough.

    In the classes `PARTICULAR` grids may differ by `NEAR` (decision 0080).
    """
    found: dict[tuple[str, str], tuple[float, Entry]] = {}
    for entry in entries:
        apart = abs(entry.cells / cells - 1.0) if entry.cells and entry.use.size in PARTICULAR else 0.0
        key = entry.space, entry.use.scheme
        if apart <= NEAR and (key not in found or apart < found[key][0]):
            found[key] = apart, entry
    return [entry for _, entry in found.values()]


def folder() -> Path:
    """Where files lie: ``EAGRE_TUNING``, or ``eagre/tuning`` in the user's data folder."""
    chosen = os.environ.get("EAGRE_TUNING")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "eagre" / "tuning"


def read(path: Path) -> Store:
    """What a file holds; nothing where there is no file.

    Raises
    ------
    InputError
        For a file that cannot be read, or has a key, type or value that is not allowed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Store()
    except (OSError, UnicodeDecodeError) as error:
        allowed = "a file of eagre tune (docs/how-to/tuning.md)"
        problem = "The file of tuned values cannot be read."
        raise InputError(f"{path}: {error}", allowed=allowed, problem=problem) from None
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise _wrong(path, f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (RecursionError, ValueError) as error:  # deep nesting, or an integer of thousands of digits
        raise _wrong(path, str(error)) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _wrong(path, f'"format" is not {FORMAT}')
    entries = tuple(_entry(one, f"{path}: entries[{n}]") for n, one in enumerate(content.get("entries", [])))
    schemes = tuple(_scheme(one, f"{path}: schemes[{n}]") for n, one in enumerate(content.get("schemes", [])))
    return Store(entries, schemes)


def write(path: Path, store: Store) -> None:
    """Replace a file, at once."""
    content = {
        "format": FORMAT,
        "entries": [_plain(one) for one in store.entries],
        "schemes": [_plain(one) for one in store.schemes],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with beside(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        os.replace(temporary, path)


def add(path: Path, *new: Entry | Scheme) -> None:
    """Put something into a file, in place of what has its key; several processes may do so at a time."""
    with _alone(path):
        write(path, read(path).adding(*new))


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time; what one that was killed left behind counts for five seconds."""
    lock = path.with_suffix(".lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(100):
        with suppress(FileExistsError):
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
            break
        time.sleep(0.05)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _plain(one: Entry | Scheme) -> dict[str, Any]:
    found = asdict(one)
    return {**found, "use": one.use._asdict(), "origin": one.origin._asdict()}


def _entry(content: Any, name: str) -> Entry:
    found = measured(content, name, ("origin",))
    return Entry(**vars(found), origin=_origin(content, name))


def measured(content: Any, name: str, more: tuple[str, ...] = ()) -> Measured:
    """An entry of a file, checked, without what has the keys `more`; `name` : of the place, for errors."""
    known = ("space", "use", *more, "values", "same_bits", "seconds")
    _check_keys(content, name, known, ("found",))
    _check(isinstance(content["space"], str), f"{name}.space", content["space"], "a name in quotes")
    _check(isinstance(content["same_bits"], bool), f"{name}.same_bits", content["same_bits"], "true or false")
    values = content["values"]
    _check(isinstance(values, dict), f"{name}.values", values, '{"shallow-water.march.longest": 32}')
    for key, value in values.items():
        _check(key in PARAMETERS, f"{name}.values", key, "parameters of docs/development/layouts.md")
        problem = PARAMETERS[key].kind.problem(value, key)
        if problem is not None:
            raise InputError(
                f"{name}.values: {problem.key} = {json.dumps(problem.value)}", allowed=problem.allowed,
                problem=f"The value of {problem.key} is not allowed.",
            )  # fmt: skip
    seconds = _times(content["seconds"], f"{name}.seconds")
    found = content.get("found", {})
    _check(isinstance(found, dict), f"{name}.found", found, "an object")
    shape = found.get("shape", [])
    good = isinstance(shape, list) and all(isinstance(n, int) and n > 0 for n in shape)
    _check(good, f"{name}.found.shape", shape, "numbers of levels, rows and columns, [512, 512]")
    return Measured(content["space"], _use(content, name), values, content["same_bits"], seconds, found)


def _scheme(content: Any, name: str) -> Scheme:
    _check_keys(content, name, ("use", "origin", "scheme", "seconds"))
    _check(isinstance(content["scheme"], str), f"{name}.scheme", content["scheme"], "the name of a scheme")
    seconds = _times(content["seconds"], f"{name}.seconds")
    return Scheme(_use(content, name), _origin(content, name), content["scheme"], seconds)


def _use(content: dict[str, Any], name: str) -> Use:
    given = content["use"]
    _check_keys(given, f"{name}.use", Use._fields)
    use = Use(**given)
    _check(use.precision in PRECISIONS, f"{name}.use.precision", use.precision, '"single" or "double"')
    _check(use.size in SIZES, f"{name}.use.size", use.size, '"small", "cache", "memory" or "large"')
    return use


def _origin(content: dict[str, Any], name: str) -> Origin:
    _check_keys(content["origin"], f"{name}.origin", Origin._fields)
    return Origin(**content["origin"])


def _times(given: Any, name: str) -> dict[str, float]:
    good = isinstance(given, dict) and all(isinstance(s, (int, float)) and s >= 0.0 for s in given.values())
    _check(good, name, given, "seconds by name, 0 or more")
    return given


def _check_keys(content: Any, name: str, known: tuple[str, ...], more: tuple[str, ...] = ()) -> None:
    good = isinstance(content, dict) and set(known) <= content.keys() <= {*known, *more}
    _check(good, name, content, f"an object with the keys {', '.join(known)}")


def _check(good: bool, name: str, value: Any, allowed: str) -> None:
    if not good:
        text = json.dumps(value)
        shown = text if len(text) <= 80 else text[:77] + "..."
        raise InputError(f"{name} = {shown}", allowed=allowed, problem="The file of tuned values has an invalid entry.")


def _wrong(path: Path, what: str) -> InputError:
    allowed = "a file of eagre tune; without it no tuned values are used"
    problem = "The file of tuned values is not valid."
    return InputError(f"{path}: {what}", allowed=allowed, fix=f"rm {path}", problem=problem)
