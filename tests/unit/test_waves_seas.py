"""Irregular seas: what is generated has the height, period, spreading and direction that were asked."""

from __future__ import annotations

import gc
import math

import numpy as np
import pytest
from scipy import signal

from eagre.errors import InputError
from eagre.waves import (
    TMA,
    CosineSpreading,
    DirectionalSpectrum,
    FixedPoints,
    FocusedGroup,
    Jonswap,
    LinearWaves,
    NormalSpreading,
    PiersonMoskowitz,
    Sea,
    TabulatedSpectrum,
    WrappedNormalSpreading,
    from_nautical,
    read_directional_spectrum,
    to_nautical,
    wave_number,
)

HS, TP, DEPTH = 2.0, 8.0, 30.0


# -- spectra ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spectrum", [Jonswap(HS, TP), Jonswap(HS, TP, 7.0), PiersonMoskowitz(HS, TP), TMA(HS, TP, 3.3, depth=12.0)]
)
def test_spectra_have_their_height_and_peak(spectrum):
    f = np.geomspace(0.01, 20.0, 200001)
    assert np.trapezoid(spectrum.density(f), f) == pytest.approx(HS**2 / 16, rel=2e-5)
    assert f[np.argmax(spectrum.density(f))] * TP == pytest.approx(1.0, abs=2e-2 if isinstance(spectrum, TMA) else 1e-3)
    share = spectrum.moment(0) / (HS**2 / 16)
    assert 0.997 < share < 1.0
    assert spectrum.density(np.array([0.0])) == 0.0


def test_ratios_of_densities():
    """From the formulas by hand: the enhancement at the peak, and f^-5 above it."""
    low, high = PiersonMoskowitz(HS, TP), Jonswap(HS, TP, 3.3)
    ratio = high.density(1 / TP) / high.density(2 / TP)
    assert ratio == pytest.approx(3.3 * low.density(1 / TP) / low.density(2 / TP), rel=1e-12)
    assert low.density(1 / TP) == pytest.approx(5 / 16 * HS**2 * TP * math.exp(-1.25), rel=1e-6)
    shallow = TMA(HS, TP, 1.0, depth=5.0)
    k = float(wave_number(2 * np.pi * 0.05, 5.0))
    k_deep, dk = (2 * np.pi * 0.05) ** 2 / 9.81, 1e-5
    slope = (float(wave_number(2 * np.pi * (0.05 + dk), 5.0)) - float(wave_number(2 * np.pi * (0.05 - dk), 5.0))) / (
        2 * dk
    )
    slope_deep = 2.0 * k_deep / 0.05
    factor = (k**-3 * slope) / (k_deep**-3 * slope_deep)
    f = np.array([0.05, 1.0])
    change = shallow.density(f) / low.density(f)
    assert change[0] / change[1] == pytest.approx(factor, rel=1e-6)


def test_tabulated_spectrum_from_files(tmp_path):
    f = np.linspace(0.05, 0.5, 91)
    s = Jonswap(HS, TP).density(f)
    (tmp_path / "hz.csv").write_text("f (Hz),S (m2/Hz)\n" + "".join(f"{a},{b}\n" for a, b in zip(f, s, strict=True)))
    text = "".join(f"{2 * np.pi * a} {b / (2 * np.pi)}\n" for a, b in zip(f, s, strict=True))
    (tmp_path / "rad.txt").write_text("omega(rad/s) S(m2s)\n" + text)
    one, other = TabulatedSpectrum.read(tmp_path / "hz.csv"), TabulatedSpectrum.read(tmp_path / "rad.txt")
    assert np.allclose(one.values, s) and np.allclose(other.values, s) and np.allclose(other.frequency, f)
    assert one.density(0.01) == one.density(0.6) == 0.0
    assert Sea(one, DEPTH, count=100).significant_height == pytest.approx(4 * math.sqrt(np.trapezoid(s, f)), rel=1e-3)
    (tmp_path / "km.csv").write_text("f (km),S\n1,2\n3,4\n")
    with pytest.raises(InputError, match="1/s or rad/s"):
        TabulatedSpectrum.read(tmp_path / "km.csv")


