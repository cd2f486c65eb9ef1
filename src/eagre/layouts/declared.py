"""Declared launch parameters of the models, and the list of all declared launch parameters."""

from __future__ import annotations

from typing import Any

from eagre.layouts.gpu_properties import MAX_THREADS, STATIC_SHARED, WARP, GpuProperties
from eagre.layouts.kinds import (
    PRECISIONS,
    Parameter,
    by_multiprocessors,
    by_precision,
    descending,
    flag,
    named,
    number,
    some,
    whole,
)
from eagre.layouts.solvers import ITEMSIZE, REGISTERS, SOLVERS, THREADS, Blocks, registers_of_warps, shared_of_columns

STEPS = whole(1, 10**6)
MAX_ROWS = 128  # maximum rows of a block along y; fields have this number of padding rows


def warps_for_latency(gpu: GpuProperties, value: int, on: GpuProperties) -> int:
    """Return the measured number, limited to the resident warps of the device."""
    return min(value, gpu.max_warps)


EXPLICIT = (
    Parameter(
        "shallow-water.march.registers", by_precision(named(first=REGISTERS, second=REGISTERS)), "registers per thread",
        True, "Registers of the first and the second stage.",
    ),
    Parameter(
        "shallow-water.march.rows", by_precision(number(0.05, 50.0)), "rows", False,
        "Length of the row-streaming tile of one warp if each multiprocessor holds one row of tiles. The length scales "
        "with the square root of the rows per multiprocessor, rounded to a power of two.",
    ),
    Parameter(
        "shallow-water.march.longest", whole(2, 4096, 2), "rows", False,
        "Maximum length of a row-streaming tile.",
    ),
    Parameter(
        "shallow-water.march.shortest", whole(2, 4096, 2), "rows", False,
        "Minimum length of a row-streaming tile.",
    ),
    Parameter(
        "shallow-water.march.early_cells", whole(0, 2**40), "cells", True,
        "Largest grid with programmatic dependent launch of the stages; on larger grids early blocks would displace "
        "running ones.",
        by_multiprocessors,
    ),
    Parameter(
        "shallow-water.march.listed", whole(1, 1024), "blocks per multiprocessor", True,
        "Blocks that process the active-tile list.",
    ),
    Parameter(
        "shallow-water.sweeps.registers", by_precision(named(x=REGISTERS, y=REGISTERS)), "registers per thread", True,
        "Registers of a stage along x and along y.",
    ),
    Parameter(
        "shallow-water.sweeps.longest", whole(2, 4096, 2), "rows", False,
        "Length of the row-streaming tile of one warp in a one-dimensional stage, if the device has enough warps.",
    ),
    Parameter("shallow-water.sweeps.shortest", whole(2, 4096, 2), "rows", False, "Length of that tile otherwise."),
    Parameter(
        "shallow-water.sweeps.full", whole(1, 64), "warps per multiprocessor", False,
        "Warps that saturate the GPU: tiles are halved until this number is reached.", warps_for_latency,
    ),
    Parameter(
        "shallow-water.tiles.registers", by_precision(REGISTERS), "registers per thread", True,
        "Registers of both stages.",
    ),
    Parameter(
        "shallow-water.tiles.most", whole(0, 64), "tiles per multiprocessor", False,
        "Largest grid, in tiles of maximum height, that uses shared-memory tiles; larger grids use row streaming.",
    ),
    Parameter(
        "shallow-water.tiles.enough_warps", whole(1, 64), "warps per multiprocessor", True,
        "Tiles are reduced only while the busiest multiprocessor keeps this number of warps.",
    ),
    Parameter("shallow-water.boundary.threads", THREADS, "threads per block", True, "Block size of the boundary pass."),
    Parameter(
        "shallow-water.balance.threads", THREADS, "threads per block", True,
        "Block size of the water-balance kernel.",
    ),
    Parameter(
        "shallow-water.steps.launches", whole(1, 10**5), "launches", True,
        "Approximate length of a CUDA graph of many step batches.",
    ),
    Parameter(
        "shallow-water.steps.own_graph", whole(1, 1024), "rounds", True,
        "Up to this number, each number of step batches has a separate graph.",
    ),
    Parameter("shallow-water.steps.look", STEPS, "steps", True, "Steps between two state checks."),
)  # fmt: skip

BAROTROPIC = (
    Parameter(
        "barotropic.steps.graphs", descending(whole(2, 10**4, 2), 2), "steps", True,
        "Lengths of the replayed CUDA graphs; shorter step batches use the shorter graphs.",
    ),
    Parameter("barotropic.steps.look", STEPS, "steps", True, "Steps between two state checks."),
)  # fmt: skip


