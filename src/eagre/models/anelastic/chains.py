"""Launches that solve the column systems of the pressure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eagre.backend.device import Device, Launch
from eagre.models.anelastic.columns import solve_columns_cpu
from eagre.models.anelastic.columns_cuda import CHAINS, LANES, chains_cuda


def column_solver(device: Device, precision: str, switches: Mapping[str, Any]) -> Callable[[tuple[Any, ...]], Launch]:
    """A function of (f, inverse, coupling, scale) to the launch that does what `columns.solve_column` does."""
    on_gpu = device.kind == "cuda"
    program = device.program(chains_cuda if on_gpu else solve_columns_cpu, precision, switches)

    def launch(arguments: tuple[Any, ...]) -> Launch:
        if not on_gpu:
            return Launch(program, arguments)
        _, ny, n = map(int, arguments[0].shape)
        return Launch(program, arguments, (-(-n // LANES), ny), (LANES, CHAINS))

    return launch
