"""Puts the parts of documents together; what keeps, reads and finds them is loaded at the first call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pilothouse.host.dependencies import HeldDocuments
from pilothouse.tools.making import DocumentParts
from pilothouse.types.lazy import Lazy
from pilothouse.types.meaning import Meaning
from pilothouse.types.ports import PathGuard
from pilothouse.wiring.foundation import Foundation

if TYPE_CHECKING:
    from pilothouse.store.documents import StoredDocuments
    from pilothouse.tools.files.workspace import Workspace
    from pilothouse.types.documents import DocumentShelf
    from pilothouse.types.host_documents import Documents


class DocumentWiring:
    """Who answers for documents: to people, to messages and to the tool."""

    def __init__(self, base: Foundation, guard: PathGuard, meaning: Meaning) -> None:
        self._base = base
        self._guard = guard
        self._meaning = meaning
        self._records = Lazy(self._make_records)
        self._shelf: Lazy[DocumentShelf] = Lazy(self._make_shelf)
        self.held = HeldDocuments(Lazy(self._make_service), self._shelf)
        self.for_tools = DocumentParts(self._records, self._shelf, Lazy(self._make_workspace))

    def _make_records(self) -> StoredDocuments:
        from pilothouse.store.documents import StoredDocuments

        return StoredDocuments(self._base.opened.database)

    def _make_shelf(self) -> DocumentShelf:
        from pilothouse.documents.shelf import Shelf

        return Shelf(self._records(), self._base.opened.store, self._meaning)

    def _make_service(self) -> Documents:
        from pilothouse.documents.service import DocumentService

        base = self._base
        return DocumentService(self._shelf(), self._records(), base.opened.store, base.home.cache / "documents")

    def _make_workspace(self) -> Workspace:
        from pilothouse.tools.files.workspace import Workspace

        return Workspace(self._guard, self._base.opened.store)
