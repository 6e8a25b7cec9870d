"""What is in a file: its bytes as they were opened, and those bytes as text that goes back exactly as it came."""

from __future__ import annotations

import codecs
import hashlib
import os
import stat

import msgspec

from pilothouse.tools.files.places import PathRefused, Place
from pilothouse.tools.files.walk import Folder, Identity, identity, refusal
from pilothouse.types import limits

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Takes any byte and gives it back: what is in an unknown encoding survives being edited elsewhere in the file.
_ANY_BYTES = "latin-1"


class Snapshot(msgspec.Struct, frozen=True):
    """A regular file as it was when it was read as a whole."""

    content: bytes
    mode: int
    identity: Identity
    size: int
    changed: int
    # The user and the group it belongs to.
    belongs: tuple[int, int]

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the content."""
        return digest(self.content)

    def is_still(self, found: os.stat_result | None) -> bool:
        """Return whether what is there now is this very file, untouched since."""
        return found is not None and (identity(found), found.st_size, found.st_mtime_ns) == (
            self.identity,
            self.size,
            self.changed,
        )


class Text(msgspec.Struct, frozen=True):
    """Text with all that it takes to write it back."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def newline(self) -> str:
        """Return the line ending that most of its lines have."""
        windows = self.text.count("\r\n")
        return "\r\n" if windows and windows * 2 >= self.text.count("\n") else "\n"

    @property
    def certain(self) -> bool:
        """Return whether the encoding is known, not merely one that takes all bytes."""
        return self.encoding != _ANY_BYTES

    def encoded(self, text: str) -> bytes:
        """Return another text in the same encoding; raise when it has characters that the encoding lacks."""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            lacking = error.object[error.start]
            raise PathRefused(
                f"The file is not in UTF-8, and {lacking!r} cannot be written in its encoding.", "ENCODING"
            ) from None

    def in_its_lines(self, text: str) -> str:
        """Return a text with the file's own line endings; what has carriage returns already is left alone."""
        return text.replace("\n", "\r\n") if self.newline == "\r\n" and "\r" not in text else text


def digest(content: bytes) -> str:
    """Return the SHA-256 of a content."""
    return hashlib.sha256(content).hexdigest()


def read_whole(folder: Folder, name: str, shown: str) -> Snapshot:
    """Return a regular file as a whole; refuse one that is too large to be changed and kept."""
    with os.fdopen(folder.open(name), "rb", buffering=0) as file:
        found = os.fstat(file.fileno())
        if found.st_size > limits.FILE_EDIT_BYTES:
            raise PathRefused(
                f"{shown} has {amount(found.st_size)}; files of up to {amount(limits.FILE_EDIT_BYTES)} can be changed.",
                "TOO_LARGE",
            )
        try:
            content = read_up_to(file.fileno(), limits.FILE_EDIT_BYTES + 1)
        except OSError as error:
            raise refusal(shown, error) from None
        after = os.fstat(file.fileno())
    if (len(content), after.st_mtime_ns) != (found.st_size, found.st_mtime_ns):
        raise PathRefused(f"{shown} is being written by someone else; try again.", "CONFLICT")
    return Snapshot(
        content=content,
        mode=stat.S_IMODE(found.st_mode),
        identity=identity(found),
        size=found.st_size,
        changed=found.st_mtime_ns,
        belongs=(found.st_uid, found.st_gid),
    )


def read_up_to(descriptor: int, most: int) -> bytes:
    """Return what a file has, up to so many bytes."""
    pieces: list[bytes] = []
    while most > 0:
        piece = os.read(descriptor, min(most, 1024 * 1024))
        if not piece:
            break
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def is_binary(content: bytes) -> bool:
    """Return whether a content is no text."""
    if _marked(content):
        return False
    return b"\0" in content[: limits.FILE_SNIFF_BYTES]


def as_text(content: bytes, place: Place) -> Text:
    """Return a content as text; refuse what is none."""
    if is_binary(content):
        raise PathRefused(f"{place.name} is a binary file ({amount(len(content))}); it is not text.", "BINARY")
    marked = _marked(content)
    mark, encoding = marked or (b"", "utf-8")
    for each in (encoding, _ANY_BYTES):
        try:
            return Text(content[len(mark) :].decode(each), each, mark)
        except UnicodeDecodeError:
            mark = b""
    raise AssertionError


def _marked(content: bytes) -> tuple[bytes, str] | None:
    return next(((mark, encoding) for mark, encoding in _MARKS if content.startswith(mark)), None)


def amount(size: float) -> str:
    """Return a number of bytes as people say it."""
    if size < 1024:
        return f"{size} byte{'' if size == 1 else 's'}"
    for unit in ("KB", "MB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} GB"


def lines_of(text: str) -> list[str]:
    """Return the lines with their ends; a line ends at a line feed and nowhere else."""
    *whole, last = text.split("\n")
    lines = [f"{line}\n" for line in whole]
    return [*lines, last] if last else lines
