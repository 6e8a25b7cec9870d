"""A program that takes a port while its owner is away, serves a page of its own there, and keeps all that comes.

Run as `python -m tests.browser.squatter PORT FILE ASSET`.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.waiting import until

WORKER = """
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  if (event.request.mode !== "navigate") return;
  event.respondWith(new Response("<h1>Look-alike from a worker</h1>", { headers: { "content-type": "text/html" } }));
});
"""
PAGE = """<!doctype html><title>Pilothouse</title><h1>Look-alike</h1><script type="module">
const told = { storage: { ...localStorage } };
const opened = await new Promise((resolve) => { const r = indexedDB.open("pilothouse", 1);
  r.onsuccess = () => resolve(r.result); });
const shelf = opened.transaction("keys").objectStore("keys");
const pair = await new Promise((resolve) => { const r = shelf.get("pilothouse");
  r.onsuccess = () => resolve(r.result); });
opened.close();
told.exported = await crypto.subtle.exportKey("pkcs8", pair.privateKey).then(() => "yes", (error) => error.name);
const text = new TextEncoder().encode("pilothouse session of-the-squatter");
const raw = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
  .replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
told.key = raw(await crypto.subtle.exportKey("raw", pair.publicKey));
told.signature = raw(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, pair.privateKey, text));
await fetch("/ASSET").catch(() => null);
const registered = await navigator.serviceWorker.register("/worker.js");
await navigator.serviceWorker.ready;
told.worker = Boolean(registered);
await fetch("/api/told", { method: "POST", body: JSON.stringify(told) });
document.title = "done";
</script>"""


class _Squatting(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    file: Path
    asset: str
    writing = threading.Lock()

    def do_GET(self) -> None:
        """Answer with whatever looks right."""
        self._keep("")
        if self.path.startswith("/api/"):
            # What it would like to see signed.
            return self._send(401, "application/json", "{}", {"X-Pilothouse-Start": "of-the-squatter"})
        if self.path == "/worker.js":
            return self._send(200, "text/javascript", WORKER, {})
        forever = {"Cache-Control": "public, max-age=31536000, immutable"}
        if self.path == self.asset:
            return self._send(200, "text/javascript", "document.title = 'poisoned';", forever)
        return self._send(200, "text/html", PAGE.replace("/ASSET", self.asset), forever)

    def do_POST(self) -> None:
        """Take what is brought."""
        self._keep(self.rfile.read(int(self.headers.get("content-length", 0))).decode())
        self._send(401 if self.path != "/api/told" else 200, "application/json", "{}", {})

    def _keep(self, body: str) -> None:
        record = {"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body}
        with self.writing, self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def _send(self, status: int, kind: str, text: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "content-type": kind, "content-length": str(len(text.encode()))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Squatter:
    """The process, and what it took down."""

    def __init__(self, process: subprocess.Popen[bytes], file: Path) -> None:
        self._process = process
        self._file = file

    def taken(self) -> list[dict[str, Any]]:
        """Return every request that came."""
        text = self._file.read_text(encoding="utf-8") if self._file.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def end(self) -> None:
        """Let the port go."""
        self._process.kill()
        self._process.wait(10)


@contextlib.contextmanager
def start_squatter(port: int, folder: Path, asset: str) -> Iterator[Squatter]:
    """Take a port until told to let it go."""
    file = folder / "taken.jsonl"
    command = [sys.executable, "-m", "tests.browser.squatter", str(port), str(file), asset]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    squatter = Squatter(process, file)
    try:
        assert process.stdout is not None
        until(process.stdout.readline, "the squatter to listen", 20)
        yield squatter
    finally:
        squatter.end()
        if process.stdout is not None:
            process.stdout.close()


if __name__ == "__main__":
    _Squatting.file, _Squatting.asset = Path(sys.argv[2]), sys.argv[3]
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), _Squatting)
    sys.stdout.write("up\n")
    sys.stdout.flush()
    server.serve_forever()
