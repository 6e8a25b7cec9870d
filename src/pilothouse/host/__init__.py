"""Runs: commands in, execution, recovery, and the feed of what happens."""
