"""What a series brings in through a side converges with second order, as the scheme does."""

from __future__ import annotations

import numpy as np

import eagre

DEPTH, AMPLITUDE = 10.0, 1e-5
SPEED = np.sqrt(9.81 * DEPTH)


def flume(length, n, device, surface, **sides):
    """Still water over a flat bed, or a given surface, (n,)."""
    return eagre.ShallowWater(
        eagre.Grid(n, 3, length / n, length / n), -DEPTH, surface_elevation=np.tile(surface, (3, 1)),
        boundaries=eagre.Boundaries(**sides), device=device, precision="double",
    )  # fmt: skip


def test_tide_through_a_stage(device):
    """z = a cos(k (L - x)) / cos(k L) cos(w t) in a channel that is closed at x = L."""
    length, omega = 50e3, 2.0 * np.pi / 10800.0
    k, end = omega / SPEED, 2.1 * 10800.0
    times = np.linspace(0.0, end, 8001)
    level = eagre.Series(times, AMPLITUDE * np.cos(omega * times))

    def error(n):
        x = (np.arange(n) + 0.5) * length / n
        shape = AMPLITUDE * np.cos(k * (length - x)) / np.cos(k * length)
        model = flume(length, n, device, shape, west=eagre.Stage(level))
        model.advance(end)
        apart = model.field("surface_elevation")[1] - shape * np.cos(omega * end)
        return np.abs(apart).max() / np.abs(shape).max()

    coarse, fine = error(40), error(80)
    assert coarse < 2e-3 and np.log2(coarse / fine) > 1.8


def test_wave_through_an_absorbing_side(device):
    """A long wave beside the side where it enters, before anything could come back."""
    length, end = 1000.0, 75.0
    times = np.linspace(0.0, end, 20001)
    height = AMPLITUDE * np.sin(np.pi * times / 60.0) ** 4
    incoming = eagre.Absorbing(incoming=eagre.Series(times, height), level=0.0)

    def error(n):
        model = flume(length, n, device, np.zeros(n), west=incoming, east=eagre.Absorbing(level=0.0))
        model.advance(end)
        x = model.grid.x
        apart = model.field("surface_elevation")[1] - np.interp(end - x / SPEED, times, height)
        return np.abs(apart)[x < 0.1 * length].max() / AMPLITUDE

    coarse, fine = error(80), error(160)
    assert coarse < 4e-3 and np.log2(coarse / fine) > 1.7
