"""Who turns texts into vectors: what a person sets, and what comes of trying it."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pilothouse.types import limits
from pilothouse.types.json import Body, Frozen
from pilothouse.types.origins import is_nearby, origin_of

EmbeddingSource = Literal["built-in", "endpoint", "off"]


class Embeddings(Frozen, frozen=True):
    """Who makes the vectors by which texts are found by meaning: the model that comes along, an endpoint, or nobody."""

    source: EmbeddingSource = "built-in"
    # Of an endpoint: its address, and the model that it is asked for.
    url: str | None = None
    model: str | None = None


class EmbeddingKey(Body, frozen=True):
    """The key of the endpoint that is set; null takes it away."""

    value: str | None


class EmbeddingTest(Body, frozen=True):
    """An endpoint to be tried; without a key, the one that is kept for it is sent."""

    url: str
    model: str
    key: str | None = None


class EmbeddingTried(Frozen, frozen=True):
    """What came of trying an endpoint."""

    ok: bool
    # One sentence: how it answered, or why it is of no use.
    message: str
    # How many numbers its vectors have.
    dimension: int = 0


def endpoint_problem(url: str, model: str) -> str:
    """Return what is wrong with an endpoint's address or model in a sentence; empty if nothing is."""
    if not model.strip() or len(model) > limits.EMBEDDING_MODEL_CHARS or not model.isprintable():
        return "Name the embedding model that the endpoint is to be asked for."
    if len(url) > limits.EMBEDDING_URL_CHARS or not origin_of(url):
        return "This is no web address: an endpoint’s is like http://localhost:11434 or https://example.com/v1."
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:
        return "The address of an endpoint has no name, password, “?” or “#” in it; its key is given beside it."
    if parts.scheme != "https" and not is_nearby(url):
        return "The address is without encryption: anyone on the way could read your texts. Use https."
    return ""