def _fitted(block: dict[str, int], gpu: GpuProperties, itemsize: int) -> dict[str, int]:
    """Return a block with the measured rows per thread, or the maximum that fits the device."""
    rows = block["rows"]
    while rows > 1 and _problem_of_block({**block, "rows": rows}, gpu, itemsize):
        rows -= 1
    return {**block, "rows": rows}


def block_that_fits(gpu: GpuProperties, value: dict[str, int], on: GpuProperties) -> dict[str, int]:
    """Return the measured block, with rows per thread limited by shared memory in double precision."""
    return _fitted(value, gpu, 8)


def heavy_that_fits(gpu: GpuProperties, value: dict[str, Any], on: GpuProperties) -> dict[str, Any]:
    """Return the measured blocks, with rows per thread limited by shared memory."""
    return {**value, "block": _fitted(value["block"], gpu, 8)}


def blocks_that_fit(gpu: GpuProperties, value: Blocks, on: GpuProperties) -> Blocks:
    """Return the measured blocks, with rows per thread limited by shared memory."""
    return {name: [_fitted(block, gpu, ITEMSIZE[name]) for block in blocks] for name, blocks in value.items()}


def _problem_of_block(block: dict[str, int], gpu: GpuProperties, itemsize: int = 8) -> str:
    """Return the problem of a block of columns with three values per row, or an empty string."""
    if block["rows"] * block["threads"] > MAX_ROWS:
        return f"{block['rows']} rows x {block['threads']} threads, where a block has {MAX_ROWS} rows at most"
    shared = shared_of_columns(block["rows"], block["threads"], itemsize, WARP, 3)
    fits = shared + STATIC_SHARED <= gpu.shared_block
    return "" if fits else f"{block['rows']} rows x {block['threads']} threads: {shared} bytes of shared memory"


def _blocks_fit(value: dict[str, Any], gpu: GpuProperties) -> str:
    problems = (_problem_of_block(block, gpu, ITEMSIZE[name]) for name in PRECISIONS for block in value[name])
    return next(filter(None, problems), "")


def values_that_fit(gpu: GpuProperties, value: dict[str, int], on: GpuProperties) -> dict[str, int]:
    """Return the measured number; three if four values per row exceed the shared memory of a block."""
    capacity = gpu.shared_block - STATIC_SHARED
    return {
        name: count if shared_of_columns(8, 16, ITEMSIZE[name], WARP, count) <= capacity else 3
        for name, count in value.items()
    }


