"""Arguments and launches of the kernels of `columns_cpu`: weights, stencils along sigma, scratch memory per thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.models.potential_waves.laplace import columns_cpu as cpu
from eagre.models.potential_waves.laplace.stencils import Modes, Vertical
from eagre.models.potential_waves.surface import surface_cpu
from eagre.solvers.finite_differences import centred

WIDEST = {"single": 136, "double": 72}  # points of a row segment, so that all its layers fit into the cache
SIDE = 4  # maximum number of weights on one side of a point


def weights_of(order: int, shape: Any, spacing: Any, periodic: Any, real: Any) -> cpu.Along:
    """Return the weights of centred differences for (ny, nx) points; zeros along an axis of one point."""

    def along(axis: int, derivative: int) -> np.ndarray:
        side = np.zeros(SIDE, real)
        if shape[axis] > 1:
            side[: order // 2] = centred(order, spacing[axis], derivative)[order // 2 + 1 :]
        return side

    return cpu.Along(along(1, 1), along(1, 2), along(0, 1), along(0, 2), int(periodic[1]), int(periodic[0]))


class CpuColumns:
    """Defect and correction of a `LaplaceProblem` on the CPU.

    Parameters
    ----------
    device : Device
    precisions : pair of {"single", "double"}
        Of the volume, and of corrections.
    vertical : Vertical
    modes : Modes
    shape : (ny, nx)
    spacing : (dy, dx)
        m.
    periodic : (y, x)
    linear : bool
        Whether the equations are linearised.
    ghosts : bool
        Whether Psi below the bottom is an unknown: of lines along sigma.
    """

    def __init__(
        self,
        device: Device,
        precisions: tuple[str, str],
        vertical: Vertical,
        modes: Modes,
        shape: tuple[int, int],
        spacing: tuple[float, float],
        periodic: tuple[bool, bool],
        linear: bool,
        ghosts: bool,
    ) -> None:
        precision, correction = precisions
        self._real, self._short = map(check_precision, precisions)
        ny, nx = shape
        tiles = -(-nx // WIDEST[precision])
        self.width = -(-nx // (tiles * cpu.MARGIN)) * cpu.MARGIN
        self._tiles = -(-nx // self.width)
        items = ny * self._tiles
        layers = vertical.nz - 1
        groups = -(-layers // cpu.GROUP) * cpu.GROUP
        rows = cpu.LAYERS + cpu.ROWS * (vertical.nz + 1) + groups + 1
        threads, stride = min(getattr(device, "threads", 1), items), WIDEST[precision] + 2 * cpu.MARGIN
        self._scratch = device.zeros((threads, rows * stride), self._real)
        self._changes = device.zeros(self._scratch.shape, self._short) if correction != precision else self._scratch
        self._surface_scratch = device.zeros((threads, (surface_cpu.ROWS + 1) * stride), np.float64)
        self._along, self._surface_along = (
            weights_of(vertical.order, shape, spacing, periodic, real) for real in (self._real, np.float64)
        )
        self._windows = self._layers(vertical)
        self._missing = device.zeros((1, *shape) if ghosts else (1, 1, 1), self._real)
        self._lowest = self._short(vertical.sigma[vertical.nz - 2])
        self._bottom, self._surface = (self._array(vertical.first[k]) for k in (vertical.nz - 1, 0))
        whole = (0, 0), (0, groups - layers)
        self._to_modes = self._array(np.pad(modes.to_modes, whole))
        self._to_layers = np.pad(modes.to_layers, whole).astype(self._short)
        switches = {"HALF": vertical.order // 2, "STRIDE": stride, "GHOSTS": ghosts}
        kinds = {"residual_cpu": precision, "ends_cpu": precision, "correct_cpu": correction}
        self._programs = {name: device.program(getattr(cpu, name), kind, switches) for name, kind in kinds.items()}
        switches["NONLINEAR"] = not linear
        for name in ("surface_cpu", "rates_cpu"):
            self._programs[name] = device.program(getattr(surface_cpu, name), "double", switches)

    def _array(self, values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values, self._real)

    def _layers(self, vertical: Vertical) -> cpu.Windows:
        nz, order = vertical.nz, vertical.order
        low = np.clip(np.arange(nz) - order // 2, 0, nz - order)
        first, second = (np.zeros((nz, 2 * SIDE + 1)) for _ in range(2))
        for k in range(nz):
            window = slice(low[k], low[k] + order + 1)
            first[k, : order + 1], second[k, : order + 1] = vertical.first[k, window], vertical.second[k, window]
        return cpu.Windows(low, self._array(first), self._array(second), self._array(vertical.sigma[:nz]))

    def squares_of(self, rows: int) -> tuple[tuple[int, ...], int | None]:
        """Return the shape of the sums of squares of a number of rows, one per row segment, and the row axis."""
        return (rows, self._tiles), 0

    def surface(self, fields: Any, h: Any, geometry: Any, sources: Any, q: Any) -> list[Launch]:
        """Return launches for depth, right-hand sides and screening of a surface."""
        arguments = (fields, h, geometry, sources, q, self._surface_along, self._surface_scratch, self.width)
        return [Launch(self._programs["surface_cpu"], arguments)]

    def rates(self, fields: Any, w: Any, rates: Any, gravity: float) -> list[Launch]:
        """Return launches for the rates of eta and phi~."""
        arguments = (fields, w, rates, gravity, self._surface_along, self._surface_scratch, self.width)
        return [Launch(self._programs["rates_cpu"], arguments)]

    def defect(self, psi: Any, geometry: Any, sources: Any, w: Any, f: Any, control: Any) -> list[Launch]:
        """Return launches that write the modes of the residual of psi to f; `control` is unused on a CPU."""
        known = (self._to_modes, self._along, self._windows, self._scratch, self.width)
        return [
            self._ends(psi, geometry, sources, w, False),
            Launch(self._programs["residual_cpu"], (cpu.Fields(psi, geometry, sources, self._missing), f, *known)),
        ]

    def correct(self, u: Any, psi: Any, partials: Any, relaxation: Any, control: Any) -> list[Launch]:
        """Return launches that add the correction from the modes u and sum its squares."""
        known = (self._to_layers, (self._short(relaxation), self._lowest), self._changes, self.width)
        return [Launch(self._programs["correct_cpu"], (u, psi, self._missing, partials, *known))]

    def end(self, psi: Any, geometry: Any, sources: Any, w: Any) -> list[Launch]:
        """Return launches for the vertical velocity at the surface."""
        return [self._ends(psi, geometry, sources, w, True)]

    def _ends(self, psi: Any, geometry: Any, sources: Any, w: Any, with_w: bool) -> Launch:
        known = (self._along, (self._bottom, self._surface), with_w, self._scratch, self.width)
        return Launch(self._programs["ends_cpu"], (cpu.Fields(psi, geometry, sources, self._missing), w, *known))
