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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, check_precision
from eagre.backend.group import BARRIER, Group, Message, Stage, in_sequence
from eagre.boundaries import FaceRange
from eagre.boundaries.ghosts import LAYERS, padded_bed_of_rows, segment_table
from eagre.boundaries.subdomain import clip_segments, global_face_numbers, join_sums, slab_sums
from eagre.decomposition import bands, check_memory_of_each, check_thickness, equal_parts
from eagre.kernels.water_sums import named_sums
from eagre.models.shallow_water.active_tiles import ActiveTiles
from eagre.models.shallow_water.engine import Engine
from eagre.models.shallow_water.sampling.water_balance import Balance, CrossSectionVolumes
from eagre.models.shallow_water.schedules import RowStreaming
from eagre.models.shallow_water.setup import Setup
from eagre.models.shallow_water.stages.sweeps import schedule_for
from eagre.models.shallow_water.step_batches import BatchStepping
from eagre.stepping import clock as ck
from eagre.stepping.maps import join_rows, maps_of_rows
from eagre.stepping.recording import Extra, SampleBuffer


@dataclass(frozen=True, eq=False)
class SubdomainSetup(Setup):
    """Set-up of a row slab: `segments` and `walls` include the halo rows, `faced` only the own rows."""

    faced: Sequence[FaceRange] = ()
    corners: np.ndarray | None = None  # bed above the datum with a margin of two, from neighbours at interfaces
    manning_range: tuple[float, float] = (0.0, 0.0)  # of the whole domain

    def padded_bed(self) -> np.ndarray:
        assert self.corners is not None
        return self.corners

    def padded_walls(self) -> np.ndarray:
        assert self.walls is not None
        return self.walls


def subdomain_setup(setup: Setup, first: int, last: int) -> SubdomainSetup:
    """Return the set-up of rows first .. last - 1; its fields are zeros without memory in other processes."""
    whole, take = setup.grid, setup.rows.take
    grid = replace(whole, ny=last - first, y0=whole.y0 + first * whole.dy)
    across = [s for s in setup.segments if s.side in ("south", "north") and not s.condition.periodic]
    along = [s for s in setup.segments if s.side in ("west", "east")]
    low, high = max(first - LAYERS, 0), min(last + LAYERS, whole.ny)
    across = clip_segments(across, whole.ny, first, last, first)
    options = {one.name: getattr(setup, one.name) for one in fields(Setup)} | {
        "grid": grid,
        "bed": take(setup.bed, first, last + 1),
        "segments": clip_segments(along, whole.ny, low, high, first) + across,
        "manning": take(setup.manning, first, last),
        "terms": setup.terms.rows(first, last, grid),
        "first_row": first,
        "walls": None if setup.walls is None else setup.padded_walls()[first : last + 2 * LAYERS + 1],
        "cross_sections": None if setup.cross_sections is None else setup.cross_sections.subset(first, last, first),
    }
    return SubdomainSetup(
        **options,
        faced=clip_segments(along, whole.ny, first, last, first) + across,
        corners=_corners(setup, first, last),
        manning_range=setup.manning_range,
    )


def _corners(setup: Setup, first: int, last: int) -> np.ndarray:
    """Return `Setup.padded_bed` of the rows first .. last - 1."""
    ny, rows = setup.grid.ny, setup.rows
    if not (rows.first <= first and last <= rows.last):
        return np.broadcast_to(0.0, (last - first + 2 * LAYERS + 1, setup.grid.nx + 2 * LAYERS + 1))
    low, high = first - LAYERS, last + LAYERS
    if setup.periodic[1]:  # corner ny is corner 0
        ends = setup.bed_sides.along_x
        inside = rows.take(setup.bed, max(low, 0), min(high + 1, ny))
        corners = np.concatenate([ends[[k - 1 for k in range(low, 0)]], inside, ends[: max(high + 1 - ny, 0)]])
    else:
        corners = rows.take(setup.bed, max(low, 0), min(high, ny) + 1)
    return padded_bed_of_rows(corners - setup.datum.level, ny, setup.periodic, setup.segments, first)


