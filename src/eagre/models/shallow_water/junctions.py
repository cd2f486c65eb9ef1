"""Where a wall meets an open part of the same side: what it lets through is put back.

A wall is a mirror image of the water inside. At the end of a wall one corner of the bed beyond belongs to the open
part as well, where the bed goes on with its slope: the image is no mirror image, and a little water passes on uneven
ground. After each stage this flux is made again from the state that the stage began with, and taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.cells import cell, cuda, entry, real, serial_entry
from eagre.backend.device import Device, Launch
from eagre.boundaries import Segment
from eagre.boundaries.ghosts import ACROSS, FACE_I, FACE_J, INWARD, LENGTH, faces_of
from eagre.models.shallow_water.balance import mass_flux
from eagre.models.shallow_water.kernels import SECOND
from eagre.stepping.clock import DT, open_gate

THREADS = 32


@cell
def put_back(q, out, bed, ends, p, clock, k):
    """Take from `out` what came in through the end k of a wall in the stage that began with q."""
    j, i, across, inward = ends[k, FACE_J], ends[k, FACE_I], ends[k, ACROSS], ends[k, INWARD]
    part = real(clock[DT]) * mass_flux(q, bed, j, i, across, p)
    part = part * (p.over_dx if across == 1 else p.over_dy) * real(inward)
    if SECOND:
        part = real(0.5) * part
    if inward < 0:  # the cell inside is the low one
        j, i = j - (across - 1), i - (2 - across)
    out[0, j, i] -= part


@serial_entry
def put_back_cpu(q, out, bed, ends, p, clock, turn):
    """All ends of walls."""
    if open_gate(clock, turn):
        for k in range(ends.shape[0]):
            put_back(q, out, bed, ends, p, clock, k)


@entry
def put_back_cuda(q, out, bed, ends, p, clock, turn):
    """All ends of walls, a thread each."""
    k = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if k < ends.shape[0] and open_gate(clock, turn):
        put_back(q, out, bed, ends, p, clock, k)


class Junctions:
    """The ends of walls beside open parts, on a device.

    Parameters
    ----------
    segments : sequence of Segment
    table : (segments, COLUMNS) array
        As `segment_table` makes it.
    device : Device
    """

    def __init__(self, segments: Sequence[Segment], table: np.ndarray, device: Device) -> None:
        self.device = device
        ends = []
        for wall, row in zip(segments, table, strict=True):
            beside = [one for one in segments if one.side == wall.side and not one.condition.closed]
            touching = {0: any(one.last == wall.first for one in beside)}
            last = int(row[LENGTH]) - 1
            touching[last] = touching.get(last, False) or any(one.first == wall.last for one in beside)
            ends += [faces_of(row)[m] for m, touched in touching.items() if touched and wall.condition.closed]
        self.count = len(ends)
        self._ends = device.array(np.array(ends, np.int64).reshape(-1, 4))

    def launches(self, precision: str, q: Any, out: Any, *numbers: Any, **switches: Any) -> list[Launch]:
        """What follows a stage from q into `out`; numbers : bed, parameters, clock, turn."""
        if not self.count:
            return []
        bed, *rest = numbers
        arguments = (q, out, bed, self._ends, *rest)
        if self.device.kind == "cpu":
            return [Launch(self.device.program(put_back_cpu, precision, switches), arguments)]
        program = self.device.program(put_back_cuda, precision, switches)
        return [Launch(program, arguments, (-(-self.count // THREADS),), (THREADS,))]
