from __future__ import annotations

import socket

import pytest


def test_a_connection_to_another_machine_fails_like_a_dead_network() -> None:
    with socket.socket() as client, pytest.raises(OSError, match="loopback"):
        client.connect(("192.0.2.1", 80))


def test_a_name_of_another_machine_is_not_looked_up() -> None:
    with pytest.raises(socket.gaierror, match="loopback"):
        socket.getaddrinfo("elsewhere.example", 443)


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()
