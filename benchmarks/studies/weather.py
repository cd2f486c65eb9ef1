"""What rain, wind and pressure in space and time cost the explicit model, and whether a GPU agrees with the CPU.

``PYTHONPATH=src python benchmarks/studies/weather.py cuda 4096`` compares short runs with those on the CPU, then prints
microseconds a step of SSP-RK2 with friction: without, with each field, with all of them, and with all of them held
constant in maps (rain, stress and pressure as they were before fields could move).
"""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

import eagre
from eagre.backend.timing import times_of
from eagre.models.shallow_water import schedules
from eagre.models.shallow_water.devices.multi_device import engine_for
from eagre.terms.collect import terms_of
from eagre.time_varying.fields import NodeGrid, RecordTimeAxis, TimeVaryingField

STEPS = {"cpu": 4, "cuda": 40}
MOST = {"rain": 1e-3, "wind x": 120.0, "wind y": 120.0, "pressure": 1.1e5}


def fields(grid: eagre.Grid, times: list[float], spacing: float) -> dict[str, TimeVaryingField]:
    """Smooth fields that travel, on nodes `spacing` m apart."""
    nodes, instants = NodeGrid.within(grid, spacing), RecordTimeAxis(np.array(times), "study")
    x, y = np.meshgrid(*nodes.points(grid))
    long = grid.nx * grid.dx

    def wave(low: float, high: float, shift: float) -> Any:
        def read(k: int) -> np.ndarray:
            phase = 2.0 * np.pi * ((x + 0.3 * y) / long + shift + 0.1 * k)
            return 0.5 * (low + high) + 0.5 * (high - low) * np.sin(phase)

        return read

    bounds = {"rain": (0.0, 1e-5), "wind x": (5.0, 25.0), "wind y": (-10.0, 10.0), "pressure": (9.9e4, 1.02e5)}
    return {
        name: TimeVaryingField(instants, nodes, wave(*bound, 0.2 * n), name, MOST[name], "")
        for n, (name, bound) in enumerate(bounds.items())
    }


def sources(found: dict[str, TimeVaryingField], which: str) -> list[Any]:
    made = {
        "rain": lambda: eagre.WeatherRain(found["rain"]),
        "wind": lambda: eagre.WeatherWind(found["wind x"], found["wind y"]),
        "pressure": lambda: eagre.WeatherPressure(found["pressure"]),
    }
    return [make() for name, make in made.items() if which in (name, "all")]


def in_maps(grid: eagre.Grid) -> list[Any]:
    """Five maps that do not change: rain, two of stress (one pattern), two gradients."""
    shape = (0.5 + 0.5 * np.sin(grid.x / (grid.nx * grid.dx))) * np.ones((grid.ny, 1))
    stress = eagre.WindStress(0.3, 0.1, pattern=shape)
    return [eagre.Rain(1e-5, shape), stress, eagre.AtmosphericPressure(1e5 + 1e3 * shape**2)]


def basin(grid: eagre.Grid, device: str, precision: str, terms: list[Any], **more: Any) -> Any:
    return eagre.ShallowWater(
        grid, -20.0, surface_elevation=0.0, manning=0.03, sources=terms, device=device, precision=precision, **more
    )


def compared(device: str) -> None:
    """Runs over records, and taken up in between, against the CPU."""
    grid, serve = eagre.Grid(171, 200, 100.0, 120.0), schedules.Tiles.serve
    for kernel in ("march", "tiles", "implicit"):
        schedules.Tiles.serve = staticmethod((lambda setup, device: False) if kernel == "march" else serve)
        for precision in ("single", "double"):
            found = []
            for where in (device, "cpu"):
                terms = sources(fields(grid, [0.0, 100.0, 250.0, 400.0], 800.0), "all")
                if kernel == "implicit":
                    make = lambda t=terms, w=where, p=precision: eagre.ShallowWaterADI(  # noqa: E731
                        grid, -20.0, 10.0, surface_elevation=0.0, manning=0.03, sources=t, device=w, precision=p
                    )
                else:
                    make = lambda t=terms, w=where, p=precision: basin(grid, w, p, t)  # noqa: E731
                model, again = make(), make()
                model.advance(180.0)
                again.restore(model.state())
                for one in (model, again):
                    one.advance(300.0)
                same = all(np.array_equal(model.field(name), again.field(name)) for name in model.variables)
                found.append((model, same))
            apart = [
                np.abs(found[0][0].field(name) - found[1][0].field(name)).max() / np.abs(found[1][0].field(name)).max()
                for name in ("surface_elevation", "discharge_x", "discharge_y")
                if name in found[0][0].variables
            ]
            error = found[0][0].diagnostics()["volume_error"]
            told = f"apart {max(apart):.1e}, taken up with the same bits: {found[0][1]}, volume error {error:.1e}"
            print(f"{kernel} {precision}: {told}", flush=True)
    schedules.Tiles.serve = serve


def timed(device: str, n: int, precision: str, steps: int, spacing: float = 1600.0) -> None:
    """One set-up; then an engine for every set of terms."""
    grid = eagre.Grid(n, n, 100.0, 100.0)
    found = fields(grid, [0.0, 1e5, 2e5], spacing)
    model = basin(grid, device, precision, [], active_tiles="off")
    state, before = model.state()["q"][:, 2:-2, 2:-2], None
    cases = {name: sources(found, name) for name in ("none", "all", "rain", "wind", "pressure")}
    for name, terms in {**cases, "maps": in_maps(grid)}.items():
        engine = engine_for(replace(model.setup, terms=terms_of(terms, grid)), model.device, precision)
        engine.set_state(*state, 0.0)
        time = 1e6 * min(times_of(engine.device, engine.unchecked(1e9, steps), repeats=4, warm_up=1)) / steps
        before = before or time
        print(f"{n} x {n} {precision} {name}: {time:.1f} us a step, {time / before - 1:+.1%}", flush=True)


def with_registers(device: str, n: int, precision: str, steps: int, spacing: float = 1600.0) -> None:
    """All fields with other limits of registers in the march."""
    grid = eagre.Grid(n, n, 100.0, 100.0)
    model = basin(grid, device, precision, [], active_tiles="off")
    state, usual = model.state()["q"][:, 2:-2, 2:-2], model.device.parameters
    for which in ("all", "wind"):
        setup = replace(model.setup, terms=terms_of(sources(fields(grid, [0.0, 1e5, 2e5], spacing), which), grid))
        for most in (0, 80, 96, 128, 168, 255):

            def parameters(kernel: str, most: int = most) -> Any:
                found = usual(kernel)
                if kernel != "shallow-water.march" or most == 0:
                    return found
                return SimpleNamespace(**{**vars(found), "registers": {precision: {"first": most, "second": most}}})

            model.device.parameters = parameters
            engine = engine_for(setup, model.device, precision)
            engine.set_state(*state, 0.0)
            time = 1e6 * min(times_of(engine.device, engine.unchecked(1e9, steps), repeats=3, warm_up=1)) / steps
            told = usual("shallow-water.march").registers[precision] if most == 0 else most
            print(f"{n} x {n} {precision} {which}, registers {told}: {time:.1f} us a step", flush=True)
    model.device.parameters = usual


def main() -> None:
    device, n = sys.argv[1], int(sys.argv[2])
    asked = sys.argv[3:] or ["compared", "single", "double"]
    if "compared" in asked:
        compared(device)
    for precision in [one for one in asked if one in ("single", "double")]:
        (with_registers if "registers" in asked else timed)(device, n, precision, STEPS[device.partition(":")[0]])


if __name__ == "__main__":
    main()
