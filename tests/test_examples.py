"""Every example runs, at low resolution, and does what its first lines say; benchmarks find their parts."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from eagre.laboratory.cases.monai import BED_FILE, GAUGE_FILE, WAVE_FILE
from physics.test_monai import needs_monai_data

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
BENCHMARKS = EXAMPLES.parent / "benchmarks"


def run_case(name: str, folder: Path, *options: str, **lines: str) -> tuple[Path, str]:
    """Copy an example into `folder`, change keys of its case file, run it; its output folder and what it printed."""
    from typer.testing import CliRunner

    from eagre.cli.main import app

    shutil.copytree(EXAMPLES / name, folder / name, ignore=shutil.ignore_patterns("output"))
    case = folder / name / "case.toml"
    text = case.read_text()
    for key, value in lines.items():
        old = [line for line in text.splitlines() if line.startswith(f"{key} = ")]
        assert len(old) == 1, f"{key} in {case}: {old}"
        text = text.replace(old[0], f"{key} = {value}")
    case.write_text(text)
    result = CliRunner().invoke(app, ["run", str(case), "--device", "cpu", *options])
    assert result.exit_code == 0, result.output
    return folder / name / "output", result.output


def read_gauges(path: Path) -> dict[str, np.ndarray]:
    """Columns of a gauge file in CSV by their heads, without units."""
    heads = [head.split(" (")[0] for head in path.read_text().splitlines()[0].split(",")]
    return dict(zip(heads, np.loadtxt(path, delimiter=",", skiprows=1).T, strict=True))


def every_example() -> list[str]:
    """Names of the folders of examples."""
    return sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())


def test_every_example_is_tested_here():
    known = ["convective_boundary_layer", "dam_break", "demo", "double_gyre", "ensemble", "gyre_seasons"]
    known += ["harbour_seiche", "monai_valley", "rain_on_catchment", "storm_surge", "submerged_bar", "thacker_bowl"]
    known += ["tide", "valley_flood", "rising_thermal", "density_current", "mountain_wave", "decaying_turbulence"]
    known += [
        "cluster",
        "notebooks",
        "two_layer_jet",
        "shoal",
        "focused_group",
        "jonswap_sea",
        "river_groynes",
        "tidal_basin",
        "wind_seiche",
    ]
    assert every_example() == sorted(known)


def measured(folder: Path) -> Path:
    """Put the measured data of Monai Valley into a folder; skips the test where there are none."""
    for name in (BED_FILE, WAVE_FILE, GAUGE_FILE):
        shutil.copy(needs_monai_data() / name, folder)
    return folder


@pytest.mark.parametrize("case", sorted(EXAMPLES.glob("*/case.toml")), ids=lambda path: path.parent.name)
def test_case_file_is_valid_as_it_stands(case):
    from eagre.models.registry import load_case

    assert load_case(case).build(device="cpu").grid.cells > 0


def test_the_ground_heats_the_air_above_it(tmp_path):
    """At a fifth of the points along x and y, for a quarter of an hour: heat is that of the flux, plumes rise."""
    import xarray as xr

    smaller = {"nx": "16", "ny": "16", "levels": "21", "end_time": '"15 min"'}
    output, printed = run_case("convective_boundary_layer", tmp_path, **smaller)
    assert "anelastic" in printed
    with xr.open_dataset(output / "convection.nc", decode_times=False) as ds:
        warmer = ds["theta"].isel(time=-1).astype(float) - ds["theta"].isel(time=0).astype(float)
        levels = warmer.mean(("y", "x")).values
        rise = (levels.sum() - 0.5 * (levels[0] + levels[-1])) / (levels.size - 1)
        assert abs(rise / (0.2 * 900.0 / 1440.0) - 1.0) < 0.02
        assert float(ds["w"].isel(time=-1).max()) > 0.3


def test_a_density_current_reaches_the_front_of_the_benchmark(tmp_path):
    """At a quarter of the points along an axis; Straka et al. (1993): the front is at 15.5 km after 15 minutes."""
    import xarray as xr

    output, _ = run_case("density_current", tmp_path, nx="97", levels="33")
    with xr.open_dataset(output / "current.nc", decode_times=False) as ds:
        theta = ds["theta_perturbation"].squeeze("y").isel(time=-1)
        front = float(ds["x"].values[theta.isel(z=0).values < -1.0].max())
        assert abs(front - 15.4e3) < 1000.0
        assert -14.0 < float(theta.min()) < -6.0 and float(theta.max()) < 0.1
        deepest = ds["z"].values[(theta.values < -1.0).any(axis=1)].max()
    assert 1500.0 < deepest < 3500.0


def test_a_mountain_wave_is_that_of_linear_theory(tmp_path):
    """At half of the points along an axis: w of linear Boussinesq waves below the sponge, by a Fourier transform."""
    import xarray as xr

    output, _ = run_case("mountain_wave", tmp_path, nx="96", levels="46")
    with xr.open_dataset(output / "wave.nc", decode_times=False) as ds:
        x, z = ds["x"].values, ds["z"].values
        w = ds["w"].squeeze("y").isel(time=-1).values.astype(np.float64)
    fine = np.arange(-400e3, 400e3, 250.0)
    k = 2.0 * np.pi * np.fft.fftfreq(fine.size, 250.0)
    square = (0.01 / 10.0) ** 2 - k**2
    vertical = np.where(square > 0.0, np.sign(k) * np.sqrt(np.abs(square)), 1j * np.sqrt(np.abs(square)))
    hill = np.fft.fft(90.0 / (1.0 + (fine / 3e3) ** 2))
    near, low = np.abs(x) < 12e3, (z > 500.0) & (z < 8e3)
    exact = [np.interp(x, fine, np.fft.ifft(10j * k * hill * np.exp(1j * vertical * one)).real) for one in z]
    difference = (w - np.array(exact))[np.ix_(low, near)]
    assert np.sqrt((difference**2).mean()) < 0.3 * np.array(exact)[np.ix_(low, near)].std()


def test_a_thermal_rises_and_conserves_its_heat(tmp_path):
    """At half of the points along an axis: the bubble stays symmetric, and its heat and its maximum are conserved."""
    import xarray as xr

    output, _ = run_case("rising_thermal", tmp_path, nx="121", levels="101")
    with xr.open_dataset(output / "thermal.nc", decode_times=False) as ds:
        theta = ds["theta_perturbation"].squeeze("y").values.astype(np.float64)
        u, heights = ds["u"].squeeze("y").values, ds["z"].values
    np.testing.assert_allclose(theta[-1], theta[-1][:, ::-1], atol=0.05)
    np.testing.assert_allclose(u[-1], -u[-1][:, ::-1], atol=0.2)
    assert -0.2 < theta[-1].min() < theta[-1].max() < 2.2
    tops = [heights[(one > 0.5).any(axis=1)].max() for one in theta]
    assert tops[0] < 4000.0 and 7000.0 < tops[-1] < 9000.0 and (np.diff(tops) >= 0.0).all()
    density = (1.0 - 9.81 * heights / (1004.0 * 300.0)) ** 2.5  # relative, of isentropic air
    heat = [float((one.mean(axis=1) * density).sum()) for one in theta]
    np.testing.assert_allclose(heat, heat[0], rtol=0.02)


def test_demo_floods_the_town(tmp_path):
    import xarray as xr

    output, printed = run_case("demo", tmp_path, dx="80.0")
    assert "cpu" in printed
    with xr.open_dataset(output / "bay.nc", decode_times=False) as ds:
        assert ds.sizes["time"] == 61
        assert np.isfinite(ds["depth"]).all()
        land = ds["bed"] > 0
        assert float((ds["depth"].isel(time=0).where(land, 0.0)).max()) < 0.1
        assert int((ds["depth"].where(land, 0.0).max("time") > 0.5).sum()) > 20
        deepest = ds["depth"].max("time").values
    with xr.open_dataset(output / "maps.nc", decode_times=False) as maps:
        makefile = (EXAMPLES.parent / "Makefile").read_text()
        assert set(re.findall(r"maps\.nc(?: --variable (\w+))(?: --variable (\w+))?", makefile)) == {
            ("max_depth", ""), ("arrival_time_rise_100mm", ""), ("max_depth", "arrival_time_rise_100mm"),
        }  # fmt: skip
        assert {"max_depth", "arrival_time_rise_100mm"} <= set(maps.data_vars)
        assert maps.sizes["time"] == 1 and "crs" in maps and maps["max_depth"].attrs["grid_mapping"] == "crs"
        assert maps["max_depth"].attrs["cell_methods"] == "time: maximum"
        most, rose = maps["max_depth"].values[0], maps["arrival_time_rise_100mm"].values[0]
        assert (most[deepest > 0.02] >= deepest[deepest > 0.02]).all()
        assert np.nanmax(most - deepest) > 0.01  # between two records
        assert np.isnan(most).mean() > 0.1 and 0.0 < np.nanmin(rose) < np.nanmedian(rose) < 3600.0
        assert list(maps["hazard_class"].attrs["flag_values"]) == [1, 2, 3, 4, 5, 6]
    gauges = read_gauges(output / "gauges.csv")
    mouth = gauges["bay_mouth surface_elevation"]
    assert mouth.min() < -0.5 and 2.0 < mouth.max() < 8.0
    assert np.argmin(mouth[: np.argmax(mouth) + 1]) < np.argmax(mouth)
    assert gauges["town depth"].max() > 0.3


def test_demo_bed_and_wave_are_what_the_script_makes(script, tmp_path):
    import rasterio

    script("examples/demo/make_dem.py").main(tmp_path)
    assert (tmp_path / "wave.csv").read_text() == (EXAMPLES / "demo" / "wave.csv").read_text()
    with rasterio.open(tmp_path / "bay.tif") as made, rasterio.open(EXAMPLES / "demo" / "bay.tif") as kept:
        assert made.crs == kept.crs == "EPSG:32629"
        assert made.transform == kept.transform
        difference = np.abs(made.read(1) - kept.read(1))
    assert np.quantile(difference, 0.999) < 0.011
    assert (EXAMPLES / "demo" / "bay.tif").stat().st_size < 400_000


@pytest.mark.parametrize(
    ("cell_size", "precision"), [("0.8", "single"), pytest.param("4.0", "double", marks=pytest.mark.nojit)]
)
def test_dam_break_stays_round_and_keeps_its_water(tmp_path, cell_size, precision):
    import xarray as xr

    output, _ = run_case("dam_break", tmp_path, "--precision", precision, dx=cell_size)
    with xr.open_dataset(output / "dam_break.nc", decode_times=False) as ds:
        depth = ds["depth"].values.astype(np.float64)
    volume = depth.sum(axis=(1, 2))
    np.testing.assert_allclose(volume, volume[0], rtol=1e-5)
    np.testing.assert_allclose(depth[-1], depth[-1].T, atol=1e-5)
    np.testing.assert_allclose(depth[-1], depth[-1][::-1], atol=1e-5)
    assert depth[-1].max() < 1.2 and depth[-1].min() > 0.0


def monai_commands() -> list[list[str]]:
    """Arguments of the commands for measured data in the first lines of the case of Monai Valley."""
    head = (EXAMPLES / "monai_valley" / "case.toml").read_text().split("\n\n")[0]
    lines = re.sub(r"\\\n# *", "", head).splitlines()
    return [shlex.split(line)[2:] for line in lines if line.startswith("#   eagre")]


def test_monai_valley_beside_its_measurement(tmp_path, monkeypatch):
    """The commands of the case for the measured bed, incident wave and gauges, on cells three times as large."""
    from typer.testing import CliRunner

    from eagre.cli.main import app

    folder = tmp_path / "examples" / "monai_valley"
    shutil.copytree(EXAMPLES / "monai_valley", folder, ignore=shutil.ignore_patterns("output"))
    measured(folder)
    monkeypatch.chdir(tmp_path)
    larger = ["--set", "grid.dx=0.042", "--set", "grid.extent=[0.0, 5.46, 0.0, 3.402]", "--device", "cpu"]
    run, plot = monai_commands()
    done = CliRunner().invoke(app, [*run, *larger])
    assert done.exit_code == 0, done.output
    gauges = read_gauges(folder / "output" / "gauges.csv")
    told = np.loadtxt(folder / "output_ch5-7-9.txt", skiprows=1)
    for k, name in enumerate(("ch5", "ch7", "ch9"), 1):
        apart = gauges[f"{name} surface_elevation"] - 0.01 * np.interp(gauges["time"], told[:, 0], told[:, k])
        assert np.sqrt((apart**2).mean()) < 0.006, name
    assert CliRunner().invoke(app, plot).exit_code == 0
    assert (folder / "output" / "gauges.png").stat().st_size > 10_000


def test_simplified_monai_valley_is_made_by_its_script_and_its_wave_runs_up(script, tmp_path):
    """On cells three times as large: at the gauges the trough arrives before the crest, which shoals from 1.6 cm."""
    import rasterio

    (tmp_path / "made").mkdir()
    script("examples/monai_valley/make_tank.py").main(tmp_path / "made")
    kept = EXAMPLES / "monai_valley"
    assert (tmp_path / "made" / "wave.csv").read_text() == (kept / "wave.csv").read_text()
    with rasterio.open(tmp_path / "made" / "tank.tif") as made, rasterio.open(kept / "tank.tif") as file:
        assert made.transform == file.transform
        np.testing.assert_allclose(made.read(1), file.read(1), atol=1.01e-4)  # m, one unit of the rounding
    output, _ = run_case("monai_valley", tmp_path, dx="0.042", extent="[0.0, 5.46, 0.0, 3.402]")
    gauges = read_gauges(output / "gauges.csv")
    for name in ("ch5", "ch7", "ch9"):
        surface, early = gauges[f"{name} surface_elevation"], gauges["time"] < 8.0
        assert np.abs(surface[early]).max() < 1e-3 and surface.min() < -0.01 and 0.016 < surface.max() < 0.08
        assert gauges["time"][surface.argmin()] < gauges["time"][surface.argmax()]


def test_double_gyre_is_symmetric_with_its_currents_in_the_west(tmp_path):
    """At a quarter of the points, for 60 days and without the asymmetric initial vorticity."""
    import xarray as xr

    smaller = {"nx": "65", "end_time": '"60 d"', "relative_vorticity": "0.0", "from": '"30 d"'}
    output, printed = run_case("double_gyre", tmp_path, **smaller)
    assert "points per Munk width; below 2" in printed and "Re = 54.55" in printed
    with xr.open_dataset(output / "double_gyre.nc", decode_times=False) as ds:
        assert ds.sizes["time"] == 7
        psi = ds["streamfunction"].isel(time=-1).values.astype(np.float64)
        speed = ds["speed"].isel(time=-1).values
    np.testing.assert_allclose(psi, -psi[::-1], atol=1e-4 * psi.max())
    sverdrup = 0.12 * np.pi / (1000.0 * 500.0 * 2e-11)  # length times curl / beta, m2/s
    assert 0.5 * sverdrup < psi.max() < 3.0 * sverdrup
    assert speed.max(axis=0).argmax() < 8
    assert np.isfinite(read_gauges(output / "gauges.csv")["jet velocity_x"]).all()
    with xr.open_dataset(output / "maps.nc", decode_times=False) as ds:
        mean, eddies = (ds[name].values[0] for name in ("mean_streamfunction", "eddy_kinetic_energy"))
    assert 0.0 < mean.max() < psi.max() and 0.0 < eddies.max() < 0.5 * speed.max() ** 2


def test_double_gyre_resolves_its_boundary_layer_and_has_eddies(tmp_path):
    """The note of the case as it stands; the jet meanders off the middle at a quarter of the points."""
    import xarray as xr

    from eagre.models.registry import load_case

    notes = " ".join(load_case(EXAMPLES / "double_gyre" / "case.toml").build(device="cpu").notes)
    assert "2.97 points per Munk width (" in notes
    output, _ = run_case("double_gyre", tmp_path, nx="65", end_time='"500 d"', time_step='"2 h"')
    with xr.open_dataset(output / "double_gyre.nc", decode_times=False) as ds:
        psi = ds["streamfunction"].isel(time=-1).values.astype(np.float64)
    assert np.abs(psi + psi[::-1]).max() > 0.2 * psi.max()
    with xr.open_dataset(output / "maps.nc", decode_times=False) as ds:
        mean = 0.5 * (ds["mean_velocity_x"].values[0] ** 2 + ds["mean_velocity_y"].values[0] ** 2)
        assert ds["eddy_kinetic_energy"].values[0].sum() > 0.3 * mean.sum()


def test_decaying_turbulence_keeps_its_energy_and_loses_its_enstrophy(tmp_path):
    """At half of the points along an axis: vortices grow, as the mean wavenumber sqrt(enstrophy / energy) falls."""
    import xarray as xr

    smaller = {"nx": "128", "time_step": '"30 min"', "end_time": '"40 d"', "biharmonic_viscosity": "1e9"}
    output, _ = run_case("decaying_turbulence", tmp_path, **smaller)
    with xr.open_dataset(output / "turbulence.nc", decode_times=False) as ds:
        zeta, psi = (ds[name].values.astype(np.float64) for name in ("relative_vorticity", "streamfunction"))
    energy, enstrophy = -(psi * zeta).mean(axis=(1, 2)), (zeta**2).mean(axis=(1, 2))
    assert 0.85 < energy[-1] / energy[0] < 1.0
    assert enstrophy[-1] < 0.5 * enstrophy[0]
    kurtosis = (zeta**4).mean(axis=(1, 2)) / enstrophy**2
    assert kurtosis[-1] > kurtosis[0]


def test_a_jet_in_two_layers_becomes_unstable(tmp_path):
    """At half of the points along an axis: the wave grows, and the lower layer, at rest at first, moves."""
    import xarray as xr

    output, _ = run_case("two_layer_jet", tmp_path, nx="96", ny="65", time_step='"1 h"')
    with xr.open_dataset(output / "jet.nc", decode_times=False) as ds:
        upper = ds["relative_vorticity"].values.astype(np.float64)
        lower = ds["relative_vorticity_lower"].values.astype(np.float64)
        assert ds["speed"].isel(time=0).values.max() == pytest.approx(0.6, rel=0.1)
    waves = (upper - upper.mean(axis=2, keepdims=True)).std(axis=(1, 2))
    assert waves[-1] > 10.0 * waves[0]
    assert lower[0].std() < 1e-9 and lower[-1].std() > 0.1 * upper[-1].std()


def test_transport_follows_the_seasons_of_the_wind(tmp_path):
    """About Sverdrup's transport, psi = (L - x) |curl| / beta, three times as much in winter as in summer."""
    output, printed = run_case("gyre_seasons", tmp_path, nx="65")
    assert "time-varying wind forcing" in printed
    gauges = read_gauges(output / "gauges.csv")
    time, curl, psi = (gauges[name] for name in ("time", "south wind_forcing", "south streamfunction"))
    days = 86400.0 * np.arange(731)
    factor = np.interp(time, days, 1.0 + 0.5 * np.cos(2.0 * np.pi * days / 3.15576e7))
    np.testing.assert_allclose(curl / curl[0], factor / 1.5, rtol=1e-5)
    settled = time > 200 * 86400.0
    psi, sverdrup = psi[settled], 1.5e6 * np.abs(curl[settled]) / 2e-11
    np.testing.assert_allclose(psi, sverdrup, rtol=0.25)
    assert np.corrcoef(psi, sverdrup)[0, 1] > 0.98 and psi.max() > 2.5 * psi.min()


