"""Multi-device engine of the ADI model: row slabs, one per device.

See docs/development/decisions/0028-implicit-rows-over-several-devices.md.

In each step every device computes the sweep along x and the sweep along y, then copies rows from its neighbours. The
sweep along x of the next step continues with these rows. All devices wait at the barriers: a sweep along y overwrites
rows that other devices copy, and the copied rows must be complete.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Device, check_precision
from eagre.backend.exchange import LocalTransport
from eagre.backend.group import BARRIER, Group, Stage
from eagre.boundaries.subdomain import cut_book, join_book
from eagre.decomposition import bands, check_memory_of_each, check_thickness
from eagre.kernels.water_sums import named_sums
from eagre.models.shallow_water_adi.balance import Balance, CrossSectionBook
from eagre.models.shallow_water_adi.band import Band, rows_beside
from eagre.models.shallow_water_adi.diagnostics import DEEPEST
from eagre.models.shallow_water_adi.engine import Engine
from eagre.models.shallow_water_adi.layout import PADDING, device_bytes, maps_of
from eagre.models.shallow_water_adi.plan import EPSILON
from eagre.models.shallow_water_adi.setup import Setup
from eagre.models.shallow_water_adi.sides import Side, sides_of
from eagre.models.shallow_water_adi.start import stopped_at_walls
from eagre.models.shallow_water_adi.stepping import first_bad, rounds_of, run, steps_of
from eagre.stepping.maps import join_maps, maps_of_rows

LOCATIONS = {"z": "centre", "p": "face_x", "q": "face_y"}  # locations of the exchanged fields


class Bands:
    """Engine of one run on several devices; results for the model are assembled on the host."""

    def __init__(self, setup: Setup, group: Group, precision: str) -> None:
        self.setup, self.device, self.precision = setup, group, precision
        self.real = check_precision(precision)
        self.sides: list[Side] = sides_of(setup.segments, setup.level)
        beside = rows_beside(setup, precision, setup.deepest)
        check_bands(setup, group, beside)
        self.transport = LocalTransport(group)
        self._book = Balance(setup.segments, setup.grid, setup.bed, setup.terms, group.devices[0])
        self._lines = CrossSectionBook(setup.cross_sections, group.devices[0])
        self._deepest = 0.0
        self.batch, self.check_interval = (min(steps) for steps in zip(*map(steps_of, group.devices), strict=True))
        self.rounds = rounds_of(self)
        self._lay_out(beside)

    def _lay_out(self, beside: int) -> None:
        setup, members, (ny, nx) = self.setup, self.device.devices, self.setup.grid.shape
        self.beside = beside
        self.rounds.clear()
        heights = np.diff(np.arange(len(members) + 1) * ny // len(members)).tolist()
        rows = bands(ny, nx, heights, halo=(beside, 0), leading=(1, PADDING), overlap=True)
        held = [high - low for low, high in (rows.held(rank)[0] for rank in range(rows.count))]
        itemsize, forced = np.dtype(self.real).itemsize, maps_of(setup.terms, self.device.kind)
        check_memory_of_each(self.device, [device_bytes(n, nx, itemsize, forced) for n in held])
        self.decomposition = rows
        self.bands = [Band(setup, member, self.precision, rows, rank) for rank, member in enumerate(members)]
        self.engines = [band.engine for band in self.bands]

    # -- steps --------------------------------------------------------------------------------------

    def launches(self, parity: int, row: int) -> list[Stage]:
        """Return the stages of a step; row : row of the series values of its first sweep."""
        for rank, engine in enumerate(self.engines):
            for name, array in zip(LOCATIONS, (engine.z[0], engine.p[1 - parity], engine.q[1 - parity]), strict=True):
                self.transport.publish(rank, name, array)
        along_x = [engine.along_x(parity, row) for engine in self.engines]
        along_y = [engine.along_y(parity, row + 1) for engine in self.engines]
        rows = self.transport.exchange(self.decomposition.messages(LOCATIONS))
        return [along_x, BARRIER, along_y, BARRIER, rows]

    def run(self, steps: int, start: float, made: int) -> None:
        """Make steps of a batch; see `Engine.run`."""
        run(self, steps, start, made)

    def look_up_series(self, start: float, made: int, count: int) -> None:
        """Evaluate the series; see `Engine.look_up_series`."""
        for engine in self.engines:
            engine.look_up_series(start, made, count)

    def set_time_step(self, dt: float) -> None:
        """Set the time step `dt`, s."""
        for engine in self.engines:
            engine.set_time_step(dt)
        self.rounds.clear()

    def restagger(self, dt: float, time: float) -> None:
        """Change the time step; see `Engine.restagger`."""
        if dt != self.dt:
            self.device.synchronize()
            for engine in self.engines:
                engine.restagger(dt, time)
            self.rounds.clear()

    def watch(self) -> None:
        """Adapt the plan to deeper water.

        The partitions of lines are coupled exactly, and the overlap of the slabs increases.
        """
        if self.lost() > 16.0 * EPSILON[self.precision]:
            for engine in self.engines:
                engine.replan(exact=True)
            self.rounds.clear()
        if rows_beside(self.setup, self.precision, self._deepest, safe=False) > self.beside:
            self._widen(rows_beside(self.setup, self.precision, self._deepest))

    def _widen(self, beside: int) -> None:
        state, dt = {**self.state(), **self.maps_state(None)}, self.dt
        self._lay_out(beside)
        self.set_time_step(dt)
        self._take_up(state)
        self.resume_maps(state, 0.0)

    def lost(self) -> float:
        """Return the maximum neglected coupling between partitions of a line on any device, relative; 0 on a CPU."""
        return max(engine.lost() for engine in self.engines)

    # -- interface for the model --------------------------------------------------------------------

    @property
    def dt(self) -> float:
        """Time step, s."""
        return self.engines[0].dt

    @property
    def parity(self) -> int:
        """Index of the arrays with the newer fluxes."""
        return self.engines[0].parity

    @parity.setter
    def parity(self, value: int) -> None:
        for engine in self.engines:
            engine.parity = value

    @property
    def method(self) -> str:
        """Description of the solver of the lines."""
        return f"{self.engines[0].method}; {len(self.bands)} row slabs with an overlap of {self.beside} rows"

    @property
    def balance(self) -> Balance:
        """Present water balance of the whole domain."""
        self.device.synchronize()
        book = np.zeros(self._book.book.shape)
        for band in self.bands:
            join_book(book, band.places, band.device.host(band.engine.balance.book))
        self._book.resume(book)
        return self._book

    @property
    def lines(self) -> CrossSectionBook:
        """Present volumes through the cross-sections of the whole domain."""
        self.device.synchronize()
        self._lines.join([engine.lines for engine in self.engines])
        return self._lines

    def next_records(self) -> None:
        """Load the next records of time-varying fields; see `Engine.next_records`."""
        self.balance.settle()
        for engine in self.engines:
            engine.next_records()
        self._book.weigh(self.setup.terms)

    def load_records(self) -> None:
        """Load the records in use; see `Engine.load_records`."""
        for engine in self.engines:
            engine.load_records()
        self._book.weigh(self.setup.terms)

    def row_sums(self) -> np.ndarray:
        """Return the row sums of all rows of the domain; see `Engine.row_sums`."""
        self.device.synchronize()
        rows = np.concatenate([band.own_row_sums() for band in self.bands])
        self._deepest = float(rows[:, DEEPEST].max())
        return rows

    def sums(self) -> dict[str, float]:
        """Return sums and extremes over the domain; see `Engine.sums`."""
        return named_sums(self.row_sums(), self.setup.grid)

    def bad_cell(self) -> tuple[int, int] | None:
        """Return the first cell that is not finite; see `Engine.bad_cell`."""
        return first_bad(self.row_sums())

    def at(self, j: np.ndarray, i: np.ndarray) -> list[np.ndarray]:
        """Return the values in cells (j, i); see `Engine.at`."""
        self.device.synchronize()
        found = [np.zeros(j.shape, self.real) for _ in range(11)]
        for band in self.bands:
            here = (j >= band.first) & (j < band.last)
            if here.any():
                for values, own in zip(found, band.engine.at(j[here] - band.low, i[here]), strict=True):
                    values[here] = own
        return found

    def set_state(self, z: np.ndarray, p: np.ndarray, q_before: np.ndarray, q_after: np.ndarray) -> None:
        """Set the fields; see `Engine.set_state`."""
        scatter = self.decomposition.scatter
        for rank, engine in enumerate(self.engines):
            q = (scatter(values, rank, "face_y") for values in (q_before, q_after))
            engine.set_state(scatter(z, rank), scatter(p, rank, "face_x"), *q)
        self.device.synchronize()

    def surface(self) -> np.ndarray:
        """Return a host copy of z, (ny, nx)."""
        self.device.synchronize()
        return self._gathered([engine.z[0] for engine in self.engines], "centre")

    def _gathered(self, arrays: list[Any], location: str) -> np.ndarray:
        """Return a field of the whole domain from the arrays of the slabs."""
        parts = [
            self.decomposition.owned_cells(rank, band.device.host(array), location)
            for rank, (band, array) in enumerate(zip(self.bands, arrays, strict=True))
        ]
        return self.decomposition.gather(self.transport.collect(parts), location)

    def fluxes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return host copies of the fluxes; see `Engine.fluxes`."""
        self.device.synchronize()
        now = self.parity
        p = self._gathered([engine.p[now] for engine in self.engines], "face_x")
        q = [self._gathered([engine.q[k] for engine in self.engines], "face_y") for k in (0, 1)]
        return p, q[1 - now], q[now]

    def state(self) -> dict[str, np.ndarray]:
        """Return the state, which one device can restore too, and the overlap of the slabs."""
        p, q_before, q_after = self.fluxes()
        fields = {"z": self.surface(), "p": p, "q_before": q_before, "q_after": q_after}
        plans = [engine.plan_state().get("plan", np.zeros((0, 0))) for engine in self.engines]
        found = {**fields, **self.balance.state(), **self.lines.state(), "rows_beside": np.array(self.beside)}
        return {**found, "plan": np.concatenate(plans)} if self.device.kind == "cuda" else found

    def maps_state(self, time: float | None) -> dict[str, np.ndarray]:
        """Return the maps of the whole domain; see `Engine.maps_state`."""
        rows = [(band.first - band.low, band.last - band.low) for band in self.bands]
        each = [band.engine.maps_state(time) for band in self.bands]
        return join_maps([one | maps_of_rows(one, *own) for one, own in zip(each, rows, strict=True)])

    def resume_maps(self, state: dict[str, np.ndarray], time: float) -> None:
        """Restore the maps; see `Engine.resume_maps`."""
        for band in self.bands:
            own = {**state, "z": state["z"][band.low : band.high], **maps_of_rows(state, band.low, band.high)}
            band.engine.resume_maps(own, time)

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore a state from any number of devices."""
        beside, dt = int(state.get("rows_beside", self.beside)), self.dt
        if beside > self.beside:
            self._lay_out(beside)
            self.set_time_step(dt)
        self._take_up(state)

    def _take_up(self, state: dict[str, np.ndarray]) -> None:
        count = len(self.engines)
        if any([engine.resume_plan(state, rank, count) for rank, engine in enumerate(self.engines)]):
            self.rounds.clear()
        self.set_state(state["z"], *stopped_at_walls(state, self.sides, self.setup.walls))
        self.load_records()
        book = self._book.book_of(state)
        self._book.resume_settled(state)
        for band in self.bands:
            band.engine.balance.resume(cut_book(book, band.places, band.engine.balance.book.size))
            band.engine.lines.resume(self._lines.cut(state, band.engine.lines))
        self.device.synchronize()


def engine_for(setup: Setup, device: Device | Group, precision: str) -> Any:
    """Return the engine of a run on one device or on several devices."""
    return Bands(setup, device, precision) if isinstance(device, Group) else Engine(setup, device, precision)


def check_bands(setup: Setup, group: Group, beside: int) -> None:
    """Raise `InputError` if a slab has fewer own rows than it needs from each neighbour."""
    what = f"rows; with this time_step the implicit coupling along y extends over {beside} rows"
    check_thickness(group, setup.grid.ny, beside, what, f"at least {beside} rows per device, or a shorter time_step")
