"""Advecting mass fluxes through faces, from velocities at t + dt/2; on a CPU by one kernel per row of points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, switch
from eagre.backend.device import Device, Launch
from eagre.models.anelastic import advector_cuda, step_kernels
from eagre.models.anelastic.step_kernels import (
    PERIODIC,
    Slopes,
    StepCoefficients,
    Velocity,
    mass_flux,
    outer_face,
    upward_mass_flux,
)
from eagre.solvers.gcr.fused_cuda import Tiles

ALONG_X = switch("ALONG_X", True)  # True for an axis with more than one point
ALONG_Y = switch("ALONG_Y", True)
ALONG_Z = switch("ALONG_Z", True)
KINDS = {"wall": step_kernels.WALL, "periodic": step_kernels.PERIODIC, "open": step_kernels.OPEN}


class Weights(NamedTuple):
    """Extrapolation weights of an axis (see `kernels.Extrapolation`), and its boundary condition."""

    current: Any
    previous: Any
    kind: Any


@cell
def outer(inner, side, other, kind):
    """Return the flux of the outer face, from the next face and the fluxes of both end points."""
    return other + side if kind == PERIODIC else outer_face(side, inner, kind)


@cell
def row_of_x(k, j, u_n, u_nm1, h, x, out):
    """Compute v1 of a row."""
    n = u_n.shape[2]
    for i in range(n - 1):
        out[k, j, i + 1] = mass_flux(k, j, i, u_n, u_nm1, h, x) + mass_flux(k, j, i + 1, u_n, u_nm1, h, x)
    first, last = mass_flux(k, j, 0, u_n, u_nm1, h, x), mass_flux(k, j, n - 1, u_n, u_nm1, h, x)
    low, high = out[k, j, 1], out[k, j, n - 1]
    out[k, j, 0] = outer(low, first, last, x.kind)
    out[k, j, n] = outer(high, last, first, x.kind) if x.kind != PERIODIC else outer(low, first, last, x.kind)


@cell
def row_of_y(k, j, v_n, v_nm1, h, y, out):
    """Compute v2 south of a row; the first row includes the outer faces."""
    n = v_n.shape[1]
    for i in range(v_n.shape[2]):
        if j > 0:
            out[k, j, i] = mass_flux(k, j - 1, i, v_n, v_nm1, h, y) + mass_flux(k, j, i, v_n, v_nm1, h, y)
        else:
            first, second = mass_flux(k, 0, i, v_n, v_nm1, h, y), mass_flux(k, 1, i, v_n, v_nm1, h, y)
            last, second_last = mass_flux(k, n - 1, i, v_n, v_nm1, h, y), mass_flux(k, n - 2, i, v_n, v_nm1, h, y)
            low = outer(first + second, first, last, y.kind)
            out[k, 0, i] = low
            out[k, n, i] = low if y.kind == PERIODIC else outer(second_last + last, last, first, y.kind)


@cell
def row_of_z(k, j, wind_n, wind_nm1, h, g, z, out):
    """Compute v3 below a row; the lowest level includes the outer faces."""
    n = wind_n.u.shape[0]
    for i in range(wind_n.u.shape[2]):
        here = upward_mass_flux(k, j, i, wind_n, wind_nm1, h, g, z)
        if k > 0:
            out[k, j, i] = upward_mass_flux(k - 1, j, i, wind_n, wind_nm1, h, g, z) + here
        else:
            second, last = (
                upward_mass_flux(1, j, i, wind_n, wind_nm1, h, g, z),
                upward_mass_flux(n - 1, j, i, wind_n, wind_nm1, h, g, z),
            )
            second_last = upward_mass_flux(n - 2, j, i, wind_n, wind_nm1, h, g, z)
            low = outer(here + second, here, last, z.kind)
            out[0, j, i] = low
            out[n, j, i] = low if z.kind == PERIODIC else outer(second_last + last, last, here, z.kind)


@entry
def faces_cpu(wind_n, wind_nm1, h, g, x, y, z, faces):
    """Compute all faces; x, y, z : `Weights`; faces : v1, v2, v3."""
    (nz, ny, _), v1, v2, v3 = wind_n.u.shape, faces[0], faces[1], faces[2]
    for row in prange(nz * ny):
        k = row // ny
        j = row - k * ny
        if ALONG_X:
            row_of_x(k, j, wind_n.u, wind_nm1.u, h, x, v1)
        if ALONG_Y:
            row_of_y(k, j, wind_n.v, wind_nm1.v, h, y, v2)
        if ALONG_Z:
            row_of_z(k, j, wind_n, wind_nm1, h, g, z, v3)


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
        each = zip((step_kernels.ALONG_Z, step_kernels.ALONG_Y, step_kernels.ALONG_X), self._kinds, strict=True)
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
