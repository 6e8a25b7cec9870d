"""The configured models: found, changed, tested, and made ready to be asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import msgspec

from pilothouse.models.facts import filled, is_asked, taken
from pilothouse.models.keys import Keys, read_source
from pilothouse.models.learned_limits import LessonBook
from pilothouse.models.models_file import (
    ModelsFile,
    is_first,
    parse_model,
    secret_name,
    slug,
    write_model,
)
from pilothouse.models.provider_table import kept_as, row_named, rows
from pilothouse.models.providers import address_of, with_address
from pilothouse.models.views import model_list, model_view
from pilothouse.types import limits
from pilothouse.types.api import ModelInput
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.invisible import on_one_line
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import Message, ModelRequest, TextBlock
from pilothouse.types.models import SIGNING, ModelConfig, ModelList, ModelTest, ModelView
from pilothouse.types.origins import is_loopback, origin_of
from pilothouse.types.ports import JsonStore, Model, ModelOutline, OpenModel, Secrets
from pilothouse.types.stream import CallStart, Failed, Retrying, Stopped, TextDelta, ThinkingDelta

SCRIPTED = "scripted:"
# Where a person says it, beside the form that says so itself.
_FIXES = {
    "baseUrl": "On the command line: --base-url with the whole address.",
    "model": "On the command line: --model with its name.",
}
_ADD_ONE = "Add one in Settings, Models, or with: pilothouse models add"
_PROMPT = Path(__file__).with_name("trial_prompt.txt")


class ModelCatalogue:
    """What `models.json` says, with the keys it names; implements the port `ModelSource`."""

    def __init__(
        self,
        file: JsonStore[ModelsFile],
        secrets: Secrets,
        keys: Keys,
        make_model: Callable[[ModelConfig, str], Model],
        learned: LessonBook | None = None,
    ) -> None:
        self._file = file
        self._secrets = secrets
        self._keys = keys
        self._make_model = make_model
        # What was learned from refusals.
        self.learned = learned or LessonBook()
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
        return model_list(self._content(), self._keys, self._file.problem, self.learned)

    async def configs(self) -> tuple[ModelConfig, ...]:
        """Return the configurations of all models, as the file has them."""
        return tuple(self._content().models.values())

    async def default(self) -> ModelConfig | None:
        """Return the default model's configuration, as the file has it."""
        content = self._content()
        return content.models[content.default_model_id] if content.default_model_id else None

    async def open(self, model_id: str | None) -> OpenModel:
        config = filled(self._find(model_id))
        key = await self._key(config)
        # A script is read anew: it may have been edited.
        made = self._open.get(config.id) if config.provider != "scripted" else None
        if made is None or made[:2] != (config, key):
            model = self._make_model(config, key)
            lessons = self.learned.of(config)
            made = (config, key, OpenModel(config, model, taken(config), lessons.refuses_tools, lessons.learn_no_tools))
            self._open[config.id] = made
        return made[2]

    async def outline(self, model_id: str | None) -> ModelOutline:
        config = filled(self._find(model_id))
        refuses = self.learned.of(config).refuses_tools
        return ModelOutline(config, taken(config), refuses())

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
        if body.api_key is None and body.api_key_source is None:
            # Nobody said anything of a key: one that waits for this very provider is meant.
            config = msgspec.structs.replace(config, api_key_source=self._keys.usual(config))
        config = await self._told(config, body)
        await asyncio.to_thread(self._save, config, body, True)
        return self._view(model_id)

    async def update(self, model_id: str, body: ModelInput) -> ModelView:
        before = self._existing(model_id)
        if body.id not in (None, "", model_id):
            raise PilothouseError("bad_request", "A model keeps its id.", fix="Add a new model and delete this one.")
        config = _configured(body, model_id, before)
        if config.known is None:
            config = await self._told(config, body)
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
        self._existing(model_id)
        await asyncio.to_thread(self._write, lambda raw: raw.update(defaultModelId=model_id))
        return await self.list()

    async def confirm_key(self, model_id: str) -> ModelView:
        await asyncio.to_thread(self._keys.bind, self._existing(model_id))
        return self._view(model_id)

    async def forget(self, model_id: str) -> ModelView:
        await self.learned.forget(self._existing(model_id))
        return self._view(model_id)

    # --- testing ---------------------------------------------------------------------------------

    async def test(self, model_id: str) -> ModelTest:
        self._existing(model_id)
        try:
            opened = await self.open(model_id)
        except PilothouseError as error:
            return ModelTest(ok=False, message=str(error))
        return await try_model(opened.model)

    async def test_draft(self, body: ModelInput) -> ModelTest:
        config = filled(self._draft(body))
        try:
            model = self._make_model(config, await self._draft_key(config, body))
        except PilothouseError as error:
            return ModelTest(ok=False, message=str(error))
        return await try_model(model)

    async def about(self, body: ModelInput) -> ModelView:
        config = await self._told(self._draft(body), body)
        return model_view(config, self._keys, self.learned, is_default=False)

    # --- what its server tells ---

    def _draft(self, body: ModelInput) -> ModelConfig:
        return _configured(body, body.id or "draft", self._content().models.get(body.id or ""))

    async def _draft_key(self, config: ModelConfig, body: ModelInput) -> str:
        before = self._content().models.get(body.id or "")
        given = before is None or config.api_key_source != before.api_key_source
        if body.api_key:
            return body.api_key
        return await asyncio.to_thread(self._keys.resolve, config, given=given)

    async def _told(self, config: ModelConfig, body: ModelInput) -> ModelConfig:
        """Return a configuration with what the model's own server says, where it is near enough to be asked."""
        if not is_asked(config):
            return config
        # The connections that it needs take a while to import; most commands never ask.
        from pilothouse.models.server_facts import told  # noqa: PLC0415

        try:
            key = await self._draft_key(config, body)
        except PilothouseError:
            # A key that cannot be had is told about when the model is asked for an answer.
            key = ""
        return msgspec.structs.replace(config, known=await told(config, key))

    # --- inside ----------------------------------------------------------------------------------

    def _content(self) -> ModelsFile:
        content = self._file.value
        if content is not self._seen:
            self._keys.see(content.models.values())
            self._seen = content
        return content

    def provider_of(self, model_id: str) -> str:
        """Return what kind of provider a model has; raise if there is no such model."""
        return self._find(model_id).provider

    def _find(self, model_id: str | None) -> ModelConfig:
        content = self._content()
        if model_id and model_id.startswith(SCRIPTED):
            script = Path(model_id.removeprefix(SCRIPTED))
            return ModelConfig(id=model_id, name=on_one_line(script.name), provider="scripted", model=str(script))
        chosen = model_id or content.default_model_id
        if chosen in content.models:
            return content.models[chosen]
        if not content.models or not chosen:
            problem = self._file.problem
            fix = f"{Path(problem.file).name} cannot be read: {problem.message}" if problem else _ADD_ONE
            raise PilothouseError("no_model", "No model configured.", fix=fix)
        # The page knows models by name, a command line by id.
        # What one types first, then what it is called elsewhere.
        names = ", ".join(f"{one.id} ({one.name})" if one.name != one.id else one.id for one in content.models.values())
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
        return model_view(self._existing(model_id), self._keys, self.learned, is_default=model_id == default)

    def _save(self, config: ModelConfig, body: ModelInput, given: bool) -> None:
        """Write an entry; a key that the person gave with it is bound to its origin."""
        if body.api_key:
            self._secrets.put(secret_name(config.id), body.api_key, origin_of(address_of(config)))
        elif given and read_source(config.api_key_source).kind in ("env", "literal", *SIGNING):
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
    row = row_named(body.provider)
    if row is None:
        raise _unknown(body.provider)
    raw: JsonObject = msgspec.to_builtins(before) if before else {}
    raw |= {
        "name": body.name.strip(),
        "provider": row.wire,
        "service": kept_as(row) or None,
        "model": body.model.strip(),
        "baseUrl": body.base_url.strip(),
        "apiKeySource": _source(body, model_id, before),
        "supportsThinking": body.supports_thinking,
        "supportsImages": body.supports_images,
        "maxTokens": body.max_tokens,
    }
    if body.tool_calls is not None:
        raw["toolCalls"] = body.tool_calls
    if body.native_tools is not None:
        raw["nativeTools"] = msgspec.to_builtins(body.native_tools)
    if body.prices is not None:
        raw["prices"] = None if body.prices == "known" else msgspec.to_builtins(body.prices)
    if body.context_window is not None:
        raw["contextWindow"] = None if body.context_window == "known" else body.context_window
    try:
        config = with_address(parse_model(model_id, raw))
    except BadField as error:
        raise PilothouseError("bad_request", error.message, fix=_FIXES.get(str(error.path[-1]), "")) from None
    if max(config.context_window, config.max_tokens or 0) > limits.TOKENS:
        raise PilothouseError("bad_request", f"No model takes or gives more than {limits.TOKENS:,} tokens.")
    # What was told belongs to the model that it was told about, and so does its price.
    if before and _same_model(config, before):
        return config
    return msgspec.structs.replace(config, known=None, prices=None if body.prices is None else config.prices)


