"""The queue of runs on PostgreSQL, and who is alive to take from it. Imported only where PostgreSQL is configured."""