def test_members_of_an_ensemble_are_what_they_are_alone(capsys, monkeypatch):
    """Four members on two workers; each equals a run of its own, to the last bit."""
    monkeypatch.syspath_prepend(EXAMPLES / "ensemble")  # the workers import the script by its name
    script = importlib.import_module("ensemble")
    found = script.ensemble(("cpu", "cpu"), points=33, end=2e-4)
    assert "Re = 1.6 on cpu: psi_max" in capsys.readouterr().out
    for reynolds, psi in zip(script.REYNOLDS, found, strict=True):
        assert np.array_equal(psi, script.member(reynolds, "cpu", 33, 2e-4)[0])
    assert not np.array_equal(found[0], found[1])


def test_rain_leaves_the_catchment_at_the_rate_it_falls(tmp_path):
    output, _ = run_case("rain_on_catchment", tmp_path)
    gauges = read_gauges(output / "gauges.csv")
    time, flow = gauges["time"], -20.0 * gauges["outlet discharge_y"]
    # The flow is steady, so 4.86 m3/s leave; the discharge of the last cell is not the flux through
    # its face: in a channel one cell wide with water falling in from both sides it reads 6 % less.
    assert flow[time == 5400.0] == pytest.approx(flow[time == 4800.0], rel=0.001)
    assert flow[time == 5400.0] == pytest.approx(4.86, rel=0.07)
    assert flow[-1] < 0.5 * 4.86
    lines = read_gauges(output / "cross_sections.csv")
    exact = 3e-6 * 1620.0 * 980.0  # of the rain north of the line
    assert lines["hydrograph discharge"][lines["time"] == 5400.0] == pytest.approx(exact, rel=0.002)
    assert 60.0 * np.nansum(lines["hydrograph discharge"]) == pytest.approx(lines["hydrograph volume"][-1], rel=1e-9)


