"""Files of launch parameters: tables of measured values, and the store of tuned values, one JSON file per device.

An entry of the store holds launch parameters (`eagre.layouts.declared`) with the key under which they were measured.
Values apply to runs with the same key only: device, driver, version, source, precision, size class and scheme. The
schema of the file is `store.schema.json` in this package.

A table holds nested objects, {"model": {"kernel": {"parameter": value}}}, and in "device" the properties of the device
of the measurements. The reference has all parameters, the table of another device only the values that differ from the
rules, and a user's table any values. Stored tables may have values for some runs only, "by_use": a list of entries as
in files of `eagre tune`, without their origin.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from eagre.errors import InputError
from eagre.layouts.declared import PARAMETERS
from eagre.layouts.gpu_properties import GpuProperties
from eagre.layouts.kinds import PRECISIONS, Kind, Problem, listed, number, whole
from eagre.names import nearest
from eagre.temporary import temporary_path

FORMAT = 1
SMALL_CELLS_A_SIDE = 512  # up to this size squared, launches and synchronisation cost more than memory traffic
WORDS = 10  # approximate number of values per cell used by a step of any model
CACHES = 16  # working set in units of the last-level cache from which a grid is large (no tail effects)
SIZES = ("small", "cache", "memory", "large")
PARTICULAR = ("small", "cache")  # size classes where the exact size matters: last wave of blocks, number of threads
NEAR = 0.01  # allowed relative difference of the numbers of cells in these classes
SCHEMA = "store.schema.json"  # schema of the files of `eagre.layouts.store`
CPU = "cpu.json"  # kernels on any CPU
REFERENCE = "nvidia-h200.json"  # table that the rules scale for devices without measurements
_SIZES: dict[str, Kind] = {
    "compute_capability": listed(whole(5, 99), whole(0, 99)),
    "multiprocessors": whole(1, 4096),
    "threads": whole(1024, 8192),
    "registers": whole(32768, 2**20),
    "shared": whole(16384, 2**24),
    "shared_block": whole(16384, 2**24),
    "l2": whole(0, 2**36),
    "bandwidth": number(0.0, 1e15),
}
BY_USE = "by_use"
ALLOWED = "a JSON table of launch parameters (docs/development/layouts.md)"


class Origin(NamedTuple):
    """Origin of a measurement: device and software."""

    device: str  # name and properties of the chip
    driver: str
    versions: str  # versions of the package and of the compilers
    source: str  # hashes of the kernel source, and of the user's table of launch parameters, if any


class Use(NamedTuple):
    """Use class of a measurement: model, scheme ("" for all), precision and size class."""

    model: str
    scheme: str
    precision: str
    size: str


@dataclass(frozen=True)
class Measured:
    """Result for one search space, also in shipped tables.

    Attributes
    ----------
    space : str
        Name of the space, "shallow-water.march".
    use : Use
    values : dict
        Launch parameters by key; empty if nothing was faster than the shipped values.
    same_bits : bool
        Whether results are bitwise identical to those of the shipped values.
    seconds : dict
        Seconds per step, "before" and "after".
    found : dict
        Further information: shape of the grid, date, numbers of variants.
    """

    space: str
    use: Use
    values: dict[str, Any]
    same_bits: bool
    seconds: dict[str, float]
    found: dict[str, Any] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        """Number of cells of the tuned grid; 0 if unknown."""
        return prod(self.found.get("shape") or [0])

    def serves(self, use: Use) -> bool:
        """Return whether the result applies to a run: same model, precision, size class, and scheme if given."""
        return self.use in (use, use._replace(scheme=""))


@dataclass(frozen=True)
class Entry(Measured):
    """Result found on this machine; `origin` : rest of its key."""

    origin: Origin = field(kw_only=True)

    @property
    def key(self) -> tuple[str, Use, Origin, int]:
        """Key by which entries replace one another."""
        return self.space, self.use, self.origin, self.cells if self.use.size in PARTICULAR else 0


@dataclass(frozen=True)
class Scheme:
    """Fastest scheme of whole runs; `seconds` : duration of a run by scheme."""

    use: Use
    origin: Origin
    scheme: str
    seconds: dict[str, float]

    @property
    def key(self) -> tuple[Use, Origin]:
        """Key by which entries replace one another."""
        return self.use, self.origin


class Store(NamedTuple):
    """Content of a file."""

    entries: tuple[Entry, ...] = ()
    schemes: tuple[Scheme, ...] = ()

    def adding(self, *new: Entry | Scheme) -> Store:
        """Return the store with additional entries, which replace entries with the same key."""
        entries = {one.key: one for one in (*self.entries, *(one for one in new if isinstance(one, Entry)))}
        schemes = {one.key: one for one in (*self.schemes, *(one for one in new if isinstance(one, Scheme)))}
        return Store(tuple(entries.values()), tuple(schemes.values()))


def size_class(cells: int, precision: str, cache: float) -> str:
    """Return the size class: "small", "cache" (working set fits the last-level cache, bytes), "memory" or "large"."""
    if cells <= SMALL_CELLS_A_SIDE**2:
        return "small"
    touched = WORDS * (4 if precision == "single" else 8) * cells
    return "cache" if touched <= cache else "memory" if touched <= CACHES * cache else "large"


def nearest_entries(entries: Iterable[Entry], cells: int) -> list[Entry]:
    """Return, for each space, the entry tuned on the grid closest in size, if it is close enough.

    In the classes `PARTICULAR` grids may differ by `NEAR` (decision 0080).
    """
    closest: dict[tuple[str, str], tuple[float, Entry]] = {}
    for entry in entries:
        apart = abs(entry.cells / cells - 1.0) if entry.cells and entry.use.size in PARTICULAR else 0.0
        key = entry.space, entry.use.scheme
        if apart <= NEAR and (key not in closest or apart < closest[key][0]):
            closest[key] = apart, entry
    return [entry for _, entry in closest.values()]


def folder() -> Path:
    """Return the folder of the files: ``EAGRE_TUNING``, or ``eagre/tuning`` in the user's data folder."""
    chosen = os.environ.get("EAGRE_TUNING")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "eagre" / "tuning"