HZ = {"f (Hz)": 1.0, "f [1/s]": 1.0, "f (kHz)": 1e-3, "f(mHz)": 1e3}
RADIANS = {"omega (rad/s)": 2 * np.pi, "w [rad s-1]": 2 * np.pi}
PER_HZ = {"S (m2/Hz)": 1.0, "S [m^2/Hz]": 1.0, "S (cm2/Hz)": 1e4, "S (mm\u00b2/Hz)": 1e6, "S (m2 Hz-1)": 1.0}
PER_RADIAN = {"S (m2 s/rad)": 1 / (2 * np.pi), "S (m2/(rad/s))": 1 / (2 * np.pi), "S (cm2 s/rad)": 1e4 / (2 * np.pi)}
HEADERS = [(a, b) for a in (HZ | RADIANS).items() for b in (PER_HZ | PER_RADIAN).items()]
HEADERS += [(a, ("S (m2 s)", 1.0)) for a in HZ.items()] + [(a, ("S (m2s)", 1 / (2 * np.pi))) for a in RADIANS.items()]


@pytest.mark.parametrize(("frequency", "density"), HEADERS, ids=str)
def test_units_in_the_header_of_a_spectrum(tmp_path, frequency, density):
    """The number in each column is that in Hz and m2/Hz times the factor of its unit, a row at f = 0 included."""
    rows = [(0.0, 0.0), (0.1, 2.0), (0.3, 1.0), (0.4, 0.0)]
    text = "".join(f"{f * frequency[1]!r};{s * density[1]!r}\n" for f, s in rows)
    (tmp_path / "s.csv").write_text(f"{frequency[0]};{density[0]}\n{text}", encoding="utf-8")
    spectrum = TabulatedSpectrum.read(tmp_path / "s.csv")
    assert np.allclose(spectrum.frequency, [0.0, 0.1, 0.3, 0.4], atol=1e-12)
    assert np.allclose(spectrum.values, [0.0, 2.0, 1.0, 0.0], atol=1e-12)
    m0 = 0.1 + 0.3 + 0.05  # three trapezoids
    sea = Sea(spectrum, DEPTH, count=60)
    assert sea.significant_height == pytest.approx(4.0 * math.sqrt(m0), rel=1e-3) and sea.energy_fraction > 0.999


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("f,S (m2/Hz)\n0.1,1\n0.2,2\n", ["'f' without a unit", "f (Hz),S (m2/Hz)"]),
        ("f (Hz),S\n0.1,1\n0.2,2\n", ["'S' without a unit", "m2 s/rad"]),
        ("0.1,1\n0.2,2\n", ["needs the units", "f (Hz),S (m2/Hz)"]),
        ("f (Hz),S (m/Hz)\n0.1,1\n0.2,2\n", ["the unit 'm/Hz'"]),
        ("T (s),S (m2/Hz)\n0.1,1\n0.2,2\n", ["the unit 's'"]),
        ("f (Hz),S (m2/Hz)\n-0.1,1\n0.2,2\n", ["A frequency is negative", "-0.1 Hz"]),
        ("f (Hz),S (m2/Hz)\n0.3,1\n0.2,2\n", ["do not increase", "0.2 Hz after 0.3 Hz"]),
    ],
)
def test_spectrum_tables_that_are_rejected(tmp_path, text, words):
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        TabulatedSpectrum.read(tmp_path / "s.csv")
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_directional_table_with_a_row_at_zero():
    angles, f = np.linspace(-np.pi, np.pi, 8, endpoint=False), np.array([0.0, 0.1, 0.2])
    spectrum = DirectionalSpectrum(f, angles, np.outer([0.0, 1.0, 0.0], np.ones(8)))
    assert Sea(spectrum, DEPTH, count=50).variance == pytest.approx(0.1 * 2.0 * np.pi, rel=1e-3)