def test_a_harbour_sloshes_more_than_the_sea_outside_and_its_stores_are_read(tmp_path):
    import xarray as xr

    pytest.importorskip("zarr", reason="pip install 'eagre[zarr]'")
    output, _ = run_case("harbour_seiche", tmp_path, nx="60", ny="40", dx="20.0")
    gauges = read_gauges(output / "gauges.csv")
    late = gauges["time"] > 700.0
    sea, head = (np.ptp(gauges[f"{name} surface_elevation"][late]) for name in ("sea", "head"))
    assert head > 2.0 * sea > 0.5
    with xr.open_zarr(output / "harbour.zarr") as ds, xr.open_zarr(output / "maps.zarr") as maps:
        assert {"surface_elevation", "depth", "velocity_x", "velocity_y"} <= set(ds.data_vars)
        assert str(ds["time"].values[-1])[:16] == "2026-01-31T06:20" and ds.sizes["time"] == 61
        highest = maps["max_surface_elevation"].isel(time=-1).sel(x=980.0, y=400.0, method="nearest")
        assert float(highest) >= float(ds["surface_elevation"].sel(x=980.0, y=400.0, method="nearest").max())


def test_tide_floods_the_flats_and_spares_the_island(tmp_path):
    import xarray as xr

    output, _ = run_case("tide", tmp_path, nx="60", ny="40", dx="200.0")
    with xr.open_dataset(output / "tide.nc", decode_times=False) as ds:
        depth = ds["depth"].values
        island = np.hypot(ds["x"].values - 5000.0, ds["y"].values[:, None] - 5000.0) < 800.0
        assert np.isfinite(depth).all()
        assert (depth[:, island] == 0.0).all()
        wet = (depth > 0.02).sum(axis=(1, 2))
        assert wet.max() > wet[0]
    gauges = read_gauges(output / "gauges.csv")
    assert 0.3 < gauges["mouth surface_elevation"].max() < 1.5
    with xr.open_dataset(output / "maps.nc", decode_times=False) as maps:
        found = {name: maps[name].values[0] for name in ("mean_velocity_x", "eddy_kinetic_energy", "max_speed")}
        fastest = maps["time_of_max_speed"].values[0]
    open_sea = depth[-1] > 2.0
    assert np.abs(found["mean_velocity_x"][open_sea]).max() < 0.5 * found["max_speed"][open_sea].max()
    assert (found["eddy_kinetic_energy"][open_sea] > 0.0).all()
    assert (found["max_speed"][island] == 0.0).all()
    assert (fastest[open_sea] >= 44712.0).all() and (fastest[open_sea] <= 89424.0).all()


