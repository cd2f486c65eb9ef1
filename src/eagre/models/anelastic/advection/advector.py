"""Advecting mass fluxes through faces, from velocities at t + dt/2."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch
from eagre.models.anelastic import step_kernels
from eagre.models.anelastic.advection import advector_cuda
from eagre.models.anelastic.advection.advector_cpu import Weights, faces_cpu
from eagre.models.anelastic.step_kernels import ALONG_X, ALONG_Y, ALONG_Z, Slopes, StepCoefficients, Velocity
from eagre.solvers.gcr.fused_cuda import Tiles

KINDS = {"wall": step_kernels.WALL, "periodic": step_kernels.PERIODIC, "open": step_kernels.OPEN}


class FaceFluxes:
    """Mass fluxes of a time step per cell volume, (nz, ny, nx + 1), (nz, ny + 1, nx) and (nz + 1, ny, nx).

    ``v1[i] = dt/dx ((h u)[i-1] + (h u)[i]) / 2`` with u = (1 + r) u^n - r u^(n-1), r = dt^n / (2 dt^(n-1)). The flux is
    the mean of two points, so that the sum over the faces of a cell equals the centred divergence of the projection.
    Other means would not preserve constant fields.

    Parameters
    ----------
    device : Device
    precision : {"single", "double"}
    shape : (nz, ny, nx)
    h : (nz, 1, 1), over terrain (nz, ny, nx), on the device
        Density times Jacobian.
    slopes : Slopes
        Slopes on the device.
    sides : of z, y, x: "periodic", "wall" or "open"
    terrain : bool
    rows : slice, optional
        Rows of `partial_maxima`; all rows by default.

    Attributes
    ----------
    v1, v2, v3
    partial_maxima : double, on a GPU
        Partial maxima of the outflow Courant number.
    """

    def __init__(
        self,
        device: Device,
        precision: str,
        shape: tuple[int, int, int],
        h: Any,
        slopes: Slopes,
        sides: tuple[str, str, str],
        terrain: bool,
        rows: slice | None = None,
    ) -> None:
        self._device, self._precision, self._switches = device, precision, {"TERRAIN": terrain}
        self._h, self._slopes, self._terrain = h, slopes, terrain
        self._kinds = [KINDS[side] for side in sides]
        self._shape = nz, ny, nx = shape
        self.v1 = device.zeros((nz, ny, nx + 1), h.dtype)
        self.v2 = device.zeros((nz, ny + 1, nx), h.dtype)
        self.v3 = device.zeros((nz + 1, ny, nx), h.dtype)
        if device.kind == "cuda":
            self._rows = (0, ny) if rows is None else (rows.start, rows.stop)
            self._tiles = Tiles.of(device, shape)
            self.partial_maxima = device.zeros((self._tiles.blocks,), np.float64)

    def launches(self, wind_n: Velocity, wind_nm1: Velocity, coefficients: StepCoefficients) -> list[Launch]:
        """Return launches that compute v1, v2 and v3 from the current and past velocity."""
        if self._device.kind == "cuda":
            if not self._terrain:
                return [self._all(wind_n, wind_nm1, coefficients.numbers)]
            return [*self._by_axis(wind_n, wind_nm1, coefficients.numbers), self._outflow()]
        names = ("ALONG_Z", "ALONG_Y", "ALONG_X")
        switches = self._switches | {name: n > 1 for name, n in zip(names, self._shape, strict=True)}
        each = zip((ALONG_Z, ALONG_Y, ALONG_X), self._kinds, strict=True)
        numbers = coefficients.numbers
        z, y, x = (Weights(numbers[offset], numbers[offset + 1], kind) for offset, kind in each)
        arguments = (wind_n, wind_nm1, self._h, self._slopes, x, y, z, (self.v1, self.v2, self.v3))
        return [Launch(self._device.program(faces_cpu, self._precision, switches), arguments)]

    def _all(self, wind_n: Velocity, wind_nm1: Velocity, numbers: Any) -> Launch:
        """Return one launch for all faces over flat terrain."""
        registers = self._device.parameters("solver:gcr").faces[self._precision]
        program = self._device.program(advector_cuda.faces_cuda, self._precision, {"REGISTERS": registers})
        known = ((wind_n, wind_nm1), self._h, self._slopes.stretch, numbers, tuple(self._kinds))
        tiles = (self._tiles.planes, self._rows)
        return self._tiles.launch(program, (*known, tiles, (self.v1, self.v2, self.v3), self.partial_maxima))

    def _by_axis(self, wind_n: Velocity, wind_nm1: Velocity, numbers: Any) -> list[Launch]:
        """Return a launch per axis: over terrain, one kernel for all faces needs too many registers."""
        (nz, ny, nx), (z, y, x), launches = self._shape, self._kinds, []
        if nx > 1:
            launches.append(self._over(advector_cuda.face_x, (wind_n.u, wind_nm1.u), self._h, numbers, x, self.v1))
        if ny > 1:
            launches.append(self._over(advector_cuda.face_y, (wind_n.v, wind_nm1.v), self._h, numbers, y, self.v2))
        if nz > 1:
            arguments = ((wind_n, wind_nm1), (self._h, self._slopes), numbers, z, self.v3)
            launches.append(self._over(advector_cuda.face_z, *arguments))
        return launches

    def _over(self, cell: Any, *arguments: Any) -> Launch:
        return self._device.over(self._device.loop(cell, self._precision, self._switches), self._shape, arguments)

    def _outflow(self) -> Launch:
        """Return the launch that computes the maximum outflow Courant number of each block."""
        program = self._device.program(advector_cuda.outflow_cuda, self._precision, self._switches)
        arguments = (self.v1, self.v2, self.v3, self._h, self._tiles.planes, self._rows, self.partial_maxima)
        return self._tiles.launch(program, arguments)
