"""Launch parameters of compiled kernels in general and of the solvers."""

from __future__ import annotations

from math import prod

from eagre.layouts.gpu_properties import MAX_REGISTERS, MAX_THREADS, MAX_WARPS, STATIC_SHARED, GpuProperties
from eagre.layouts.kinds import (
    PRECISIONS,
    Parameter,
    by_multiprocessors,
    by_precision,
    listed,
    named,
    rising,
    some,
    whole,
)

Blocks = dict[str, list[dict[str, int]]]  # parameters of blocks, by precision
THREADS = whole(32, MAX_THREADS, 32)
REGISTERS = whole(16, MAX_REGISTERS)
COLUMN_THREADS = 8  # measured threads per column of strided systems; `rows` must fit with them
ITEMSIZE = {"single": 4, "double": 8}
SECTOR = {"single": 8, "double": 4}  # values per 32-byte sector, the smallest memory transaction


def registers_of_warps(gpu: GpuProperties, value: dict[str, int], on: GpuProperties) -> dict[str, int]:
    """Return registers that allow the occupancy of the measured device, which hides memory latency."""
    return {name: min(gpu.registers_for(on.warps_for(registers)), 248) for name, registers in value.items()}


def few_systems(gpu: GpuProperties, value: int, on: GpuProperties) -> int:
    """Return the measured number per multiprocessor, rounded to a multiple of 32."""
    return max(32, by_multiprocessors(gpu, value, on) // 32 * 32)


def shared_of_block(gpu: GpuProperties, value: int, on: GpuProperties) -> int:
    """Return the shared memory per block of the device, rounded down to 16 KiB."""
    return gpu.shared_block // 16384 * 16384


def shared_of_columns(rows: int, threads: int, itemsize: int, width: int = 32, kinds: int = 4) -> int:
    """Return the shared memory of a block of partitioned columns, bytes (`tridiagonal.columns.shared_bytes`)."""
    return ((kinds * rows + 3) * threads + 2) * width * itemsize


def rows_that_fit(gpu: GpuProperties, value: int, on: GpuProperties) -> int:
    """Return the measured rows per thread, limited by shared memory in double precision."""
    capacity = gpu.shared_block - STATIC_SHARED
    return next(rows for rows in range(value, 0, -1) if shared_of_columns(rows, COLUMN_THREADS, 8) <= capacity)


def fields_beyond_cache(gpu: GpuProperties, value: int, on: GpuProperties) -> int:
    """Return the power of two from which six double-precision fields exceed the L2 cache."""
    return 1 << max(6, int((gpu.l2 / 48.0) ** 0.5).bit_length() - 1)


def threads_of_columns(partition: dict[str, int], precision: str, rows: int) -> int:
    """Return the threads of a block with `rows` rows of one memory sector of wavenumbers."""
    return -(-(-(-rows // partition["own"]) * SECTOR[precision]) // 32) * 32


def partitions_that_fit(gpu: GpuProperties, value: Blocks, on: GpuProperties) -> Blocks:
    """Return the measured partitions, with fewer registers where the device has fewer."""
    fitting: Blocks = {}
    for precision, partitions in value.items():
        fitting[precision] = []
        for partition in partitions:
            if _problem_of_partition(partition, precision, gpu):
                warps = threads_of_columns(partition, precision, partition["up_to"] - 1) // 32
                partition = {**partition, "registers": min(128, gpu.registers_for(warps))}
            if not _problem_of_partition(partition, precision, gpu):
                fitting[precision].append(partition)
    return fitting


def _problem_of_partition(partition: dict[str, int], precision: str, gpu: GpuProperties) -> str:
    threads = threads_of_columns(partition, precision, partition["up_to"] - 1)
    fits = gpu.fits(threads, partition["registers"], STATIC_SHARED)
    return "" if fits else f"blocks of {threads} threads and {partition['registers']} registers"


def _partitions_fit(value: Blocks, gpu: GpuProperties) -> str:
    problems = (_problem_of_partition(one, precision, gpu) for precision in PRECISIONS for one in value[precision])
    return next(filter(None, problems), "")


def _reduction_fits(value: int, gpu: GpuProperties) -> str:
    return "" if value <= gpu.registers_for(MAX_THREADS // 32) else f"{value} registers in blocks of 1024 threads"


def _shared_fits(value: int, gpu: GpuProperties) -> str:
    return "" if value <= gpu.shared_block else f"{value} bytes of shared memory per block"


PROGRAMS = (
    Parameter(
        "programs.registers", by_precision(REGISTERS), "registers per thread", True,
        "Kernels without a specific limit.", registers_of_warps,
    ),
    *(
        Parameter(
            f"programs.loop.{name}", listed(*[whole(1, MAX_THREADS)] * sizes), f"threads along {axes}", True,
            f"Block shape of a loop over a {name} of points.",
            fits=lambda value, gpu: "" if prod(value) <= MAX_THREADS else f"{prod(value)} threads per block",
        )
        for name, sizes, axes in (("line", 1, "x"), ("plane", 2, "x, y"), ("volume", 3, "x, y, z"))
    ),
    Parameter(
        "programs.copies.long", whole(1, 2**31), "elements", True,
        "Copies between GPUs of at least this number of elements use blocks of `threads` threads.",
    ),
    Parameter("programs.copies.threads", THREADS, "threads per block", True, "Block size of these copies."),
    Parameter(
        "programs.columns.levels", whole(1, 4096), "levels", True,
        "Maximum levels of a thread in the column kernels of advection and diffusion.",
    ),
    Parameter(
        "programs.columns.registers", by_precision(REGISTERS), "registers per thread", True,
        "Column kernels of the closure; the stress keeps values of three levels in registers.", registers_of_warps,
    ),
)  # fmt: skip

TRIDIAGONAL = (
    Parameter(
        "solver:tridiagonal.choice.few", whole(1, 10**6), "systems", False,
        "Up to this number, cyclic reduction solves contiguous systems of up to `longest_of_few` rows.", few_systems,
    ),
    Parameter(
        "solver:tridiagonal.choice.some", whole(1, 10**6), "systems", False,
        "Up to this number, cyclic reduction is used; more systems saturate the GPU with partitions.", few_systems,
    ),
    Parameter(
        "solver:tridiagonal.choice.longest_of_few", whole(128, 2**20), "rows", False,
        "Maximum rows of contiguous systems for cyclic reduction of few systems.",
    ),
    Parameter(
        "solver:tridiagonal.choice.longest", whole(128, 2**20), "rows", False,
        "Maximum rows for cyclic reduction of some systems; strided systems in double precision only.",
    ),
    Parameter(
        "solver:tridiagonal.choice.longest_padded", whole(64, 2**20), "rows", False,
        "Shorter strided systems whose length is not a power of two use both reductions sequentially.",
    ),
    Parameter(
        "solver:tridiagonal.columns.rows", whole(1, 64), "rows per thread", False,
        "Partitioned strided systems.", rows_that_fit,
        lambda value, gpu: _shared_fits(shared_of_columns(value, COLUMN_THREADS, 8), gpu),
    ),
    Parameter(
        "solver:tridiagonal.columns.threads", whole(1, 32), "threads per column of a block", False,
        "Partitioned strided systems; a block has 32 columns.",
    ),
    Parameter(
        "solver:tridiagonal.columns.registers", by_precision(REGISTERS), "registers per thread", True,
        "Partitioned strided systems.",
    ),
    Parameter(
        "solver:tridiagonal.lines.warps", whole(1, 32), "warps per block", False,
        "Partitioned contiguous systems: maximum number of warps per block, each with 128 rows.",
    ),
    Parameter(
        "solver:tridiagonal.lines.registers", by_precision(REGISTERS), "registers per thread", True,
        "Partitioned contiguous systems.",
    ),
    Parameter(
        "solver:tridiagonal.exact.blocks", whole(1, 2**20), "blocks", True,
        "Blocks that share the work of the exact passes; few blocks start quickly if there is no work.",
        by_multiprocessors,
    ),
    Parameter(
        "solver:tridiagonal.seams.threads", THREADS, "threads per block", True, "Block size of the interface systems.",
    ),
    Parameter(
        "solver:tridiagonal.thomas.threads", THREADS, "threads per block", True,
        "Block size of the Thomas algorithm with one thread per system.",
    ),
    Parameter(
        "solver:tridiagonal.reduction.threads", whole(1, MAX_THREADS), "threads per block", True,
        "Maximum block size of cyclic reduction.",
    ),
    Parameter(
        "solver:tridiagonal.reduction.registers", REGISTERS, "registers per thread", True, "Cyclic reduction.",
        fits=_reduction_fits,
    ),
    Parameter(
        "solver:tridiagonal.reduction.shared", whole(1024, 2**20), "bytes per block", False,
        "Maximum shared memory of cyclic reduction; longer systems use another algorithm.",
        shared_of_block, _shared_fits,
    ),
    Parameter(
        "solver:tridiagonal.reduction.side_by_side", whole(1, 16), "blocks per multiprocessor", True,
        "A block solves adjacent systems as long as this number of blocks fits a multiprocessor.",
    ),
)  # fmt: skip

_BY_LENGTH = rising(up_to=whole(2, 2**20), registers=REGISTERS)
POISSON = (
    Parameter(
        "solver:poisson.transform.registers", by_precision(_BY_LENGTH), "registers per thread, by length", True,
        "Row-transform kernels; too few registers spill values to memory.",
    ),
    Parameter(
        "solver:poisson.transform.registers_of_update",
        by_precision(_BY_LENGTH), "registers per thread, by length", True,
        "Fused update and row-transform kernel.",
    ),
    Parameter(
        "solver:poisson.transform.threads", some(named(length=whole(16, 2**20), threads=whole(8, MAX_THREADS, 8)), 0),
        "threads per block, by length", True,
        "Lengths whose blocks have fewer threads than butterflies per pass, for a higher occupancy.",
    ),
    Parameter(
        "solver:poisson.transform.threads_of_update",
        by_precision(some(named(intervals=whole(16, 2**20), threads=THREADS), 0)),
        "threads per block, by intervals", True,
        "Rows whose update saves one iteration with more threads than the transform needs.",
    ),
    Parameter(
        "solver:poisson.transform.short_rows", whole(0, 2**20), "intervals", True,
        "Up to this length, the update has one thread per value of the row.",
    ),
    Parameter(
        "solver:poisson.transform.short_threads", THREADS, "threads per block", True,
        "Maximum number of these threads.",
    ),
    Parameter(
        "solver:poisson.tiles.wide_from", whole(2, 2**20), "intervals", True,
        "Row length from which spectral tiles are two memory sectors wide.", fields_beyond_cache,
    ),
    Parameter(
        "solver:poisson.tiles.side_by_side", whole(1, 2), "partitions", True,
        "Column partitions whose rows are adjacent in such tiles.",
    ),
    Parameter(
        "solver:poisson.columns.cuts",
        by_precision(rising(up_to=whole(2, 2**20), own=whole(1, 128), registers=REGISTERS)),
        "by intervals along y", False,
        "Partition of a column: rows per thread, registers per thread. Registers do not change results.",
        partitions_that_fit, _partitions_fit,
    ),
    Parameter(
        "solver:poisson.overlap.release", whole(1, 2), "1: at the start, 2: before the last stores", True,
        "Trigger of the programmatic dependent launch (compute capability 9.0 and later).",
    ),
    Parameter(
        "solver:poisson.seams.threads", THREADS, "threads per block", True,
        "Block size of the interface systems between devices.",
    ),
)  # fmt: skip

MULTIGRID = (
    Parameter(
        "solver:multigrid.march.warps", whole(1, 32), "warps per block", True,
        "Layers that a block streams concurrently.",
    ),
    Parameter(
        "solver:multigrid.march.rows", some(whole(2, 4096, 2), 1), "rows", True,
        "Rows of a row-streaming tile on a fine grid, longest first: the first with enough warps, or the last.",
    ),
    Parameter(
        "solver:multigrid.march.busy", whole(1, 64), "warps per multiprocessor", True, "Warps that saturate the GPU.",
    ),
    Parameter(
        "solver:multigrid.march.registers", by_precision(REGISTERS), "registers per thread", True,
        "Row-streaming kernels.",
        registers_of_warps,
    ),
    Parameter(
        "solver:multigrid.march.registers_of_pairs", REGISTERS, "registers per thread", True,
        "Row-streaming kernels over two layers with shared coefficients.",
    ),
    Parameter(
        "solver:multigrid.block.registers", REGISTERS, "registers per thread", True,
        "Multigrid cycle on grids that fit one multiprocessor.", fits=_reduction_fits,
    ),
    Parameter(
        "solver:gcr.levels", whole(1, 4096), "levels", True,
        "Maximum levels of a column tile in the residual, update and Courant-number kernels.",
    ),
    Parameter(
        "solver:gcr.busy", whole(1, 64), "blocks per multiprocessor", True,
        "Minimum number of blocks; below, tiles have fewer levels.",
    ),
    Parameter(
        "solver:gcr.points", by_precision(whole(1, 4)), "points per thread", True,
        "Adjacent points along a periodic x axis whose length is a multiple: 1, 2 or 4, at most 16 bytes.",
    ),
    Parameter(
        "solver:gcr.registers", by_precision(REGISTERS), "registers per thread", True, "The two GCR kernels.",
        registers_of_warps,
    ),
    Parameter(
        "solver:gcr.faces", by_precision(REGISTERS), "registers per thread", True,
        "Kernel that computes the face velocities of the anelastic model.", registers_of_warps,
    ),
)  # fmt: skip


def shared_of_streaming(block: dict[str, int], itemsize: int) -> int:
    """Return the maximum shared memory of a block of the MPDATA streaming kernel, bytes (`march_cuda`)."""
    width, fields, vector = 32 * block["columns"], block["fields"], 16 // itemsize
    planes, per_field = block["ahead"] + 2, 4 if block["rows"] == 1 else 5
    published = (fields * (per_field + 2 * 2) + 2 * 2) * (block["warps"] + 1) * width
    line = sum(-(-(count + vector - 1) // vector) * vector for count in (width, 4))
    brought = planes * (fields + 4) * ((block["warps"] - max(1, 4 * block["lending"])) * block["rows"] + 2) * line
    return (published + brought + 4) * itemsize


def _without_lending(block: dict[str, int], gpu: GpuProperties) -> dict[str, int]:
    """Return the block with computing warps only, and the registers that each of them can have."""
    warps = block["warps"] - 4 * block["lending"]
    return {**block, "warps": warps, "registers": min(MAX_REGISTERS, gpu.registers_for(warps)), "lending": 0}


def _problem_of_streaming(block: dict[str, int], precision: str, gpu: GpuProperties) -> str:
    shared = shared_of_streaming(block, ITEMSIZE[precision])
    if gpu.compute_capability < (8, 0):  # the streaming kernel needs asynchronous copies
        return ""
    if block["lending"] and (
        gpu.compute_capability < (9, 0) or block["warps"] % 4 or block["warps"] <= 4 * block["lending"]
    ):
        return f"{block['lending']} groups of four of {block['warps']} warps that release registers"
    fits = gpu.fits(32 * block["warps"], block["registers"], shared) and block["warps"] * block["rows"] > 8
    return "" if fits else f"blocks of {block['warps']} warps, {block['registers']} registers and {shared} bytes"


def streaming_blocks_that_fit(gpu: GpuProperties, value: Blocks, on: GpuProperties) -> Blocks:
    """Return the measured blocks, with fewer warps or without register release where the device requires it."""
    result: Blocks = {}
    for precision, blocks in value.items():
        result[precision] = []
        for block in blocks:
            block = _without_lending(block, gpu) if block["lending"] and gpu.compute_capability < (9, 0) else block
            step = 4 if block["lending"] else 1
            fewer = ({**block, "warps": warps} for warps in range(block["warps"], 0, -step))
            fitting = next((one for one in fewer if not _problem_of_streaming(one, precision, gpu)), None)
            if fitting is not None:
                shared = shared_of_streaming(fitting, ITEMSIZE[precision])
                at_once = gpu.blocks(32 * fitting["warps"], fitting["registers"], shared)
                result[precision].append({**fitting, "blocks": max(1, min(fitting["blocks"], at_once))})
    return result


def _streaming_blocks_fit(value: Blocks, gpu: GpuProperties) -> str:
    problems = (_problem_of_streaming(block, precision, gpu) for precision in PRECISIONS for block in value[precision])
    return next(filter(None, problems), "")


MPDATA = (
    Parameter(
        "solver:mpdata.march.blocks",
        by_precision(
            rising(
                fields=whole(1, 4), warps=whole(1, MAX_WARPS), rows=whole(1, 4), columns=whole(1, 2),
                ahead=whole(1, 2), registers=REGISTERS, blocks=whole(1, 8), turns=whole(1, 3),
                lending=whole(0, 2), held=whole(0, 2),
            )
        ),
        "by fields advected together", False,
        "Warps per block, with as few copying warps as possible; rows and columns per thread; planes by which copies "
        "to shared memory are prefetched; registers per thread; blocks per multiprocessor; unrolled planes of the "
        "loop; groups of four copying warps that release registers (`setmaxnreg`, compute capability 9.0); and the "
        "number of values kept in registers between planes.",
        streaming_blocks_that_fit, _streaming_blocks_fit,
    ),
)  # fmt: skip

SOLVERS = (*PROGRAMS, *TRIDIAGONAL, *POISSON, *MULTIGRID, *MPDATA)
