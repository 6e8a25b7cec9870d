"""Packages that servers run: found, pinned, installed once and started from there."""
