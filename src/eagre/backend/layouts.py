"""Launch parameters in use on a device: measured table, rules, and the user's table.

Measured devices have a table in `eagre/layouts`. Other devices get values by rules from their properties. A user's file
replaces single values: the file named by ``EAGRE_LAYOUTS``, otherwise the file of the device in the user's data folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from eagre.errors import InputError
from eagre.layouts import store
from eagre.layouts.declared import PARAMETERS
from eagre.layouts.gpu_properties import GpuProperties
from eagre.layouts.store import Measured, Use


class Shipped(NamedTuple):
    """Values of a stored table that apply to some runs only, and the name of the table."""

    name: str = ""
    entries: tuple[Measured, ...] = ()

    def serving(self, use: Use) -> list[Measured]:
        """Return the entries for a use class: same model, scheme, precision and size class."""
        return [one for one in self.entries if one.serves(use)]


class LaunchParameters:
    """Values of all launch parameters on a device.

    Attributes
    ----------
    properties : GpuProperties
    values : dict
        Values by key, for all runs.
    source : str
        Origin of the values.
    user_keys : frozenset of str
        Keys of the user's table, which have priority.
    shipped : Shipped
        Values for some runs.
    """

    def __init__(
        self, properties: GpuProperties, values: dict[str, Any], source: str, user_keys: frozenset[str] = frozenset(),
        shipped: Shipped = Shipped(),  # noqa: B008 (immutable)
    ) -> None:  # fmt: skip
        self.properties, self.values, self.source = properties, values, source
        self.user_keys, self.shipped = user_keys, shipped
        self._kernels: dict[str, SimpleNamespace] = {}

    def of(self, kernel: str) -> SimpleNamespace:
        """Return the parameters of a kernel, "solver:poisson.columns", as attributes."""
        if kernel not in self._kernels:
            start = f"{kernel}."
            keys = (key for key in self.values if key.rpartition(".")[0] == kernel)
            parameters = {key[len(start) :]: self.values[key] for key in keys}
            if not parameters:
                raise KeyError(kernel)
            self._kernels[kernel] = SimpleNamespace(**parameters)
        return self._kernels[kernel]

    def over(self, values: Mapping[str, Any], source: str) -> LaunchParameters:
        """Return the parameters with other values, except those of the user's table.

        Raises
        ------
        InputError
            For values that the device does not support.
        """
        more = {key: value for key, value in values.items() if key not in self.user_keys}
        _check_fits(more, self.properties, source)
        return LaunchParameters(self.properties, {**self.values, **more}, source, self.user_keys, self.shipped)


@cache
def reference() -> tuple[GpuProperties, dict[str, Any]]:
    """Return the device whose measured values the rules scale, and these values, including those of CPUs."""
    measured = store.checked_table(store.stored(store.REFERENCE), store.REFERENCE)
    on_cpu = store.checked_table(store.stored(store.CPU), store.CPU)
    return store.properties_of_table(measured.device), {**measured.values, **on_cpu.values}


def usual_registers(precision: str) -> int:
    """Return the registers per thread of kernels without a specific limit, on the reference device."""
    return reference()[1]["programs.registers"][precision]


def by_rules(gpu: GpuProperties) -> dict[str, Any]:
    """Return the values for a device without measurements."""
    on, values = reference()
    return {key: PARAMETERS[key].rule(gpu, value, on) for key, value in values.items()}


def slug(name: str) -> str:
    """Return the name of a device for file names: NVIDIA H200, nvidia-h200."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def stored_for(gpu: GpuProperties) -> str | None:
    """Return the name of the measured table of a device; None for a partition or a variant of the device."""
    for name in store.stored_names():
        device = store.checked_table(store.stored(name), name).device
        chip = (device["multiprocessors"], tuple(device["compute_capability"]))
        same_name = f"{slug(gpu.name)}-".startswith(f"{slug(device['name'])}-")
        if same_name and chip == (gpu.multiprocessors, gpu.compute_capability):
            return name
    return None


def user_file(gpu: GpuProperties) -> Path | None:
    """Return the user's table for a device, if any.

    Raises
    ------
    InputError
        If ``EAGRE_LAYOUTS`` names a missing file.
    """
    chosen = os.environ.get("EAGRE_LAYOUTS")
    if chosen:
        path = Path(chosen).expanduser()
        if not path.is_file():
            raise InputError(
                f"EAGRE_LAYOUTS={chosen}, which is not a file", allowed="a JSON table of launch parameters",
                problem="The file named by EAGRE_LAYOUTS does not exist.",
            )  # fmt: skip
        return path
    home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    path = home / "eagre" / "layouts" / f"{slug(gpu.name)}.json"
    return path if path.is_file() else None


def parameters_of(gpu: GpuProperties) -> LaunchParameters:
    """Return the launch parameters in use on a device; files are read once, and again after changes."""
    path = user_file(gpu)
    return _parameters_of(gpu, path, path.stat().st_mtime_ns if path else 0)


@cache
def _parameters_of(gpu: GpuProperties, path: Path | None, _changed: int) -> LaunchParameters:
    name, values = stored_for(gpu), by_rules(gpu)
    user_values: dict[str, Any] = {}
    source, shipped = "rules, which give the values of the H200" if values == reference()[1] else "rules", Shipped()
    if name is not None:
        stored = store.checked_table(store.stored(name), name)
        shipped = Shipped(name, stored.by_use)
        values, source = {**values, **stored.values}, name if stored.values else source
    if path is not None:
        user_table = store.read_table(path)
        if slug(user_table.device.get("name", gpu.name)) == slug(gpu.name):
            user_values = user_table.values
            _check_fits(user_values, gpu, str(path))
            values, source = {**values, **user_values}, f"{path} ({len(user_values)} values), then {source}"
    return LaunchParameters(gpu, values, source, frozenset(user_values), shipped)


def _check_fits(values: dict[str, Any], gpu: GpuProperties, name: str) -> None:
    """Raise `InputError` for values that the device does not support."""
    for key, value in values.items():
        problem = PARAMETERS[key].fits(value, gpu)
        if problem:
            limits = f"{gpu.registers} registers and {gpu.shared_block} bytes of shared memory per block"
            raise InputError(
                f"{name}: {key}: {problem}", allowed=f"the limits of {gpu.name}: {limits}",
                problem="The launch parameters exceed the limits of the device.",
            )  # fmt: skip
