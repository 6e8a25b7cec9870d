"""What a folder was before a command, so that what the command changed can be undone."""
