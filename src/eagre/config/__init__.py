"""Case files: TOML with units, expressions and error messages that contain a correction.

This package imports nothing, so that `eagre.config.values.units` loads quickly. The sections that require pydantic are
in separate modules.
"""
