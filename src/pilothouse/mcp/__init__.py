"""MCP servers: how they are started, reached, watched and called."""
