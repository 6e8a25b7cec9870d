"""Office files: packages of XML, opened within bounds, nothing unpacked to a disk and nothing fetched."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Callable
from types import TracebackType
from xml.parsers import expat

import msgspec

from pilothouse.documents.sniffing import refused
from pilothouse.types import limits

Attributes = dict[str, str]
Start = Callable[[str, Attributes], None]
End = Callable[[str], None]
Text = Callable[[str], None]
# Below this size an entry may be packed as well as it likes: nothing can come of it.
_SMALL = 1024 * 1024


class Relation(msgspec.Struct, frozen=True):
    """What one part of a package says about another: the end of the kind's name, and the part's name."""

    kind: str
    target: str


class Package:
    """An Office file, for the length of a `with`."""

    def __init__(self, path: str, name: str) -> None:
        self._name = name
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            raise self._broken() from None
        self._check()

    def __enter__(self) -> Package:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._zip.close()

    def _check(self) -> None:
        """Refuse a package before anything is unpacked, by what it says about itself."""
        entries = self._zip.infolist()
        if len(entries) > limits.OFFICE_ENTRIES:
            raise refused(self._name, f"has {len(entries):,} parts inside, which no real document has")
        for entry in entries:
            is_bomb = entry.file_size > _SMALL and entry.file_size > entry.compress_size * limits.OFFICE_RATIO
            if is_bomb or entry.file_size > limits.OFFICE_ENTRY_BYTES:
                raise self._too_much()
            if entry.flag_bits & 1:
                fix = "Save it without a password, then try again."
                raise refused(self._name, "is encrypted, and opens only with a password", fix)
        if sum(entry.file_size for entry in entries) > limits.OFFICE_BYTES:
            raise self._too_much()

    def has(self, part: str) -> bool:
        """Return whether there is such a part."""
        return part in self._zip.NameToInfo

    def parse(self, part: str, start: Start, end: End, text: Text) -> None:
        """Go through the XML of a part; a part that is not there has none."""
        if not self.has(part):
            return
        try:
            with self._zip.open(part) as file:
                # What it says about its size is not to be believed.
                data = file.read(limits.OFFICE_ENTRY_BYTES + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError):
            raise self._broken() from None
        if len(data) > limits.OFFICE_ENTRY_BYTES:
            raise self._too_much()
        try:
            _parse(data, start, end, text)
        except expat.ExpatError:
            raise self._broken() from None
        except _Forbidden as error:
            raise refused(self._name, f"has {error.what} in it, which no real document has") from None

    def relations(self, part: str) -> dict[str, Relation]:
        """Return what a part refers to, by id; what lies outside of the package is left out, and never fetched."""
        folder, _, last = part.rpartition("/")
        found: dict[str, Relation] = {}

        def start(name: str, attributes: Attributes) -> None:
            target = attributes.get("Target", "")
            if name != "Relationship" or attributes.get("TargetMode") == "External" or not target:
                return
            inside = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
            kind = attributes.get("Type", "").rpartition("/")[2]
            found[attributes.get("Id", "")] = Relation(kind, posixpath.normpath(inside))

        self.parse(posixpath.join(folder, "_rels", f"{last}.rels"), start, no_end, no_text)
        return found

    def main(self, usual: str) -> str:
        """Return the name of the part that everything begins with."""
        named = (each.target for each in self.relations("").values() if each.kind == "officeDocument")
        return next((target for target in named if self.has(target)), usual)

    def _broken(self) -> Exception:
        return refused(self._name, "is broken: it is no whole Office file", "Save it once more and try again.")

    def _too_much(self) -> Exception:
        return refused(self._name, "unpacks to more than any real document: it may be made to fill a memory")


class Enough(Exception):
    """Raised by whoever reads when there is enough."""


class _Forbidden(Exception):
    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def _parse(data: bytes, start: Start, end: End, text: Text) -> None:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = 0

    def forbid(*_: object) -> None:
        raise _Forbidden("a document type with entities")

    def begin(name: str, attributes: Attributes) -> None:
        nonlocal depth
        depth += 1
        if depth > limits.OFFICE_DEPTH:
            raise _Forbidden("XML nested very deeply")
        start(local(name), attributes)

    def finish(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(local(name))

    # Office files have no document type; whoever writes one wants entities: text that grows, or files of ours.
    parser.StartDoctypeDeclHandler = forbid
    parser.EntityDeclHandler = forbid
    parser.StartElementHandler = begin
    parser.EndElementHandler = finish
    parser.CharacterDataHandler = text
    parser.Parse(data, True)


def local(name: str) -> str:
    """Return a name without its namespace: what Word and others call it is the same in each."""
    return name.rpartition(" ")[2]


def attribute(attributes: Attributes, name: str) -> str:
    """Return an attribute whatever namespace it has."""
    if name in attributes:
        return attributes[name]
    return next((value for each, value in attributes.items() if local(each) == name), "")


def relation_id(attributes: Attributes) -> str:
    """Return the id of a relation, which has a namespace; one without is another id."""
    return next((value for name, value in attributes.items() if name.endswith("relationships id")), "")


def no_end(name: str) -> None:
    """Take no notice of the end of an element."""


def no_text(text: str) -> None:
    """Take no notice of text."""
