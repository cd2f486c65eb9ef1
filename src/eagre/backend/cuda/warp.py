"""Warp operations for CUDA kernels; all 32 lanes take part."""

import numpy as np

from eagre.backend.compilation.cells import cell, cuda

FULL = 0xFFFFFFFF
SIMULATED_WARPS = 32


@cell
def thread():
    """Return the linear index of this thread in its block."""
    return cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x


@cell
def exchanged(x, source):
    """Return x of lane `source` through shared memory, in the simulator, which has no shuffles."""
    lane, warp = thread() % 32, thread() // 32
    shared = cuda.shared.array((SIMULATED_WARPS, 32), np.float64)
    shared[warp, lane] = x
    cuda.syncwarp()
    received = type(x)(shared[warp, source])
    cuda.syncwarp()
    return received


@cell
def from_lane_below(x, distance):
    """Return x of the lane `distance` below; the lowest lanes keep their value."""
    raise NotImplementedError("a warp operation")


@from_lane_below.variant("cuda")
def _up(x, distance):
    return cuda.shfl_up_sync(FULL, x, distance)


@from_lane_below.variant("simulator")
def _simulated_up(x, distance):
    lane = thread() % 32
    return exchanged(x, lane - distance if lane >= distance else lane)


@cell
def from_lane_above(x, distance):
    """Return x of the lane `distance` above; the highest lanes keep their value."""
    raise NotImplementedError("a warp operation")


@from_lane_above.variant("cuda")
def _down(x, distance):
    return cuda.shfl_down_sync(FULL, x, distance)


@from_lane_above.variant("simulator")
def _simulated_down(x, distance):
    lane = thread() % 32
    return exchanged(x, lane + distance if lane + distance < 32 else lane)


@cell
def anywhere(condition):
    """Return whether a condition holds in any lane of the warp."""
    raise NotImplementedError("a warp operation")


@anywhere.variant("cuda")
def _any_lane(condition):
    return cuda.any_sync(FULL, condition)


@anywhere.variant("simulator")
def _simulated_anywhere(condition):
    # Evaluated for the block, so that all of its threads meet at the same barriers. The guarded code must also be
    # correct for warps that do not need it.
    return cuda.syncthreads_or(condition) != 0


@cell
def perhaps_anywhere(condition):
    """Return `anywhere` for warps of a block that diverge; always true in the simulator, without a barrier."""
    raise NotImplementedError("a warp operation")


@perhaps_anywhere.variant("cuda")
def _perhaps_any_lane(condition):
    return cuda.any_sync(FULL, condition)


@perhaps_anywhere.variant("simulator")
def _simulated_perhaps(condition):
    return True


@cell
def raise_maximum(array, bits):
    """Set array[0] = max(array[0], bits) over the warp, with at most one atomic operation per warp."""
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
def from_lane(x, source):
    """Return x of lane `source`, 0 .. 31."""
    raise NotImplementedError("a warp operation")


@from_lane.variant("cuda")
def _any(x, source):
    return cuda.shfl_sync(FULL, x, source)


@from_lane.variant("simulator")
def _simulated_any(x, source):
    return exchanged(x, source)
