"""Search spaces of the barotropic model: row transforms, columns and tiles of its Poisson solver."""

from __future__ import annotations

from typing import Any

from eagre.layouts.gpu_properties import MAX_THREADS
from eagre.layouts.solvers import SECTOR
from eagre.tuning.space import Axis, Space, always, registers
from eagre.tuning.spaces.common import on_cpu

MODEL, VARIANT = "barotropic", "default"
SOLVER = "solver:poisson"
OF_A_BLOCK = 65536  # registers per block, on all GPUs since 2014
_ANY = 2**20  # longer than any row: one limit for all lengths


def _one_row(value: int, precision: str) -> list[dict[str, int]]:
    return [{"up_to": _ANY, "registers": value}]


def _partition(value: tuple[int, int], precision: str) -> list[dict[str, Any]]:
    """Return the column partition: tallest block for these registers per thread; larger columns use the last."""
    (rows, limit), tallest = value, {"up_to": 4096, "own": 64 if precision == "single" else 32, "registers": 128}
    threads = min(MAX_THREADS, OF_A_BLOCK // limit)
    one = {"up_to": rows * threads // SECTOR[precision] // 2 * 2, "own": rows, "registers": limit}
    return [one, tallest] if one["up_to"] < 4096 else [{**one, "up_to": 4096}]


TRANSFORM = Space(
    f"{SOLVER}.transform", MODEL, VARIANT,
    (
        Axis(
            "registers", (f"{SOLVER}.transform.registers#{{precision}}",),
            registers({"single": 64, "double": 80}, 128), _one_row,
        ),
        Axis(
            "registers of update", (f"{SOLVER}.transform.registers_of_update#{{precision}}",),
            registers({"single": 64, "double": 80}, 128), _one_row,
        ),
        Axis("wide tiles from", (f"{SOLVER}.tiles.wide_from",), always(2, 1024, _ANY)),
        Axis("side by side", (f"{SOLVER}.tiles.side_by_side",), always(1, 2)),
        Axis("early", (f"{SOLVER}.overlap.release",), always(1, 2)),
    ),
    checked=4097,
)  # fmt: skip
COLUMNS = Space(
    f"{SOLVER}.columns", MODEL, VARIANT,
    (
        Axis(
            "rows x registers", (f"{SOLVER}.columns.cuts#{{precision}}",),
            always((8, 64), (16, 64), (16, 96), (32, 96), (32, 128), (64, 128)), _partition,
        ),
    ),
    checked=4097,
)  # fmt: skip
PIECES = Axis("pieces", ("cpu.barotropic.pieces",), always(8, 16, 32, 128))
SPACES = (TRANSFORM, COLUMNS, on_cpu(MODEL, VARIANT, PIECES))