def read(path: Path) -> Store:
    """Return the content of a file; empty if there is no file.

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
    """Replace a file atomically."""
    content = {
        "format": FORMAT,
        "entries": [_plain(one) for one in store.entries],
        "schemes": [_plain(one) for one in store.schemes],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_path(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        os.replace(temporary, path)


def add(path: Path, *new: Entry | Scheme) -> None:
    """Add entries to a file, replacing entries with the same key; safe for concurrent processes."""
    with _alone(path):
        write(path, read(path).adding(*new))


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Lock a file; a lock left by a killed process expires after five seconds."""
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
    content = asdict(one)
    return {**content, "use": one.use._asdict(), "origin": one.origin._asdict()}


def _entry(content: Any, name: str) -> Entry:
    result = measured(content, name, ("origin",))
    return Entry(**vars(result), origin=_origin(content, name))


def measured(content: Any, name: str, more: tuple[str, ...] = ()) -> Measured:
    """Return a checked entry of a file, without the keys `more`; `name` : location, for error messages."""
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
    details = content.get("found", {})
    _check(isinstance(details, dict), f"{name}.found", details, "an object")
    shape = details.get("shape", [])
    good = isinstance(shape, list) and all(isinstance(n, int) and n > 0 for n in shape)
    _check(good, f"{name}.found.shape", shape, "numbers of levels, rows and columns, [512, 512]")
    return Measured(content["space"], _use(content, name), values, content["same_bits"], seconds, details)


def _scheme(content: Any, name: str) -> Scheme:
    _check_keys(content, name, ("use", "origin", "scheme", "seconds"))
    _check(isinstance(content["scheme"], str), f"{name}.scheme", content["scheme"], "the name of a scheme")
    seconds = _times(content["seconds"], f"{name}.seconds")
    return Scheme(_use(content, name), _origin(content, name), content["scheme"], seconds)


def _use(content: dict[str, Any], name: str) -> Use:
    fields = content["use"]
    _check_keys(fields, f"{name}.use", Use._fields)
    use = Use(**fields)
    _check(use.precision in PRECISIONS, f"{name}.use.precision", use.precision, '"single" or "double"')
    _check(use.size in SIZES, f"{name}.use.size", use.size, '"small", "cache", "memory" or "large"')
    return use


def _origin(content: dict[str, Any], name: str) -> Origin:
    _check_keys(content["origin"], f"{name}.origin", Origin._fields)
    return Origin(**content["origin"])


def _times(times: Any, name: str) -> dict[str, float]:
    good = isinstance(times, dict) and all(isinstance(s, (int, float)) and s >= 0.0 for s in times.values())
    _check(good, name, times, "seconds by name, 0 or more")
    return times


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


class Table(NamedTuple):
    """Content of a file: device, values by key, and values for some runs."""

    device: dict[str, Any]
    values: dict[str, Any]
    by_use: tuple[Measured, ...] = ()


def stored(name: str) -> str:
    """Return the text of a stored table."""
    return (files("eagre.layouts") / name).read_text(encoding="utf-8")


