"""Pictures of results: maps, profiles, gauge series, tracks and animations (matplotlib, no global state)."""

from __future__ import annotations

from eagre.plots.animation import animate
from eagre.plots.gauges import plot_gauges
from eagre.plots.heights import plot_profiles
from eagre.plots.maps import plot_map
from eagre.plots.reading import open_results
from eagre.plots.results import FieldFile, GaugeFile, ProfileFile, TrackFile
from eagre.plots.tracks import plot_tracks

__all__ = [
    "FieldFile",
    "GaugeFile",
    "ProfileFile",
    "TrackFile",
    "animate",
    "open_results",
    "plot_gauges",
    "plot_map",
    "plot_profiles",
    "plot_tracks",
]
