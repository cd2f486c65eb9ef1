"""The pressure operator of a grid as launches: prforc, divrhs, laplc and nablaCnablax, each on its own (F15)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.errors import InputError
from eagre.models.anelastic import horizontal
from eagre.models.anelastic import operator as cells
from eagre.models.anelastic.metric import Metric
from eagre.models.anelastic.traversals import at_point, rows_cpu


class PressureOperator:
    """Launches of `operator` on fields of a device.

    Parameters
    ----------
    device : Device
    precision : str
    metric : Metric
    density, c11, c12, c33 : arrays
        rho_b and C at points, each (nz, 1, 1) or (nz, ny, nx); density and c11, c33 above 0.
    normal : operator.Normal, optional
        Normal components on open sides.

    Attributes
    ----------
    rho, c11, c12, c33 : arrays on the host, double
        rho* and C.
    medium : operator.Medium
    """

    def __init__(
        self, device: Device, precision: str, metric: Metric, density: Any, c11: Any, c12: Any, c33: Any,
        normal: cells.Normal | None = None,
    ) -> None:  # fmt: skip
        real = check_precision(precision)
        self.device, self.precision, self.metric = device, precision, metric
        self.rho = _above_zero("density", density) * metric.jacobian
        self._take(c11, c12, c33)
        fields = {"density": self.rho, "c11": c11, "c12": c12, "c33": c33}
        put = {name: device.array(values.astype(real)) for name, values in fields.items()}
        self.medium = cells.Medium(**put, **metric.arrays(device, precision))
        self._grid, none = metric.grid(precision), device.zeros((1, 1, 1), real)
        self._normal = cells.Normal(none, none, none) if normal is None else normal
        kinds = {name.upper(): self._accessor(values) for name, values in fields.items()}
        self._switches: dict[str, Any] = {"TERRAIN": metric.terrain, "TURNING": self.turning, **kinds}
        self._open = normal is not None

    def _take(self, c11: np.ndarray, c12: np.ndarray, c33: np.ndarray) -> None:
        self.c11, self.c12, self.c33 = _above_zero("c11", c11), c12, _above_zero("c33", c33)
        self.turning = bool(np.any(c12))

    def update(self, c11: np.ndarray, c12: np.ndarray, c33: np.ndarray) -> bool:
        """Take another C; False, and nothing is taken, if that needs other programs."""
        pairs = ((self.c11, c11), (self.c12, c12), (self.c33, c33))
        if any(old.shape != new.shape for old, new in pairs) or bool(np.any(c12)) != self.turning:
            return False
        self._take(c11, c12, c33)
        for name, values in (("c11", c11), ("c12", c12), ("c33", c33)):
            array = getattr(self.medium, name)
            self.device.fill(array, values.astype(array.dtype))
        return True

    def _accessor(self, values: np.ndarray) -> Any:
        return (
            cells.of_field
            if values.shape == self.metric.shape and self.metric.shape[1:] != (1, 1)
            else cells.of_profile
        )

    def _over(
        self, point: Any, q: Any, hat: Any, out: Any, forced: bool = True, switches: Mapping[str, Any] | None = None
    ) -> Launch:
        here = {"POINT": point, "HAT": cells.flow if forced else cells.no_flow, "OPEN": self._open and forced}
        here |= switches or {}
        arguments = (q, hat, out, self.medium, self._normal, self._grid)
        if self.device.kind == "cuda":
            program = self.device.loop(at_point, self.precision, {**self._switches, **here})
            return self.device.over(program, self.metric.shape, arguments)
        return Launch(self.device.program(rows_cpu, self.precision, {**self._switches, **here}), arguments)

    def velocity(self, phi: Any, hat: Any, out: Any) -> Launch:
        """prforc: out = v^ - C grad phi with the normal components of sides; hat, out: (u, v, w), maybe the same."""
        return self._over(cells.set_velocity, phi, cells.Vector(*hat), cells.Vector(*out))

    def wind(self, phi: Any, velocity: Any, forces: Any, in_place: bool) -> Launch:
        """prforc into velocity, from v^ there or in forces; these, if any, become v minus what they were."""
        out = cells.Wind(*velocity, *(velocity if forces is None else forces))
        here = {"IN_PLACE": in_place, "FINISHES": forces is not None}
        return self._over(cells.set_wind, phi, cells.Vector(*velocity), out, switches=here)

    def residual(self, phi: Any, hat: Any, r: Any) -> Launch:
        """prforc and divrhs in one: r = -(1 / rho*) div(rho* v) = L(phi) - (1 / rho*) div(rho* v^)."""
        return self._over(cells.set_residual, phi, cells.Vector(*hat), cells.Vector(r, r, r))

    def divergence(self, velocity: Any, r: Any) -> Launch:
        """divrhs: r = -(1 / rho*) div(rho* v)."""
        return self._over(cells.set_divergence, r, cells.Vector(*velocity), cells.Vector(r, r, r))

    def apply(self, q: Any, out: Any) -> Launch:
        """laplc: out = L q."""
        return self._over(cells.set_residual, q, cells.Vector(q, q, q), cells.Vector(out, out, out), forced=False)

    def horizontal(self, q: Any, out: Any) -> Launch:
        """nablaCnablax: the horizontal part of L q without the slopes of the map."""
        return self._over(
            horizontal.set_horizontal, q, cells.Vector(q, q, q), cells.Vector(out, out, out), forced=False
        )

    def weighed(self, q: Any, out: Any) -> Launch:
        """out = rho* q."""
        return self._over(horizontal.set_weighed, q, cells.Vector(q, q, q), cells.Vector(out, out, out), forced=False)

    def line_system(self, over_beta: float, out: tuple[Any, Any, Any]) -> Launch:
        """What `sweeps` factorises: d, w d, a; d = rho* / beta, or -(diagonal of H) where 1 / beta is 0."""
        number = self.device.array(np.full((1, 1, 1), over_beta, check_precision(self.precision)))
        launch = self._over(horizontal.set_line_system, out[0], cells.Vector(*out), cells.Vector(*out), forced=False)
        given = cells.Normal(number, number, number)
        arguments = tuple(given if isinstance(part, cells.Normal) else part for part in launch.arguments)
        return launch._replace(arguments=arguments)

    def line_right(self, q: Any, r: Any, d: Any, out: Any) -> Launch:
        """out = rho* r - H q - d q."""
        return self._over(
            horizontal.set_line_right, q, cells.Vector(r, d, r), cells.Vector(out, out, out), forced=False
        )

    def means(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Horizontal means of rho*, rho* c11 and rho* G3 . C G3, each (nz,)."""
        map_, metric = {}, self.metric
        map_["g33"] = 1.0 / metric.jacobian
        total = map_["g33"] ** 2 * self.c33
        if metric.terrain:
            for slope in (metric.slope_x, metric.slope_y):
                total = total + (slope * metric.fade[:, None, None] * map_["g33"]) ** 2 * self.c11
        parts = (self.rho, self.rho * self.c11, self.rho * total)
        return tuple(_level_means(part, metric.shape) for part in parts)  # type: ignore[return-value]

    @property
    def is_flat(self) -> bool:
        """Whether the map and all coefficients depend on height alone."""
        return not self.metric.terrain and all(
            self._accessor(values) is cells.of_profile for values in (self.rho, self.c11, self.c12, self.c33)
        )

    @property
    def exact(self) -> bool:
        """Whether the flat operator with horizontal means is this one."""
        metric = self.metric
        lateral = any(n > 1 and side != "periodic" for n, side in zip(metric.shape[1:], metric.sides[1:], strict=True))
        even = metric.sides[0] != "periodic" or all(np.ptp(part) == 0.0 for part in self.means())
        return self.is_flat and even and not (lateral and self.turning)


def _level_means(part: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """Means of the levels of a field; a profile's own values."""
    return part[:, 0, 0].copy() if part.shape[1:] == (1, 1) else np.broadcast_to(part, shape).mean((1, 2))


def _above_zero(name: str, values: np.ndarray) -> np.ndarray:
    if not (np.isfinite(values) & (values > 0.0)).all():
        raise InputError(f"this {name}", allowed="finite numbers above 0")
    return values
