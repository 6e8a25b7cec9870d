"""What only PostgreSQL has: the queue that several processes take runs from, and the settings that they share."""

from __future__ import annotations

from collections.abc import Iterator

# A conversation has at most one job that nobody has taken: whoever would add another looks here.
_WAITING_JOBS = "CREATE INDEX pilothouse_waiting_jobs ON procrastinate_jobs (lock) WHERE status = 'todo'"
# The settings that are files on one machine: policy.json, config.json, models.json. The version grows with each write.
_SETTINGS = (
    "CREATE TABLE shared_settings (name varchar(80) PRIMARY KEY, version bigint NOT NULL, body text NOT NULL, "
    "updated_at double precision NOT NULL)"
)
# Each sealed with the master key, which is never in the database.
_SECRETS = (
    "CREATE TABLE shared_secrets (name varchar(100) PRIMARY KEY, entry text NOT NULL, "
    "updated_at double precision NOT NULL)"
)


def statements() -> Iterator[str]:
    """Return what makes these tables."""
    # Imported only here: SQLite needs none of it, and a start that makes no tables neither.
    from procrastinate.schema import SchemaManager

    yield SchemaManager.get_schema()
    yield from (_WAITING_JOBS, _SETTINGS, _SECRETS)
