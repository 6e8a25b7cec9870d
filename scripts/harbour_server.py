"""The MCP server of the pictures: a harbour that answers, asks, draws, takes its time, and is silent on the radio."""

from __future__ import annotations

import json
import math
import struct
import sys
import time
import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.mcp_servers.scripted import Server, main

SHEETS = 30
SIZE = (420, 200)
DEPTHS = ((244, 236, 214), (178, 216, 226), (140, 192, 210), (104, 164, 190), (74, 134, 168))
TIDES = {
    "harbour": "Bergen",
    "high": [{"time": "06:12", "metres": 1.4}, {"time": "18:40", "metres": 1.5}],
    "low": [{"time": "00:03", "metres": 0.3}, {"time": "12:25", "metres": 0.4}],
}
BERTH = {
    "type": "object",
    "properties": {
        "boat": {"type": "string", "title": "Name of the boat"},
        "length": {"type": "number", "title": "Length in metres", "minimum": 1},
        "power": {"type": "boolean", "title": "Shore power"},
    },
    "required": ["boat"],
}


def chart() -> str:
    """Return a small chart of depths as a PNG in base64."""
    width, height = SIZE
    rows = []
    for y in range(height):
        row = bytearray(b"\0")
        for x in range(width):
            depth = 2.1 + 1.6 * math.sin(x / 52 + math.cos(y / 41)) + 1.2 * math.cos(y / 37 - x / 90)
            row += bytes(DEPTHS[max(0, min(len(DEPTHS) - 1, int(depth)))])
        rows.append(bytes(row))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b""))
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
    return b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


class Harbour(Server):
    """Its tools."""

    def do_tides(self, number: object, params: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.4)
        return {"content": [{"type": "text", "text": json.dumps(TIDES)}], "structuredContent": TIDES}

    def do_draw_chart(self, number: object, params: dict[str, Any]) -> dict[str, Any]:
        image = {"type": "image", "data": chart(), "mimeType": "image/png"}
        link = {"type": "resource_link", "uri": "https://charts.example.com/bergen", "name": "The whole sheet"}
        return {"content": [{"type": "text", "text": "Soundings in metres."}, image, link]}

    def do_download_charts(self, number: object, params: dict[str, Any]) -> str | None:
        token = params.get("_meta", {}).get("progressToken")
        for sheet in range(1, SHEETS + 1):
            told = {"progressToken": token, "progress": sheet, "total": SHEETS, "message": f"sheet {sheet} of {SHEETS}"}
            self.write({"method": "notifications/progress", "params": told})
            time.sleep(0.9)
            if number in self.cancelled:
                return None
        return f"{SHEETS} sheets"

    def do_call_office(self, number: object, params: dict[str, Any]) -> dict[str, Any]:
        text = "Nobody answers on channel 12; the office opens at 07:00."
        return {"content": [{"type": "text", "text": text}], "isError": True}

    def do_listen(self, number: object, params: dict[str, Any]) -> str:
        return self.do_sleep(number, {"arguments": {}})

    def do_reserve_berth(self, number: object, params: dict[str, Any]) -> str | dict[str, Any] | None:
        return self.do_ask(number, {"arguments": {"schema": BERTH, "message": "Who comes, and for which berth?"}})


if __name__ == "__main__":
    main(Harbour)
