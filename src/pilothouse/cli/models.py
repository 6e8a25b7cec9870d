"""`pilothouse models`: list, add, edit, remove, default, test, providers, found, confirm-key, forget."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

import msgspec
import typer

from pilothouse.cli.options import AsJson, ModelId, command, given, new_app, require_change
from pilothouse.cli.prompting import read_secret
from pilothouse.cli.tables import show_table, tell_problem
from pilothouse.cli.terminal import messages, one_line, output, plain
from pilothouse.connection import connect_host
from pilothouse.types.api import ModelInput
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.models import SIGNING, ModelView, ToolCalls
from pilothouse.types.prices import Prices
from pilothouse.types.selection import NativeTools

app = new_app()

T = TypeVar("T")
Switch = Literal["on", "off", "default"]
_SWITCHES = {"on": True, "off": False, "default": None}
_PROVIDERS = "Its name: groq, openrouter, azure, bedrock-claude and so on; `pilothouse models providers` lists them."
_SOURCES = "Where its key comes from: env:NAME, secret:NAME, aws, google, copilot, or empty for none."
_KEY = "Ask for the key, or read it from what is piped in, and keep it as a secret."
_PRICES = (
    "What its tokens cost, in dollars for a million: read, written, and from and into the provider's cache; `known` "
    "takes back what you set."
)
_CACHE = ("cache_read", "cache_write")
_TOOL_CALLS = "How it calls tools; by default as its provider does, else in text."


@dataclass(frozen=True, kw_only=True)
class ModelForm:
    """What was given for a model; None was not given and stays as it is."""

    name: Annotated[str | None, given(help="The name to show.")] = None
    provider: Annotated[str | None, given(help=_PROVIDERS)] = None
    model: Annotated[str | None, given("--model", "-m", help="The provider's name of the model.")] = None
    base_url: Annotated[str | None, given(help="Where it is, if not at the provider's own address.")] = None
    key_source: Annotated[str | None, given(help=_SOURCES)] = None
    key: Annotated[bool, given("--key", help=_KEY)] = False
    context_window: Annotated[int | None, given(min=1, help="How many tokens it can take in.")] = None
    max_tokens: Annotated[int | None, given(min=1, help="The longest answer, in tokens.")] = None
    thinking: Annotated[bool | None, given(help="Whether it can think first.")] = None
    images: Annotated[bool | None, given(help="Whether it can see images.")] = None
    prices: Annotated[str | None, given(metavar="IN,OUT[,READ[,WRITE]]", help=_PRICES)] = None
    tool_calls: Annotated[ToolCalls | None, given(help=_TOOL_CALLS)] = None
    web_search: Annotated[Switch | None, given(help="The provider's own web search.")] = None
    code_execution: Annotated[Switch | None, given(help="The provider's own code execution.")] = None
    url_context: Annotated[Switch | None, given(help="The provider's own reading of addresses.")] = None
    image_generation: Annotated[Switch | None, given(help="The provider's own making of pictures.")] = None


@command(app, "list")
async def list_models(json: AsJson = False) -> int:
    """List the models; a star marks the default."""
    async with connect_host() as api:
        models = await api.models.list(LOCAL_OWNER)
    out = output()
    if json:
        out.json(models)
        return 0
    rows = [("*" if one.is_default else "", one.id, one.name, _about(one)) for one in models.models]
    none = "There are no models yet. Add one: pilothouse models add --help"
    show_table(out, ("", "id", "name", "what and where"), rows, none=none)
    for one in models.models:
        if one.key.problem:
            messages().line(f"{one.id}: {one.key.problem}", "yellow")
        for learned in one.learned:
            messages().line(f"{one.id}: {one_line(learned.text)}; learned {_ago(learned.at)}.", "dim")
    if any(one.learned for one in models.models):
        messages().line("To have it tried again: pilothouse models forget ID", "dim")
    tell_problem(models.problem)
    return 0


def _about(one: ModelView) -> str:
    signs = one.key.kind in SIGNING
    key = f"{'signed with' if signs else 'key from'} {one.api_key_source}" if one.api_key_source else ""
    parts = (one.model if one.model != one.name else "", one.host, *_able(one), key)
    return ", ".join(part for part in parts if part)


def _ago(at: float) -> str:
    minutes = int(max(0.0, time.time() - at)) // 60
    for size, unit in ((24 * 60, "day"), (60, "hour"), (1, "minute")):
        if count := minutes // size:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def _able(one: ModelView) -> tuple[str, str, str, str]:
    """Return how much a model reads, what it can do and what it costs."""
    thinks = "thinks" if one.supports_thinking else ""
    return one.context_label, thinks, "sees images" if one.supports_images else "", one.price_label


@command(app)
async def add(
    model_id: Annotated[str | None, typer.Option("--id", help="The id to give it.", show_default=False)] = None,
    *,
    form: ModelForm,
) -> int:
    """Add a model and print its id.

    The first one becomes the default.
    """
    if form.provider is None:
        raise PilothouseError(
            "bad_request", "A model needs a provider.", fix="Add --provider; pilothouse models providers lists them."
        )
    body = ModelInput(
        id=model_id,
        name=form.name or form.model or model_id or form.provider,
        provider=form.provider,
        model=_whole(form.provider, form.model or ""),
        base_url=form.base_url or "",
        api_key_source=form.key_source,
        api_key=read_secret("key") if form.key else None,
        context_window=form.context_window,
        supports_thinking=form.thinking,
        supports_images=form.images,
        max_tokens=form.max_tokens,
        prices=_prices(form.prices),
        tool_calls=form.tool_calls,
        native_tools=_native_tools(form, NativeTools()),
    )
    async with connect_host() as api:
        made = await api.models.add(LOCAL_OWNER, body)
    output().line(one_line(made.id))
    messages().line(_known(made), "dim")
    _warn(made)
    if form.key_source is None and not form.key:
        _say_key(made, form)
    if made.is_default:
        messages().line("It is the default now.", "dim")
    messages().line(f"Try it: pilothouse models test {made.id}", "dim")
    return 0


def _say_key(made: ModelView, form: ModelForm) -> None:
    """Say where the key was found that nobody named, or where to get one for a provider that wants it."""
    if made.api_key_source:
        messages().line(f"Its key comes from {one_line(made.api_key_source)}.", "dim")
    # Only here: most of what is done about models needs no list of providers.
    from pilothouse.wiring.provider_list import provider_list

    keys_at = next((row.keys_at for row in provider_list() if row.id == (made.service or made.provider)), "")
    if not made.api_key_source and keys_at and form.base_url is None:
        messages().line(f"It has no key. Get one: {keys_at}", "yellow")
        messages().line(f"Then give it: pilothouse models edit {made.id} --key", "yellow")


def _known(one: ModelView) -> str:
    """Return how much a model reads, what it can do and costs, and who says so."""
    source = f"from {one_line(one.facts_from)}" if one.facts_from else ""
    return ", ".join(part for part in (*_able(one), source) if part)


@command(app)
async def edit(model_id: ModelId, *, form: ModelForm) -> int:
    """Change what is given of a model, and keep the rest."""
    require_change(form, "pilothouse models edit")
    async with connect_host() as api:
        models = await api.models.list(LOCAL_OWNER)
        now = next((one for one in models.models if one.id == model_id), None)
        if now is None:
            names = ", ".join(one.id for one in models.models)
            raise PilothouseError("not_found", f"There is no model “{model_id}”.", fix=f"There are: {names}.")
        body = ModelInput(
            name=_or(form.name, now.name),
            provider=_or(form.provider, now.service or now.provider),
            model=_whole(form.provider or now.provider, _or(form.model, now.model)),
            # Another provider is at another address.
            base_url=_or(form.base_url, now.base_url if form.provider is None else ""),
            api_key_source=form.key_source,
            api_key=read_secret("key") if form.key else None,
            context_window=form.context_window,
            # Another model has other abilities.
            supports_thinking=_or(form.thinking, now.said.supports_thinking if form.model is None else None),
            supports_images=_or(form.images, now.said.supports_images if form.model is None else None),
            max_tokens=_or(form.max_tokens, now.max_tokens),
            prices=_prices(form.prices),
            tool_calls=form.tool_calls,
            native_tools=_native_tools(form, now.native_tools),
        )
        changed = await api.models.update(LOCAL_OWNER, model_id, body)
    output().line(f"{one_line(changed.name)}: {_about(changed)}")
    _warn(changed)
    return 0


def _prices(typed: str | None) -> Prices | Literal["known"] | None:
    """Return the prices that were typed; None when none were."""
    if typed is None:
        return None
    if typed.strip() == "known":
        return "known"
    try:
        first, second, *cached = (float(number) for number in typed.split(","))
        if len(cached) <= len(_CACHE):
            prices = Prices(input=first, output=second)
            return msgspec.structs.replace(prices, **dict(zip(_CACHE, cached, strict=False)))
    except ValueError:
        pass
    message = f"“{typed}” are no prices: two to four numbers with commas between them, as in 3,15 or 3,15,0.3,3.75."
    raise PilothouseError("bad_request", message, fix="Or `known`, to take back what you set.")


def _native_tools(form: ModelForm, now: NativeTools) -> NativeTools | None:
    """Return the provider's own tools with what was given switched; None when nothing was."""
    typed = {name: getattr(form, name) for name in NativeTools.__struct_fields__}
    switched = {name: _SWITCHES[value] for name, value in typed.items() if value is not None}
    return msgspec.structs.replace(now, **switched) if switched else None


