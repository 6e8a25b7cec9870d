"""What a file is, by its content; its name only tells apart what is text."""

from __future__ import annotations

import codecs
import zipfile
from pathlib import Path, PurePosixPath

from pilothouse.types import limits
from pilothouse.types.attached import DocumentKind
from pilothouse.types.errors import PilothouseError
from pilothouse.types.media import OPAQUE, picture_type

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# A PDF may begin with a little of something else.
_PDF_WITHIN = 1_024
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OFFICE: tuple[tuple[str, DocumentKind], ...] = (("word/", "word"), ("ppt/", "slides"), ("xl/", "sheet"))
_BY_NAME: dict[str, DocumentKind] = {
    **dict.fromkeys((".htm", ".html", ".xhtml"), "html"),
    **dict.fromkeys((".md", ".markdown", ".mdown"), "markdown"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".txt", ".text", ".log", ".rst", ".adoc", ".tex", ".srt", ".eml", ""), "text"),
}
_HTML = (b"<!doctype html", b"<html")


def kind_of(path: str, name: str) -> DocumentKind:
    """Return what a file is; raise one sentence for what has no text that could be read."""
    with Path(path).open("rb") as file:
        head = file.read(limits.FILE_SNIFF_BYTES)
    if not head:
        raise refused(name, "is empty", "There is nothing to read in it.")
    if b"%PDF-" in head[:_PDF_WITHIN]:
        return "pdf"
    if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
        return _office(path, name)
    if head.startswith(_OLD_OFFICE):
        fix = "Open it in its program, take the password off, and save it as .docx, .pptx or .xlsx."
        raise refused(name, "is an Office file of the old form, or one with a password", fix)
    if picture_type(head) != OPAQUE and b"\0" in head:
        raise refused(name, "is an image", "Attach it to a message as an image.")
    if not encoding_mark(head)[0] and b"\0" in head:
        fix = "Documents are PDF, Word, PowerPoint, Excel, HTML, Markdown, CSV, code and other text."
        raise refused(name, "is neither a document nor text", fix)
    if head.lstrip()[: len(_HTML[0])].lower().startswith(_HTML):
        return "html"
    return _BY_NAME.get(PurePosixPath(name).suffix.lower(), "code")


def encoding_mark(head: bytes) -> tuple[bytes, str]:
    """Return the mark with which a text says its encoding, and that; nothing where it does not."""
    return next(((mark, encoding) for mark, encoding in _MARKS if head.startswith(mark)), (b"", ""))


def refused(name: str, why: str, fix: str = "") -> PilothouseError:
    """Return why a file cannot be read: what it is, and what to do."""
    return PilothouseError("bad_request", f"{name} {why}.", fix=fix)


def _office(path: str, name: str) -> DocumentKind:
    try:
        with zipfile.ZipFile(path) as package:
            names = package.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise refused(name, "is not whole, or no Office file", "Save it once more and try again.") from None
    for folder, kind in _OFFICE:
        if any(each.startswith(folder) for each in names):
            return kind
    raise refused(name, "is an archive", "Unpack it and add the files that you want.")
