"""Change formulas one at a time and name the changes that no test notices.

From the root of the repository: ``python tools/mutate.py [--count 200] [--seed 1] [--out mutants.md] [PATH ...]``.
A mutant is one sign, operator, comparison, index or factor of a formula or a driver, changed in a copy of ``src``. The
tests that `TESTS` (of GPU kernels `SIMULATED`, in the simulator) chooses for its file run on it and stop at the first
that fails. What survives is named with its line, before and after. Some survive rightly (``<=`` for ``<``, where
nothing is equal): a person looks at the report, and docs/development/mutants.md says what was found.
First the same tests run on the source as it is: they must hold, and their programs are then in the cache, so that a
mutant compiles those that it changes only. Seconds to minutes a mutant; the report grows with each.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

TUNER = "tests/unit/test_tuner.py tests/unit/test_tuner_workload.py tests/unit/test_tuned.py"
AVERAGES = (
    "tests/kernels/test_averages_kernels.py tests/physics/test_averages.py tests/physics/test_averages_air.py "
    "tests/physics/test_averages_waves.py"
)
MEASURED = "tests/physics/test_anelastic_measured.py tests/cli/test_cli_anelastic_measured.py"
TESTS = {  # by the beginning of a path under src/eagre, the longest that fits
    "backend/compilation/origin.py": TUNER,
    "backend/tuned.py": TUNER,
    "laboratory/bench/benchmark.py": "tests/unit/test_bench_records.py",
    "laboratory/bench/tuning/compilers.py": TUNER,
    "laboratory/bench/tuning/tuner": f"{TUNER} tests/cli/test_cli_tune.py",
    "laboratory/bench/tuning/workload.py": TUNER,
    "boundaries": "tests/unit/test_boundary_cells.py tests/unit/test_boundary_tables.py "
    "tests/unit/test_boundaries_bed.py tests/kernels/test_ghosts.py tests/physics/test_boundaries.py "
    "tests/physics/test_balance.py",
    "boundaries/internal.py": "tests/unit/test_boundaries_inside.py tests/unit/test_boundary_tables.py "
    "tests/physics/test_inside.py",
    "boundaries/cross_sections.py": "tests/physics/test_lines.py tests/kernels/test_lines_kernels.py",
    "config/water/terrain.py": "tests/unit/test_config_levees.py tests/physics/test_levees.py",
    "config/values/signals.py": "tests/unit/test_tides.py",
    "config/values/units.py": "tests/unit/test_config_units.py",
    "config/water/sections.py": "tests/unit/test_config_zone_rain.py",
    "config": "tests/unit/test_config_units.py tests/unit/test_config_expressions.py tests/unit/test_config_case.py",
    "time_varying/cyclone.py": "tests/unit/test_cyclone.py",
    "decomposition.py": "tests/unit/test_decomposition.py",
    "io/cf.py": "tests/unit/test_io_grid_mapping.py tests/unit/test_io_netcdf.py tests/unit/test_io_levels.py "
    "tests/cli/test_cf.py",
    "io/writers/gis.py": "tests/cli/test_cli_export.py",
    "io/netcdf_attributes.py": "tests/unit/test_io_grid_mapping.py",
    "io/tables/sounding.py": "tests/unit/test_io_sounding.py",
    "io/rasters/dem.py": "tests/unit/test_io_dem.py",
    "io/rasters/lattice.py": "tests/unit/test_io_warp.py tests/unit/test_io_weather.py "
    "tests/unit/test_io_grid_mapping.py",
    "io/writers/field_files.py": "tests/cli/test_cli_outputs.py tests/unit/test_io_gdal.py",
    "io/weather/records.py": "tests/unit/test_io_weather.py tests/unit/test_io_weather_joined.py",
    "io/records/records.py": "tests/unit/test_io_netcdf.py tests/unit/test_io_gauges.py",
    "io/tables/csv_rows.py": "tests/unit/test_io_gauges.py tests/cli/test_cli_files.py",
    "io/tables/series.py": "tests/unit/test_io_series.py",
    "io/rasters/warp.py": "tests/unit/test_io_warp.py",
    "io/vectors.py": "tests/unit/test_io_named_places.py tests/unit/test_config_zones.py "
    "tests/unit/test_config_levees.py tests/unit/test_config_zone_rain.py",
    "io/weather/weather.py": "tests/unit/test_io_weather.py tests/unit/test_config_weather.py",
    "io": "tests/unit/test_io_dem.py tests/unit/test_io_series.py tests/unit/test_io_resample.py "
    "tests/unit/test_io_restart.py",
    "kernels": "tests/kernels/test_formulas.py tests/kernels/test_targets_agree.py",
    "kernels/averages.py": AVERAGES,
    "kernels/maps.py": "tests/kernels/test_maps_kernels.py tests/physics/test_maps.py",
    "layouts/store.py": TUNER,
    "models/anelastic/": "tests/unit/test_anelastic_stability.py tests/unit/test_anelastic_inputs.py "
    "tests/kernels/test_anelastic_cells.py tests/kernels/test_anelastic_stress.py tests/physics/test_anelastic_step.py "
    "tests/physics/test_anelastic_closure.py tests/physics/test_anelastic_forcing.py "
    "tests/physics/test_anelastic_sides.py tests/physics/test_anelastic_surface.py "
    "tests/physics/test_anelastic_profiles.py tests/physics/test_anelastic_subgrid.py",
    "models/anelastic/pressure/projection.py": "tests/physics/test_anelastic_pressure.py",
    "models/anelastic/sampling/extremes.py": "tests/physics/test_anelastic_measured.py",
    "models/anelastic/sampling/interpolation.py": MEASURED,
    "models/anelastic/sampling/slices.py": MEASURED,
    "models/anelastic/sampling/spectra.py": "tests/physics/test_anelastic_measured.py",
    "models/anelastic/preconditioners/polynomial.py": "tests/unit/test_gcr.py tests/physics/test_anelastic_pressure.py",
    "models/barotropic": "tests/kernels/test_barotropic_reference.py tests/physics/test_barotropic_against_oracle.py "
    "tests/physics/test_barotropic_physics.py tests/physics/test_barotropic_carried.py "
    "tests/physics/test_barotropic_stability.py",
    "models/barotropic/sampling/averaging.py": "tests/physics/test_averages.py",
    "models/barotropic/sampling/scales.py": "tests/physics/test_barotropic_physics.py::test_numbers_of_the_thesis "
    "tests/physics/test_barotropic_physics.py::test_points_a_munk_width tests/unit/test_config_barotropic.py",
    "models/barotropic/forcing/": "tests/unit/test_config_barotropic_wind.py tests/unit/test_config_barotropic.py "
    "tests/physics/test_barotropic_wind.py",
    "models/potential_waves/": "tests/physics/test_wave_kinematics.py tests/physics/test_wave_breaking.py "
    "tests/physics/test_wave_making.py tests/physics/test_potential_waves.py "
    "tests/physics/test_potential_waves_model.py tests/physics/test_averages_waves.py",
    "models/shallow_water/": "tests/unit/test_explicit_cells.py tests/physics/test_against_oracle.py "
    "tests/kernels/test_shallow_water_reference.py "
    "tests/physics/test_lakes_at_rest.py tests/physics/test_restart.py",
    "models/shallow_water/sampling/water_balance.py": "tests/physics/test_balance.py tests/physics/test_lines.py "
    "tests/physics/test_weather.py",
    "models/shallow_water/devices/": "tests/physics/test_explicit_bands.py tests/unit/test_copies_of_models.py "
    "tests/physics/test_gauges.py",
    "models/shallow_water_adi/": "tests/physics/test_adi_against_oracle.py tests/physics/test_adi_start.py "
    "tests/kernels/test_adi_reference.py tests/physics/test_adi.py",
    "time_varying/series.py": "tests/unit/test_stepping_series.py tests/unit/test_io_series.py "
    "tests/unit/test_stepping_run.py",
    "solvers/gcr/solver.py": "tests/unit/test_gcr.py tests/physics/test_anelastic_pressure.py",
    "solvers/poisson": "tests/unit/test_poisson.py",
    "solvers/poisson/columns": "tests/kernels/test_poisson_columns.py tests/unit/test_poisson_bands.py",
    "solvers/poisson/slabs": "tests/unit/test_poisson_bands.py tests/kernels/test_poisson_columns.py",
    "solvers/tridiagonal": "tests/kernels/test_tridiagonal.py",
    "stepping/averages.py": AVERAGES,
    "stepping/clock.py": "tests/unit/test_stepping_clock.py tests/unit/test_stepping_series.py",
    "stepping/plausibility.py": "tests/unit/test_stepping_reach.py",
    "stepping/convergence_loop.py": "tests/unit/test_stepping_until.py",
    "stepping": "tests/unit/test_stepping_clock.py tests/unit/test_stepping_series.py "
    "tests/unit/test_stepping_advance.py tests/unit/test_stepping_run.py",
    "terms": "tests/kernels/test_terms.py tests/physics/test_sources.py",
    "terms/base.py": "tests/physics/test_weather.py tests/unit/test_cyclone.py",
    "time_varying/tides.py": "tests/unit/test_tides.py",
    "tuning": f"{TUNER} tests/unit/test_tuning.py tests/unit/test_tuner_disturbed.py",
    "waves": "tests/unit/test_waves_regular.py tests/unit/test_waves_seas.py tests/unit/test_waves_records.py",
    "waves/linear.py": "tests/unit/test_waves_seas.py",
    "waves/measured.py": "tests/unit/test_waves_records.py",
    "waves/statistics.py": "tests/unit/test_waves_records.py",
    "waves/steady.py": "tests/unit/test_waves_regular.py",
}
SIMULATED = {  # kernels of a GPU: the same, with a part of a test's name
    "models/barotropic/update/update_cuda.py": ("tests/kernels/test_barotropic_kernels.py", "simulated_cuda"),
    "models/shallow_water/stages/row_streaming_cuda.py": ("tests/kernels/test_targets_agree.py", "march"),
    "models/shallow_water/stages/row_streaming_lanes.py": ("tests/kernels/test_targets_agree.py", "march"),
    "models/shallow_water/stages/tile_": ("tests/kernels/test_targets_agree.py", "tiles or odd_sizes"),
    "models/shallow_water_adi/sweeps/sweep_cuda": ("tests/kernels/test_adi_kernels.py", "simulated_sweeps"),
    "solvers/poisson/slabs.py": ("tests/kernels/test_barotropic_bands.py", "simulated"),
    "solvers/poisson/box_cuda.py": ("tests/kernels/test_barotropic_kernels.py", "simulated_cuda"),
    "solvers/poisson/columns_cuda.py": ("tests/kernels/test_barotropic_kernels.py", "simulated_columns"),
    "solvers/poisson/rows_cuda.py": ("tests/kernels/test_barotropic_kernels.py", "simulated_sine or simulated_cuda"),
    "solvers/tridiagonal/columns.py": ("tests/kernels/test_tridiagonal.py", "simulated_pieces"),
    "solvers/tridiagonal/link.py": ("tests/kernels/test_lanes.py", "exactly or leave_out"),
    "solvers/tridiagonal/partition.py": ("tests/kernels/test_tridiagonal.py", "simulated_pieces"),
    "terms/compose.py": ("tests/kernels/test_weather_kernels.py", "simulated or band"),
    "solvers/tridiagonal/reduction_cuda.py": ("tests/kernels/test_tridiagonal.py", "simulated_methods"),
}
FORMULAS = (
    "boundaries", "config/values/units.py", "decomposition.py", "io/rasters/dem.py", "io/rasters/resample.py",
    "io/tables/series.py", "kernels", "models", "solvers", "stepping", "terms", "time_varying/series.py",
)  # fmt: skip
SIGNS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
ORDERS = {ast.Lt: ">=", ast.LtE: "<", ast.Gt: "<=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
NAMES = {"min": "max", "max": "min", "smaller": "larger", "larger": "smaller"}


class Mutant(NamedTuple):
    """A stretch of a file's text, and what takes its place."""

    file: Path
    start: int
    end: int
    before: str
    after: str
    line: int


