"""Whole steps of the explicit model as plain Python against plain NumPy: small, odd, rough grids, wet and dry, open."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import eagre
import oracle.boundaries as plain
from eagre.backend.device import PlainDevice
from eagre.boundaries import Absorbing, Boundaries, Discharge, Outflow, Periodic, Stage
from eagre.models.shallow_water.stages import row_streaming_cpu
from oracle.boundaries import Water
from oracle.shallow_water import DepthOracle

DX, DY, KAPPA = 1.0, 1.5, 1e-2


def beyond(condition, bed, face, away, first, second, of_discharges):
    """Water outside an open side (`oracle.boundaries`)."""
    if isinstance(condition, Stage):
        return plain.stage(condition.level, bed, face, away, first, second, (first, second)[away - 1])
    if isinstance(condition, Discharge):
        return plain.discharge(condition.rate, bed, face, away, first, second, of_discharges)
    if isinstance(condition, Absorbing):
        return plain.absorbing(condition.incoming, condition.level, bed, away, first, second)
    return plain.outflow(bed, first)


class OpenOracle(DepthOracle):
    """With conditions in place of names of sides where they are open; their bed goes on with its slope.

    It does not rise beside a level or a discharge.
    """

    def pad_bed(self, bed):
        walls = {side: kind if isinstance(kind, str) else "wall" for side, kind in self.sides.items()}
        given, self.sides = self.sides, walls
        padded, self.sides = super().pad_bed(bed), given
        for side, kind in given.items():
            if not isinstance(kind, str):
                lines = self.lines(side, padded)
                for k in (1, 0):
                    lines[k] = 2 * lines[k + 1] - lines[k + 2]
                    if isinstance(kind, (Stage, Discharge)):
                        lines[k] = np.minimum(lines[k], lines[2])
        return padded

    def lines(self, side, array):
        """View of an array with lines along the side first, from outside."""
        return {"west": array.T, "east": array.T[::-1], "south": array, "north": array[::-1]}[side]

    def pad(self, q):
        given, self.sides = self.sides, {s: k if isinstance(k, str) else "wall" for s, k in self.sides.items()}
        padded, self.sides = super().pad(q), given
        for side, kind in given.items():
            if isinstance(kind, str):
                continue
            depth, hu, hv, bed = (self.lines(side, one) for one in (*padded, self.centre))
            faces = self.lines(side, self.face_x if side in ("west", "east") else self.face_y)[2]
            across, along = (hu, hv) if side in ("west", "east") else (hv, hu)
            sign = 1.0 if side in ("west", "south") else -1.0
            for m in range(2, depth.shape[1] - 2):
                one, two = (Water(bed[k, m], bed[k, m] + depth[k, m], sign * across[k, m], along[k, m]) for k in (2, 3))
                for away in (1, 2):
                    at = 2 - away
                    found = beyond(kind, bed[at, m], faces[m], away, one, two, self.wet_dry != "hydrostatic")
                    depth[at, m], across[at, m], along[at, m] = found.depth, sign * found.across, found.along
        return padded


def water(shape, level, rng, ring):
    """Bed at the corners and moving water: the south half deep, the rest rough and partly dry."""
    ny, nx = shape
    bed = rng.uniform(-0.3, 0.8, (ny + 1, nx + 1))
    bed[: ny // 2 + 1] -= 1.5
    bed = np.ldexp(np.round(np.ldexp(bed, 30)), -30)
    if ring:
        bed[:, -1], bed[-1] = bed[:, 0], bed[0]
    centre = 0.25 * (bed[1:, 1:] + bed[1:, :-1] + bed[:-1, 1:] + bed[:-1, :-1])
    depth = np.maximum(level + 0.1 * rng.standard_normal(shape) - centre, 0.0)
    depth[rng.random(shape) < 0.1] *= 1e-3  # films
    return bed, depth, *(0.7 * rng.standard_normal((2, *shape)))


def assert_steps_agree(shape, level, sides, steps=3, start=None, **options):
    """Depth, discharges and time after each step, with a map of friction; start : bed, depth, u, v."""
    rng, ring = np.random.default_rng(11), "periodic" in sides.values()
    bed, depth, u, v = start or water(shape, level, rng, ring)
    manning = rng.uniform(0.01, 0.05, shape)
    treatment = {name: options[name] for name in ("wet_dry", "scheme") if name in options}
    given = {side: Periodic() if kind == "periodic" else kind for side, kind in sides.items() if kind != "wall"}
    wide = {"west": shape[0] * DY, "east": shape[0] * DY, "south": shape[1] * DX, "north": shape[1] * DX}
    for side, kind in given.items():
        given[side] = Discharge(kind.rate * wide[side]) if isinstance(kind, Discharge) else kind
    model = eagre.ShallowWater(
        eagre.Grid(shape[1], shape[0], DX, DY), bed, depth=depth, velocity_x=u, velocity_y=v, manning=manning,
        desingularisation_depth=KAPPA, boundaries=Boundaries(**given), time_step_control="exact", device=PlainDevice(),
        precision="double", **options,
    )  # fmt: skip
    reference = OpenOracle(bed, DX, DY, kappa=KAPPA, manning=manning, sides=sides, **treatment)
    q = np.stack([depth, depth * u, depth * v])
    for _ in range(steps):
        model.advance(1e9, max_steps=1)
        q = reference.step(q)
        assert model.time == pytest.approx(reference.time, rel=1e-11)
        for name, expected in zip(("depth", "discharge_x", "discharge_y"), q, strict=True):
            wet = q[0] > 1e-4
            np.testing.assert_allclose(np.where(wet, model.field(name), expected), expected, rtol=0, atol=1e-10)


WALLS = dict.fromkeys(("west", "east", "south", "north"), "wall")
RING = dict.fromkeys(WALLS, "periodic")
OPEN = {
    "open": {"west": Stage(0.9), "east": Discharge(0.3), "south": Absorbing(0.1, level=0.4), "north": Outflow()},
    "turned": {"west": Absorbing(-0.1, level=0.5), "east": Outflow(), "south": Discharge(0.4), "north": Stage(0.8)},
}
KERNELS = pytest.mark.parametrize("kernels", ["fast", "reference"])


@KERNELS
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (9, 2), (5, 6), (19, 3)])
@pytest.mark.parametrize("level", [0.3, 1.2])
def test_steps_between_walls(shape, level, kernels):
    assert_steps_agree(shape, level, WALLS, kernels=kernels)


@KERNELS
@pytest.mark.parametrize("scheme", ["rk2", "euler"])
@pytest.mark.parametrize("wet_dry", ["hydrostatic", "kurganov-petrova"])
@pytest.mark.parametrize("level", [0.3, 1.2])
def test_steps_round_a_torus(level, wet_dry, scheme, kernels):
    assert_steps_agree((6, 5), level, RING, kernels=kernels, wet_dry=wet_dry, scheme=scheme)


@KERNELS
@pytest.mark.parametrize("sides", OPEN)
@pytest.mark.parametrize("wet_dry", ["hydrostatic", "kurganov-petrova"])
def test_steps_between_open_sides(wet_dry, sides, kernels, monkeypatch):
    monkeypatch.setattr(plain, "KAPPA", KAPPA)
    for level in (0.3, 1.2):
        assert_steps_agree((5, 6), level, OPEN[sides], steps=2, kernels=kernels, wet_dry=wet_dry)


@pytest.mark.parametrize("skip_dry", [False, True])
def test_what_a_row_is(skip_dry, rng):
    """Covered if no cell's surface, nor a neighbour's, lies below one of its corners; dry, where asked, without water.

    One number at a time is what decides: of a neighbour, a corner, or one that is none of a cell of the row.
    """
    look = PlainDevice().program(row_streaming_cpu.row_class, "double", {"SKIP_DRY": skip_dry})
    p = SimpleNamespace(dry=1e-3)
    seen = set()
    for _ in range(400):
        n, j, i0 = int(rng.integers(1, 4)), int(rng.integers(0, 2)), int(rng.integers(0, 3))
        rows, bed, over = np.full((3, n + 2), 2.0), np.full((6, i0 + n + 5), 1.0), np.zeros(n + 2)
        if rng.random() < 0.5:
            rows[rng.integers(3), rng.integers(n + 2)] = 1.0 + rng.choice([0.5, 1.5, -1.5]) * 1e-3
        else:
            bed[rng.integers(6), rng.integers(bed.shape[1])] = 2.0 - rng.choice([0.5, 1.5, -1.5]) * 1e-3
        over[rng.integers(n + 2)] = float(rng.choice([0.0, 3.0]))
        s = np.zeros(row_streaming_cpu.SCRATCH)
        for place, row in zip(
            (row_streaming_cpu.W0, row_streaming_cpu.W1, row_streaming_cpu.W2, row_streaming_cpu.OVER1),
            (*rows, over),
            strict=True,
        ):
            s[place : place + n + 2] = row
        wanted = row_streaming_cpu.COVERED
        for m in range(1, n + 1):  # corners of cell m of row j + 1, whose column is i0 + m
            lowest = min(rows[1, m], rows[0, m], rows[2, m], rows[1, m - 1], rows[1, m + 1])
            if lowest - bed[j + 1 : j + 3, i0 + m : i0 + m + 2].max() < 1e-3:
                wanted = row_streaming_cpu.SHORES
        if wanted == row_streaming_cpu.SHORES and skip_dry and not over[1 : n + 1].any():
            wanted = row_streaming_cpu.DRY
        assert look(bed, s, j, i0, n, p) == wanted
        seen.add(wanted)
    assert len(seen) == 2 + skip_dry


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("along", [0, 1])
def test_steps_over_a_levee(along, turned):
    """The surface falls over a crest that it covers at the centres: between its neighbours, and below the crest."""
    bed, surface = np.array([0.0, 0.0, 0.0, 0.5, 0.0, 0.0]), np.array([1.2, 0.9, 0.6, 0.3, 0.2])
    bed, surface = (bed[::-1], surface[::-1]) if turned else (bed, surface)
    depth, still = (surface - 0.5 * (bed[1:] + bed[:-1]))[:, None], np.zeros((5, 1))
    start = np.stack([bed, bed], axis=1), depth, still, still
    start = start if along else tuple(np.ascontiguousarray(one.T) for one in start)
    assert_steps_agree(start[1].shape, 0.0, WALLS, start=start)


@pytest.mark.parametrize("turned", [False, True])
def test_steps_from_below_a_dry_hill(turned):
    """Dry rows beside rows with shores; the bed is rough along them."""
    bed, _, u, v = water((10, 4), 0.3, np.random.default_rng(4), False)
    bed[:6] += 2.4
    bed = np.ascontiguousarray(bed[::-1]) if turned else bed
    depth = np.maximum(0.3 - 0.25 * (bed[1:, 1:] + bed[1:, :-1] + bed[:-1, 1:] + bed[:-1, :-1]), 0.0)
    dry = depth[-4:] if turned else depth[:4]
    assert dry.max() == 0.0 < depth.max()
    assert_steps_agree((10, 4), 0.0, WALLS, start=(bed, depth, u, v))


@pytest.mark.parametrize("turned", [False, True])
def test_steps_onto_dry_ground(turned, rng):
    """Water beside dry rows whose bed is rough along them, lower than its surface and here and there than its bed."""
    bed, depth = rng.uniform(-0.3, 0.3, (9, 5)), np.zeros((8, 4))
    depth[4:] = rng.uniform(0.1, 0.6, (4, 4))
    bed, depth = (np.ascontiguousarray(one[::-1] if turned else one) for one in (bed, depth))
    assert_steps_agree((8, 4), 0.0, WALLS, start=(bed, depth, *(0.3 * rng.standard_normal((2, 8, 4)))))


@pytest.mark.parametrize("column", [255, 256, 257])
def test_a_crest_beside_a_seam_of_tiles(column):
    """A corner out of the water that one tile sees in its last cell alone."""
    bed = np.full((4, 260), -1.0)
    bed[1:3, column] = (0.5, 0.7)
    depth = -0.25 * (bed[1:, 1:] + bed[1:, :-1] + bed[:-1, 1:] + bed[:-1, :-1])
    speed = np.full(depth.shape, 0.5)
    assert_steps_agree(depth.shape, 0.0, WALLS, steps=1, start=(bed, depth, speed, 0.3 * speed), scheme="euler")


def test_steps_across_tiles():
    """More columns than a tile of the CPU has, and more rows."""
    assert_steps_agree((2, 259), 0.4, WALLS, steps=1)
    assert_steps_agree((26, 2), 0.4, WALLS, steps=1)


def test_walls_beside_open_parts_let_nothing_through():
    """The bed beside a wall goes on as that of the part next to it: what its ghosts would let through is closed off.

    What is booked at the open faces is all that the volume changes by, and both kernels make the same steps.
    """
    bed, depth, u, v = water((5, 6), 0.9, np.random.default_rng(11), False)
    part = eagre.boundaries.BoundarySegment
    sides = Boundaries(
        west=[part(1.5, 4.5, Stage(1.2))], east=[part(0.0, 3.0, Outflow()), part(6.0, 7.5, Stage(0.2))],
        south=[part(2.0, 3.0, Discharge(0.5))], north=[part(0.0, 1.0, Discharge(0.2)), part(3.0, 5.0, Absorbing())],
    )  # fmt: skip
    found = []
    for kernels in ("fast", "reference"):
        model = eagre.ShallowWater(
            eagre.Grid(6, 5, DX, DY), bed, depth=depth, velocity_x=u, velocity_y=v, boundaries=sides, kernels=kernels,
            device=PlainDevice(), precision="double",
        )  # fmt: skip
        model.advance(1e9, max_steps=3)
        assert abs(model.diagnostics()["volume_error"]) < 1e-15
        assert model.inflow["south 2 to 3 m"] == pytest.approx(0.5 * model.time, rel=1e-12)
        found.append(np.stack([model.field(name) for name in ("depth", "discharge_x", "discharge_y")]))
    np.testing.assert_allclose(*found, rtol=0, atol=1e-13)
