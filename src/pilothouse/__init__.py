"""Pilothouse: an agent host that you own."""

__version__ = "0.1.0"