class Rates:
    """Layout of the rate buffer of a slab: own rates of even and odd stages, zeros, rates of all slabs.

    Parameters
    ----------
    counts : sequence of int
        Number of rates of each slab.
    rank : int
    """

    def __init__(self, counts: Sequence[int], rank: int) -> None:
        self.count, self.size = counts[rank], 3 * counts[rank] + sum(counts)
        starts = 3 * counts[rank] + np.cumsum([0, *counts])
        self.of = [slice(int(start), int(start) + count) for start, count in zip(starts[:-1], counts, strict=True)]
        self.all = slice(3 * self.count, self.size)
        self.local = [slice(k * self.count, (k + 1) * self.count) for k in range(2)]
        self.zeros = slice(2 * self.count, 3 * self.count)


class StageLaunches(NamedTuple):
    """Launches of a stage: interior update and boundary pass."""

    interior: list[Any]
    out: Any
    boundary: list[Any]


class Written(NamedTuple):
    """Marker in a list of launches: `out` is ready for the halo exchange, or, for None, its boundary pass has ended."""

    out: Any


class SubdomainSchedule(RowStreaming):
    """Schedule of a row slab: tails use the rates of all slabs, and ghosts are filled after a halo exchange.

    `slab_schedule` combines it with the class of the schedule of one device.
    """

    def __init__(self, engine: Any) -> None:
        super().__init__(engine)
        self.rates, self.stages = self._all_rates, _split(self.listed or self.launches)
        self.first_stages = _split(self.first)
        self.ghosts, self.fill = self.fill, [[] for _ in self.fill]

    def _allocate_rates(self, count: int) -> None:
        slices, self._stage_count = self.engine.rate_slices, 0
        assert count == slices.count
        self._all_rates = self.engine.device.zeros((slices.size,), self.engine.bits)
        self._local_rates = [self._all_rates[one] for one in slices.local]
        self.engine.rates = self._all_rates[slices.all]

    def _active_tiles(self) -> ActiveTiles | None:
        """Return the active-tile list only if requested, because all slabs must have the same launches."""
        return super()._active_tiles() if self.engine.setup.active_tiles == "on" else None

    def stage(self, phase: int, q: Any, old: Any, out: Any, **switches: Any) -> list[Any]:
        """Return the launches of a stage, with a rate buffer that the next stage does not use."""
        self._use_next_rates()
        return super().stage(phase, q, old, out, **switches)

    def boundary(self, phase: int, q: Any, **switches: Any) -> list[Any]:
        """Return the launches of a boundary pass of the state q between the markers of its start and its end."""
        return [Written(q), *super().boundary(phase, q, **switches), Written(None)]

    def sweep(self, phase: int, q: Any, old: Any, out: Any) -> list[Any]:
        """Return the launches of a sweep; see `stage`."""
        self._use_next_rates()
        return super().sweep(phase, q, old, out)  # type: ignore[misc]

    def after_sweep(self, phase: int, q: Any) -> list[Any]:
        """Return the launches of the boundary pass of a sweep; see `boundary`."""
        return [Written(q), *super().after_sweep(phase, q), Written(None)]  # type: ignore[misc]

    def _use_next_rates(self) -> None:
        self.rates = self._local_rates[self._stage_count % 2]
        self._stage_count += 1


def slab_schedule(setup: Setup, device: Device) -> type[SubdomainSchedule]:
    """Return the class of the schedule of a row slab: `SubdomainSchedule` with the fastest schedule of full rows."""
    return _of_slab(schedule_for(setup, device, tiles=False))


@cache
def _of_slab(schedule: Any) -> type[SubdomainSchedule]:
    return type(f"Subdomain{schedule.__name__}", (SubdomainSchedule, schedule), {})


