"""Maps of a run in plain NumPy, from its fields at every step."""

from __future__ import annotations

import numpy as np

AIDR = {1: (0.3, 0.3, 2.0), 2: (0.5, 0.6, 2.0), 3: (1.2, 0.6, 2.0), 4: (2.0, 1.0, 2.0), 5: (4.0, 4.0, 4.0)}


def first_time(times, happened):
    """The first of the times, (n,), at which something happened, (n, ny, nx); NaN where it never did."""
    return np.where(happened.any(axis=0), np.asarray(times)[happened.argmax(axis=0)], np.nan)


def classes(depth, speed, discharge):
    """AIDR's class at every time and cell."""
    found = np.full(depth.shape, 6)
    for number in sorted(AIDR, reverse=True):
        deepest, strongest, fastest = AIDR[number]
        found[(depth <= deepest) & (discharge <= strongest) & (speed <= fastest)] = number
    return found


def maps_of(times, fields, wet_depth, arrivals=(), rises=(), durations=()):
    """Every map from the fields at all times: surface, depth, speed, discharge, (n, ny, nx) each, float64."""
    surface, depth, speed, discharge = fields
    wet = depth > wet_depth
    ever = wet.any(axis=0)

    def largest(values):
        return np.where(ever, np.where(wet, values, -np.inf).max(axis=0), np.nan)

    deepest = largest(depth)
    found = {
        "max_surface_elevation": largest(surface),
        "max_depth": deepest,
        "time_of_max_depth": first_time(times, wet & (depth == deepest)),
        "max_speed": largest(speed),
        "max_unit_discharge": largest(discharge),
        "max_hazard_rating": largest(depth * (speed + 0.5)),
        "hazard_class": largest(classes(depth, speed, discharge)),
    }
    for one in arrivals:
        found[f"arrival_time_{1000 * one:g}mm"] = first_time(times, wet & (depth > one))
    for one in rises:
        found[f"arrival_time_rise_{1000 * one:g}mm"] = first_time(times, wet & (surface - surface[0] > one))
    for one in durations:
        spans = np.diff(times)[:, None, None]  # a state counts from its step on until the next
        lasted = (spans * (depth[:-1] > one)).sum(axis=0)
        found[f"duration_{1000 * one:g}mm"] = np.where(lasted > 0, lasted, np.nan)
    return found
