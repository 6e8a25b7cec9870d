"""Real files of every kind that is read, written by hand: small, and with what a test asks for in them."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence

_TYPES = (
    '<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def pdf(pages: Sequence[Sequence[str]], *, outline: Sequence[tuple[str, int]] = (), encrypted: bool = False) -> bytes:
    """Return a PDF with these lines on its pages; an outline names pages from 0 on."""
    objects: list[bytes] = [b"", b""]

    def add(body: bytes) -> int:
        objects.append(body)
        return len(objects)

    font = add(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    kids = []
    for lines in pages:
        shown = "".join(f"({_escaped(line)}) Tj T*\n" for line in lines)
        stream = zlib.compress(f"BT /F1 10 Tf 50 800 Td 14 TL\n{shown}ET".encode("cp1252", "replace"))
        head = b"<< /Length %d /Filter /FlateDecode >>\nstream\n" % len(stream)
        content = add(head + stream + b"\nendstream")
        resources = b"/Resources << /Font << /F1 %d 0 R >> >>" % font
        box = b"/MediaBox [0 0 595 842]"
        kids.append(add(b"<< /Type /Page /Parent 2 0 R %s %s /Contents %d 0 R >>" % (box, resources, content)))
    listed = b" ".join(b"%d 0 R" % kid for kid in kids)
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), listed)
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R%s >>" % _outlined(objects, outline, kids)
    trailer = b""
    if encrypted:
        # The standard handler with keys that no password fits.
        keys = b"/O (%s) /U (%s)" % (b"o" * 32, b"u" * 32)
        number = add(b"<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 %s >>" % keys)
        trailer = b" /Encrypt %d 0 R /ID [<%s> <%s>]" % (number, b"00" * 16, b"00" * 16)
    return _assembled(objects, trailer)


def _outlined(objects: list[bytes], outline: Sequence[tuple[str, int]], kids: Sequence[int]) -> bytes:
    if not outline:
        return b""
    first = len(objects) + 2
    root = first - 1
    last = first + len(outline) - 1
    objects.append(b"<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>" % (first, last, len(outline)))
    for at, (title, page) in enumerate(outline):
        links = b" /Prev %d 0 R" % (first + at - 1) if at else b""
        links += b" /Next %d 0 R" % (first + at + 1) if first + at < last else b""
        where = b"/Dest [%d 0 R /Fit]" % kids[page]
        objects.append(b"<< /Title (%s) /Parent %d 0 R %s%s >>" % (_escaped(title).encode(), root, where, links))
    return b" /Outlines %d 0 R" % root


def _assembled(objects: Sequence[bytes], trailer: bytes) -> bytes:
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return bytes(out + b"trailer << /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start))


def _escaped(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def package(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a zip of parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def _related(*targets: tuple[str, str]) -> str:
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'<?xml version="1.0"?><Relationships xmlns="{_RELATIONS}">{listed}</Relationships>'


def docx(paragraphs: Sequence[tuple[str, str] | str], *, more: Mapping[str, str | bytes] | None = None) -> bytes:
    """Return a Word document of paragraphs: text, or a style's id and text; "PAGE" is a page break."""
    body = []
    for each in paragraphs:
        style, text = each if isinstance(each, tuple) else ("", each)
        if text == "PAGE":
            body.append('<w:p><w:r><w:br w:type="page"/></w:r></w:p>')
            continue
        properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
        body.append(f'<w:p>{properties}<w:r><w:t xml:space="preserve">{_xml(text)}</w:t></w:r></w:p>')
    return docx_of("".join(body), more=more)


def docx_of(body: str, *, more: Mapping[str, str | bytes] | None = None) -> bytes:
    """Return a Word document with this body, in WordprocessingML."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="H{level}"><w:name w:val="heading {level}"/></w:style>'
        for level in range(1, 4)
    )
    return package(
        {
            "[Content_Types].xml": _TYPES,
            "_rels/.rels": _related(("officeDocument", "word/document.xml")),
            "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>',
            "word/styles.xml": f'<?xml version="1.0"?><w:styles xmlns:w="{_WORD}">{styles}</w:styles>',
            **(more or {}),
        }
    )


def pptx(slides: Sequence[tuple[str, Sequence[str]]], *, notes: str = "") -> bytes:
    """Return a presentation of slides, each a title and paragraphs; the notes are the first one's."""
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _related(("officeDocument", "ppt/presentation.xml")),
        "ppt/_rels/presentation.xml.rels": _related(
            *(("slide", f"slides/slide{number}.xml") for number in range(1, len(slides) + 1))
        ),
        "ppt/presentation.xml": (
            f'<?xml version="1.0"?><p:presentation xmlns:p="{_SLIDES}" xmlns:r="{_OFFICE}"><p:sldIdLst>'
            + "".join(f'<p:sldId id="{255 + number}" r:id="rId{number}"/>' for number in range(1, len(slides) + 1))
            + "</p:sldIdLst></p:presentation>"
        ),
    }
    for number, (title, lines) in enumerate(slides, 1):
        shapes = _shape("title", [title]) + _shape("body", lines)
        parts[f"ppt/slides/slide{number}.xml"] = _slide("sld", shapes)
    if notes:
        parts["ppt/slides/_rels/slide1.xml.rels"] = _related(("notesSlide", "../notesSlides/notesSlide1.xml"))
        parts["ppt/notesSlides/notesSlide1.xml"] = _slide("notes", _shape("body", [notes]) + _shape("sldNum", ["1"]))
    return package(parts)


