"""Time series of extremes: wind, theta', scalars, Courant numbers, divergence, iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.fields import Variable
from eagre.io.writers.measured import Axis
from eagre.models.anelastic.engine import Engine
from eagre.models.anelastic.stages import Stages
from eagre.models.anelastic.step_kernels import rise

WIND = 5  # rows of the wind: |u|, |v|, w, -w and sum |u_i| / dx_i
NUMBERS = (
    Variable("max_abs_u", "m s-1", "maximum absolute wind along x"),
    Variable("max_abs_v", "m s-1", "maximum absolute wind along y"),
    Variable("max_w", "m s-1", "maximum vertical velocity"),
    Variable("min_w", "m s-1", "minimum vertical velocity"),
    Variable("advective_courant_number", "1", "maximum advective Courant number, summed over x, y and z"),
    Variable("stability_number", "1", "maximum of outflow Courant number and diffusion number"),
    Variable("scaled_divergence", "1", "time step times the maximum residual divergence of the last step"),
    Variable("time_step", "s", "length of the last step"),
    Variable("steps", "1", "number of steps since the start of the run"),
    Variable("iterations", "1", "number of pressure iterations since the start of the run"),
)


@cell
def max_wind(j, i, u, v, w, g, over, out):
    """Compute the maxima of the wind along y at level j and column i; over: inverse grid spacings (z, y, x), m-1."""
    along_x = along_y = rate = real(0.0)
    up = down = real(-1e30)
    for n in range(u.shape[1]):
        here = w[j, n, i]
        along_x = max(along_x, abs(u[j, n, i]))
        along_y = max(along_y, abs(v[j, n, i]))
        up = max(up, here)
        down = max(down, -here)
        crossed = over[2] * abs(u[j, n, i]) + over[1] * abs(v[j, n, i]) + over[0] * abs(rise(j, n, i, u, v, w, g))
        rate = max(rate, crossed)
    out[0, j, i] = along_x
    out[1, j, i] = along_y
    out[2, j, i] = up
    out[3, j, i] = down
    out[4, j, i] = rate


@cell
def max_value(j, i, q, row, out):
    """Compute the maxima of q and -q along y at level j and column i."""
    high = low = real(-1e30)
    for n in range(q.shape[1]):
        high = max(high, q[j, n, i])
        low = max(low, -q[j, n, i])
    out[row, j, i] = high
    out[row + 1, j, i] = low


@cell
def max_of_row(j, i, values, out):
    """Compute the maximum along x of row j at level i."""
    maximum = values[j, i, 0]
    for n in range(values.shape[2]):
        maximum = max(maximum, values[j, i, n])
    out[j, i] = maximum


class Maxima:
    """Sampler of extremes of the current state, computed on the device.

    Attributes
    ----------
    variables, axes, dimensions
        See `eagre.io.writers.measured.Measured`; all variables are scalars.
    """

    axes: Sequence[Axis] = ()

    def __init__(self, engine: Callable[[], Engine]) -> None:
        self._engine = engine
        setup = engine().setup
        self._carried = {"theta": "theta_perturbation"} if setup.stratified else {}
        self._carried |= {name: name for name in setup.scalars}  # names of state and of fields
        ranges: list[Variable] = []
        for name, field in self._carried.items():
            units, what = (
                ("K", "potential temperature minus the ambient potential temperature")
                if name == "theta"
                else ("1", name)
            )
            ranges += [Variable(f"{end}_{field}", units, f"{end}imum of {what}") for end in ("max", "min")]
        self.variables: Sequence[Variable] = [*NUMBERS[:4], *ranges, *NUMBERS[4:]]
        self.dimensions: dict[str, tuple[str, ...]] = {one.name: () for one in self.variables}

    def sample(self) -> dict[str, np.ndarray]:
        """Return the current value of each variable."""
        engine = self._engine()
        maxima = self._maxima(engine)
        dt, counts = engine.steps.previous_dt, engine.counts
        values = {"max_abs_u": maxima[0], "max_abs_v": maxima[1], "max_w": maxima[2], "min_w": -maxima[3]}
        for n, field in enumerate(self._carried.values()):
            values |= {f"max_{field}": maxima[WIND + 2 * n], f"min_{field}": -maxima[WIND + 2 * n + 1]}
        values |= {"advective_courant_number": dt * maxima[4], "stability_number": counts["courant"]}
        values |= {"scaled_divergence": counts["divergence"], "time_step": dt}
        values |= {name: counts[name] for name in ("steps", "iterations")}
        return {one.name: np.array(values[one.name]) for one in self.variables}

    def _maxima(self, engine: Engine) -> np.ndarray:
        """Return the maxima of all rows, float64; halo rows of several devices do not change the maxima."""
        return np.max([self._subdomain_maxima(engine.precision, subdomain) for subdomain in engine.subdomains], axis=0)

    def _subdomain_maxima(self, precision: str, subdomain: Stages) -> np.ndarray:
        """Return the maxima over the points of one device."""
        device, setup, fields = subdomain.device, subdomain.setup, subdomain.fields
        nz, _, nx = setup.shape
        rows, dtype = WIND + 2 * len(self._carried), fields.velocity.u.dtype
        planes, lines = device.zeros((rows, nz, nx), dtype), device.zeros((rows, nz), dtype)
        inverse = [1.0 / d if n > 1 else 0.0 for d, n in zip(setup.spacing, setup.shape, strict=True)]
        over = device.array(np.array(inverse, dtype))

        def over_plane(one: Any, *arguments: Any) -> Any:
            loop = device.loop(one, precision, {"TERRAIN": setup.terrain})
            return device.over(loop, (nz, nx), arguments)

        work = [over_plane(max_wind, *fields.velocity, subdomain.slopes, over, planes)]
        for n, name in enumerate(self._carried):
            work.append(over_plane(max_value, fields.present[name], WIND + 2 * n, planes))
        loop = device.loop(max_of_row, precision)
        device.run([*work, device.over(loop, (rows, nz), (planes, lines))])
        return device.host(lines).astype(np.float64).max(axis=1)
