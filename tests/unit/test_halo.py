"""The generic halo fill equals `numpy.pad`, whatever the rules, widths and dimensions; layouts of fields."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.device import CpuDevice, PlainDevice
from eagre.boundaries.halo import HaloField, HaloFill, Side
from eagre.errors import InputError
from eagre.fields import STAGGERED, Layout, points_at
from eagre.grid import Grid

NAMES = {2: ("south", "north", "west", "east"), 3: ("bottom", "top", "south", "north", "west", "east")}
RINGS = {
    "periodic": ["periodic"] * 6,
    "even": ["even"] * 6,
    "odd": ["odd"] * 6,
    "value": ["value"] * 6,
    "mixed": ["odd", "value", "periodic", "periodic", "value", "even"],
    "one side": ["none", "none", "none", "value", "even", "even"],
}


def device_of(name):
    if name == "simulator":
        from eagre.backend.simulated.device import SimulatedDevice

        return SimulatedDevice()
    return {"cpu": CpuDevice, "python": PlainDevice}[name]()


def expected(values, layout, kinds, numbers, location):
    """By `numpy.pad` along x, then y, then z; what has no rule stays as it was, -9."""
    dims, array = values.ndim, values
    for axis in reversed(range(dims)):
        on_side = axis - dims in STAGGERED[location]
        widths = [layout.leading[axis], layout.shape[axis] - layout.leading[axis] - values.shape[axis]]
        for low, width in enumerate(widths):
            pad = [(0, 0)] * dims
            pad[axis] = (width, 0) if low == 0 else (0, width)
            kind, number = kinds[2 * axis + low], numbers[2 * axis + low]
            if kind == "none":
                array = np.pad(array, pad, constant_values=-9.0)
                continue
            inner = array if low == 0 else np.take(array, range(widths[0], array.shape[axis]), axis)
            mode = "wrap" if kind == "periodic" else "reflect" if on_side else "symmetric"
            beyond = np.pad(inner, pad, mode=mode)
            size = beyond.shape[axis]
            part = np.take(beyond, range(width) if low == 0 else range(size - width, size), axis)
            part = {"odd": -part, "value": 2.0 * number - part}.get(kind, part)
            array = np.concatenate([part, array] if low == 0 else [array, part], axis)
    assert array.shape == layout.shape
    return array


@pytest.mark.parametrize("name", ["cpu", "python", pytest.param("simulator", marks=pytest.mark.simulator)])
@pytest.mark.parametrize("kinds", RINGS.values(), ids=RINGS)
@pytest.mark.parametrize(
    ("cells", "halo"), [((5, 7), (1, 1)), ((5, 7), (3, 2)), ((4, 5, 6), (1, 1, 1)), ((3, 5, 4), (3, 2, 4))]
)
def test_halos_as_numpy_pads(name, kinds, cells, halo):
    """Several fields at different locations by one launch."""
    device, rng = device_of(name), np.random.default_rng(0)
    staggered = "periodic" not in kinds and halo != (3, 2, 4)
    layout = Layout(cells, leading=halo, trailing=tuple(n + staggered for n in halo))
    locations = ["centre", "face_x", "face_y"] if staggered else ["centre"]
    sides, numbers, arrays, wanted = [], [], [], []
    for location in locations:
        own = kinds[-2 * len(cells) :]
        numbers = rng.random(len(own))
        rules = zip(NAMES[len(cells)], map(Side, own, numbers), strict=True)
        sides.append({side: rule for side, rule in rules if rule.kind != "none"})
        values = rng.random(points_at(location, cells))
        arrays.append(layout.padded(values, np.float64, -9.0))
        wanted.append(expected(values, layout, own, numbers, location))
    fill = HaloFill(layout, [HaloField(*one) for one in zip(locations, sides, strict=True)], device, "double")
    launches = fill.launches(*arrays)
    assert len(launches) == 1
    device.run(launches)
    for array, one, location in zip(arrays, wanted, locations, strict=True):
        ruled = one != -9.0
        np.testing.assert_array_equal(array[ruled], one[ruled], err_msg=location)
        if "none" not in kinds:
            assert (array != -9.0).all()
        np.testing.assert_array_equal(layout.unpadded(array, location), layout.unpadded(one, location))


def test_values_at_faces_may_change():
    layout, device = Layout((3, 4), (1, 1)), CpuDevice()
    fill = HaloFill(layout, [HaloField("centre", {"west": Side("value", 1.0)})], device, "single")
    array = layout.padded(np.zeros((3, 4)), np.float32)
    for value in (1.0, 5.0):
        fill.rules.value[0, 2, 0] = value
        device.run(fill.launches(array))
        np.testing.assert_array_equal(array[1:-1, 0], 2.0 * value)
    assert array.dtype == np.float32 and np.count_nonzero(array) == 3


@pytest.mark.parametrize(
    ("location", "sides", "words"),
    [
        ("centre", {"west": Side("periodic")}, "one periodic side"),
        ("centre", {"top": Side("even")}, "no such side(.|\n)*side 'top'"),
        ("centre", {"west": Side("mirror")}, "rule is unknown(.|\n)*'mirror' on the west side"),
        ("face_x", {"west": Side("periodic"), "east": Side("periodic")}, "face_x on a periodic axis"),
        ("centre", {"south": Side("even")}, "halo of 3 around 2 points"),
    ],
)
def test_what_is_refused(location, sides, words):
    with pytest.raises(InputError, match=words):
        HaloFill(Layout((2, 5), (3, 1)), [HaloField(location, sides)], CpuDevice(), "double")


def test_a_layout_without_a_halo_is_refused():
    with pytest.raises(InputError, match="The layout has no halo"):
        HaloFill(Layout((2, 5), (0, 0)), [HaloField("centre", {})], CpuDevice(), "double")


LAYOUTS = {
    "two ghosts": (Layout((43, 75), (2, 2)), (47, 79)),
    "aligned rows": (Layout((45, 67), pitch=32), (45, 96)),
    "padded rows": (Layout((43, 75), (1, 32), (130, 33), 32), (174, 160)),
    "3-D": (Layout((4, 5, 6), (1, 2, 3), (1, 2, 4), 8), (6, 9, 16)),
}


@pytest.mark.parametrize(("layout", "shape"), LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("location", ["centre", "face_x"])
def test_fields_go_in_and_out_of_a_layout(layout, shape, location):
    device = CpuDevice()
    values = np.random.default_rng(0).random(points_at(location, layout.cells))
    array = layout.zeros(device, np.float32, 3)
    assert layout.shape == shape and array.shape == (3, *shape) and array.dtype == np.float32
    layout.fill(device, array[1], values, outside=7.0)
    np.testing.assert_array_equal(layout.host(device, array, location)[1], values.astype(np.float32))
    assert np.count_nonzero(array == np.float32(7.0)) == array[1].size - values.size
    assert not array[0].any() and layout.padded(np.stack([values] * 2), float).shape == (2, *shape)


def test_locations_of_two_and_three_dimensions():
    grid = Grid(7, 5, 1.0, 1.0)
    for location in ("centre", "face_x", "face_y", "corner"):
        assert grid.shape_of(location) == points_at(location, (5, 7))
    assert points_at("face_z", (4, 5, 7)) == (5, 5, 7) and points_at("corner", (4, 5, 7)) == (4, 6, 8)
    for location, cells in (("face_z", (5, 7)), ("edge", (4, 5, 7))):
        with pytest.raises(InputError, match="allowed: centre, face_x, face_y"):
            points_at(location, cells)
