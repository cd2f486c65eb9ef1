"""Ready-made cases and exact solutions.

Modules by subject: `lakes`, `dam_breaks`, `basins`, `channels`, `waves`, `monai`, `gyres`, and modules for the
sources of the models' schemes and reference runs: `amundsen2014` (explicit), `mike21` (ADI), `bleichrodt2011`
(barotropic), `madsen2010` (potential-flow waves). Exact solutions are functions of NumPy arrays.
"""

from eagre.laboratory.cases.water import Water, WaterCase, cell_centres, cell_means, still_water

__all__ = ["Water", "WaterCase", "cell_centres", "cell_means", "still_water"]
