"""Multi-device engine of the ADI model: row slabs, one per device.

See docs/development/decisions/0028-implicit-rows-over-several-devices.md and 0111-joined-lines-of-implicit-slabs.md.

In each step every device computes the sweep along x and the sweep along y, then copies rows from its neighbours. The
sweep along x of the next step continues with these rows. All devices wait at the barriers: a sweep along y overwrites
rows that other devices copy, and the copied rows must be complete.

Thick slabs overlap by as many rows as the implicit coupling extends over (`coupling_rows`): the lines along y end at an
interface as at a wall, and the error decays along a line like the coupling of its unknowns. Thin
slabs overlap by the stencil of the equations only, and the sweep along y has two passes: devices exchange the ends of
their segments of the lines in between. With the reference kernels, which solve whole lines, thin slabs overlap too: a
slab then has rows of several neighbours, at most all rows of the domain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eagre.backend.device import Device, check_precision
from eagre.backend.group import BARRIER, Group, Message, Stage, in_sequence
from eagre.boundaries.subdomain import clip_segments, global_face_numbers, join_sums, slab_sums
from eagre.decomposition import Decomposition, bands, check_memory_of_each, check_thickness
from eagre.grid import Grid
from eagre.local_rows import LocalRows
from eagre.models.shallow_water_adi.engine import Engine, Rows
from eagre.models.shallow_water_adi.initial_state import stopped_at_walls
from eagre.models.shallow_water_adi.kernels import LAND
from eagre.models.shallow_water_adi.memory_layout import PADDING, device_bytes, maps_of
from eagre.models.shallow_water_adi.sampling.diagnostics import DEEPEST
from eagre.models.shallow_water_adi.sampling.water_balance import Balance, CrossSectionVolumes
from eagre.models.shallow_water_adi.setup import STATE, Segment, Setup
from eagre.models.shallow_water_adi.sides import Side, sides_of
from eagre.models.shallow_water_adi.step import step
from eagre.models.shallow_water_adi.step_graphs import StepBatches, steps_of
from eagre.models.shallow_water_adi.sweeps.launch_parameters import EPSILON, SAFETY
from eagre.models.shallow_water_adi.sweeps.segments import STORED_FIELDS
from eagre.stepping.maps import NUMBERS, join_rows, maps_of_rows
from eagre.terms.base import Quantity

# Rows at an interface whose equations lack a neighbour: one of the sweep along x, two more of the sweep along y.
EDGE = 4
MAX_OVERLAP = 0.25  # of the rows of a slab; joined lines are faster beyond it (decision 0111)
JOINED_OVERLAP = 3  # neighbour rows in the equations of the faces of a slab, and one for the sweep along x of these


def coupling_rows(setup: Setup, precision: str, deepest: float) -> int:
    """Return the number of rows over which the coupling of a line along y decays to rounding error.

    With m = g h dt^2 / (4 dy^2) + E dt / dy^2 and a velocity of one cell per step, the stability limit, fully upwind, a
    row is (m + 1) P_below - (2 m + 2) P + m P_above = 0. Its solutions decay by s / (s + 1) per row downstream, s =
    sqrt(1 + m). Solutions of slower or central flow decay faster.
    """
    dt, dy = setup.time_step, setup.grid.dy
    m = setup.gravity * deepest * (dt / (2.0 * dy)) ** 2 + setup.viscosity * dt / dy**2
    s = math.sqrt(1.0 + m)
    return math.ceil(math.log(EPSILON[precision]) / math.log(s / (s + 1.0)))


def overlap_rows(setup: Setup, precision: str, deepest: float, safe: bool = True) -> int:
    """Return the neighbour rows that a slab needs at each interface; safe : include a margin for rising water."""
    return EDGE + coupling_rows(setup, precision, deepest * SAFETY**2 if safe else deepest)


def slab_heights(rows: int, count: int) -> list[int]:
    """Return the numbers of rows of the slabs of `count` devices."""
    return np.diff(np.arange(count + 1) * rows // count).tolist()


def local_rows(device: Any, grid: Grid, kernels: str = "fast") -> LocalRows:
    """Return the rows of this process: its slab with the largest overlap, and a row for the fluxes at their ends."""
    count = len(device.devices) if isinstance(device, Group) else 1
    margin = grid.ny if kernels == "reference" else 1 + max(JOINED_OVERLAP, int(MAX_OVERLAP * (grid.ny // count)))
    return LocalRows.of(device, grid, JOINED_OVERLAP, margin, heights_of=slab_heights)


class Subdomain(Rows):
    """Row slab of a decomposition.

    Attributes
    ----------
    engine : Engine
        Engine of all rows of the slab, including neighbour rows.
    first, last : int
        First interior row and the row after the last, in the domain.
    low, high : int
        First row of the slab and the row after the last, in the domain, including neighbour rows.
    face_numbers : array
        Global numbers of its boundary faces in the water balance of the domain.
    """

    def __init__(
        self, setup: Setup, device: Device, precision: str, decomposition: Decomposition, rank: int, joined: bool
    ) -> None:
        ny = setup.grid.ny
        (first, last), (low, self.high) = decomposition.owned(rank)[0], decomposition.held(rank)[0]
        lines = None if setup.cross_sections is None else setup.cross_sections.subset(first, last, low)
        one = Segment(rank, decomposition.count, first - low, last - low) if joined else None
        self.setup = replace(setup.of_rows(low, self.high), cross_sections=lines, segment=one)
        self.device, self.rows = device, setup.rows
        super().__init__(Engine(self.setup, device, precision), first, last, low)
        local_segments = clip_segments(setup.segments, ny, first, last, low)
        local = (local_segments, self.setup.grid, self.setup.terms, device)
        self.engine.balance = Balance(*local, lambda _: 0.0)  # of its faces; `DecomposedEngine` adds the sources
        self.face_numbers = global_face_numbers(setup.segments, setup.grid, first, last)

    def held(self, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the fields and maps of the slab from a state with the rows of this process."""
        maps = maps_of_rows(state, self.low - self.rows.low, self.high - self.rows.low)
        ends = {name: self.high + (location == "face_y") for name, location in STATE.items()}
        fields = {name: self.rows.take(state[name], self.low, end) for name, end in ends.items() if name in state}
        return {**state, **fields, **maps}

    def widened(self, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return fields and maps of all rows of the slab from the interior rows; 0 in the rows of neighbours."""

        def in_slab(name: str, values: np.ndarray) -> np.ndarray:
            if name in NUMBERS or values.size == 1:
                return values
            rows, _ = self.setup.grid.shape_of(STATE.get(name, "centre"))
            wide = np.zeros((*values.shape[:-2], rows, values.shape[-1]), values.dtype)
            wide[..., self.first - self.low :, :][..., : values.shape[-2], :] = values
            return wide

        return {name: in_slab(name, values) for name, values in state.items()}

    def interior_row_sums(self) -> np.ndarray:
        """Return `Engine.row_sums` of the interior rows."""
        return self.owned(self.engine.row_sums())


LOCATIONS = {"z": "centre", "p": "face_x", "q": "face_y"}  # locations of the exchanged fields


class DecomposedEngine(StepBatches):
    """Engine of one run on several devices; results for the model are assembled on the host."""

    def __init__(self, setup: Setup, group: Group, precision: str) -> None:
        self.setup, self.device, self.precision = setup, group, precision
        self.real = check_precision(precision)
        self.sides: list[Side] = sides_of(setup.segments, setup.level)
        check_subdomains(setup, group)
        self.transport = group.transport()
        self._lines = CrossSectionVolumes(setup.cross_sections, group.devices[0])
        self._deepest = 0.0
        self.batch, self.check_interval = (min(steps) for steps in zip(*map(steps_of, group.devices), strict=True))
        self.bind_steps()
        self._lay_out(overlap_rows(setup, precision, setup.deepest))
        self._balance = Balance(setup.segments, setup.grid, setup.terms, group.devices[0], self._total)

    def _lay_out(self, overlap: int) -> None:
        setup, devices, (ny, nx) = self.setup, self.device.devices, self.setup.grid.shape
        self.overlap = overlap
        self.step_graphs.clear()
        heights = slab_heights(ny, len(devices))
        self.joined = setup.kernels == "fast" and overlap > MAX_OVERLAP * min(heights)
        halo = JOINED_OVERLAP if self.joined else overlap
        rows = bands(ny, nx, heights, halo=(halo, 0), leading=(1, PADDING), overlap=True)
        held = [high - low for low, high in (rows.held(rank)[0] for rank in range(rows.count))]
        itemsize, forced = np.dtype(self.real).itemsize, maps_of(setup.terms, self.device.kind)
        stores = setup.kernels == "reference" or (self.joined and self.device.kind == "cpu")
        stored = STORED_FIELDS if stores else 0
        check_memory_of_each(self.device, [device_bytes(n, nx, itemsize, forced + stored) for n in held])
        self.decomposition = rows
        self.subdomains = [
            Subdomain(setup, device, self.precision, rows, rank, self.joined) for rank, device in enumerate(devices)
        ]
        self.engines = [subdomain.engine for subdomain in self.subdomains]

    # -- steps --------------------------------------------------------------------------------------

    def launches(self, parity: int, row: int) -> list[Stage]:
        """Return the stages of a step; row : row of the series values of its first sweep."""
        for rank, engine in enumerate(self.engines):
            for name, array in zip(LOCATIONS, (engine.z[0], engine.p[1 - parity], engine.q[1 - parity]), strict=True):
                self.transport.publish(rank, name, array)
        *first, along_y = map(list, zip(*(step(engine, parity, row) for engine in self.engines), strict=True))
        rows = self.transport.exchange(self.decomposition.messages(LOCATIONS))
        if self.joined:
            along_y = in_sequence(self._exchange_ends(), along_y)
        return [one for phase in (*first, along_y) for one in (phase, BARRIER)] + [rows]

    def _exchange_ends(self) -> Stage:
        """Return the exchange of the ends of the segments of all slabs."""
        for rank, engine in enumerate(self.engines):
            self.transport.publish(rank, "ends", engine.segments.ends)
        ranks = range(self.decomposition.count)
        return self.transport.exchange(
            Message("ends", source, target, (source,), (source,)) for target in ranks for source in ranks
            if source != target
        )  # fmt: skip

    def evaluate_series(self, start: float, steps_completed: int, count: int) -> None:
        """Evaluate the series; see `Engine.evaluate_series`."""
        for engine in self.engines:
            engine.evaluate_series(start, steps_completed, count)

    def set_time_step(self, dt: float) -> None:
        """Set the time step `dt`, s."""
        for engine in self.engines:
            engine.set_time_step(dt)
        self.step_graphs.clear()

    def restagger(self, dt: float, time: float) -> None:
        """Change the time step; see `Engine.restagger`."""
        if dt != self.dt:
            self.device.synchronize()
            self._take_up_now(time)
            self.device.local_values(lambda rank: self.engines[rank].restagger_fluxes(dt, time))
            self.parity = 0
            self.set_time_step(dt)

    def check_plan(self) -> None:
        """Adapt the plan to deeper water.

        The partitions of lines are coupled exactly. The overlap of slabs increases, unless their lines are joined.
        """
        if self.lost() > 16.0 * EPSILON[self.precision]:
            for engine in self.engines:
                engine.replan(exact=True)
            self.step_graphs.clear()
        if not self.joined and overlap_rows(self.setup, self.precision, self._deepest, safe=False) > self.overlap:
            self._widen(overlap_rows(self.setup, self.precision, self._deepest))

    def _widen(self, overlap: int) -> None:
        state, dt = self.checkpoint_state(None), self.dt
        self._lay_out(overlap)
        self.set_time_step(dt)
        self.restore_checkpoint(state, 0.0)

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
        slabs = "joined at the ends of their lines" if self.joined else f"with an overlap of {self.overlap} rows"
        return f"{self.engines[0].method}; {len(self.subdomains)} row slabs {slabs}"

    @property
    def balance(self) -> Balance:
        """Present water balance of the whole domain."""
        self.device.synchronize()
        sums = np.zeros(self._balance.sums.shape)
        for subdomain in self.subdomains:
            join_sums(sums, subdomain.face_numbers, subdomain.device.host(subdomain.engine.balance.sums))
        self._balance.resume(sums)
        return self._balance

    @property
    def lines(self) -> CrossSectionVolumes:
        """Present volumes through the cross-sections of the whole domain."""
        self.device.synchronize()
        self._lines.join([engine.lines for engine in self.engines])
        return self._lines

    def next_records(self) -> None:
        """Load the next records of time-varying fields; see `Engine.next_records`."""
        self.balance.settle()
        for engine in self.engines:
            engine.next_records()
        self._balance.weigh(self.setup.terms)

    def load_records(self) -> None:
        """Load the records in use; see `Engine.load_records`."""
        for engine in self.engines:
            engine.load_records()
        self._balance.weigh(self.setup.terms)

    def row_sums(self) -> np.ndarray:
        """Return the row sums of all rows of the domain; see `Engine.row_sums`."""
        self.device.synchronize()
        rows = np.concatenate([subdomain.interior_row_sums() for subdomain in self.subdomains])
        self._deepest = float(rows[:, DEEPEST].max())
        return rows

    def soil_sums(self) -> np.ndarray:
        """Return the sums of the cumulative infiltration over all rows of the domain; see `Engine.soil_sums`."""
        self.device.synchronize()
        return np.concatenate(
            [one.engine.soil_sums()[one.first - one.low : one.last - one.low] for one in self.subdomains]
        )

    def sample(self, j: np.ndarray, i: np.ndarray) -> list[np.ndarray]:
        """Return the values in cells (j, i); see `Engine.sample`."""
        self.device.synchronize()
        fields = [np.zeros(j.shape, self.real) for _ in range(11)]
        for subdomain in self.subdomains:
            here = (j >= subdomain.first) & (j < subdomain.last)
            if here.any():
                local_fields = subdomain.engine.sample(j[here] - subdomain.low, i[here])
                for values, local_values in zip(fields, local_fields, strict=True):
                    values[here] = local_values
        return fields

    def set_state(self, *values: np.ndarray) -> None:
        """Set the fields, in the rows of this process; see `Engine.set_state`."""
        self._set_fields([subdomain.held(dict(zip(STATE, values, strict=True))) for subdomain in self.subdomains])

    def _set_fields(self, slabs: Sequence[Mapping[str, np.ndarray] | None]) -> None:
        """Set the fields of each slab of this process."""
        for engine, fields in zip(self.engines, slabs, strict=True):
            if fields is not None and not engine.device.is_remote:
                engine.set_state(*(fields[name] for name in STATE))
        self.parity = 0
        self.device.synchronize()

    def collected(self, evaluate: Callable[[Rows], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return arrays of the whole domain; of several processes only the first has them (`Group.collect`).

        evaluate : returns arrays with the interior rows of a slab.
        """
        self.device.synchronize()
        return self.device.collect(lambda rank: evaluate(self.subdomains[rank]), join_rows)

    def each(self, evaluate: Callable[[Rows], Any]) -> list[Any]:
        """Return a small value of each slab, in all processes."""
        self.device.synchronize()
        return self.device.each(lambda rank: evaluate(self.subdomains[rank]))

    def _total(self, source: Quantity) -> float:
        """Return a mass source summed over the cells of the domain that are not land, m s-1."""
        rows, grid = self.setup.rows, self.setup.grid

        def of_slab(rank: int) -> float:
            first, last = self.decomposition.owned(rank)[0]
            wet = rows.take(self.setup.bed, first, last) < LAND
            return source.rows(first, last).total(replace(grid, ny=last - first), wet)

        return sum(self.device.each(of_slab))

    def plan_state(self) -> dict[str, np.ndarray]:
        """Return the overlap of the slabs and the plans of all devices; see `Engine.plan_state`."""
        plans = [plan for engine in self.engines for plan in engine.plan_state().values()]
        return {"rows_beside": np.array(self.overlap), **({"plan": np.concatenate(plans)} if plans else {})}

    def maps_state(self, time: float | None) -> dict[str, np.ndarray]:
        """Return the maps of the whole domain; see `Engine.maps_state` and `collected`."""
        self._take_up_now(time)
        return self.collected(lambda rows: rows.maps())

    def _take_up_now(self, time: float | None) -> None:
        if time is not None:
            for engine in self.engines:
                engine.take_up_now(time)

    def resume_maps(self, state: dict[str, np.ndarray], time: float) -> None:
        """Restore the maps, in the rows of this process; see `Engine.resume_maps`."""
        for subdomain in self.subdomains:
            if not subdomain.device.is_remote:
                subdomain.engine.resume_maps(subdomain.held(state), time)

    def checkpoint_state(self, time: float | None) -> dict[str, Any]:
        """Return the state of the slabs of this process; see `Engine.checkpoint_state`."""
        self._take_up_now(time)
        self.device.synchronize()
        slabs = self.device.local_values(lambda rank: self.subdomains[rank].fields() | self.subdomains[rank].maps())
        return self.small_state() | {"slabs": slabs}

    def restore_checkpoint(self, state: dict[str, Any], time: float) -> None:
        """Restore a state of `checkpoint_state`; the rows of neighbours are exchanged."""
        self._resume_plan(state)
        each = zip(self.subdomains, state["slabs"], strict=True)
        slabs = [None if values is None else subdomain.widened(values) for subdomain, values in each]
        self._set_fields(slabs)
        names = {f"{name}{k}": (name, k) for name in LOCATIONS for k in range(2)}
        for rank, engine in enumerate(self.engines):
            for key, (name, k) in names.items():
                self.transport.publish(rank, key, getattr(engine, name)[k])
        messages = self.decomposition.messages({key: LOCATIONS[name] for key, (name, _) in names.items()})
        self.device.run([BARRIER, self.transport.exchange(messages), BARRIER])
        self._resume_sums(state)
        for engine, values in zip(self.engines, slabs, strict=True):
            if values is not None:
                engine.resume_maps(values, time)

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore a state from any number of devices, with the rows of this process."""
        overlap, dt = int(state.get("rows_beside", self.overlap)), self.dt
        if overlap > self.overlap:
            self._lay_out(overlap)
            self.set_time_step(dt)
        self._resume_plan(state)
        slabs = [subdomain.held(state) for subdomain in self.subdomains]
        for engine, fields in zip(self.engines, slabs, strict=True):
            if not engine.device.is_remote:
                fluxes = stopped_at_walls(fields, engine.sides, engine.setup.walls)
                fields |= dict(zip(("p", "q_before", "q_after"), fluxes, strict=True))
        self._set_fields(slabs)
        self._resume_sums(state)

    def _resume_plan(self, state: dict[str, Any]) -> None:
        count = len(self.engines)
        if any([engine.resume_plan(state, rank, count) for rank, engine in enumerate(self.engines)]):
            self.step_graphs.clear()

    def _resume_sums(self, state: dict[str, Any]) -> None:
        self.load_records()
        sums = self._balance.sums_of(state)
        self._balance.resume_settled(state)
        for subdomain in self.subdomains:
            subdomain.engine.balance.resume(slab_sums(sums, subdomain.face_numbers, subdomain.engine.balance.sums.size))
            subdomain.engine.lines.resume(self._lines.subset_of_state(state, subdomain.engine.lines))
        self.device.synchronize()


def engine_for(setup: Setup, device: Device | Group, precision: str) -> Any:
    """Return the engine of a run on one device or on several devices."""
    return DecomposedEngine(setup, device, precision) if isinstance(device, Group) else Engine(setup, device, precision)


def check_subdomains(setup: Setup, group: Group) -> None:
    """Raise `InputError` if a slab has fewer rows than its neighbours need."""
    check_thickness(group, setup.grid.ny, JOINED_OVERLAP, "rows", f"at least {JOINED_OVERLAP} rows per device")
