"""The database: conversations, their timelines, runs and sessions, on SQLite or PostgreSQL."""
