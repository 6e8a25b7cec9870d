"""Alembic migrations; run by `store.upgrade` only."""
