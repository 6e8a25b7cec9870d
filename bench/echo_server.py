"""The least that is an MCP server over stdio, with one tool: `echo_server.py [SECONDS_BEFORE_IT_ANSWERS | never]`."""

import json
import sys
import time
from typing import Any

TOOL = {
    "name": "echo",
    "description": "Gives back what it is given.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}
INFO = {"capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {"result": {"protocolVersion": params.get("protocolVersion", "2025-11-25"), **INFO}}
    if method == "tools/list":
        return {"result": {"tools": [TOOL]}}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": text(params["arguments"]["text"])}]}}
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def text(given: str) -> str:
    """Return what was given, or so many bytes where it is a wish like `bytes:1000000`."""
    return "x" * int(given[6:]) if given.startswith("bytes:") else given


def main(delay: str) -> None:
    if delay == "never":
        sys.stdin.read()
        return
    time.sleep(float(delay))
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], **answer(message["method"], message.get("params") or {})}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "0")
