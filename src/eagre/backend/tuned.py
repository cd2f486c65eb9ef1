"""Selection of tuned launch parameters for a run, with a description of their origin.

Values of the store (`eagre.layouts.store`) apply to the device, driver, versions, source, precision, size class and
scheme under which they were measured, and on small grids only to similar numbers of cells. All other parameters have
the shipped values: values of the device's table for runs of this model, scheme, precision and size, otherwise for all
runs, otherwise values by rules (docs/development/decisions/0035, 0064, 0080).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from eagre.backend.compilation.origin import cache_bytes, chip_name, origin_of
from eagre.backend.device import Device
from eagre.backend.group import Group
from eagre.backend.layouts import slug
from eagre.backend.select import select_devices
from eagre.errors import InputError
from eagre.layouts import store
from eagre.layouts.store import Measured, Origin, Use

MODES = ("auto", "same-bits", "off")
_PARTS = {"device": "device", "driver": "driver", "versions": "version", "source": "source"}  # names of parts


class Chosen(NamedTuple):
    """Device with launch parameters, and a description of their origin."""

    device: Any
    words: str
    tuned: bool = False  # whether values of the store are used

    @property
    def threads(self) -> int:
        """Number of CPU threads found best by tuning; 0 without tuning."""
        return self.device.parameters("cpu.programs").threads if self.tuned and self.device.kind == "cpu" else 0


def file_of(device: Device) -> Path:
    """Return the file of tuned values of a device."""
    return store.folder() / f"{slug(chip_name(device))}.json"


def use_of(device: Device, kind: str, scheme: str, precision: str, cells: int) -> Use:
    """Return the use class of a run: model, scheme, precision and size class."""
    return Use(kind, scheme, precision, store.size_class(cells, precision, cache_bytes(device)))


def chosen(
    device: str | Device | Sequence[str | Device], kind: str, cells: int, precision: str, scheme: str = "",
    tuning: str = "auto",
) -> Chosen:  # fmt: skip
    """Return the device for a run with its tuned launch parameters, and a description of their origin.

    Parameters
    ----------
    device : str, Device or sequence of them
        See `eagre.backend.select.select_devices`.
    kind : str
        Name of the model, "shallow-water".
    cells : int
        Number of cells, including levels.
    precision : {"single", "double"}
    scheme : str
        Scheme, if schemes of the model have separate kernels: "rk2".
    tuning : {"auto", "same-bits", "off"}
        "same-bits" excludes values that change rounding, "off" excludes all tuned values.

    Raises
    ------
    InputError
        For an unknown `tuning`, an unavailable device, or an invalid file of tuned values.
    """
    if tuning not in MODES:
        raise InputError(f"tuning = {tuning!r}", allowed=", ".join(map(repr, MODES)), fix='tuning = "auto"')
    selected = select_devices(device)
    if isinstance(selected, Group):
        cells_each = _cells_per_device(cells, selected)
        choices = {item: _one(item, kind, cells_each, precision, scheme, tuning) for item in selected.devices}
        first = choices[selected.devices[0]]
        tuned = any(one.tuned for one in choices.values())
        return Chosen(_of(selected, [choices[one].device for one in selected.devices]), first.words, tuned)
    return _one(selected, kind, cells, precision, scheme, tuning)


def device_for(
    device: str | Device | Group | Sequence[str | Device], kind: str, cells: int, precision: str, scheme: str = ""
) -> Any:
    """Return the device of a new model with the shipped values for its use class; explicit layouts are kept.

    Parameters are those of `chosen`; tuned values of the store are not used.

    Returns
    -------
    Device or Group
    """
    selected = select_devices(device)
    if isinstance(selected, Group):
        cells_each = _cells_per_device(cells, selected)
        devices = {one: shipped_for(one, use_of(one, kind, scheme, precision, cells_each)) for one in selected.devices}
        return _of(selected, [devices[one] for one in selected.devices])
    return shipped_for(selected, use_of(selected, kind, scheme, precision, cells))


def shipped_for(device: Device, use: Use) -> Device:
    """Return a device with the shipped values for a use class, or the device itself without such values."""
    values = shipped_values(device, use)
    return device.with_parameters(values, device.table.shipped.name) if values else device


def shipped_values(device: Device, use: Use) -> dict[str, Any]:
    """Return the shipped values that apply to a use class only, by key."""
    if device.kind == "cpu" or device.laid_out is not None:
        return {}
    return {key: value for entry in device.table.shipped.serving(use) for key, value in entry.values.items()}


def _cells_per_device(cells: int, group: Group) -> int:
    """Return the number of cells per device."""
    return -(-cells // len(group.devices))


def _of(group: Group, devices: list[Device]) -> Group:
    """Return a group of other devices, or the group itself if they are the same."""
    same = all(one is other for one, other in zip(devices, group.devices, strict=True))
    return group if same else type(group)(devices)


def scheme_for(device: Any, kind: str, cells: int, precision: str, usual: str, tuning: str = "auto") -> tuple[str, str]:
    """Return the scheme that was fastest in whole runs of this model, precision and size, and a description.

    The result is `usual` without measurements, or if `tuning` is not "auto": results of schemes differ.
    """
    one = select_devices(device)
    if isinstance(one, Group):
        cells, one = _cells_per_device(cells, one), one.devices[0]
    if tuning != "auto":
        return usual, f'scheme {usual}: tuning = "{tuning}"'
    key = (use_of(one, kind, "", precision, cells), origin_of(one, kind))
    timed = next((scheme for scheme in store.read(file_of(one)).schemes if scheme.key == key), None)
    if timed is None:
        return usual, f"scheme {usual}: schemes not timed for {_size(key[0])} (eagre tune {kind})"
    times = ", ".join(f"{name} {seconds:.3g} s" for name, seconds in timed.seconds.items())
    return timed.scheme, f"scheme {timed.scheme}: fastest in whole runs ({times})"


def kept_for(device: Device) -> str:
    """Return a description of the tuned values of a device: valid searches, and searches of other versions."""
    path = file_of(device)
    entries = store.read(path).entries
    valid = [entry for entry in entries if entry.origin == origin_of(device, entry.use.model)]
    if not entries:
        return "shipped values (eagre tune --all measures this device)"
    faster = sum(bool(entry.values) for entry in valid)
    summary = f"{faster} of {len(valid)} searches found faster values" if valid else "no valid results for this device"
    others = len(entries) - len(valid)
    return f"{summary}{f'; {others} of another driver, version or source are ignored' if others else ''} ({path})"


def _one(device: Device, kind: str, cells: int, precision: str, scheme: str, tuning: str) -> Chosen:
    path, use = file_of(device), use_of(device, kind, scheme, precision, cells)
    shipped = _shipped(device, use)
    device = shipped_for(device, use)
    if tuning == "off":
        return Chosen(device, f'{shipped}; tuning = "off"')
    matching = [entry for entry in store.read(path).entries if entry.serves(use)]
    if not matching:
        return Chosen(device, f"{shipped} (eagre tune measures this device for {_size(use)})")
    origin = origin_of(device, kind)
    valid = [entry for entry in matching if entry.origin == origin]
    if not valid:
        other = _other(matching[-1].origin, origin)
        return Chosen(device, f"{shipped}; tuned values not used: measured with {other} (eagre tune)")
    near = store.nearest_entries(valid, cells)
    if not near:
        shapes = ", ".join(dict.fromkeys(" x ".join(map(str, entry.found["shape"])) for entry in valid))
        note = f"tuned for {_size(use)} on {shapes}: not used: the grid sizes differ too much (eagre tune case.toml)"
        return Chosen(device, f"{shipped}; {note}")
    usable = [entry for entry in near if entry.same_bits or tuning == "auto"]
    values = {key: value for entry in usable for key, value in entry.values.items()}
    if not values:
        return Chosen(device, f"{shipped}; no faster values found for {_size(use)}")
    note = f"tuned for {_size(use)}: {_descriptions(usable)} ({path})"
    return Chosen(device.with_parameters(values, str(path)), note, True)


def _shipped(device: Device, use: Use) -> str:
    if device.kind == "cpu":
        return "shipped values"
    source, shipped = device.table.source, device.table.shipped
    if device.laid_out is None and (entries := shipped.serving(use)):
        return f"values shipped for {_size(use)}: {_descriptions(entries)} ({shipped.name})"
    return f"shipped values ({source})" if source.startswith("nvidia") else f"values by {source}"


def _size(use: Use) -> str:
    return f"{use.precision} precision, size {use.size}" + (f", {use.scheme}" if use.scheme else "")


def _descriptions(entries: Sequence[Measured]) -> str:
    """Return a description of the tuned values, one part per search space."""
    descriptions = []
    for entry in entries:
        if entry.values:
            shipped, tuned = entry.seconds.get("before", 0.0), entry.seconds.get("after", 0.0)
            gain = f" {shipped / tuned - 1.0:+.0%}" if tuned > 0.0 else ""
            descriptions.append(f"{entry.found.get('best') or entry.space}{gain}")
    return "; ".join(descriptions)


def _other(measured: Origin, current: Origin) -> str:
    """Return the parts in which two origins differ."""
    apart = [name for name in Origin._fields if getattr(measured, name) != getattr(current, name)]
    return ", ".join(f"another {_PARTS[name]} ({getattr(measured, name)})" for name in apart)
