"""Device selection: the requested device, without fallback."""

from __future__ import annotations

import copyreg
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from eagre.backend.cuda.driver import driver_version, extra_for
from eagre.backend.device import CpuDevice, Device, HostArrays
from eagre.backend.group import Group
from eagre.backend.layouts import LaunchParameters
from eagre.errors import DeviceError, InputError


@cache
def _cpu() -> CpuDevice:
    return CpuDevice()


@cache
def _cuda(index: int) -> Device:
    from eagre.backend.cuda.device import CudaDevice

    copyreg.pickle(CudaDevice, _by_name)
    return CudaDevice(index)


def _by_name(device: Any) -> Any:
    """Pickle a device by name: another process uses its own device."""
    name = device.kind if device.kind == "cpu" else f"cuda:{device.index}"
    return (select, (name,)) if device.laid_out is None else (_with_parameters, (name, device.laid_out))


def _with_parameters(name: str, laid_out: LaunchParameters) -> Device:
    """Return a device of this process with the launch parameters of a pickled one."""
    clone = select(name).with_parameters({}, laid_out.source)
    clone.laid_out = laid_out
    return clone


copyreg.pickle(CpuDevice, _by_name)


def cuda_problem() -> str | None:
    """Return the reason why CUDA is not available, or None."""
    try:
        from eagre.backend.cuda.device import problem
    except ImportError as error:
        extra = extra_for(driver_version()) or "cuda"
        return f"{error}; install with: pip install 'eagre[{extra}]'"
    return problem()


def device_of(array: Any) -> Device:
    """Return the device of an array: the CPU for NumPy, the GPU for CuPy."""
    if hasattr(array, "__cuda_array_interface__"):
        return select(f"cuda:{array.device.id}")
    return _cpu()


def select(device: str | Device = "auto") -> Device:
    """Return the device with a given name.

    Parameters
    ----------
    device : str or Device
        ``"cpu"``, ``"cuda"`` or ``"cuda:1"``; ``"auto"`` selects the first working GPU, otherwise the CPU, and states
        this in the name of the device.

    Raises
    ------
    DeviceError
        If a requested GPU is not available; there is no fallback.
    """
    if isinstance(device, Device):
        return device
    if (isinstance(device, str) and "," in device) or isinstance(device, (list, tuple, Group)):
        raise InputError(
            f"device = {device!r}",
            allowed="one device",
            fix='device = "cuda"',
            problem="Multi-device execution is not supported here.",
        )
    if not isinstance(device, str):
        raise _no_device(device)
    if device == "cpu":
        return _cpu()
    match = re.fullmatch(r"cuda(?::(\d+))?", device)
    if match:
        reason = cuda_problem()
        if reason:
            raise DeviceError(
                f'The device {device} is not available: {reason}.\ngot device = {device!r}\nwrite:   device = "cpu"'
            )
        return _cuda(int(match.group(1) or 0))
    if device == "auto":
        return _cuda(0) if cuda_problem() is None else _cpu()
    raise _no_device(device)


def _no_device(device: object) -> InputError:
    return InputError(
        f"device = {device!r}",
        allowed='"auto", "cpu", "cuda", "cuda:N" or a device of eagre',
        fix='device = "auto"',
        problem="This value names no device.",
    )


def select_devices(device: str | Device | Group | Sequence[str | Device]) -> Device | Group:
    """Return one device, or a `Group` of several devices for one run.

    Parameters
    ----------
    device : str, Device, Group, or a sequence of devices
        See `select`; several devices as ``["cuda:0", "cuda:1"]`` or ``"cuda:0,cuda:1"``. A device that is named twice
        gets two parts.

    Raises
    ------
    InputError
        For "auto" among several devices, or devices of different kinds.
    DeviceError
        If a device is not available.
    """
    if isinstance(device, Group):
        return device
    items = device.split(",") if isinstance(device, str) else device
    named: list[Any] = list(items) if isinstance(items, (list, tuple)) else [device]
    if not named or (len(named) > 1 and not all(isinstance(one, (str, Device)) for one in named)):
        raise _no_device(device)
    requested = [name.strip() if isinstance(name, str) else name for name in named]
    if len(requested) == 1:
        return select(requested[0])
    kinds = {name.partition(":")[0] if isinstance(name, str) else name.kind for name in requested}
    if len(kinds) != 1 or "auto" in kinds:
        names = ",".join(map(str, requested))
        raise InputError(
            f"device = {names!r}",
            allowed="several devices of one kind, each by its name",
            fix='device = "cuda:0,cuda:1"',
            problem="The devices of a group differ in kind, or are not named by strings.",
        )
    devices = [select(name) for name in requested]
    if isinstance(devices[0], HostArrays):
        return Group(devices)
    from eagre.backend.cuda.group import CudaGroup

    return CudaGroup(devices)
