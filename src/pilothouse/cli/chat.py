"""`pilothouse chat`: a conversation in the terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from pilothouse.cli.asking import converse, open_conversation, send
from pilothouse.cli.choosing import choose_servers
from pilothouse.cli.command import complain
from pilothouse.cli.inline import Span
from pilothouse.cli.run import measures
from pilothouse.cli.tables import show_table
from pilothouse.cli.talk_form import TalkForm
from pilothouse.cli.terminal import one_line, output
from pilothouse.cli.wrapping import aside_only, say
from pilothouse.connection import connect_host, data_folder
from pilothouse.runs.beginning import MODES, begin_conversation, check_folder, check_model, chosen, model_name
from pilothouse.runs.modes import harmless
from pilothouse.types.api import ConversationPatch, NewMessage
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.json import JsonObject
from pilothouse.types.selection import Selection

# The line editor takes 0.3 s to import.
if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from pilothouse.cli.completion import Value, Values

HISTORY = "chat-history"
PROMPT = "› "
COMMANDS = {
    "/new": "begin another conversation",
    "/list": "list conversations",
    "/open ID": "go on with one of them",
    "/title TEXT": "name this one",
    "/model [ID]": "say which model answers, or choose another",
    "/system TEXT": "set the system prompt of this conversation",
    "/folder [DIR]": "say which folder it works in, or choose another, or `none`",
    "/mode [MODE]": "say what needs no question, or choose another mode",
    "/thinking [WORD]": "ask the model to think first (on), not to (off), or as usual",
    "/servers [NAME…]": "list the MCP servers, or use only these, or `usual`",
    "/help": "show this",
    "/quit": "leave",
}
_KEYS = "Enter sends, Alt+Enter begins a new line, Ctrl-C stops an answer, Ctrl-D leaves."

# What is said with a message about thinking; None leaves it to the conversation.
_THINKING = {"on": True, "off": False, "usual": None}


def _settings(form: TalkForm) -> JsonObject:
    return chosen(system=form.system, folder=form.folder, mode=form.mode)


async def chat(form: TalkForm) -> int:
    """Talk until the person leaves."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise PilothouseError("bad_request", "A chat needs a terminal.", fix='Without one, use: pilothouse run "…"')
    async with connect_host(tell=aside_only) as api:
        talk = Talk(api, form)
        if form.conversation is not None:
            talk.conversation = await open_conversation(api, form.conversation, _settings(form))
        talk.selection = await choose_servers(api, form.server or ())
        await talk.welcome()
        session = _session(talk)
        while (line := await _read(session)) is not None:
            try:
                if not await talk.take(line.strip()):
                    break
            except PilothouseError as error:
                complain(error)
    return 0


