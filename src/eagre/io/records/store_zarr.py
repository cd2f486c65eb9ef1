"""Zarr stores of format 3 that grow by records: a folder with one file per chunk.

Readers take the shapes of all variables from one file, the consolidated metadata. It is replaced when every chunk of a
record is on disk, so a killed run leaves a store of complete records.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import numpy as np

from eagre.errors import InputError

SUFFIX = ".zarr"


def need_zarr(path: Path) -> None:
    """Raise `InputError` if the library `zarr` is not installed.

    Raises
    ------
    InputError
        With the command that installs it.
    """
    if importlib.util.find_spec("zarr") is None:
        raise InputError(
            f"{path} (Zarr store)", allowed="an installed zarr, or a name that ends in .nc",
            fix="pip install 'eagre[zarr]'", problem="The library zarr is not installed.",
        )  # fmt: skip


class ZarrStore:
    """Open Zarr store, `new` or existing; see `eagre.io.records.records.RecordFile`."""

    def __init__(self, path: Path, *, new: bool) -> None:
        need_zarr(path)
        import zarr  # type: ignore[import-not-found]

        self._group: Any = zarr.open_group(str(path), mode="w" if new else "r+", zarr_format=3)
        self.variables: dict[str, _Held] = {name: _Held(array) for name, array in sorted(self._group.arrays())}
        self.attributes = _Attributes(self._group)
        self._sizes: dict[str, int] = {}

    def times(self) -> np.ndarray:
        """Return the times of the records, s."""
        return np.asarray(self.variables["time"][...], dtype=np.float64)

    def dimension(self, name: str, size: int | None) -> None:
        """Declare a dimension; None is unlimited."""
        self._sizes[name] = size or 0

    def variable(
        self, name: str, dimensions: tuple[str, ...], dtype: Any, attributes: Mapping[str, Any], *,
        data: Any, chunks: tuple[int, ...] | None, compression: int, fill: bool,
    ) -> None:  # fmt: skip
        """Declare a variable; see `records.RecordFile.variable`. `compression` is the level of zstd."""
        from zarr.codecs import BloscCodec  # type: ignore[import-not-found]

        shape = tuple(self._sizes[one] for one in dimensions)
        kind = np.dtype(dtype)
        packed = BloscCodec(typesize=kind.itemsize, cname="zstd", clevel=compression, shuffle="shuffle")
        array = self._group.create_array(
            name,
            shape=shape,
            dtype=kind,
            chunks=chunks or tuple(max(size, 1) for size in shape),
            compressors=packed if compression else None,
            fill_value=math.nan if fill else 0,
            dimension_names=dimensions,
            attributes={key: _plain(value) for key, value in attributes.items()},
        )
        self.variables[name] = _Held(array)
        if data is not None:
            array[...] = data

    def write(self, new: slice, values: Mapping[str, np.ndarray]) -> None:
        """Write records `new` of each growing variable to disk, and drop later records."""
        for name, value in values.items():
            array = self.variables[name].array
            array.resize((new.stop, *array.shape[1:]))
            array[new] = value
        self.flush()

    def files(self, new: slice, names: Iterable[str]) -> list[str]:
        """Return the names of all files that a write of records `new` of some variables may change."""
        paths = ["zarr.json"]
        for name in names:
            array = self.variables[name].array
            chunks = [math.ceil(size / chunk) for size, chunk in zip(array.shape, array.chunks, strict=True)]
            deep = array.chunks[0]
            along = [range(new.start // deep, (new.stop - 1) // deep + 1), *map(range, chunks[1:])]
            paths.append(f"{name}/zarr.json")
            paths += ["/".join(map(str, (name, "c", *index))) for index in itertools.product(*along)]
        return paths

    @staticmethod
    def abandon() -> None:
        """Do nothing, because no file stays open."""

    def flush(self) -> None:
        """Make all written data visible to readers."""
        import zarr  # type: ignore[import-not-found]

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Consolidated metadata", category=UserWarning)
            zarr.consolidate_metadata(self._group.store)

    @staticmethod
    def close() -> None:
        """Do nothing, because no file stays open."""


class _Held:
    """Array of a store, with the attribute names of NetCDF variables."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(self.array.metadata.dimension_names or ())

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def attrs(self) -> Mapping[str, Any]:
        return self.array.attrs

    def __getitem__(self, index: Any) -> Any:
        return self.array[index]


class _Attributes(MutableMapping[str, Any]):
    """Attributes of a group, which holds JSON types only."""

    def __init__(self, group: Any) -> None:
        self._attrs = group.attrs

    def __getitem__(self, name: str) -> Any:
        return self._attrs[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._attrs[name] = _plain(value)

    def __delitem__(self, name: str) -> None:
        del self._attrs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._attrs)

    def __len__(self) -> int:
        return len(self._attrs)

    def update(self, attributes: Mapping[str, Any]) -> None:  # type: ignore[override]
        """Set several attributes at once, because each assignment writes a file."""
        self._attrs.update({name: _plain(value) for name, value in attributes.items()})


def _plain(value: Any) -> Any:
    """Convert an attribute to a JSON type."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
