"""Targets of a search: model, device, precision and grid; and the location of the timings."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from eagre.backend.compilation.origin import hash_of, origin_of
from eagre.backend.device import Device
from eagre.backend.layouts import slug
from eagre.backend.tuned import file_of, use_of
from eagre.contract import Model
from eagre.laboratory.bench.benchmark import subject_of
from eagre.laboratory.bench.tuning.workload import use_of_model
from eagre.layouts.store import Use
from eagre.tuning.journal import Journal
from eagre.tuning.spaces import SPACES, Space

SIZES = {
    "shallow-water": {"cuda": (512, 768, 1024, 2048), "cpu": (256, 1024)},
    "shallow-water-adi": {"cuda": (256, 768, 1024, 2048, 4096), "cpu": (256, 1024)},
    "barotropic": {"cuda": (257, 769, 1025, 2049, 4097), "cpu": (257, 1025)},
    "potential-waves": {"cuda": (1025, 3457), "cpu": (257,)},
    "anelastic": {"cuda": (64, 96, 256), "cpu": (64, 128)},
}
"""Cells or points per side for tuning; the last of each size class is used (`sizes_of`). Few sizes are "large": such
searches take long, and the shipped values of the explicit model were chosen there.
"""
WHOLE_RUNS = "whole runs of schemes"  # name of the journal of `eagre.laboratory.bench.tuning.schemes`
TIMED = ("config", "io", "laboratory/bench", "laboratory/cases", "tuning", "waves")
"""Folders of timed code: set-ups, cases, clocks, searches."""


@dataclass(frozen=True)
class Target:
    """Target of a search.

    Attributes
    ----------
    device : Device
    use : Use
        Use class of the results, for all schemes.
    shape : tuple of int
        Shape (nz,) ny, nx of the timed model.
    case : str
        Name of the timed case; empty for the benchmark.
    content : str
        Hash of the case: timings of another case of the same name are ignored.
    """

    device: Device
    use: Use
    shape: tuple[int, ...]
    case: str = ""
    content: str = ""

    def use_of(self, space: Space) -> Use:
        """Return the use class of the results of a space, with its scheme if it has one."""
        return self.use._replace(scheme=space.scheme)

    def path(self, name: str, scheme: str = "") -> Path:
        """Return the path of the timings with a name, in a folder next to the store."""
        name_items = name, self.use.model, scheme, self.use.precision, "x".join(map(str, self.shape)), self.case
        return file_of(self.device).with_suffix("") / f"{slug('-'.join(name_items))}.jsonl"

    def journal(self, name: str, scheme: str = "") -> Journal:
        """Return the journal with a name: a space or `WHOLE_RUNS`."""
        use, origin = self.use._replace(scheme=scheme), origin_of(self.device, self.use.model)
        return Journal(self.path(name, scheme), name, use, origin, self.shape, self.content, timed_source())


@cache
def timed_source() -> str:
    """Return the hash of the timed source other than kernels, and of the timing method."""
    return hash_of(Path(__file__).resolve().parents[3], TIMED)


def sizes_of(kind: str, device: Device, precision: str) -> list[int]:
    """Return the default cells or points per side for tuning: one per size class."""
    by_class = {target_at(kind, device, precision, size).use.size: size for size in SIZES[kind][device.kind]}
    return list(by_class.values())


def target_at(kind: str, device: Device, precision: str, size: int) -> Target:
    """Return the target for a model's benchmark at a size."""
    variant = next(space.variant for space in SPACES if space.model == kind)  # all variants have the same shape
    shape = subject_of(kind).shape(size, variant)
    return Target(device, use_of(device, kind, "", precision, prod(shape)), shape)


def check_sizes(kind: str, sizes: Sequence[int]) -> None:
    """Raise `InputError` for sizes with too few points for the benchmark on which a model is tuned."""
    subject = subject_of(kind)
    for variant in {space.variant for space in SPACES if space.model == kind}:
        for size in sizes:
            subject.check_size(size, variant)


def target_of(case: Any, model: Model, device: Device) -> Target:
    """Return the target for a case whose model was built."""
    return Target(device, use_of_model(model, device, ""), shape_of(model), case.name, content_of(case))


def content_of(case: Any) -> str:
    """Return the hash of a case's text, and of the sizes and times of its input files."""
    read = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in case.inputs]
    return hashlib.sha256(repr((case.text, read)).encode()).hexdigest()[:12]


def shape_of(model: Model) -> tuple[int, ...]:
    """Return the shape (nz,) ny, nx of a model."""
    return (*([] if model.levels is None else [model.levels.height.size]), *model.grid.shape)