class Finder(ast.NodeVisitor):
    """Collects the mutants of one file; words that users read and types are left alone."""

    def __init__(self, file: Path, text: str) -> None:
        self.file, self.text, self.found = file, text, list[Mutant]()
        lines = text.splitlines(keepends=True)
        self._starts = [sum(map(len, lines[:k])) for k in range(len(lines))]
        self._bytes = [line.encode() for line in lines]

    def at(self, line: int, column: int) -> int:
        """Place in the text of a line and a column in bytes."""
        return self._starts[line - 1] + len(self._bytes[line - 1][:column].decode())

    def add(self, start: int, end: int, after: str, line: int) -> None:
        """A mutant in place of text[start:end]."""
        self.found.append(Mutant(self.file, start, end, self.text[start:end], after, line))

    def between(self, left: ast.expr, right: ast.expr, sign: str) -> tuple[int, int] | None:
        """Where the operator between two operands stands; None where a comment does too."""
        start = self.at(left.end_lineno or 0, left.end_col_offset or 0)
        gap = self.text[start : self.at(right.lineno, right.col_offset)]
        place = gap.find(sign)
        return None if place < 0 or "#" in gap else (start + place, start + place + len(sign))

    def visit_BinOp(self, node: ast.BinOp) -> None:
        after = SIGNS.get(type(node.op))
        if after and not any(isinstance(part, ast.Constant | ast.JoinedStr) and not _is_number(part)
                             for part in (node.left, node.right)):  # fmt: skip
            sign = {"-": "+", "+": "-", "/": "*", "*": "/"}[after]
            span = self.between(node.left, node.right, sign)
            if span:
                self.add(*span, after, node.right.lineno)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        after = ORDERS.get(type(node.ops[0]))
        if after:
            sign = {">=": "<", "<": "<=", "<=": ">", ">": ">=", "!=": "==", "==": "!="}[after]
            span = self.between(node.left, node.comparators[0], sign)
            if span:
                self.add(*span, after, node.lineno)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub):
            start = self.at(node.lineno, node.col_offset)
            self.add(start, start + 1, "", node.lineno)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            start, end = self.at(node.lineno, node.col_offset), self.at(node.end_lineno or 0, node.end_col_offset or 0)
            after = str(value + 1) if isinstance(value, int) else repr(1.25 * value or 0.25)
            self.add(start, end, after, node.lineno)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in NAMES:
            start = self.at(node.lineno, node.col_offset)
            self.add(start, start + len(node.func.id), NAMES[node.func.id], node.lineno)
        if not (isinstance(node.func, ast.Name) and node.func.id in ("switch", "InputError", "Parameter")):
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in node.body:  # neither defaults nor types nor decorators
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def mutants_of(file: Path) -> list[Mutant]:
    """All mutants of a file."""
    text = file.read_text(encoding="utf-8")
    finder = Finder(file, text)
    finder.visit(ast.parse(text))
    return finder.found


