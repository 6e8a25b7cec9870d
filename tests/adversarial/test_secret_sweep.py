"""Canary keys in every place a key can come from, a provider that echoes them back, and a look everywhere."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers import ROOT, Server

STORED = "sk-canary-stored-6f1d2c"
VARIABLE = "sk-canary-variable-93ab7e"
LITERAL = "sk-canary-literal-41c0de"


class Echo(http.server.BaseHTTPRequestHandler):
    """A provider that refuses every request and repeats its headers in the refusal."""

    seen: list[str]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", "0")))
        key = self.headers.get("authorization", "")
        self.seen.append(key)
        body = json.dumps({"error": {"message": f"Your header was {key}, which is wrong."}}).encode()
        self.send_response(401)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def provider() -> Iterator[tuple[str, list[str]]]:
    seen: list[str] = []
    handler = type("Recording", (Echo,), {"seen": seen})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1", seen
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.case("SECRET-01", "SECRET-02", "SECRET-04", "SECRET-08", "AUT-28", "AUT-29")
def test_canary_keys_are_found_only_where_they_belong(
    home: Path, provider: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, seen = provider
    monkeypatch.setenv("CANARY_KEY", VARIABLE)
    heard: list[str] = []
    with Server(home) as server:

        def say(method: str, path: str, body: object = None) -> Any:
            answer = server.client.request(method, path, json=body)
            heard.append(answer.text)
            return answer.json() if answer.content else None

        for name, how in (("stored", {"apiKey": STORED}), ("variable", {"apiKeySource": "env:CANARY_KEY"})):
            say(
                "POST",
                "/api/models",
                {"name": name, "provider": "openai-compatible", "model": "m", "baseUrl": url} | how,
            )
        add_literal(home / "models.json", url)
        for model in ("stored", "variable", "literal"):
            say("POST", f"/api/models/{model}/test")
            conversation = say("POST", "/api/conversations", {})["id"]
            accepted = say("POST", f"/api/conversations/{conversation}/messages", {"text": "Hi", "modelId": model})
            server.wait_for_run(accepted["runId"], "failed")
            run = say("GET", f"/api/runs/{accepted['runId']}")
            assert run["error"]["code"] == "bad_key"
            say("GET", f"/api/conversations/{conversation}")
        say("POST", "/api/models/refresh")
        for path in ("/api/models", "/api/state", "/api/config", "/api/models/catalogue", "/api/models/found"):
            say("GET", path)
        heard += [command("models", "list"), command("doctor"), command("run", "--model", "stored", "hello")]
    assert {f"Bearer {STORED}", f"Bearer {VARIABLE}", f"Bearer {LITERAL}"} <= set(seen), (
        "the twin: keys do reach their owner"
    )
    heard.append(server.log.read_text())
    files = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert home / "logs" / "pilothouse.log" in files
    for canary in (STORED, VARIABLE, LITERAL):
        assert not [text for text in heard if canary in text]
        found = {path.name for path, content in files.items() if canary.encode() in content}
        # The person wrote that one into the file; copies of the file are the person's too.
        assert found <= ({"models.json", "last-good-models.json"} if canary == LITERAL else set())


def add_literal(path: Path, url: str) -> None:
    content = json.loads(path.read_text())
    content["models"]["literal"] = {
        "name": "literal",
        "provider": "openai-compatible",
        "baseUrl": url,
        "apiKeySource": LITERAL,
        "model": "m",
    }
    path.write_text(json.dumps(content))


def command(*arguments: str) -> str:
    """Run the command line beside the server and return all it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "pilothouse", *arguments],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        timeout=60,
        check=False,
    )
    return (done.stdout + done.stderr).decode()
