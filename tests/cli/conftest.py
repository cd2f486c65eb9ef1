"""A model that does nothing but decay, with cases, so that the command line is tested without compiling."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import xarray as xr

from eagre.config.case import Case
from eagre.config.water.terrain import GridSection
from eagre.errors import BlowUpError, DeviceError, MemoryNeededError
from eagre.fields import Variable
from eagre.grid import Grid
from eagre.models import registry
from eagre.models.base import BaseModel

VARIABLES = {
    variable.name: variable
    for variable in (
        Variable("depth", "m", "water depth"),
        Variable("surface_elevation", "m", "surface elevation"),
        Variable("speed", "m s-1", "speed"),
        Variable("bed", "m", "bed elevation", static=True),
    )
}

FAKE = """\
model = "fake"
title = "A fake case"
fail = "{fail}"
[run]
end_time = 10
[grid]
nx = 12
ny = 9
dx = 1.0
[output]
file = "out.nc"
interval = 2
[gauges]
file = "gauges.csv"
interval = 1
points = {{pier = [2.5, 3.5]}}
[restart]
file = "restart.nc"
interval = 5
"""


class FakeDevice:
    """A device with a name."""

    kind = "cpu"

    def __str__(self) -> str:
        return "cpu (7 threads)"


class FakeModel(BaseModel):
    """Water on a slope that sinks by half every 10 s, in steps of 0.25 s; `fail` says what goes wrong at t = 6 s."""

    kind = "fake"
    variables = VARIABLES

    def __init__(self, grid: Grid, precision: str, fail: str) -> None:
        self.grid, self.precision, self.fail = grid, precision, fail
        self.device = FakeDevice()
        self.time, self.steps, self.time_step = 0.0, 0, 0.25
        real = np.float32 if precision == "single" else np.float64
        x, y = grid.mesh()
        self.bed = (0.1 * x - 0.5 + 0.0 * y).astype(real)
        self.level = np.full(grid.shape, 0.3, real)

    def advance(self, until: float, max_steps: int | None = None) -> None:
        left = max_steps if max_steps is not None else 10**9
        while self.time < until and left > 0:
            if self.time >= 6.0:
                self._fail()
            step = min(self.time_step, until - self.time)
            self.level *= self.level.dtype.type(0.5 ** (step / 10.0))
            self.time = until if step < self.time_step else self.time + step
            self.steps, left = self.steps + 1, left - 1

    def _fail(self) -> None:
        fail, self.fail = self.fail, ""
        if fail == "blow-up":
            raise BlowUpError(self.time, (3, 4), "values that are not finite")
        if fail == "disk":
            raise OSError(28, "No space left on device", "out.nc")
        if fail == "bug":
            raise ZeroDivisionError("a bug")
        if fail == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        if fail == "terminate":
            os.kill(os.getpid(), signal.SIGTERM)

    def field(self, name: str) -> np.ndarray:
        surface = np.maximum(self.level, self.bed)
        fields = {"bed": self.bed, "surface_elevation": surface, "depth": surface - self.bed, "speed": 0 * self.level}
        return fields[name].copy()

    def sample(self, names: list[str], cells: list[tuple[int, int]]) -> dict[str, np.ndarray]:
        return {name: np.array([self.field(name)[cell] for cell in cells]) for name in names}

    def state(self) -> dict[str, np.ndarray]:
        return {"level": self.level.copy(), "clock": np.array([self.time, self.steps])}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.level = state["level"].copy()
        self.time, self.steps = float(state["clock"][0]), int(state["clock"][1])

    def settings(self) -> dict[str, Any]:
        return {"half_life": 10.0}

    def diagnostics(self) -> dict[str, float]:
        return {"volume": 1.0, "volume_error": 2.5e-7}

    def statistics(self) -> dict[str, float]:
        return {"steps": self.steps, "redone_steps": 0, "dt_min": 0.25, "dt_max": 0.25, "courant_max": 0.2}


class FakeCase(Case):
    """The case of `FakeModel`."""

    kind: ClassVar[str] = "fake"
    default_variables: ClassVar[tuple[str, ...]] = ("depth", "surface_elevation")
    gauge_variables: ClassVar[tuple[str, ...]] = ("surface_elevation",)

    grid: GridSection
    fail: str = ""

    def build(self, device: str | None = None, precision: str | None = None) -> FakeModel:
        if (device or self.run.device) == "cuda":
            raise DeviceError("got device = 'cuda', but there is none")
        if self.fail == "memory":
            raise MemoryNeededError(5 * 2**30, 2**30, "cpu (7 threads)")
        return FakeModel(self.grid.grid(), precision or self.run.precision, self.fail)


@pytest.fixture
def fake_kind(monkeypatch) -> None:
    """Make the kind "fake" known."""
    kind = registry.Kind("fake", "decays", f"{__name__}:FakeModel", f"{__name__}:FakeCase")
    monkeypatch.setattr(registry.Kind, "case_class", lambda self: FakeCase if self.name == "fake" else _real(self))
    monkeypatch.setitem(registry.KINDS, "fake", kind)


_real = registry.Kind.case_class


@pytest.fixture
def fake_case(fake_kind, tmp_path) -> Callable[..., Path]:
    """A function that writes a case of the kind "fake"; keyword arguments replace lines that begin so."""

    def write(fail: str = "", **lines: str) -> Path:
        text = FAKE.format(fail=fail)
        for key, value in lines.items():
            old = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
            text = text.replace(old, f"{key} = {value}")
        path = tmp_path / "case.toml"
        path.write_text(text)
        return path

    return write


class Outcome:
    """What a command did: exit code, both streams without line breaks of the terminal."""

    def __init__(self, result: Any) -> None:
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr


@pytest.fixture
def eagre() -> Callable[..., Outcome]:
    """A function that runs ``eagre`` with arguments in this process."""
    from typer.testing import CliRunner

    from eagre.cli.main import app

    def call(*arguments: object) -> Outcome:
        return Outcome(CliRunner().invoke(app, [str(argument) for argument in arguments]))

    return call


@pytest.fixture
def opened():
    """A function that reads a NetCDF file into memory."""

    def read(path):
        with xr.open_dataset(path, decode_times=False, engine="h5netcdf") as dataset:
            return dataset.load()

    return read
