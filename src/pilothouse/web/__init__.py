"""HTTP and WebSocket: the guard, the routes, the streams and the built page."""
