"""`pilothouse run`: one message, its answer, an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec

from pilothouse.cli.asking import RunReport, converse, open_conversation, send, tell_changes, verdict
from pilothouse.cli.prompting import read_piped
from pilothouse.cli.terminal import Terminal, messages, output
from pilothouse.cli.wrapping import aside_only, say
from pilothouse.connection import connect_host
from pilothouse.host.following import Following
from pilothouse.host.new_conversations import begin_conversation, chosen, model_name
from pilothouse.types import limits
from pilothouse.types.api import ImageInput, NewMessage
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.json import JsonObject
from pilothouse.types.prices import dollars
from pilothouse.types.selection import Selection

_TOO_LONG = f"The message is longer than {limits.MESSAGE_CHARS:,} characters."


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What `run` was asked to do."""

    message: str | None = None
    model: str | None = None
    conversation: str | None = None
    system: str | None = None
    # One of the person's prompts, its variables as NAME=VALUE, and the mini prompts that are on.
    prompt: str | None = None
    var: tuple[str, ...] = ()
    mini: tuple[str, ...] = ()
    topic: str | None = None
    folder: str | None = None
    mode: str | None = None
    # As they were typed: NAME or NAME:TOOL,TOOL.
    server: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    thinking: bool | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    # Files, or `-` for what is piped in.
    image: tuple[str, ...] = ()
    json: bool = False
    # Where it stands in its conversation: in a branch, in the place of an own message, or after a run.
    branch: int | None = None
    instead_of: str | None = None
    after: str | None = None
    # What becomes of what it leaves behind.
    stop: bool = False
    put_files_back: bool = False


async def settings_of(api: ClientApi, request: RunRequest) -> JsonObject:
    """Return what was chosen for the conversation."""
    settings = chosen(
        system=request.system,
        folder=request.folder,
        mode=request.mode,
        temperature=request.temperature,
        max_tokens=request.max_tokens,
    )
    if not (request.prompt or request.var or request.mini or request.topic):
        return settings
    from pilothouse.cli.topics import said_of

    return settings | await said_of(api, request)


async def run(request: RunRequest) -> int:
    """Send the message, show the answer, return the exit code."""
    text, typed_chars = _message(request)
    images = _images(request.image)
    model = model_name(request.model)
    async with connect_host(tell=aside_only, brief=True) as api:
        out = output()
        message = NewMessage(
            text=text,
            images=images,
            model_id=model,
            unattended=not _someone_watches(out),
            selection=await _selection(api, request.server),
            allow=request.allow,
            thinking=request.thinking,
            typed_chars=typed_chars,
            branch=request.branch,
            instead_of=request.instead_of,
            after=request.after,
            when_busy="stop" if request.stop else "finish",
        )
        await _check_place(api, request)
        if images and request.conversation is None:
            await _check_sight(api, model)
        if request.conversation is None:
            # One in which nothing was said would only stand empty in the list.
            await api.runs.check_message(LOCAL_OWNER, message)
        following = await _sent(api, await _conversation(api, request, model), message, request.conversation is None)
        report = await converse(api, following, out, as_json=request.json)
        try:
            code = verdict(report)
            return 3 if await report.transcript.missing.tell(api) and code == 0 else code
        finally:
            # Also about a run that failed: what it did to files before that can be put back.
            await _say_how_it_was(api, report, out)


async def _check_place(api: ClientApi, request: RunRequest) -> None:
    """Raise where a place is named and no conversation; put files back where the person said so."""
    places = [request.branch, request.instead_of, request.after]
    if request.conversation is None and any(place is not None for place in places):
        raise PilothouseError("bad_request", "Which conversation?", fix="Name it with --conversation.")
    if not request.put_files_back:
        return
    if request.instead_of is None and request.after is None:
        fix = "Name the message with --instead-of, or the run with --after."
        raise PilothouseError("bad_request", "Files are put back to the place where a branch begins.", fix=fix)
    from pilothouse.cli.branching import put_files_back

    await put_files_back(api, request.conversation or "", request.instead_of, request.after, stop_first=request.stop)


