"""Pictures of the maps of a run: units of times, names of classes, terrain in dry cells, labels."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from eagre.plots import FieldFile, open_results
from eagre.plots.drawing.frames import colour_range
from eagre.plots.drawing.style import colormap_for, time_span, time_unit
from eagre.plots.heights import ProfilePicture
from eagre.plots.maps import MapPicture, PerspectivePicture

NY, NX = 8, 10
FLAGS = {"units": "1", "flag_values": [1.0, 2.0, 3.0], "flag_meanings": "H1 H2 H3"}


def maps_file(path, factor=1.0, **more) -> FieldFile:
    """Maps of a flood that comes from the west: the last two columns stay dry, nothing arrives in the first two."""
    i = np.arange(NX) * np.ones((NY, 1))
    depth = np.where(i < 8, 2.0 - 0.2 * i, np.nan)
    fields = {
        "max_surface_elevation": (depth + 0.1 * i, {"units": "m"}),
        "max_depth": (depth, {"units": "m", "cell_methods": "time: maximum", "long_name": "largest water depth"}),
        "arrival_time_10mm": (np.where((i > 1) & (i < 8), i, np.nan) * 120.0 * factor, {"units": "s"}),
        "mean_speed": (np.where(i < 8, 0.1 * i, 0.0), {"units": "m s-1"}),
        "hazard_class": (np.where(i < 8, 1.0 + i // 4, np.nan), FLAGS),
    } | more
    data = {name: (("time", "y", "x"), values[None], about) for name, (values, about) in fields.items()}
    data["bed"] = (("y", "x"), 0.1 * i, {"units": "m"})
    coords = {"time": [3600.0 * factor], "y": 4.66e6 + 20.0 * np.arange(NY), "x": 512_000.0 + 20.0 * np.arange(NX)}
    xr.Dataset(data, coords=coords).to_netcdf(path, engine="h5netcdf")
    results = open_results(path)
    assert isinstance(results, FieldFile)
    return results


def drawn(fields, name) -> tuple[MapPicture, np.ndarray]:
    """The picture of a field, and its colours, (ny, nx, 3)."""
    picture = MapPicture(fields, name, [0])
    picture.draw(0)
    picture.figure.draw_without_rendering()
    return picture, np.asarray(picture.axes.get_images()[0].get_array())


@pytest.mark.parametrize(
    ("factor", "unit", "seconds"), [(0.1, "s", 1.0), (1.0, "min", 60.0), (20.0, "h", 3600.0), (1e3, "d", 86400.0)]
)
def test_times_are_drawn_in_the_unit_they_are_read_best_in(tmp_path, factor, unit, seconds):
    fields = maps_file(tmp_path / "maps.nc", factor)
    assert fields.label("arrival_time_10mm") == f"arrival time, depth > 0.01 m ({unit})"
    latest = 840.0 * factor
    assert colour_range(fields, "arrival_time_10mm", [0]).vmax == pytest.approx(latest / seconds)
    assert ProfilePicture(fields, "arrival_time_10mm", [0]).limits[1] == pytest.approx(1.06 * latest / seconds, rel=0.1)
    assert np.nanmax(fields.values("arrival_time_10mm", 0)) == latest  # a GIS has seconds
    picture, _ = drawn(fields, "arrival_time_10mm")
    assert picture.figure.axes[1].get_ylabel() == f"arrival time, depth > 0.01 m ({unit})"


@pytest.mark.parametrize(("span", "unit"), [(299.0, "s"), (301.0, "min"), (10_801.0, "h"), (259_201.0, "d")])
def test_unit_of_times(span, unit):
    assert time_unit(span)[0] == unit


def test_classes_have_a_colour_and_a_name_each(tmp_path):
    picture, image = drawn(maps_file(tmp_path / "maps.nc"), "hazard_class")
    bar = picture.figure.axes[1]
    assert [text.get_text() for text in bar.get_yticklabels()] == ["H1", "H2", "H3"]
    np.testing.assert_allclose(bar.get_yticks(), [1.0, 2.0, 3.0])
    of = [colormap_for("hazard_class")(number)[:3] for number in (0, 128)]
    np.testing.assert_allclose(image[3, [0, 7]], of, atol=0.02)


def test_ground_is_drawn_where_it_stayed_dry_and_grey_where_there_is_no_number(tmp_path):
    fields = maps_file(tmp_path / "maps.nc")
    for name in ("max_depth", "arrival_time_10mm", "mean_speed"):
        picture, image = drawn(fields, name)
        assert (image[:, 8:, 0] > image[:, 8:, 2]).all() and np.ptp(image[3, 8]) > 0.05, "land has colours"
        assert picture._shore is not None
    _, arrival = drawn(fields, "arrival_time_10mm")
    grey = arrival[:, :2]
    assert np.ptp(grey, axis=-1).max() == 0.0 and 0.7 < grey.min() < grey.max() + 1e-9 < 1.0
    assert not (np.ptp(arrival[:, 2:], axis=-1) < 0.02).any()
    _, bed = drawn(fields, "bed")
    assert np.isfinite(bed).all() and not np.allclose(bed[:, 0], bed[:, -1])


def test_water_without_a_bed_is_drawn_too(tmp_path):
    fields = maps_file(tmp_path / "maps.nc")
    bare = FieldFile(fields.path, fields.dataset.drop_vars("bed"))
    _, image = drawn(bare, "max_depth")
    np.testing.assert_allclose(image[:, 8:], 0.86)


def test_the_first_choice_of_a_file_of_maps_is_the_largest_depth(tmp_path):
    fields = maps_file(tmp_path / "maps.nc")
    assert fields.default_variable() == "max_depth"
    assert FieldFile(fields.path, fields.dataset.drop_vars("max_depth")).default_variable() == "max_surface_elevation"


def test_northings_are_whole_numbers(tmp_path):
    picture, _ = drawn(maps_file(tmp_path / "maps.nc"), "max_depth")
    shown = [text.get_text() for text in picture.axes.get_yticklabels()]
    assert "4660100" in shown and not picture.axes.yaxis.get_offset_text().get_text()


def test_long_labels_of_colour_bars_are_broken(tmp_path):
    words = " ".join(["velocity averaged over depth"] * 6)
    more = {"covariance_a_b": (np.ones((NY, NX)), {"units": "m", "long_name": words})}
    picture, _ = drawn(maps_file(tmp_path / "maps.nc", **more), "covariance_a_b")
    assert "\n" in picture.figure.axes[1].get_ylabel()
    profile = ProfilePicture(picture.fields, "covariance_a_b", [0])
    profile.draw(0)
    assert "\n" in profile.axes.get_ylabel()


def test_a_perspective_does_not_depend_on_the_order_of_rows(tmp_path):
    y, x = np.mgrid[0:12, 0:15] * 10.0
    surface = (("time", "y", "x"), (0.5 * np.sin(y / 20.0) + 0.01 * x)[None], {"units": "m"})
    coords = {"time": [0.0], "y": y[:, 0], "x": x[0]}
    dataset = xr.Dataset({"surface_elevation": surface, "bed": (("y", "x"), -1.0 + 0 * x)}, coords=coords)
    pictures = []
    for one in (dataset, dataset.isel(y=slice(None, None, -1))):
        picture = PerspectivePicture(FieldFile(tmp_path / "a.nc", one), "surface_elevation", [0])
        picture.draw(0)
        pictures.append(np.asarray(picture._image.get_array()))
    np.testing.assert_allclose(*pictures)


@pytest.mark.parametrize(
    ("name", "about", "label"),
    [
        ("arrival_time_300mm", {"long_name": "time at which the depth first was above 0.3 m", "units": "s"},
         "arrival time, depth > 0.3 m (min)"),
        ("arrival_time_rise_100mm", {"long_name": "arrival time of a 0.1 m rise of the water surface", "units": "s"},
         "arrival time, rise > 0.1 m (min)"),
        ("duration_2p5mm", {"units": "s", "cell_methods": "time: sum"}, "duration, depth > 0.0025 m (min)"),
        ("max_speed", {"long_name": "largest speed", "units": "m s-1", "cell_methods": "time: maximum"},
         "speed (m s$^{-1}$), maximum over 0 to 1 h"),
        ("mean_speed", {"long_name": "mean speed", "units": "m", "cell_methods": "time: mean (comment: from 900 s on)"},
         "speed (m), mean over 0.25 to 1 h"),
        ("mean_u", {"long_name": "x-component of mean velocity", "units": "m s-1", "cell_methods": "time: mean"},
         "x-component of velocity (m s$^{-1}$), mean over 0 to 1 h"),
        ("min_speed", {"long_name": "minimum speed", "units": "m s-1", "cell_methods": "time: minimum"},
         "speed (m s$^{-1}$), minimum over 0 to 1 h"),
    ],
)  # fmt: skip
def test_labels_of_maps_state_threshold_and_period(tmp_path, name, about, label):
    i = np.arange(NX) * np.ones((NY, 1))
    picture, _ = drawn(maps_file(tmp_path / "maps.nc", **{name: (i * 100.0, about)}), name)
    bar = picture.figure.axes[1]
    assert bar.get_ylabel().replace("\n", " ") == label
    heading = [text.get_text() for text in picture.axes.texts]
    assert ("t = 0 to 1 h" in heading or "t = 0.25 to 1 h" in heading) == ("over" in label)


def test_bounds_of_times_are_the_period(tmp_path):
    fields = maps_file(tmp_path / "maps.nc")
    dataset = fields.dataset.assign(time_bounds=(("time", "bounds"), [[1800.0, 3600.0]]))
    dataset["time"].attrs["bounds"] = "time_bounds"
    assert FieldFile(fields.path, dataset).label("max_depth", 0) == "water depth (m), maximum over 0.5 to 1 h"


def test_terrain_is_shaded_behind_an_arrival_map(tmp_path):
    """Cells that were wet at the start have no arrival time: the relief of the bed is drawn there."""
    fields = maps_file(tmp_path / "maps.nc")
    bed = fields.dataset["bed"] + np.sin(np.arange(NY))[:, None]
    _, image = drawn(FieldFile(fields.path, fields.dataset.assign(bed=bed)), "arrival_time_10mm")
    assert np.ptp(image[:, :2]) > 0.05 and np.ptp(image[:, :2], axis=-1).max() == 0.0


@pytest.mark.parametrize(("first", "last", "text"), [
    (0.0, 3600.0, "0 to 1 h"), (0.0, 5400.0, "0 to 1.5 h"), (0.0, 4800.0, "0 to 80 min"), (0.0, 40.0, "0 to 40 s"),
    (864000.0, 1728000.0, "10 to 20 d"),
])  # fmt: skip
def test_periods_have_a_readable_unit(first, last, text):
    assert time_span(first, last) == text
