"""Output fields of the ADI model at cell centres: surface, depth, unit discharges and velocities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.backend.device import Work
from eagre.backend.group import Group
from eagre.checks import check_sample
from eagre.contract import Recording
from eagre.fields import WATER_VARIABLES, Variable, sampled_names
from eagre.models.shallow_water_adi.kernels import LAND
from eagre.models.shallow_water_adi.memory_layout import PADDING
from eagre.models.shallow_water_adi.sampling.velocity import beds_at, velocities_at, velocities_of
from eagre.names import unknown_field
from eagre.stepping.mapped import RunMaps
from eagre.stepping.maps import Water
from eagre.stepping.recording import FEW_PLACES, PASSED, Recorder, SampleBuffer
from eagre.terms.infiltration import INFILTRATION_DEPTH, NAME

WORDS = 11


@cell
def sample_points(k, z, p, q_before, q_after, cells, values, output_times):
    """Store z, p and q (before, after) at the faces, and z of the four neighbours, of cell `cells[:, k]`."""
    sample = values[np.int64(output_times[PASSED])]
    row, column = cells[0, k] + 1, cells[1, k] + PADDING
    sample[0, k] = z[row, column]
    sample[1, k] = p[row, column]
    sample[2, k] = p[row, column + 1]
    sample[3, k] = q_before[row, column]
    sample[4, k] = q_before[row + 1, column]
    sample[5, k] = q_after[row, column]
    sample[6, k] = q_after[row + 1, column]
    sample[7, k] = z[row, column - 1]
    sample[8, k] = z[row, column + 1]
    sample[9, k] = z[row - 1, column]
    sample[10, k] = z[row + 1, column]


@cell
def passed(i, output_times):
    """Advance the ring buffer by one sample; one thread."""
    output_times[PASSED] += 1.0


class PointSampler:
    """Sampler of the state of an engine in interior cells (j, i); each device samples its interior rows.

    Parameters
    ----------
    engine : Engine or DecomposedEngine
    recorder : callable
        Creates a `Recorder` from ring buffers and columns.
    j, i : int arrays, (n,)
    """

    def __init__(self, engine: Any, recorder: Callable[..., Recorder], j: np.ndarray, i: np.ndarray) -> None:
        self._engine, self._device, self._points = engine, engine.device, np.stack([j, i]).astype(np.int64)
        self._columns = [np.flatnonzero((j >= one.first) & (j < one.last)) for one in engine.subdomains]
        self._buffers = [
            SampleBuffer(one.engine.device, WORDS, columns.size, engine.real)
            for one, columns in zip(engine.subdomains, self._columns, strict=True)
        ]
        self._recorder = recorder(self._buffers, self._columns)
        self._graphs: dict[int, Callable[[], None]] = {}
        self._overlap = engine.overlap

    def order(self, time: float, until: float, steps: int) -> list[float]:
        """Return the sampling times, s, up to `until` in at most `steps` steps; see `Recorder.order`."""
        output_times = self._recorder.order(time, until, steps)
        self._device.run(self._of_all([one.begin for one in self._buffers]))
        return output_times

    def take(self) -> None:
        """Sample the present state."""
        parity = self._engine.parity
        if self._overlap != self._engine.overlap:  # the slabs have other arrays
            self._overlap = self._engine.overlap
            self._graphs.clear()
        if parity in self._graphs:
            self._graphs[parity]()
            return
        each = zip(self._engine.subdomains, self._buffers, self._columns, strict=True)
        work = self._of_all([self._launches(*arguments) for arguments in each])
        self._device.run(work)  # compiles the kernels before the graph capture
        self._graphs[parity] = self._device.repeated(work, 1)

    def _launches(self, subdomain: Any, buffer: SampleBuffer, columns: np.ndarray) -> list[Work]:
        """Return the launches that sample the cells of a device."""
        engine, parity = subdomain.engine, self._engine.parity
        device, fluxes = engine.device, (engine.p[parity], engine.q[1 - parity], engine.q[parity])
        j, i = self._points[:, columns] if columns.size else np.array([[subdomain.first], [0]])
        cells = device.array(np.stack([j - subdomain.low, i]))
        arguments = (engine.z[0], *fluxes, cells, buffer.values, buffer.output_times)
        samples = device.loop(sample_points, engine.precision)
        return [
            device.over(samples, (j.size,), arguments)._replace(alone=j.size < FEW_PLACES),
            device.over(device.loop(passed, engine.precision), (1,), (buffer.output_times,)),
        ]

    def _of_all(self, launches: list[list[Work]]) -> list[Any]:
        """Return the schedule of launches of each device."""
        return [launches] if isinstance(self._device, Group) else launches[0]

    def deliver(self, *, good: bool) -> None:
        """Pass on the samples since the last order, if the state is valid."""
        if not good:
            self._recorder.forget()
            return
        self._device.run(self._of_all([one.state_check for one in self._buffers]))
        self._device.synchronize()
        self._recorder.give()


Pair = tuple[np.ndarray, np.ndarray]  # along x and y


class Fields:
    """Base class with the output fields of a model."""

    grid: Any
    setup: Any
    _bed: np.ndarray  # bed of the cells in the rows of this process, m
    time: Any
    device: Any
    _engine: Any
    _stepper: Any
    _infiltrates: bool

    def _forget(self) -> None:
        """Drop cached fields of an earlier state."""
        self._cache: dict[Any, tuple[np.ndarray, Pair, Pair]] = {}

    @property
    def variables(self) -> dict[str, Variable]:
        """Output fields by name."""
        soil = (INFILTRATION_DEPTH,) if self._infiltrates else ()
        return {variable.name: variable for variable in (*WATER_VARIABLES, *soil)}

    def field(self, name: str) -> np.ndarray:
        """Return a host copy of a field, (ny, nx); an empty array in processes other than the first.

        In dry cells the depth and the velocity are 0, and the surface elevation is the bed elevation.
        """
        if name not in self.variables:
            raise unknown_field(name, self.variables)
        if name == INFILTRATION_DEPTH.name:
            depths = self._engine.collected(lambda rows: {name: rows.owned(rows.engine.soil.state()[NAME])})
            return depths.get(name, np.empty(0)).astype(self._engine.real)
        derived = self._cache

        def fields_of_rows(rows: Any) -> dict[str, np.ndarray]:
            if rows.engine not in derived:
                derived[rows.engine] = self._derived(rows)
            bed = self.setup.rows.take(self._bed, rows.first, rows.last)
            return self._fields_of(*derived[rows.engine], rows.owned(rows.engine.setup.bed), bed, [name])

        return self._engine.collected(fields_of_rows).get(name, np.empty(0))

    def _derived(self, rows: Any) -> tuple[np.ndarray, Pair, Pair]:
        """Return the surface, and unit discharges and velocities at centres, in the interior rows of a slab."""
        engine, setup = rows.engine, rows.engine.setup
        p, q_before, q_after = engine.fluxes()
        z, q = engine.surface(), _mean(q_before, q_after)
        fluxes = (_mean(p[:, 1:], p[:, :-1]), _mean(q[1:], q[:-1]))
        u, v = velocities_of(z, p, q, setup.bed, setup.face_dry_depth)
        return rows.owned(z), (rows.owned(fluxes[0]), rows.owned(fluxes[1])), (rows.owned(u), rows.owned(v))

    @property
    def bed(self) -> np.ndarray:
        """Bed elevation of the cells, (ny, nx), m; an empty array in processes other than the first."""
        return self._map_beds["bed"]

    @cached_property
    def _map_beds(self) -> dict[str, np.ndarray]:
        """Bed, and the bed where water can never be with the level of the run elsewhere, m, in the first process."""
        level = self.setup.level

        def beds_of_rows(rows: Any) -> dict[str, np.ndarray]:
            bed = self.setup.rows.take(self._bed, rows.first, rows.last)
            return {"bed": bed, "ground": np.where(rows.owned(rows.engine.setup.bed) < LAND, level, bed)}

        return dict.fromkeys(("bed", "ground"), np.empty(0)) | self._engine.collected(beds_of_rows)

    def sample(self, names: Sequence[str], points: Sequence[tuple[int, int]]) -> dict[str, np.ndarray]:
        """Return the values of fields in cells (j, i)."""
        j, i = check_sample(names, points, sampled_names(self.variables), self.grid)
        return self._values_of(self._engine.sample(j, i), beds=self._beds_at(j, i), names=names)

    def _beds_at(self, j: np.ndarray, i: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the beds of the scheme (`beds_at`) and of the case in cells (j, i), m."""
        return beds_at(self.setup, j, i), self.setup.rows.values_in(self._bed, j, i)

    def _values_of(
        self,
        samples: Sequence[np.ndarray] | np.ndarray,
        *,
        beds: tuple[list[np.ndarray], np.ndarray],
        names: Sequence[str],
    ) -> dict[str, np.ndarray]:
        """Return fields in cells from the values that `sample_points` samples; beds : of `_beds_at`."""
        z, p, p_high, q_before, q_before_high, q_after, q_after_high, *_ = samples
        q, q_high = _mean(q_before, q_after), _mean(q_before_high, q_after_high)
        fluxes = (_mean(p_high, p), _mean(q_high, q))
        velocities = velocities_at(samples, beds[0], self.setup.face_dry_depth)
        fields = self._fields_of(z, fluxes, velocities, beds[0][0], beds[1], names)
        return {name: np.broadcast_to(values, z.shape) for name, values in fields.items()}

    def start_sampling(self, recording: Recording | None) -> bool:
        """Start, or with None stop, in-run sampling of cells; return True: the model supports it."""
        self._stepper.sampler = None
        if recording is not None:
            j, i = check_sample(recording.names, recording.points, sampled_names(self.variables), self.grid)
            values_of = partial(self._values_of, beds=self._beds_at(j, i), names=recording.names)
            self._stepper.sampler = PointSampler(self._engine, partial(Recorder, recording, values_of, self.time), j, i)
        return True

    @property
    def maps(self) -> RunMaps | None:
        """Requested maps and time statistics, accumulated to the present time; None if none were requested.

        `maps.sample()` returns the values.
        """
        setup = self.setup
        if setup.maps is None and setup.time_statistics is None:
            return None
        level, beds = setup.level, self._map_beds
        bed, ground = beds["bed"], {"surface_elevation": beds["ground"]}
        water = Water(lambda z: _lifted(z, level), lambda z: z - (bed - level).astype(z.dtype))
        state = lambda: (self._engine.maps_state(self.time), self.time)  # noqa: E731
        return RunMaps(
            self.grid, state, setup.time_statistics, ground, maps=setup.maps, bed=bed, water=water,
            infiltrates=self._infiltrates,
        )  # fmt: skip

    def _fields_of(
        self,
        z: np.ndarray,
        fluxes: Pair,
        velocities: Pair,
        limit: np.ndarray,
        bed: np.ndarray,
        names: Sequence[str],
    ) -> dict[str, np.ndarray]:
        """Return output fields from surface, unit discharges and velocities at centres.

        z and `limit` are relative to the level of the run; `limit` is the bed, with very high values on land. `bed` is
        relative to the datum of the case.
        """
        level = self.setup.level
        bed = (bed - level).astype(z.dtype)
        wet = (limit < LAND) & (z - bed > self.setup.face_dry_depth)
        zero = np.zeros((), z.dtype)
        (p, q), (u, v) = fluxes, velocities
        fields = {
            "surface_elevation": lambda: _lifted(np.where(limit < LAND, np.maximum(z, bed), bed), level),
            "depth": lambda: np.where(limit < LAND, np.maximum(z - bed, zero), zero),
            "discharge_x": lambda: np.where(wet, p, zero),
            "discharge_y": lambda: np.where(wet, q, zero),
            "velocity_x": lambda: np.where(wet, u, zero),
            "velocity_y": lambda: np.where(wet, v, zero),
            "speed": lambda: np.hypot(*(np.where(wet, one, zero) for one in (u, v))),
            "bed": lambda: _lifted(bed, level),
        }
        return {name: fields[name]() for name in names}


def _lifted(z: np.ndarray, level: float) -> np.ndarray:
    """Return elevations from elevations relative to `level`, m, rounded once."""
    return (level + z.astype(np.float64)).astype(z.dtype)


def _mean(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a + b) * a.dtype.type(0.5)