async def _sent(api: ClientApi, conversation: Conversation, message: NewMessage, is_new: bool) -> Following:
    """Send the message; a new conversation does not outlive a message for which there was no room."""
    try:
        return await send(api, conversation, message)
    except PilothouseError as error:
        if is_new and error.code == "too_many":
            await api.conversations.delete(LOCAL_OWNER, conversation.id)
        raise


async def _selection(api: ClientApi, servers: Sequence[str]) -> Selection | None:
    if not servers:
        return None
    from pilothouse.cli.servers import choose_servers

    return await choose_servers(api, servers)


async def _conversation(api: ClientApi, request: RunRequest, model: str | None) -> Conversation:
    settings = await settings_of(api, request)
    if request.conversation is None:
        return await begin_conversation(api, settings | chosen(model=model))
    opened = await open_conversation(api, request.conversation, settings)
    if request.image:
        await _check_sight(api, model or opened.settings.model_id)
    return opened


def _images(names: Sequence[str]) -> tuple[ImageInput, ...]:
    if not names:
        return ()
    from pilothouse.cli.attaching import read_images

    return read_images(names)


async def _check_sight(api: ClientApi, model_id: str | None) -> None:
    from pilothouse.cli.attaching import check_sight

    await check_sight(api, model_id)


def _message(request: RunRequest) -> tuple[str, int | None]:
    """Return the message: the argument, what is piped in, or both with what is piped in below.

    With it, how many characters of it the person typed; None for all.
    """
    given, piped = request.message, ""
    # What is piped in as an image is no text; an image may speak for itself.
    takes_text = "-" not in request.image and not (request.image and sys.stdin.isatty())
    if takes_text and (given in (None, "-") or not sys.stdin.isatty()):
        if given is None and sys.stdin.isatty():
            raise PilothouseError("bad_request", "There is no message.", fix='Say it: pilothouse run "…"')
        piped = read_piped(4 * limits.MESSAGE_CHARS, _TOO_LONG)
    spoken = "" if given in (None, "-") else str(given)
    text = "\n\n".join(part for part in (spoken, piped.strip("\n")) if part.strip())
    if not text.strip() and not request.image:
        raise PilothouseError("bad_request", "The message is empty.", fix='Say something: pilothouse run "…"')
    if len(text) > limits.MESSAGE_CHARS:
        raise PilothouseError("too_large", _TOO_LONG, fix="Send a part of it.")
    is_piped = bool(piped.strip()) and not sys.stdin.isatty()
    return text, len(spoken if spoken.strip() else "") if is_piped else None


def _someone_watches(out: Terminal) -> bool:
    return out.is_terminal and sys.stdin.isatty()


async def _say_how_it_was(api: ClientApi, report: RunReport, out: Terminal) -> None:
    """Tell what became of files, and a person at a terminal what the answer took and how to go on."""
    aside = messages()
    for_person = aside.is_terminal and out.is_terminal
    if for_person:
        aside.line()
        if measured := measures(report):
            say(aside, measured, "dim")
    if report.transcript.changed:
        await tell_changes(api, report)
    if for_person and report.run.cut is None:
        aside.line(f'Go on: pilothouse run --conversation {report.run.conversation_id} "…"', "dim")


def measures(report: RunReport) -> str:
    """Return what an answer took, in one line."""
    data = report.transcript.measures
    parts = [data.model] if data.model else []
    if data.usage is not None:
        parts.append(f"{data.usage.input:,} tokens in, {data.usage.output:,} out")
    if report.transcript.cost:
        parts.append(cost_words(report.transcript.cost))
    if data.first_token_ms:
        parts.append(f"first token after {data.first_token_ms / 1000:.1f} s")
    if data.tokens_per_second:
        parts.append(f"{data.tokens_per_second:.0f} tokens/s")
    return " · ".join(parts)


def cost_words(amount: float) -> str:
    """Return about what something cost, as the page says it."""
    words = dollars(amount)
    return words if words.startswith("less") else f"about {words}"