def test_groynes_divert_the_whole_discharge_and_eddies_form_behind_them(tmp_path):
    """On cells twice as large: the discharge is that of the inflow in each section, the flow turns between groynes."""
    import xarray as xr

    output, _ = run_case("river_groynes", tmp_path, dx="10.0", time_step='"2 s"')
    sections = read_gauges(output / "cross_sections.csv")
    for name in ("upstream", "groyne"):
        assert sections[f"{name} discharge"][-1] == pytest.approx(350.0, rel=0.005), name
    with xr.open_dataset(output / "river.nc", decode_times=False) as ds:
        last = ds.isel(time=-1)
        fields = {"x": slice(660.0, 740.0), "y": slice(40.0, 100.0)}
        assert float(last["velocity_x"].sel(fields).min()) < -0.2
        channel = last["speed"].sel(y=slice(100.0, 200.0)).max("y")
        assert float(channel.sel(x=750.0, method="nearest")) > 1.2 * float(channel.sel(x=500.0, method="nearest"))
        middle = last["surface_elevation"].sel(x=[5.0, 1495.0], y=285.0, method="nearest").values
    assert 0.1 < middle[0] - middle[1] < 0.5


def test_a_tidal_basin_is_symmetric_and_its_flats_dry(tmp_path):
    """On cells twice as large: the volume through the inlet is that of the basin; creeks stay wet, flats do not."""
    import xarray as xr

    output, _ = run_case("tidal_basin", tmp_path, dx="200.0", time_step='"20 s"')
    with xr.open_dataset(output / "basin.nc", decode_times=False) as ds:
        depth, times = ds["depth"].astype(float), ds["time"].values
    np.testing.assert_allclose(depth.values, depth.values[:, ::-1], atol=1e-6)
    volume = 200.0**2 * depth.sel(x=slice(2400.0, None)).sum(("x", "y")).values
    inlet = read_gauges(output / "cross_sections.csv")
    through = np.interp(times, inlet["time"], inlet["inlet volume"])
    np.testing.assert_allclose(volume - volume[0], through, atol=1e-6 * np.ptp(volume))
    with xr.open_dataset(output / "maps.nc", decode_times=False) as maps:
        hours = maps["duration_100mm"].squeeze().astype(float) / 3600.0
        creek, flat = (float(hours.sel(x=4500.0, y=y, method="nearest")) for y in (3100.0, 5500.0))
    assert creek > 24.0 and 6.0 < flat < 20.0


