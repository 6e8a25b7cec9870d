"""Models that plugins make: found by the first part of their name, and held to the contract of a stream."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.messages import ModelRequest
from pilothouse.types.models import ModelConfig
from pilothouse.types.plugins import ModelMaker
from pilothouse.types.ports import Model
from pilothouse.types.stream import Failed, StreamEvent

_log = logging.getLogger(__name__)


def make_plugged(config: ModelConfig, key: str, makers: Mapping[str, ModelMaker]) -> Model:
    """Return the model that a plugin makes; its configuration names it as `name/model`."""
    from pilothouse.models.tool_calling import ToolCalling  # noqa: PLC0415 - only for who has such a model

    name = config.model.partition("/")[0]
    maker = makers.get(name)
    if maker is None:
        known = f"Plugins make: {', '.join(sorted(makers))}." if makers else "No installed plugin makes models."
        raise PilothouseError("bad_config", f"There is no plugin that makes the model “{config.model}”.", fix=known)
    try:
        made = maker(config, key)
    except Exception as error:
        _log.exception("a plugin could not make the model %s", config.id)
        message = f"The plugin for “{config.model}” failed: {type(error).__name__}."
        raise PilothouseError("bad_config", message, fix="The log has the details.") from error
    return ToolCalling(_Plugged(made, name), config, limits.CONSTRAINED_CALL_ROUNDS)


class _Plugged:
    """A plugin's model whose failures are events, as everywhere."""

    def __init__(self, model: Model, name: str) -> None:
        self._model = model
        self._name = name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Ask, and yield the answer as it arrives."""
        try:
            async with aclosing(self._model.stream(request)) as events:
                async for event in events:
                    yield event
        except Exception as error:
            _log.exception("the model of the plugin %s raised", self._name)
            yield Failed(code="model_failed", message=f"The plugin “{self._name}” failed: {type(error).__name__}.")


def making(makers: Callable[[], Mapping[str, ModelMaker]], make: ModelMaker) -> ModelMaker:
    """Return how models are made: by plugins where the configuration says so, as ever otherwise."""
    return lambda config, key: make_plugged(config, key, makers()) if config.provider == "plugin" else make(config, key)