class Talk:
    """The state of a chat: which conversation, which model."""

    def __init__(self, api: ClientApi, form: TalkForm) -> None:
        self._api = api
        self._model = model_name(form.model)
        self._system = form.system
        self._settings = _settings(form)
        self._allow = tuple(form.allow or ())
        # Said with each message; None leaves it to the conversation.
        self._thinking = form.thinking
        self._out = output()
        self.conversation: Conversation | None = None
        # What was chosen here; None leaves it to the conversation.
        self.selection: Selection | None = None
        self._commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "/new": self._new,
            "/list": self._list,
            "/open": self._open,
            "/title": self._title,
            "/model": self._choose_model,
            "/system": self._set_system,
            "/folder": self._choose_folder,
            "/mode": self._choose_mode,
            "/thinking": self._choose_thinking,
            "/servers": self._choose_servers,
            "/help": self._help,
        }

    async def welcome(self) -> None:
        """Say which model answers and how to get help."""
        say(self._out, f"Pilothouse · {await self._model_words()} · /help", "dim")
        if self.conversation is not None:
            say(self._out, one_line(self.conversation.title), "bold")

    def values(self) -> dict[str, Values]:
        """Return how to look up what the commands take."""

        async def models() -> list[Value]:
            return [(one.id, one.name) for one in (await self._api.models(LOCAL_OWNER)).models]

        async def modes() -> list[Value]:
            return [(mode, "") for mode in MODES.split(", ")]

        async def servers() -> list[Value]:
            found = (await self._api.servers(LOCAL_OWNER)).servers
            return [("usual", "as the conversation has it"), *((one.slug, one.label) for one in found)]

        async def conversations() -> list[Value]:
            page = await self._api.conversations(LOCAL_OWNER, limit=20, cursor=None)
            return [(one.id, one.title) for one in page.conversations]

        async def folders() -> list[Value]:
            return [("none", "work in no folder")]

        async def thinking() -> list[Value]:
            return [("on", "ask it to think first"), ("off", "ask it not to"), ("usual", "as the conversation has it")]

        return {
            "/model": models,
            "/mode": modes,
            "/thinking": thinking,
            "/servers": servers,
            "/open": conversations,
            "/folder": folders,
        }

    async def take(self, line: str) -> bool:
        """Do what a line says; return whether to go on."""
        word, _, rest = line.partition(" ")
        if word in ("/quit", "/exit"):
            return False
        if word in self._commands:
            await self._commands[word](rest.strip())
        elif word.startswith("/") and "/" not in word[1:]:
            raise PilothouseError("bad_request", f"{word} is not a command.", fix="/help lists them.")
        elif line:
            return await self._say(line)
        return True

    async def _say(self, text: str) -> bool:
        """Send a message and show its answer; return whether to go on."""
        message = NewMessage(
            text=text,
            model_id=self._model,
            selection=self.selection,
            allow=self._allow,
            thinking=self._thinking,
        )
        if self.conversation is None:
            # One in which nothing was said would only stand empty in the list.
            await self._api.check_message(LOCAL_OWNER, message)
        following = await send(self._api, await self._current(), message)
        told = await converse(self._api, following, self._out)
        run = told.run
        await told.transcript.missing.tell(self._api)
        if run.status == "waiting":
            # The person left the question open: nobody else will answer it.
            run = await self._api.cancel_run(LOCAL_OWNER, run.id)
        if run.error is not None:
            raise PilothouseError(run.error.code, run.error.message, fix=run.error.fix)
        say(self._out, measures(told) if run.status == "completed" else f"{run.status.capitalize()}.", "dim")
        self._out.line()
        return not told.to_end

    async def _current(self) -> Conversation:
        """Return the conversation as it is now; it begins with its first message."""
        if self.conversation is None:
            settings = self._settings | chosen(model=self._model, system=self._system)
            self.conversation = await begin_conversation(self._api, settings)
            return self.conversation
        self.conversation = await open_conversation(self._api, self.conversation.id)
        return self.conversation

    # --- commands ---

    async def _help(self, _rest: str) -> None:
        say(self._out, _KEYS)
        self._out.line()
        for typed, meaning in COMMANDS.items():
            say(self._out, meaning, before=Span(f"{typed:<17} "))

    async def _new(self, _rest: str) -> None:
        self.conversation = None
        say(self._out, "A new conversation begins with your next message.", "dim")

    async def _list(self, _rest: str) -> None:
        page = await self._api.conversations(LOCAL_OWNER, limit=20, cursor=None)
        rows = [(one.id, one.title or "(new)") for one in page.conversations]
        if rows:
            show_table(self._out, ("id", "title"), rows)
        else:
            say(self._out, "There are no conversations yet.", "dim")

    async def _open(self, conversation_id: str) -> None:
        if not conversation_id:
            raise PilothouseError("bad_request", "Which conversation?", fix="/list shows their ids.")
        self.conversation = await open_conversation(self._api, conversation_id)
        say(self._out, one_line(self.conversation.title), "bold")

    async def _title(self, title: str) -> None:
        if self.conversation is None:
            raise PilothouseError("bad_request", "There is nothing to name yet.", fix="Say something first.")
        patch = ConversationPatch(title=title)
        self.conversation = await self._api.update_conversation(LOCAL_OWNER, self.conversation.id, patch)
        say(self._out, one_line(self.conversation.title), "bold")

    async def _choose_model(self, chosen: str) -> None:
        models = await self._api.models(LOCAL_OWNER)
        if not chosen:
            say(self._out, await self._model_words())
            say(self._out, f"There are: {', '.join(one.id for one in models.models)}.", "dim")
            return
        named = model_name(chosen) or chosen
        await check_model(self._api, named)
        self._model = named
        await self._change(model_id=named)
        say(self._out, await self._model_words(), "dim")

    async def _set_system(self, system: str) -> None:
        self._system = system
        await self._change(system_prompt=system)
        say(self._out, "It holds from your next message on.", "dim")

    async def _choose_folder(self, folder: str) -> None:
        """Say which folder it works in, or work in this one from now on."""
        if folder:
            where = None if folder == "none" else check_folder(chosen(folder=folder)["working_directory"])
            await self._set("working_directory", where)
        where = await self._setting("working_directory")
        say(self._out, f"It works in {one_line(where)}." if where else "It works in no folder.", "dim")

    async def _choose_mode(self, mode: str) -> None:
        """Say what needs no question, or let this mode count from now on."""
        if mode:
            await self._set("mode", chosen(mode=mode)["mode"])
        say(self._out, f"The mode is {await self._setting('mode')}. There are: {MODES}.", "dim")

    async def _choose_thinking(self, word: str) -> None:
        """Say whether the model is asked to think first, or ask it from now on, or ask it not to."""
        if word and word not in _THINKING:
            raise PilothouseError("bad_request", f"“{word}” is neither on, off nor usual.", fix="Say /thinking on.")
        if word:
            self._thinking = _THINKING[word]
        now = next(name for name, value in _THINKING.items() if value == self._thinking)
        say(self._out, f"Thinking is {now}.", "dim")

    async def _choose_servers(self, names: str) -> None:
        """List the servers, or use these and no others from now on."""
        if names:
            self.selection = None if names == "usual" else await choose_servers(self._api, names.split())
            say(self._out, "It holds from your next message on.", "dim")
            return
        rows = [(one.slug, one.label) for one in (await self._api.servers(LOCAL_OWNER)).servers]
        chosen = [choice.name for choice in self.selection.servers or ()] if self.selection is not None else None
        if rows:
            show_table(self._out, ("server", "state"), rows)
        say(self._out, f"Used here: {', '.join(chosen) or 'none' if chosen is not None else 'the usual ones'}.", "dim")

    async def _set(self, name: str, value: str | None) -> None:
        """Change a setting of this conversation, and of those that begin after it."""
        await self._change(**{name: value})
        self._settings = {**self._settings, name: value}

    async def _setting(self, name: str) -> str | None:
        """Return a setting as it is now, or as a new conversation would have it."""
        if self.conversation is not None:
            now: str | None = getattr((await self._current()).settings, name)
            return now
        usual: str | None = getattr(harmless(await self._api.usual_settings(LOCAL_OWNER)), name)
        return self._settings.get(name, usual)

    async def _change(self, **fields: str | None) -> None:
        if self.conversation is not None:
            now = await self._current()
            patch = ConversationPatch(settings=msgspec.structs.replace(now.settings, **fields))
            self.conversation = await self._api.update_conversation(LOCAL_OWNER, now.id, patch)

    async def _model_words(self) -> str:
        models = await self._api.models(LOCAL_OWNER)
        own = self.conversation.settings.model_id if self.conversation is not None else None
        chosen = self._model or own or models.default_model_id
        names = {one.id: one.name for one in models.models}
        return f"{one_line(names.get(chosen or '', chosen or 'no model'))} answers"


async def _read(session: PromptSession[str]) -> str | None:
    """Return a line, None when the person leaves or the program is told to end."""
    from pilothouse.wiring import unless_stopped

    typing = asyncio.ensure_future(_line(session))
    if await unless_stopped(typing):
        return typing.result()
    # The terminal is as it was before anything else is said.
    await asyncio.wait([typing])
    return None


async def _line(session: PromptSession[str]) -> str | None:
    """Return a line, None when the person leaves; Ctrl-C only clears what was typed."""
    while True:
        try:
            return await session.prompt_async(PROMPT)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return None


def _session(talk: Talk) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from pilothouse.cli.completion import ChatCompleter

    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    path = data_folder() / HISTORY
    # What people type is theirs alone.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    commands = {typed.partition(" ")[0]: meaning for typed, meaning in COMMANDS.items()}
    return PromptSession(
        history=FileHistory(str(path)),
        key_bindings=keys,
        prompt_continuation="  ",
        completer=ChatCompleter(commands, talk.values()),
        complete_while_typing=True,
    )
