"""Default pictures of shallow water: surface elevation, flood depth on initially dry land, sections of flumes."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from eagre.plots import FieldFile, open_results, plot_map
from eagre.plots.drawing.frames import lay_out
from eagre.plots.heights import ProfilePicture
from eagre.plots.maps import FloodPicture, MapPicture, chosen, make_picture

NY, NX = 20, 30


def flood(path, ny=NY, wet=10, thin=0.0, still=0.0, **more) -> FieldFile:
    """Write a sea in the first `wet` columns that floods the next five; a layer `thin` m deep covers all land."""
    x, y = np.arange(NX) * 10.0, np.arange(ny) * 10.0
    bed = np.where(np.arange(NX) < wet, -20.0 - np.arange(NX), 0.2) * np.ones((ny, 1)) + still
    depth = np.stack([np.where(bed < still, still - bed, 0.0)] * 2)
    depth[1] = np.where(bed < still, depth[0] + 0.5, thin)
    depth[1, :, wet : wet + 5] = 0.3
    over = ("time", "y", "x")
    data = {
        "depth": (over, depth, {"units": "m"}),
        "surface_elevation": (over, depth + bed, {"units": "m"}),
        "bed": (("y", "x"), bed, {"units": "m"}),
    } | more
    coords = {"time": ("time", [0.0, 60.0], {"units": "s"}), "x": x, "y": y}
    xr.Dataset(data, coords, {"title": "Sea"}).to_netcdf(path, engine="h5netcdf")
    results = open_results(path)
    assert isinstance(results, FieldFile)
    return results


def drawn(fields, record=1, records=(0, 1)):
    """The default picture of a record, and its colours."""
    picture = make_picture(fields, chosen(fields, None, False), list(records))
    picture.draw(record)
    return picture, np.asarray(picture.axes.get_images()[0].get_array())


def labels(picture) -> set[str]:
    """Labels of the colour bars."""
    return {axes.get_ylabel().replace("\n", " ") for axes in picture.figure.axes[1:]}


def test_the_default_map_shows_the_surface_of_the_sea_and_the_depth_of_the_flood(tmp_path):
    picture, image = drawn(flood(tmp_path / "a.nc"))
    assert isinstance(picture, FloodPicture)
    assert labels(picture) == {"surface elevation (m)", "flood depth on initially dry land (m)"}
    assert np.ptp(image[:, :10], axis=(0, 1)).max() < 0.02, "a level sea has one colour, whatever its depth"
    assert not np.allclose(image[5, 0], image[5, 12], atol=0.1)
    surface, colours = picture._layers["surface_elevation"]
    np.testing.assert_allclose(image[5, 5], colours(surface(0.5))[:3], atol=1e-6)
    assert picture._layers["depth"][0].vmax == pytest.approx(0.3)
    assert (image[:, 16:, 0] > image[:, 16:, 2]).all(), "dry land is terrain"
    assert picture.axes.get_title(loc="left") == "Sea"


@pytest.mark.parametrize("record", [0, 1])
def test_colours_of_the_surface_are_centred_on_the_still_level(tmp_path, record):
    """A lake at 300 m, at rest and after a rise."""
    fields = flood(tmp_path / "a.nc", still=300.0)
    picture = make_picture(fields, None, [record])
    norm = picture._layers["surface_elevation"][0]
    assert 0.5 * (norm.vmin + norm.vmax) == pytest.approx(300.0) and norm.vmax > 300.4


def test_titles_fit_into_the_figure(tmp_path):
    picture, _ = drawn(flood(tmp_path / "a.nc"))
    lay_out(picture.figure)
    picture.figure.set_layout_engine("none")
    assert picture.axes._left_title.get_window_extent().y1 <= picture.figure.bbox.y1
    assert picture.axes.xaxis.label.get_window_extent().y0 >= 0.0


def test_surface_follows_from_depth_and_bed(tmp_path):
    fields = flood(tmp_path / "a.nc")
    bare = FieldFile(fields.path, fields.dataset.drop_vars("surface_elevation"))
    picture, image = drawn(bare)
    assert len(labels(picture)) == 2
    np.testing.assert_allclose(image, drawn(fields)[1])
    only_depth = FieldFile(fields.path, fields.dataset.drop_vars(["surface_elevation", "bed"]))
    assert isinstance(make_picture(only_depth, chosen(only_depth, None, False), [1]), MapPicture)
    assert chosen(only_depth, None, False) == "depth"


@pytest.mark.parametrize(
    ("wet", "label"), [(0, "flood depth on initially dry land (m)"), (NX, "surface elevation (m)")]
)
def test_one_colour_bar_where_one_is_enough(tmp_path, wet, label):
    assert labels(drawn(flood(tmp_path / "a.nc", wet=wet))[0]) == {label}


@pytest.mark.parametrize(("wet_depth", "shown"), [(0.01, False), (0.001, True)])
def test_a_thin_layer_of_rain_is_not_a_flood(eagre_plot, tmp_path, wet_depth, shown):
    fields = flood(tmp_path / "a.nc", wet=0, thin=0.005)
    fields.wet_depth = wet_depth
    for picture, image in (drawn(fields), eagre_plot(fields, "depth")):
        assert (image[5, 20, 2] > image[5, 20, 0]) == shown
        assert (image[5, 2, 2] > image[5, 2, 0]) and picture is not None


@pytest.fixture
def eagre_plot():
    """Draw a named field."""

    def draw(fields, name):
        picture = make_picture(fields, name, [1])
        picture.draw(1)
        return picture, np.asarray(picture.axes.get_images()[0].get_array())

    return draw


def test_a_thin_layer_is_dry_in_maps_of_maxima(tmp_path):
    depth = np.where(np.arange(NX) < 5, 1.0, 0.005) * np.ones((NY, 1))
    about = {"units": "m", "cell_methods": "time: maximum"}
    data = {"max_depth": (("time", "y", "x"), depth[None], about)}
    coords = {"time": [60.0], "x": np.arange(NX) * 1.0, "y": np.arange(NY) * 1.0}
    fields = FieldFile(tmp_path / "a.nc", xr.Dataset(data, coords))
    np.testing.assert_array_equal(fields.flooded("max_depth", 0), depth > 0.01)
    fields.wet_depth = 0.001
    assert fields.flooded("max_depth", 0).all()


def test_maxima_show_the_surface_of_the_sea_and_the_depth_of_the_flood(tmp_path):
    """Cells deeper than the threshold at the start arrive at the start; their maximum depth would show the bed."""
    i = np.arange(NX) * np.ones((NY, 1))
    depth, about = (
        np.where(i < 10, 20.0 + i, np.where(i < 15, 0.5, np.nan)),
        {"units": "m", "cell_methods": "time: maximum"},
    )
    over, fields = ("time", "y", "x"), {}
    fields["max_depth"] = (over, depth[None], about)
    fields["max_surface_elevation"] = (over, (2.0 + 0.0 * depth)[None], about)
    fields["arrival_time_300mm"] = (over, np.where(i < 10, 0.0, np.where(i < 15, 90.0, np.nan))[None], {"units": "s"})
    coords = {"time": [3600.0], "x": np.arange(NX) * 1.0, "y": np.arange(NY) * 1.0}
    dataset = xr.Dataset(fields | {"bed": (("y", "x"), 0.1 * i)}, coords)
    picture, image = drawn(FieldFile(tmp_path / "a.nc", dataset), 0, records=[0])
    assert isinstance(picture, FloodPicture) and labels(picture) == {
        "surface elevation (m), maximum over 0 to 1 h",
        "flood depth, initially < 0.3 m (m), maximum over 0 to 1 h",
    }
    assert np.ptp(image[:, :10], axis=(0, 1)).max() < 0.02 and not np.allclose(image[5, 0], image[5, 12], atol=0.1)
    late = dataset.assign(arrival_time_300mm=dataset["arrival_time_300mm"] + 1.0)
    for other in (late, dataset.drop_vars("arrival_time_300mm"), dataset.drop_vars("max_surface_elevation")):
        assert chosen(FieldFile(tmp_path / "a.nc", other), None, False) == "max_depth"


def test_plot_map_takes_the_threshold(tmp_path, monkeypatch):
    fields, seen = flood(tmp_path / "a.nc", thin=0.005), []
    monkeypatch.setattr("eagre.plots.maps.make_picture", lambda f, *a: seen.append(f.wet_depth) or make_picture(f, *a))
    plot_map(fields, tmp_path / "a.png", dpi=30)
    plot_map(fields, tmp_path / "a.png", dpi=30, wet_depth=0.2)
    assert seen == [0.01, 0.2] and fields.wet_depth == 0.01


def test_a_flume_of_waves_shows_its_bed(tmp_path):
    """Potential-flow waves store the still-water depth: the bed lies below z = 0."""
    x = np.linspace(0.0, 10.0, 50)
    still = (0.4 - 0.02 * x)[None, :]
    surface = 0.05 * np.sin(x)[None, None, :]
    data = {
        "surface_elevation": (("time", "y", "x"), surface, {"units": "m"}),
        "still_water_depth": (("y", "x"), still, {"units": "m"}),
    }
    fields = FieldFile(tmp_path / "a.nc", xr.Dataset(data, {"time": [0.0], "y": [0.0], "x": x}))
    picture = make_picture(fields, chosen(fields, None, False), [0])
    assert isinstance(picture, ProfilePicture)
    picture.draw(0)
    bed, water = (line.get_ydata() for line in picture.axes.lines)
    np.testing.assert_allclose(bed, -still[0])
    np.testing.assert_allclose(water, surface[0, 0])
    assert picture.limits[0] < -0.4 and len(picture.figure.axes) == 1


def test_waves_on_deep_water_have_a_panel_above_the_section(tmp_path):
    fields = flood(tmp_path / "a.nc", ny=1, wet=NX)
    picture = make_picture(fields, chosen(fields, None, False), [0, 1])
    picture.draw(1)
    waves, section = picture.figure.axes
    np.testing.assert_allclose(waves.lines[0].get_ydata(), 0.5)
    assert waves.get_ylim()[0] > -1.0 and section.get_ylim()[0] < -49.0
    assert waves.get_title(loc="left") == "Sea"
