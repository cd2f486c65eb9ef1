"""Warp operations for hand-tiled CUDA kernels; 32 lanes, every lane takes part."""

import numpy as np

from eagre.backend.cells import cell, cuda

FULL = 0xFFFFFFFF
SIMULATED_WARPS = 32


@cell
def from_lane_below(x):
    """x of the lane below; lane 0 keeps its own."""
    raise NotImplementedError("a warp operation")


@from_lane_below.variant("cuda")
def _up(x):
    return cuda.shfl_up_sync(FULL, x, 1)


@from_lane_below.variant("simulator")
def _simulated_up(x):
    lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
    shared = cuda.shared.array((SIMULATED_WARPS, 32), np.float64)
    shared[warp, lane] = x
    cuda.syncthreads()
    found = type(x)(shared[warp, max(lane - 1, 0)])
    cuda.syncthreads()
    return found


@cell
def from_lane_above(x):
    """x of the lane above; lane 31 keeps its own."""
    raise NotImplementedError("a warp operation")


@from_lane_above.variant("cuda")
def _down(x):
    return cuda.shfl_down_sync(FULL, x, 1)


@from_lane_above.variant("simulator")
def _simulated_down(x):
    lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
    shared = cuda.shared.array((SIMULATED_WARPS, 32), np.float64)
    shared[warp, lane] = x
    cuda.syncthreads()
    found = type(x)(shared[warp, min(lane + 1, 31)])
    cuda.syncthreads()
    return found


@cell
def anywhere(condition):
    """Whether a condition holds in any lane of the warp; True where there are no warps.

    It guards what only few cells need: warps without such a cell skip it, and on the CPU, where a
    branch would stop the vectoriser, it is always computed.
    """
    return True


@anywhere.variant("cuda")
def _any_lane(condition):
    return cuda.any_sync(FULL, condition)


@anywhere.variant("simulator")
def _simulated_anywhere(condition):
    return True


@cell
def raise_maximum(array, bits):
    """array[0] = max(array[0], bits) over the warp: one atomic a warp at most."""
    raise NotImplementedError("a warp operation")


@raise_maximum.variant("cuda")
def _raise(array, bits):
    for step in (16, 8, 4, 2, 1):
        bits = max(bits, cuda.shfl_xor_sync(FULL, bits, step))
    if cuda.threadIdx.x == 0 and bits > array[0]:
        cuda.atomic.max(array, 0, bits)


@raise_maximum.variant("simulator")
def _simulated_raise(array, bits):
    cuda.atomic.max(array, 0, bits)


@cell
def lane_from_below(x, distance):
    """x of the lane `distance` below; the lowest lanes keep their own."""
    raise NotImplementedError("a warp operation")


@lane_from_below.variant("cuda")
def _far_up(x, distance):
    return cuda.shfl_up_sync(FULL, x, distance)


@lane_from_below.variant("simulator")
def _simulated_far_up(x, distance):
    lane, warp = cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    shared = cuda.shared.array((SIMULATED_WARPS, 32), np.float64)
    shared[warp, lane] = x
    cuda.syncthreads()
    found = type(x)(shared[warp, lane - distance if lane >= distance else lane])
    cuda.syncthreads()
    return found


@cell
def lane_from_above(x, distance):
    """x of the lane `distance` above; the highest lanes keep their own."""
    raise NotImplementedError("a warp operation")


@lane_from_above.variant("cuda")
def _far_down(x, distance):
    return cuda.shfl_down_sync(FULL, x, distance)


@lane_from_above.variant("simulator")
def _simulated_far_down(x, distance):
    lane, warp = cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    shared = cuda.shared.array((SIMULATED_WARPS, 32), np.float64)
    shared[warp, lane] = x
    cuda.syncthreads()
    found = type(x)(shared[warp, lane + distance if lane + distance < 32 else lane])
    cuda.syncthreads()
    return found
