"""MPDATA as launches on a device: three axes (k, j, i), fixed arrays, one precision."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from eagre.advection import staged
from eagre.advection.ghosts import Open, Tables, tables_of
from eagre.backend.device import Device, Launch, Work, check_precision

NOWHERE = (False, False, False)
DIVISION_FLOOR = {"single": 1e-37, "double": 1e-300}


class Options(NamedTuple):
    """Options of a step; see `eagre.advection.Mpdata`."""

    passes: int = 2
    gauge: bool = True
    third_order: bool = False
    nonoscillatory: bool = True

    @property
    def switches(self) -> dict[str, Any]:
        return {"GAUGE": self.gauge, "THIRD_ORDER": self.third_order, "NONOSCILLATORY": self.nonoscillatory}


class Advector(NamedTuple):
    """Face fluxes along x, y and z, times dt/dx, density and Jacobian; h : density times Jacobian at points, or None.

    v1 : (nz, ny, nx + 1); v2 : (nz, ny + 1, nx); v3 : (nz + 1, ny, nx); h : (nz, ny, nx). Fluxes along axes of one
    point are not read and may be None.
    """

    v1: Any
    v2: Any
    v3: Any
    h: Any = None


class StagedPlan:
    """MPDATA with all fields in memory between stages, for any option and device.

    shape : (nz, ny, nx); sides : boundaries of the axes z, y, x: ``"periodic"``, ``"wall"``, ``"open"`` or `Open`.
    """

    def __init__(
        self,
        device: Device,
        precision: str,
        shape: tuple[int, int, int],
        sides: tuple[str | Open, str | Open, str | Open],
        options: Options,
    ) -> None:
        self.device, self.precision, self.shape, self.sides, self.options = device, precision, shape, sides, options
        self.dtype = check_precision(precision)
        self.depth = 4 if options.third_order else 3
        self._tables: dict[tuple[bool, ...], tuple[Tables, ...]] = {}
        self._programs: dict[Any, Any] = {}

    @property
    def padded(self) -> tuple[int, ...]:
        """Shape of a field including its ghost points."""
        return tuple(n + 2 * self.depth + 1 for n in self.shape)

    @cached_property
    def fields(self) -> Any:
        return self.device.zeros((staged.FIELDS, *self.padded), self.dtype)

    @cached_property
    def _pseudo_velocities(self) -> Advector:
        """Advector of the third and later passes."""
        nz, ny, nx = self.shape
        shapes = ((nz, ny, nx + 1), (nz, ny + 1, nx), (nz + 1, ny, nx))
        return Advector(*(self.device.zeros(shape, self.dtype) for shape in shapes))

    def tables(self, odd: tuple[bool, bool, bool]) -> tuple[Tables, ...]:
        """Return the ghost-point tables along z, y and x of a field that is odd across the walls of some axes."""
        if odd not in self._tables:
            axes = zip(self.shape, self.sides, odd, strict=True)
            self._tables[odd] = tuple(tables_of(n, side, o, self.depth, self.device, self.dtype) for n, side, o in axes)
        return self._tables[odd]

    def _loop(self, cell: Any, region: tuple[int, ...], *arguments: Any) -> Launch:
        if cell not in self._programs:
            switches = {**self.options.switches, "MIN_DIVISOR": DIVISION_FLOOR[self.precision]}
            self._programs[cell] = self.device.loop(cell, self.precision, switches)
        return self.device.over(self._programs[cell], region, arguments)

    def _stage(self, cell: Any, low: int, trailing: int, *arguments: Any) -> Launch:
        """Return a stage from position `low` on, without `trailing` positions at the other end."""
        region = tuple(n - low - trailing for n in self.padded)
        return self._loop(cell, region, self.fields, low, *arguments)

    def fill(self, field: int, a: Any, odd: tuple[bool, bool, bool]) -> Launch:
        """Return a launch that copies a, (nz, ny, nx), with its ghost points to one of `fields`."""
        tables = [axis.field for axis in self.tables(odd)]
        return self._loop(staged.fill, self.padded, self.fields, field, a, *tables)

    def fill_advector(self, v: Advector) -> list[Work]:
        """Return launches that copy the advector with its ghost points; fluxes along axes of one point are not read."""
        tables, launches = self.tables(NOWHERE), []
        for along, field, a in ((2, staged.U1, v.v1), (1, staged.U2, v.v2), (0, staged.U3, v.v3)):
            if self.shape[along] == 1:
                continue
            ways = [axis.along if n == along else axis.across for n, axis in enumerate(tables)]
            launches.append(self._loop(staged.fill, self.padded, self.fields, field, a, *ways))
        return launches

    def fill_h(self, h: Any) -> Launch:
        """Return a launch that copies density times Jacobian with its ghost points; 1 for None."""
        if h is None:
            return self._loop(staged.set_one, self.padded, self.fields, staged.H)
        tables = [axis.jacobian for axis in self.tables(NOWHERE)]
        return self._loop(staged.fill, self.padded, self.fields, staged.H, h, *tables)

    def take(self, field: int, out: Any) -> Launch:
        """Return a launch that copies a field without its ghost points to out."""
        return self._loop(staged.take, tuple(out.shape), self.fields, field, self.depth, out)

    def launches(self, x: Any, out: Any, v: Advector, odd: tuple[bool, bool, bool] = NOWHERE) -> list[Work]:
        """Return the launches of one step: x to out, another array of its shape.

        odd : whether x changes its sign across the walls of z, y and x, as the normal velocity does.
        """
        return self.together([(x, out, odd)], v)

    def together(self, transported: Sequence[tuple[Any, Any, tuple[bool, bool, bool]]], v: Advector) -> list[Work]:
        """Return launches of a step of several fields with one advector; transported : x, out, odd, see `launches`."""
        launches: list[Work] = [self.fill_h(v.h)]
        for n, (x, out, odd) in enumerate(transported):
            if n == 0 or self.options.passes > 2:  # the third pass replaces the advector
                launches += self.fill_advector(v)
            launches += [self.fill(staged.FIRST, x, odd), self._stage(staged.advect, 1, 1)]
            if self.options.passes == 1:
                launches.append(self.take(staged.X, out))
            for left in reversed(range(1, self.options.passes)):
                launches += self._correction(out, left > 1)
                if left > 1:
                    launches += [self.fill(staged.X, out, odd), *self.fill_advector(self._pseudo_velocities)]
        return launches

    def _correction(self, out: Any, again: bool) -> list[Work]:
        """Return a corrective pass: X to out; again : store its unlimited pseudo velocities as an advector."""
        open_faces = [axis.passable for axis in self.tables(NOWHERE)]
        first = self.depth - 1
        launches = [self._stage(staged.velocities, first, 2, *open_faces)]
        if again:
            fields = (staged.V1, staged.V2, staged.V3)
            targets = zip(fields, self._pseudo_velocities, strict=False)
            launches += [self.take(field, target) for field, target in targets]
        if self.options.nonoscillatory:
            launches.append(self._stage(staged.allowed_fractions, first, 3))
        return [*launches, self._loop(staged.correct, self.shape, self.fields, self.depth, out)]

    def courant(self, out: Any, v: Advector) -> list[Work]:
        """Return launches that store outflow Courant numbers of points in out."""
        launches = [*self.fill_advector(v), self.fill_h(v.h)]
        return [*launches, self._loop(staged.outflow, self.shape, self.fields, self.depth, out)]
