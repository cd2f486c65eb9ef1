"""Directional spectra from the files of wave models."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.waves.angles import from_nautical
from eagre.waves.spreading import DirectionalSpectrum

READERS = {"swan": "read_swan", "ww3": "read_ww3"}
HELD = {"swan": "a file of spectra that SWAN wrote (SPECOUT)", "ww3": "point output of WAVEWATCH III in NetCDF (efth)"}


def read_directional_spectrum(
    path: str | os.PathLike[str], kind: str, *, time: int = 0, site: int = 0
) -> DirectionalSpectrum:
    """Read one spectrum of a file of SWAN or WAVEWATCH III.

    Parameters
    ----------
    path : path-like
        A SWAN spectral file (``kind="swan"``) or a WW3 point output in NetCDF (``kind="ww3"``).
    time, site : int
        Which one, where the file holds several; from 0, or from the end with -1.

    Raises
    ------
    InputError
        If the library `wavespectra` is not installed, or there is no such file, kind, time or site.

    Notes
    -----
    The library says where waves come *from*, in degrees clockwise from north; the result says where they go *to*.
    """
    from eagre.io.files import input_file

    if kind not in READERS:
        raise InputError(f"kind = {kind!r}", allowed=", ".join(READERS), fix='kind = "swan"')
    found = input_file(path, "spectrum")
    try:
        library: Any = importlib.import_module("wavespectra")
    except ImportError:
        raise InputError(
            f"{found}, a spectrum by direction, without the library wavespectra", allowed="an installed wavespectra",
            fix="pip install 'eagre[spectra]'",
        ) from None  # fmt: skip
    try:
        data: Any = getattr(library, READERS[kind])(str(found))["efth"]
    except Exception as error:  # of many kinds: the library raises what its parsers meet
        raise InputError(
            f"{found}, in which wavespectra finds no spectrum ({type(error).__name__})", allowed=HELD[kind],
            fix=f'kind = "{next(other for other in READERS if other != kind)}", if the file is of that model',
        ) from error  # fmt: skip
    for name, index in (("time", time), ("site", site)):
        if name in data.dims:
            if not -data.sizes[name] <= index < data.sizes[name]:
                raise InputError(
                    f"{name} = {index}", allowed=f"0 to {data.sizes[name] - 1} in {found}", fix=f"{name} = 0"
                )
            data = data.isel({name: index})
    data = data.squeeze(drop=True).transpose("freq", "dir")
    values = np.nan_to_num(np.asarray(data.values, np.float64))
    return DirectionalSpectrum(data["freq"].values, from_nautical(data["dir"].values), np.rad2deg(1.0) * values)
