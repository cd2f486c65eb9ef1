"""Origin of kernels: chip, driver, compilers and source, used as key of tuned values."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from eagre.backend.cuda.driver import driver_version
from eagre.layouts.store import Origin

if TYPE_CHECKING:
    from eagre.backend.device import Device

COMPILERS = ("numba", "llvmlite", "numba-cuda")
SHARED = ("advection", "backend", "boundaries", "kernels", "layouts", "solvers", "stepping", "terms")
CPU_CACHE = 32e6  # assumed last-level cache, bytes
_DRIVER = Path("/proc/driver/nvidia/version")


def chip_name(device: Device) -> str:
    """Return the name of the chip: "NVIDIA H200", or the processor."""
    if device.kind == "cuda":
        return re.sub(r"^cuda:\d+ \((.*)\)$", r"\1", device.name)
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        match = None
    return match.group(1).strip() if match else platform.processor() or platform.machine()


def driver_number() -> str:
    """Return the version of the NVIDIA driver; otherwise its newest CUDA version, or "none"."""
    try:
        number = re.search(r"\s(\d+\.\d+(?:\.\d+)?)\s", _DRIVER.read_text())
    except OSError:
        number = None
    if number:
        return number.group(1)
    known = driver_version()
    return "none" if known is None else f"CUDA {known[0]}.{known[1]}"


def cache_bytes(device: Device) -> float:
    """Return the size of the last-level cache."""
    return CPU_CACHE if device.kind == "cpu" else device.properties.l2


@cache
def versions() -> str:
    """Return the versions of the package and of the compilers."""
    labels = [f"eagre {sys.modules['eagre'].__version__}"]
    for name in COMPILERS:
        try:
            labels.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(labels)


@cache
def source_hash(kind: str) -> str:
    """Return the hash of all modules and tables that affect the kernels of a model."""
    root = Path(__file__).resolve().parents[2]
    return hash_of(root, (*SHARED, f"models/{kind.replace('-', '_')}"))


def hash_of(root: Path, folders: Iterable[str]) -> str:
    """Return the first 12 digits of the hash of all modules and tables in folders."""
    digest = hashlib.sha256()
    files = {name: [path for path in (root / name).rglob("*") if path.suffix in (".py", ".json")] for name in folders}
    if empty := [name for name, paths in files.items() if not paths]:
        raise FileNotFoundError(f"no source in {', '.join(empty)} below {root}")
    for path in sorted(path for paths in files.values() for path in paths):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def origin_of(device: Device, kind: str) -> Origin:
    """Return the origin of the kernels of a model on a device."""
    source = source_hash(kind) + _user_table_hash(device)
    if device.kind == "cuda":
        chip = f"{chip_name(device)}, {device.properties.multiprocessors} multiprocessors"
        return Origin(chip, driver_number(), versions(), source)
    chip = f"{chip_name(device)}, {getattr(device, 'threads', 1)} threads"
    return Origin(chip, "none", versions(), source)


def _user_table_hash(device: Device) -> str:
    """Return the hash of the user's table of launch parameters; "" without one."""
    values = {key: device.table.values[key] for key in device.table.user_keys}
    return f"+{hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]}" if values else ""
