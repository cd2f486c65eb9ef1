"""Time series from the tables that people have."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.io import read_series

DATA = Path(os.environ.get("EAGRE_DATA", Path(__file__).parents[3] / "shared" / "data")) / "monai_valley"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs the Monai valley data (EAGRE_DATA)")


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "series.csv"
    path.write_bytes(text.encode("utf-8"))
    return path


@pytest.mark.parametrize(
    ("unit", "seconds"),
    [("ms", 1e-3), *((unit, 1) for unit in ("s", "sec", "second", "seconds")),
     *((unit, 60) for unit in ("min", "minute", "minutes")),
     *((unit, 3600) for unit in ("h", "hr", "hrs", "hour", "hours")),
     *((unit, 86400) for unit in ("d", "day", "days"))],
)  # fmt: skip
def test_units_of_the_time_column(tmp_path, unit, seconds):
    series = read_series(write(tmp_path, f"time ({unit}),q\n0,1\n2,3\n"))
    assert series.times[-1] == pytest.approx(2.0 * seconds, rel=1e-14)


@pytest.mark.parametrize(
    "text",
    [
        "time,q\n0,1.5\n10,2.5\n",
        "time;q\r\n0;1.5\r\n10;2.5\r\n",
        "t; q\n0; 1,5\n10; 2,5\n",
        "time\tq\n0\t1.5\n10\t2.5\n",
        "time\tq\n0\t1,5\n10\t2,5\n",
        "  time   q\n   0.0   1.5\n  10.0   2.5\n",
        "\ufeff# a comment\n\nriver Thames\nTime (s),Q [m3/s]\n0,1.5\n# break\n10,2.5",
        '"time","q"\n"0","1.5"\n"10","2.5"\n',
        "0,1.5\n10,2.5\n",
        "time(s)     water flow(m3/s)\r\n0.0E+00\t1.5E+00\r\n1.0E+01\t2.5E+00\r\n",
        "q,time\n1.5,0\n2.5,10\n",
        "time (min),q\n0,1.5\n0.1666666666666666667,2.5\n",
    ],
)
def test_tables(tmp_path, text):
    series = read_series(write(tmp_path, text))
    np.testing.assert_allclose(series.times, [0.0, 10.0])
    np.testing.assert_allclose(series.values, [1.5, 2.5])
    assert series.name == str(tmp_path / "series.csv")


@pytest.mark.parametrize("value", ["ch7(cm)", "ch7", "CH7", "CH7(CM)"])
def test_column_by_name_with_or_without_its_unit(tmp_path, value):
    path = write(tmp_path, "time,ch5(cm),ch7(cm)\n0,1,2\n1,3,4\n")
    np.testing.assert_allclose(read_series(path, value=value, scale=0.01).values, [0.02, 0.04])


def test_time_column_by_name(tmp_path):
    path = write(tmp_path, "step,time (h),level\n1,0,5\n2,2,6\n")
    np.testing.assert_array_equal(read_series(path, value="level").times, [0.0, 7200.0])
    np.testing.assert_array_equal(read_series(path, time="step", value="level").times, [1.0, 2.0])


def test_several_columns_need_a_name(tmp_path):
    path = write(tmp_path, "time,a,b\n0,1,2\n")
    with pytest.raises(InputError, match="2 columns besides the time and no value") as error:
        read_series(path)
    assert (error.value.allowed, error.value.fix) == ("a, b", 'value = "a"')


def test_unknown_column_names_the_nearest(tmp_path):
    path = write(tmp_path, "time,discharge,level\n0,1,2\n")
    with pytest.raises(InputError, match="value = 'dischrge'") as error:
        read_series(path, value="dischrge")
    assert error.value.fix == 'value = "discharge"'
    with pytest.raises(InputError, match="time = 'hour'"):
        read_series(path, time="hour", value="level")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,q\n0,1\n\n1,\n", "line 4: nothing in column 'q'"),
        ("time,q\n0,1\n1\n", "line 3: nothing in column 'q'"),
        ("time,q\n0,1\n1,x2\n", "line 3: 'x2' in column 'q'"),
        ("time,q\n0,1\n1,nan\n", "line 3: 'nan' in column 'q'"),
        ("time q\n0 1\n1 -\n", "line 3: '-' in column 'q'"),
        ("time,q\n", "no row of numbers"),
        ("", "no row of numbers"),
        ("time,q,r\n0,1\n", "header in line 1 does not have 2 names"),
        ("time\n0\n1\n", "no column besides the time"),
        ("time,q\n0,1\n5,1\n5,2\n", "strictly increasing"),
        ("time (weeks),q\n0,1\n", "in 'weeks'(.|\n)*time \\(s\\)"),
        ("time,q\n2026-01-01T00:00,1\nlater,2\n", "line 3: 'later' as a date"),
        ("Zeit;q\n31.01.2026 00:00;1\n31.01.2026 01:00;1\n", "'31.01.2026 00:00' as a number or a date(.|\n)*ISO 8601"),
        ("time,q\n01/31/2026 12:00 AM,1\n", "'01/31/2026 12:00 AM' as a number or a date"),
        ("time,q\n00:00,1\n06:00,2\n", "'00:00' as a number or a date"),
        (
            "time,q\n0,1\n60,-999\n90,-999\n",
            "-999 in 2 of 3 rows, the first at t = 60 s .row 1.",
        ),
    ],
)
def test_faults_say_where(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as error:
        read_series(write(tmp_path, text))
    assert "series.csv" in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "date,q\n2026-01-31T23:00,1\n2026-02-01T00:30,2\n",
        "date,q\n2026-01-31 23:00,1\n2026-02-01 00:30,2\n",
        "date q\n2026-01-31 23:00 1\n2026-02-01 00:30 2\n",
        "date,q\n2026-01-31T23:00:00Z,1\n2026-02-01T01:30:00+01:00,2\n",
    ],
)
def test_dates(tmp_path, text):
    path = write(tmp_path, text)
    np.testing.assert_array_equal(read_series(path).times, [0.0, 5400.0])
    np.testing.assert_array_equal(read_series(path, start="2026-01-31").times, [82800.0, 88200.0])
    with pytest.raises(InputError, match="start = 'soon'"):
        read_series(path, start="soon")


@pytest.mark.parametrize("scale", [0, float("nan"), "cm"])
def test_scale(tmp_path, scale):
    with pytest.raises(InputError, match="scale = "):
        read_series(write(tmp_path, "time,q\n0,1\n"), scale=scale)


def test_missing_file(tmp_path):
    write(tmp_path, "time,q\n0,1\n")
    with pytest.raises(InputError, match="no such file") as error:
        read_series(tmp_path / "serie.csv")
    assert "series.csv" in error.value.fix


def test_a_series_that_ends_early_is_named(tmp_path):
    series = read_series(write(tmp_path, "time,q\n0,1\n100,2\n"))
    series.covers(0.0, 100.0)
    with pytest.raises(InputError, match=r"series.csv from 0 s to 100 s for a run from 0 s to 200 s"):
        series.covers(0.0, 200.0)


def test_a_series_of_rounded_days_shows_how_much_is_missing(tmp_path):
    """600 s are 0.006944 d and a bit: with six digits both ends would read 600 s."""
    series = read_series(write(tmp_path, "time (d),q\n0,1\n0.00694444,2\n"))
    with pytest.raises(InputError, match=r"from 0 s to 599\.9996\d* s for a run from 0 s to 600 s") as error:
        series.covers(0.0, 600.0)
    end = float(error.value.fix.split("=")[1].split(",")[0])
    series.covers(0.0, end)
    assert end == pytest.approx(600.0, abs=1e-3)


def test_many_rows(tmp_path):
    times = np.arange(50_000) * 0.05
    path = tmp_path / "a.csv"
    np.savetxt(path, np.stack([times, np.sin(times)], 1), delimiter=",", header="time,eta", comments="", fmt="%.10g")
    series = read_series(path)
    np.testing.assert_allclose(series.values, np.sin(times), atol=1e-9)


@needs_data
def test_monai_wave():
    series = read_series(DATA / "Benchmark_2_input.txt")
    assert series.times.size == 451
    np.testing.assert_allclose(series.times[[0, 1, -1]], [0.0, 0.05, 22.5])
    np.testing.assert_allclose(series.values[[0, -1]], [-1.19e-5, 1.0451e-3])


@needs_data
@pytest.mark.parametrize(("gauge", "last"), [("ch5", -0.916), ("ch7(cm)", -0.675), ("ch9", -0.525)])
def test_monai_gauges(gauge, last):
    series = read_series(DATA / "output_ch5-7-9.txt", value=gauge, scale=0.01)
    assert series.times.size == 3992 and series.times[-1] == 199.55
    assert series.values[-1] == pytest.approx(0.01 * last)


# --- NetCDF


def write_nc(path: Path, units: str | None, **more) -> Path:
    import xarray as xr

    data = xr.Dataset({"q": ("time", [1.0, 2.0]), "n": ((), 3), **more}, coords={"time": [10.0, 12.0]})
    if units:
        data.time.attrs["units"] = units
    data.to_netcdf(path, engine="h5netcdf")
    return path


@pytest.mark.parametrize(
    ("units", "start", "times"),
    [
        (None, None, [10, 12]),
        ("s", None, [10, 12]),
        ("h", None, [36000, 43200]),
        ("hours since 2026-01-01", None, [0, 7200]),
        ("hours since 2026-01-01", "2026-01-01T09:00", [3600, 10800]),
    ],
)
def test_netcdf_times(tmp_path, units, start, times):
    series = read_series(write_nc(tmp_path / "a.nc", units), start=start, scale=2.0)
    np.testing.assert_allclose(series.times, times)
    np.testing.assert_array_equal(series.values, [2.0, 4.0])


def test_netcdf_choice(tmp_path):
    path = write_nc(tmp_path / "a.nc", None, level=("time", [3.0, 4.0]))
    with pytest.raises(InputError, match="2 one-dimensional variables and no value"):
        read_series(path)
    np.testing.assert_array_equal(read_series(path, value="level").values, [3.0, 4.0])
    with pytest.raises(InputError, match=r"'levl'(.|\n)*value = .level."):
        read_series(path, value="levl")
    with pytest.raises(InputError, match="no times 'hour'"):
        read_series(path, value="level", time="hour")


def test_decimal_commas_after_whole_numbers(tmp_path):
    """The first row, of a hydrograph that starts at rest, has no comma."""
    series = read_series(write(tmp_path, "t;q\n0;0\n1;0,5\n2;1,5\n"))
    np.testing.assert_array_equal(series.values, [0.0, 0.5, 1.5])


def test_times_since_a_date_are_counted_from_the_start(tmp_path):
    """What the gauges of another run hold: model times that count from that run's date."""
    path = write(tmp_path, "time (h since 2026-01-01 00:00:00),eta (m)\n0,0\n12,1\n")
    np.testing.assert_array_equal(read_series(path, start="2026-01-01T06:00:00").times, [-21600.0, 21600.0])
    np.testing.assert_array_equal(read_series(path).times, [0.0, 43200.0])
    with pytest.raises(InputError, match="soon"):
        read_series(write(tmp_path, "time (s since soon),eta\n0,0\n1,1\n"))