@pytest.mark.slow  # its programs, which no other case has
def test_a_cyclone_piles_up_water_to_the_right_of_its_track(tmp_path):
    """Winds turn to the left around it, north of the equator: onshore on the right, offshore on the left."""
    output, _ = run_case("storm_surge", tmp_path)
    gauges = read_gauges(output / "gauges.csv")
    left, centre, right = (gauges[f"{name} surface_elevation"] for name in ("left", "landfall", "right"))
    assert 2.0 < right.max() < 6.0 and right.max() > centre.max() + 0.5 > left.max() + 1.0
    assert left.min() < -1.0 < -0.2 < right.min()
    assert 12.0 < gauges["time"][right.argmax()] / 3600.0 < 18.0  # the eye crosses the coast in the 15th hour


def test_a_levee_keeps_the_storm_in_the_town(tmp_path):
    """At twice the cell: water stands behind the levee, not as far south of the river; rain leaves in the west."""
    import xarray as xr
    from typer.testing import CliRunner

    from eagre.cli.main import app

    output, printed = run_case("valley_flood", tmp_path, dx="40.0")
    assert "m3 of rain" in printed
    with xr.open_dataset(output / "maps.nc") as maps:
        deepest = maps["max_depth"].squeeze()
        places = {"x": slice(500950.0, 501850.0), "y": slice(5301120.0, 5301240.0)}
        town, fields = deepest.sel(places), deepest.sel(places | {"y": slice(5300760.0, 5300880.0)})
        assert 0.3 < float(town.max()) < 1.0 and float(fields.max()) < 0.15
    with xr.open_dataset(output / "town.nc") as town, xr.open_dataset(output / "valley.nc") as valley:
        assert town.sizes["time"] == 25 and valley.sizes["time"] == 9
        assert 29 <= town.sizes["x"] <= 31 and valley.sizes["x"] == 38
    discharge = read_gauges(output / "cross_sections.csv")["outlet discharge"]
    assert np.isfinite(discharge[1:]).all() and 20.0 < discharge[1:].max() < 100.0 and discharge[1] < 1.0
    for name in ("flood.tif", "flood.geojson"):
        result = CliRunner().invoke(app, ["export", str(output / "maps.nc"), "-o", str(output / name)])
        assert result.exit_code == 0 and (output / name).stat().st_size > 500, result.output


