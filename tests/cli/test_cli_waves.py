"""`eagre waves`: statistics of gauges, and the reflection along a line of them."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from eagre.cli.support import exits
from eagre.waves import wave_number

X = np.array([0.0, 0.7, 1.6])


@pytest.fixture
def gauges(tmp_path):
    """A regular wave of 0.1 m and a tenth of it that comes back, in both kinds of files."""
    t, k = np.arange(0.0, 60.0, 0.05), float(wave_number(np.pi, depth=0.8))
    eta = 0.02 + np.stack([0.05 * np.cos(k * x - np.pi * t) + 0.005 * np.cos(k * x + np.pi * t) for x in X], axis=1)
    names = ("station", np.array(["a", "b", "c"], dtype=object))
    data = {"surface_elevation": (("time", "station"), eta), "station_name": names, "x": ("station", X)}
    data |= {"y": ("station", 0.0 * X)}
    xr.Dataset(data, {"time": t}).to_netcdf(tmp_path / "gauges.nc", engine="h5netcdf")
    head = "time (s)," + ",".join(f"{name} surface_elevation (m)" for name in "abc")
    np.savetxt(tmp_path / "gauges.csv", np.column_stack([t, eta]), header=head, delimiter=",", comments="")
    return tmp_path


@pytest.mark.parametrize("ending", ["nc", "csv"])
def test_statistics_of_gauges(eagre, gauges, ending):
    done = eagre("waves", gauges / f"gauges.{ending}", "--from", "20 s", "--to", "50 s")
    assert done.code == 0, done.err
    assert "20 s to 50 s, every 0.05 s" in done.out
    assert eagre("waves", gauges / f"gauges.{ending}", "--from", "20", "--to", "50").out == done.out
    row = next(line.split() for line in done.out.splitlines() if line.split()[:1] == ["a"])
    assert float(row[1]) == pytest.approx(4.0 * 0.055 / np.sqrt(2.0), rel=0.01)  # Hs at a node of both
    assert float(row[4]) == pytest.approx(2.0, rel=0.01) and float(row[9]) == pytest.approx(0.02, rel=0.02)


def test_a_gauge_where_nothing_moves(eagre, gauges):
    """Its row has a level alone, those of the others stay; it has no spectrum."""
    with xr.open_dataset(gauges / "gauges.nc") as dataset:
        dataset = dataset.load()
    dataset["surface_elevation"][:, 1] = 1.35  # whose mean is not exactly itself
    dataset.to_netcdf(gauges / "still.nc", engine="h5netcdf")
    done = eagre("waves", gauges / "still.nc")
    assert done.code == 0, done.err
    rows = {line.split()[0]: line.split() for line in done.out.splitlines() if line.split()}
    assert rows["b"] == ["b", *["-"] * 8, "1.35", "0"] and float(rows["c"][1]) > 0.1
    done = eagre("waves", gauges / "still.nc", "--spectrum", gauges / "s.csv")
    assert done.code == exits.BAD_INPUT and "The water surface at gauge b does not move." in done.err


def test_reflection_along_a_line(eagre, gauges):
    done = eagre("waves", gauges / "gauges.nc", "--depth", 0.8)
    assert done.code == 0, done.err
    assert "reflection coefficient 0.100 from 3 gauges at x = 0 to 1.6 m" in done.out
    refused = eagre("waves", gauges / "gauges.csv", "--depth", 0.8)
    assert refused.code == exits.BAD_INPUT and 'file = "gauges.nc"' in refused.err


def written(folder, x, y: object = 0.0, seconds=60.0, **more):
    """A gauge file with a regular wave along x, 2 s long in time, without reflected waves."""
    t, k = np.arange(0.0, seconds, 0.05), float(wave_number(np.pi, depth=0.8))
    x = np.asarray(x)
    data = {"surface_elevation": (("time", "station"), 0.05 * np.cos(k * x - np.pi * t[:, None])), "x": ("station", x)}
    data |= {"y": ("station", np.asarray(y) + 0.0 * x)}
    data |= {"station_name": ("station", np.array([f"g{n}" for n in range(x.size)], dtype=object))}
    data |= {name: (("time", "station"), value + 0.0 * x + 0.0 * t[:, None]) for name, value in more.items()}
    xr.Dataset(data, {"time": t}).to_netcdf(folder / "line.nc", engine="h5netcdf")
    return folder / "line.nc"


def test_quality_of_the_separation(eagre, tmp_path):
    """Times from 0.03 s on, so that no whole number of periods is left, and gauges along x and along y."""
    done = eagre("waves", written(tmp_path, X, seconds=57.3), "--depth", 0.8, "--from", "0.33 s")
    assert done.code == 0, done.err
    assert (
        "reflection coefficient 0.000 from 3 gauges at x = 0 to 1.6 m; 100% of the variance used, residual 0.0%"
        in done.out
    )
    assert "do not fit" not in done.out
    across = eagre("waves", written(tmp_path, 0.0 * X, X), "--depth", 0.8)
    assert across.code == 0 and "gauges at y = 0 to 1.6 m" in across.out and "do not fit small waves" in across.out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"x": [0.0, 2.4247]}, "at 0% of the variance only"),
        ({"x": [0.0]}, "One gauge cannot separate"),
        ({"x": X, "y": X}, "are not in a line"),
        ({"x": X, "seconds": 6.0}, "too short"),
        ({"x": X, "depth": 1.2}, "differs from the given depth"),
        ({"x": X, "depth": np.array([0.8, 0.8, 0.5])}, "differs from the given depth"),
    ],
)
def test_gauges_that_cannot_separate_waves(eagre, tmp_path, line, words):
    done = eagre("waves", written(tmp_path, **line), "--depth", 0.8)
    assert done.code == exits.BAD_INPUT and words in " ".join(done.err.split()), done.err


def test_spectra_are_written_for_all_gauges(eagre, gauges):
    """Variance densities whose sum is the variance of the record, highest at the wave's frequency."""
    target = gauges / "spectra.csv"
    done = eagre("waves", gauges / "gauges.nc", "--spectrum", target)
    assert done.code == 0 and f"wrote {target}" in done.out, done.err
    with target.open() as stream:
        head = stream.readline().strip().split(",")
    assert head == ["frequency (Hz)", *(f"{name} variance density (m2/Hz)" for name in "abc")]
    table = np.loadtxt(target, delimiter=",", skiprows=1)
    width = table[1, 0] - table[0, 0]
    assert table[table[:, 1].argmax(), 0] == pytest.approx(0.5, abs=width)
    assert table[:, 1].sum() * width == pytest.approx(0.055**2 / 2.0, rel=0.02)
    again = eagre("waves", gauges / "gauges.nc", "--spectrum", target)
    assert again.code == exits.BAD_INPUT and "--overwrite" in again.err
    assert eagre("waves", gauges / "gauges.nc", "--spectrum", target, "--overwrite").code == 0
    assert "csv" in eagre("waves", gauges / "gauges.nc", "--spectrum", "spectra.nc").err


def test_what_is_refused(eagre, gauges, fake_case, tmp_path):
    for words, said in (
        (["--from", "59.9 s"], "16 or more"),
        (["--from", "2 m"], "--from"),
        (["-v", "depth"], "depth"),
    ):
        done = eagre("waves", gauges / "gauges.csv", *words)
        assert done.code == exits.BAD_INPUT and said in done.err
    assert eagre("run", fake_case(), "--overwrite").code == 0
    assert "holds no gauge series" in eagre("waves", tmp_path / "out.nc").err
