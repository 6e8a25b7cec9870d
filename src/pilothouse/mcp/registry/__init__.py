"""Registries of MCP servers: asked, copied and searched."""
