"""Device arrays of a barotropic run.

Arrays have one boundary point on each side, (my + 2, mx + 2) (see `kernels`). For a box on a GPU rows are aligned to
LINE bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Device, check_precision
from eagre.fields import Layout
from eagre.models.barotropic.adams_bashforth import convert_state, weights
from eagre.models.barotropic.forcing.wind import Wind
from eagre.models.barotropic.sampling.diagnostics import integrals, relative_vorticity, speeds
from eagre.models.barotropic.setup import Setup
from eagre.solvers.poisson.slabs import Slab

LINE = 128  # alignment of rows, bytes
MAX_HOST_SIZE = 1 << 20  # maximum size of a field that NumPy sums within milliseconds


class State:
    """Arrays of one run in two sets of buffers; `current` is the index of the current set.

    With `separate_psi` (a box on a GPU) rows are aligned to LINE bytes and both sets share one streamfunction array.
    Otherwise the solver overwrites a copy of the new vorticity with psi, and each set has its own array.

    particles : positions by the device that has the particle, otherwise `kernels.ELSEWHERE`, (2 devices, particles);
    a device sets `local_particles`.
    """

    def __init__(self, setup: Setup, device: Device, precision: str, separate_psi: bool, slab: Slab) -> None:
        self.setup, self.device, self.precision, self.separate_psi = setup, device, precision, separate_psi
        self.real = check_precision(precision)
        self.itemsize = np.dtype(self.real).itemsize
        self.count = 1 if setup.layers is None else 2
        self.steps = 0
        self.width = setup.shape[1]
        self.slab = slab
        self.layout = Layout(setup.shape, pitch=LINE // self.itemsize if separate_psi else 1)
        self._allocate()

    def _allocate(self) -> None:
        setup, device, field = self.setup, self.device, self._field
        layers, older = range(self.count), range(setup.order - 1)
        self.q, self.psi = self._pairs(one=False), self._pairs(one=self.separate_psi)
        self.none = device.zeros((1, 1), self.real)
        self.history = [[field() for _ in older] for _ in layers]
        self.rounding = [field() if setup.compensated_summation else self.none for _ in layers]
        self.tracer = [field(), field()] if setup.diffusivity is not None else []
        self.tracer_history = [field() for _ in older] if self.tracer else []
        rank, ranks = self.slab.index, max(1, len(self.slab.heights))
        self.particles = device.zeros((2 * ranks, max(1, setup.particles)), np.float64)
        self.local_particles = self.particles[2 * rank : 2 * rank + 2]
        self.wind = Wind(setup, device, self.precision, self.real, self.pad)
        self.lap = [field() if setup.biharmonic_viscosity > 0.0 else self.none for _ in layers]
        self.total, self.bed = self.none, self.none
        if setup.topography is not None:
            self.total = field()
            self.bed = device.array(self.pad(setup.topography).astype(self.real))
        self.weights = device.zeros((3,), self.real)

    def set_weights(self) -> None:
        """Set the Adams-Bashforth weights of the next step; the first steps use a lower order."""
        self.device.fill(self.weights, np.array(weights(self.setup, self.steps)))

    def _pairs(self, one: bool) -> list[list[Any]]:
        """Return per layer one array per set of buffers, or with `one` a shared array."""
        firsts = [self._field() for _ in range(self.count)]
        return [[first, first if one else self._field()] for first in firsts]

    def _field(self) -> Any:
        return self.layout.zeros(self.device, self.real)

    @property
    def current(self) -> int:
        """Index of the current buffers, 0 or 1."""
        return self.steps % 2

    def ages(self, history: list[Any], buffer: int) -> tuple[Any, Any]:
        """Return the previous and the oldest tendency for a step from buffers `buffer`."""
        return (history[buffer], history[1 - buffer]) if len(history) == 2 else (history[0], self.none)

    @property
    def values_per_update(self) -> int:
        """Values per point that an update reads or writes: psi, q twice, a spectrum, and stored tendencies."""
        return 4 + self.setup.order

    # -- integrals ----------------------------------------------------------------------------------

    def integrals(self) -> dict[str, float]:
        """Return energy, enstrophy and extremes (`diagnostics.integrals`)."""
        self.device.synchronize()
        setup, buffer = self.setup, self.current
        psi, q = ([self._for_sums(field[buffer]) for field in fields] for fields in (self.psi, self.q))
        zeta = [relative_vorticity(setup, layer, psi, q) for layer in range(self.count)]
        weights = (1.0,) if setup.layers is None else setup.layers.thickness_fractions
        return integrals(psi, q, zeta, weights, setup.grid.cell_area)

    def speeds(self) -> tuple[float, float]:
        """Return the maximum of |u| and |v| in the upper layer."""
        self.device.synchronize()
        return speeds(self._for_sums(self.psi[0][self.current]), self.setup.grid.dx, self.setup.grid.dy)

    def max_tracer(self) -> float:
        """Return the maximum of the magnitude of the tracer, NaN if a value is NaN; 0 without a tracer."""
        if not self.tracer:
            return 0.0
        self.device.synchronize()
        return float(abs(self._for_sums(self.tracer[self.current])).max())

    def _for_sums(self, field: Any) -> Any:
        """Return the points of a field, those of small fields on the host: CuPy would compile every sum, 6 s in all."""
        return self.view(self.device.host(field) if field.size < MAX_HOST_SIZE else field)

    # -- host and device ----------------------------------------------------------------------------

    def pad(self, points: np.ndarray) -> np.ndarray:
        """Return values at points, (ny, nx), extended by periodic boundary points, (my + 2, mx + 2)."""
        wrap_x, wrap_y = (int(wrap) for wrap in self.setup.periodic)
        if not (wrap_x or wrap_y):
            return points
        return np.pad(points, ((wrap_y, wrap_y), (wrap_x, wrap_x)), mode="wrap")

    def view(self, field: Any) -> Any:
        """Return a view of an array without row padding."""
        return field[self.layout.interior()]

    def padded(self, name: str, layer: int = 0) -> np.ndarray:
        """Return a host copy of "q", "psi" or "tracer" with boundary points, (my + 2, mx + 2)."""
        fields = self.tracer if name == "tracer" else getattr(self, name)[layer]
        return self.device.host(self.view(fields[self.current]))

    def points(self, name: str, layer: int = 0) -> np.ndarray:
        """Return a host copy of "q", "psi" or "tracer" at points, (ny, nx)."""
        wrap_x, wrap_y = (int(wrap) for wrap in self.setup.periodic)
        values = self.padded(name, layer)
        return values[wrap_y : values.shape[0] - wrap_y, wrap_x : values.shape[1] - wrap_x]

    def fill(self, field: Any, values: np.ndarray) -> None:
        """Overwrite an array with host values, (my + 2, mx + 2)."""
        self.layout.fill(self.device, field, values)

    def begin(self, q: list[np.ndarray]) -> None:
        """Load potential vorticities with boundary points, (my + 2, mx + 2), and clear the stored tendencies."""
        self.steps = 0
        for layer, values in enumerate(q):
            self.fill(self.q[layer][0], values)
            if not self.separate_psi:
                self.device.copy(self.psi[layer][0], self.q[layer][0])
        self.clear_history()

    def clear_history(self) -> None:
        """Set stored tendencies and rounding errors to zero."""
        rounding = self.rounding if self.setup.compensated_summation else []
        for field in (*(f for history in self.history for f in history), *self.tracer_history, *rounding):
            self.fill(field, np.zeros(self.setup.shape))

    def _contents(self) -> dict[str, Any]:
        """Return the arrays of a bitwise identical restart; the oldest tendency comes last."""
        contents: dict[str, Any] = {}
        for layer in range(self.count):
            contents[f"q{layer}"] = self.q[layer][self.current]
            contents[f"psi{layer}"] = self.psi[layer][self.current]
            if self.setup.compensated_summation:
                contents[f"lost{layer}"] = self.rounding[layer]
            older = self.ages(self.history[layer], self.current)[: self.setup.order - 1]
            contents |= {f"tendency{layer}_{age}": field for age, field in enumerate(older)}
        if self.tracer:
            contents["tracer"] = self.tracer[self.current]
            older = self.ages(self.tracer_history, self.current)[: self.setup.order - 1]
            contents |= {f"tracer_tendency_{age}": field for age, field in enumerate(older)}
        return contents

    def state(self) -> dict[str, np.ndarray]:
        """Return host copies of all arrays that a bitwise identical restart needs."""
        self.device.synchronize()
        arrays = {name: self.device.host(self.view(field)) for name, field in self._contents().items()}
        if self.setup.particles:
            arrays["particles"] = self.device.host(self.local_particles)
        return {"steps": np.array(self.steps), **arrays}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore a state of `state`."""
        self.steps = int(state["steps"])
        state = dict(convert_state(self.setup, state))
        for name, field in self._contents().items():
            self.fill(field, state[name])
        if self.setup.particles:
            self.set_particles(state["particles"])

    def set_particles(self, positions: np.ndarray) -> None:
        """Load positions, (2, particles), in grid units of the padded arrays of the whole basin."""
        self.device.fill(self.particles, np.tile(positions, (len(self.particles) // 2, 1)))
