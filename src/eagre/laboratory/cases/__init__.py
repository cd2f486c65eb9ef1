"""Ready-made cases and exact solutions.

Modules by subject: `lakes`, `dam_breaks`, `basins`, `channels`, `waves`, `monai`, `gyres`, `wave_tanks`, `atmosphere`,
and modules for the sources of two schemes: `amundsen2014` (explicit), `mike21` (ADI). Exact solutions are functions of
NumPy arrays.
"""

from eagre.laboratory.cases.water import Water, WaterCase, cell_centres, cell_means, still_water

__all__ = ["Water", "WaterCase", "cell_centres", "cell_means", "still_water"]
