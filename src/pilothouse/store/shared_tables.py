"""What only PostgreSQL has: the queue that several processes take runs from, and the settings that they share."""

from __future__ import annotations

from collections.abc import Iterator

# A conversation has at most one job that nobody has taken: whoever would add another looks here.
_WAITING_JOBS = "CREATE INDEX pilothouse_waiting_jobs ON procrastinate_jobs (lock) WHERE status = 'todo'"
# What a restore takes away before it makes the tables anew. The queue is of the moment; settings and secrets stay.
QUEUE_GONE = """
DO $$ DECLARE found record; BEGIN
  FOR found IN SELECT format('DROP TABLE %I CASCADE', tablename) AS drop FROM pg_tables
    WHERE schemaname = current_schema() AND starts_with(tablename, 'procrastinate_')
  LOOP EXECUTE found.drop; END LOOP;
  FOR found IN SELECT format('DROP ROUTINE %s CASCADE', oid::regprocedure) AS drop FROM pg_proc
    WHERE pronamespace = current_schema()::regnamespace AND starts_with(proname, 'procrastinate_')
  LOOP EXECUTE found.drop; END LOOP;
  FOR found IN SELECT format('DROP TYPE %I CASCADE', typname) AS drop FROM pg_type
    WHERE typnamespace = current_schema()::regnamespace
    AND starts_with(typname, 'procrastinate_') AND typtype IN ('c', 'e')
  LOOP EXECUTE found.drop; END LOOP;
END $$
"""
# The settings that are files on one machine: policy.json, config.json, models.json. The version grows with each write.
_SETTINGS = (
    "CREATE TABLE IF NOT EXISTS shared_settings (name varchar(80) PRIMARY KEY, version bigint NOT NULL, "
    "body text NOT NULL, updated_at double precision NOT NULL)"
)
# Each sealed with the master key, which is never in the database.
_SECRETS = (
    "CREATE TABLE IF NOT EXISTS shared_secrets (name varchar(100) PRIMARY KEY, entry text NOT NULL, "
    "updated_at double precision NOT NULL)"
)


def statements() -> Iterator[str]:
    """Return what makes these tables."""
    # Imported only here: SQLite needs none of it, and a start that makes no tables neither.
    from procrastinate.schema import SchemaManager

    yield SchemaManager.get_schema()
    yield from (_WAITING_JOBS, _SETTINGS, _SECRETS)
