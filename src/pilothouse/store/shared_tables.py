"""What only PostgreSQL has: the queue that several processes take runs from, and the settings that they share."""

from __future__ import annotations

from pilothouse.store.statements import Connection, Statement
from pilothouse.types.errors import PilothouseError

_IS_THERE = Statement("SELECT CAST(to_regclass(:name) AS text)")
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


def make(connection: Connection) -> None:
    """Make these tables, those that are not there: a copy that is read back leaves settings and secrets."""
    # Imported only here: SQLite needs none of it, and a start that makes no tables neither.
    from procrastinate.schema import SchemaManager

    names = ("procrastinate_jobs", "pilothouse_waiting_jobs")
    queue, ours = (_IS_THERE.first(connection, {"name": name}) for name in names)
    if queue is not None and ours is None:
        raise PilothouseError(
            "database",
            "Another program keeps a queue of procrastinate in this database, and would take our jobs.",
            fix="Give Pilothouse a database of its own: PILOTHOUSE_DATABASE_URL.",
        )
    made = {
        "procrastinate_jobs": SchemaManager.get_schema(),
        "pilothouse_waiting_jobs": _WAITING_JOBS,
        "shared_settings": _SETTINGS,
        "shared_secrets": _SECRETS,
    }
    for name, statement in made.items():
        if _IS_THERE.first(connection, {"name": name}) is None:
            connection.exec_driver_sql(statement.replace("%", "%%"))
