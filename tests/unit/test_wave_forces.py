"""Morison's formula on a vertical cylinder, and kinematics in the files of OpenFAST."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.io.writers.openfast import SeaStateFiles, SeaStateGrid, write_elevation
from eagre.waves import AiryWave, StreamFunctionWave, morison_force

# -- forces ---------------------------------------------------------------------------------------------------


def test_inertia_of_a_small_wave():
    """R. G. Dean and R. A. Dalrymple (1991), doi:10.1142/1232, chapter 8: of linear waves up to still water."""
    wave = AiryWave(0.2, 10.0, period=6.0)
    k, h, z = wave.wave_number, wave.depth, np.linspace(-10.0, 0.0, 41)
    t = 0.75 * wave.period  # the flow turns: all inertia
    u, rate = (np.stack(f(0.0, 0.0, z, t)[:2]) for f in (wave.velocity, wave.acceleration))
    found = morison_force(z, u, rate, 0.5, drag_coefficient=0.0, density=1025.0)
    mass = 1025.0 * math.pi * 0.25 * 0.5**2 * 2.0
    force = mass * 9.81 * 0.1 * math.tanh(k * h)
    moment = mass * 9.81 * 0.1 * (h * math.tanh(k * h) - (1.0 - 1.0 / math.cosh(k * h)) / k)
    assert found.force[0] == pytest.approx(force, rel=1e-5)
    assert found.moment[0] == pytest.approx(moment, rel=1e-5)
    assert found.drag[0] == 0.0 and abs(found.force[1]) < 1e-9 * force
    lifted = morison_force(z, u, rate, 0.5, drag_coefficient=0.0, density=1025.0, about=-4.0)
    assert lifted.moment[0] == pytest.approx(moment - 6.0 * force, rel=1e-5)


def test_drag_of_a_small_wave():
    """The same source: rho Cd D g H^2 / 16 (2 k h + sinh 2 k h) / sinh 2 k h at the crest."""
    wave = AiryWave(0.2, 10.0, period=6.0, direction=math.pi / 3.0)
    k, h, z = wave.wave_number, wave.depth, np.linspace(-10.0, 0.0, 41)
    u = np.stack(wave.velocity(0.0, 0.0, z, 0.0)[:2])
    found = morison_force(z, u, 0.0 * u, 0.5, drag_coefficient=1.2, density=1025.0)
    size = 1025.0 * 1.2 * 0.5 * 9.81 * 0.2**2 / 16.0 * (2.0 * k * h / math.sinh(2.0 * k * h) + 1.0)
    assert found.force == pytest.approx([size * 0.5, size * math.sqrt(0.75)], rel=1e-5)
    assert morison_force(z, -u, 0.0 * u, 0.5).drag == pytest.approx(-morison_force(z, u, 0.0 * u, 0.5).drag)


def test_a_steep_wave_up_to_its_surface():
    """Many times at once: levels that follow the surface give what each time gives alone, crest included."""
    wave = StreamFunctionWave(2.0, 10.0, period=6.0, eulerian_current=0.0)
    t = np.linspace(0.0, wave.period, 9)[:, None]
    share = np.linspace(0.0, 1.0, 31)
    z = (10.0 + wave.elevation(0.0, 0.0, t)) * share - 10.0
    u = np.stack(wave.velocity(0.0, 0.0, z, t)[:2])
    rate = np.stack(wave.material_acceleration(0.0, 0.0, z, t)[:2])
    found = morison_force(z, u, rate, 0.8)
    alone = morison_force(z[3], u[:, 3], rate[:, 3], 0.8)
    assert found.force.shape == (2, 9)
    assert found.force[:, 3] == pytest.approx(alone.force) and found.moment[:, 3] == pytest.approx(alone.moment)
    many = np.linspace(-10.0, wave.crest, 4001)
    along = np.asarray(wave.velocity(0.0, 0.0, many, 0.0)[0])
    assert found.drag[0, 0] == pytest.approx(1000.0 * 0.4 * np.trapezoid(along**2, many), rel=1e-5)


def test_inertia_of_still_levels_by_hand():
    """du/dt = 1 m/s2 over 2 m of a pile 1 m thick: Cm rho pi / 4 2 m, its arm 1 m."""
    ones = np.ones((2, 5)) * [[1.0], [0.0]]
    found = morison_force(np.linspace(0.0, 2.0, 5), 0.0 * ones, ones, 1.0, inertia_coefficient=1.5)
    assert found.inertia[0] == pytest.approx(1000.0 * math.pi / 4.0 * 1.5 * 2.0)
    assert found.moment[0] == pytest.approx(found.force[0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"z": [0.0, 1.0, 0.5]}, "do not increase"),
        ({"z": [0.0, 1.0]}, "z (2,)"),
        ({"velocity": np.full((2, 3), np.nan)}, "not finite"),
        ({"velocity": np.zeros((3, 3))}, "velocity (3, 3)"),
        ({"diameter": 0.0}, "diameter"),
        ({"drag_coefficient": -1.0}, "-1"),
    ],
)
def test_profiles_that_are_refused(change, said):
    given = {"z": [0.0, 0.5, 1.0], "velocity": np.zeros((2, 3)), "acceleration": np.zeros((2, 3)), "diameter": 1.0}
    with pytest.raises(InputError) as refused:
        morison_force(**{**given, **change})
    assert said in str(refused.value)


# -- OpenFAST -------------------------------------------------------------------------------------------------


def read_as_openfast(root, grid, steps):
    """What `UserWaves_Init` does: 13 lines skipped, then for each time, z and y a line of as many values as points."""
    nz, ny, nx = grid.shape
    fields = {}
    for suffix in ("Vxi", "Vyi", "Vzi", "Axi", "Ayi", "Azi", "DynP", "Elev"):
        lines = root.with_suffix(f".{suffix}").read_text().splitlines()[13:]
        planes = 1 if suffix == "Elev" else nz
        values = np.zeros((steps + 1, planes, ny, nx))
        for m in range(steps + 1):
            for k in range(planes):
                for j in range(ny):
                    values[m, k, j] = [float(word) for word in lines.pop(0).split()[:nx]]
        assert not lines
        fields[suffix] = values
    return fields


def test_kinematics_come_back_from_the_files(tmp_path):
    grid, wave, dt = SeaStateGrid(20.0, 5.0, 12.0, 3, 2, 4), AiryWave(1.0, 12.0, period=6.0, direction=0.3), 0.25
    x, y, z = grid.points()
    root = tmp_path / "waves" / "sea"
    with SeaStateFiles(root, grid, dt) as files:
        for t in dt * np.arange(5):
            pressure = wave.dynamic_pressure(x, y, z, t)
            pressure[3] = np.nan  # a point without water
            kinematics = np.stack(wave.velocity(x, y, z, t)), np.stack(wave.acceleration(x, y, z, t))
            files.write(*kinematics, pressure, wave.elevation(x, y, t))
    assert files.times == 5
    found = read_as_openfast(root, grid, 4)
    m, k, j, i = 2, 1, 2, 4  # the place by SeaState's own formulas
    place = -20.0 + 10.0 * i, -5.0 + 5.0 * j, 12.0 * (math.cos((3 - k) * math.pi / 6.0) - 1.0), dt * m
    assert found["Vxi"][m, k, j, i] == pytest.approx(float(wave.velocity(*place)[0]), rel=1e-6)
    assert found["Vzi"][m, k, j, i] == pytest.approx(float(wave.velocity(*place)[2]), rel=1e-6)
    assert found["Ayi"][m, k, j, i] == pytest.approx(float(wave.acceleration(*place)[1]), rel=1e-6)
    assert found["DynP"][m, k, j, i] == pytest.approx(float(wave.dynamic_pressure(*place)), rel=1e-6)
    assert found["Elev"][m, 0, j, i] == pytest.approx(float(wave.elevation(*place[:2], place[3])), rel=1e-6)
    assert (found["DynP"].reshape(5, -1)[:, 3] == 0.0).all()
    assert (grid.z[0], grid.z[-1]) == (pytest.approx(-12.0), 0.0)
    text = "\n".join(grid.input_lines("waves/sea", dt, 1.0))
    assert '"waves/sea"   WvKinFile' in text and "6   WaveMod" in text


def test_elevations_come_back_from_the_file(tmp_path):
    t = 0.1 * np.arange(50)
    path = write_elevation(tmp_path / "sea", t, np.sin(t))
    assert path.name == "sea.Elev"
    rows = [line.split() for line in path.read_text().splitlines() if not line.startswith("!")]
    assert np.array(rows, float) == pytest.approx(np.column_stack([t, np.sin(t)]), rel=1e-6)


@pytest.mark.parametrize("times", [[1.0, 2.0], [0.0, 1.0, 3.0], [0.0]])
def test_times_that_are_refused(tmp_path, times):
    with pytest.raises(InputError):
        write_elevation(tmp_path / "sea", times, np.zeros(len(times)))


@pytest.mark.parametrize("change", [{"nx": 1}, {"z_depth": 0.0}, {"x_half_width": math.nan}])
def test_grids_that_are_refused(change):
    given = {"x_half_width": 1.0, "y_half_width": 1.0, "z_depth": 1.0, "nx": 2, "ny": 2, "nz": 2}
    with pytest.raises(InputError) as refused:
        SeaStateGrid(**{**given, **change})
    assert next(iter(change)) in str(refused.value)


def test_fields_of_another_grid_are_refused(tmp_path):
    grid = SeaStateGrid(1.0, 1.0, 1.0, 2, 2, 2)
    with SeaStateFiles(tmp_path / "sea", grid, 0.1) as files, pytest.raises(InputError) as refused:
        files.write(np.zeros((3, 18)), np.zeros((3, 18)), np.zeros(17), np.zeros(9))
    assert "(17,)" in str(refused.value)
    with pytest.raises(InputError):
        SeaStateFiles(tmp_path / "sea", grid, 0.0)
