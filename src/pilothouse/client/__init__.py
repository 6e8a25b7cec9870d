"""A running server's core, reached over HTTP."""