def _split(launches: Sequence[Any]) -> list[StageLaunches]:
    """Return the stages of a launch cycle from its launches and the markers between them."""
    stages, marked = [], [k for k, one in enumerate(launches) if isinstance(one, Written)]
    for start, written, end in zip([-1, *marked[1::2]], marked[::2], marked[1::2], strict=False):
        interior, boundary = launches[start + 1 : written], launches[written + 1 : end]
        stages.append(StageLaunches([*interior], launches[written].out, [*boundary]))
    return stages


class Subdomain(Engine):
    """Engine of rows first .. last - 1 of the domain on one device.

    Attributes
    ----------
    places : array
        Global numbers of its boundary faces in the water balance of the domain.
    """

    global_faces: np.ndarray

    def __init__(self, setup: SubdomainSetup, device: Device, precision: str, first: int, rates: Rates) -> None:
        self.first, self.last = first, first + setup.grid.ny
        self.rate_slices = rates
        super().__init__(setup, device, precision)

    def schedule_class(self) -> type[SubdomainSchedule]:
        """See `Engine.schedule_class`."""
        return slab_schedule(self.setup, self.device)

    def local_state(self, state: Mapping[str, np.ndarray], budget: np.ndarray | None) -> dict[str, np.ndarray]:
        """Return the part of a domain state for this slab.

        budget : balance of the whole domain, or None to reset it.
        """
        local = {**state, "q": state["q"][:, self.first : self.last + 2 * LAYERS]}
        return self.with_budget(local | maps_of_rows(state, self.first, self.last), budget)

    def with_budget(self, local: dict[str, np.ndarray], budget: np.ndarray | None) -> dict[str, np.ndarray]:
        """Return a state of this slab with its part of the balance; see `local_state`."""
        if budget is None:
            return {**local, "open_sides": np.full((1, 3), -1)}
        return {**local, **self.balance.state(), "book": slab_sums(budget, self.global_faces, len(self.balance.budget))}


MIN_ROWS = 4  # minimum rows of a slab


