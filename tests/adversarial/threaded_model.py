"""A provider on a real socket, beside the test: it answers from a list of turns and keeps all that it was sent."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.wire_writers import Call, Say, Text, frames

# A text, or calls: the tool's name and its arguments.
Turn = str | Sequence[tuple[str, dict[str, Any]]]


class Provider:
    """What it says, and what it heard."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = turns
        self.keys: list[str] = []
        self.bodies: list[str] = []
        self.url = ""

    def answer(self, body: str) -> bytes:
        """Return the turn that follows those that the request tells of."""
        self.bodies.append(body)
        said = [message for message in json.loads(body)["messages"] if message["role"] == "assistant"]
        turn = self.turns[min(len(said), len(self.turns) - 1)]
        if isinstance(turn, str):
            return b"".join(frames("openai-compatible", Say((Text([turn]),))))
        calls = [
            Call(f"call_{len(said)}_{number}", name, json.dumps(given)) for number, (name, given) in enumerate(turn)
        ]
        return b"".join(frames("openai-compatible", Say(tuple(calls), stop="tool")))


class _Handler(http.server.BaseHTTPRequestHandler):
    provider: Provider

    def do_POST(self) -> None:
        self.provider.keys.append(self.headers.get("authorization", ""))
        answer = self.provider.answer(self.rfile.read(int(self.headers["content-length"])).decode())
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def start_model(turns: Sequence[Turn]) -> Iterator[Provider]:
    """Let it listen on loopback, in a thread."""
    provider = Provider(turns)
    handler = type("Handler", (_Handler,), {"provider": provider})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        provider.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
