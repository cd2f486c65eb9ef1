"""Multi-device engine of the explicit model: row slabs, one per device.

See docs/development/decisions/0037-explicit-rows-over-several-devices.md.

In each stage every device updates its rows, exchanges two halo rows with each neighbour and the maximum rates with all
devices, and runs the boundary pass, whose tail updates the clock. All devices wait for each other once per stage, at
the barrier. All devices evaluate the same clock with the same rates: times, time steps and rejected steps are the same
everywhere.

One wait per stage is sufficient. After the barrier of stage k a device reads the rows and rates that stage k wrote on
another device. These are not overwritten before stage k + 2, which follows the barrier of stage k + 1: the stages write
alternately to two arrays (the second stage of RK2 never writes to the array of the first) and to two rate buffers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device, check_precision
from eagre.backend.exchange import LocalTransport, Message
from eagre.backend.group import BARRIER, Group, Stage, in_turn
from eagre.boundaries.ghosts import LAYERS, segment_table
from eagre.boundaries.subdomain import global_face_numbers, join_sums
from eagre.decomposition import bands, check_memory_of_each, check_thickness, equal_parts
from eagre.errors import InputError
from eagre.kernels.water_sums import named_sums
from eagre.models.shallow_water import march_tiles
from eagre.models.shallow_water.balance import Balance, CrossSectionVolumes
from eagre.models.shallow_water.band import Band, BandMarch, Rates, band_setup
from eagre.models.shallow_water.engine import Engine
from eagre.models.shallow_water.legs import Legs
from eagre.models.shallow_water.setup import Setup
from eagre.stepping import clock as ck
from eagre.stepping.maps import join_maps
from eagre.stepping.recording import Extra, Ring

LEAST_ROWS = 4  # minimum rows of a slab


class Bands(Legs):
    """Engine of one run on several devices; results for the model are assembled on the host."""

    def __init__(self, setup: Setup, group: Group, precision: str) -> None:
        self.setup, self.device, self.precision = setup, group, precision
        self.real = check_precision(precision)
        grid, count = setup.grid, len(group.members)
        _check_options(setup, count)
        check_thickness(group, grid.ny, LEAST_ROWS, "rows", f"{LEAST_ROWS} rows or more each")
        heights = equal_parts(grid.ny, count)
        halo, wraps = (LAYERS, 0), (setup.wraps[1], False)
        self.decomposition = bands(
            grid.ny, grid.nx, heights, halo=halo, before=(LAYERS, LAYERS), periodic=wraps, padded=False
        )
        row_bytes = (setup.words + setup.terms.record_maps(group.kind)) * (grid.nx + 5) * np.dtype(self.real).itemsize
        check_memory_of_each(group, [(rows + 5) * row_bytes for rows in heights])
        most = group.layout("cpu.shallow-water").rows
        counts = [len(march_tiles.tiles_of(rows, grid.nx, most)[0]) if group.kind == "cpu" else 1 for rows in heights]
        self.rates = [Rates(counts, rank) for rank in range(count)]
        corners, self.bands = setup.padded_bed(), []
        for rank, member in enumerate(group.members):
            first, last = self.decomposition.own(rank)[0]
            own = band_setup(setup, first, last, corners)
            self.bands.append(Band(own, member, precision, first, self.rates[rank]))
            self.bands[-1].places = global_face_numbers(setup.faced, grid, first, last)
        self._book = Balance(setup.faced, segment_table(setup.faced, grid)[0], grid, setup.terms, group.members[0])
        self._lines = CrossSectionVolumes(setup.cross_sections, group.members[0])
        self.shape, self.parameters = (3, grid.ny + 2 * LAYERS, grid.nx + 2 * LAYERS), self.bands[0].parameters
        self.arrange()
        self.prepare_legs()

    # -- schedules ----------------------------------------------------------------------------------

    def arrange(self) -> None:
        """Combine the launches of the slabs, with barriers and halo exchanges between them."""
        self.transport = transport = LocalTransport(self.device)
        marches = [band.schedule for band in self.bands]
        for rank, march in enumerate(marches):
            transport.publish(rank, "rates", march.rates)
        self.round: list[Stage] = []
        for k, stages in enumerate(zip(*(march.stages for march in marches), strict=True)):
            exchange = self._exchange(f"stage{k}", [stage.out for stage in stages], self._rates_after(k % 2))
            after = in_turn(exchange, [stage.boundary for stage in stages])
            self.round += [[stage.interior for stage in stages], BARRIER, after]
        self.begin = [[band.begin for band in self.bands]]
        self.look = [[band.look for band in self.bands]]
        self._fill: list[list[Stage]] = []
        for k in range(len(self.bands[0].q)):
            exchange = self._exchange(f"q{k}", [band.q[k] for band in self.bands], [])
            self._fill.append([BARRIER, in_turn(exchange, [march.ghosts[k] for march in marches])])
        self.steps_a_round, self.parts = marches[0].steps_a_round, marches[0].parts
        self.launches_a_round = len(marches[0].launches) + len(marches[0].stages)

    def _exchange(self, name: str, arrays: Sequence[Any], more: Sequence[Message]) -> Stage:
        """Return the exchange of two halo rows of a state, and of additional messages."""
        for rank, array in enumerate(arrays):
            self.transport.publish(rank, name, array)
        return self.transport.exchange([*self.decomposition.messages({name: "centre"}), *more])

    def _rates_after(self, slot: int) -> list[Message]:
        """Return the messages that collect the rates of a stage everywhere and clear the buffer of the next stage."""
        found = []
        for target, here in enumerate(self.rates):
            for source, there in enumerate(self.rates):
                found.append(Message("rates", source, target, (there.own[slot],), (here.of[source],)))
            found.append(Message("rates", target, target, (here.zeros,), (here.own[1 - slot],)))
        return found

    @property
    def schedule(self) -> BandMarch:
        """Schedule of every slab."""
        return self.bands[0].schedule

    # -- the clock ----------------------------------------------------------------------------------

    def give_orders(self, until: float, steps: int) -> None:
        """Set the step request of all slabs; see `Engine.give_orders`."""
        for band in self.bands:
            band.give_orders(until, steps)

    def take_report(self) -> None:
        """Read the step results of all slabs; see `Engine.take_report`."""
        for band in self.bands:
            band.take_report()

    def leave_unread(self) -> None:
        """Mark the clocks as unread; see `Engine.leave_unread`."""
        for band in self.bands:
            band.leave_unread()

    @property
    def seen(self) -> np.ndarray:
        """Clock as the host last read it; the same on all devices."""
        return self.bands[0].seen

    @property
    def current(self) -> int:
        """Index of the buffer with the present state."""
        return self.bands[0].current

    @property
    def failure(self) -> int:
        """Failure code; see `Engine.failure`."""
        return max(band.failure for band in self.bands)

    def read_clock(self) -> np.ndarray:
        """Return a host copy of the clock."""
        return self.bands[0].read_clock()

    def write_clock(self, values: np.ndarray) -> None:
        """Set all clocks."""
        for band in self.bands:
            band.write_clock(values)

    def rings(self, j: np.ndarray, i: np.ndarray) -> tuple[list[Ring], list[np.ndarray]]:
        """Return one ring buffer per slab for in-run sampling; see `Engine.rings`."""
        columns = [np.flatnonzero((j >= band.first) & (j < band.last)) for band in self.bands]
        rings = [band.rings(j[at] - band.first, i[at])[0][0] for band, at in zip(self.bands, columns, strict=True)]
        self.extra = Extra(*([list(stage)] for stage in zip(*(band.extra for band in self.bands), strict=True)))
        return rings, columns

    # -- state --------------------------------------------------------------------------------------

    def set_state(self, eta: np.ndarray, hu: np.ndarray, hv: np.ndarray, time: float) -> None:
        """Set the interior state and the time; see `Engine.set_state`."""
        for band in self.bands:
            rows = slice(band.first, band.last)
            band.set_state(eta[rows], hu[rows], hv[rows], time)
        self._book.resume_settled({}, self.setup.terms)
        for fill in self._fill:
            self.device.run(fill)
        self.device.synchronize()

    def state(self) -> dict[str, np.ndarray]:
        """Return the state of the whole domain, which any number of devices can restore."""
        self.device.synchronize()
        each = [band.device.host(band.q[band.current]) for band in self.bands]
        inner = [q[:, LAYERS:-LAYERS] for q in each]
        q = np.concatenate([each[0][:, :LAYERS], *inner, each[-1][:, -LAYERS:]], axis=1)
        return {"q": q, **self.small_state(), **self.maps_state()}

    def maps_state(self) -> dict[str, np.ndarray]:
        """Return the maps of the whole domain; see `Engine.maps_state`."""
        return join_maps([band.maps_state() for band in self.bands])

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore a state from any number of devices, with its ghosts unless the boundary conditions have changed."""
        book = state["book"] if self._book.goes_on(state) else None
        for band in self.bands:
            band.restore(band.resume_book(state, book) | self._lines.subset_of_state(state, band.lines))
        self._book.resume_settled(state if book is not None else {}, self.setup.terms)
        if not np.array_equal(state.get("edges", np.zeros(0)), self.setup.sides_at(self.seen[ck.T])):
            self.device.run(self._fill[self.current])
        self.device.synchronize()

    def next_records(self, time: float) -> None:
        """Load the next records of time-varying fields; see `Engine.next_records`."""
        self.balance.settle(time, self.setup.terms)
        for band in self.bands:
            band.next_records(time)

    @property
    def balance(self) -> Balance:
        """Present water balance of the whole domain."""
        self.device.synchronize()
        rows = np.zeros(self._book.book.shape)
        for band in sorted(self.bands, key=lambda band: band.balance.varies):  # slabs with a time-varying balance last
            join_sums(rows, band.places, band.device.host(band.balance.book))
        self._book.device.fill(self._book.book, rows)
        return self._book

    @property
    def lines(self) -> CrossSectionVolumes:
        """Present volumes through the cross-sections of the whole domain."""
        self.device.synchronize()
        self._lines.join([band.lines for band in self.bands])
        return self._lines

    # -- state checks -------------------------------------------------------------------------------

    def sums(self) -> dict[str, float]:
        """Return sums and extremes over the domain; see `Engine.sums`."""
        self.device.synchronize()
        rows = np.concatenate([band.row_sums() for band in self.bands])
        return self.setup.datum.over_zero(named_sums(rows, self.setup.grid), self.setup.gravity)

    def bad_cell(self) -> tuple[int, int] | None:
        """Return (j, i) of the first cell that is not finite, or None."""
        self.device.synchronize()
        for band in self.bands:
            if (found := band.bad_cell()) is not None:
                return found[0] + band.first, found[1]
        return None

    def fastest_cell(self) -> tuple[int, int]:
        """Return (j, i) of the maximum speed."""
        speed = np.hypot(*self.derived()[4:])
        return divmod(int(np.argmax(speed)), speed.shape[1])

    def at(self, j: np.ndarray, i: np.ndarray) -> np.ndarray:
        """Return the values in cells (j, i); see `Engine.at`."""
        self.device.synchronize()
        found = np.zeros((7, j.size), self.real)
        for band in self.bands:
            here = (j >= band.first) & (j < band.last)
            if here.any():
                found[:, here] = band.at(j[here] - band.first, i[here])
        return found

    def derived(self) -> np.ndarray:
        """Return the fields of the whole domain; see `Engine.derived`."""
        self.device.synchronize()
        return np.concatenate([band.derived() for band in self.bands], axis=1)


def engine_for(setup: Setup, device: Device | Group, precision: str) -> Engine | Bands:
    """Return the engine of a run on one device or on several devices."""
    return Bands(setup, device, precision) if isinstance(device, Group) else Engine(setup, device, precision)


def _check_options(setup: Setup, count: int) -> None:
    """Raise `InputError` for options that are not supported on several devices."""
    if setup.kernels == "reference":
        raise InputError(
            f'kernels = "reference" on {count} devices', allowed="one device", fix='device = "cpu"',
            problem="The reference kernels run on one device only.",
        )  # fmt: skip
    if setup.scheme not in ("rk2", "euler"):
        raise InputError(
            f'scheme = "{setup.scheme}" on {count} devices', allowed='one device, or scheme = "rk2" or "euler"',
            fix='scheme = "rk2"', problem="This scheme runs on one device only.",
        )  # fmt: skip
    if setup.walls is not None:
        raise InputError(
            f"internal walls on {count} devices", allowed="one device", fix='device = "cpu"',
            problem="Internal walls are supported on one device only.",
        )  # fmt: skip
