"""What layouts are searched for: a model on a device, in a precision, on a grid; and where the timings are kept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from eagre.backend.device import Device
from eagre.backend.layouts import slug
from eagre.backend.origin import hash_of, origin_of
from eagre.backend.tuned import file_of, use_of
from eagre.bench.benchmark import subject_of
from eagre.bench.workload import use_of_model
from eagre.contract import Model
from eagre.layouts.store import Use
from eagre.tuning.journal import Journal
from eagre.tuning.space import Space
from eagre.tuning.spaces import SPACES

SIZES = {
    "shallow-water": {"cuda": (512, 768, 1024, 2048), "cpu": (256, 1024)},
    "shallow-water-adi": {"cuda": (256, 768, 1024, 2048, 4096), "cpu": (256, 1024)},
    "barotropic": {"cuda": (257, 769, 1025, 2049, 4097), "cpu": (257, 1025)},
    "potential-waves": {"cuda": (1025, 3457), "cpu": (257,)},
    "anelastic": {"cuda": (64, 96, 256), "cpu": (64, 128)},
}
"""Cells or points a side on which a model is tuned; of a class of sizes the last (`sizes_of`). Few are "large": such a
search takes long, and the shipped values of the explicit model were chosen there."""
WHOLE_RUNS = "whole runs of schemes"  # name of the timings of `eagre.bench.tuner_schemes`
TIMED = (
    "bench",
    "cases",
    "config",
    "io",
    "tuning",
    "waves",
)  # folders of what is timed: set-ups, cases, clocks, searches


@dataclass(frozen=True)
class Target:
    """What values of layouts are searched for.

    Attributes
    ----------
    device : Device
    use : Use
        Runs that take what is found, of all schemes.
    shape : tuple of int
        (nz,) ny, nx of what is timed.
    case : str
        What is timed, if it is not the benchmark: a case's name.
    content : str
        Hash of that case: timings of another one of the same name do not count.
    """

    device: Device
    use: Use
    shape: tuple[int, ...]
    case: str = ""
    content: str = ""

    def use_of(self, space: Space) -> Use:
        """Runs that take what is found in a space: of its scheme only, if it has one."""
        return self.use._replace(scheme=space.scheme)

    def path(self, name: str, scheme: str = "") -> Path:
        """Where timings lie that have a name: in a folder beside the store."""
        parts = name, self.use.model, scheme, self.use.precision, "x".join(map(str, self.shape)), self.case
        return file_of(self.device).with_suffix("") / f"{slug('-'.join(parts))}.jsonl"

    def journal(self, name: str, scheme: str = "") -> Journal:
        """What was timed before under a name, that of a space or `WHOLE_RUNS`."""
        use, origin = self.use._replace(scheme=scheme), origin_of(self.device, self.use.model)
        return Journal(self.path(name, scheme), name, use, origin, self.shape, self.content, timed_source())


@cache
def timed_source() -> str:
    """Hash of the source of what searches time, beside that of the kernels, and of how they do it."""
    return hash_of(Path(__file__).resolve().parents[1], TIMED)


def sizes_of(kind: str, device: Device, precision: str) -> list[int]:
    """Cells or points a side on which a model is tuned unless others are asked for: one of each class of sizes."""
    by_class = {target_at(kind, device, precision, size).use.size: size for size in SIZES[kind][device.kind]}
    return list(by_class.values())


def target_at(kind: str, device: Device, precision: str, size: int) -> Target:
    """What is searched for on a model's benchmark with so many cells or points a side."""
    variant = next(space.variant for space in SPACES if space.model == kind)  # of all of them the same shape
    shape = subject_of(kind).shape(size, variant)
    return Target(device, use_of(device, kind, "", precision, prod(shape)), shape)


def check_sizes(kind: str, sizes: Sequence[int]) -> None:
    """Raise `InputError` for sizes with too few points for the benchmark on which a model is tuned."""
    subject = subject_of(kind)
    for variant in {space.variant for space in SPACES if space.model == kind}:
        for size in sizes:
            subject.check_size(size, variant)


def target_of(case: Any, model: Model, device: Device) -> Target:
    """What is searched for on a case, of which a model was built."""
    return Target(device, use_of_model(model, device, ""), shape_of(model), case.name, content_of(case))


def content_of(case: Any) -> str:
    """Hash of a case's text, and of the sizes and times of the files that it reads."""
    read = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in case.inputs]
    return hashlib.sha256(repr((case.text, read)).encode()).hexdigest()[:12]


def shape_of(model: Model) -> tuple[int, ...]:
    """(nz,) ny, nx of a model."""
    return (*([] if model.levels is None else [model.levels.height.size]), *model.grid.shape)