def _shape(place: str, lines: Sequence[str]) -> str:
    text = "".join(f"<a:p><a:r><a:t>{_xml(line)}</a:t></a:r></a:p>" for line in lines)
    return f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{place}"/></p:nvPr></p:nvSpPr><p:txBody>{text}</p:txBody></p:sp>'


def _slide(kind: str, shapes: str) -> str:
    names = f'xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}"'
    return f'<?xml version="1.0"?><p:{kind} {names}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:{kind}>'


def xlsx(sheets: Mapping[str, Sequence[Sequence[str | float | None]]], *, dates: Sequence[int] = ()) -> bytes:
    """Return a workbook of sheets, row by row; the columns that are named by number hold days."""
    shared: dict[str, int] = {}
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _related(("officeDocument", "xl/workbook.xml")),
        "xl/_rels/workbook.xml.rels": _related(
            *(("worksheet", f"worksheets/sheet{number}.xml") for number in range(1, len(sheets) + 1))
        ),
        "xl/workbook.xml": (
            f'<?xml version="1.0"?><workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>'
            + "".join(
                f'<sheet name="{_xml(name)}" sheetId="{number}" r:id="rId{number}"/>'
                for number, name in enumerate(sheets, 1)
            )
            + "</sheets></workbook>"
        ),
        "xl/styles.xml": (
            f'<styleSheet xmlns="{_SHEET}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'
        ),
    }
    for number, rows in enumerate(sheets.values(), 1):
        body = "".join(_row(at, row, shared, dates) for at, row in enumerate(rows, 1))
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<?xml version="1.0"?><worksheet xmlns="{_SHEET}"><sheetData>{body}</sheetData></worksheet>'
        )
    texts = "".join(f"<si><t>{_xml(text)}</t></si>" for text in shared)
    parts["xl/sharedStrings.xml"] = f'<?xml version="1.0"?><sst xmlns="{_SHEET}">{texts}</sst>'
    return package(parts)


def _row(at: int, row: Sequence[str | float | None], shared: dict[str, int], dates: Sequence[int]) -> str:
    cells = []
    for column, value in enumerate(row):
        place = f"{chr(ord('A') + column)}{at}"
        if isinstance(value, str):
            number = shared.setdefault(value, len(shared))
            cells.append(f'<c r="{place}" t="s"><v>{number}</v></c>')
        elif value is not None:
            style = ' s="1"' if column in dates and at > 1 else ""
            cells.append(f'<c r="{place}"{style}><v>{value}</v></c>')
    return f'<row r="{at}">{"".join(cells)}</row>' if cells else ""


def png(width: int, height: int) -> bytes:
    """Return a black picture of any size, which takes next to nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(b"\0" * ((width + 7) // 8 + 1) * height, 9)
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def _xml(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


# A small one of each kind: what it is called, and a word that is only in it.
def one_of_each() -> dict[str, tuple[bytes, str]]:
    """Return a file of each kind by its name, with a word that is in it."""
    return {
        "harbour.pdf": (
            pdf([["Harbour report", "The pelican arrived at noon."], ["Second page", "Nothing."]]),
            "pelican",
        ),
        "letter.docx": (docx([("H1", "Letter"), "The walrus signed the contract."]), "walrus"),
        "talk.pptx": (pptx([("Opening", ["Welcome"]), ("Numbers", ["The ibis doubled."])]), "ibis"),
        "costs.xlsx": (xlsx({"Costs": [["what", "euro"], ["heron", 12.5]]}), "heron"),
        "page.html": (b"<html><body><h1>Page</h1><p>A cormorant dives.</p></body></html>", "cormorant"),
        "notes.md": (b"# Notes\n\n## Birds\n\nThe gannet is white.\n", "gannet"),
        "plain.txt": ("One line.\nThe smörgås is on the table, says the puffin.\n".encode(), "puffin"),
        "table.csv": (b"name,weight\nalbatross,8\n", "albatross"),
        "program.py": (b"def kittiwake() -> int:\n    return 1\n", "kittiwake"),
    }
