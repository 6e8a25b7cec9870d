"""A real server on a real socket for every test, over a host of its own."""

from tests.support.in_process_server import server

__all__ = ["server"]
