"""What acts on the surface beside gravity: an object that adds to its rates."""

from __future__ import annotations

from typing import Any, Protocol


class Forcing(Protocol):
    """Adds to d eta / dt and d phi~ / dt; `Steps` calls it in every stage of every step, with the rates just found."""

    def add(self, time: float, dt: float, stage: int, rates: Any) -> None:
        """Add to the rates.

        Parameters
        ----------
        time, dt : float
            Of the stage, and the length of the step, s.
        stage : int
            0 to 3; at 0 the surface is that of the beginning of the step.
        rates : array on the device, (2, ny, nx)
            m/s and m2/s2; the Laplace problem has `fields` and `w` of the same stage.
        """
