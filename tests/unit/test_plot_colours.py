"""Colours of maps: from 0 for what is never below it, about 0 for the rest."""

from __future__ import annotations

import pytest

from eagre.plots.drawing.style import colormap_for


@pytest.mark.parametrize(
    ("variable", "colours"),
    [
        ("max_depth", "water"),
        ("significant_height", "speed"),
        ("variance_velocity_x", "speed"),
        ("time_of_maximum_depth", "speed"),
        ("covariance_velocity_x_velocity_y", "balance"),
        ("mean_velocity_x", "balance"),
        ("mean_depth", "water"),
        ("min_speed", "speed"),
        ("max_w", "balance"),
        ("bed", "land"),
        ("still_water_depth", "water"),
        ("infiltration_depth", "water"),
    ],
)
def test_maps_of_what_is_never_below_zero_begin_there(variable, colours):
    assert colormap_for(variable).name == f"eagre_{colours}"
