"""Fused CPU step as a launch: tiles, scratch array, switches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from eagre.advection import scratch_cpu
from eagre.advection.fused_cpu import step_cpu
from eagre.advection.plan import DIVISION_FLOOR, Advector, Options, StagedPlan
from eagre.backend.compilation.cells import Cell
from eagre.backend.device import CpuDevice, Device, Launch, Work

COLUMNS = 145  # maximum columns per tile, including ghost points
ROWS = {"single": 24, "double": 16}
PLANES = 24  # minimum planes per tile when the grid is split for more threads
LINE = {"single": 16, "double": 8}  # values per cache line


def serves(device: Device, options: Options) -> bool:
    """Return whether the fused step supports these options."""
    return isinstance(device, CpuDevice) and options.passes == 2


class FusedPlan(StagedPlan):
    """Fused steps with one corrective pass, in one sweep through memory."""

    device: CpuDevice

    @cached_property
    def _packed(self) -> dict[tuple[bool, bool, bool], scratch_cpu.Sides]:
        return {}

    @cached_property
    def _tiles(self) -> tuple[int, int, int]:
        """Return the tiles along z, y and x: maximum for the scratch array, and four per thread if possible."""
        nz, ny, nx = self.shape
        across = -(-ny // ROWS[self.precision]), -(-nx // (COLUMNS - 2 * self.depth))
        splits = -(-4 * self.device.threads // (across[0] * across[1])) if self.device.threads > 1 else 1
        return max(1, min(splits, nz // PLANES)), *across

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """Return STRIDE, ROW and PLANE of the scratch array; one program serves all grids."""
        line = LINE[self.precision]
        stride = -(-(COLUMNS - 1) // line) * line + line
        if self.shape[1] == 1:
            return {"STRIDE": stride, "ROW": 0, "PLANE": stride}
        return {"STRIDE": stride, "ROW": stride, "PLANE": stride * (ROWS[self.precision] + 2 * self.depth)}

    @cached_property
    def _scratch(self) -> Any:
        frames = scratch_cpu.SLIDE.default + self.depth - 1
        return self._lines(frames * scratch_cpu.FRAME)

    @cached_property
    def _extra(self) -> Any:
        return self._lines(2)

    def _lines(self, planes: int) -> Any:
        """Return planes of the scratch array for each thread, aligned to a cache line."""
        line, tiles = LINE[self.precision], self._tiles[0] * self._tiles[1] * self._tiles[2]
        chunks, numbers = min(self.device.threads, tiles), planes * self._sizes["PLANE"] + 2 * line
        # Ones, so that divisions in the vector padding beyond the tile are valid.
        buffer = np.ones(chunks * numbers + line, self.dtype)
        first = -buffer.ctypes.data % 64 // buffer.itemsize
        return buffer[first : first + chunks * numbers].reshape(chunks, numbers)

    def _program(self, entry: Cell, variable: bool) -> Any:
        key = (entry, variable)
        if key not in self._programs:
            switches = {"GAUGE": self.options.gauge, "LIMITED": self.options.nonoscillatory, "VARIABLE_H": variable}
            switches |= {"MIN_DIVISOR": DIVISION_FLOOR[self.precision], "LINE": LINE[self.precision]}
            switches |= {"EDGE": self.depth, **self._sizes}
            self._programs[key] = self.device.program(entry, self.precision, switches)
        return self._programs[key]

    @cached_property
    def _still(self) -> Advector:
        """Return zero fluxes: for axes of one point."""
        nz, ny, nx = self.shape
        shapes = ((nz, ny, nx + 1), (nz, ny + 1, nx), (nz + 1, ny, nx))
        one = [n == 1 for n in reversed(self.shape)]
        zeros = self.device.zeros
        return Advector(
            *(zeros(shape, self.dtype) if still else None for shape, still in zip(shapes, one, strict=True))
        )

    def _sides(self, odd: tuple[bool, bool, bool]) -> scratch_cpu.Sides:
        """Return the tables as two arrays."""
        if odd not in self._packed:
            longest = max(self.padded)
            index, numbers = np.zeros((3, 5, longest), np.int32), np.zeros((3, 5, 2, longest), self.dtype)
            for axis, (*tables, passable) in enumerate(self.tables(odd)):
                for kind, table in enumerate(tables):
                    index[axis, kind, : table.indices.size] = table.indices
                    numbers[axis, kind, 0, : table.indices.size] = table.factor
                    numbers[axis, kind, 1, : table.indices.size] = table.outside
                numbers[axis, scratch_cpu.PASSABLE, 0, : passable.size] = passable
            self._packed[odd] = scratch_cpu.Sides(index, numbers)
        return self._packed[odd]

    def together(self, transported: Sequence[tuple[Any, Any, tuple[bool, bool, bool]]], v: Advector) -> list[Work]:
        return [self._launch(*one, v) for one in transported]

    def _launch(self, x: Any, out: Any, odd: tuple[bool, bool, bool], v: Advector) -> Launch:
        faces = (still if still is not None else a for still, a in zip(self._still[:3], v[:3], strict=True))
        program = self._program(step_cpu, v.h is not None)
        h = x if v.h is None else v.h
        workspace = (self._sides(odd), self._scratch, self._extra, self._tiles)
        return Launch(program, (x, out, Advector(*faces), h, *workspace))
