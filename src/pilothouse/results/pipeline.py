"""Masks and bounds a result. A failure to mask withholds the result: better nothing than a secret."""

from __future__ import annotations

import logging
from typing import Any

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
            text, error, data = (self._masked(part) for part in (output.text, output.error, output.data))
        except Exception:
            _log.exception("masking a result failed")
            return ToolOutput(text=_WITHHELD, error=ToolError("MASKING_FAILED", _WITHHELD))
        return ToolOutput(text=bounded(text, limits.RESULT_CHARS), error=error, data=data)

    def _masked(self, part: Any) -> Any:
        """Return the part with every text in it masked."""
        match part:
            case str():
                return self._redactor.redact(part)
            case dict():
                return {self._masked(key): self._masked(value) for key, value in part.items()}
            case list() | tuple():
                return [self._masked(value) for value in part]
            case ToolError():
                return msgspec.structs.replace(part, message=self._masked(part.message))
            case _:
                return part


def bounded(text: str, room: int) -> str:
    """Return the text, or its beginning and end with a note of what is missing."""
    if len(text) <= room:
        return text
    head, tail = room * 2 // 3, room // 3
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[-tail:]}"