def _whole(provider: str, model: str) -> str:
    """Return a model's name; a script's is its whole path, whichever folder it is used from."""
    return str(at_home(model).absolute()) if provider.lower() == "scripted" and model else model


def _or(given: T | None, now: T) -> T:
    return now if given is None else given


@command(app)
async def remove(model_id: ModelId) -> int:
    """Remove a model and the key that was kept for it."""
    async with connect_host() as api:
        await api.models.delete(LOCAL_OWNER, model_id)
    messages().line(f"Removed {model_id}.")
    return 0


@command(app)
async def default(
    model_id: Annotated[str | None, typer.Argument(metavar="ID", help="The model's id; none says which it is.")] = None,
) -> int:
    """Make a model the default, or say which one is."""
    async with connect_host() as api:
        if model_id is not None:
            await api.models.set_default(LOCAL_OWNER, model_id)
        models = await api.models.list(LOCAL_OWNER)
    output().line(models.default_model_id or "none")
    return 0


@command(app, "test")
async def try_model(
    model_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="The model's id; none takes the default.")
    ] = None,
) -> int:
    """Make a real, tiny request to a model.

    It says how long the answer took, or what the provider said instead.
    """
    async with connect_host() as api:
        chosen = model_id or (await api.models.list(LOCAL_OWNER)).default_model_id
        if chosen is None:
            raise PilothouseError("no_model", "No model configured.", fix="Add one: pilothouse models add --help")
        result = await api.models.test(LOCAL_OWNER, chosen)
    if result.ok:
        output().line(f"{chosen}: {one_line(result.message)}", "green")
        return 0
    messages().line(f"{chosen}: {one_line(result.message)}", "red")
    return 1


