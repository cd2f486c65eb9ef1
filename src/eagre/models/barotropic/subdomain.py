"""Rows of the basin on one device: arrays, kernels and stages.

With several devices each has a row slab: a box whose south and north boundary points are halo rows or walls (decision
0023).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eagre.backend.device import Device
from eagre.models.barotropic.sampling.averaging import StepAverages
from eagre.models.barotropic.setup import Setup
from eagre.models.barotropic.stages import Stages
from eagre.models.barotropic.state import State
from eagre.models.barotropic.step import step
from eagre.models.barotropic.update.kernel_sets import FUSIONS, kernel_set
from eagre.runtime.stage import Stage, fused
from eagre.solvers.poisson.slabs import Slab


class Subdomain:
    """Part of a run on one device.

    Attributes
    ----------
    rows : slice
        Rows of a global field on the device, including walls or halo rows.
    walls : tuple of bool
        Whether the first and the last row are boundary rows of the basin.
    """

    def __init__(self, setup: Setup, device: Device, precision: str, slab: Slab) -> None:
        self.rows, self.walls, self._local = slab.rows, slab.walls, setup.local
        rows = self.rows
        if slab.heights:
            grid = setup.grid
            grid = replace(grid, ny=rows.stop - rows.start, y0=grid.y0 + rows.start * grid.dy)
            bed = None if setup.topography is None else self._part_of(setup.topography)
            curl = self._part_of(setup.curl)
            setup = replace(setup, grid=grid, curl=curl, topography=bed, local=None, rows=(rows.start, rows.stop))
        self.setup, self.kernels = setup, kernel_set(setup, device, precision)
        self.fields = State(setup, device, precision, self.kernels.separate_psi, slab)
        self.averages = StepAverages(self.fields)
        self.stages = Stages(self.fields, self.kernels, self.averages, slab)
        self.fields.set_weights()

    def _part_of(self, values: np.ndarray) -> np.ndarray:
        """Return the rows of this device of a field with the rows of this process; zeros for other processes."""
        if self._local is None or self.rows.stop is None:
            return values[self.rows]
        return self._local.take(values, self.rows.start, self.rows.stop)

    def steps(self) -> list[list[Stage]]:
        """Return the stages of a step from buffers 0 to 1 and of a step from 1 to 0, with fast kernels."""
        return [fused(step(self.stages, old), FUSIONS, self.stages, old) for old in (0, 1)]

    def start_from(self, q: list[np.ndarray], tracer: np.ndarray | None, particles: np.ndarray | None) -> None:
        """Load fields of the rows of this process with boundary points, and clear the stored tendencies.

        q is set to 0 on the boundary.
        """
        fields = []
        for values in q:
            local = self._part_of(values).copy()
            local[:, [0, -1]] = 0.0
            south, north = self.walls
            local[: int(south)] = local[len(local) - int(north) :] = 0.0
            fields.append(local)
        self.fields.begin(fields)
        if tracer is not None:
            self.fields.fill(self.fields.tracer[0], self._part_of(tracer))
        if particles is not None:
            self.fields.set_particles(particles)
