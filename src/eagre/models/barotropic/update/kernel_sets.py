"""Selection of kernels: the fastest for a device and configuration, or the reference kernels of `reference`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.models.barotropic.inversion import CpuBox, CudaBox, Inversion, Launches, TransformInversion
from eagre.models.barotropic.kernels import Coefficients, Forcing, LayerFields
from eagre.models.barotropic.setup import Setup
from eagre.models.barotropic.update import reference, update_cpu, update_cuda
from eagre.runtime.stage import Fusion
from eagre.solvers.poisson.box_cuda import Box
from eagre.solvers.poisson.rows_cuda import store_modes

KERNELS = ("fast", "reference")
MIN_ROWS = 8  # minimum number of rows per chunk


class Update(NamedTuple):
    """Arguments of the update kernel of a layer; weights : (3,)."""

    fields: LayerFields
    curl: Any  # the forcing (`kernels.FORCING`)
    weights: Any  # (c0, c1, c2)
    c: Coefficients


Switches = Mapping[str, Any]


@dataclass(frozen=True)
class KernelSet:
    """The kernels of a run.

    Attributes
    ----------
    inversion : Inversion
        Solver for the streamfunction.
    plain : str
        Reason for the use of reference kernels in the update, or "".
    """

    inversion: Inversion
    plain: str = ""

    @property
    def name(self) -> str:
        """Kernels in use: "fast", "reference", or "fast; update: reference"."""
        if isinstance(self.inversion, TransformInversion) and self.inversion.kernels == "reference":
            return "reference"
        return "fast; update: reference" if self.plain else "fast"

    @property
    def notes(self) -> list[str]:
        """Notes before a run."""
        return [f"kernels: {self.name} (unoptimised), because of {self.plain}"] if self.plain else []

    @property
    def separate_psi(self) -> bool:
        """True if vorticity and streamfunction have separate arrays, as for the GPU kernels of a box."""
        return isinstance(self.inversion, CudaBox)


def kernel_set(setup: Setup, device: Device, precision: str) -> KernelSet:
    """Return the kernels of a run on a device."""
    if setup.kernels == "reference":
        return KernelSet(library_inversion(setup, kernels="reference"), 'kernels = "reference"')
    inversion = inversion_for(setup, device, precision)
    if setup.compensated_summation:
        return KernelSet(inversion, "compensated_summation = true")
    fast = isinstance(inversion, CudaBox) or device.kind == "cpu"
    return KernelSet(inversion, "" if fast else f'basin = "{setup.basin}" of this size on a GPU')


def inversion_for(setup: Setup, device: Device, precision: str) -> Inversion:
    """Return the fastest solver for the streamfunction."""
    grid = setup.grid
    size = (grid.nx - 1, grid.ny - 1, grid.dx, grid.dy)
    if setup.basin == "box" and device.kind == "cpu":
        return CpuBox(device, precision, check_precision(precision), *size)
    if setup.basin == "box" and Box.serves(device, *size[:2], precision):
        fraction = None if setup.layers is None else setup.layers.upper_thickness_fraction
        return CudaBox(Box(device, precision, *size), fraction)
    return library_inversion(setup)


def library_inversion(setup: Setup, kernels: str = "fast") -> TransformInversion:
    """Return the solver for any basin, based on library transforms."""
    grid = setup.grid
    kinds = ["periodic" if wrap else "dirichlet" for wrap in setup.periodic]
    return TransformInversion(setup.inner, (grid.dy, grid.dx), (kinds[1], kinds[0]), kernels)


def plain_update(stages: Any, layer: int | None, numbers: Update, switches: Switches) -> Launches:
    """Return the launches of the update by reference kernels."""
    state = stages.state
    cell, more = reference.updated, ()
    if state.setup.compensated_summation and layer is not None:
        cell, more = reference.updated_compensated, (state.rounding[layer],)
    program = state.device.loop(cell, state.precision, switches)
    return [state.device.over(program, state.setup.inner, (*numbers, *more))]


def rows_update_cpu(stages: Any, layer: int | None, numbers: Update, switches: Switches) -> Launches:
    """Return the launches of the update in row chunks, one per thread."""
    state = stages.state
    rows, columns = state.setup.inner
    terms = isinstance(numbers.curl, Forcing)
    switches = {**switches, "COPY": numbers.fields.target is not numbers.fields.new, "TERMS": terms}
    program = state.device.program(update_cpu.update_cpu, state.precision, switches)
    chunks = max(1, min(state.device.parameters("cpu.barotropic").pieces, rows // MIN_ROWS))
    return [Launch(program, (*numbers, np.zeros((chunks, columns), state.real)))]


def rows_update_cuda(stages: Any, layer: int | None, numbers: Update, switches: Switches) -> Launches:
    """Return the launch of the update and, for a layer, of the transform of its rows."""
    inversion, state = stages.kernels.inversion, stages.state
    box = inversion.box
    switches = {**switches, **box.switches(update=True), "TRANSFORM": layer is not None}
    if isinstance(numbers.curl, Forcing):
        switches["LOAD_FORCING"] = update_cuda.load_terms
    program = state.device.program(update_cuda.update_cuda, state.precision, switches)
    arguments = (*numbers, inversion.spectra[layer or 0], box.table)
    return [Launch(program, arguments, *box.geometry(update=True), early=box.early > 0)]


def layers_update_cuda(stages: Any, old: int) -> Launches:
    """Return the launch of the update of both layers and of the transforms of their rows to vertical modes."""
    inversion, state = stages.kernels.inversion, stages.state
    box, [(_, upper, switches), (_, lower, below)] = inversion.box, stages.updates("vorticity", old)
    switches = {**switches, **box.switches(update=True), "WIND_BELOW": below["WIND"], "STORE": store_modes}
    program = state.device.program(update_cuda.update_layers_cuda, state.precision, switches)
    more = (lower.fields, lower.curl, lower.c, inversion.pair(inversion.spectra), box.table)
    return [Launch(program, (*upper, *more), *box.geometry(update=True, layers=True), early=box.early > 0)]


def vorticity_update_cuda(stages: Any, old: int) -> Launches:
    """Return the launch of the update of all layers and of the transforms of their rows."""
    if stages.setup.layers is not None:
        return layers_update_cuda(stages, old)
    return updated("vorticity", rows_update_cuda, stages, old)


def updated(name: str, kernel: Callable[..., Launches], stages: Any, old: int) -> Launches:
    """Return the launches of a kernel for the stage "tracer" or "vorticity", and for the stages that it includes."""
    return [launch for update in stages.updates(name, old) for launch in kernel(stages, *update)]


def on_cpu(stages: Any) -> bool:
    """Return whether updates run in row chunks."""
    return not stages.kernels.plain and stages.state.device.kind == "cpu"


def on_gpu(stages: Any) -> bool:
    """Return whether updates run in blocks of rows, with their transforms."""
    return not stages.kernels.plain and stages.kernels.separate_psi


FUSIONS = (
    Fusion(("tracer",), on_cpu, partial(updated, "tracer", rows_update_cpu)),
    Fusion(("vorticity",), on_cpu, partial(updated, "vorticity", rows_update_cpu)),
    Fusion(("tracer",), on_gpu, partial(updated, "tracer", rows_update_cuda)),
    Fusion(("vorticity", "forward"), on_gpu, vorticity_update_cuda),
)
"""Fast kernels, and the stages that they replace."""