# -- spreading --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spreading", "m1", "m2"),
    [
        (CosineSpreading(10.0), 10 / 11, 90 / 132),
        (CosineSpreading(1.0), 1 / 2, 0.0),
        (CosineSpreading(width=math.radians(25.0)), 1 - math.radians(25.0) ** 2 / 2, None),
        (WrappedNormalSpreading(0.4), math.exp(-0.08), math.exp(-0.32)),
        (WrappedNormalSpreading(1.5), math.exp(-1.125), math.exp(-4.5)),
        (NormalSpreading(0.3), math.exp(-0.045), math.exp(-0.18)),
    ],
)
def test_moments_of_spreadings(spreading, m1, m2):
    angle = np.linspace(-np.pi, np.pi, 4001)
    density = spreading.density(angle)
    assert np.trapezoid(density, angle) == pytest.approx(1.0, rel=1e-9)
    assert np.trapezoid(density * np.cos(angle), angle) == pytest.approx(m1, rel=1e-6)
    assert spreading.width == pytest.approx(math.sqrt(2 * (1 - m1)), rel=1e-5)
    if m2 is not None:
        assert np.trapezoid(density * np.cos(2 * angle), angle) == pytest.approx(m2, abs=1e-6)
    share = np.linspace(0.001, 0.999, 51)
    below = [np.trapezoid(spreading.density(a := np.linspace(-np.pi, q, 4001)), a) for q in spreading.quantile(share)]
    assert np.allclose(below, share, atol=1e-6)


def test_directions_of_the_compass():
    """Waves from the west go east; from the north, south."""
    assert np.allclose(from_nautical([270.0, 180.0, 225.0]), [0.0, np.pi / 2, np.pi / 4])
    assert abs(from_nautical(90.0)) == pytest.approx(np.pi)
    assert from_nautical(0.0) == pytest.approx(-np.pi / 2)
    degrees = np.array([0.0, 33.0, 271.0, 359.0])
    assert np.allclose(to_nautical(from_nautical(degrees)), degrees)


# -- what is generated --------------------------------------------------------------------------------


@pytest.mark.parametrize("bins", ["equal_energy", "equal_frequency"])
def test_variance_is_kept_by_the_bins(bins):
    spectrum = Jonswap(HS, TP)
    for band in (None, (0.1, 0.2)):
        sea = Sea(spectrum, DEPTH, count=50, bins=bins, band=band)
        assert sea.variance == pytest.approx(spectrum.moment(0, band), rel=1e-7)
        f = sea.angular_frequency / (2 * np.pi)
        assert sea.band[0] < f.min() and f.max() < sea.band[1]
        mean = np.sum(sea.amplitude**2 * f) / np.sum(sea.amplitude**2)
        tolerance = 1e-6 if bins == "equal_energy" else 5e-3
        assert mean == pytest.approx(spectrum.moment(1, band) / spectrum.moment(0, band), rel=tolerance)


def test_height_and_period_of_a_series():
    sea = Sea(Jonswap(HS, TP), DEPTH, count=1500)
    dt = 0.7
    eta = sea.elevation(3.0, -2.0, dt * np.arange(2**14))
    assert 4 * eta.std() == pytest.approx(HS, rel=0.03)
    f, density = signal.welch(eta, 1 / dt, nperseg=1024)
    assert f[np.argmax(density)] == pytest.approx(1 / TP, abs=1.5 * (f[1] - f[0]))
    near = (f > 0.08) & (f < 0.4)
    expected = Jonswap(HS, TP).density(f[near])
    assert np.sqrt(np.mean((density[near] - expected) ** 2)) < 0.1 * expected.max()


