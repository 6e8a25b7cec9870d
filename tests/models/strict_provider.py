"""A provider on loopback that insists on what its documentation says: the path, the headers, and who signed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pilothouse.models.aws import Credentials, Scope, sign
from pilothouse.models.signing import Outgoing
from tests.models.aws_frames import chunk
from tests.support.tiny_http import Answer, Request, TinyHttp
from tests.support.wire_writers import Say, Text, Wire, frames

SAID = Say((Text(["Hello", " there."]),))
EVENT_STREAM = {"content-type": "application/vnd.amazon.eventstream"}
_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>\w+)/(?P<day>\d{8})/(?P<region>[\w-]+)/(?P<service>[\w-]+)/aws4_request, "
    r"SignedHeaders=(?P<names>[\w;-]+), Signature=[0-9a-f]{64}"
)


@dataclass(frozen=True)
class ExpectedRequest:
    """What a request must be; `without` are fields and headers that must not be there."""

    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    check: Callable[[Request], str] = lambda request: ""

    def fault(self, request: Request) -> str:
        """Return what is wrong with a request; nothing when all is as documented."""
        if (request.method, request.target) != ("POST", self.path):
            return f"{request.method} {request.target}, not POST {self.path}"
        for name, value in self.headers.items():
            if request.headers.get(name) != value:
                return f"the header {name} is {request.headers.get(name)!r}, not {value!r}"
        sent = json.loads(request.body)
        for name, value in self.body.items():
            if sent.get(name) != value:
                return f"the field {name} is {sent.get(name)!r}, not {value!r}"
        for name in self.without:
            if name in request.headers or name in sent:
                return f"{name} is there"
        return self.check(request)


def strict_provider(insisted: ExpectedRequest, stream: bytes, kind: str = "text/event-stream") -> TinyHttp:
    """Return a provider that answers with a stream, or says what is wrong with the request."""

    def answer(request: Request) -> Answer:
        if fault := insisted.fault(request):
            return Answer(400, json.dumps({"error": {"message": f"refused: {fault}"}}).encode())
        return Answer(200, stream, {"content-type": kind})

    return TinyHttp(answer)


def stream_of(wire: Wire) -> bytes:
    """Return an answer as a wire streams it."""
    return b"".join(frames(wire, SAID))


def chunks_of_claude() -> bytes:
    """Return the same answer of Claude in Bedrock's frames."""
    lines = [line for line in stream_of("anthropic-compatible").split(b"\n") if line.startswith(b"data:")]
    return b"".join(chunk(json.loads(line[5:])) for line in lines)


def signature_check(credentials: Credentials, scope: Scope, origin: Callable[[], str]) -> Callable[[Request], str]:
    """Return what insists on a signature over the very request that came in."""

    def check(request: Request) -> str:
        found = _SIGNED.fullmatch(request.headers.get("authorization", ""))
        if found is None:
            return "it is not signed"
        names = found["names"].split(";")
        if not {"host", "x-amz-date", "content-type"} <= set(names):
            return "too little is signed"
        now = datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        headers = {name: request.headers[name] for name in names if name not in ("x-amz-date", "x-amz-security-token")}
        mine = sign(Outgoing("POST", origin() + request.target, headers, request.body), credentials, scope, now)
        return "" if mine["authorization"] == request.headers["authorization"] else "the signature is wrong"

    return check
