"""CPU states of small runs: hashes of all bits, a few numbers per field, and the machine for which the hashes hold."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

from eagre.errors import InputError

STEPS, RESTART_STEP = 6, 3  # steps of a run, and steps before its restart
DEVICES = (2, 3)
LIBRARIES = ("numpy", "scipy", "numba", "llvmlite")


def digest(*values: Any) -> str:
    """Return a short hash of arrays and strings."""
    whole = hashlib.sha256()
    for value in values:
        whole.update(value.encode() if isinstance(value, str) else np.ascontiguousarray(value).tobytes())
    return whole.hexdigest()[:16]


def machine() -> dict[str, str]:
    """Return the properties on which bits depend: processor as Numba sees it, C library and library versions."""
    from numba.core.registry import cpu_target

    context: Any = cpu_target.target_context
    _, name, features = context.codegen().magic_tuple()
    versions = {library: version(library) for library in LIBRARIES}
    return {"cpu": name, "features": features, "libc": " ".join(platform.libc_ver()), **versions}


def named_hash(arrays: dict[str, Any]) -> str:
    """Return the hash of arrays with their names."""
    return digest(*(value for name in sorted(arrays) for value in (name, arrays[name])))


def fields_of(model: Any) -> dict[str, np.ndarray]:
    """Return the fields that change with time."""
    return {name: model.field(name) for name, one in model.variables.items() if not one.static}


def maps_of(model: Any) -> dict[str, np.ndarray]:
    """Return the maps of maxima and the time statistics."""
    maps = getattr(model, "maps", None)
    return {} if maps is None else {name: np.asarray(values) for name, values in maps.sample().items()}


def numbers_of(fields: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """Return the root mean square and a weighted mean of every field; values that are not finite count as 0."""
    numbers = {}
    for name, values in fields.items():
        if not values.size or "time" in name:  # times of an event change by whole steps
            continue
        flat = np.nan_to_num(values.astype(float).ravel(), posinf=0.0, neginf=0.0)
        weights = np.cos(0.7 * np.arange(flat.size))  # changes if two values are exchanged
        pair = [float(np.sqrt(np.mean(flat**2))), float(np.mean(weights * flat))]
        numbers[name] = [float(f"{value:.13g}") for value in pair]
    return numbers


def advanced(model: Any, steps: int, start: float) -> Any:
    """Return a model after some steps towards a time that it does not reach."""
    model.advance(start, max_steps=steps)
    return model


def different(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Return the names of arrays that differ in any bit."""
    return sorted(name for name in first if digest(first[name]) != digest(second[name]))


def state_record(make: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the record of a run, of a restart in its middle and of the same run on several devices.

    make : function of the device
    """
    model, interrupted, restarted = make("cpu"), make("cpu"), make("cpu")
    end = model.time + 20.0 * model.time_step
    advanced(model, STEPS, end)
    restarted.restore(advanced(interrupted, RESTART_STEP, end).state())
    advanced(restarted, STEPS - RESTART_STEP, end)
    state, again = model.state(), restarted.state()  # fields and maps may start the next step of potential waves
    fields, maps = fields_of(model), maps_of(model)
    multi_device = {}
    for count in DEVICES:
        try:
            other = make(",".join(["cpu"] * count))
        except InputError:  # not supported by this set-up
            continue
        values = fields_of(advanced(other, STEPS, end))
        multi_device[str(count)] = {"fields": named_hash(values), "numbers": numbers_of(values)}
    return {
        "hashes": {"state": named_hash(state), "fields": named_hash(fields), "maps": named_hash(maps)},
        "numbers": numbers_of(fields | {f"map {name}": values for name, values in maps.items()}),
        "restart differs in": different(state | fields, again | fields_of(restarted)),
        "several": multi_device,
    }
