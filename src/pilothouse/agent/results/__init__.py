"""What happens to a tool's result before anyone sees or keeps it."""
