"""A sum of small waves at places that stay where they are, such as those of a zone in which waves are made."""

from __future__ import annotations

import numpy as np

from eagre.errors import InputError
from eagre.waves.linear import LinearWaves
from eagre.waves.steady import Array, Field

LARGEST = 4 * 2**30
"""Bytes that a table of places and waves may have."""


class FixedPoints:
    """Surface elevation and potential at fixed places, time after time, without a cosine a place and wave.

    Parameters
    ----------
    waves : LinearWaves
    x, y : arrays, m
        Places; they broadcast together.

    Raises
    ------
    InputError
        If the table, 16 bytes a place and wave, would have more than 4 GiB.

    Notes
    -----
    exp(i (k . x + phase)) is kept; a time costs one product of that table with two vectors. For use on a GPU, `table`,
    (places, n), `weights`, (n, 2), and ``waves.angular_frequency`` are all that is needed.
    """

    def __init__(self, waves: LinearWaves, x: Field, y: Field) -> None:
        place_x, place_y = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
        count = waves.amplitude.size
        if 16 * place_x.size * count > LARGEST:
            raise InputError(
                f"{place_x.size} places and {count} waves", allowed=f"up to {LARGEST // 16:.3g} places times waves",
                fix=f"count = {max(1, LARGEST // 16 // place_x.size)}",
            )  # fmt: skip
        self.waves, self.shape = waves, place_x.shape
        k_x = waves.wave_number * np.cos(waves.direction)
        k_y = waves.wave_number * np.sin(waves.direction)
        self.table = np.exp(1j * (place_x.reshape(-1, 1) * k_x + place_y.reshape(-1, 1) * k_y + waves.phase))
        # The potential is an imaginary part: times -i it is a real one, as the elevation is.
        potential = -1j * waves.amplitude * waves.gravity / waves.angular_frequency
        self.weights = np.column_stack([waves.amplitude.astype(np.complex128), potential])

    def surface(self, t: float) -> tuple[Array, Array]:
        """Elevation, m, and potential at z = 0, m2/s, at a time, s; of the shape of the places."""
        turned = self.weights * np.exp(-1j * self.waves.angular_frequency * float(t))[:, None]
        both = (self.table @ turned).real
        return both[:, 0].reshape(self.shape), both[:, 1].reshape(self.shape)
