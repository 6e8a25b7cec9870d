"""An embedding endpoint: OpenAI's form, which most servers have, and Ollama's own."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import struct
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import msgspec

from pilothouse.meaning.embedder import NoVectors
from pilothouse.net.client import fetch
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Fetched
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode
from pilothouse.types.meaning import Purpose
from pilothouse.types.origins import origin_of
from pilothouse.types.ports import Secrets

SECRET = "embeddings"  # noqa: S105 - the name under which it is kept
_OLLAMA_PORT = 11434
# What models want before a question and before what is searched, as their makers say.
_PREFIXES: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"nomic-embed-text", re.IGNORECASE), "search_query: ", "search_document: "),
    (re.compile(r"(^|[/_-])e5-(small|base|large)", re.IGNORECASE), "query: ", "passage: "),
    (re.compile(r"embeddinggemma", re.IGNORECASE), "task: search result | query: ", "title: none | text: "),
    (
        re.compile(r"mxbai-embed|bge-(small|base|large)-en|arctic-embed", re.IGNORECASE),
        "Represent this sentence for searching relevant passages: ",
        "",
    ),
)


class _Item(msgspec.Struct, frozen=True):
    embedding: list[float]
    index: int | None = None


class _OpenAi(msgspec.Struct, frozen=True):
    data: list[_Item]


class _Ollama(msgspec.Struct, frozen=True):
    embeddings: list[list[float]]


class Endpoint:
    """An endpoint by its address and model; implements the port `Embedder`. Its key is read for each request."""

    def __init__(self, url: str, model: str, key: Callable[[], str]) -> None:
        self._url, self._is_ollama = _address(url)
        self._model = model
        self._key = key
        self._host = urlsplit(url).netloc
        mark = hashlib.blake2b(f"{self._url}\0{model}".encode(), digest_size=6).hexdigest()
        self.id = f"{re.sub(r'[^A-Za-z0-9._-]+', '_', model).strip('._-')[:80] or 'model'} {mark}"
        self.name = f"{model} at {self._host}"
        found = (pair for pattern, *pair in _PREFIXES if pattern.search(model))
        self._query, self._passage = next(found, ("", ""))

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        timeout = limits.EMBEDDING_QUERY_TIMEOUT if purpose == "query" else limits.EMBEDDING_TIMEOUT
        made: list[bytes] = []
        for begin in range(0, len(texts), limits.EMBEDDING_BATCH):
            made += await self._asked(texts[begin : begin + limits.EMBEDDING_BATCH], purpose, timeout)
        if len({len(vector) for vector in made}) > 1:
            raise self._trouble("answered with vectors of several lengths")
        return made

    async def _asked(self, texts: Sequence[str], purpose: Purpose, timeout: float) -> list[bytes]:
        before = self._query if purpose == "query" else self._passage
        # Endpoints refuse a text without anything in it.
        body = encode({"model": self._model, "input": [before + (text.strip() or ".") for text in texts]})
        headers = {"content-type": "application/json", "accept": "application/json"}
        try:
            key = await asyncio.to_thread(self._key)
            if key:
                headers["authorization"] = f"Bearer {key}"
            most = limits.EMBEDDING_ANSWER_BYTES
            reply = await fetch(self._url, headers=headers, content=body, timeout=timeout, limit=most)
        except NetError as error:
            raise self._trouble(f"could not be asked: {error.why}") from None
        except PilothouseError as error:
            raise self._trouble(f"could not be asked: {error.message.rstrip('.')}") from None
        if reply.status != 200:
            raise self._refusal(reply, has_key=bool(key))
        # In a thread: thousands of numbers for each text.
        return await asyncio.to_thread(self._vectors, reply.body, len(texts))

    def _vectors(self, body: bytes, count: int) -> list[bytes]:
        try:
            if self._is_ollama:
                lists = msgspec.json.decode(body, type=_Ollama).embeddings
            else:
                data = msgspec.json.decode(body, type=_OpenAi).data
                if {each.index for each in data} == set(range(len(data))):
                    data.sort(key=lambda each: each.index or 0)
                lists = [each.embedding for each in data]
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise self._trouble("answered with something that is no list of vectors") from None
        if len(lists) != count:
            raise self._trouble(f"answered with {len(lists)} vectors for {count} texts")
        lengths = {len(each) for each in lists}
        if len(lengths) != 1 or not 1 < max(lengths) <= limits.EMBEDDING_DIMENSIONS:
            raise self._trouble("answered with vectors of no sensible length")
        return [self._unit(each) for each in lists]

    def _unit(self, numbers: Sequence[float]) -> bytes:
        largest = max(map(abs, numbers))
        # Also false for what is no number.
        if not 0 < largest < math.inf or any(map(math.isnan, numbers)):
            raise self._trouble("answered with vectors that have no direction")
        length = largest * math.sqrt(sum((number / largest) ** 2 for number in numbers))
        return struct.pack(f"<{len(numbers)}e", *(number / length for number in numbers))

    def _refusal(self, reply: Fetched, *, has_key: bool) -> NoVectors:
        if reply.status in (401, 403):
            return self._trouble("does not accept the key" if has_key else "wants a key")
        if reply.status == 404:
            return self._trouble(f"knows no such address, or no model “{self._model}”")
        if reply.status == 429:
            return self._trouble("has too many requests at the moment")
        if 300 <= reply.status < 400:
            return self._trouble("sends elsewhere, and keys and texts go nowhere but to the address that was set")
        refused = reply.status in (400, 413, 422)
        return self._trouble(f"answered with status {reply.status}", refused=refused)

    def _trouble(self, what: str, *, refused: bool = False) -> NoVectors:
        sentence = f"The embedding endpoint {self._host} {what}. Until it answers, texts are searched by their words."
        return NoVectors(sentence, refused=refused)


def _address(url: str) -> tuple[str, bool]:
    """Return where vectors are asked for, and whether in Ollama's own form."""
    url = url.strip().rstrip("/")
    parts = urlsplit(url)
    if parts.path.endswith("/api/embed"):
        return url, True
    if not parts.path and parts.port == _OLLAMA_PORT:
        return f"{url}/api/embed", True
    return (url if parts.path.endswith("/embeddings") else f"{url}/embeddings"), False


def kept_key(secrets: Secrets, url: str) -> str:
    """Return the key that is kept for an endpoint; none that was given for another address."""
    origin = origin_of(url)
    if secrets.origin_of(SECRET) != origin:
        return ""
    return secrets.get(SECRET, origin) or ""
