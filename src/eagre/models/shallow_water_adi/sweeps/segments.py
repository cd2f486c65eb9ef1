"""Sweep along y of a row slab whose lines continue in other slabs: two passes with an exchange between them.

`reduce` eliminates the segments of the slab down to their ends. Each device then receives the ends of all segments.
`finish` computes the unknowns around its segments (`eagre.solvers.tridiagonal.link.segment_edges`), then all others.

A segment of a slab has the north faces of its rows, and in the first slab also the south face of the first row. The
kernels of the CPU store the eliminated rows of all columns between the passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real
from eagre.backend.device import Device, Launch
from eagre.models.shallow_water_adi.memory_layout import PADDING
from eagre.models.shallow_water_adi.setup import Segment
from eagre.models.shallow_water_adi.sweeps.reference import OPEN
from eagre.models.shallow_water_adi.sweeps.sweep_cpu import (
    COLUMNS,
    NEXT,
    NOW,
    SCRATCH,
    WIDTH,
    A,
    B,
    C,
    E,
    R,
    ends_of_block,
    make_rows,
    new_surface,
)
from eagre.solvers.tridiagonal import columns
from eagre.solvers.tridiagonal.link import ENDS, Chunk, ends_of, join_ends, next_row, store_ends
from eagre.terms.compose import TERM_FACTORS

# More rows of the scratch: e, f, g of `Chunk`, and the unknown before the segment.
FIRST_E, FIRST_F, FIRST_G, BELOW_SEGMENT = SCRATCH, SCRATCH + WIDTH, SCRATCH + 2 * WIDTH, SCRATCH + 3 * WIDTH
SEGMENT_SCRATCH = SCRATCH + 4 * WIDTH
AT_C, AT_D, AT_R, AT_A = 0, COLUMNS, 2 * COLUMNS, 3 * COLUMNS  # stored values of a face; c, d, r as in `sweep_cpu`
KEPT = 4 * COLUMNS


@cell
def begin_segment(s, lines, n):
    """Set the chunk before the first face of n columns."""
    for k in range(n):
        lines[k] = real(0.0)
        lines[k + AT_D] = real(0.0)
        lines[k + AT_A] = real(-1.0)
        s[FIRST_E + k] = real(0.0)
        s[FIRST_F + k] = real(0.0)
        s[FIRST_G + k] = real(-1.0)


@cell
def chunk_at(s, lines, offset, k):
    """Return the chunk of column k after the face whose values are at `offset`."""
    a, c, d = lines[offset + k + AT_A], lines[offset + k], lines[offset + k + AT_D]
    return Chunk(a, c, d, s[FIRST_E + k], s[FIRST_F + k], s[FIRST_G + k])


@cell
def eliminate_next(s, lines, offset, n, more):
    """Eliminate one row of n columns; the face below is at `offset`; more : whether rows of the segment follow."""
    for k in range(n):
        chunk = chunk_at(s, lines, offset, k)
        new = next_row(chunk, s[A + k], s[B + k], s[C + k], s[E + k])
        lines[offset + k + KEPT] = new.c
        lines[offset + k + (KEPT + AT_D)] = new.d
        lines[offset + k + (KEPT + AT_R)] = s[R + k]
        lines[offset + k + (KEPT + AT_A)] = new.a
        s[FIRST_E + k] = new.e if more else chunk.e
        s[FIRST_F + k] = new.f if more else chunk.f
        s[FIRST_G + k] = new.g if more else chunk.g


@cell
def reduce_block(fields, forcing, ends, work, segment_ends, columns, faces, p):
    """Eliminate faces first .. last of n columns from i, and store the ends of the segments.

    work : scratch and lines; columns : i and n; faces : first and last
    """
    (s, lines), (i, n), (start, last) = work, columns, faces
    begin_segment(s, lines, n)
    if start > 0:
        make_rows(fields, forcing, s, np.uint32(start - 1), i, n, p)
        for k in range(n):
            lines[k + AT_R] = s[R + k]
    for f in range(start, last + 1):
        offset = np.uint32((f - start) * KEPT)
        make_rows(fields, forcing, s, np.uint32(f), i, n, p)
        if OPEN and (f == 0 or f == last):
            ends_of_block(fields, ends, s, lines, (f, offset), columns, last + 1, p)
        eliminate_next(s, lines, offset, n, f < last)
    offset = np.uint32((last + 1 - start) * KEPT)
    for k in range(n):
        store_ends(segment_ends, i + k, ends_of(chunk_at(s, lines, offset, k)))


@entry
def reduce_y_cpu(fields, terms, ends, scratch, lines, segment_ends, faces, nx, p):
    """Eliminate the faces along y; each worker has a row of `scratch`, and each block a row of `lines`.

    segment_ends : (6, nx), see `stored_ends`; faces : first and last; other arguments : see `sweep_y_cpu`.
    """
    workers, blocks = scratch.shape[0], lines.shape[0]
    for worker in prange(workers):
        forcing = (terms, TERM_FACTORS(terms, ends.row))
        for block in range(worker, blocks, workers):
            i = block * COLUMNS
            work, columns = (scratch[worker], lines[block]), (np.uint32(i), min(COLUMNS, nx - i))
            reduce_block(fields, forcing, ends, work, segment_ends, columns, faces, p)


@cell
def substitute_next(s, lines, offset, flux_out, j, i, n):
    """Compute P of the faces of a row from the row above and from the unknown before the segment."""
    for k in range(n):
        s[NEXT + k] = s[NOW + k]
        s[NOW + k] = (
            lines[offset + k + AT_D] - lines[offset + k] * s[NOW + k] - lines[offset + k + AT_A] * s[BELOW_SEGMENT + k]
        )
    for k in range(n):
        flux_out[j + 1, i + k + PADDING] = s[NOW + k]


@entry
def finish_y_cpu(z_out, flux_out, edges, scratch, lines, faces, nx, p):
    """Compute new z and flux of the rows of a slab from the eliminated rows and the edges, (3, nx), `segment_edges`."""
    start, last = faces
    workers, blocks = scratch.shape[0], lines.shape[0]
    for worker in prange(workers):
        s = scratch[worker]
        for block in range(worker, blocks, workers):
            first = block * COLUMNS
            i, n = np.uint32(first), min(COLUMNS, nx - first)
            for k in range(n):
                s[BELOW_SEGMENT + k] = edges[0, i + k]
                s[NOW + k] = edges[1, i + k]
                flux_out[last + 1, i + k + PADDING] = s[NOW + k]
            for back in range(last - max(start - 1, 0)):
                f = last - 1 - back
                offset = np.uint32((f + 1 - start) * KEPT)
                substitute_next(s, lines[block], offset, flux_out, np.uint32(f), i, n)
                new_surface(s, lines[block], offset, z_out, np.uint32(f), i, n, p)


def segment_workspace(faces: int, nx: int, workers: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the shapes of the scratch and the stored rows."""
    return (workers, SEGMENT_SCRATCH), (-(-nx // COLUMNS), KEPT * (faces + 1))


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
        shapes = segment_workspace(last + 1 - first, self.nx, workers)
        self._workspace = tuple(device.zeros(shape, self.ends.dtype) for shape in shapes)
        self._edges = device.zeros((3, self.nx), self.ends.dtype)
        entries = (reduce_y_cpu, finish_y_cpu)
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
