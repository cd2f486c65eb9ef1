"""The seed's first GPU version beside ours: one thread a line, elimination in device memory.

``PYTHONPATH=src python benchmarks/seed_adi.py 2048`` prints milliseconds a sweep of both, after comparing them.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from eagre.backend.cells import cell, cuda, entry, real, switch
from eagre.backend.device import Launch, select
from eagre.backend.timing import times_of
from eagre.cases.bench_adi import pool
from eagre.models.shallow_water_adi.kernels import face_row

ALONG_X = switch("ALONG_X", True)
PADDING = 32


@cell
def near(a, j, i, along, across):
    """Element of a field at a place along and across the line."""
    if ALONG_X:
        return a[j + across, i + along]
    return a[j + along, i + across]


@entry
def line_by_thread(z, d, flux, qo, qn, z_out, flux_out, store, ny, nx, p):
    """One line a thread: rows made and eliminated one after the other, c and r kept in device memory."""
    line = cuda.grid(1)
    lines, faces = (ny, nx + 1) if ALONG_X else (nx, ny + 1)
    if line >= lines:
        return
    before, value = real(0.0), real(0.0)
    for face in range(faces):
        j, i = (line + 1, PADDING + face) if ALONG_X else (face + 1, PADDING + line)
        z6 = (
            near(z, j, i, -1, -1), near(z, j, i, 0, -1), near(z, j, i, -1, 0),
            near(z, j, i, 0, 0), near(z, j, i, -1, 1), near(z, j, i, 0, 1), near(z, j, i, -2, 0), near(z, j, i, 1, 0),
        )  # fmt: skip
        d6 = (
            near(d, j, i, -1, -1), near(d, j, i, 0, -1), near(d, j, i, -1, 0),
            near(d, j, i, 0, 0), near(d, j, i, -1, 1), near(d, j, i, 0, 1), near(d, j, i, -2, 0), near(d, j, i, 1, 0),
        )  # fmt: skip
        flux5 = (
            near(flux, j, i, -1, 0), near(flux, j, i, 0, 0), near(flux, j, i, 1, 0),
            near(flux, j, i, 0, -1), near(flux, j, i, 0, 1),
        )  # fmt: skip
        qo4 = (near(qo, j, i, -1, 0), near(qo, j, i, 0, 0), near(qo, j, i, -1, 1), near(qo, j, i, 0, 1))
        qn4 = (near(qn, j, i, -1, 0), near(qn, j, i, 0, 0), near(qn, j, i, -1, 1), near(qn, j, i, 0, 1))
        a, b, c, e, r = face_row(z6, d6, flux5, qo4, qn4, p.friction, real(0.0), real(0.0), real(0.0), p)
        over = real(1.0) / (b - a * before)
        before, value = c * over, (e - a * value) * over
        store[j, i] = before
        flux_out[j, i] = value
        z_out[j, i] = r
    ahead = real(0.0)
    for back in range(faces):
        face = faces - 1 - back
        j, i = (line + 1, PADDING + face) if ALONG_X else (face + 1, PADDING + line)
        here = flux_out[j, i] - store[j, i] * ahead
        flux_out[j, i] = here
        if back > 0:
            z_out[j, i] -= p.w * (ahead - here)
        ahead = here


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
    device = select("cuda")
    for precision in ("single", "double"):
        engine = pool((n, n), device, precision, "seed")._engine
        store, z_out, flux_out = (device.zeros(engine.z[0].shape, engine.real) for _ in range(3))
        for which, ours in enumerate(engine.launches(0, 0)):
            z, d, flux, qo, qn, *_ = ours.arguments
            program: Any = device.program(line_by_thread, precision, {**engine.switches, "ALONG_X": which == 0})
            arguments = (z, d, flux, qo, qn, z_out, flux_out, store, n, n, engine.numbers[which])
            seed = Launch(program, arguments, (-(-n // 64),), (64,))
            for launch in (ours, seed):
                device.run([launch])
            error = float(np.abs(device.host(flux_out) - device.host(ours.arguments[6]))[1 : n + 1].max())
            took = [min(times_of(device, device.repeated([launch], 3), repeats=3)) / 3 for launch in (seed, ours)]
            print(
                f"{precision} {n} sweep {'xy'[which]}: seed {1e3 * took[0]:.3f} ms, ours {1e3 * took[1]:.3f} ms, "
                f"{took[0] / took[1]:.1f} times; largest difference of the flux {error:.1e}", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
