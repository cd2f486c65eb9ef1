"""Pictures of results: maps, profiles, gauge series and animations (matplotlib, no global state)."""

from __future__ import annotations

from eagre.plots.animation import animate
from eagre.plots.gauges import plot_gauges
from eagre.plots.maps import plot_map
from eagre.plots.reading import FieldFile, GaugeFile, open_results

__all__ = ["FieldFile", "GaugeFile", "animate", "open_results", "plot_gauges", "plot_map"]
