"""`pilothouse run`: one message, its answer, an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec

from pilothouse.cli.asking import Told, converse, open_conversation, send, tell_changes, verdict
from pilothouse.cli.prompting import read_piped
from pilothouse.cli.terminal import Terminal, messages, output
from pilothouse.cli.wrapping import aside_only, say
from pilothouse.connection import connect_host
from pilothouse.runs.beginning import begin_conversation, chosen, model_name
from pilothouse.runs.following import Following
from pilothouse.types import limits
from pilothouse.types.api import NewMessage
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.selection import Selection

_TOO_LONG = f"The message is longer than {limits.MESSAGE_CHARS:,} characters."


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What `run` was asked to do."""

    message: str | None = None
    model: str | None = None
    conversation: str | None = None
    system: str | None = None
    folder: str | None = None
    mode: str | None = None
    # As they were typed: NAME or NAME:TOOL,TOOL.
    server: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    thinking: bool | None = None
    json: bool = False


async def run(request: RunRequest) -> int:
    """Send the message, show the answer, return the exit code."""
    text = _message(request.message)
    model = model_name(request.model)
    async with connect_host(tell=aside_only, brief=True) as api:
        out = output()
        message = NewMessage(
            text=text,
            model_id=model,
            unattended=not _someone_watches(out),
            selection=await _selection(api, request.server),
            allow=request.allow,
            thinking=request.thinking,
        )
        if request.conversation is None:
            # One in which nothing was said would only stand empty in the list.
            await api.check_message(LOCAL_OWNER, message)
        following = await _sent(api, await _conversation(api, request, model), message, request.conversation is None)
        told = await converse(api, following, out, as_json=request.json)
        try:
            code = verdict(told)
            return 3 if await told.transcript.missing.tell(api) and code == 0 else code
        finally:
            # Also about a run that failed: what it did to files before that can be put back.
            await _say_how_it_was(api, told, out)


async def _sent(api: ClientApi, conversation: Conversation, message: NewMessage, is_new: bool) -> Following:
    """Send the message; a new conversation does not outlive a message for which there was no room."""
    try:
        return await send(api, conversation, message)
    except PilothouseError as error:
        if is_new and error.code == "too_many":
            await api.delete_conversation(LOCAL_OWNER, conversation.id)
        raise


async def _selection(api: ClientApi, servers: Sequence[str]) -> Selection | None:
    if not servers:
        return None
    from pilothouse.cli.choosing import choose_servers

    return await choose_servers(api, servers)


async def _conversation(api: ClientApi, request: RunRequest, model: str | None) -> Conversation:
    settings = chosen(system=request.system, folder=request.folder, mode=request.mode)
    if request.conversation is None:
        return await begin_conversation(api, settings | chosen(model=model))
    return await open_conversation(api, request.conversation, settings)


def _message(given: str | None) -> str:
    """Return the message: the argument, what is piped in, or both with what is piped in below."""
    piped = ""
    if given in (None, "-") or not sys.stdin.isatty():
        if given is None and sys.stdin.isatty():
            raise PilothouseError("bad_request", "There is no message.", fix='Say it: pilothouse run "…"')
        piped = read_piped(4 * limits.MESSAGE_CHARS, _TOO_LONG)
    spoken = "" if given in (None, "-") else str(given)
    text = "\n\n".join(part for part in (spoken, piped.strip("\n")) if part.strip())
    if not text.strip():
        raise PilothouseError("bad_request", "The message is empty.", fix='Say something: pilothouse run "…"')
    if len(text) > limits.MESSAGE_CHARS:
        raise PilothouseError("too_large", _TOO_LONG, fix="Send a part of it.")
    return text


def _someone_watches(out: Terminal) -> bool:
    return out.is_terminal and sys.stdin.isatty()


async def _say_how_it_was(api: ClientApi, told: Told, out: Terminal) -> None:
    """Tell what became of files, and a person at a terminal what the answer took and how to go on."""
    aside = messages()
    for_person = aside.is_terminal and out.is_terminal
    if for_person:
        aside.line()
        if measured := measures(told):
            say(aside, measured, "dim")
    if told.transcript.changed:
        await tell_changes(api, told)
    if for_person:
        aside.line(f'Go on: pilothouse run --conversation {told.run.conversation_id} "…"', "dim")


def measures(told: Told) -> str:
    """Return what an answer took, in one line."""
    data = told.transcript.measures
    usage = data.get("usage") or {}
    parts = [str(data["model"])] if data.get("model") else []
    if usage:
        parts.append(f"{usage.get('input', 0):,} tokens in, {usage.get('output', 0):,} out")
    if first := data.get("firstTokenMs"):
        parts.append(f"first token after {first / 1000:.1f} s")
    if speed := data.get("tokensPerSecond"):
        parts.append(f"{speed:.0f} tokens/s")
    return " · ".join(parts)
