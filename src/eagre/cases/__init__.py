"""Ready-made set-ups and exact solutions.

Modules by subject: `lakes`, `dam_breaks`, `basins`, `channels`, `waves`, `monai`, and those of the papers whose
schemes and runs the models repeat: `amundsen2014` (explicit), `mike21` (implicit), `bleichrodt2011` (barotropic).
The exact solutions alone, on NumPy arrays, are in `exact`.
"""

from eagre.cases.water import Water, WaterCase, cell_centres, cell_means, still_water

__all__ = ["Water", "WaterCase", "cell_centres", "cell_means", "still_water"]