def tests_of(file: Path, source: Path) -> tuple[str, ...]:
    """Arguments of pytest for a file under `source`."""
    name = file.relative_to(source).as_posix()
    usual = ("-m", "not slow and not gpu and not simulator")
    fitting = [start for start in SIMULATED if name.startswith(start)]
    if fitting:
        path, part = SIMULATED[max(fitting, key=len)]
        return path, "-k", part, "-m", "simulator and not slow"
    fitting = [start for start in TESTS if name.startswith(start)]
    return (*(TESTS[max(fitting, key=len)].split() if fitting else ["tests/unit"]), *usual)


def outcome(tests: Sequence[str], package: Path, cache: Path, seconds: float) -> tuple[bool | None, str]:
    """Whether the tests hold on the source in `package` (None if they take too long), and their last lines."""
    environment = {**os.environ, "PYTHONPATH": str(package), "EAGRE_CACHE": str(cache)}
    if "simulator and not slow" in tests:
        environment["NUMBA_DISABLE_JIT"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, env=environment, timeout=seconds, capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        return None, f"more than {seconds:g} s"
    if done.returncode == 5:  # pytest found no test
        raise SystemExit(f"error: no test is chosen by {' '.join(tests)!r}: mend TESTS or SIMULATED")
    return done.returncode == 0, done.stdout[-2000:]


def survives(mutant: Mutant, source: Path, tests: Sequence[str], cache: Path, seconds: float) -> bool | None:
    """Whether the tests hold on a copy of the source with the mutant in it; None if they take too long.

    Programs in `cache` are keyed by their text: those that the mutant does not change are not compiled anew.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(source.parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
        text = mutant.file.read_text(encoding="utf-8")
        target = copy / mutant.file.relative_to(source.parent)
        target.write_text(text[: mutant.start] + mutant.after + text[mutant.end :], encoding="utf-8")
        return outcome(tests, copy, cache, seconds)[0]


def reports(mutants: list[Mutant], source: Path, cache: Path, seconds: float) -> Iterator[tuple[Mutant, bool | None]]:
    """Each mutant, and whether it survives; None if its tests take too long."""
    sound: set[tuple[str, ...]] = set()
    for mutant in mutants:
        tests = tests_of(mutant.file, source)
        if tests not in sound:
            held, said = outcome(tests, source.parent, cache, 10 * seconds)
            if not held:
                raise SystemExit(f"error: {' '.join(tests)!r} does not hold on the source as it is\n{said}")
            sound.add(tests)
        yield mutant, survives(mutant, source, tests, cache, seconds)


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The Python files among paths and in folders among them."""
    return [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]


def line_of(mutant: Mutant, source: Path) -> str:
    """A line of the report."""
    text = mutant.file.read_text(encoding="utf-8")
    code = text.splitlines()[mutant.line - 1].strip()
    change = f"`{mutant.before}` -> `{mutant.after or 'nothing'}`"
    return f"| {mutant.file.relative_to(source)}:{mutant.line} | {change} | `{code}` |"


def main() -> None:
    """Choose mutants, try them, print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("paths", nargs="*", type=Path, help="files and folders; else all formulas and drivers")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600.0, help="of one mutant's tests, at most")
    parser.add_argument("--out", type=Path, help="Markdown; the report is printed too")
    parser.add_argument("--cache", type=Path, default=Path("build/mutants"), help="of compiled programs")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it, and so would the tests
    source = Path("src/eagre").resolve()
    files = files_of([file.resolve() for file in given.paths] or [source / start for start in FORMULAS])
    everything = [mutant for file in files for mutant in mutants_of(file)]
    chosen = random.Random(given.seed).sample(everything, min(given.count, len(everything)))
    table, alive, late = ["| survivor | change | line |", "|---|---|---|"], 0, 0
    print("\n".join(table), flush=True)
    for tried, (mutant, lives) in enumerate(reports(chosen, source, given.cache.resolve(), given.seconds), 1):
        late += lives is None
        if lives:
            alive += 1
            table.append(line_of(mutant, source))
            print(table[-1], flush=True)
        ending = f"{alive} of {tried} survive, {late} took too long; {len(everything)} in all, seed {given.seed}."
        if given.out:
            given.out.write_text("\n".join([*table, "", ending]) + "\n", encoding="utf-8")
    print(f"\n{ending}")


if __name__ == "__main__":
    main()