@pytest.mark.parametrize(
    ("spreading", "m2", "amplitudes"),
    [
        (CosineSpreading(10.0), 90 / 132, "deterministic"),
        (WrappedNormalSpreading(0.4), math.exp(-0.32), "deterministic"),
        (NormalSpreading(0.3), math.exp(-0.18), "deterministic"),
        (CosineSpreading(10.0), 90 / 132, "random"),
    ],
)
def test_directions_of_what_is_generated(spreading, m2, amplitudes, rng):
    """From slopes and rates of the surface at many places and times, not from the directions of the waves."""
    goes_to = 2.2
    sea = Sea(
        Jonswap(HS, TP),
        DEPTH,
        spreading=spreading,
        mean_direction=goes_to,
        count=400 if amplitudes == "deterministic" else 1000,
        amplitudes=amplitudes,
    )
    x, y, t = rng.uniform(-1e6, 1e6, (3, 8000))
    d = 0.05
    slope_x = sea.elevation(x + d, y, t) - sea.elevation(x - d, y, t)
    slope_y = sea.elevation(x, y + d, t) - sea.elevation(x, y - d, t)
    rate = sea.elevation(x, y, t + d) - sea.elevation(x, y, t - d)
    to = math.atan2(-np.mean(rate * slope_y), -np.mean(rate * slope_x))
    assert to == pytest.approx(goes_to, abs=0.05)
    along = slope_x * math.cos(goes_to) + slope_y * math.sin(goes_to)
    across = slope_y * math.cos(goes_to) - slope_x * math.sin(goes_to)
    found = (np.var(along) - np.var(across)) / (np.var(along) + np.var(across))
    assert found == pytest.approx(m2, abs=0.05)
    if amplitudes == "deterministic":
        assert 4 * np.std(sea.elevation(x, y, t)) == pytest.approx(HS, rel=0.02)


def test_no_two_waves_are_locked(rng):
    """The variance in time is the same everywhere; with two directions a frequency (a double sum) it is not."""
    sea = Sea(Jonswap(HS, TP), DEPTH, spreading=CosineSpreading(5.0), count=128)
    assert np.unique(sea.angular_frequency).size == 128
    omega = np.repeat(sea.angular_frequency[::16], 16)
    double = LinearWaves(
        amplitude=sea.amplitude, angular_frequency=omega, direction=sea.direction, phase=sea.phase, depth=DEPTH
    )
    t = rng.uniform(0.0, 1e8, 10000)
    places = rng.uniform(-200.0, 200.0, (10, 2))
    relative = [
        np.array([waves.elevation(x, y, t).var() for x, y in places]) / waves.variance for waves in (sea, double)
    ]
    assert np.abs(relative[0] - 1.0).max() < 0.06
    assert np.abs(relative[1] - 1.0).max() > 0.2


def test_seeds():
    args = {"spreading": CosineSpreading(8.0), "count": 40, "amplitudes": "random"}
    one = Sea(Jonswap(HS, TP), DEPTH, phase_seed=3, amplitude_seed=4, **args)
    same = Sea(Jonswap(HS, TP), DEPTH, phase_seed=3, amplitude_seed=4, **args)
    phases = Sea(Jonswap(HS, TP), DEPTH, phase_seed=5, amplitude_seed=4, **args)
    amplitudes = Sea(Jonswap(HS, TP), DEPTH, phase_seed=3, amplitude_seed=5, **args)
    assert one.seeds == (3, 4)
    for name in ("amplitude", "direction", "phase"):
        assert (getattr(one, name) == getattr(same, name)).all()
        assert (getattr(one, name) == getattr(phases, name)).all() == (name != "phase")
        assert (getattr(one, name) == getattr(amplitudes, name)).all() == (name == "phase")
    assert one.phase[:2] == pytest.approx([0.5381496, 1.4879243], abs=1e-6)


def test_random_amplitudes_are_rayleigh():
    """Their squares are exponential: mean and standard deviation are that of the bins."""
    sea = Sea(Jonswap(HS, TP), DEPTH, count=20000, amplitudes="random")
    squares = 0.5 * sea.amplitude**2 / (Jonswap(HS, TP).moment(0) / 20000)
    assert (np.mean(squares), np.std(squares)) == (pytest.approx(1.0, abs=0.03), pytest.approx(1.0, abs=0.05))


# -- kinematics -----------------------------------------------------------------------------------------


def waves_of_three(stretching="none", depth=6.0):
    return LinearWaves(
        amplitude=[0.3, 0.2, 0.1], angular_frequency=[1.0, 1.7, 2.5], direction=[0.2, -0.5, 2.0], phase=[0.0, 1.0, 2.0],
        depth=depth, stretching=stretching,
    )  # fmt: skip


