"""Tools that mean what a question means, whatever words either uses; where a model can say that."""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

from pilothouse.tools.nearest import nearest
from pilothouse.types import limits
from pilothouse.types.meaning import Meaning
from pilothouse.types.ports import Tool

# Texts that are embedded at once: what was done is kept when time is up.
_BATCH = 16
_JOINTS = re.compile(r"[._\-]+")


class ToolMeanings:
    """The vectors of tools, by what these say of themselves; made when a search needs them."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning
        # By the model and the text, the one that was used last at the end.
        self._vectors: OrderedDict[tuple[str, bytes], bytes] = OrderedDict()

    async def alike(self, tools: Sequence[Tool], question: str) -> list[Tool]:
        """Return the tools nearest to a question; none before all of them are known, so that no search is half of one.

        What could not be had in time is there for the next search.
        """
        if not self._meaning.is_there or not 0 < len(tools) <= limits.FINDING_MEANINGS:
            return []
        try:
            async with asyncio.timeout(limits.FINDING_MEANING_TIME):
                vectors = await self.known(tools, limits.FINDING_LEARN_TIME)
                vector = next(iter(await self._meaning.embed([question], "query")), b"") if vectors else b""
        except TimeoutError:
            return []
        places = await asyncio.to_thread(nearest, vector, vectors, limits.FINDING_ALIKE, limits.FINDING_LIKENESS)
        return [tools[place] for place in places]

    async def known(self, tools: Sequence[Tool], seconds: float) -> list[bytes]:
        """Return the vectors of all tools, if they are known or can be made in about this time; else none."""
        model, until = self._meaning.model, time.monotonic() + seconds
        texts = {(model, _digest(text)): text for text in map(_text, tools)}
        missing = [key for key in texts if key not in self._vectors]
        for at in range(0, len(missing), _BATCH):
            if at and time.monotonic() > until:
                return []
            keys = missing[at : at + _BATCH]
            made = await self._meaning.embed([texts[key] for key in keys])
            if len(made) != len(keys):
                return []
            self._vectors.update(zip(keys, made, strict=True))
        for key in texts:
            self._vectors.move_to_end(key)
        while len(self._vectors) > limits.FINDING_MEANINGS:
            self._vectors.popitem(last=False)
        return [self._vectors[model, _digest(_text(tool))] for tool in tools]


def _text(tool: Tool) -> str:
    """Return what a tool is called and the beginning of what it says of itself."""
    name = _JOINTS.sub(" ", tool.qualified_name or tool.spec.name)
    return f"{name}: {tool.spec.description.strip()[: limits.FINDING_MEANING_CHARS]}"


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
