"""Time step of the barotropic model, in the order of F. Bleichrodt (2011); equation numbers as in README.md.

    time-varying wind forcing, interpolated to the start of the step
    c' = c + dt AB(-J(psi, c) + kappa Lap c)                            tracer
    forcing with topography, Lap zeta for biharmonic viscosity
    F  = -J(psi, q) - beta psi_x + A Lap zeta - mu zeta + curl + ...    (2.7), ... : topography, -B Lap Lap zeta, layers
    q' = q + dt AB(F)                                                   (2.17)
    (1 - a Lap) q' = (1 + a Lap) q + dt AB(F), a = dt A / 2             with implicit viscosity
    Lap psi' - psi' / R^2 = q'                                          (2.22)-(2.27)
    q' on walls, psi' and q' at periodic boundary points                3.3
    x' = x + dt (u', v')                                                particles
    time statistics of the new state

AB(F) is the Adams-Bashforth combination of F and the stored tendencies. One device, several devices and several
processes run these stages. `eagre.runtime` derives halo exchanges from them, and `kernel_sets.FUSIONS` lists kernels
that replace stages.
"""

from __future__ import annotations

from eagre.models.barotropic.stages import Stages
from eagre.runtime.stage import Stage


def step(stages: Stages, old: int) -> list[Stage]:
    """Return the stages of a step from buffers `old`, 0 or 1, to the others."""
    new = 1 - old
    return [
        *stages.wind(),
        *stages.tracer(old),
        *stages.topography(old),
        *stages.laplacian(old),
        stages.vorticity(old),
        stages.transform(new),
        *stages.implicit_viscosity(new),
        *stages.streamfunction(new),
        stages.boundary(new),
        *stages.particles(new),
        *stages.time_statistics(new),
        stages.outputs(new),
    ]


def start(stages: Stages) -> list[Stage]:
    """Return the stages that compute the initial state from the vorticity and the tracer in buffers 0."""
    return [
        *stages.tracer_boundary(0),
        stages.transform(0),
        *stages.streamfunction(0, start=True),
        stages.boundary(0),
        stages.outputs(0),
    ]
