"""What a person does about finding by meaning: looks how it stands, gives a key, tries an endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pilothouse.meaning.embedder import NoVectors
from pilothouse.meaning.endpoint import SECRET, Endpoint, kept_key
from pilothouse.meaning.service import MeaningService
from pilothouse.types import limits
from pilothouse.types.embeddings import EmbeddingKey, Embeddings, EmbeddingTest, EmbeddingTried, endpoint_problem
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host_meaning import MeaningVerbs
from pilothouse.types.meaning import MeaningView
from pilothouse.types.origins import origin_of
from pilothouse.types.ports import Secrets

_TRIED = "A short text to see whether this endpoint answers."


class MeaningAdmin(MeaningVerbs):
    """Implements the verbs."""

    def __init__(self, service: MeaningService, settings: Callable[[], Embeddings], secrets: Secrets) -> None:
        self._service = service
        self._settings = settings
        self._secrets = secrets

    async def get(self, owner: str) -> MeaningView:
        return await self._service.view()

    async def set_key(self, owner: str, body: EmbeddingKey) -> MeaningView:
        if body.value is None:
            await asyncio.to_thread(self._secrets.delete, SECRET)
        else:
            origin = origin_of(self._settings().url or "")
            if not origin:
                message = "There is no embedding endpoint that this key could be for."
                raise PilothouseError("bad_request", message, fix="Set its address first.")
            await asyncio.to_thread(self._secrets.put, SECRET, _checked(body.value), origin)
        self._service.settings_changed()
        return await self._service.view()

    async def test(self, owner: str, body: EmbeddingTest) -> EmbeddingTried:
        if problem := endpoint_problem(body.url, body.model):
            return EmbeddingTried(ok=False, message=problem)
        given = None if body.key is None else _checked(body.key)
        endpoint = Endpoint(body.url, body.model, lambda: kept_key(self._secrets, body.url) if given is None else given)
        try:
            [vector] = await endpoint.embed([_TRIED], "passage")
        except NoVectors as error:
            return EmbeddingTried(ok=False, message=error.sentence.partition(" Until it answers")[0])
        numbers = len(vector) // 2
        message = f"{endpoint.name} answers, with vectors of {numbers:,} numbers."
        return EmbeddingTried(ok=True, message=message, dimension=numbers)

    async def remake(self, owner: str) -> MeaningView:
        await self._service.remake()
        return await self._service.view()


def _checked(key: str) -> str:
    key = key.strip()
    if not key or len(key) > limits.EMBEDDING_KEY_CHARS or not (key.isascii() and key.isprintable()):
        raise PilothouseError("bad_request", "This cannot be a key.", fix="Copy it whole, without spaces around it.")
    return key