def stored_names() -> list[str]:
    """Return the file names of the stored tables of all devices."""
    names = (entry.name for entry in files("eagre.layouts").iterdir())
    return sorted(name for name in names if name.endswith(".json") and name not in (CPU, SCHEMA))


def read_table(path: Path) -> Table:
    """Return a user's file after checks.

    Raises
    ------
    InputError
        For a file that cannot be read or has a key, type or value that is not allowed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}", allowed=ALLOWED, problem="The table cannot be read.") from None
    table = checked_table(text, str(path))
    if table.by_use:
        raise InputError(
            f"{path}: {BY_USE}",
            allowed="values for all runs; for values of some runs use eagre tune",
            fix="eagre tune",
            problem=f"A table of launch parameters must not contain {BY_USE}.",
        )
    return table


def checked_table(text: str, name: str) -> Table:
    """Return the table of a JSON string; see `read_table`."""
    try:
        content = json.loads(text, object_pairs_hook=lambda pairs: _without_doubles(pairs, name))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{name}, line {error.lineno}, column {error.colno}: {error.msg}",
            allowed=ALLOWED,
            problem="The table is not valid JSON.",
        ) from None
    except (RecursionError, ValueError) as error:  # deep nesting, or an integer of thousands of digits
        raise InputError(f"{name}: {error}", allowed=ALLOWED, problem="The table is not valid JSON.") from None
    if not isinstance(content, dict):
        allowed = '{"programs": {...}, "shallow-water": {...}, ...}'
        raise InputError(f"{name}: {_short(content)}", allowed=allowed, problem="The table is not a JSON object.")
    device = _checked_device(content.pop("device", {}), name)
    by_use = content.pop(BY_USE, [])
    if not isinstance(by_use, list):
        raise _error(name, Problem(BY_USE, by_use, "a list of entries (store.schema.json, shipped)"))
    entries = tuple(measured(one, f"{name}: {BY_USE}[{n}]") for n, one in enumerate(by_use))
    values: dict[str, Any] = {}
    _flatten(content, "", name, values)
    for key, value in values.items():
        problem = PARAMETERS[key].kind.problem(value, key)
        if problem is not None:
            raise _error(name, problem)
    return Table(device, values, entries)


def properties_of_table(device: dict[str, Any]) -> GpuProperties:
    """Return the device of a stored table."""
    return GpuProperties(**{**device, "compute_capability": tuple(device["compute_capability"])})


def _checked_device(device: Any, name: str) -> dict[str, Any]:
    if not isinstance(device, dict) or not isinstance(device.get("name", ""), str):
        raise _error(name, Problem("device", device, '{"name": "NVIDIA H200", ...}'))
    for key, value in device.items():
        if key != "name" and key not in _SIZES:
            raise _unknown(name, f"device.{key}", [f"device.{one}" for one in ("name", *_SIZES)])
        problem = _SIZES[key].problem(value, f"device.{key}") if key != "name" else None
        if problem is not None:
            raise _error(name, problem)
    return device


def _flatten(content: dict[str, Any], above: str, name: str, values: dict[str, Any]) -> None:
    """Store values by key; undeclared keys are an error."""
    for segment, value in content.items():
        key = f"{above}{segment}"
        if key in PARAMETERS:
            values[key] = value
        elif any(known.startswith(f"{key}.") for known in PARAMETERS):
            if not isinstance(value, dict):
                raise _error(name, Problem(key, value, "an object of parameters"))
            _flatten(value, f"{key}.", name, values)
        else:
            depth = above.count(".") + 1
            raise _unknown(name, key, [known for known in _keys_at(depth) if known.startswith(above)])


def _keys_at(depth: int) -> list[str]:
    return list(dict.fromkeys(".".join(key.split(".")[:depth]) for key in PARAMETERS))


def _without_doubles(pairs: list[tuple[str, Any]], name: str) -> dict[str, Any]:
    unique: dict[str, Any] = {}
    for key, value in pairs:
        if key in unique:
            raise InputError(
                f'{name}: "{key}" twice in one object',
                allowed="each key once",
                problem=f'The key "{key}" occurs twice.',
            )
        unique[key] = value
    return unique


def _unknown(name: str, key: str, allowed: list[str]) -> InputError:
    near = nearest(key, allowed)
    fix = f'"{near.rpartition(".")[2]}": ...' if near else ""
    problem = "The table contains an unknown key."
    return InputError(f"{name}: unknown key {key}", allowed=", ".join(allowed), fix=fix, problem=problem)


def _error(name: str, problem: Problem) -> InputError:
    return InputError(
        f"{name}: {problem.key} = {_short(problem.value)}", allowed=problem.allowed,
        problem=f"The value of {problem.key} is not allowed.",
    )  # fmt: skip


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
