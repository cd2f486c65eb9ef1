# Made by tools/make_reference.py (make reference); change the source, not this file.

from eagre.terms.atmospheric_pressure import AtmosphericPressure as AtmosphericPressure
from eagre.terms.body_force import BodyForce as BodyForce
from eagre.terms.coriolis import Coriolis as Coriolis
from eagre.terms.rain import Rain as Rain
from eagre.terms.weather_pressure import WeatherPressure as WeatherPressure
from eagre.terms.weather_rain import WeatherRain as WeatherRain
from eagre.terms.weather_wind import WeatherWind as WeatherWind
from eagre.terms.wind_stress import WindStress as WindStress
from eagre.terms.zone_rain import ZoneRain as ZoneRain

__all__: list[str]
NAMES: dict[str, str]

def class_name(module: str) -> str: ...
