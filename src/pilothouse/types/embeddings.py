"""Who turns texts into vectors: what a person sets, and what comes of trying it."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pilothouse.types import limits
from pilothouse.types.json import Body, Frozen
from pilothouse.types.origins import is_nearby, origin_of
from pilothouse.types.setting import Setting

_PART = "Finding by meaning"
EmbeddingSource = Literal["built-in", "endpoint", "off"]


class Embeddings(Frozen, frozen=True):
    """Who makes the vectors by which texts are found by meaning: the model that comes along, an endpoint, or nobody."""

    source: Annotated[
        EmbeddingSource,
        Setting(
            part=_PART,
            label="What makes texts findable by meaning",
            note="Memories, documents and conversations are then found also by other words than their own.",
            choices={"built-in": "The built-in model", "endpoint": "An embedding endpoint", "off": "Nothing"},
        ),
    ] = "built-in"
    url: Annotated[
        str | None,
        Setting(
            part=_PART,
            label="Address of the endpoint",
            note="Of an OpenAI-compatible server, or of Ollama. Your texts are sent there.",
            usual="http://localhost:11434",
            text="address",
        ),
    ] = None
    model: Annotated[
        str | None,
        Setting(
            part=_PART,
            label="Its embedding model",
            note="Another model makes all vectors anew, in the background.",
            usual="nomic-embed-text",
            text="name",
        ),
    ] = None


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
