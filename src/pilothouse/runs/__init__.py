"""Runs: commands in, events out, who executes what, and what happens after a crash."""
