"""The configured MCP servers: their entries, consent, connections and tools."""
