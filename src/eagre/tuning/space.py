"""Search spaces of launch parameters: axes, constraints and pruning.

Models and solvers declare their spaces (`eagre.tuning.spaces`). A choice sets values of some axes of a space; all other
axes keep the shipped values, so ``{}`` is the untuned default.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from eagre.layouts.declared import PARAMETERS
from eagre.layouts.gpu_properties import MAX_REGISTERS, GpuProperties
from eagre.layouts.store import SIZES

Choice = Mapping[str, Any]
Values = dict[str, Any]


class DeviceInfo(NamedTuple):
    """Device on which a space is searched."""

    kind: str  # "cuda" or "cpu"
    properties: GpuProperties
    threads: int  # number of CPU threads; 0 for a GPU


def as_it_is(value: Any, precision: str) -> Any:
    """Return the value."""
    return value


def nothing_excluded(choice: Choice, device: DeviceInfo, precision: str) -> str:
    """Allow every choice."""
    return ""


@dataclass(frozen=True)
class Axis:
    """Axis of a search space.

    Attributes
    ----------
    name : str
        Description: "registers of the first stage".
    paths : tuple of str
        Location of the value in a table, "shallow-water.march.registers#{precision}.first": key, and after # the path
        within its value (list items by index).
    values : callable (device, precision)
        Values to try.
    entry_of : callable (value, precision)
        Converts a value to a table entry; the value itself by default.
    """

    name: str
    paths: tuple[str, ...]
    values: Callable[[DeviceInfo, str], Sequence[Any]]
    entry_of: Callable[[Any, str], Any] = as_it_is


@dataclass(frozen=True)
class Space:
    """Search space: axes that affect the same kernels and are searched together.

    Attributes
    ----------
    name : str
        Name of the space: "shallow-water.march".
    model : str
        Model whose steps are timed.
    variant : str
        Variant of the model's benchmark (`eagre.laboratory.bench`).
    axes : tuple of Axis
    scheme : str
        Scheme of the result, if schemes of the model have separate kernels; "" for all.
    kinds, sizes : tuple of str
        Device kinds and size classes that use the kernels.
    excluded : callable (choice, device, precision)
        Reason for skipping a choice (constraint or pruning rule), or "".
    checked : int
        Maximum number of cells or points per side of the grid on which variants are compiled and verified.
    covering : callable (choice), optional
        Whether a choice belongs to a set that contains all programs of the space; these are compiled before the search.
        Without it the next choices are compiled in parallel.
    """

    name: str
    model: str
    variant: str
    axes: tuple[Axis, ...]
    scheme: str = ""
    kinds: tuple[str, ...] = ("cuda",)
    sizes: tuple[str, ...] = SIZES
    excluded: Callable[[Choice, DeviceInfo, str], str] = nothing_excluded
    checked: int = 1024
    covering: Callable[[Choice], bool] | None = None

    def values(self, choice: Choice, shipped: Mapping[str, Any], precision: str) -> Values:
        """Return launch parameters by key: the shipped values with the values of a choice."""
        values: Values = {}
        for axis in self.axes:
            if axis.name in choice:
                for path in axis.paths:
                    key, _, way = path.partition("#")
                    steps = [step.format(precision=precision) for step in way.split(".") if step]
                    whole = values.setdefault(key, copy.deepcopy(shipped[key]))
                    values[key] = _put(whole, steps, axis.entry_of(choice[axis.name], precision))
        return {key: value for key, value in values.items() if value != shipped[key]}

    def problem(self, choice: Choice, values: Values, device: DeviceInfo, precision: str) -> str:
        """Return the reason why a choice with these launch parameters is not tried, or ""."""
        for key, value in values.items():
            problem = PARAMETERS[key].kind.problem(value, key)
            if problem is not None:
                return f"{problem.key}: {problem.allowed}"
            if misfit := PARAMETERS[key].fits(value, device.properties):
                return f"{key}: {misfit}"
        return self.excluded(choice, device, precision)

    def count(self, device: DeviceInfo, precision: str) -> int:
        """Return the number of choices before exclusions."""
        return prod(1 + len(axis.values(device, precision)) for axis in self.axes)

    def choices(self, shipped: Mapping[str, Any], device: DeviceInfo, precision: str) -> list[Choice]:
        """Return all choices worth a trial, the untuned one first; one choice per set of launch parameters."""
        unique: dict[str, Choice] = {identity({}): {}}
        lists = [[None, *axis.values(device, precision)] for axis in self.axes]
        for chosen in itertools.product(*lists):
            names = (axis.name for axis in self.axes)
            choice = {name: value for name, value in zip(names, chosen, strict=True) if value is not None}
            values = self.values(choice, shipped, precision)
            if (key := identity(values)) not in unique and not self.problem(choice, values, device, precision):
                unique[key] = choice
        return list(unique.values())


def identity(values: Mapping[str, Any]) -> str:
    """Return launch parameters in a canonical form."""
    return json.dumps(values, sort_keys=True)


def describe(choice: Choice) -> str:
    """Return a description of a choice."""
    return ", ".join(f"{name} {_short(value)}" for name, value in choice.items()) or "as shipped"


def always(*values: Any) -> Callable[[DeviceInfo, str], Sequence[Any]]:
    """Return a function that gives the same values on all devices."""
    return lambda device, precision: values


def by_precision(single: Sequence[Any], double: Sequence[Any]) -> Callable[[DeviceInfo, str], Sequence[Any]]:
    """Return a function that gives values by precision."""
    return lambda device, precision: single if precision == "single" else double


def registers(low: Mapping[str, int], high: int = MAX_REGISTERS) -> Callable[[DeviceInfo, str], Sequence[int]]:
    """Return register limits per thread worth a trial: the maximum for each occupancy.

    Registers are allocated per warp; a limit that does not increase the occupancy only causes spills. `low` : minimum
    by precision.
    """

    def values(device: DeviceInfo, precision: str) -> Sequence[int]:
        per_lane = device.properties.registers_per_lane
        upper = min(high, MAX_REGISTERS) // 8 * 8
        return [r for r in range(low[precision], upper + 1, 8) if r + 8 > upper or per_lane // (r + 8) < per_lane // r]

    return values


def _put(whole: Any, way: Sequence[str], value: Any) -> Any:
    """Return a value with one nested item replaced."""
    if not way:
        return value
    key: Any = int(way[0]) if isinstance(whole, list) else way[0]
    whole[key] = _put(whole[key], way[1:], value)
    return whole


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return "x".join(map(str, value))
    return "/".join(map(str, value.values())) if isinstance(value, dict) else str(value)