def _unknown(provider: str) -> PilothouseError:
    # Only a slip needs it.
    from difflib import get_close_matches  # noqa: PLC0415

    near = get_close_matches(provider.lower(), rows(), 1)
    meant = f"Did you mean {near[0]}? " if near else ""
    fix = f"{meant}Use one of {', '.join(rows())}."
    return PilothouseError("bad_request", f"The provider “{provider}” is not known.", fix=fix)


def _same_model(one: ModelConfig, other: ModelConfig) -> bool:
    return (one.provider, one.model, one.base_url) == (other.provider, other.model, address_of(other))


def _source(body: ModelInput, model_id: str, before: ModelConfig | None) -> str:
    if body.api_key:
        return f"secret:{secret_name(model_id)}"
    kept = before.api_key_source if before else ""
    # A literal key is shown as this word only; coming back it means the key that is there.
    if body.api_key_source is None or (body.api_key_source == "literal" and read_source(kept).kind == "literal"):
        return kept
    return body.api_key_source.strip()


async def try_model(model: Model) -> ModelTest:
    """Ask a model for a few tokens and say how long it took, or what the provider answered instead."""
    prompt = TextBlock(text=_PROMPT.read_text(encoding="utf-8").strip())
    request = ModelRequest(messages=(Message("user", (prompt,)),), max_tokens=limits.TEST_MAX_TOKENS)
    try:
        async with asyncio.timeout(limits.TEST_TIMEOUT):
            return await _ask(model, request)
    except TimeoutError:
        return ModelTest(ok=False, message=f"No answer came within {limits.TEST_TIMEOUT:g} s.")


async def _ask(model: Model, request: ModelRequest) -> ModelTest:
    start = time.perf_counter()
    first: int | None = None
    async with aclosing(model.stream(request)) as events:
        async for event in events:
            elapsed = round((time.perf_counter() - start) * 1000)
            match event:
                case TextDelta() | ThinkingDelta() | CallStart():
                    first = elapsed if first is None else first
                case Failed():
                    return ModelTest(ok=False, message=event.message, total_ms=elapsed)
                case Retrying():
                    # The person wants to know now, not after the patience of a run.
                    return ModelTest(ok=False, message=_sentence(event.why), total_ms=elapsed)
                case Stopped():
                    return ModelTest(ok=True, message=_success(first, elapsed), first_token_ms=first, total_ms=elapsed)
    return ModelTest(ok=False, message="The answer ended without an end.")


def _success(first: int | None, total: int) -> str:
    if first is None:
        return f"Answered in {total / 1000:.2f} s, without text."
    return f"Answered in {total / 1000:.2f} s; the first token came after {first / 1000:.2f} s."


def _sentence(why: str) -> str:
    why = why.strip() or "the provider is not ready"
    return f"{why[0].upper()}{why[1:]}" + ("" if why.endswith(".") else ".")
