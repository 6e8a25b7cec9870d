"""The MCP client: transports, JSON-RPC, and one session with one server."""
