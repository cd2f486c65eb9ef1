"""The advector: Courant fluxes through faces, of velocities half a step on."""

from __future__ import annotations

from typing import Any

from eagre.backend.device import Device, Launch
from eagre.models.anelastic import kernels
from eagre.models.anelastic.kernels import Extrapolation, Slopes, Velocity

KINDS = {"wall": kernels.WALL, "periodic": kernels.PERIODIC, "open": kernels.OPEN}


class FaceFluxes:
    """Mass fluxes of a time step over the volume of a cell, (nz, ny, nx + 1), (nz, ny + 1, nx) and (nz + 1, ny, nx).

    ``v1[i] = dt/dx ((h u)[i-1] + (h u)[i]) / 2`` with u = (1 + r) u^n - r u^(n-1), r = dt^n / (2 dt^(n-1)): the mean of
    two points, so that the sum over the faces of a cell is the centred divergence that the pressure takes away. Any
    other pairing would not keep a constant field constant.

    Parameters
    ----------
    device : Device
    precision : {"single", "double"}
    shape : (nz, ny, nx)
    h : (nz, 1, 1), over a hill (nz, ny, nx), on the device
        Density times Jacobian.
    slopes : Slopes
        On the device.
    spacing : (dz, dy, dx), m
    sides : of z, y, x: "periodic", "wall" or "open"
    terrain : bool
    """

    def __init__(
        self,
        device: Device,
        precision: str,
        shape: tuple[int, int, int],
        h: Any,
        slopes: Slopes,
        spacing: tuple[float, float, float],
        sides: tuple[str, str, str],
        terrain: bool,
    ) -> None:
        self._device, self._precision, self._switches = device, precision, {"TERRAIN": terrain}
        self._loops: dict[str, Any] = {}
        self._h, self._slopes, self._spacing = h, slopes, spacing
        self._kinds = [KINDS[side] for side in sides]
        self._shape = nz, ny, nx = shape
        self.v1 = device.zeros((nz, ny, nx + 1), h.dtype)
        self.v2 = device.zeros((nz, ny + 1, nx), h.dtype)
        self.v3 = device.zeros((nz + 1, ny, nx), h.dtype)

    def launches(self, now: Velocity, then: Velocity, dt: float, ratio: float) -> list[Launch]:
        """Launches that set v1, v2 and v3 from the present and the past velocity.

        Parameters
        ----------
        dt : float, s
        ratio : float
            dt / (2 times the time step before): 0.5 for equal steps.
        """
        nz, ny, nx = self._shape
        weights = [self._weights(dt, ratio, d) for d in self._spacing]
        upward = (now, then, self._h, self._slopes, weights[0], self.v3)
        northward = (now.v, then.v, self._h, weights[1], self.v2)
        eastward = (now.u, then.u, self._h, weights[2], self.v1)
        found = []
        if nx > 1:
            found += [self._over("face_x", (nz, ny, nx - 1), eastward)]
            found += [self._over("ends_x", (nz, ny, 1), (*eastward, self._kinds[2]))]
        if ny > 1:
            found += [self._over("face_y", (nz, ny - 1, nx), northward)]
            found += [self._over("ends_y", (nz, 1, nx), (*northward, self._kinds[1]))]
        if nz > 1:
            found += [self._over("face_z", (nz - 1, ny, nx), upward)]
            found += [self._over("ends_z", (1, ny, nx), (*upward, self._kinds[0]))]
        return found

    def _weights(self, dt: float, ratio: float, spacing: float) -> Extrapolation:
        real, share = self._h.dtype.type, 0.5 * dt / spacing
        return Extrapolation(real(share * (1.0 + ratio)), real(-share * ratio))

    def _over(self, name: str, region: tuple[int, ...], arguments: tuple[Any, ...]) -> Launch:
        if name not in self._loops:
            self._loops[name] = self._device.loop(getattr(kernels, name), self._precision, self._switches)
        return self._device.over(self._loops[name], region, arguments)
