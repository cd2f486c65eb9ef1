"""The source is ASCII, and importing it costs no more than it must."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path for folder in ("src", "tests", "tools", "examples", "benchmarks") for path in (ROOT / folder).rglob("*.py")
)
HEAVY = ("cupy", "h5netcdf", "h5py", "matplotlib", "pandas", "pydantic", "rasterio", "rich", "scipy", "typer", "xarray")
NUMERICS = ("eagre", "eagre.backend", "eagre.boundaries", "eagre.grid", "eagre.kernels", "eagre.time_varying.series")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_source_is_ascii(path):
    text = path.read_text(encoding="utf-8")
    bad = [f"line {n}: {line!r}" for n, line in enumerate(text.splitlines(), 1) if not line.isascii()]
    assert not bad, "\n".join(bad)


def run_python(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("module", NUMERICS)
def test_import_does_not_load_heavy_libraries(module):
    loaded = run_python(f"import sys, {module}; print(*sorted({set(HEAVY)!r} & set(sys.modules)))")
    assert loaded == ""


def test_import_of_the_package_is_fast():
    code = "import time; t = time.process_time(); import eagre; print(time.process_time() - t)"
    assert min(float(run_python(code)) for _ in range(3)) < 0.3
