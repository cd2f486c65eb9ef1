"""Accumulation of the initial state of each step in the maps (`eagre.kernels.maps`) and averages of the run."""

from __future__ import annotations

from typing import Any

from eagre.backend.compilation.cells import cell, entry, prange, real
from eagre.backend.device import Launch
from eagre.kernels.averages import Water, quantities_of_water, weigh
from eagre.kernels.implicit_lines import LAND
from eagre.kernels.maps import MapState, held, moment_of, take_row, take_up
from eagre.kernels.roots import larger, select
from eagre.models.shallow_water_adi.memory_layout import PADDING
from eagre.models.shallow_water_adi.sampling.velocity import velocity_x, velocity_y
from eagre.stepping.averaging import Averaging
from eagre.stepping.maps import MapAccumulator as BaseAccumulator


@cell
def water_of(j, i, z, bed, p, q_before, q_after, dry):
    """Return the water of interior cell (j, i), with discharges interpolated from its faces; 0 on land.

    q_before, q_after : discharges half a step before and after the state.
    """
    row, column = j + 1, i + PADDING
    b = bed[row, column]
    level = larger(z[row, column], b)
    h = select(b < real(LAND), larger(z[row, column] - b, real(0.0)), real(0.0))
    q_low = real(0.5) * (q_before[row, column] + q_after[row, column])
    q_high = real(0.5) * (q_before[row + 1, column] + q_after[row + 1, column])
    p_low, p_high = p[row, column], p[row, column + 1]
    hu = select(h > dry, real(0.5) * (p_low + p_high), real(0.0))
    hv = select(h > dry, real(0.5) * (q_low + q_high), real(0.0))
    u = select(h > dry, velocity_x(row, column, z, bed, p_low, p_high, dry), real(0.0))
    v = select(h > dry, velocity_y(row, column, z, bed, q_low, q_high, dry), real(0.0))
    return Water(select(b < real(LAND), level, real(0.0)), h, hu, hv, u, v)


@cell
def map_state(j, i, fields):
    """Return the `MapState` of interior cell (j, i); fields : arguments of `water_of`."""
    z, bed, p, q_before, q_after, dry = fields
    level, h, hu, hv, u, v = water_of(j, i, z, bed, p, q_before, q_after, dry)
    return MapState(level, h, u, v, hu, hv)


@entry
def take_cpu(z, bed, fluxes, maps, when, dry):
    """Accumulate a state in the maps of the run.

    fluxes : p, and q half a step before and after; when : times, s, and the row whose last one is that of the state
    """
    p, q_before, q_after = fluxes
    times, time_row = when
    for j in prange(maps.planes.shape[1]):
        moment = moment_of(maps, times[time_row, times.shape[1] - 1])
        take_row(maps, j, (z, bed, p, q_before, q_after, dry), moment)


@cell
def take_state(j, i, z, bed, fluxes, maps, when, dry):
    """See `take_cpu`; interior cell (j, i)."""
    p, q_before, q_after = fluxes
    times, time_row = when
    state = map_state(j, i, (z, bed, p, q_before, q_after, dry))
    take_up(maps, j, i, state, held(maps, j, i), moment_of(maps, times[time_row, times.shape[1] - 1]))


class MapAccumulator(BaseAccumulator):
    """Maps of an engine of the ADI model."""

    def __init__(self, engine: Any) -> None:
        setup = engine.setup
        dry = engine.real(setup.face_dry_depth)
        super().__init__(setup.maps, engine.device, setup.grid.shape, engine.real, float(dry))
        self._engine, self._dry = engine, dry

    def take(self, parity: int, times: Any, row: int) -> list[Launch]:
        """Return the launch that accumulates the state; parity : buffers with its newer fluxes."""
        engine = self._engine
        if self.maps is None:
            return []
        fluxes = (engine.p[parity], engine.q[1 - parity], engine.q[parity])
        arguments = (engine.z[0], engine.bed, fluxes, self.arrays, (times, row), self._dry)
        switches = self.switches | {"STATE_OF": map_state}
        if engine.device.kind == "cpu":
            return [Launch(engine.device.program(take_cpu, engine.precision, switches), arguments)]
        program = engine.device.loop(take_state, engine.precision, switches)
        return [engine.device.over(program, engine.setup.grid.shape, arguments)]


@cell
def weigh_time(i, numbers, times, row):
    """Weight the state at times[row, -1], s."""
    weigh(numbers, times[row, times.shape[1] - 1])


QUANTITIES = quantities_of_water("z, bed, p, q_before, q_after, dry", water_of)


class BeginningAverages(Averaging):
    """Time statistics of an engine: the initial state of each step, and the present state on request."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine, QUANTITIES)
        self._engine, self._dry = engine, engine.real(engine.setup.face_dry_depth)

    def accumulate(self, parity: int, times: Any, row: int) -> list[Launch]:
        """Return the launches that accumulate the state at `times[row, -1]`, s.

        parity : index of the buffers with its newer fluxes.
        """
        engine = self._engine
        fluxes = (engine.p[parity], engine.q[1 - parity], engine.q[parity])
        return self.take(weigh_time, (times, row), engine.z[0], engine.bed, *fluxes, self._dry)
