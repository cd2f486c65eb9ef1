"""Pictures of results: maps, profiles, series, spectra, tracks and animations (matplotlib, no global state)."""

from __future__ import annotations

from eagre.plots.animation import animate
from eagre.plots.contours import plot_contours, plot_tracks
from eagre.plots.data.reading import open_raster, open_results
from eagre.plots.data.results import FieldFile, GaugeFile, NumberFile, ProfileFile, SpectrumFile, TrackFile
from eagre.plots.gauges import plot_gauges, plot_numbers
from eagre.plots.heights import plot_profiles, plot_spectra
from eagre.plots.isosurface import plot_isosurface
from eagre.plots.maps import plot_map

__all__ = [
    "FieldFile",
    "GaugeFile",
    "NumberFile",
    "ProfileFile",
    "SpectrumFile",
    "TrackFile",
    "animate",
    "open_raster",
    "open_results",
    "plot_contours",
    "plot_gauges",
    "plot_isosurface",
    "plot_map",
    "plot_numbers",
    "plot_profiles",
    "plot_spectra",
    "plot_tracks",
]
