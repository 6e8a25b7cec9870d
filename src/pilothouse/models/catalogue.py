"""The configured models: found, changed, tested, and made ready to be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from pilothouse.models.keys import Keys, read_source
from pilothouse.models.media import taken
from pilothouse.models.models_file import (
    ModelsFile,
    is_first,
    parse_model,
    secret_name,
    slug,
    write_model,
)
from pilothouse.models.providers import NAMES, address_of, usual_window, with_address
from pilothouse.models.trial import try_model
from pilothouse.models.views import model_list, model_view
from pilothouse.types.api import ModelInput
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.models import ModelConfig, ModelList, ModelTest, ModelView
from pilothouse.types.origins import is_loopback, origin_of
from pilothouse.types.ports import JsonStore, Model, OpenModel, Secrets

SCRIPTED = "scripted:"
_ADD_ONE = "Add one in Settings, Models, or with: pilothouse models add"


class ModelCatalogue:
    """What `models.json` says, with the keys it names; implements the port `ModelSource`."""

    def __init__(
        self,
        file: JsonStore[ModelsFile],
        secrets: Secrets,
        keys: Keys,
        make_model: Callable[[ModelConfig, str], Model],
    ) -> None:
        self._file = file
        self._secrets = secrets
        self._keys = keys
        self._make_model = make_model
        self._seen: ModelsFile | None = None
        # The models made so far, each with what it was made from: a change makes a new one.
        self._open: dict[str, tuple[ModelConfig, str, OpenModel]] = {}
        self._content()

    @property
    def file(self) -> JsonStore[ModelsFile]:
        """Return the file behind it, for whoever watches it for edits."""
        return self._file

    # --- reading ---------------------------------------------------------------------------------

    async def list(self) -> ModelList:
        """Return all models, the default, and what is wrong with the file."""
        return model_list(self._content(), self._keys, self._file.problem)

    async def configs(self) -> tuple[ModelConfig, ...]:
        """Return the configurations of all models."""
        return tuple(self._content().models.values())

    async def default_id(self) -> str | None:
        """Return the id of the default model."""
        return self._content().default_model_id

    async def default(self) -> ModelConfig | None:
        """Return the default model's configuration."""
        content = self._content()
        return content.models[content.default_model_id] if content.default_model_id else None

    async def open(self, model_id: str | None) -> OpenModel:
        """Return the named model or the default, ready to be asked."""
        config = with_address(self._find(model_id))
        key = await self._key(config)
        # A script is read anew: it may have been edited.
        made = self._open.get(config.id) if config.provider != "scripted" else None
        if made is None or made[:2] != (config, key):
            made = (config, key, OpenModel(config, self._make_model(config, key), taken(config)))
            self._open[config.id] = made
        return made[2]

    def key_for(self, config: ModelConfig) -> str:
        """Return a configured model's key, for asking its provider something else than an answer."""
        return self._keys.resolve(config)

    # --- changing --------------------------------------------------------------------------------

    async def add(self, body: ModelInput) -> ModelView:
        """Add a model; the first one beside the built-in one becomes the default."""
        models = self._content().models
        model_id = body.id or slug(body.name, models)
        if model_id in models:
            raise PilothouseError("conflict", f"There is a model “{model_id}” already.", fix="Choose another id.")
        config = _configured(body, model_id, None)
        await asyncio.to_thread(self._save, config, body, True)
        return self._view(model_id)

    async def update(self, model_id: str, body: ModelInput) -> ModelView:
        """Replace a model's configuration; without `api_key` its key stays, bound as it was."""
        before = self._existing(model_id)
        if body.id not in (None, "", model_id):
            raise PilothouseError("bad_request", "A model keeps its id.", fix="Add a new model and delete this one.")
        config = _configured(body, model_id, before)
        await asyncio.to_thread(self._save, config, body, config.api_key_source != before.api_key_source)
        await asyncio.to_thread(self._drop_secret, before)
        return self._view(model_id)

    async def delete(self, model_id: str) -> None:
        """Remove a model and the secret that was kept for it; the default cannot be removed."""
        before = self._existing(model_id)
        if self._content().default_model_id == model_id:
            message = f"“{before.name}” is the default model and cannot be deleted."
            raise PilothouseError("conflict", message, fix="Make another model the default first.")

        def change(raw: JsonObject) -> None:
            raw.get("models", {}).pop(model_id, None)

        await asyncio.to_thread(self._write, change)
        await asyncio.to_thread(self._drop_secret, before)
        await asyncio.to_thread(self._keys.forget, model_id)
        self._open.pop(model_id, None)

    async def set_default(self, model_id: str) -> ModelList:
        """Make a model the default."""
        self._existing(model_id)
        await asyncio.to_thread(self._write, lambda raw: raw.update(defaultModelId=model_id))
        return await self.list()

    async def confirm_key(self, model_id: str) -> ModelView:
        """Bind a model's key to the origin that its URL has now."""
        await asyncio.to_thread(self._keys.bind, self._existing(model_id))
        return self._view(model_id)

    # --- testing ---------------------------------------------------------------------------------

    async def test(self, model_id: str) -> ModelTest:
        """Make a real, tiny request to a model."""
        self._existing(model_id)
        try:
            opened = await self.open(model_id)
        except PilothouseError as error:
            return ModelTest(ok=False, message=str(error))
        return await try_model(opened.model)

    async def test_draft(self, body: ModelInput) -> ModelTest:
        """Make a real, tiny request to a model that is not saved."""
        before = self._content().models.get(body.id or "")
        config = with_address(_configured(body, body.id or "draft", before))
        given = before is None or config.api_key_source != before.api_key_source
        try:
            kept = "" if body.api_key else await asyncio.to_thread(self._keys.resolve, config, given=given)
            model = self._make_model(config, body.api_key or kept)
        except PilothouseError as error:
            return ModelTest(ok=False, message=str(error))
        return await try_model(model)

    # --- inside ----------------------------------------------------------------------------------

    def _content(self) -> ModelsFile:
        content = self._file.value
        if content is not self._seen:
            self._keys.see(content.models.values())
            self._seen = content
        return content

    def _find(self, model_id: str | None) -> ModelConfig:
        content = self._content()
        if model_id and model_id.startswith(SCRIPTED):
            script = Path(model_id.removeprefix(SCRIPTED))
            return ModelConfig(id=model_id, name=script.name, provider="scripted", model=str(script))
        chosen = model_id or content.default_model_id
        if chosen in content.models:
            return content.models[chosen]
        if not content.models or not chosen:
            problem = self._file.problem
            fix = f"{Path(problem.file).name} cannot be read: {problem.message}" if problem else _ADD_ONE
            raise PilothouseError("no_model", "No model configured.", fix=fix)
        names = ", ".join(content.models)
        raise PilothouseError("unknown_model", f"There is no model “{chosen}”.", fix=f"There are: {names}.")

    async def _key(self, config: ModelConfig) -> str:
        # Only a stored secret may have to wait for a keyring.
        if read_source(config.api_key_source).kind == "secret":
            key = await asyncio.to_thread(self._keys.resolve, config)
        else:
            key = self._keys.resolve(config)
        state = self._keys.state(config)
        # A server on this machine may well do without; another would only answer that the key is wrong.
        if not key and state.problem and not is_loopback(address_of(config)):
            raise PilothouseError("no_key", state.problem, fix=f"“{config.name}” needs it. Set it and start again.")
        return key

    def _existing(self, model_id: str) -> ModelConfig:
        config = self._content().models.get(model_id)
        if config is None:
            names = ", ".join(self._content().models) or "none"
            raise PilothouseError("not_found", f"There is no model “{model_id}”.", fix=f"There are: {names}.")
        return config

    def _view(self, model_id: str) -> ModelView:
        default = self._content().default_model_id
        return model_view(self._existing(model_id), self._keys, is_default=model_id == default)

    def _save(self, config: ModelConfig, body: ModelInput, given: bool) -> None:
        """Write an entry; a key that the person gave with it is bound to its origin."""
        if body.api_key:
            self._secrets.put(secret_name(config.id), body.api_key, origin_of(address_of(config)))
        elif given and read_source(config.api_key_source).kind in ("env", "literal"):
            self._keys.bind(config)

        def change(raw: JsonObject) -> None:
            if not raw.get("defaultModelId") or is_first(raw, config):
                raw["defaultModelId"] = config.id
            write_model(raw, config)

        self._write(change)

    def _write(self, change: Callable[[JsonObject], None]) -> None:
        try:
            self._file.update(change)
        except BadField as error:
            raise PilothouseError("bad_request", error.message) from None

    def _drop_secret(self, before: ModelConfig) -> None:
        """Delete the secret that was kept for a model, once no model uses it."""
        source = f"secret:{secret_name(before.id)}"
        used = {config.api_key_source for config in self._content().models.values()}
        if before.api_key_source == source and source not in used:
            self._secrets.delete(secret_name(before.id))