_BLOCK = named(rows=whole(1, 64), threads=whole(2, 32))
IMPLICIT = (
    Parameter(
        "shallow-water-adi.x.registers", by_precision(REGISTERS), "registers per thread", True,
        "For the sweep along x.",
    ),
    Parameter(
        "shallow-water-adi.x.heavy", by_precision(REGISTERS), "registers per thread", True,
        "For the sweep along x with drying or dissipation; the number of warps follows from the value without them.",
    ),
    Parameter(
        "shallow-water-adi.x.ahead",
        named(warps=whole(1, MAX_THREADS // WARP), registers=REGISTERS, cost=number(0.1, 10.0)),
        "warps per block, registers per thread, relative time of a cell", False,
        "Double precision: number of warps whose blocks load the next row during the exchange of the previous row.",
    ),
    Parameter(
        "shallow-water-adi.x.waiting", named(alone=number(0.0, 10.0), few=number(0.0, 2.0)), "relative time", False,
        "Barrier cost of a block: coefficient over the blocks per multiprocessor, and exponent of the occupancy. "
        "The number of warps is chosen with this model.",
    ),
    Parameter(
        "shallow-water-adi.run.usual", whole(1, 4096), "rows per block", True, "For the sweep along x.",
    ),
    Parameter(
        "shallow-water-adi.run.longest", whole(1, 4096), "rows per block", True,
        "Rows per block for compute-bound sweeps, where long blocks delay the end of the launch.",
    ),
    Parameter(
        "shallow-water-adi.run.gain", number(0.0, 1.0), "fraction of the time", True,
        "Predicted gain that is required to depart from the usual number of rows.",
    ),
    Parameter(
        "shallow-water-adi.run.start", number(0.0, 100.0), "rows", True, "Start-up time of a block, in rows.",
    ),
    Parameter(
        "shallow-water-adi.run.waves", whole(1, 64), "waves of blocks", True,
        "Maximum number of full waves that are considered.",
    ),
    Parameter(
        "shallow-water-adi.y.blocks", by_precision(some(_BLOCK)), "rows per thread, threads per column", False,
        "Sweep along y: the first block is used that holds a full column, or the coupling range.",
        blocks_that_fit, _blocks_fit,
    ),
    Parameter(
        "shallow-water-adi.y.heavy", named(block=_BLOCK, registers=REGISTERS), "block, registers per thread", False,
        "Sweep along y in double precision with drying or dissipation (compute bound).",
        heavy_that_fits, lambda value, gpu: _problem_of_block(value["block"], gpu),
    ),
    Parameter(
        "shallow-water-adi.y.exact", _BLOCK, "rows per thread, threads per column", False,
        "Sweep along y without drying and dissipation: blocks with the exact interface system, in two passes.",
        block_that_fits, _problem_of_block,
    ),
    Parameter(
        "shallow-water-adi.y.kept", by_precision(whole(3, 4)), "values per row", True,
        "Values per matrix row in shared memory; with three, the fourth is stored in the new surface array.",
        values_that_fit,
    ),
    Parameter(
        "shallow-water-adi.y.registers", by_precision(REGISTERS), "registers per thread", True,
        "For the sweep along y.",
    ),
    Parameter(
        "shallow-water-adi.y.prefetch", by_precision(flag()), "", True,
        "Prefetch all rows of a block into the L2 cache.",
    ),
    Parameter(
        "shallow-water-adi.y.row_bytes", whole(128, 2**16), "bytes", True,
        "Bytes of a row that neighbouring blocks read concurrently.",
    ),
    Parameter(
        "shallow-water-adi.small.cells", whole(0, 10**9), "cells", False,
        "Largest grid that is bound by launches and barriers; blocks along y are smaller there.", by_multiprocessors,
    ),
    Parameter(
        "shallow-water-adi.small.registers",
        by_precision(named(x=REGISTERS, y=REGISTERS)), "registers per thread", True,
        "Registers of the sweeps on such grids.",
    ),
    Parameter(
        "shallow-water-adi.small.alone", named(faces=whole(0, 256), rows=whole(1, 8), columns=whole(1, 32)),
        "faces, rows per thread, columns per block", False,
        "On such grids, in double precision, columns of up to this number of faces fit one block. The number of "
        "columns per block does not change results.",
    ),
    Parameter(
        "shallow-water-adi.small.joined", named(reach=whole(0, 128), rows=whole(1, 8), bytes=whole(8, 256, 8)),
        "rows, rows per thread, bytes per row of a block", False,
        "On such grids, with a coupling range of up to this number of rows, blocks have few rows per thread. The "
        "number of bytes does not change results.",
        fits=lambda value, gpu: "" if value["reach"] + 8 * value["rows"] <= MAX_ROWS else "blocks of too many rows",
    ),
    Parameter(
        "shallow-water-adi.balance.threads", THREADS, "threads per block", True,
        "Block size of the kernel that accumulates the boundary discharge.",
    ),
    Parameter(
        "shallow-water-adi.steps.graph", whole(2, 1024), "steps", True,
        "Steps per CUDA graph; their series values are evaluated together.",
    ),
    Parameter(
        "shallow-water-adi.steps.look", STEPS, "steps", True,
        "Steps between two state checks. A check that finds a lost coupling switches to the exact interface system.",
    ),
)  # fmt: skip

WAVES = (
    Parameter(
        "potential-waves.columns.registers", by_precision(REGISTERS), "registers per thread", True,
        "Registers of the residual kernel; more registers mean fewer columns to hide memory latency.",
        registers_of_warps,
    ),
)  # fmt: skip

CPU = (
    Parameter(
        "cpu.programs.threads", whole(0, 4096), "threads", True,
        "Default of `eagre run` without `--threads` and NUMBA_NUM_THREADS; 0: all.",
    ),
    Parameter(
        "cpu.shallow-water.rows", whole(8, 4096), "rows", False,
        "Maximum rows of a row-streaming tile of one thread; a grid has at least twelve tiles.",
    ),
    Parameter(
        "cpu.barotropic.pieces", whole(1, 4096), "chunks", True,
        "Maximum number of row chunks of a field in the update, distributed over the threads.",
    ),
)  # fmt: skip

MODELS = (*EXPLICIT, *BAROTROPIC, *IMPLICIT, *WAVES, *CPU)


PARAMETERS: dict[str, Parameter] = {parameter.key: parameter for parameter in (*SOLVERS, *MODELS)}
