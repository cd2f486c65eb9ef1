"""Two-layer quasi-geostrophic stratification."""

from __future__ import annotations

from dataclasses import dataclass

from eagre.arguments import real_number
from eagre.errors import InputError


@dataclass(frozen=True)
class Layers:
    """Parameters of two quasi-geostrophic layers coupled by vortex stretching at the interface.

    q1 = Lap psi1 + F1 (psi2 - psi1), q2 = Lap psi2 + F2 (psi1 - psi2).

    Wind forces the upper layer (1); bottom friction and topography act on the lower layer (2).

    Parameters
    ----------
    upper, lower : float
        Coupling parameters F1 = f0^2 / (g' H1) and F2 = f0^2 / (g' H2), 1 / length^2, > 0.

    References
    ----------
    J. Pedlosky, Geophysical Fluid Dynamics, 2nd ed. (1987), section 6.16, doi:10.1007/978-1-4612-4650-3.
    """

    upper: float
    lower: float

    def __post_init__(self) -> None:
        if not (0.0 < real_number("upper", self.upper) < 1e30 and 0.0 < real_number("lower", self.lower) < 1e30):
            raise InputError(
                f"layers with upper = {self.upper!r}, lower = {self.lower!r}",
                allowed="numbers > 0: f0^2 / (g' H) of each layer, 1 / length^2",
                fix="Layers(upper=4e-10, lower=1e-10)",
            )

    @property
    def upper_thickness_fraction(self) -> float:
        """Thickness fraction of the upper layer, H1 / (H1 + H2)."""
        return self.lower / (self.upper + self.lower)

    @property
    def thickness_fractions(self) -> tuple[float, float]:
        """Thickness fractions of both layers: the weights of their energies."""
        return self.upper_thickness_fraction, 1.0 - self.upper_thickness_fraction

    def coupling_parameter(self, layer: int) -> float:
        """Return the coupling parameter F of layer 0 or 1, 1 / length^2."""
        return (self.upper, self.lower)[layer]

    def inverse_radius_squared(self, mode: int) -> float:
        """Return 1 / (deformation radius)^2 of the barotropic (0) or the baroclinic (1) mode."""
        return (0.0, self.upper + self.lower)[mode]

    def coupling(self, layer: int, viscosity: float, friction: float) -> tuple[float, float]:
        """Return the factors by_psi of psi - other psi and by_q of q - other q in the tendency of layer 0 or 1.

        Viscosity acts on zeta = q + F (psi - other psi), and Lap (psi1 - psi2) = zeta1 - zeta2
        = q1 - q2 + (F1 + F2)(psi1 - psi2); friction of the lower layer acts on its zeta.
        """
        parameter = self.coupling_parameter(layer)
        by_psi = viscosity * parameter * (self.upper + self.lower) - (friction * parameter if layer == 1 else 0.0)
        return by_psi, viscosity * parameter
