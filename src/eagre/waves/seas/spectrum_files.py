"""Directional spectra from output files of wave models."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.waves.angles import from_nautical
from eagre.waves.seas.spreading import DirectionalSpectrum
from eagre.waves.seas.swan import read_swan

KINDS = ("swan", "ww3")


def read_directional_spectrum(
    path: str | os.PathLike[str], kind: str, *, time: int = 0, site: int = 0
) -> DirectionalSpectrum:
    """Read a directional spectrum from a file of SWAN or WAVEWATCH III.

    Parameters
    ----------
    path : path-like
        A SWAN spectral file over frequency and direction (``kind="swan"``) or a WW3 point output in NetCDF
        (``kind="ww3"``).
    time, site : int
        Index of the time and of the site in the file, from 0; -1 for the last.

    Raises
    ------
    InputError
        If the file, kind, time or site does not exist, the file is damaged, has no data at this time and site or holds
        1-D spectra, or, for "ww3", if the library `wavespectra` is not installed.
    """
    from eagre.io.files import input_file

    if kind not in KINDS:
        raise InputError(f"kind = {kind!r}", allowed=", ".join(KINDS), fix='kind = "swan"')
    file = input_file(path, "spectrum")
    return read_swan(file, time, site) if kind == "swan" else _read_ww3(file, time, site)


def _read_ww3(file: Path, time: int, site: int) -> DirectionalSpectrum:
    """Read a spectrum of WAVEWATCH III; directions of the library are nautical (coming from, clockwise from north)."""
    from eagre.io.files import read_values

    try:
        library: Any = importlib.import_module("wavespectra")
    except ImportError:
        raise InputError(
            f"{file}, a file of WAVEWATCH III, without the library wavespectra", allowed="an installed wavespectra",
            fix="pip install 'eagre[spectra]'",
        ) from None  # fmt: skip
    try:
        data: Any = library.read_ww3(str(file))["efth"]
    except Exception as error:  # of many kinds: the library raises what its parsers meet
        raise InputError(
            f"{file}, in which wavespectra finds no spectrum ({type(error).__name__})",
            allowed="point output of WAVEWATCH III in NetCDF (efth)", fix='kind = "swan", if the file is of that model',
        ) from error  # fmt: skip
    for name, index in (("time", time), ("site", site)):
        if name in data.dims:
            if not -data.sizes[name] <= index < data.sizes[name]:
                raise InputError(
                    f"{name} = {index}", allowed=f"0 to {data.sizes[name] - 1} in {file}", fix=f"{name} = 0"
                )
            data = data.isel({name: index})
    others = [name for name in data.dims if name not in ("freq", "dir") and data.sizes[name] > 1]
    if others or not {"freq", "dir"} <= set(data.dims):
        got = f"{file}: a spectrum over {', '.join(map(str, data.dims))}"
        raise InputError(got, allowed="spectra over time, site, frequency and direction")
    data = data.squeeze([name for name in data.dims if name not in ("freq", "dir")], drop=True).transpose("freq", "dir")
    values = read_values(data, file).astype(np.float64)
    if not np.isfinite(values).all():
        raise InputError(
            f"{file}: {int((~np.isfinite(values)).sum())} of {values.size} densities without a value",
            allowed="finite numbers", problem=f"The spectrum at time = {time}, site = {site} has missing values.",
        )  # fmt: skip
    return DirectionalSpectrum(data["freq"].values, from_nautical(data["dir"].values), np.rad2deg(1.0) * values)
