"""What a user of the package sees in an editor: names, packages, hints, types."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import eagre
import reference_stubs
from eagre.errors import InputError


@pytest.mark.parametrize("name", eagre._PACKAGES)
def test_packages_are_there_after_import_eagre(name):
    done = subprocess.run(
        [sys.executable, "-c", f"import eagre; eagre.{name}.__name__"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert name in dir(eagre)


def test_a_wrong_name_has_a_hint():
    program = "import eagre; eagre.Shallowwater"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "Did you mean: 'ShallowWater'?" in done.stderr


@pytest.mark.parametrize("package", sorted(reference_stubs.PLACES.values()))
def test_stubs_name_every_public_name_and_where_it_is(package):
    module, seen = importlib.import_module(package), set()
    for line in reference_stubs.stub(package).splitlines():
        if line.startswith("from "):
            _, home, _, name, _, _ = line.split()
            public = getattr(module, name)  # imports a module on first use
            assert getattr(importlib.import_module(home), name) is public
            seen.add(name)
        elif line and not line.startswith("#"):
            seen.add(line.removeprefix("def ").split(":")[0].split("(")[0])
    assert seen >= set(module.__all__)


def test_the_package_says_that_it_is_typed():
    assert (Path(eagre.__file__).parent / "py.typed").exists()


def test_a_model_tells_what_it_is():
    model = eagre.ShallowWater(eagre.Grid(8, 6, 10.0, 10.0), 0.0, depth=1.0, device="cpu")
    model.advance(2.0)
    assert repr(model).startswith(f"<ShallowWater: 8 x 6, t = 2 s after {model.steps} steps, cpu (")
    assert repr(model).endswith("single precision>")
    assert repr(object.__new__(eagre.ShallowWater)).startswith("<eagre.models.shallow_water.model.ShallowWater object")


def test_arrays_of_other_points_come_with_the_line_to_write():
    grid = eagre.Grid(8, 6, 10.0, 10.0)
    values = np.arange(48.0).reshape(6, 8)
    with pytest.raises(InputError, match=r"dem_to_corners\(eagre.io.Dem\(values, grid.x0") as error:
        eagre.ShallowWater(grid, values, depth=1.0)
    line = error.value.fix.split("  # values")[0]
    assert eval(line, {"eagre": eagre, "values": values, "grid": grid}).shape == grid.shape_of("corner")
    with pytest.raises(InputError, match=r"depth = depth\.T"):
        eagre.ShallowWater(grid, 0.0, depth=values.T)
    with pytest.raises(InputError, match="x first, then y: 70, 5"):
        grid.cell_of(5.0, 70.0)
