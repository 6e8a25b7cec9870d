"""Text that has no lines of its own, made into some."""

from __future__ import annotations

from pilothouse.documents.reading import Heading
from pilothouse.types import limits


class Lines:
    """Collects paragraphs as wrapped lines, and the headings among them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.headings: list[Heading] = []
        self.characters = 0

    def paragraph(self, text: str, *, level: int = 0, apart: bool = False) -> None:
        """Add a paragraph, as a heading if it has a level; with an empty line before it where it stands apart."""
        shown = text.strip()
        if not shown:
            return
        if apart and self.lines and self.lines[-1]:
            self.lines.append("")
        if level:
            title = " ".join(shown.split())[: limits.HEADING_CHARS]
            self.headings.append(Heading(len(self.lines), level, title))
        for line in shown.split("\n"):
            self.lines += wrapped(line)
        self.characters += len(shown) + 1

    @property
    def is_full(self) -> bool:
        """Return whether there is more than a document takes."""
        return self.characters > limits.DOCUMENT_CHARS


def wrapped(text: str) -> list[str]:
    """Return a text in lines of a readable length, broken between words where there are any."""
    words, lines, line = text.split(), [], ""
    for word in words:
        if line and len(line) + 1 + len(word) > limits.DOCUMENT_LINE_CHARS:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines
