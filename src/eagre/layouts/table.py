"""Files of launch parameters: reading, checks, and conversion to values by key.

A file holds nested objects, {"model": {"kernel": {"parameter": value}}}, and in "device" the properties of the device
of the measurements. The reference has all parameters, the table of another device only the values that differ from the
rules, and a user's table any values. Stored tables may have values for some runs only, "by_use": a list of entries as
in files of `eagre tune`, without their origin.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from eagre.errors import InputError
from eagre.layouts.declared import PARAMETERS
from eagre.layouts.gpu_properties import GpuProperties
from eagre.layouts.kinds import Kind, Problem, listed, number, whole
from eagre.layouts.store import Measured, measured
from eagre.names import nearest

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
