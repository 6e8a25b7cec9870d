"""Pictures and sounds: recognised by their first bytes, whatever a stranger says they are."""

from __future__ import annotations

OPAQUE = "application/octet-stream"
_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_SOUNDS = (
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)


def picture_type(data: bytes) -> str:
    """Return what kind of image the bytes are; anything that is none is only bytes."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for magic, media_type in _PICTURES if data.startswith(magic)), OPAQUE)


def sound_type(data: bytes) -> str:
    """Return what kind of sound the bytes are; anything that is none is only bytes."""
    if data.startswith(b"RIFF") and data[8:12] == b"WAVE":
        return "audio/wav"
    return next((media_type for magic, media_type in _SOUNDS if data.startswith(magic)), OPAQUE)


def described(media_type: str, size: int, name: str = "") -> str:
    """Return a file in words for a model: what it is, how large, and its name."""
    return ", ".join(word for word in (media_type, f"{size:,} bytes", name) if word)