@pytest.mark.parametrize("depth", [6.0, math.inf])
def test_sum_of_airy_waves(depth):
    from eagre.waves import AiryWave

    waves = waves_of_three(depth=depth)
    x, y, z, t = 1.3, -0.4, np.linspace(-3.0, 0.2, 9), np.linspace(0.0, 5.0, 9)
    parts = [
        AiryWave(2 * a, depth, period=2 * np.pi / w, direction=d, phase=p)
        for a, w, d, p in zip(waves.amplitude, waves.angular_frequency, waves.direction, waves.phase, strict=True)
    ]
    assert np.allclose(waves.elevation(x, y, t), sum(part.elevation(x, y, t) for part in parts), atol=1e-14)
    assert np.allclose(waves.surface_potential(x, y, t), sum(p.surface_potential(x, y, t) for p in parts), atol=1e-13)
    for name in ("potential", "velocity", "acceleration", "dynamic_pressure"):
        theirs = [np.array(getattr(part, name)(x, y, z, t)) for part in parts]
        assert np.allclose(getattr(waves, name)(x, y, z, t), sum(theirs), rtol=1e-12, atol=1e-12), name


def test_surface_potential_at_both_levels():
    waves = waves_of_three()
    t, d = np.linspace(0.0, 9.0, 50), 1e-3
    rate = (waves.surface_potential(1.0, 2.0, t + d) - waves.surface_potential(1.0, 2.0, t - d)) / (2 * d)
    assert np.allclose(rate, -9.81 * waves.elevation(1.0, 2.0, t), atol=1e-5)
    eta = waves.elevation(1.0, 2.0, t)
    k, w = waves.wave_number, waves.angular_frequency
    at = waves.amplitude * 9.81 / w * np.cosh(k * (eta[:, None] + 6.0)) / np.cosh(6.0 * k)
    theta = k * (np.cos(waves.direction) + 2.0 * np.sin(waves.direction)) - w * t[:, None] + waves.phase
    assert np.allclose(waves.surface_potential(1.0, 2.0, t, at="surface"), (at * np.sin(theta)).sum(axis=1), atol=1e-12)


def test_stretching():
    t = np.linspace(0.0, 9.0, 31)
    plain, wheeler, constant = (waves_of_three(name) for name in ("none", "wheeler", "constant"))
    eta = plain.elevation(0.0, 0.0, t)
    assert np.allclose(wheeler.velocity(0.0, 0.0, eta, t), plain.velocity(0.0, 0.0, 0.0, t), atol=1e-13)
    assert np.allclose(wheeler.velocity(0.0, 0.0, -6.0, t), plain.velocity(0.0, 0.0, -6.0, t), atol=1e-13)
    assert np.allclose(constant.velocity(0.0, 0.0, 0.5, t), plain.velocity(0.0, 0.0, 0.0, t), atol=1e-13)


def test_large_arrays_go_in_blocks(monkeypatch):
    import eagre.waves.linear as linear

    waves = waves_of_three()
    x, t = np.linspace(0.0, 50.0, 40)[:, None], np.linspace(0.0, 3.0, 7)
    whole = waves.elevation(x, 0.0, t)
    monkeypatch.setattr(linear, "_BLOCK", 10)
    assert whole.shape == (40, 7) and np.allclose(waves.elevation(x, 0.0, t), whole, atol=1e-15)


def test_fixed_points(monkeypatch):
    import eagre.waves.points as points

    sea = Sea(Jonswap(HS, TP), DEPTH, spreading=CosineSpreading(5.0), count=30)
    x, y = np.linspace(0.0, 80.0, 9), np.linspace(-5.0, 5.0, 3)[:, None]
    fixed = FixedPoints(sea, x, y)
    for t in (0.0, 123.4):
        eta, phi = fixed.surface(t)
        assert eta.shape == (3, 9)
        assert np.allclose(eta, sea.elevation(x, y, t), atol=1e-12)
        assert np.allclose(phi, sea.surface_potential(x, y, t), atol=1e-11)
    monkeypatch.setattr(points, "MAX_TABLE_BYTES", 16 * 100)
    with pytest.raises(InputError, match="27 points and 30 waves"):
        FixedPoints(sea, x, y)


