"""Heron: forecasts of how many bicycles will stand at a station in the next hours."""

__version__ = "4.2.0"
