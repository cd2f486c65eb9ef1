"""Input and output: elevation rasters, time series, CF NetCDF and Zarr output, gauges and restart files.

The libraries for these formats (rasterio, xarray, h5netcdf, h5py) are imported by the functions that need them.
"""

from eagre.io.files import WriteError
from eagre.io.rasters.dem import Dem, read_dem, read_raster
from eagre.io.rasters.resample import dem_to_corners, grid_from_dem, raster_to_centres
from eagre.io.records.writer import WriterSetup
from eagre.io.restart import RestartHeader, read_restart, read_restart_header, write_restart
from eagre.io.tables.series import read_series
from eagre.io.tables.sounding import read_heights
from eagre.io.weather.weather import Weather, read_weather
from eagre.io.writers.field_files import FieldWriter
from eagre.io.writers.measured import MeasuredWriter, ParticleWriter, ProfileWriter
from eagre.io.writers.stations import GaugeWriter, ProbeWriter

__all__ = [
    "Dem",
    "FieldWriter",
    "GaugeWriter",
    "MeasuredWriter",
    "ParticleWriter",
    "ProbeWriter",
    "ProfileWriter",
    "RestartHeader",
    "Weather",
    "WriteError",
    "WriterSetup",
    "dem_to_corners",
    "grid_from_dem",
    "raster_to_centres",
    "read_dem",
    "read_heights",
    "read_raster",
    "read_restart",
    "read_restart_header",
    "read_series",
    "read_weather",
    "write_restart",
]