# -- groups -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spreading", [None, CosineSpreading(10.0)])
def test_focused_group(spreading):
    group = FocusedGroup(
        Jonswap(HS, TP), DEPTH, crest_height=3.0, x=120.0, y=-40.0, t=60.0, spreading=spreading, mean_direction=0.7
    )
    assert group.elevation(120.0, -40.0, 60.0) == pytest.approx(3.0, rel=1e-12)
    t = 60.0 + np.linspace(-60.0, 60.0, 481)
    series = group.elevation(120.0, -40.0, t)
    assert np.argmax(series) == 240
    f = np.linspace(0.0625, 0.625, 20001)
    density = Jonswap(HS, TP).density(f)
    autocorrelation = [np.trapezoid(density * np.cos(2 * np.pi * f * (s - 60.0)), f) for s in t]
    assert np.allclose(series, 3.0 * np.array(autocorrelation) / np.trapezoid(density, f), atol=0.02)
    step = 15.0
    across = group.elevation(120.0 - 3 * step * math.sin(0.7), -40.0 + 3 * step * math.cos(0.7), 60.0)
    assert (across < 2.9) == (spreading is not None)
    ahead = [group.elevation(120.0 + step * s * math.cos(0.7), -40.0 + step * s * math.sin(0.7), 62.0) for s in (1, -1)]
    assert ahead[0] > ahead[1]


# -- spectra by direction ---------------------------------------------------------------------------------


def table_of(mean=0.5, s=10.0):
    f, d = np.linspace(0.05, 0.5, 60), np.deg2rad(np.arange(0.0, 360.0, 10.0))
    return f, d, Jonswap(HS, TP).density(f)[:, None] * CosineSpreading(s).density(d - mean)


def test_sea_of_a_directional_spectrum(rng):
    f, d, values = table_of()
    spectrum = DirectionalSpectrum(f, d, values)
    assert spectrum.density(0.2) == pytest.approx(Jonswap(HS, TP).density(0.2), rel=0.02)
    sea = Sea(spectrum, DEPTH, count=800)
    assert sea.significant_height == pytest.approx(HS, rel=0.01)
    weights = sea.amplitude**2
    vector = np.sum(weights * np.exp(1j * sea.direction)) / np.sum(weights)
    assert np.angle(vector) == pytest.approx(0.5, abs=0.01)
    assert abs(vector) == pytest.approx(10 / 11, abs=0.01)
    with pytest.raises(InputError, match="which defines the directions"):
        Sea(spectrum, DEPTH, spreading=CosineSpreading(2.0))


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the library leaves files open
@pytest.mark.parametrize(("kind", "name"), [("swan", "sea.swn"), ("ww3", "sea.nc")])
def test_directional_spectrum_of_a_wave_model(kind, name, tmp_path):
    """Needs the library; it writes the file that is read."""
    pytest.importorskip("wavespectra")
    import xarray as xr

    f, _, _ = table_of()
    degrees = np.arange(0.0, 360.0, 10.0)  # coming from, clockwise from north; the sea comes from 250
    values = Jonswap(HS, TP).density(f)[:, None] * CosineSpreading(10.0).density(np.deg2rad(degrees - 250.0))
    wind = {name: (("time", "site"), [[10.0]]) for name in ("wspd", "wdir", "dpt")}
    data = xr.Dataset(
        {
            "efth": (("time", "site", "freq", "dir"), np.deg2rad(values)[None, None]),
            "lat": ("site", [50.0]), "lon": ("site", [2.0]), **wind,
        },
        {"time": np.array(["2026-01-01"], "datetime64[ns]"), "site": [0], "freq": f, "dir": degrees},
    )  # fmt: skip
    getattr(data.spec, f"to_{kind}")(str(tmp_path / name))
    spectrum = read_directional_spectrum(tmp_path / name, kind)
    sea = Sea(spectrum, DEPTH, count=800)
    assert sea.significant_height == pytest.approx(HS, rel=0.01)
    vector = np.sum(sea.amplitude**2 * np.exp(1j * sea.direction))
    assert np.angle(vector) == pytest.approx(float(from_nautical(250.0)), abs=0.01)
    with pytest.raises(InputError, match="time = 3"):
        read_directional_spectrum(tmp_path / name, kind, time=3)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_file_that_holds_no_spectrum(tmp_path):
    """What the library raises then is of any kind."""
    pytest.importorskip("wavespectra")
    (tmp_path / "sea.txt").write_text("hello")
    with pytest.raises(InputError) as caught:
        read_directional_spectrum(tmp_path / "sea.txt", "ww3")
    assert "sea.txt, in which wavespectra finds no spectrum" in str(caught.value) and "swan" in str(caught.value)
    del caught
    gc.collect()  # the library leaves the file open: here, and not in the next test