def _configured(body: ModelInput, model_id: str, before: ModelConfig | None) -> ModelConfig:
    """Return the configuration that a form asks for, on top of what it cannot say."""
    if body.provider not in NAMES:
        fix = f"Use one of {', '.join(NAMES)}."
        raise PilothouseError("bad_request", f"The provider “{body.provider}” is not known.", fix=fix)
    raw: JsonObject = msgspec.to_builtins(before) if before else {}
    raw |= {
        "name": body.name.strip(),
        "provider": body.provider,
        "model": body.model.strip(),
        "baseUrl": body.base_url.strip(),
        "apiKeySource": _source(body, model_id, before),
        "contextWindow": body.context_window,
        "supportsThinking": body.supports_thinking,
        "supportsImages": body.supports_images,
        "maxTokens": body.max_tokens,
    }
    if body.tool_calls is not None:
        raw["toolCalls"] = body.tool_calls
    if body.native_tools is not None:
        raw["nativeTools"] = msgspec.to_builtins(body.native_tools)
    if body.context_window is None:
        raw["contextWindow"] = before.context_window if before else usual_window(body.provider, body.model)
    try:
        return with_address(parse_model(model_id, raw))
    except BadField as error:
        raise PilothouseError("bad_request", error.message) from None


def _source(body: ModelInput, model_id: str, before: ModelConfig | None) -> str:
    if body.api_key:
        return f"secret:{secret_name(model_id)}"
    kept = before.api_key_source if before else ""
    # A literal key is shown as this word only; coming back it means the key that is there.
    if body.api_key_source is None or (body.api_key_source == "literal" and read_source(kept).kind == "literal"):
        return kept
    return body.api_key_source.strip()
