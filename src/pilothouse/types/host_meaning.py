"""The verbs about finding texts by meaning: a part of `types/host`."""

from __future__ import annotations

from pilothouse.types import limits
from pilothouse.types.embeddings import EmbeddingKey, EmbeddingTest, EmbeddingTried
from pilothouse.types.meaning import MeaningView
from pilothouse.types.verbs import Options, Service, verb


class MeaningVerbs(Service):
    """How texts are found by meaning."""

    @verb("get_meaning", "GET", "/api/meaning")
    async def get(self, owner: str) -> MeaningView:
        """Whether texts are found by meaning, by which model, and how far that is."""

    @verb("set_embedding_key", "PUT", "/api/meaning/key")
    async def set_key(self, owner: str, body: EmbeddingKey) -> MeaningView:
        """Keep a key for the embedding endpoint that is set, or take it away."""

    @verb("test_embeddings", "POST", "/api/meaning/test", Options(longer=limits.EMBEDDING_TIMEOUT))
    async def test(self, owner: str, body: EmbeddingTest) -> EmbeddingTried:
        """Ask an embedding endpoint for a vector; nothing is kept."""

    @verb("remake_vectors", "POST", "/api/meaning/anew")
    async def remake(self, owner: str) -> MeaningView:
        """Forget the vectors of all texts, which are then made anew in the background; no text is lost."""
