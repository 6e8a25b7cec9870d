"""Fixtures for everything that asks a model."""

from tests.models.asking import endpoint

__all__ = ["endpoint"]
