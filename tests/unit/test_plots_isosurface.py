"""Isosurfaces: areas, volumes, orientation, and the vorticity of known winds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from eagre.errors import InputError
from eagre.plots import FieldFile, isosurface, open_results, plot_isosurface
from eagre.plots.isosurface import isosurface as triangles_of
from eagre.plots.isosurface import normals, parse_isosurface

RADIUS = 0.7


def points_of(count, width=1.0):
    """Coordinates along z, y and x, and the radius of the points; spacings differ and vary."""
    z, y, x = (width * np.linspace(-1.0, 1.0, count + more) for more in (0, 3, 5))
    z = z + 0.05 * np.sin(np.pi * z / width)
    return (z, y, x), np.sqrt(sum(one**2 for one in np.meshgrid(z, y, x, indexing="ij")))


def test_area_and_volume_of_a_sphere():
    axes, radius = points_of(56)
    triangles = triangles_of(-radius, -RADIUS, *axes)
    normal = normals(triangles)
    assert 0.5 * np.linalg.norm(normal, axis=1).sum() == pytest.approx(4.0 * np.pi * RADIUS**2, rel=1e-3)
    volume = np.sum(triangles[:, 0] * normal) / 6.0  # of the divergence theorem: positive for outward normals
    assert volume == pytest.approx(4.0 / 3.0 * np.pi * RADIUS**3, rel=2e-3)
    assert np.linalg.norm(triangles, axis=2) == pytest.approx(RADIUS, abs=2e-3)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_normals_point_to_lower_values(sign):
    """Of every triangle, outwards or inwards."""
    axes, radius = points_of(20)
    triangles = triangles_of(sign * radius, sign * RADIUS, *axes)
    along = np.sum(normals(triangles) * triangles.mean(axis=1), axis=1)
    assert (sign * along <= 0.0).all() and np.abs(along).max() > 0.0


def test_every_edge_of_a_closed_surface_belongs_to_two_triangles():
    """No gaps between tetrahedra, and neighbours have one orientation: each edge occurs once in each direction."""
    axes, radius = points_of(12)
    vertices = triangles_of(-radius, -RADIUS, *axes)
    _, index = np.unique(vertices.reshape(-1, 3).round(9), axis=0, return_inverse=True)
    index = index.reshape(-1, 3)
    edges = np.concatenate([index[:, [0, 1]], index[:, [1, 2]], index[:, [2, 0]]])
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert {tuple(edge) for edge in edges} == {tuple(edge[::-1]) for edge in edges}


def test_cells_without_values_have_no_triangles():
    axes, radius = points_of(20)
    values = -radius
    values[:, :, axes[2] < 0.0] = np.nan
    triangles = triangles_of(values, -RADIUS, *axes)
    assert triangles[..., 0].min() >= 0.0
    assert 0.5 * np.linalg.norm(normals(triangles), axis=1).sum() < 2.0 * np.pi * RADIUS**2


def write(path, **more):
    """A rotating column of water of vorticity 3 in x and 4 in z, and the radius."""
    (z, y, x), radius = points_of(12, 100.0)
    dims, depth = ("time", "z", "y", "x"), np.ones(radius.shape)
    v = depth * (4.0 * x - 3.0 * z[:, None, None])
    fields = {"u": 0.0 * depth, "v": v, "w": 0.0 * depth, "radius": radius, **more}
    data = {name: (dims, np.stack([0.0 * values, values])) for name, values in fields.items()}
    axes = {"time": ("time", [0.0, 60.0], {"units": "s"}), "z": z, "y": y, "x": x}
    xr.Dataset(data, axes, {"title": "A column"}).to_netcdf(path, engine="h5netcdf")
    return path


def opened(path, plane=None) -> FieldFile:
    results = open_results(path, plane)
    assert isinstance(results, FieldFile)
    return results


def test_vorticity_of_a_rotation(tmp_path):
    """sqrt(3^2 + 4^2), on the whole grid and on slices; not over terrain and not if it is stored."""
    fields = opened(write(tmp_path / "a.nc"), "y = 0")
    assert fields.volume is not None and fields.volume.values("vorticity", 1) == pytest.approx(5.0, rel=1e-12)
    assert "vorticity" in fields.derivable and fields.changes("vorticity")
    assert fields.label("vorticity") == "vorticity magnitude (s$^{-1}$)"
    assert fields.values("vorticity", 1) == pytest.approx(np.full((12, 17), 5.0), rel=1e-12)
    assert not fields.values("vorticity", 0).any()
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as whole:
        whole.assign(height_b=("z", np.ones(12))).to_netcdf(tmp_path / "b.nc", engine="h5netcdf")
    assert opened(tmp_path / "b.nc").derivable == ["speed"]
    assert opened(write(tmp_path / "c.nc", vorticity=np.ones((12, 15, 17)))).derivable == ["speed"]


def test_many_triangles_use_every_second_point(tmp_path, monkeypatch):
    fields, counts = opened(write(tmp_path / "a.nc")), []
    draw = isosurface.draw_triangles
    monkeypatch.setattr(isosurface, "draw_triangles", lambda *a: (counts.append(len(a[1])), draw(*a))[1])
    for most in (10**6, 500):
        monkeypatch.setattr(isosurface, "MAX_TRIANGLES", most)
        plot_isosurface(fields, tmp_path / "a.png", name="radius", level=70.0)
    assert 500 < counts[0] and 0 < counts[1] <= 500 and counts[0] > 3 * counts[1]


@pytest.mark.parametrize("text", ["vorticity", "vorticity=", "=0.5", "vorticity=high", "vorticity=nan"])
def test_an_isosurface_is_a_field_and_a_level(text):
    assert parse_isosurface(" w = -0.5 ") == ("w", -0.5)
    with pytest.raises(InputError, match=r"--isosurface vorticity=0\.5"):
        parse_isosurface(text)


def test_errors(tmp_path):
    fields, target = opened(write(tmp_path / "a.nc")), Path(tmp_path / "a.png")
    low, high = (f"{one:g}" for one in (points_of(12, 100.0)[1].min(), np.sqrt(3.0) * 100.0))
    for options, words in (
        ({"name": "radius", "level": 900.0}, (f"from {low} to {high}, the range of radius", "--isosurface radius=")),
        ({"name": "radius", "level": 1.0, "time": "first"}, ("from 0 to 0",)),
        (
            {"name": "radios", "level": 1.0},
            ('did you mean "radius"', "--isosurface radius=LEVEL", "derived: vorticity"),
        ),
    ):
        with pytest.raises(InputError) as caught:
            plot_isosurface(fields, target, **options)
        assert all(word in str(caught.value) for word in words)
    thin = fields.volume.dataset.isel(y=[3])
    thin.to_netcdf(tmp_path / "thin.nc", engine="h5netcdf")
    with pytest.raises(InputError, match="12 x 1 x 17 points"):
        plot_isosurface(opened(tmp_path / "thin.nc"), target, name="radius", level=50.0)
    fields.dataset.to_netcdf(tmp_path / "plane.nc", engine="h5netcdf")
    with pytest.raises(InputError, match="no fields on levels"):
        plot_isosurface(opened(tmp_path / "plane.nc"), target, name="u", level=0.0)
    assert not target.exists()
