"""Diagnostics of a state: output fields, sums over the domain and the search for cells that are not finite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, grid_dependency_wait, launch_dependents, prange, real
from eagre.backend.device import Launch
from eagre.kernels.bits import is_bad
from eagre.kernels.elevation import depth, signed_depth, surface
from eagre.kernels.maps import MapState, held, moment_of, take_row, take_up
from eagre.kernels.water_sums import BLOCK, DEEPEST, FASTEST, KINETIC, POTENTIAL, SHALLOWEST, VOLUME, WATER_SUMS, WET
from eagre.models.shallow_water.kernels import bed_centre, over_depth
from eagre.stepping.clock import PARITY, T, open_gate
from eagre.stepping.recording import FEW_PLACES, PASSED, SampleBuffer, has_landed, next_output_time

SUMS = WATER_SUMS
NOWHERE = 2**62
ALWAYS = 3  # value of `phase` without a gate


@cell
def depth_and_velocity(j, i, q, bed, out, p):
    """Store depth, m, and velocities, m s-1, of interior cell (j, i) in planes 0, 1, 2 of `out`."""
    h = signed_depth(q[0, j + 2, i + 2], bed_centre(bed, j + 2, i + 2))
    over_h = over_depth(max(h, real(0.0)), p)
    out[0, j + 2, i + 2] = h
    out[1, j + 2, i + 2] = over_h * q[1, j + 2, i + 2]
    out[2, j + 2, i + 2] = over_h * q[2, j + 2, i + 2]


@cell
def sampled(k, pair, bed, points, values, clock, p):
    """Store eta, h, hu, hv, u, v and the bed of interior cell `places[:, k]` in column k of `values`."""
    q = pair[1 if clock[PARITY] > 0.0 else 0]
    j, i = points[0, k] + 2, points[1, k] + 2
    b = bed_centre(bed, j, i)
    h = signed_depth(q[0, j, i], b)
    over_h = over_depth(max(h, real(0.0)), p)
    values[0, k] = q[0, j, i]
    values[1, k] = h
    values[2, k] = q[1, j, i]
    values[3, k] = q[2, j, i]
    values[4, k] = over_h * q[1, j, i]
    values[5, k] = over_h * q[2, j, i]
    values[6, k] = b


@cell
def recorded(k, pair, bed, points, samples, clock, p):
    """Store eta, h, hu, hv, u and v of interior cell `points[:, k]` at an output time (`eagre.stepping.recording`).

    samples : values of all sample times, and the sample times
    """
    values, sample_times = samples
    if has_landed(sample_times, clock):
        sample = values[np.int64(sample_times[PASSED])]
        q = pair[1 if clock[PARITY] > 0.0 else 0]
        j, i = points[0, k] + 2, points[1, k] + 2
        h = signed_depth(q[0, j, i], bed_centre(bed, j, i))
        over_h = over_depth(max(h, real(0.0)), p)
        sample[0, k] = q[0, j, i]
        sample[1, k] = h
        sample[2, k] = q[1, j, i]
        sample[3, k] = q[2, j, i]
        sample[4, k] = over_h * q[1, j, i]
        sample[5, k] = over_h * q[2, j, i]


@entry
def record_cuda(pair, bed, points, samples, clock, rates, p, arrived):
    """Run `recorded` for all points, one thread per point; the last block to finish runs `next_output_time`."""
    launch_dependents()
    grid_dependency_wait()
    sample_times = samples[1]
    if not has_landed(sample_times, clock):
        return
    k = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if k < points.shape[1]:
        recorded(k, pair, bed, points, samples, clock, p)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        blocks = cuda.gridDim.x
        cuda.threadfence()
        if cuda.atomic.inc(arrived, 0, np.uint32(blocks - 1)) == blocks - 1:
            cuda.threadfence()
            next_output_time(0, sample_times, clock, rates)


def recording(engine: Any, points: Any, buffer: SampleBuffer, split: int) -> list[Launch]:
    """Return the launches that sample the state at points on a device, (2, n), at output times.

    The last launch continues the run with steps of `split` stages, see `eagre.stepping.clock.SPLIT`.
    """
    device, count, going_on = engine.device, points.shape[1], {"SPLIT": split}
    arguments_of_state = (engine.pair, engine.bed, points, (buffer.values, buffer.output_times), engine.clock)
    if device.kind == "cuda":
        program, arrived = device.program(record_cuda, engine.precision, going_on), device.zeros((1,), np.uint32)
        arguments = (*arguments_of_state, engine.rates, engine.parameters, arrived)
        return [Launch(program, arguments, (-(-count // BLOCK),), (BLOCK,), early=True), *engine.schedule.resume]
    arguments_of_time = (buffer.output_times, engine.clock, engine.rates)
    sampling = device.over(device.loop(recorded, engine.precision), (count,), (*arguments_of_state, engine.parameters))
    return [
        sampling._replace(alone=count < FEW_PLACES),
        device.over(device.loop(next_output_time, engine.precision, going_on), (1,), arguments_of_time),
        *engine.schedule.resume,
    ]


@cell
def map_state(j, i, fields):
    """Return the `MapState` of interior cell (j, i); fields : state, bed, parameters."""
    q, bed, p = fields
    eta, hu, hv = q[0, j + 2, i + 2], q[1, j + 2, i + 2], q[2, j + 2, i + 2]
    h = depth(eta, bed_centre(bed, j + 2, i + 2))
    over_h = over_depth(h, p)
    return MapState(eta, h, over_h * hu, over_h * hv, hu, hv)


@entry
def take_cpu(pair, bed, maps, p, clock, phase):
    """Accumulate the present state in the maps of the run if a step begins from it, or for ALWAYS."""
    for j in prange(maps.planes.shape[1]):
        if phase == ALWAYS or open_gate(clock, phase):
            q = pair[1 if clock[PARITY] > 0.0 else 0]
            take_row(maps, j, (q, bed, p), moment_of(maps, clock[T]))


@cell
def take_state(j, i, pair, bed, maps, p, clock, phase):
    """See `take_cpu`; interior cell (j, i)."""
    if phase == ALWAYS or open_gate(clock, phase):
        q = pair[1 if clock[PARITY] > 0.0 else 0]
        take_up(maps, j, i, map_state(j, i, (q, bed, p)), held(maps, j, i), moment_of(maps, clock[T]))


def take(engine: Any, phase: int, **switches: Any) -> Launch:
    """Return the launch that accumulates the present state of an engine (`take_cpu`)."""
    switches |= engine.accumulated_maps.switches | {"STATE_OF": map_state}
    arguments = (engine.pair, engine.bed, engine.accumulated_maps.arrays, engine.parameters, engine.clock, phase)
    if engine.device.kind == "cpu":
        return Launch(engine.device.program(take_cpu, engine.precision, switches), arguments)
    return engine.device.over(
        engine.device.loop(take_state, engine.precision, switches), engine.setup.grid.shape, arguments
    )


@cell
def terms_of(q, bed, j, i, p):
    """Return depth, kinetic and potential energy (above the datum) per area and density, and speed, of cell (j, i)."""
    b = bed_centre(bed, j, i)
    h = signed_depth(q[0, j, i], b)
    over_h = over_depth(max(h, real(0.0)), p)
    u = over_h * q[1, j, i]
    v = over_h * q[2, j, i]
    return (
        h,
        real(0.5) * h * (u * u + v * v),
        real(0.5) * p.g * (surface(q[0, j, i], b) + b) * h,
        math.sqrt(u * u + v * v),
    )


@entry
def row_sums_cpu(q, bed, sums, p):
    """Set sums[j] to sums and extremes over interior row j, in double precision and a fixed order."""
    for j in prange(sums.shape[0]):
        volume, kinetic, potential, wet, deepest, shallowest, fastest = 0.0, 0.0, 0.0, 0.0, -1e30, 1e30, 0.0
        for i in range(q.shape[2] - 4):
            h, e_k, e_p, speed = terms_of(q, bed, j + 2, i + 2, p)
            volume += h
            kinetic += e_k
            potential += e_p
            wet += 1.0 if h > p.dry else 0.0
            deepest = max(deepest, h)
            shallowest = min(shallowest, h)
            fastest = max(fastest, speed)
        sums[j, VOLUME] = volume
        sums[j, KINETIC] = kinetic
        sums[j, POTENTIAL] = potential
        sums[j, WET] = wet
        sums[j, DEEPEST] = deepest
        sums[j, SHALLOWEST] = shallowest
        sums[j, FASTEST] = fastest


@entry
def row_sums_cuda(q, bed, sums, p):
    """See `row_sums_cpu`; one block per row, with a tree reduction over its threads."""
    tree = cuda.shared.array((SUMS, BLOCK), np.float64)
    t = cuda.threadIdx.x
    j = cuda.blockIdx.x
    for k in range(SUMS):
        tree[k, t] = 0.0
    tree[DEEPEST, t] = -1e30
    tree[SHALLOWEST, t] = 1e30
    for i in range(t, q.shape[2] - 4, BLOCK):
        h, e_k, e_p, speed = terms_of(q, bed, j + 2, i + 2, p)
        tree[VOLUME, t] += h
        tree[KINETIC, t] += e_k
        tree[POTENTIAL, t] += e_p
        tree[WET, t] += 1.0 if h > p.dry else 0.0
        tree[DEEPEST, t] = max(tree[DEEPEST, t], float(h))
        tree[SHALLOWEST, t] = min(tree[SHALLOWEST, t], float(h))
        tree[FASTEST, t] = max(tree[FASTEST, t], float(speed))
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            for k in range(DEEPEST):
                tree[k, t] += tree[k, t + half]
            tree[DEEPEST, t] = max(tree[DEEPEST, t], tree[DEEPEST, t + half])
            tree[SHALLOWEST, t] = min(tree[SHALLOWEST, t], tree[SHALLOWEST, t + half])
            tree[FASTEST, t] = max(tree[FASTEST, t], tree[FASTEST, t + half])
        cuda.syncthreads()
        half //= 2
    if t < SUMS:
        sums[j, t] = tree[t, 0]


@entry
def first_bad_cpu(q, columns):
    """Set found[j] to the column of the first bad cell of interior row j, or NOWHERE."""
    for j in prange(columns.shape[0]):
        first = NOWHERE
        for i in range(q.shape[2] - 4):
            bad = is_bad(q[0, j + 2, i + 2]) | is_bad(q[1, j + 2, i + 2]) | is_bad(q[2, j + 2, i + 2])
            first = min(first, i) if bad else first
        columns[j] = first


@entry
def first_bad_cuda(q, columns):
    """See `first_bad_cpu`; one block per row."""
    j = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        columns[j] = NOWHERE
    cuda.syncthreads()
    for i in range(cuda.threadIdx.x, q.shape[2] - 4, BLOCK):
        if is_bad(q[0, j + 2, i + 2]) or is_bad(q[1, j + 2, i + 2]) or is_bad(q[2, j + 2, i + 2]):
            cuda.atomic.min(columns, j, i)


@cell
def bad_at(q, j, i):
    """Return whether a value of interior cell (j, i) is not finite."""
    return is_bad(q[0, j + 2, i + 2]) | is_bad(q[1, j + 2, i + 2]) | is_bad(q[2, j + 2, i + 2])


@entry
def scan_cpu(pair, clock, bad):
    """Set bad[0] if any cell of the state is not finite."""
    q = pair[1 if clock[PARITY] > 0.0 else 0]
    for j in prange(q.shape[1] - 4):
        any_bad = False
        for i in range(q.shape[2] - 4):
            any_bad = any_bad | bad_at(q, j, i)
        if any_bad:
            bad[0] = 1


@entry
def scan_cuda(pair, clock, bad):
    """See `scan_cpu`; one block per row."""
    parity = 1 if clock[PARITY] > 0.0 else 0
    j = cuda.blockIdx.x
    for i in range(cuda.threadIdx.x, pair.shape[3] - 4, BLOCK):
        if bad_at(pair[parity], j, i):
            bad[0] = 1
