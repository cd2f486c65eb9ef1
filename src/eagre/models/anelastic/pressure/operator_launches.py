"""Pressure operator of a grid: separate launches of prforc, divrhs, laplc and nablaCnablax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.pressure import horizontal
from eagre.models.anelastic.pressure import operator as cells
from eagre.models.anelastic.pressure.coefficients import Coefficients
from eagre.models.anelastic.pressure.grid_loops import at_point, rows_cpu


class PressureOperator(Coefficients):
    """Launches of `operator` on fields of a device.

    Parameters
    ----------
    device : Device
    precision : str
    metric : Metric
    density, c11, c12, c33 : arrays
        rho_b and C at points, each (nz, 1, 1) or (nz, ny, nx); density and c11, c33 above 0.
    normal : operator.Normal, optional
        Normal components at open boundaries.

    Attributes
    ----------
    medium : operator.Medium
    """

    def __init__(
        self, device: Device, precision: str, metric: Metric, density: Any, c11: Any, c12: Any, c33: Any,
        normal: cells.Normal | None = None,
    ) -> None:  # fmt: skip
        real = check_precision(precision)
        super().__init__(metric, density, c11, c12, c33)
        self.device, self.precision = device, precision
        fields = {"density": self.rho, "c11": c11, "c12": c12, "c33": c33}
        put = {name: device.array(values.astype(real)) for name, values in fields.items()}
        self.medium = cells.Medium(**put, **metric.arrays(device, precision))
        self._grid, none = metric.grid(precision), device.zeros((1, 1, 1), real)
        self._normal = cells.Normal(none, none, none) if normal is None else normal
        kinds = {name.upper(): self.accessor(values) for name, values in fields.items()}
        self._switches: dict[str, Any] = {"TERRAIN": metric.terrain, "TURNING": self.turning, **kinds}
        self._open = normal is not None

    def update(self, c11: np.ndarray, c12: np.ndarray, c33: np.ndarray) -> bool:
        """Replace C; return False, without a change, if other compiled kernels are needed."""
        if not super().update(c11, c12, c33):
            return False
        for name, values in (("c11", c11), ("c12", c12), ("c33", c33)):
            array = getattr(self.medium, name)
            self.device.fill(array, values.astype(array.dtype))
        return True

    def _over(
        self, point: Any, q: Any, provisional: Any, out: Any, forced: bool = True,
        switches: Mapping[str, Any] | None = None,
    ) -> Launch:  # fmt: skip
        here = {"POINT": point, "PROVISIONAL": cells.flow if forced else cells.no_flow, "OPEN": self._open and forced}
        here |= switches or {}
        arguments = (q, provisional, out, self.medium, self._normal, self._grid)
        if self.device.kind == "cuda":
            program = self.device.loop(at_point, self.precision, {**self._switches, **here})
            return self.device.over(program, self.metric.shape, arguments)
        return Launch(self.device.program(rows_cpu, self.precision, {**self._switches, **here}), arguments)

    def velocity(self, phi: Any, provisional: Any, out: Any) -> Launch:
        """Return launches of prforc: out = v^ - C grad phi; provisional, out: (u, v, w), can be the same arrays."""
        return self._over(cells.set_velocity, phi, cells.Vector(*provisional), cells.Vector(*out))

    def wind(self, phi: Any, velocity: Any, forces: Any, from_velocity: bool) -> Launch:
        """Return launches of prforc into velocity, from v^ there or in forces; forces become v minus their values."""
        out = cells.Wind(*velocity, *(velocity if forces is None else forces))
        here = {"IN_PLACE": from_velocity, "FINISHES": forces is not None}
        return self._over(cells.set_wind, phi, cells.Vector(*velocity), out, switches=here)

    def residual(self, phi: Any, provisional: Any, r: Any) -> Launch:
        """Return launches of prforc and divrhs: r = -(1 / rho*) div(rho* v) = L(phi) - (1 / rho*) div(rho* v^)."""
        return self._over(cells.set_residual, phi, cells.Vector(*provisional), cells.Vector(r, r, r))

    def start(self, provisional: Any, r: Any) -> Launch:
        """Return launches of the residual of phi = 0."""
        vectors = cells.Vector(*provisional), cells.Vector(r, r, r)
        return self._over(cells.set_residual, r, *vectors, switches={"GUESSED": False})

    def divergence(self, velocity: Any, r: Any) -> Launch:
        """Return launches of divrhs: r = -(1 / rho*) div(rho* v)."""
        return self._over(cells.set_divergence, r, cells.Vector(*velocity), cells.Vector(r, r, r))

    def apply(self, q: Any, out: Any) -> Launch:
        """Return launches of laplc: out = L q."""
        return self._over(cells.set_residual, q, cells.Vector(q, q, q), cells.Vector(out, out, out), forced=False)

    def horizontal(self, q: Any, out: Any) -> Launch:
        """Return launches of nablaCnablax: the horizontal part of L q without slopes of the coordinate."""
        return self._over(
            horizontal.set_horizontal, q, cells.Vector(q, q, q), cells.Vector(out, out, out), forced=False
        )

    def weighed(self, q: Any, out: Any) -> Launch:
        """Return launches of out = rho* q."""
        return self._over(horizontal.set_weighed, q, cells.Vector(q, q, q), cells.Vector(out, out, out), forced=False)

    def sweep(self, q: Any, r: Any, numbers: Any, out: Any) -> Launch:
        """Return launches of out = a q + b L q + c r; `numbers` holds a, b, c, (1, 1, 3); out must differ from q."""
        operands = cells.Vector(r, numbers, r)
        return self._over(horizontal.set_sweep, q, operands, cells.Vector(out, out, out), forced=False)

    def line_system(self, over_beta: float, out: tuple[Any, Any, Any]) -> Launch:
        """Return the column systems of `sweeps`: d, w d, a; d = rho* / beta, or -(diagonal of H) if 1 / beta is 0."""
        number = self.device.array(np.full((1, 1, 1), over_beta, check_precision(self.precision)))
        launch = self._over(horizontal.set_line_system, out[0], cells.Vector(*out), cells.Vector(*out), forced=False)
        inverse_beta = cells.Normal(number, number, number)
        arguments = tuple(inverse_beta if isinstance(one, cells.Normal) else one for one in launch.arguments)
        return launch._replace(arguments=arguments)

    def line_right(self, q: Any, r: Any, d: Any, out: Any) -> Launch:
        """Return launches of out = rho* r - H q - d q."""
        return self._over(
            horizontal.set_line_right, q, cells.Vector(r, d, r), cells.Vector(out, out, out), forced=False
        )