def test_what_the_valley_reads_is_what_its_program_makes(tmp_path, script):
    import rasterio

    script("examples/valley_flood/make_data.py").main(tmp_path)
    for name in ("lower.tif", "upper.tif", "cover.tif"):
        with rasterio.open(tmp_path / name) as made, rasterio.open(EXAMPLES / "valley_flood" / name) as kept:
            assert made.crs == kept.crs and np.allclose(made.read(), kept.read(), atol=1e-3)
    kept = EXAMPLES / "valley_flood" / "levee.geojson"
    assert json.loads((tmp_path / "levee.geojson").read_text()) == json.loads(kept.read_text())


def harmonics(gauges: dict[str, np.ndarray], name: str, period: float, start: float, end: float) -> list[float]:
    """Amplitudes of the first two harmonics of the surface elevation at a gauge, m."""
    chosen = (gauges["time"] > start) & (gauges["time"] <= end)
    time, eta = gauges["time"][chosen], gauges[f"{name} surface_elevation"][chosen]
    return [2.0 * abs((eta * np.exp(2j * np.pi * n * time / period)).mean()) for n in (1, 2)]


def test_a_shoal_focuses_waves_on_its_axis(tmp_path):
    """At half of the points along an axis: waves keep their height before the shoal, harmonics grow at the focus."""
    import xarray as xr

    output, _ = run_case("shoal", tmp_path, nx="129", ny="17", end_time='"32 s"')
    gauges = read_gauges(output / "gauges.csv")
    before, focus = (harmonics(gauges, name, 2.0, 26.0, 32.0) for name in ("before", "focus"))
    assert before[0] == pytest.approx(0.0075, rel=0.1)
    assert before[1] < 0.1 * before[0] and focus[1] > 0.4 * focus[0]
    with xr.open_dataset(output / "shoal.nc", decode_times=False) as ds:
        heights = ds["significant_height"].isel(time=-1).sel(x=19.4, method="nearest").values
        eta = ds["surface_elevation"].isel(time=-1).values
    assert heights[8] > 2.0 * heights[[0, -1]].max()
    np.testing.assert_allclose(eta, eta[::-1], atol=1e-4)


