"""Runs migrations on the connection that `store.upgrade` has open, inside its transaction."""

from alembic import context

from pilothouse.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
