"""One run over several devices: a band of rows on each (docs/decisions/0028-implicit-rows-over-several-devices.md).

A step is, on every device, the sweep along x | the sweep along y | rows of the neighbours, and of these the
next step's sweep along x goes on at once. At the bars every device waits for all: a sweep along y overwrites
what others took from here, and what they take now must be there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Device, check_precision
from eagre.backend.group import MEET, Group, Stage
from eagre.errors import InputError, MemoryNeededError
from eagre.models.shallow_water_adi.balance import Balance
from eagre.models.shallow_water_adi.band import Band, rows_beside
from eagre.models.shallow_water_adi.diagnostics import DEEPEST
from eagre.models.shallow_water_adi.engine import Engine, Setup
from eagre.models.shallow_water_adi.layout import device_bytes
from eagre.models.shallow_water_adi.plan import EPSILON
from eagre.models.shallow_water_adi.sides import Side, sides_of
from eagre.models.shallow_water_adi.start import stopped_at_walls
from eagre.models.shallow_water_adi.stepping import Stepping


class Bands(Stepping):
    """The engine of one run over several devices; what it gives to the model is gathered on the host."""

    def __init__(self, setup: Setup, group: Group, precision: str) -> None:
        self.setup, self.device, self.precision = setup, group, precision
        self.real = check_precision(precision)
        self.sides: list[Side] = sides_of(setup.segments)
        beside = rows_beside(setup, precision, setup.deepest)
        check_bands(setup, group, beside)
        self._book = Balance(setup.segments, setup.grid, setup.bed, setup.sources, group.members[0])
        self._deepest = 0.0
        self._lay_out(beside)

    def _lay_out(self, beside: int) -> None:
        setup, count = self.setup, len(self.device.members)
        ends = [band * setup.grid.ny // count for band in range(count + 1)]
        self.beside, self._rounds = beside, {}
        self.bands: list[Band] = []
        check_memory_of(setup, self.device, self.precision, ends, beside)
        for member, first, last in zip(self.device.members, ends[:-1], ends[1:], strict=True):
            self.bands.append(Band(setup, member, self.precision, first, last, beside))

    # -- steps --------------------------------------------------------------------------------------

    def launches(self, parity: int, row: int) -> list[Stage]:
        """The stages of a step; `row` of the values belongs to its first sweep."""
        bands = self.bands
        pairs = [
            [pair for other in bands if other is not band for pair in band.rows_from(other, parity)] for band in bands
        ]
        rows = [self.device.exchange(band.device, wanted) for band, wanted in zip(bands, pairs, strict=True)]
        along_x = [band.along_x(parity, row) for band in bands]
        along_y = [band.along_y(parity, row + 1) for band in bands]
        return [along_x, MEET, along_y, MEET, rows]

    def _warm_up(self) -> None:
        """Compile and load every program before a graph is captured, and leave the state as it was."""
        state, parity = self.state(), self.parity
        self.device.run(self.launches(parity, 0))
        self.device.synchronize()
        self._take_up(state)
        for band in self.bands:
            band.turn(parity)

    def _look_up(self, start: float, made: int, count: int) -> None:
        for band in self.bands:
            band._look_up(start, made, count)

    def set_time_step(self, dt: float) -> None:
        """Use the time step `dt`, s, from now on."""
        for band in self.bands:
            band.set_time_step(dt)
        self._rounds = {}

    def restagger(self, dt: float) -> None:
        """Change the time step: q half a step away is moved along the line through its two values."""
        if dt != self.dt:
            self.device.synchronize()
            for band in self.bands:
                band.restagger(dt)
            self._rounds = {}

    def watch(self) -> None:
        """Mend what was planned for less deep water: pieces of lines are joined exactly, bands hold more rows."""
        if self.lost() > 16.0 * EPSILON[self.precision]:
            for band in self.bands:
                band.replan(exact=True)
            self._rounds = {}
        if rows_beside(self.setup, self.precision, self._deepest, safe=False) > self.beside:
            self._widen(rows_beside(self.setup, self.precision, self._deepest))

    def _widen(self, beside: int) -> None:
        state, dt = self.state(), self.dt
        self._lay_out(beside)
        self.set_time_step(dt)
        self._take_up(state)

    def lost(self) -> float:
        """Largest coupling between pieces of a line that was left out on any device, relative; 0 on a CPU."""
        return max(band.lost() for band in self.bands)

    # -- what the model asks of an engine -----------------------------------------------------------

    @property
    def dt(self) -> float:
        """Time step, s."""
        return self.bands[0].dt

    @property
    def parity(self) -> int:
        """Which of two arrays hold the newer fluxes."""
        return self.bands[0].parity

    @parity.setter
    def parity(self, value: int) -> None:
        for band in self.bands:
            band.parity = value

    @property
    def method(self) -> str:
        """How lines are solved, in words."""
        return f"{self.bands[0].method}; {len(self.bands)} bands with {self.beside} rows of their neighbours"

    @property
    def balance(self) -> Balance:
        """The book of the whole domain, as it stands."""
        self.device.synchronize()
        book = np.zeros(self._book.book.shape)
        for band in self.bands:
            own = band.device.host(band.balance.book)
            book[band.places], book[-1] = own[:-1], own[-1]
        self._book.resume(book)
        return self._book

    def _look(self) -> np.ndarray:
        self.device.synchronize()
        rows = np.concatenate([band._look()[band.first - band.low : band.last - band.low] for band in self.bands])
        self._deepest = float(rows[:, DEEPEST].max())
        return rows

    def at(self, j: np.ndarray, i: np.ndarray) -> list[np.ndarray]:
        """As of one device."""
        self.device.synchronize()
        found = [np.zeros(j.shape, self.real) for _ in range(7)]
        for band in self.bands:
            here = (j >= band.first) & (j < band.last)
            if here.any():
                for values, own in zip(found, band.at(j[here] - band.low, i[here]), strict=True):
                    values[here] = own
        return found

    def set_state(self, z: np.ndarray, p: np.ndarray, q_before: np.ndarray, q_after: np.ndarray) -> None:
        """As of one device."""
        for band in self.bands:
            band.set_state(band.held(z), band.held(p), band.held(q_before, True), band.held(q_after, True))
        self.device.synchronize()

    def surface(self) -> np.ndarray:
        """Host copy of z, (ny, nx)."""
        self.device.synchronize()
        return np.concatenate([band.own(band.z[0], "centre") for band in self.bands])

    def fluxes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As of one device."""
        self.device.synchronize()
        now = self.parity
        p = np.concatenate([band.own(band.p[now], "face_x") for band in self.bands])
        q = [np.concatenate([band.own(band.q[k], "face_y") for band in self.bands]) for k in (0, 1)]
        return p, q[1 - now], q[now]

    def state(self) -> dict[str, np.ndarray]:
        """As of one device, which may go on with it; and how many rows of their neighbours bands hold."""
        p, q_before, q_after = self.fluxes()
        fields = {"z": self.surface(), "p": p, "q_before": q_before, "q_after": q_after}
        return {**fields, **self.balance.state(), "rows_beside": np.array(self.beside)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state of `state`, of any number of devices."""
        beside, dt = int(state.get("rows_beside", self.beside)), self.dt
        if beside > self.beside:
            self._lay_out(beside)
            self.set_time_step(dt)
        self._take_up(state)

    def _take_up(self, state: dict[str, np.ndarray]) -> None:
        self.set_state(state["z"], *stopped_at_walls(state, self.sides))
        book = self._book.book_of(state)
        for band in self.bands:
            band.balance.resume(np.append(book[band.places], book[-1]))
        self.device.synchronize()


def engine_for(setup: Setup, device: Device | Group, precision: str) -> Any:
    """The engine of a run on one device, or on several."""
    return Bands(setup, device, precision) if isinstance(device, Group) else Engine(setup, device, precision)


def check_bands(setup: Setup, group: Group, beside: int) -> None:
    """Refuse bands with fewer rows of their own than they need of each neighbour."""
    count, ny = len(group.members), setup.grid.ny
    if ny // count < beside:
        most = ny // beside
        raise InputError(
            f"{count} devices for {ny} rows, where the coupling along y reaches over {beside} rows with this time_step",
            allowed=f"{f'up to {most} devices' if most > 1 else 'one device'}: as many rows each; a shorter time_step",
            fix=f'device = "{group.kind}"',
        )


def check_memory_of(setup: Setup, group: Group, precision: str, ends: list[int], beside: int) -> None:
    """Raise `MemoryNeededError` unless the bands fit their devices."""
    needed: dict[Device, int] = {}
    itemsize = np.dtype(check_precision(precision)).itemsize
    for member, first, last in zip(group.members, ends[:-1], ends[1:], strict=True):
        low, high = max(first - beside, 0), min(last + beside, setup.grid.ny)
        bytes_of = device_bytes(high - low, setup.grid.nx, itemsize, setup.sources is not None)
        needed[member] = needed.get(member, 0) + bytes_of
    for member, most in needed.items():
        if most > member.free_memory():
            raise MemoryNeededError(most, member.free_memory(), str(member))