def test_a_wave_group_focuses_at_its_place_and_time(tmp_path):
    """At half of the points: the highest crest is near x = 10 m and 18 s, and about as high as the linear one."""
    output, _ = run_case("focused_group", tmp_path, nx="241")
    gauges = read_gauges(output / "gauges.csv")
    crests = {name: gauges[f"{name} surface_elevation"] for name in ("x02", "x06", "x10", "x13")}
    assert max(crests, key=lambda name: crests[name].max()) == "x10"
    assert 0.05 < crests["x10"].max() < 0.075
    assert abs(gauges["time"][crests["x10"].argmax()] - 18.0) < 0.3
    assert crests["x02"].max() < 0.85 * crests["x10"].max()


def test_a_sea_is_highest_behind_a_shoal(tmp_path):
    """At half of the points along an axis."""
    import xarray as xr

    output, printed = run_case("jonswap_sea", tmp_path, nx="65", ny="49")
    assert "Hs = 1.168 m" in printed
    with xr.open_dataset(output / "sea.nc", decode_times=False) as ds:
        height = ds["significant_height"].isel(time=-1)
        behind = height.sel(x=slice(300.0, 380.0), y=slice(172.0, 212.0)).mean()
        before = height.sel(x=slice(120.0, 180.0)).mean()
    assert float(before) == pytest.approx(1.17, rel=0.2)
    assert float(behind) > 1.2 * float(before)


