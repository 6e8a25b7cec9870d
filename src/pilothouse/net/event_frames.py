"""AWS's binary event stream: frames with two checksums, each taken out as one JSON document.

A frame is its length, the length of its headers, a checksum of both, the headers, the payload, and a checksum of all
of it. What a header or a length says is believed only within bounds.
"""

from __future__ import annotations

import base64
import binascii
import re
from zlib import crc32

import msgspec

from pilothouse.net.errors import NetError
from pilothouse.types import limits

_PRELUDE = 12
_CHECKSUM = 4
_WORD = re.compile(r"[A-Za-z]{1,64}")
# By the number of a header's type, the bytes of its value; arrays and strings say theirs themselves.
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_ARRAYS = (6, 7)
_STRING = 7
# What each kind of exception would have been as a status.
_STATUS = {
    "internalServerException": 500,
    "modelStreamErrorException": 500,
    "modelTimeoutException": 504,
    "serviceUnavailableException": 503,
    "throttlingException": 429,
    "validationException": 400,
}


class _Chunk(msgspec.Struct):
    bytes: str | None = None


class _Told(msgspec.Struct):
    message: str = ""


class EventFrames:
    """Collects bytes and gives back the documents of whole frames."""

    def __init__(self, limit: int = limits.STREAM_LINE_BYTES) -> None:
        self._limit = limit
        self._held = bytearray()
        # How long the frame is that is being waited for; 0 until its beginning is there.
        self._wanted = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take more bytes and return the documents of the frames that are now whole."""
        self._held += chunk
        documents: list[bytes] = []
        start = 0
        while (length := self._length(start)) and len(self._held) - start >= length:
            documents += _document(bytes(self._held[start : start + length]))
            start += length
            self._wanted = 0
        del self._held[:start]
        return documents

    def rest(self) -> list[bytes]:
        """Return what stands after the last frame: nothing, or the stream was cut."""
        if self._held:
            raise NetError("broken", "it broke off inside a frame")
        return []

    def _length(self, start: int) -> int:
        """Return the length of the frame that begins at `start`, checked; 0 until its beginning is there."""
        if not self._wanted and len(self._held) - start >= _PRELUDE:
            prelude = bytes(self._held[start : start + _PRELUDE])
            if crc32(prelude[:8]) != _number(prelude[8:]):
                raise NetError("broken", "the checksum of a frame's beginning is wrong")
            length, headers = _number(prelude[:4]), _number(prelude[4:8])
            if length > self._limit:
                raise NetError("large", f"it sent a frame of more than {self._limit // 1024} KB")
            if headers + _PRELUDE + _CHECKSUM > length:
                raise NetError("broken", "a frame is shorter than it says")
            self._wanted = length
        return self._wanted


def _document(frame: bytes) -> list[bytes]:
    if crc32(frame[:-_CHECKSUM]) != _number(frame[-_CHECKSUM:]):
        raise NetError("broken", "the checksum of a frame is wrong")
    end = _PRELUDE + _number(frame[4:8])
    headers, payload = _headers(frame[_PRELUDE:end]), frame[end:-_CHECKSUM]
    kind = headers.get(":message-type", "event")
    if kind != "event":
        return [_told(headers, payload)]
    event = headers.get(":event-type", "")
    if event == "chunk":
        return _unwrapped(payload)
    # Another kind of event is told apart by its name alone, which stands outside of its payload.
    return [b'{"%s":%s}' % (event.encode(), payload or b"{}")] if _WORD.fullmatch(event) else []


def _unwrapped(payload: bytes) -> list[bytes]:
    try:
        chunk = msgspec.json.decode(payload, type=_Chunk)
        return [base64.b64decode(chunk.bytes, validate=True)] if chunk.bytes else []
    except (msgspec.MsgspecError, UnicodeDecodeError, binascii.Error):
        raise NetError("broken", "a frame holds something else than it says") from None


def _told(headers: dict[str, str], payload: bytes) -> bytes:
    """Return an exception as the document that tells an error on other wires."""
    kind = headers.get(":exception-type") or headers.get(":error-code") or "error"
    try:
        words = msgspec.json.decode(payload, type=_Told).message
    except (msgspec.MsgspecError, UnicodeDecodeError):
        words = ""
    words = words or headers.get(":error-message", "") or kind
    return msgspec.json.encode(
        {"type": "error", "error": {"type": kind, "message": words, "code": _STATUS.get(kind, 500)}}
    )


def _headers(data: bytes) -> dict[str, str]:
    """Return the headers that are strings; the others are stepped over."""
    headers: dict[str, str] = {}
    at = 0
    try:
        while at < len(data):
            name_end = at + 1 + data[at]
            name, kind, at = data[at + 1 : name_end], data[name_end], name_end + 1
            size = _SIZES.get(kind, 0)
            if kind in _ARRAYS:
                size = int.from_bytes(data[at : at + 2], "big")
                at += 2
            elif kind not in _SIZES:
                raise NetError("broken", "a frame has a header of an unknown kind")
            if at + size > len(data):
                raise IndexError
            if kind == _STRING:
                headers[name.decode()] = data[at : at + size].decode()
            at += size
    except (IndexError, UnicodeDecodeError):
        raise NetError("broken", "a frame's headers are cut") from None
    return headers


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")