@command(app)
async def providers(json: AsJson = False) -> int:
    """List the providers that can be added by name.

    Each with its address, where to get a key, and the variable that is looked for.
    """
    out = output()
    from pilothouse.wiring.provider_list import provider_list

    listed = [row for row in provider_list() if row.base_url]
    if json:
        out.json(listed)
        return 0
    rows = [
        (row.id, row.name, ", ".join(part for part in (row.base_url, *row.variables, row.keys_at) if part))
        for row in listed
    ]
    show_table(out, ("name", "provider", "address, variable, and where to get a key"), rows)
    return 0


@command(app, "find", hidden=True)
@command(app)
async def found(
    host: Annotated[
        str, typer.Argument(help="Look on this machine instead: nas.local, 192.168.1.5:8080.", show_default=False)
    ] = "",
) -> int:
    """Find model servers here and keys in the environment.

    Each comes with the command that adds it. Another machine is asked only if you name it.
    """
    async with connect_host() as api:
        models = await api.models.found(LOCAL_OWNER, host)
    if not models.found:
        messages().line(one_line(models.note) or "Nothing was found that is not added already.")
        return 1 if host.strip() else 0
    out = output()
    for one in models.found:
        draft = one.draft
        out.line(one_line(one.title), "bold")
        parts = {
            "--provider": draft.service or draft.provider,
            "--model": draft.model,
            "--base-url": draft.base_url,
            "--key-source": draft.api_key_source,
        }
        # A server that was found chose its models' names; pasted into a shell they stay names.
        options = " ".join(f"{name} {shlex.quote(plain(value))}" for name, value in parts.items() if value)
        out.line(f"  pilothouse models add {options}")
        if one.choices:
            out.line(f"  offers {', '.join(map(one_line, one.choices))}", "dim")
    return 0


@command(app)
async def forget(model_id: ModelId) -> int:
    """Forget what a model was found not to take.

    `models list` shows what its provider refused. It is remembered for two weeks, and as long as the model is
    configured as it was.
    """
    async with connect_host() as api:
        await api.models.forget(LOCAL_OWNER, model_id)
    messages().line(f"Forgotten. {model_id} is asked for everything again.")
    return 0


@command(app)
async def confirm_key(model_id: ModelId) -> int:
    """Let a key go to the address its model has now."""
    async with connect_host() as api:
        view = await api.models.confirm_key(LOCAL_OWNER, model_id)
    if view.key.kind == "none":
        raise PilothouseError(
            "conflict", f"{view.id} has no key.", fix=f"Give it one: pilothouse models edit {view.id} --key"
        )
    output().line(f"The key of {view.id} now goes to {view.host}.")
    return 0


def _warn(view: ModelView) -> None:
    if view.key.problem:
        messages().line(view.key.problem, "yellow")
