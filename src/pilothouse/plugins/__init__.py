"""Packages that add tools, models, reminders and maskers: found, and switched off when they break."""