class MultiDeviceEngine(BatchStepping):
    """Engine of one run on several devices; results for the model are assembled on the host."""

    def __init__(self, setup: Setup, group: Group, precision: str) -> None:
        self.setup, self.device, self.precision = setup, group, precision
        self.real = check_precision(precision)
        grid, count = setup.grid, len(group.devices)
        check_thickness(group, grid.ny, MIN_ROWS, "rows", f"{MIN_ROWS} rows or more each")
        heights = equal_parts(grid.ny, count)
        halo, periodic = (LAYERS, 0), (setup.periodic[1], False)
        self.decomposition = bands(
            grid.ny, grid.nx, heights, halo=halo, leading=(LAYERS, LAYERS), periodic=periodic, padded=False
        )
        array_count = setup.array_count + setup.terms.record_maps(group.kind)
        row_bytes = array_count * (grid.nx + 5) * np.dtype(self.real).itemsize
        check_memory_of_each(group, [(rows + 5) * row_bytes for rows in heights])
        schedule = slab_schedule(setup, group.devices[0])
        counts = [schedule.rate_count(one, (rows, grid.nx)) for one, rows in zip(group.devices, heights, strict=True)]
        self.rates = [Rates(counts, rank) for rank in range(count)]
        self.subdomains = []
        for rank, device in enumerate(group.devices):
            first, last = self.decomposition.owned(rank)[0]
            local_setup = subdomain_setup(setup, first, last)
            self.subdomains.append(Subdomain(local_setup, device, precision, first, self.rates[rank]))
            self.subdomains[-1].global_faces = global_face_numbers(setup.faced, grid, first, last)
        self._balance = Balance(setup.faced, segment_table(setup.faced, grid)[0], grid, setup.terms, group.devices[0])
        self._lines = CrossSectionVolumes(setup.cross_sections, group.devices[0])
        self.shape, self.parameters = (3, grid.ny + 2 * LAYERS, grid.nx + 2 * LAYERS), self.subdomains[0].parameters
        self.arrange()
        self.reset_graphs()

    # -- schedules ----------------------------------------------------------------------------------

    def arrange(self) -> None:
        """Combine the launches of the slabs, with barriers and halo exchanges between them."""
        self.transport = transport = self.device.transport()
        schedules = [subdomain.schedule for subdomain in self.subdomains]
        for rank, schedule in enumerate(schedules):
            transport.publish(rank, "rates", schedule.rates)
        self._cycle = self._joined("stage", [schedule.stages for schedule in schedules])
        self.first_cycle = self._joined("first", [schedule.first_stages for schedule in schedules])
        self.begin = [[subdomain.begin for subdomain in self.subdomains]]
        self.state_check = [[subdomain.state_check for subdomain in self.subdomains]]
        self._fill: list[list[Stage]] = []
        for k in range(len(self.subdomains[0].q)):
            exchange = self._exchange(f"q{k}", [subdomain.q[k] for subdomain in self.subdomains], [])
            self._fill.append([BARRIER, in_sequence(exchange, [schedule.ghosts[k] for schedule in schedules])])
        self.steps_per_cycle, self.divisions = schedules[0].steps_per_cycle, schedules[0].divisions
        self.launches_per_cycle = len(schedules[0].launches) + len(schedules[0].stages)

    def _joined(self, name: str, slabs: Sequence[Sequence[StageLaunches]]) -> list[Stage]:
        """Return the stages of all slabs with barriers and exchanges; name : prefix of the published arrays."""
        joined: list[Stage] = []
        for k, stages in enumerate(zip(*slabs, strict=True)):
            exchange = self._exchange(f"{name}{k}", [stage.out for stage in stages], self._rates_after(k % 2))
            boundary_stage = in_sequence(exchange, [stage.boundary for stage in stages])
            joined += [[stage.interior for stage in stages], BARRIER, boundary_stage]
        return joined

    @property
    def launch_cycle(self) -> Sequence[Stage]:
        """Stages of `steps_per_cycle` steps."""
        return self.first_cycle if self.way == "first" else self._cycle

    def _exchange(self, name: str, arrays: Sequence[Any], more: Sequence[Message]) -> Stage:
        """Return the exchange of two halo rows of a state, and of additional messages."""
        for rank, array in enumerate(arrays):
            self.transport.publish(rank, name, array)
        return self.transport.exchange([*self.decomposition.messages({name: "centre"}), *more])

    def _rates_after(self, slot: int) -> list[Message]:
        """Return the messages that collect the rates of a stage everywhere and clear the buffer of the next stage."""
        messages = []
        for target, here in enumerate(self.rates):
            for source, there in enumerate(self.rates):
                messages.append(Message("rates", source, target, (there.local[slot],), (here.of[source],)))
            messages.append(Message("rates", target, target, (here.zeros,), (here.local[1 - slot],)))
        return messages

    @property
    def schedule(self) -> RowStreaming:
        """Schedule of every slab."""
        return self.subdomains[0].schedule

    # -- the clock ----------------------------------------------------------------------------------

    def send_request(self, until: float, steps: int) -> None:
        """Set the step request of all slabs; see `Engine.send_request`."""
        for subdomain in self.subdomains:
            subdomain.send_request(until, steps)

    def read_result(self) -> None:
        """Read the step results of all slabs; see `Engine.read_result`."""
        for subdomain in self.subdomains:
            subdomain.read_result()

    def leave_unread(self) -> None:
        """Mark the clocks as unread; see `Engine.leave_unread`."""
        for subdomain in self.subdomains:
            subdomain.leave_unread()

    @property
    def seen(self) -> np.ndarray:
        """Clock as the host last read it; the same on all devices."""
        return self.subdomains[0].seen

    @property
    def current(self) -> int:
        """Index of the buffer with the present state."""
        return self.subdomains[0].current

    @property
    def failure(self) -> int:
        """Failure code; see `Engine.failure`."""
        return max(subdomain.failure for subdomain in self.subdomains)

    def read_clock(self) -> np.ndarray:
        """Return a host copy of the clock."""
        return self.subdomains[0].read_clock()

    def write_clock(self, values: np.ndarray) -> None:
        """Set all clocks."""
        for subdomain in self.subdomains:
            subdomain.write_clock(values)

    def sample_buffers(self, j: np.ndarray, i: np.ndarray) -> tuple[list[SampleBuffer], list[np.ndarray]]:
        """Return one ring buffer per slab for in-run sampling; see `Engine.sample_buffers`."""
        columns = [np.flatnonzero((j >= subdomain.first) & (j < subdomain.last)) for subdomain in self.subdomains]
        buffers = [
            subdomain.sample_buffers(j[index] - subdomain.first, i[index])[0][0]
            for subdomain, index in zip(self.subdomains, columns, strict=True)
        ]
        extras = (subdomain.extra for subdomain in self.subdomains)
        self.extra = Extra(*([list(stage)] for stage in zip(*extras, strict=True)))
        return buffers, columns

    # -- state --------------------------------------------------------------------------------------

    def set_state(self, eta: np.ndarray, hu: np.ndarray, hv: np.ndarray, time: float) -> None:
        """Set the interior state and the time; see `Engine.set_state`."""
        take = self.setup.rows.take
        for subdomain in self.subdomains:
            subdomain.set_state(*(take(one, subdomain.first, subdomain.last) for one in (eta, hu, hv)), time)
        self._balance.resume_settled({}, self.setup.terms)
        for fill in self._fill:
            self.device.run(fill)
        self.device.synchronize()

    def state(self) -> dict[str, np.ndarray]:
        """Return the state of the whole domain, which any number of devices can restore; fields see `collected`."""
        fields = self.collected(lambda engine: {"q": self._own_rows(engine), **engine.maps_state()})
        return fields | self.small_state()

    def _own_rows(self, subdomain: Subdomain) -> np.ndarray:
        """Return the state in the rows of a slab, with the ghosts of the domain."""
        q = subdomain.device.host(subdomain.q[subdomain.current])
        low = 0 if subdomain.first == 0 else LAYERS
        return q[:, low : q.shape[1] - (0 if subdomain.last == self.setup.grid.ny else LAYERS)]

    def maps_state(self) -> dict[str, np.ndarray]:
        """Return the maps of the whole domain; see `Engine.maps_state` and `collected`."""
        return self.collected(lambda engine: engine.maps_state())

    def collected(self, evaluate: Callable[[Subdomain], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return arrays of the whole domain; of several processes only the first has them (`Group.collect`).

        evaluate : returns arrays with the rows of a slab.
        """
        self._complete()
        return self.device.collect(lambda rank: evaluate(self.subdomains[rank]), join_rows)

    def _complete(self) -> None:
        """Wait for the launches and read all clocks, before each process evaluates its slab without the others."""
        self.device.synchronize()
        for subdomain in self.subdomains:
            subdomain.read_unread()

    def checkpoint_state(self) -> dict[str, Any]:
        """Return the state of the slabs of this process; see `Engine.checkpoint_state`."""
        self._complete()

        def state(rank: int) -> dict[str, np.ndarray]:
            engine = self.subdomains[rank]
            return {"q": engine.device.host(engine.q[engine.current]), **engine.maps_state()}

        return self.small_state() | {"slabs": self.device.local_values(state)}

    def restore_checkpoint(self, state: dict[str, Any]) -> None:
        """Restore a state of `checkpoint_state`; slabs of other processes get the clock and the balance."""
        common = {name: value for name, value in state.items() if name != "slabs"}
        slabs = []
        for subdomain, values in zip(self.subdomains, state["slabs"], strict=True):
            fields_of_slab = values or {"q": np.broadcast_to(self.real(0.0), subdomain.shape)}
            slabs.append(subdomain.with_budget(common | fields_of_slab, state["book"]))
        self._restore(state, slabs)

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore a state from any number of devices, with its ghosts unless the boundary conditions have changed."""
        budget = state["book"] if self._balance.goes_on(state) else None
        self._restore(state, [subdomain.local_state(state, budget) for subdomain in self.subdomains])

    def _restore(self, state: Mapping[str, Any], slabs: Sequence[dict[str, np.ndarray]]) -> None:
        """Restore the states of the slabs; state : balance of the whole domain and cross-sections."""
        for subdomain, local in zip(self.subdomains, slabs, strict=True):
            subdomain.restore(local | self._lines.subset_of_state(state, subdomain.lines))
        self._balance.resume_settled(state if self._balance.goes_on(state) else {}, self.setup.terms)
        if not np.array_equal(state.get("edges", np.zeros(0)), self.setup.sides_at(self.seen[ck.T])):
            self.device.run(self._fill[self.current])
        self.device.synchronize()

    def next_records(self, time: float) -> None:
        """Load the next records of time-varying fields; see `Engine.next_records`."""
        self.balance.settle(time, self.setup.terms)
        for subdomain in self.subdomains:
            subdomain.next_records(time)

    @property
    def balance(self) -> Balance:
        """Present water balance of the whole domain."""
        self.device.synchronize()
        rows = np.zeros(self._balance.budget.shape)
        # Slabs with a time-varying balance are the last.
        for subdomain in sorted(self.subdomains, key=lambda subdomain: subdomain.balance.varies):
            join_sums(rows, subdomain.global_faces, subdomain.device.host(subdomain.balance.budget))
        self._balance.device.fill(self._balance.budget, rows)
        return self._balance

    @property
    def lines(self) -> CrossSectionVolumes:
        """Present volumes through the cross-sections of the whole domain."""
        self.device.synchronize()
        self._lines.join([subdomain.lines for subdomain in self.subdomains])
        return self._lines

    # -- state checks -------------------------------------------------------------------------------

    def sums(self) -> dict[str, float]:
        """Return sums and extremes over the domain; see `Engine.sums`."""
        self.device.synchronize()
        rows = np.concatenate([subdomain.row_sums() for subdomain in self.subdomains])
        return self.setup.datum.over_zero(named_sums(rows, self.setup.grid), self.setup.gravity)

    def soil_sums(self) -> np.ndarray:
        """Return the sums of the cumulative infiltration over all rows; see `Engine.soil_sums`."""
        self.device.synchronize()
        return np.concatenate([subdomain.soil_sums() for subdomain in self.subdomains])

    def bad_cell(self) -> tuple[int, int] | None:
        """Return (j, i) of the first cell that is not finite, or None."""
        self.device.synchronize()
        for subdomain in self.subdomains:
            if (cell := subdomain.bad_cell()) is not None:
                return cell[0] + subdomain.first, cell[1]
        return None

    def extreme(self, of: Callable[[np.ndarray], np.ndarray]) -> tuple[float, int, int]:
        """Return the maximum of a field and its cell; see `Engine.extreme`."""
        self._complete()
        each = self.device.each(lambda rank: self.subdomains[rank].extreme(of))
        rank = int(np.argmax([value for value, _, _ in each]))
        value, j, i = each[rank]
        return value, j + self.subdomains[rank].first, i

    def cell_values(self, j: np.ndarray, i: np.ndarray) -> np.ndarray:
        """Return the values in cells (j, i); see `Engine.cell_values`."""
        self.device.synchronize()
        values = np.zeros((7, j.size), self.real)
        for subdomain in self.subdomains:
            here = (j >= subdomain.first) & (j < subdomain.last)
            if here.any():
                values[:, here] = subdomain.cell_values(j[here] - subdomain.first, i[here])
        return values


def engine_for(setup: Setup, device: Device | Group, precision: str) -> Engine | MultiDeviceEngine:
    """Return the engine of a run on one device or on several devices."""
    if isinstance(device, Group):
        return MultiDeviceEngine(setup, device, precision)
    return Engine(setup, device, precision)
