"""`eagre plot` and `eagre animate`: pictures from small files, and rejected options."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib import colormaps
from matplotlib.animation import PillowWriter
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image, ImageSequence

from eagre.cli.support import exits
from eagre.errors import InputError
from eagre.plots import FieldFile, GaugeFile, open_results
from eagre.plots.animation import _ffmpeg, _writer
from eagre.plots.data.reading import read_observed
from eagre.plots.drawing.frames import colour_range
from eagre.plots.drawing.style import hillshade, nice_time
from eagre.plots.gauges import misfit
from eagre.plots.heights import ProfilePicture
from eagre.plots.maps import BRIGHT, CUT, DEEP, MapPicture, PerspectivePicture, bilinear


def make_fields(path, nx=30, ny=20, times=(0.0, 60.0, 120.0), units="s"):
    """Write a wave in front of a beach, east of which it is dry."""
    x, y = (np.arange(nx) + 0.5) * 10.0, (np.arange(ny) + 0.5) * 10.0
    bed = 0.05 * (x[None, :] - 200.0) + 0.2 * np.sin(y / 20.0)[:, None]
    time = np.asarray(times)
    wave = np.cos(x[None, None, :] / 30.0 - time[:, None, None] / 50.0)
    surface = np.maximum(wave + 0.0 * bed[None], bed[None])
    over_time = ("time", "y", "x")
    name = "surface elevation; the bed where dry"
    xr.Dataset(
        {
            "depth": (over_time, surface - bed, {"long_name": "water depth", "units": "m"}),
            "surface_elevation": (
                over_time,
                surface,
                {"long_name": name, "units": "m"},
            ),
            "discharge_x": (over_time, surface * 0.1, {"long_name": "unit discharge in x", "units": "m2 s-1"}),
            "bed": (("y", "x"), bed, {"units": "m"}),
        },
        coords={"time": ("time", time, {"units": units}), "x": ("x", x), "y": ("y", y)},
        attrs={"title": "Waves on a beach"},
    ).to_netcdf(path, engine="h5netcdf")
    return path


@pytest.fixture
def fields(tmp_path):
    """A file of fields."""
    return make_fields(tmp_path / "out.nc")


@pytest.fixture
def gauges(tmp_path):
    """A gauge file in CSV, as the writer makes it."""
    path = tmp_path / "gauges.csv"
    path.write_text(
        "time (s),pier depth (m),ch5 depth (m),pier speed (m s-1),ch5 speed (m s-1)\n0,1,2,0,0\n1,2,1,.1,.2\n"
    )
    return path


def colours(path) -> int:
    """Number of different colours in a picture."""
    with Image.open(path) as image:
        return len(image.convert("RGB").getcolors(maxcolors=10**7) or [])


def test_map_is_drawn(eagre, fields, tmp_path):
    done = eagre("plot", fields)
    assert done.code == 0, done.err
    assert done.out.strip() == f"wrote {tmp_path / 'out.png'}"
    with Image.open(tmp_path / "out.png") as image:
        assert image.width > 1000 and 500 < image.height < image.width
    assert colours(tmp_path / "out.png") > 500


@pytest.mark.parametrize("variable", ["depth", "surface_elevation", "discharge_x"])
@pytest.mark.parametrize("time", ["60 s", "first", "1.9 min", "120"])
def test_variables_and_times(eagre, fields, tmp_path, variable, time):
    target = tmp_path / "a.png"
    done = eagre("plot", fields, "-v", variable, "-t", time, "-o", target, "--dpi", 40)
    assert done.code == 0, done.err
    assert colours(target) > 100


@pytest.mark.parametrize("ending", ["pdf", "svg"])
def test_other_formats(eagre, fields, tmp_path, ending):
    assert eagre("plot", fields, "-o", tmp_path / f"a.{ending}").code == 0
    assert (tmp_path / f"a.{ending}").stat().st_size > 3000


def test_water_land_and_aspect(fields):
    results = open_results(fields)
    assert isinstance(results, FieldFile)
    picture = MapPicture(results, "depth", [0, 2])
    picture.draw(2)
    west, east, south, north = picture.axes.get_images()[0].get_extent()
    assert (west, east, south, north) == pytest.approx((0.0, 300.0, 0.0, 200.0))
    assert picture.axes.get_images()[0].origin == "lower"
    assert picture.axes.get_aspect() == 1.0
    image = np.asarray(picture.axes.get_images()[0].get_array())
    water, land = image[10, 5], image[10, -1]
    assert water[2] > water[0], "water is blue"
    assert land[0] > land[2], "land is brown"
    assert picture.axes.get_title(loc="left") == "Waves on a beach"
    texts = [text.get_text() for text in picture.axes.texts]
    assert "t = 2 min" in texts
    assert results.label("surface_elevation") == "surface elevation (m)"
    assert results.label("discharge_x") == "unit discharge in x (m$^{2}$ s$^{-1}$)"


def test_colours_span_the_wet_cells_of_all_records(fields):
    results = open_results(fields)
    assert isinstance(results, FieldFile)
    depth = colour_range(results, "depth", [0, 1, 2])
    assert (depth.vmin, depth.vmax) == pytest.approx((0.0, 11.0), abs=0.6)
    surface = colour_range(results, "surface_elevation", [0, 1, 2])
    assert surface.vmin is not None and surface.vmax is not None and surface.vmax < 2.5
    wet = results.wet(0)
    assert wet is not None
    centre = np.median(results.values("surface_elevation", 0)[wet])
    assert 0.5 * (surface.vmin + surface.vmax) == pytest.approx(centre)


@pytest.mark.parametrize("name", ["max_depth", "max_speed", "arrival_time_rise_100mm", "duration_300mm"])
def test_colours_of_what_is_never_below_0_begin_there(fields, tmp_path, name):
    with xr.open_dataset(fields, decode_times=False, engine="h5netcdf") as dataset:
        dataset.assign({name: dataset["depth"]}).to_netcdf(tmp_path / "maps.nc", engine="h5netcdf")
    found = colour_range(open_results(tmp_path / "maps.nc"), name, [0, 1, 2])
    assert found.vmin == 0.0 and found.vmax > 5.0


def test_row_order_of_the_file_does_not_matter(fields, tmp_path):
    with xr.open_dataset(fields, decode_times=False, engine="h5netcdf") as dataset:
        dataset.isel(y=slice(None, None, -1)).to_netcdf(tmp_path / "flipped.nc", engine="h5netcdf")
    one, other = open_results(fields), open_results(tmp_path / "flipped.nc")
    assert isinstance(one, FieldFile) and isinstance(other, FieldFile)
    np.testing.assert_array_equal(one.values("depth", 1), other.values("depth", 1))
    np.testing.assert_array_equal(one.bed(), other.bed())


def test_dates_and_bed_at_corners(tmp_path):
    path = make_fields(tmp_path / "a.nc", units="seconds since 2026-01-01 00:00:00")
    results = open_results(path)
    assert isinstance(results, FieldFile)
    assert results.date(1) == "2026-01-01 00:01:00"
    corners = np.arange(21)[:, None] + np.arange(31)[None, :] * 1.0
    dataset = results.dataset.drop_vars("bed").assign(bed_elevation=(("y_corner", "x_corner"), corners))
    np.testing.assert_allclose(FieldFile(path, dataset).bed(), (corners + 1.0)[:-1, :-1])


def test_runs_with_few_rows_become_profiles(eagre, tmp_path):
    path = make_fields(tmp_path / "thin.nc", ny=1)
    for variable in ("depth", "discharge_x"):
        assert eagre("plot", path, "-v", variable, "--dpi", 40).code == 0
        assert colours(tmp_path / "thin.png") > 20
    results = open_results(path)
    assert isinstance(results, FieldFile)
    picture = ProfilePicture(results, "depth", [0])
    picture.draw(0)
    surface = picture.axes.lines[1].get_ydata()
    np.testing.assert_allclose(surface[:10], results.values("surface_elevation", 0)[0, :10])


def test_gauges_with_observations(eagre, gauges, tmp_path):
    (tmp_path / "seen.txt").write_text("time(min)\tch5(cm)\tch6(cm)\n0\t150\t1\n0.01\t\t1\n0.02\t100\t1\n")
    done = eagre("plot", gauges, "-v", "depth", "--observed", tmp_path / "seen.txt", "--dpi", 50)
    assert done.code == 0, done.err
    assert colours(tmp_path / "gauges.png") > 50
    results = open_results(gauges)
    assert isinstance(results, GaugeFile)
    assert (results.names, list(results.values)) == (["pier", "ch5"], ["depth", "speed"])
    np.testing.assert_array_equal(results.values["depth"], [[1, 2], [2, 1]])
    assert results.labels["speed"] == "speed (m s$^{-1}$)"
    when, columns = read_observed(tmp_path / "seen.txt")
    np.testing.assert_allclose(when, [0.0, 0.6, 1.2])
    np.testing.assert_allclose(columns["ch5"], [1.5, np.nan, 1.0])
    assert misfit(results.times, results.values["depth"][:, 1], when, columns["ch5"]) == pytest.approx(0.5)


def test_gauges_in_netcdf(eagre, tmp_path):
    path = tmp_path / "gauges.nc"
    values = np.arange(6.0).reshape(3, 2)
    xr.Dataset(
        {"surface_elevation": (("time", "station"), values), "station_name": ("station", np.array(["a", "b"], object))},
        coords={"time": [0.0, 1.0, 2.0]},
    ).to_netcdf(path, engine="h5netcdf")
    results = open_results(path)
    assert isinstance(results, GaugeFile)
    assert results.names == ["a", "b"]
    np.testing.assert_array_equal(results.values["surface_elevation"], values)
    assert eagre("plot", path).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["out.nc", "-v", "dept"], ['did you mean "depth"', "--variable depth", "discharge_x"]),
        (["out.nc", "-t", "3 h"], ["0 s to 120 s"]),
        (["out.nc", "-t", "3 m"], ["not a unit of time"]),
        (["out.nc", "-o", "a.jpeg"], [".png", "-o a.png"]),
        (["out.nc", "--observed", "gauges.csv"], ["gauge file"]),
        (["gauges.csv", "-t", "1"], ["a file of fields"]),
        (["gauges.csv", "--perspective"], ["--perspective with a file of fields"]),
        (["gauges.csv", "--slice", "y = 0"], ["--slice with a file of fields on levels"]),
        (["gauges.csv", "-v", "dept"], ['did you mean "depth"']),
        (["gauges.csv", "--observed", "other.csv"], ["pier, ch5", "x"]),
        (["gauges.csv", "--observed", "bad.csv"], ["bad.csv, line 2"]),
        (["ot.nc"], ["there is no such file", "out.nc"]),
        (["broken.nc"], ["cannot be read"]),
        (["empty.nc"], ["fields over (time, y, x)"]),
    ],
)
def test_refused(eagre, fields, gauges, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.csv").write_text("time,x\n0,1\n")
    (tmp_path / "bad.csv").write_text("time,pier\n0,one\n")
    (tmp_path / "broken.nc").write_text("this is text")
    xr.Dataset({"a": ("n", [1.0])}).to_netcdf(tmp_path / "empty.nc", engine="h5netcdf")
    done = eagre("plot", *arguments)
    assert done.code == exits.BAD_INPUT, done.out
    for word in words:
        assert word in done.err


def test_missing_folder(eagre, fields, tmp_path):
    assert eagre("plot", fields, "-o", tmp_path / "nowhere" / "a.png").code == exits.NO_OUTPUT


def test_gif(eagre, fields, tmp_path):
    done = eagre("animate", fields, "--dpi", 40, "-v", "surface_elevation")
    assert done.code == 0, done.err
    with Image.open(tmp_path / "out.gif") as image:
        frames = [frame.convert("RGB").tobytes() for frame in ImageSequence.Iterator(image)]
    assert len(frames) == 3
    assert len(set(frames)) == 3
    done = eagre("animate", fields, "--dpi", 40, "--every", 2, "-o", tmp_path / "two.gif")
    with Image.open(tmp_path / "two.gif") as image:
        assert image.n_frames == 2 and image.info["duration"] == 100  # ms
    assert eagre("animate", fields, "--dpi", 40, "--every", 2, "--fps", 4, "-o", tmp_path / "slow.gif").code == 0
    with Image.open(tmp_path / "slow.gif") as image:
        assert image.info["duration"] == 250


def test_gif_is_small_and_keeps_its_colours(tmp_path):
    rng = np.random.default_rng(1)
    figure = Figure(figsize=(4.0, 3.0))
    axes = figure.add_subplot()
    axes.imshow(rng.uniform(0.0, 1.0, (150, 200, 3)))  # land in all colours
    figure.colorbar(ScalarMappable(cmap="RdBu"), ax=axes)
    mark = axes.add_patch(Rectangle((20, 20), 30, 30))
    sizes = {}
    for frames in (1, 12):
        target = tmp_path / f"{frames}.gif"
        writer = _writer(target, 10.0)
        with writer.saving(figure, str(target), 100):
            for frame in range(frames):
                mark.set(x=20 + 5 * frame, facecolor=colormaps["RdBu"](0.0))
                writer.grab_frame()
        sizes[frames] = target.stat().st_size
    assert sizes[12] < 1.5 * sizes[1]
    with Image.open(tmp_path / "12.gif") as image:
        for frame in ImageSequence.Iterator(image):
            colours = np.array([colour for _, colour in frame.convert("RGB").getcolors(10_000)])
            for wanted in (255, 255, 255), (103, 0, 31):  # paper; the first colour of the bar, in a small mark
                assert (
                    np.abs(colours - wanted).max(axis=1).min() <= 4
                )  # Pillow looks colours up by their upper six bits


@pytest.mark.skipif(_ffmpeg() is None, reason="needs ffmpeg; pip install 'eagre[video]'")
def test_mp4_has_the_frames(eagre, fields, tmp_path):
    done = eagre("animate", fields, "--dpi", 41, "-o", tmp_path / "a.mp4")
    assert done.code == 0, done.err
    count = ["-i", str(tmp_path / "a.mp4"), "-map", "0:v", "-f", "framehash", "-"]
    told = subprocess.run([_ffmpeg(), *count], capture_output=True, text=True, check=True).stdout
    hashes = [line.split(",")[-1] for line in told.splitlines() if not line.startswith("#")]
    assert len(hashes) == 3 and len(set(hashes)) == 3


def test_mp4_needs_ffmpeg(eagre, fields, tmp_path, monkeypatch):
    monkeypatch.setattr("eagre.plots.animation._ffmpeg", lambda: None)
    done = eagre("animate", fields, "-o", tmp_path / "a.mp4")
    assert done.code == exits.BAD_INPUT
    assert "ffmpeg" in done.err and "a.gif" in done.err


def test_animate_refuses_series_and_nonsense(eagre, fields, gauges, tmp_path):
    assert "eagre plot" in eagre("animate", gauges).err
    assert eagre("animate", fields, "-o", tmp_path / "a.png").code == exits.BAD_INPUT
    assert eagre("animate", fields, "--fps", 0).code == exits.BAD_INPUT


@pytest.mark.parametrize(
    ("seconds", "step", "text"),
    [
        (0.0, 0.0, "0.0 s"),
        (12.34, 0.05, "12.34 s"),
        (5.0, 1.0, "5 s"),
        (600.0, 60.0, "10 min"),
        (140.0, 20.0, "2 min 20 s"),
        (7500.0, 60.0, "2 h 05 min"),
        (100000.0, 3600.0, "1 d 3 h 46 min 40 s"),
    ],
)
def test_times_in_titles(seconds, step, text):
    assert nice_time(seconds, step) == text


def test_hillshade_is_lit_from_the_north_west():
    x, y = np.meshgrid(np.arange(20.0), np.arange(20.0))
    cone = -np.hypot(x - 9.5, y - 9.5)
    shade = hillshade(cone, 1.0, 1.0)
    assert shade[14, 5] > shade[5, 14] + 0.3
    np.testing.assert_allclose(hillshade(np.zeros((4, 5)), 1.0, 1.0), 0.78)
    assert hillshade(np.zeros((1, 5)), 1.0, 1.0).shape == (1, 5)


def test_file_without_records(tmp_path):
    path = make_fields(tmp_path / "a.nc", times=())
    with pytest.raises(InputError, match="without a record"):
        open_results(path)


# -- in perspective -------------------------------------------------------------------------------


def test_a_surface_in_perspective(eagre, fields, tmp_path):
    """Water, land beside it, and a moving picture; nothing else than the elevation is drawn so."""
    done = eagre("plot", fields, "--perspective", "-o", tmp_path / "a.png", "--dpi", 60)
    assert done.code == 0, done.err
    assert colours(tmp_path / "a.png") > 500
    assert eagre("animate", fields, "--perspective", "-o", tmp_path / "a.gif", "--dpi", 40).code == 0
    with Image.open(tmp_path / "a.gif") as image:
        assert len(list(ImageSequence.Iterator(image))) == 3
    done = eagre("plot", fields, "--perspective", "-v", "depth", "-o", tmp_path / "b.png")
    assert done.code == exits.BAD_INPUT and "-v surface_elevation" in done.err


def test_a_crest_hides_what_is_behind_it(tmp_path):
    """A wall of water from west to east: the trough behind it, to the north, is not seen; before it, it is."""
    x = np.arange(60.0)
    eta = 0.0 * x[:, None] + np.where(np.abs(x[:, None] - 20.0) < 3.0, 3.0, 0.0) * np.ones((1, 60))
    seen = {}
    for place in (25.0, 12.0):
        marked = np.where(np.abs(x[:, None] - place) < 1.5, -3.0, eta)
        path = tmp_path / f"{place}.nc"
        data = {"surface_elevation": (("time", "y", "x"), marked[None], {"units": "m"})}
        xr.Dataset(data, {"time": [0.0], "x": x, "y": x}).to_netcdf(path, engine="h5netcdf")
        picture = PerspectivePicture(open_results(path), "surface_elevation", [0])
        picture.draw(0)
        image = np.asarray(picture._image.get_array())
        middle = image[:, 500:600].reshape(-1, 3)
        seen[place] = int(((middle[:, 1] < 0.5 * (DEEP + BRIGHT)[1]) & (np.abs(middle - CUT).max(axis=1) > 0.02)).sum())
    assert seen[12.0] > 1.3 * seen[25.0]


def test_bilinear_by_hand():
    values = np.array([[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]])
    found = bilinear(values, np.array([0.5, 0.0, 3.0]), np.array([0.5, -1.0, 2.0]))
    assert found == pytest.approx([5.5, 0.0, 12.0])
    assert bilinear(np.stack([values] * 3, axis=-1), np.array([0.25]), np.array([1.0])).shape == (1, 3)


def make_profiles(path):
    """Write averages over height as a run of air does, with the bounds of their intervals."""
    times, z = np.array([60.0, 120.0, 180.0]), np.linspace(0.0, 800.0, 9)
    xr.Dataset(
        {
            "time_bounds": (("time", "bounds"), np.stack([times - 60.0, times], axis=1)),
            "air_share": ("z", np.ones(9)),
            "theta": (("time", "z"), 300.0 + 0.01 * times[:, None] + 0.003 * z, {"long_name": "theta", "units": "K"}),
            "variance_w": (("time", "z"), times[:, None] * np.sin(z / 255.0) ** 2, {"units": "m2 s-2"}),
        },
        coords={"time": ("time", times, {"units": "s"}), "z": ("z", z)},
        attrs={"title": "A layer", "featureType": "timeSeriesProfile"},
    ).to_netcdf(path, engine="h5netcdf")
    return path


def drawn_lines(monkeypatch):
    """Lines of the figures that are saved from now on: (x, y, label) each."""
    found, save = [], Figure.savefig

    def keep(figure, *arguments, **options):
        found.extend((line.get_xdata(), line.get_ydata(), line.get_label()) for line in figure.axes[0].lines)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", keep)
    return found


def test_profiles_are_drawn_over_height(eagre, tmp_path, monkeypatch):
    path, lines = make_profiles(tmp_path / "profiles.nc"), drawn_lines(monkeypatch)
    assert eagre("plot", path).code == 0 and (tmp_path / "profiles.png").stat().st_size > 5_000
    assert [label for _, _, label in lines] == ["t = 60.0 s", "t = 2 min", "t = 3 min"]
    np.testing.assert_array_equal(lines[1][0], 300.0 + 1.2 + 0.003 * np.linspace(0.0, 800.0, 9))
    np.testing.assert_array_equal(lines[1][1], np.linspace(0.0, 800.0, 9))
    lines.clear()
    assert eagre("plot", path, "-v", "variance_w", "-t", "2 min", "-o", tmp_path / "one.png").code == 0
    assert [label for _, _, label in lines] == ["t = 2 min"] and lines[0][0].max() == pytest.approx(120.0, rel=0.01)
    told = eagre("info", path).out
    assert "profiles at 9 heights, 0 to 800 m" in told and "theta (K): 301.8 to 304.2" in told


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-v", "thata"], ("did you mean", "--variable theta")),
        (["-v", "time_bounds"], ("time_bounds", "theta, variance_w")),
        (["-t", "3 h"], ("60 s to 180 s in profiles.nc", '--time "180 s"')),
        (["--observed", "measured.csv"], ("which holds profiles",)),
        (["--perspective"], ("--perspective with a file of fields",)),
    ],
)
def test_what_profiles_do_not_hold_is_refused(eagre, tmp_path, options, words):
    found = eagre("plot", make_profiles(tmp_path / "profiles.nc"), *options)
    assert found.code == exits.BAD_INPUT and not (tmp_path / "profiles.png").exists()
    assert all(word in found.err for word in words), found.err


def test_profiles_are_no_series_for_waves(eagre, tmp_path):
    found = eagre("waves", make_profiles(tmp_path / "profiles.nc"))
    assert found.code == exits.BAD_INPUT and "holds no gauge series" in found.err


def test_northings_are_written_out(tmp_path):
    """A power of ten over the axis would stand in the title."""
    path = make_fields(tmp_path / "utm.nc")
    with xr.open_dataset(path, decode_times=False) as ds:
        ds.load().assign_coords(y=ds["y"] + 5_300_000.0).to_netcdf(tmp_path / "north.nc", engine="h5netcdf")
    picture = MapPicture(open_results(tmp_path / "north.nc"), "depth", [0])
    picture.figure.draw_without_rendering()
    axis = picture.axes.yaxis
    assert axis.get_offset_text().get_text() == ""
    assert axis.get_majorticklabels()[1].get_text().startswith("5300")


NUMBERS = {"max_w": ("largest upward wind", "m s-1", [1.0, 3.0, 2.0]), "steps": ("steps", "1", [0.0, 10.0, 20.0])}


def make_numbers(path):
    """Write extremes over time as a run of air does."""
    times = [0.0, 10.0, 20.0]
    if path.suffix == ".csv":
        heads = [
            "time (s since 2026-01-31 06:00:00)",
            *(f"{name} ({units})" for name, (_, units, _) in NUMBERS.items()),
        ]
        rows = zip(times, *(values for _, _, values in NUMBERS.values()), strict=True)
        path.write_text("\n".join([",".join(heads), *(",".join(map(str, row)) for row in rows)]))
        return path
    numbers = {
        name: ("time", values, {"long_name": text, "units": units}) for name, (text, units, values) in NUMBERS.items()
    }
    coords = {"time": ("time", times, {"units": "seconds since 2026-01-31 06:00:00"})}
    xr.Dataset(numbers, coords=coords, attrs={"title": "Gusts"}).to_netcdf(path, engine="h5netcdf")
    return path


@pytest.mark.parametrize("ending", [".nc", ".csv"])
def test_numbers_of_no_place_have_a_panel_each(eagre, tmp_path, monkeypatch, ending):
    path, lines = make_numbers(tmp_path / f"maxima{ending}"), drawn_lines(monkeypatch)
    assert eagre("plot", path).code == 0
    assert lines[0][1].tolist() == [1.0, 3.0, 2.0] and lines[0][0].tolist() == [0.0, 10.0, 20.0]
    lines.clear()
    assert eagre("plot", path, "-v", "steps").code == 0
    assert len(lines) == 1 and lines[0][1].tolist() == [0.0, 10.0, 20.0]
    told = eagre("info", path).out
    assert ("largest upward wind (m s-1): 1 to 3" in told) if ending == ".nc" else ("max_w (m s-1)" in told)
    for options, words in (
        (["-v", "maxw"], ("did you mean", "--variable max_w")),
        (["-t", "10 s"], ("which holds scalar time series",)),
        (["--observed", "measured.csv"], ("which holds scalar time series",)),
    ):
        found = eagre("plot", path, *options)
        assert found.code == exits.BAD_INPUT and all(word in found.err for word in words), found.err
    found = eagre("waves", path)
    assert found.code == exits.BAD_INPUT and "holds no gauge series" in found.err


def make_spectra(path):
    """Write spectral densities over wave numbers as a run of air does; the first record has none."""
    k = {axis: np.arange(1.0, 5.0 + (axis == "y")) * 0.01 for axis in "xy"}
    z, along = np.array([100.0, 500.0]), {}
    for axis, numbers in k.items():
        values = np.array([0.0, 1.0])[:, None, None] * z[:, None] * numbers ** (-5.0 / 3.0)
        about = {"long_name": f"spectral density along {axis}", "units": "m3 s-2"}
        along[f"w_spectrum_{axis}"] = (("time", "z", f"wavenumber_{axis}"), values, about)
    coords = {"time": ("time", [0.0, 60.0], {"units": "s"}), "z": z} | {f"wavenumber_{axis}": k[axis] for axis in "xy"}
    xr.Dataset(along, coords=coords, attrs={"title": "Rolls"}).to_netcdf(path, engine="h5netcdf")
    return path


def test_spectra_are_drawn_over_wave_numbers(eagre, tmp_path, monkeypatch):
    path, lines = make_spectra(tmp_path / "spectra.nc"), drawn_lines(monkeypatch)
    assert eagre("plot", path).code == 0
    assert [label for _, _, label in lines] == ["z = 100 m", "z = 500 m"]
    np.testing.assert_allclose(lines[1][0], [0.01, 0.02, 0.03, 0.04])
    np.testing.assert_allclose(lines[1][1], 500.0 * lines[1][0] ** (-5.0 / 3.0))
    lines.clear()
    assert eagre("plot", path, "-v", "w_spectrum_y", "-t", "0", "-o", tmp_path / "one.png").code == 0
    assert lines[0][0].size == 5 and not np.isfinite(lines[0][1]).any()  # nothing has no logarithm
    told = eagre("info", path).out
    assert "spectra at 2 heights, 100 to 500 m" in told and "along x (m3 s-2): 2.137e+04 to 1.077e+06" in told
    for options, words in (
        (["-v", "w_spectrum"], ("did you mean", "w_spectrum_x, w_spectrum_y")),
        (["-t", "3 h"], ("0 s to 60 s in spectra.nc",)),
        (["--observed", "measured.csv"], ("which holds spectra",)),
    ):
        found = eagre("plot", path, *options)
        assert found.code == exits.BAD_INPUT and all(word in found.err for word in words), found.err


@pytest.mark.parametrize("command", ["plot", "animate"])
def test_pictures_that_cannot_be_written_leave_what_was_there(eagre, fields, tmp_path, monkeypatch, command):
    """A disk that is full in the middle: the older picture stays, nothing else does, and the message names the file."""
    target = tmp_path / ("out.png" if command == "plot" else "out.gif")
    target.write_bytes(b"older")
    before = sorted(path.name for path in tmp_path.iterdir())

    def fail(self, place, *arguments, **options):
        Path(place).write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(*((Figure, "savefig") if command == "plot" else (Image.Image, "save")), fail)
    done = eagre(command, fields, "--dpi", 40)
    assert done.code == exits.NO_OUTPUT, done.err
    assert target.name in done.err and "no space left" in done.err and "is untouched" in done.err
    assert target.read_bytes() == b"older" and sorted(path.name for path in tmp_path.iterdir()) == before


def test_an_animation_that_is_interrupted_leaves_what_was_there(eagre, fields, tmp_path, monkeypatch):
    (tmp_path / "out.gif").write_bytes(b"older")
    grab, count = PillowWriter.grab_frame, []

    def interrupt(self, **options):
        count.append(self)
        if len(count) == 3:
            raise KeyboardInterrupt
        grab(self, **options)

    monkeypatch.setattr(PillowWriter, "grab_frame", interrupt)
    for frames in (2, 0):
        count[:] = [None] * (2 - frames)
        done = eagre("animate", fields, "--dpi", 40)
        assert done.code == exits.INTERRUPTED, done.err
        assert (tmp_path / "out.gif").read_bytes() == b"older" and not list(tmp_path.glob(".out*"))


# -- derived fields, arrows, rasters, spectra -----------------------------------------------------


def make_flow(path):
    """Write depth and velocity of a pool on a slope."""
    with xr.open_dataset(make_fields(path), decode_times=False, engine="h5netcdf") as dataset:
        flow = dataset.load()
    about = {"units": "m s-1"}
    velocities = {f"velocity_{axis}": (("time", "y", "x"), 0.0 * flow["depth"].values + 0.3, about) for axis in "xy"}
    flow.drop_vars("discharge_x").assign(velocities).to_netcdf(path, engine="h5netcdf")
    return path


@pytest.mark.parametrize("name", ["speed", "discharge", "froude"])
def test_derived_fields_are_drawn(eagre, tmp_path, name):
    path = make_flow(tmp_path / "out.nc")
    assert eagre("plot", path, "-v", name, "--dpi", 40).code == 0
    assert eagre("animate", path, "-v", name, "--dpi", 40).code == 0
    assert "derived: speed, discharge, froude" in eagre("plot", path, "-v", "x").err


def test_arrows_and_wet_depth_are_options_of_both_commands(eagre, fields, tmp_path):
    path = make_flow(tmp_path / "flow.nc")
    sizes = {}
    for options in ((), ("--vectors",), ("--wet-depth", "5 m")):
        done = eagre("plot", path, "--dpi", 60, *options)
        assert done.code == 0, done.err
        sizes[options] = (tmp_path / "flow.png").read_bytes()
        assert eagre("animate", path, "--dpi", 40, "--every", 2, *options).code == 0
    assert len(set(sizes.values())) == 3
    for command in ("plot", "animate"):
        done = eagre(command, fields, "--vectors")
        assert (done.code, "no velocity components" in done.err) == (exits.BAD_INPUT, True), done.err
        done = eagre(command, fields, "--wet-depth", "-1 cm")
        assert (done.code, "threshold is negative" in done.err) == (exits.BAD_INPUT, True), done.err


@pytest.mark.parametrize("option", [["--vectors"], ["--wet-depth", "1 cm"]])
def test_options_of_maps_are_rejected_for_series(eagre, gauges, option):
    done = eagre("plot", gauges, *option)
    assert done.code == exits.BAD_INPUT and f"{option[0]} does not apply to series" in done.err, done.err


def test_a_spectrum_has_a_frequency_axis(eagre, tmp_path, monkeypatch):
    path = tmp_path / "spectrum.csv"
    path.write_text(
        "frequency (Hz),pier variance density (m2/Hz),ch5 variance density (m2/Hz)\n0,0,1\n0.5,2,3\n1,1,2\n"
    )
    figures = saved_figures(monkeypatch)
    assert eagre("plot", path).code == 0
    (figure,) = figures
    assert figure.axes[-1].get_xlabel() == "frequency (Hz)" and figure.axes[-1].get_xscale() == "log"
    assert figure.get_supylabel() == "variance density (m$^{2}$/Hz)"
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["pier", "ch5"]
    np.testing.assert_array_equal(figure.axes[1].lines[0].get_xydata(), [[0.5, 3.0], [1.0, 2.0]])
    done = eagre("plot", path, "--observed", path)
    assert done.code == exits.BAD_INPUT and "does not apply to spectra" in done.err


def test_theta_is_the_first_choice_of_profiles(eagre, tmp_path, monkeypatch):
    path = make_profiles(tmp_path / "profiles.nc")
    with xr.open_dataset(path, decode_times=False, engine="h5netcdf") as dataset:
        wind = dataset.load().assign(u=dataset["theta"] * 0.0)
    wind[["u", *(name for name in wind.data_vars if name != "u")]].to_netcdf(path, engine="h5netcdf")
    assert next(iter(open_results(path).values)) == "u"
    lines = drawn_lines(monkeypatch)
    assert eagre("plot", path).code == 0
    assert lines[0][0].min() > 300.0


def write_raster(path, crs, west=500_000.0, cell=10.0, bands=1):
    """Write a GeoTIFF with a gap in the north-west corner."""
    import rasterio

    values = np.arange(bands * 600.0).reshape(bands, 20, 30).astype(np.float32)
    values[:, 0, 0] = -9999.0
    about = {"driver": "GTiff", "height": 20, "width": 30, "count": bands, "dtype": "float32", "crs": crs}
    place = rasterio.Affine(cell, 0.0, west, 0.0, -cell, 50.0)
    with rasterio.open(path, "w", transform=place, nodata=-9999.0, **about) as file:
        file.write(values)
        if bands > 1:
            file.descriptions = ("water depth", "speed")
            file.units = ("m", "m s-1")
    return path


def saved_figures(monkeypatch):
    """Figures that are saved from now on."""
    found, save = [], Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: found.append(self) or save(self, *a, **k))
    return found


def test_rasters_are_drawn_with_coordinates_and_a_colour_bar(eagre, tmp_path, monkeypatch):
    figures = saved_figures(monkeypatch)
    path = write_raster(tmp_path / "bay.tif", "EPSG:32633")
    assert eagre("plot", path, "--dpi", 50).code == 0 and (tmp_path / "bay.png").exists()
    axes, bar = figures[0].axes
    assert axes.get_images()[0].get_extent() == pytest.approx((500_000.0, 500_300.0, -150.0, 50.0))
    assert (axes.get_xlabel(), axes.get_title(loc="left"), bar.get_ylabel()) == ("x (m)", "bay", "bay")
    assert axes.texts[0].get_text() == "", "a raster has no time"
    image = np.asarray(axes.get_images()[0].get_array())
    assert np.ptp(image[-1, 0]) < 0.02 and np.ptp(image[-1, 1]) > 0.02, "missing values are grey"
    (tmp_path / "a.asc").write_text("ncols 3\nnrows 2\nxllcorner 5\nyllcorner 7\ncellsize 2\n1 2 3\n4 5 6\n")
    assert eagre("plot", tmp_path / "a.asc").code == 0
    assert eagre("plot", tmp_path / "bay.tif", "-t", "1 s").code == exits.BAD_INPUT
    assert eagre("plot", tmp_path / "none.tif").code == exits.BAD_INPUT


def test_rasters_in_degrees_and_with_several_bands(eagre, tmp_path, monkeypatch):
    figures = saved_figures(monkeypatch)
    path = write_raster(tmp_path / "world.tif", "EPSG:4326", west=10.0, cell=0.1, bands=2)
    assert eagre("plot", path, "-v", "speed").code == 0
    axes, bar = figures[0].axes
    assert axes.get_xlabel() == "longitude (degrees)" and axes.get_ylabel() == "latitude (degrees)"
    assert axes.get_images()[0].get_extent()[:2] == pytest.approx((10.0, 13.0))
    assert (bar.get_ylabel() or bar.get_xlabel()) == "speed (m s$^{-1}$)"
    done = eagre("plot", path, "-v", "sped")
    assert done.code == exits.BAD_INPUT and "water depth, speed" in done.err
