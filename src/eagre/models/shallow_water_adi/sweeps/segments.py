"""Sweep along y of a row slab whose lines continue in other slabs: two passes with an exchange between them.

`reduce` eliminates the segments of the slab down to their ends. Each device then receives the ends of all segments.
`finish` computes the unknowns around its segments (`eagre.solvers.tridiagonal.link.segment_edges`), then all others.
"""

from __future__ import annotations

from typing import Any

from eagre.backend.device import Device, Launch
from eagre.models.shallow_water_adi.setup import Segment
from eagre.models.shallow_water_adi.sweeps import segments_cpu
from eagre.solvers.tridiagonal import columns
from eagre.solvers.tridiagonal.link import ENDS, join_ends

STORED_FIELDS = 4  # numbers per cell that a CPU stores between the passes


class Segments:
    """Segments of the lines along y in a slab; one subclass per implementation of the sweep.

    Attributes
    ----------
    ends : array, (slabs, ENDS, nx)
        Ends of the segments of all slabs. `reduce` sets those of this slab, an exchange those of the other slabs.
    """

    def __init__(self, device: Device, precision: str, real: Any, segment: Segment, nx: int) -> None:
        self.device, self.precision, self.segment, self.nx = device, precision, segment, nx
        self.ends = device.zeros((segment.count, ENDS, nx), real)

    @property
    def faces(self) -> tuple[int, int]:
        """First and last face of the segments in the slab, from south to north."""
        rank, _, first, last = self.segment
        return (first + 1 if rank > 0 else 0), last

    @property
    def _own_ends(self) -> Any:
        return self.ends[self.segment.rank]


class CpuSegments(Segments):
    """Segments of the fast sweep on a CPU."""

    def __init__(self, *arguments: Any, workers: int, switches: dict[str, Any]) -> None:
        super().__init__(*arguments)
        (first, last), device = self.faces, self.device
        shapes = segments_cpu.segment_workspace(last + 1 - first, self.nx, workers)
        self._workspace = tuple(device.zeros(shape, self.ends.dtype) for shape in shapes)
        self._edges = device.zeros((3, self.nx), self.ends.dtype)
        entries = (segments_cpu.reduce_y_cpu, segments_cpu.finish_y_cpu)
        self._programs = [device.program(entry, self.precision, switches) for entry in entries]
        self._join = device.loop(join_ends, self.precision)

    def reduce(self, common: tuple[Any, ...], p: Any) -> list[Launch]:
        """Return the launches of the first pass; common : first arguments of a sweep from `Engine.sweep`."""
        arguments = (*common, *self._workspace, self._own_ends, self.faces, self.nx, p)
        return [Launch(self._programs[0], arguments)]

    def finish(self, common: tuple[Any, ...], p: Any) -> list[Launch]:
        """Return the launches of the second pass, after the exchange of the ends."""
        fields, _, _ = common
        arguments = (fields.z_new, fields.flux_new, self._edges, *self._workspace, self.faces, self.nx, p)
        joined = self.device.over(self._join, (self.nx,), (self.ends, self.segment.rank, self._edges))
        return [joined, Launch(self._programs[1], arguments)]


class CudaSegments(Segments):
    """Segments of the sweep on a GPU, whose two passes are `sweep_cuda_y.sweep_y_cuda`."""

    def __init__(self, *arguments: Any, width: int, is_open: bool) -> None:
        super().__init__(*arguments)
        self._open = is_open
        cells = (columns.column_ends, columns.join_columns)
        self._programs = [self.device.loop(one, self.precision, {"LANES": width}) for one in cells]

    @property
    def faces(self) -> tuple[int, int]:
        """See `Segments.faces`; without the face of a wall at the south end."""
        first, last = super().faces
        return (first if self._open else max(first, 1)), last

    def between_passes(self, table: Any, interfaces: Any, partitions: int) -> list[Launch]:
        """Return the launches between both passes: one before and one after the exchange of the ends.

        table, interfaces, partitions : see `columns.interfaces_cuda`.
        """
        ends = (table, partitions, self._own_ends)
        join = (self.ends, self.segment.rank, table, interfaces, partitions)
        pairs = zip(self._programs, (ends, join), strict=True)
        return [self.device.over(program, (self.nx,), arguments) for program, arguments in pairs]
