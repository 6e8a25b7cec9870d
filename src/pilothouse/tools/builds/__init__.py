"""git and the project's own tasks."""