def test_a_bar_makes_short_waves_of_long_ones(tmp_path):
    """On a quarter of the points: the second harmonic before the bar and behind it, as a share of the first."""
    output, printed = run_case("submerged_bar", tmp_path, nx="161", end_time='"26.26 s"')
    assert "iterations" in printed and "zone in the west" in printed
    gauges, shares = read_gauges(output / "gauges.csv"), {}
    last = (gauges["time"] > 18.0) & (gauges["time"] <= 26.08)
    for name in ("x04", "x17"):
        time, eta = gauges["time"][last], gauges[f"{name} surface_elevation"][last]
        modes = [abs((eta * np.exp(2j * np.pi * n * time / 2.02)).mean()) for n in (1, 2)]
        shares[name] = modes[1] / modes[0]
        assert 0.005 < 2.0 * modes[0] < 0.015
    assert shares["x04"] < 0.25 and shares["x17"] > 2.0 * shares["x04"]


def test_thacker_bowl_returns_after_one_period(script, monkeypatch, tmp_path):
    bowl = script("examples/thacker_bowl/thacker_bowl.py")
    monkeypatch.setattr(bowl, "OUTPUT", tmp_path / "bowl.png")
    coarse, fine = bowl.main(30), bowl.main(60)
    assert fine < 0.06
    assert fine < 0.9 * coarse
    assert bowl.OUTPUT.stat().st_size > 10_000


def test_a_wind_seiche_has_the_set_up_and_the_period_of_linear_theory(script, monkeypatch, tmp_path):
    example = script("examples/wind_seiche/wind_seiche.py")
    monkeypatch.setattr(example, "OUTPUT", tmp_path / "output" / "seiche.png")
    assert example.main(50) < 0.05
    assert example.OUTPUT.stat().st_size > 10_000
    times, elevation = example.simulate(50)
    windy = (times > 1.2 * example.PERIOD) & (times < example.STOP)
    np.testing.assert_allclose(elevation[windy], example.SET_UP, rtol=0.03)  # half a cell before the end
    after, eta = times[times > example.STOP], elevation[times > example.STOP]
    k = np.flatnonzero((eta[:-1] > 0) & (eta[1:] <= 0))
    downward = after[k] + (after[k + 1] - after[k]) * eta[k] / (eta[k] - eta[k + 1])
    np.testing.assert_allclose(np.diff(downward), example.PERIOD, rtol=0.01)


@pytest.mark.parametrize("path", sorted(str(path.relative_to(BENCHMARKS)) for path in BENCHMARKS.rglob("*.py")))
def test_benchmarks_find_what_they_import(path, script, monkeypatch):
    for folder in (BENCHMARKS, (BENCHMARKS / path).parent):
        monkeypatch.syspath_prepend(str(folder))
    script(f"benchmarks/{path}")


def test_speed_is_printed_and_kept(script, tmp_path, monkeypatch, capsys):
    """A record is on disk as soon as its line is printed; another precision is added to it."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    speed = script("benchmarks/speed.py")
    kept = tmp_path / "kept.json"
    for precision in ("double", "single"):
        words = ["shallow-water", "--device", "cpu", "--sizes", "24", "--variants", "euler", "--precision", precision]
        monkeypatch.setattr("sys.argv", ["speed.py", *words, "--output", str(kept), "--commit", "abc"])
        speed.main()
    found = json.loads(kept.read_text())
    assert {record["precision"] for record in found} == {"single", "double"}
    assert all(record["shape"] == [24, 24] and record["commit"] == "abc" for record in found)
    assert capsys.readouterr().out.count("24 x 24") == len(found)
