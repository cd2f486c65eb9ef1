"""Input and output: elevation rasters, time series, CF NetCDF and Zarr output, gauges and restart files.

The libraries for these formats (rasterio, xarray, h5netcdf, h5py) are imported by the functions that need them.
"""

from eagre.io.dem import Dem, read_dem, read_raster
from eagre.io.files import WriteError
from eagre.io.gauges import GaugeWriter
from eagre.io.heights import read_heights
from eagre.io.measured import MeasuredWriter
from eagre.io.netcdf import FieldWriter
from eagre.io.opening import WriterSetup
from eagre.io.particles import ParticleWriter
from eagre.io.probes import ProbeWriter
from eagre.io.profiles import ProfileWriter
from eagre.io.resample import dem_to_corners, grid_from_dem, raster_to_centres
from eagre.io.restart import RestartHeader, read_restart, read_restart_header, write_restart
from eagre.io.series import read_series
from eagre.io.weather import Weather, read_weather

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
