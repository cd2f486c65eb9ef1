"""Case files: TOML with units, expressions and errors that say what to write.

Nothing is imported here, so that `eagre.config.units` stays light; the sections that need pydantic live in modules of
their own.
"""