def test_missing_library_is_told_with_the_line(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "wavespectra", None)
    (tmp_path / "sea.nc").write_text("CDF")
    with pytest.raises(InputError) as caught:
        read_directional_spectrum(tmp_path / "sea.nc", "ww3")
    assert "pip install 'eagre[spectra]'" in str(caught.value)


# -- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Jonswap(-1.0, 8.0), ["significant_height = -1.0", "> 0"]),
        (lambda: Jonswap(1.0, 8.0, 0.5), ["gamma = 0.5", "from 1"]),
        (lambda: PiersonMoskowitz(1.0, 8.0, 3.3), ["Jonswap"]),
        (lambda: TMA(1.0, 8.0), ["depth = nan"]),
        (lambda: TabulatedSpectrum([0.1, 0.1], [1.0, 1.0]), ["do not increase", "0.1 Hz after 0.1 Hz"]),
        (lambda: TabulatedSpectrum([0.1, 0.2], [-1.0, 1.0]), ["values", ">= 0"]),
        (lambda: CosineSpreading(), ["s = 10"]),
        (lambda: CosineSpreading(width=1.3), ["1.15 rad"]),
        (lambda: NormalSpreading(0.0), ["deviation = 0.0"]),
        (lambda: DirectionalSpectrum([0.1, 0.2], [0.0, 1.0], np.ones((2, 2))), ["2 directions", "three"]),
        (lambda: DirectionalSpectrum([0.1, 0.2], [0.0, 1.0, 2.0], np.ones((3, 2))), ["(3, 2)", "(2, 3)"]),
        (lambda: Sea(Jonswap(1.0, 8.0), 10.0, count=0), ["count = 0"]),
        (lambda: Sea(Jonswap(1.0, 8.0), 10.0, phase_seed=-1), ["phase_seed = -1"]),
        (lambda: Sea(Jonswap(1.0, 8.0), 10.0, bins="equal"), ["equal_energy, equal_frequency"]),
        (lambda: Sea(Jonswap(1.0, 8.0), 10.0, amplitudes="rayleigh"), ["deterministic, random"]),
        (lambda: Sea(Jonswap(1.0, 8.0), 10.0, band=0.2), ["band = 0.2", "two frequencies"]),
        (lambda: Sea(Jonswap(1.0, 8.0), 10.0, band=(0.3, 0.1)), ["band = (0.3, 0.1)", "lower one first"]),
        (lambda: Sea(TabulatedSpectrum([0.1, 0.2], [1.0, 1.0]), 10.0, band=(0.3, 0.5)), ["without energy"]),
        (lambda: LinearWaves(amplitude=[1, 2], angular_frequency=[1, 2, 3], depth=1.0), ["shapes"]),
        (lambda: LinearWaves(amplitude=[1.0], angular_frequency=[-1.0], depth=1.0), ["angular_frequency", "> 0"]),
        (lambda: LinearWaves(amplitude=1.0, angular_frequency=1.0, depth=1.0, stretching="no"), ["wheeler"]),
        (lambda: read_directional_spectrum("a.nc", "era5"), ['kind = "swan"']),
    ],
)  # fmt: skip
def test_errors_say_what_to_write(make, words):
    with pytest.raises(InputError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)
