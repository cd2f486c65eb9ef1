"""Launches that solve the column systems of the pressure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eagre.backend.device import Device, Launch
from eagre.models.anelastic.preconditioners.columns import Symbols, divide, solve_columns_cpu
from eagre.models.anelastic.preconditioners.columns_cuda import (
    AHEAD,
    LANES,
    ROWS,
    SYSTEMS,
    column_systems_cuda,
    divide_cuda,
)


def column_solver(device: Device, precision: str, switches: Mapping[str, Any]) -> Callable[[tuple[Any, ...]], Launch]:
    """Return a function from (f, inverse, coupling, scale) to the launch of `columns.solve_column`."""
    on_gpu = device.kind == "cuda"
    program = device.program(column_systems_cuda if on_gpu else solve_columns_cpu, precision, switches)

    def launch(arguments: tuple[Any, ...]) -> Launch:
        if not on_gpu:
            return Launch(program, arguments)
        _, ny, n = map(int, arguments[0].shape)
        return Launch(program, arguments, (-(-n // LANES), ny), (LANES, SYSTEMS))

    return launch


def mode_divider(device: Device, precision: str, components: int) -> Callable[[Any, Symbols], Launch]:
    """Return a function from (f, tables) to the launch of `columns.divide`; parts : real numbers per mode."""
    if device.kind == "cuda" and components == 2:
        program = device.program(divide_cuda, precision)

        def launch(f: Any, tables: Symbols) -> Launch:
            nz, ny, n = map(int, f.shape)
            grid = (-(-(n // 2) // LANES), -(-ny // ROWS), -(-nz // AHEAD))
            return Launch(program, (f, tables), grid, (LANES, ROWS))

        return launch
    loop = device.loop(divide, precision, {"PARTS": components})
    return lambda f, tables: device.over(loop, (*f.shape[:2], f.shape[2] // components), (f, tables))
