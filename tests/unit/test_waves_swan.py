"""Spectral files of SWAN, written here after the description of the format in the user manual of SWAN (appendix D)."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.waves import read_directional_spectrum

FREQUENCY = np.array([0.08, 0.1, 0.125, 0.16, 0.2])
DEGREES = np.arange(0.0, 360.0, 45.0)
FACTOR = 2.5e-4
RANDOM = np.random.default_rng(7)
COUNTS = RANDOM.integers(0, 9999, (2, 3, FREQUENCY.size, DEGREES.size))  # by time and site
ROW = [(300.0, 50.0), (100.0, 50.0), (200.0, 50.0)]  # sites with one y, not in the order of x


def block(counts, width: int = DEGREES.size) -> list[str]:
    """The lines of the spectrum of one site, at most `width` numbers in each."""
    rows = [[f"{value:5d}" for value in row] for row in counts]
    lines = ["".join(row[k : k + width]) for row in rows for k in range(0, len(row), width)]
    return ["FACTOR", f"    {FACTOR:.8E}", *lines]


def swan(path, blocks, *, places=ROW, times=True, directions="NDIR", quantity="VaDens", degrees=DEGREES):
    """Write a file; `blocks` are the lines of each site at each time."""
    unit = {"VaDens": "m2/Hz/degr", "EnDens": "J/m2/Hz/degr"}[quantity]
    lines = [
        "SWAN   1                                Swan standard spectral file, version", "$   Data produced by SWAN",
        *(["TIME                                    time-dependent data", "     1         option"] if times else []),
        "LOCATIONS                               locations in x-y-space", f"{len(places):6d}      number of locations",
        *(f"  {x:.4f}  {y:.4f}" for x, y in places),
        "AFREQ                                   absolute frequencies in Hz", f"{FREQUENCY.size:6d}",
        *(f"  {f:.4f}" for f in FREQUENCY), f"{directions}    directions in degr", f"{degrees.size:6d}",
        *(f"  {one:.4f}" for one in degrees), "QUANT", "     1          number of quantities in table",
        f"{quantity}               densities", f"{unit}                     unit", "   -0.9900E+02     exception value",
    ]  # fmt: skip
    for number, sites in enumerate(blocks):
        lines += [f"20260101.{number:02d}0000                         date and time"] if times else []
        lines += [line for site in sites for line in site]
    path.write_text("\n".join(lines) + "\n")
    return path


def whole(path, **options):
    return swan(path, [[block(COUNTS[time, site]) for site in range(3)] for time in range(2)], **options)


def expected(counts, degrees_to):
    """Directions, rad, ascending from -pi, and densities, m2/(Hz rad)."""
    angles = np.mod(np.deg2rad(degrees_to) + np.pi, 2.0 * np.pi) - np.pi
    order = np.argsort(angles)
    return angles[order], (counts * FACTOR * 180.0 / np.pi)[:, order]


def check(spectrum, counts, degrees_to):
    angles, values = expected(counts, degrees_to)
    assert np.array_equal(spectrum.frequency, FREQUENCY)
    assert np.allclose(spectrum.direction, angles, rtol=0.0, atol=1e-12)
    assert np.allclose(spectrum.values, values, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize(("time", "site"), [(0, 0), (0, 1), (1, 2), (-1, -3)])
def test_sites_on_one_row_keep_the_order_of_the_file(tmp_path, time, site):
    found = read_directional_spectrum(whole(tmp_path / "sea.swn"), "swan", time=time, site=site)
    check(found, COUNTS[time, site], 270.0 - DEGREES)


def test_sites_on_a_lattice_keep_the_order_of_the_file(tmp_path):
    places = [(0.0, 0.0), (100.0, 0.0), (0.0, 50.0), (100.0, 50.0)]
    counts = RANDOM.integers(0, 9999, (4, FREQUENCY.size, DEGREES.size))
    path = swan(tmp_path / "sea.swn", [[block(one) for one in counts]], places=places)
    for site in range(4):
        check(read_directional_spectrum(path, "swan", site=site), counts[site], 270.0 - DEGREES)


def test_cartesian_directions_say_where_waves_go_to(tmp_path):
    path = whole(tmp_path / "sea.swn", directions="CDIR", degrees=DEGREES - 180.0)
    check(read_directional_spectrum(path, "swan"), COUNTS[0, 0], DEGREES - 180.0)


def test_energy_densities_are_divided_by_the_weight_of_water(tmp_path):
    found = read_directional_spectrum(whole(tmp_path / "sea.swn", quantity="EnDens"), "swan")
    check(found, COUNTS[0, 0] / (1025.0 * 9.81), 270.0 - DEGREES)


def test_stationary_compressed_and_wrapped_files(tmp_path):
    blocks = [[block(COUNTS[0, site], width=3) for site in range(3)]]
    path = swan(tmp_path / "sea.swn", blocks, times=False)
    check(read_directional_spectrum(path, "swan", site=2), COUNTS[0, 2], 270.0 - DEGREES)
    (tmp_path / "sea.swn.gz").write_bytes(gzip.compress(path.read_bytes()))
    check(read_directional_spectrum(tmp_path / "sea.swn.gz", "swan", site=1), COUNTS[0, 1], 270.0 - DEGREES)


def test_a_site_without_data_is_an_error_and_one_without_waves_is_not(tmp_path):
    path = swan(tmp_path / "sea.swn", [[["NODATA"], ["ZERO"], block(COUNTS[0, 2])]])
    with pytest.raises(InputError) as caught:
        read_directional_spectrum(path, "swan", site=0)
    line = 1 + path.read_text().splitlines().index("NODATA")
    for words in ("no spectrum at this site", f"NODATA in line {line}", "that time: 1, 2", "write:   site = 1"):
        assert words in str(caught.value)
    assert not read_directional_spectrum(path, "swan", site=1).values.any()
    check(read_directional_spectrum(path, "swan", site=2), COUNTS[0, 2], 270.0 - DEGREES)


def test_spectra_over_frequency_alone_are_rejected(tmp_path):
    text = whole(tmp_path / "sea.swn").read_text()
    header = text[: text.index("NDIR")]
    quantities = ("VaDens\nm2/Hz\n-99\n", "NDIR\ndegr\n-999\n", "DSPRDEGR\ndegr\n-9\n")
    rows = "0.1E+01 270.0 25.0\n" * FREQUENCY.size
    blocks = "".join(f"LOCATION  {site}\n{rows}" for site in (1, 2, 3))
    (tmp_path / "one.swn").write_text(f"{header}QUANT\n   3\n{''.join(quantities)}20260101.000000\n{blocks}")
    with pytest.raises(InputError) as caught:
        read_directional_spectrum(tmp_path / "one.swn", "swan")
    assert "1-D spectra of SWAN" in str(caught.value) and "SPEC2D" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[: len(text) // 2], "end of the file instead of"),
        (lambda text: text.replace("FACTOR", "FAKTOR", 1), "'FAKTOR' instead of FACTOR or ZERO or NODATA"),
        (lambda text: text.replace(f"{FACTOR:.8E}", "*****"), "'*****' instead of a factor"),
        (lambda text: text.replace(f"{FACTOR:.8E}", "-1.0"), "negative density"),
        (lambda text: text.replace("AFREQ", "1"), "instead of AFREQ or RFREQ"),
        (lambda text: text.replace("QUANT\n     1", "QUANT\n     2"), "2 quantities"),
        (lambda text: text.replace("     3      number", "  3000      number"), "'3000' as the number of locations"),
        (lambda text: text[: text.index("2026")], "time = 0"),
        (lambda text: "hello", "'HELLO' instead of SWAN"),
        (lambda text: "", "end of the file instead of SWAN"),
    ],
)
def test_damaged_files_are_rejected_with_the_line(tmp_path, change, words):
    path = whole(tmp_path / "sea.swn")
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError) as caught:
        read_directional_spectrum(path, "swan")
    assert words in str(caught.value), caught.value


@pytest.mark.parametrize(("options", "allowed"), [({"time": 2}, "0 to 1"), ({"site": -4}, "0 to 2")])
def test_times_and_sites_outside_of_the_file_are_rejected(tmp_path, options, allowed):
    with pytest.raises(InputError, match=allowed):
        read_directional_spectrum(whole(tmp_path / "sea.swn"), "swan", **options)
