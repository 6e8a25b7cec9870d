"""`pilothouse models`: list, add, edit, remove, default, test, found, confirm-key."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TypeVar

import msgspec

from pilothouse.cli.forms import require_change
from pilothouse.cli.model_form import ModelForm
from pilothouse.cli.prompting import read_secret
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, one_line, output, plain
from pilothouse.connection import connect_host
from pilothouse.types.api import ModelInput
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.models import ModelView
from pilothouse.types.selection import NativeTools

T = TypeVar("T")
_SWITCHES = {"on": True, "off": False, "default": None}


async def list_models(*, as_json: bool) -> int:
    """List the models, the default first in sight."""
    async with connect_host() as api:
        models = await api.models(LOCAL_OWNER)
    out = output()
    if as_json:
        out.json(models)
        return 0
    rows = [("*" if one.is_default else "", one.id, one.name, _about(one)) for one in models.models]
    if rows:
        show_table(out, ("", "id", "name", "what and where"), rows)
    else:
        messages().line("There are no models yet. Add one: pilothouse models add --help")
    for one in models.models:
        if one.key.problem:
            messages().line(f"{one.id}: {one.key.problem}", "yellow")
    if models.problem is not None:
        place = f", line {models.problem.line}" if models.problem.line else ""
        messages().line(f"{models.problem.file}{place}: {models.problem.message}", "yellow")
    return 0


def _about(one: ModelView) -> str:
    key = f"key from {one.api_key_source}" if one.api_key_source else ""
    thinks = "thinks" if one.supports_thinking else ""
    sees = "sees images" if one.supports_images else ""
    parts = (one.model if one.model != one.name else "", one.host, one.context_label, thinks, sees, key)
    return ", ".join(part for part in parts if part)


async def add(model_id: str | None, form: ModelForm) -> int:
    """Add a model and say its id."""
    if form.provider is None:
        raise PilothouseError("bad_request", "A model needs a provider.", fix="Add --provider; --help names them.")
    body = ModelInput(
        id=model_id,
        name=form.name or form.model or model_id or form.provider,
        provider=form.provider,
        model=_whole(form.provider, form.model or ""),
        base_url=form.base_url or "",
        api_key_source=form.key_source,
        api_key=read_secret("key") if form.key else None,
        context_window=form.context_window,
        supports_thinking=bool(form.thinking),
        supports_images=form.images,
        max_tokens=form.max_tokens,
        tool_calls=form.tool_calls,
        native_tools=_native_tools(form, NativeTools()),
    )
    async with connect_host() as api:
        made = await api.add_model(LOCAL_OWNER, body)
    output().line(one_line(made.id))
    _warn(made)
    if made.is_default:
        messages().line("It is the default now.", "dim")
    messages().line(f"Try it: pilothouse models test {made.id}", "dim")
    return 0


async def edit(model_id: str, form: ModelForm) -> int:
    """Change what was given and keep the rest."""
    require_change(form, "pilothouse models edit")
    async with connect_host() as api:
        models = await api.models(LOCAL_OWNER)
        now = next((one for one in models.models if one.id == model_id), None)
        if now is None:
            names = ", ".join(one.id for one in models.models)
            raise PilothouseError("not_found", f"There is no model “{model_id}”.", fix=f"There are: {names}.")
        body = ModelInput(
            name=_or(form.name, now.name),
            provider=_or(form.provider, now.provider),
            model=_whole(form.provider or now.provider, _or(form.model, now.model)),
            base_url=_or(form.base_url, now.base_url),
            api_key_source=form.key_source,
            api_key=read_secret("key") if form.key else None,
            context_window=_or(form.context_window, now.context_window),
            supports_thinking=_or(form.thinking, now.supports_thinking),
            # Another model may have other eyes.
            supports_images=_or(form.images, now.supports_images if form.model is None else None),
            max_tokens=_or(form.max_tokens, now.max_tokens),
            tool_calls=form.tool_calls,
            native_tools=_native_tools(form, now.native_tools),
        )
        changed = await api.update_model(LOCAL_OWNER, model_id, body)
    output().line(f"{one_line(changed.name)}: {_about(changed)}")
    _warn(changed)
    return 0


def _native_tools(form: ModelForm, now: NativeTools) -> NativeTools | None:
    """Return the provider's own tools with what was given switched; None when nothing was."""
    typed = {"web_search": form.web_search, "code_execution": form.code_execution, "url_context": form.url_context}
    switched = {name: _SWITCHES[value] for name, value in typed.items() if value is not None}
    return msgspec.structs.replace(now, **switched) if switched else None


def _whole(provider: str, model: str) -> str:
    """Return a model's name; a script's is its whole path, whichever folder it is used from."""
    return str(Path(model).expanduser().absolute()) if provider == "scripted" and model else model


def _or(given: T | None, now: T) -> T:
    return now if given is None else given


async def remove(model_id: str) -> int:
    """Remove a model and the key that was kept for it."""
    async with connect_host() as api:
        await api.delete_model(LOCAL_OWNER, model_id)
    messages().line(f"Removed {model_id}.")
    return 0


async def default(model_id: str | None) -> int:
    """Make a model the default, or say which one is."""
    async with connect_host() as api:
        if model_id is not None:
            await api.set_default_model(LOCAL_OWNER, model_id)
        models = await api.models(LOCAL_OWNER)
    output().line(models.default_model_id or "none")
    return 0


async def test(model_id: str | None) -> int:
    """Make a real, tiny request."""
    async with connect_host() as api:
        chosen = model_id or (await api.models(LOCAL_OWNER)).default_model_id
        if chosen is None:
            raise PilothouseError("no_model", "No model configured.", fix="Add one: pilothouse models add --help")
        result = await api.test_model(LOCAL_OWNER, chosen)
    if result.ok:
        output().line(f"{chosen}: {one_line(result.message)}", "green")
        return 0
    messages().line(f"{chosen}: {one_line(result.message)}", "red")
    return 1


async def found(host: str = "") -> int:
    """Say what could be added: local servers, keys in the environment; or what a host has that was named."""
    async with connect_host() as api:
        models = await api.found_models(LOCAL_OWNER, host)
    if not models.found:
        messages().line(one_line(models.note) or "Nothing was found that is not added already.")
        return 1 if host.strip() else 0
    out = output()
    for one in models.found:
        draft = one.draft
        out.line(one_line(one.title), "bold")
        given = {
            "--provider": draft.provider,
            "--model": draft.model,
            "--base-url": draft.base_url,
            "--key-source": draft.api_key_source,
        }
        # A server that was found chose its models' names; pasted into a shell they stay names.
        options = " ".join(f"{name} {shlex.quote(plain(value))}" for name, value in given.items() if value)
        out.line(f"  pilothouse models add {options}")
        if one.choices:
            out.line(f"  offers {', '.join(map(one_line, one.choices))}", "dim")
    return 0


async def confirm_key(model_id: str) -> int:
    """Let a model's key go to the address that the model has now."""
    async with connect_host() as api:
        view = await api.confirm_key(LOCAL_OWNER, model_id)
    if view.key.kind == "none":
        raise PilothouseError(
            "conflict", f"{view.id} has no key.", fix=f"Give it one: pilothouse models edit {view.id} --key"
        )
    output().line(f"The key of {view.id} now goes to {view.host}.")
    return 0


def _warn(view: ModelView) -> None:
    if view.key.problem:
        messages().line(view.key.problem, "yellow")
