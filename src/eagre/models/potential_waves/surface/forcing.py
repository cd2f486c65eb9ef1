"""Protocol of additional forcing terms of the surface equations."""

from __future__ import annotations

from typing import Any, Protocol


class Forcing(Protocol):
    """Additional term of d eta / dt and d phi~ / dt; `Steps` calls it in every stage with the present rates."""

    def add(self, time: float, dt: float, stage: int, rates: Any) -> None:
        """Add to the rates.

        Parameters
        ----------
        time, dt : float
            Time of the stage and length of the step, s.
        stage : int
            0 to 3; in stage 0 the surface is unchanged since the start of the step.
        rates : array on the device, (2, ny, nx)
            Rates, m/s and m2/s2; `fields` and `w` of the Laplace problem belong to the same stage.
        """
