"""Horizontally averaged profiles, accumulated on the device: means, fluxes, third moments, TKE budget.

Fluctuations are deviations from the instantaneous horizontal average. With e = (u'^2 + v'^2 + w'^2) / 2, pi = p'/rho_b:

    d<e>/dt = -<u'w'> dU/dz - <v'w'> dV/dz - <w'w'> dW/dz      shear
              + (g / theta_b) <w'theta'>                       buoyancy
              - (1/rho_b) d(rho_b <w'e>)/dz                    transport
              - (1/rho_b) d(rho_b <w'pi'>)/dz                  pressure
              + residual,

where the residual is the (negative) dissipation by the advection scheme, viscosity, closure and sponge layers.
With a closure, profiles of the subgrid fluxes are added (`subgrid`); the total flux is resolved plus subgrid flux.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.arguments import array_copy
from eagre.backend.compilation.cells import Cell
from eagre.backend.device import Work
from eagre.checks import checked_number
from eagre.device_mesh import DeviceMesh, DistributedArray
from eagre.errors import InputError
from eagre.fields import Variable
from eagre.models.anelastic.base.metric import plane_weights
from eagre.models.anelastic.engine import Engine
from eagre.models.anelastic.sampling import average_kernels as cells
from eagre.models.anelastic.sampling.average_kernels import CARRIED, WIND, Columns, Winds
from eagre.models.anelastic.subgrid.subgrid_fluxes import SubgridFluxes

MEANS = (
    Variable("u", "m s-1", "mean wind along x", "x_wind"),
    Variable("v", "m s-1", "mean wind along y", "y_wind"),
    Variable("w", "m s-1", "mean vertical velocity", "upward_air_velocity"),
    Variable("pressure", "m2 s-2", "mean pressure perturbation divided by the reference density, up to a constant"),
)
WINDS = (
    Variable("variance_u", "m2 s-2", "variance of the wind along x"),
    Variable("variance_v", "m2 s-2", "variance of the wind along y"),
    Variable("variance_w", "m2 s-2", "variance of the vertical velocity"),
    Variable("covariance_u_v", "m2 s-2", "covariance of the horizontal wind components"),
    Variable("covariance_u_w", "m2 s-2", "resolved vertical flux of x-momentum divided by density"),
    Variable("covariance_v_w", "m2 s-2", "resolved vertical flux of y-momentum divided by density"),
    Variable("third_moment_w", "m3 s-3", "third central moment of the vertical velocity"),
    Variable(
        "turbulent_kinetic_energy", "m2 s-2", "resolved turbulent kinetic energy per unit mass",
        "specific_turbulent_kinetic_energy_of_air",
    ),
)  # fmt: skip
THETA = (
    Variable("theta", "K", "mean potential temperature", "air_potential_temperature"),
    Variable("theta_perturbation", "K", "mean potential temperature minus the ambient potential temperature"),
    Variable("covariance_w_theta", "K m s-1", "resolved vertical flux of potential temperature"),
    Variable("variance_theta", "K2", "variance of the potential temperature"),
    Variable("third_moment_theta", "K3", "third central moment of the potential temperature"),
)
BUDGET = (
    Variable("tke_storage", "m2 s-3", "tendency of the resolved turbulent kinetic energy"),
    Variable("tke_shear", "m2 s-3", "shear production of resolved turbulent kinetic energy"),
    Variable("tke_buoyancy", "m2 s-3", "buoyancy production of resolved turbulent kinetic energy"),
    Variable("tke_transport", "m2 s-3", "turbulent transport of resolved turbulent kinetic energy"),
    Variable("tke_pressure", "m2 s-3", "pressure transport of resolved turbulent kinetic energy"),
    Variable("tke_residual", "m2 s-3", "residual: dissipation by advection, viscosity, closure and sponge layers"),
)

SUBGRID = (
    Variable("subgrid_flux_u_w", "m2 s-2", "subgrid vertical flux of x-momentum divided by density"),
    Variable("subgrid_flux_v_w", "m2 s-2", "subgrid vertical flux of y-momentum divided by density"),
    Variable("subgrid_flux_w_theta", "K m s-1", "subgrid vertical flux of potential temperature"),
    Variable("subgrid_dissipation", "m2 s-3", "subgrid dissipation in the equilibrium of the closure"),
    Variable("eddy_viscosity", "m2 s-1", "eddy viscosity of the closure"),
)


def of_closure(stratified: bool, scalars: Sequence[str]) -> tuple[Variable, ...]:
    """Return the profiles of the closure: subgrid fluxes, dissipation and eddy viscosity."""
    carried = [Variable(f"subgrid_flux_w_{name}", "m s-1", f"subgrid vertical flux of {name}") for name in scalars]
    return (*SUBGRID[:2], *(SUBGRID[2:3] if stratified else ()), *carried, *SUBGRID[3:])


def of_scalar(name: str) -> tuple[Variable, ...]:
    """Return mean, flux, variance and third moment of a passive scalar."""
    return (
        Variable(name, "1", f"mean of the passive scalar {name}"),
        Variable(f"covariance_w_{name}", "m s-1", f"resolved vertical flux of {name}"),
        Variable(f"variance_{name}", "1", f"variance of {name}"),
        Variable(f"third_moment_{name}", "1", f"third central moment of {name}"),
    )


Array = np.ndarray
EVERY = 10
PRESSURE = 3  # row of the pressure in the means


class Rows(NamedTuple):
    """Rows of the sums, by quantity."""

    means: tuple[str, ...]
    moments: tuple[str, ...]

    def of(self, name: str) -> int:
        """Return the row of a quantity."""
        return (*self.means, *self.moments, "shear").index(name)

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.means) + len(self.moments) + 1


class MeanProfiles:
    """Accumulated profile statistics between two output records.

    Parameters
    ----------
    engine : Engine
    time : float, s
        Current model time.
    every : int
        Number of steps between two samples. A sample has the weight of the time since the previous sample. Each record
        adds a sample.
    heights : (n,), m, optional
        Heights above z = 0. The default is the levels; over terrain, the levels of flat terrain from its lowest point
        upwards.

    Attributes
    ----------
    heights : (n,) array, m
        Heights above z = 0.
    share : (n,) array
        Fraction of each horizontal plane above the terrain.
    variables : tuple of Variable
        Variables that `take` returns.

    Raises
    ------
    InputError
        For heights below the terrain or above the top.
    """

    def __init__(self, engine: Engine, time: float, every: int = EVERY, heights: Any = None) -> None:
        self._engine = engine
        self.every = int(checked_number("every", every, 1, 2**31))
        self.heights, interpolated = _heights(engine, heights)
        carried = (*(("theta",) if engine.setup.stratified else ()), *engine.setup.scalars)
        self._carried = carried
        self._subgrids = subgrids_of(engine)
        closed = (*(f"closure {name}" for name in self._subgrids[0].names), "eddies") if self._subgrids else ()
        moments = (*WIND, *(f"{name} {one}" for name in carried for one in CARRIED), *closed)
        self._rows = Rows(("u", "v", "w", "pressure", *carried), moments)
        self._columns, self.share = _columns(engine, self.heights, interpolated)
        self._interpolated = interpolated
        device, size = engine.device, self.heights.size
        self._sums: Callable[[], None] | None = None
        self._numbers = device.zeros((2,), np.float64)
        self._averages, self._accumulated = (device.zeros((self._rows.count, size), np.float64) for _ in range(2))
        weight = self.share * self._weight
        self._over_weight = device.array(np.divide(1.0, weight, out=np.zeros(size), where=weight > 0.0))
        self._neighbours = _neighbours(self.heights, engine.setup.boundaries[0], engine.setup.top_height)
        self._near = tuple(device.array(one) for one in self._neighbours)
        self.variables: Sequence[Variable] = self._declared()
        self.begin(time)

    @property
    def _weight(self) -> float:
        """Number of points of a plane; points on walls have weight 1/2."""
        return float(np.multiply.outer(*plane_weights(self._engine.setup.shape, self._engine.setup.boundaries)).sum())

    def _declared(self) -> tuple[Variable, ...]:
        carried = [one for name in self._engine.setup.scalars for one in of_scalar(name)]
        stratified = self._engine.setup.stratified
        budget = [one for one in BUDGET if stratified or one.name != "tke_buoyancy"]
        closed = of_closure(stratified, self._engine.setup.scalars) if self._subgrids else ()
        return (*MEANS, *WINDS, *(THETA if stratified else ()), *carried, *closed, *budget)

    # -- time ---------------------------------------------------------------------------------------

    @property
    def left(self) -> int:
        """Number of steps until the next sample."""
        return self.every - self._since

    def begin(self, time: float) -> None:
        """Reset the sums and start an averaging interval at the current time, s."""
        self._sample(time, 0.0)
        self._engine.device.fill(self._accumulated, np.zeros((self._rows.count, self.heights.size)))
        self._first = self._energy(self._engine.device.host(self._averages))
        self.start, self._last, self._since = time, time, 0

    def stepped(self, time: float) -> None:
        """Register a completed step that ends at a time, s; sample if due."""
        self._since += 1
        if self._since >= self.every:
            self._add(time)

    def _add(self, time: float) -> None:
        """Add a sample, weighted by the time since the last sample."""
        self._sample(time, time - self._last)
        self._last, self._since = time, 0

    def take(self, time: float) -> dict[str, Array]:
        """Return averages, (n,) each, from `start` to the current time, s, and start the next interval.

        Values below the terrain are NaN, and the budget is NaN at heights that intersect the terrain and next to them.
        """
        if time > self._last:
            self._add(time)
        lasted = time - self.start
        if not lasted > 0.0:
            raise InputError(
                f"profiles at t = {time:g} s",
                allowed=f"times after t = {self.start:g} s",
                problem="The averaging interval of the profiles is empty.",
            )
        host = self._engine.device.host
        averages, energy = host(self._accumulated) / lasted, self._energy(host(self._averages))
        result = self._named(averages)
        result |= self._budget(averages, result, (energy - self._first) / lasted)
        self._engine.device.fill(self._accumulated, np.zeros(averages.shape))
        self._first, self.start = energy, time
        below_terrain = self.share <= 0.0
        return {one.name: np.where(below_terrain, np.nan, result[one.name]) for one in self.variables}

    # -- sums on the device -------------------------------------------------------------------------

    def _sample(self, time: float, lasted: float) -> None:
        """Compute the averages at a time, s, in `_averages` and add them to `_accumulated` with a weight, s."""
        device, dt = self._engine.device, self._engine.steps.previous_dt
        for subgrid in self._subgrids:
            subgrid.set_time(time)
        device.fill(self._numbers, np.array([2.0 / dt if dt else 0.0, lasted]))
        if self._sums is None:
            self._sums = self._sampling()
        self._sums()

    def _sampling(self) -> Callable[[], None]:
        """Return a function that runs a sample; the host adds the sums of several devices in row order."""
        device, means, (sums, first, second, last) = self._engine.device, len(self._rows.means), self._launches()
        if not isinstance(device, DeviceMesh):
            return device.repeated([*first, *second, *last], 1)

        def sample() -> None:
            device.run(first)
            device.add_up(sums[:means])
            device.run(second)
            device.add_up(sums[means:])
            device.run(last)

        return sample

    def _launches(self) -> tuple[Any, list[Any], list[Any], list[Any]]:
        """Return the sums along y, and the launches of a sample: first the means, then the moments.

        Only `_numbers`, the pressure factor and the weight, change between samples.
        """
        engine, rows, columns = self._engine, self._rows, self._columns
        device, state, means = engine.device, engine.steps.fields, len(self._rows.means)
        plane, averages = (self.heights.size, engine.setup.shape[2]), self._averages
        sums = device.zeros((rows.count - 1, *plane), np.float64)
        one, scale, weight = device.array(np.ones(1)), self._numbers[:1], self._numbers[1:]
        carried = [state.present[name] for name in self._carried]
        fields = Winds(state.velocity.u, state.velocity.v, state.velocity.w, engine.steps.projection.phi)
        mean = [averages[row] for row in range(means)]
        wind = Winds(*mean[:4])
        first = [
            self._over(cells.sum_field, plane, field, scale if row == PRESSURE else one, columns, row, sums)
            for row, field in enumerate((*fields, *carried))
        ]
        work = [self._over(cells.average, (means, plane[0]), sums[:means], self._over_weight, averages)]
        work.append(self._over(cells.sum_wind, plane, fields, scale, columns, wind, means, sums))
        for n, (field, average) in enumerate(zip(carried, mean[4:], strict=True)):
            row = means + len(WIND) + n * len(CARRIED)
            arguments = (field, state.velocity.w, average, mean[2], columns, row, sums)
            work.append(self._over(cells.sum_carried, plane, *arguments))
        work += self._closed(plane, one, sums)
        region = len(rows.moments), plane[0]
        last = [self._over(cells.average, region, sums[means:], self._over_weight, averages[means:])]
        u, v, w = (averages[rows.of(name)] for name in ("uw", "vw", "ww"))
        shear = wind, Winds(u, v, w, w), *self._near, averages[rows.of("shear")]
        last.append(self._over(cells.set_shear, plane[:1], *shear))
        last.append(self._over(cells.accumulate, (rows.count, plane[0]), averages, weight, self._accumulated))
        return sums, first, work, last

    def _closed(self, plane: tuple[int, int], one: Any, sums: Any) -> list[Any]:
        """Return launches that sum the subgrid fluxes, dissipation and viscosity of the closure."""
        subgrids, row = self._subgrids, self._rows.of
        if not subgrids:
            return []
        field = self._joined([subgrid.field for subgrid in subgrids])
        work = self._each([subgrid.eddies() for subgrid in subgrids])
        for name in subgrids[0].names:
            work += self._each([subgrid.launches(name) for subgrid in subgrids])
            work.append(self._over(cells.sum_field, plane, field, one, self._columns, row(f"closure {name}"), sums))
        mixing = self._joined([subdomain.tendencies.diffusion.mixing for subdomain in self._engine.subdomains])
        return [*work, self._over(cells.sum_field, plane, mixing, one, self._columns, row("eddies"), sums)]

    def _each(self, launches: list[list[Work]]) -> list[Any]:
        """Return the launches of all devices as one stage; for a single device, the launches."""
        return [launches] if isinstance(self._engine.device, DeviceMesh) else list(launches[0])

    def _joined(self, fields: list[Any]) -> Any:
        """Return a field of all devices."""
        is_group = isinstance(self._engine.device, DeviceMesh)
        return DistributedArray(fields, self._engine.setup.shape, -2) if is_group else fields[0]

    def _over(self, cell: Cell, region: tuple[int, ...], *arguments: Any) -> Any:
        """Return a loop over a region, or for several devices a stage of loops over their parts."""
        device = self._engine.device
        loop = device.loop(cell, "double", {"INTERPOLATED": self._interpolated})
        return device.over_all(loop, region, arguments)

    # -- output records -----------------------------------------------------------------------------

    def _energy(self, averages: Array) -> Array:
        """Return <e> from the rows of the sums."""
        uu, vv, ww = (averages[self._rows.of(name)] for name in ("uu", "vv", "ww"))
        return 0.5 * (uu + vv + ww)

    def _named(self, averages: Array) -> dict[str, Array]:
        """Return means and moments by the names of `variables`."""
        row = self._rows.of
        result = {name: averages[row(name)] for name in self._rows.means}
        if "theta" in self._carried:
            result["theta_perturbation"] = result["theta"]
            result["theta"] = self._engine.setup.air.ambient(self.heights) + result["theta"]
        result |= {one.name: averages[row(key)] for key, one in zip(WIND, WINDS[:7], strict=False)}
        for name in self._carried:
            keys = [f"{name} {one}" for one in CARRIED]
            result |= {one.name: averages[row(key)] for key, one in zip(keys, of_scalar(name)[1:], strict=True)}
        if self._subgrids:
            keys = (*(f"closure {name}" for name in self._subgrids[0].names), "eddies")
            closed = of_closure(self._engine.setup.stratified, self._engine.setup.scalars)
            result |= {one.name: averages[row(key)] for key, one in zip(keys, closed, strict=True)}
        return result | {"turbulent_kinetic_energy": self._energy(averages)}

    def _budget(self, averages: Array, result: Mapping[str, Array], storage: Array) -> dict[str, Array]:
        """Return the terms of the TKE budget, m2 s-3."""
        atmosphere, row = self._engine.setup.air, self._rows.of
        low, high, over = self._neighbours
        density = atmosphere.density(self.heights)
        rates = {"tke_storage": storage, "tke_shear": averages[row("shear")]}
        if "theta" in self._carried:
            buoyancy = atmosphere.gravity / atmosphere.reference(self.heights)
            rates["tke_buoyancy"] = buoyancy * result["covariance_w_theta"]
        for name, key in (("tke_transport", "we"), ("tke_pressure", "wp")):
            flux = density * averages[row(key)]
            rates[name] = -(flux[high] - flux[low]) * over / density
        rates["tke_residual"] = storage - sum(rate for name, rate in rates.items() if name != "tke_storage")
        near_terrain = np.minimum(self.share, np.minimum(self.share[low], self.share[high])) < 1.0
        return {name: np.where(near_terrain, np.nan, rate) for name, rate in rates.items()}

    # -- restart ------------------------------------------------------------------------------------

    def state(self) -> dict[str, Array]:
        """Return the state for a restart."""
        host = self._engine.device.host
        return {
            "averages": np.stack([host(self._accumulated), host(self._averages)]),
            "averages_first": self._first,
            "averages_clock": np.array([self.start, self._last, self._since]),
        }

    def restore(self, state: Mapping[str, Array], time: float) -> None:
        """Load a state of `state`; without profile sums, start an interval at the current time, s."""
        held = state.get("averages")
        if held is None or held.shape != (2, self._rows.count, self.heights.size):
            self.begin(time)
            return
        for array, values in zip((self._accumulated, self._averages), held, strict=True):
            self._engine.device.fill(array, values)
        self._first = np.array(state["averages_first"])
        start, last, since = map(float, state["averages_clock"])
        self.start, self._last, self._since = start, last, int(since)


def subgrids_of(engine: Engine) -> list[SubgridFluxes]:
    """Return the subgrid fluxes of each device; none without a closure."""
    if engine.setup.closure is None:
        return []
    return [
        SubgridFluxes(
            subdomain.setup, subdomain.device, engine.precision, subdomain.base.density, subdomain.fields.present,
            subdomain.tendencies.diffusion, subdomain.tendencies.ground,
        )
        for subdomain in engine.subdomains
    ]  # fmt: skip


def _heights(engine: Engine, heights: Any) -> tuple[Array, bool]:
    """Return the heights of the averages, and whether interpolation is needed."""
    levels = engine.setup.levels
    lowest, top = 0.0 if levels.terrain_height is None else float(levels.terrain_height.min()), float(levels.height[-1])
    if heights is None:
        return levels.height[levels.height >= lowest], levels.terrain_height is not None
    values = array_copy("heights", heights)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all() or not (np.diff(values) > 0.0).all():
        raise InputError(
            "these heights of profiles",
            allowed="heights that rise, m",
            fix="heights = [10.0, 50.0]",
            problem="The heights of the profiles do not increase.",
        )
    wrong = values[(values < lowest) | (values > top)]
    if wrong.size:
        raise InputError(
            f"profiles at z = {wrong[0]:g} m",
            allowed=f"lowest terrain, {lowest:g} m, to {top:g} m",
            problem="A height of the profiles is outside the domain.",
        )
    same = levels.terrain_height is None and np.array_equal(values, levels.height)
    return values, not same


def _columns(engine: Engine, heights: Array, interpolated: bool) -> tuple[Columns, Array]:
    """Return the columns on the device, and the fraction of each horizontal plane above the terrain."""
    levels, device = engine.setup.levels, engine.device
    ground = np.zeros(engine.setup.shape[1:]) if levels.terrain_height is None else levels.terrain_height
    y, x = plane_weights(engine.setup.shape, engine.setup.boundaries)
    plane = np.multiply.outer(y, x)
    fraction = np.array([(plane * (ground <= z)).sum() for z in heights]) / plane.sum()
    planes = (ground, 1.0 / (1.0 - ground / levels.height[-1])) if interpolated else (np.zeros((1, 1)),) * 2
    put = device.field if interpolated else device.array
    weights = device.distributed_rows(y) if isinstance(device, DeviceMesh) else device.array(y)
    arrays = device.array(heights), device.array(levels.height), put(planes[0]), put(planes[1])
    return Columns(*arrays, weights, device.array(x)), fraction


def _neighbours(heights: Array, side: str, period: float) -> tuple[Array, Array, Array]:
    """Return indices of the heights below and above each height, one-sided at ends, and the inverse distance, m-1."""
    n = heights.size
    low, high = np.maximum(np.arange(n) - 1, 0), np.minimum(np.arange(n) + 1, n - 1)
    apart = heights[high] - heights[low]
    if side == "periodic" and n > 1:
        low, high = np.arange(n) - 1, (np.arange(n) + 1) % n
        low[0] = n - 1
        apart = (heights[high] - heights[low]) % period
    over = np.divide(1.0, apart, out=np.zeros(n), where=apart > 0.0)
    return low, high, over
