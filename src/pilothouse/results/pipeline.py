"""Masks and bounds a result. A failure to mask withholds the result: better nothing than a secret."""

from __future__ import annotations

import logging

import msgspec

from pilothouse.types import limits
from pilothouse.types.ports import Redactor, ToolError, ToolOutput

_log = logging.getLogger(__name__)
_WITHHELD = "The result was withheld because it could not be checked for secrets."


class Pipeline:
    """The way every result takes."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def process(self, output: ToolOutput) -> ToolOutput:
        """Return the output masked and within its bounds."""
        try:
            text = self._redactor.redact(output.text)
        except Exception:
            _log.exception("masking a result failed")
            return ToolOutput(text=_WITHHELD, error=ToolError("MASKING_FAILED", _WITHHELD))
        return msgspec.structs.replace(output, text=bounded(text, limits.RESULT_CHARS))


def bounded(text: str, room: int) -> str:
    """Return the text, or its beginning and end with a note of what is missing."""
    if len(text) <= room:
        return text
    head, tail = room * 2 // 3, room // 3
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[-tail:]}"