@pytest.mark.parametrize("text", ["date,eta\n2026-01-01,0\n2026-01-02,1\n", "t (d since 2026-01-01),eta\n0,0\n1,1\n"])
def test_dates_without_a_start_can_be_refused(tmp_path, text):
    path = write(tmp_path, text)
    with pytest.raises(InputError, match="start_date = 2026-01-01T00:00:00"):
        read_series(path, need_start=True)
    assert read_series(path, need_start=True, start="2026-01-01").times.tolist() == [0.0, 86400.0]


def test_without_a_start_times_since_a_date_count_from_the_first_row(tmp_path):
    """As dates do; the line to write is the date of that row."""
    path = write(tmp_path, "t (h since 2026-01-01),eta\n5,0\n7,1\n")
    np.testing.assert_array_equal(read_series(path).times, [0.0, 7200.0])
    with pytest.raises(InputError, match="start_date = 2026-01-01T05:00:00"):
        read_series(path, need_start=True)


def test_the_scale_may_depend_on_the_unit_in_the_file(tmp_path):
    units = []
    scale = lambda unit: units.append(unit) or 2.0  # noqa: E731
    assert read_series(write(tmp_path, "t,q [l/s]\n0,1\n1,2\n"), scale=scale).values.tolist() == [2.0, 4.0]
    read_series(write(tmp_path, "t,q\n0,1\n1,2\n"), scale=scale)
    read_series(write_nc(tmp_path / "a.nc", "s"), scale=scale)
    assert units[:2] == ["l/s", ""] and len(units) == 3


@pytest.mark.parametrize("rows", ["0,-999\n60,-999\n", "0,-1100\n60,-999\n", "0,-998\n60,5\n"])
def test_values_that_are_meant_are_taken(tmp_path, rows):
    assert read_series(write(tmp_path, f"time,q\n{rows}")).values.min() <= -998.0
