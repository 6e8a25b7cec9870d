"""`pilothouse chat`: a conversation in the terminal."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import msgspec

from pilothouse.cli.asking import RunReport, converse, open_conversation, send, sum_up
from pilothouse.cli.attaching import check_sight, read_images
from pilothouse.cli.branching import Place
from pilothouse.cli.chat_branches import ChatBranches
from pilothouse.cli.command import complain
from pilothouse.cli.inline import Span
from pilothouse.cli.run import RunRequest, measures, settings_of
from pilothouse.cli.servers import choose_servers
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import one_line, output
from pilothouse.cli.wrapping import aside_only, say
from pilothouse.connection import connect_host
from pilothouse.host.following import Following
from pilothouse.host.modes import harmless
from pilothouse.host.new_conversations import MODES, begin_conversation, check_folder, check_model, chosen, model_name
from pilothouse.types import limits
from pilothouse.types.api import ConversationPatch, NewMessage
from pilothouse.types.authority import Mode
from pilothouse.types.conversations import Conversation, ConversationSettings, check_max_tokens, check_temperature
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.json import JsonObject
from pilothouse.types.runs import Run
from pilothouse.types.selection import Selection

if TYPE_CHECKING:
    from pilothouse.cli.line_editor import Value, Values

N = TypeVar("N", int, float)
COMMANDS = {
    "/new": "begin another conversation",
    "/resume": "go on with an answer that was cut or broke off",
    "/compact [WORDS]": "sum up what was said so far, and keep what these words name",
    "/edit [N]": "change your last message, or the Nth from the end, in a new branch",
    "/retry [MODEL N]": "have your last message answered once more, by another model or at temperature N",
    "/branch [N]": "go on in a new branch: after your last message but one, or the Nth from the end",
    "/branches [N]": "show the branches of this conversation, and go on with another",
    "/list": "list conversations",
    "/open ID": "go on with one of them",
    "/title TEXT": "name this one",
    "/model [ID]": "say which model answers, or choose another",
    "/system TEXT": "set the system prompt of this conversation",
    "/folder [DIR]": "say which folder it works in, or choose another, or `none`",
    "/mode [MODE]": "say what needs no question, or choose another mode",
    "/thinking [WORD]": "ask the model to think first (on), not to (off), or as usual",
    "/temperature [N]": "word answers freely (2), or always with the likeliest words (0), or as `usual`",
    "/max-tokens [N]": "let answers have at most so many tokens, or as `usual`",
    "/image [FILE…]": "send these images with your next message, or `none`",
    "/servers [NAME…]": "list the MCP servers, or use only these, or `usual`",
    "/help": "show this",
    "/quit": "leave",
}
_KEYS = "Enter sends, Alt+Enter begins a new line, Ctrl-C stops an answer, Ctrl-D leaves."

_USUAL = "usual"
# What is said with a message about thinking; None leaves it to the conversation.
_THINKING = {"on": True, "off": False, _USUAL: None}
_THINKS = {
    True: "Thinking is on.",
    False: "Thinking is off.",
    None: "The model thinks, or not, as the conversation's settings say.",
}


async def chat(request: RunRequest) -> int:
    """Talk until the person leaves."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise PilothouseError("bad_request", "A chat needs a terminal.", fix='Without one, use: pilothouse run "…"')
    # It takes 0.3 s to import.
    from pilothouse.cli.line_editor import new_session, read_message

    async with connect_host(tell=aside_only) as api:
        settings = await settings_of(api, request)
        chatting = ChatSession(api, request, settings)
        if request.conversation is not None:
            chatting.conversation = await open_conversation(api, request.conversation, settings)
        chatting.selection = await choose_servers(api, request.server)
        await chatting.welcome()
        session = new_session(COMMANDS, chatting.values())
        while (line := await read_message(session, chatting.branches.begun())) is not None:
            try:
                if not await chatting.take(line.strip()):
                    break
            except PilothouseError as error:
                complain(error)
    return 0


class ChatSession:
    """The state of a chat: which conversation, which model."""

    def __init__(self, api: ClientApi, request: RunRequest, settings: JsonObject) -> None:
        self._api = api
        self._model = model_name(request.model)
        self._system = request.system
        self._settings = settings
        self._allow = request.allow
        # Said with each message; None leaves it to the conversation.
        self._thinking = request.thinking
        # For the next message.
        self._images = read_images(request.image)
        self._out = output()
        self.branches = ChatBranches(api, self._out)
        self.conversation: Conversation | None = None
        # What was chosen here; None leaves it to the conversation.
        self.selection: Selection | None = None
        self._commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "/new": self._new,
            "/resume": self._resume,
            "/compact": self._compact,
            "/edit": self._edit,
            "/retry": self._retry,
            "/branch": self._branch,
            "/branches": self._branches,
            "/list": self._list,
            "/open": self._open,
            "/title": self._title,
            "/model": self._choose_model,
            "/system": self._set_system,
            "/folder": self._choose_folder,
            "/mode": self._choose_mode,
            "/thinking": self._choose_thinking,
            "/temperature": self._choose_temperature,
            "/max-tokens": self._choose_max_tokens,
            "/image": self._choose_images,
            "/servers": self._choose_servers,
            "/help": self._help,
        }

    async def welcome(self) -> None:
        """Say which model answers, what needs no question, and how to get help."""
        mode, _ = await self._mode()
        say(self._out, f"Pilothouse · {await self._model_words()} · mode {mode} · /help", "dim")
        if self.conversation is not None:
            say(self._out, one_line(self.conversation.title), "bold")

    def values(self) -> dict[str, Values]:
        """Return how to look up what the commands take."""

        async def models() -> list[Value]:
            return [(one.id, one.name) for one in (await self._api.models.list(LOCAL_OWNER)).models]

        async def modes() -> list[Value]:
            return list(MODES.items())

        async def servers() -> list[Value]:
            found = (await self._api.servers.list(LOCAL_OWNER)).servers
            return [("usual", "as the conversation has it"), *((one.slug, one.label) for one in found)]

        async def conversations() -> list[Value]:
            page = await self._api.conversations.list(LOCAL_OWNER, limit=20, cursor=None)
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
        elif self.branches.place() is not None:
            say(self._out, "Everything stays as it is.", "dim")
        return True

    async def _say(self, text: str) -> bool:
        """Send a message and show its answer; return whether to go on."""
        place = self.branches.place() or Place()
        message = NewMessage(
            text=text,
            instead_of=place.instead_of,
            after=place.after,
            when_busy=place.when_busy,
            images=self._images,
            model_id=self._model,
            selection=self.selection,
            allow=self._allow,
            thinking=self._thinking,
        )
        if self._images:
            own = self.conversation.settings.model_id if self.conversation is not None else None
            await check_sight(self._api, self._model or own)
        if self.conversation is None:
            # One in which nothing was said would only stand empty in the list.
            await self._api.runs.check_message(LOCAL_OWNER, message)
        following = await send(self._api, await self._current(), message)
        self._images = ()
        return await self._follow(following)

    async def _follow(self, following: Following) -> bool:
        """Show an answer and how it went; return whether to go on."""
        told = await converse(self._api, following, self._out)
        await told.transcript.missing.tell(self._api)
        run = await self._settled(told)
        if run.cut is not None:
            way = "Choose a larger model with /model, then: /resume" if run.cut == "context" else "Go on: /resume"
            say(self._out, f"{told.transcript.missing.cut} {way}", "yellow")
        say(self._out, measures(told) if run.status == "completed" else f"{run.status.capitalize()}.", "dim")
        self._out.line()
        return not told.to_end

    async def _settled(self, told: RunReport) -> Run:
        """Return a run at its end; raise why it failed."""
        run = told.run
        if run.status == "waiting":
            # The person left the question open: nobody else will answer it.
            run = await self._api.runs.cancel(LOCAL_OWNER, run.id)
        if run.error is not None:
            raise PilothouseError(run.error.code, run.error.message, fix=run.error.fix)
        return run

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

    async def _resume(self, _rest: str) -> None:
        found = await self._api.conversations.get(LOCAL_OWNER, (await self._current()).id, limit=limits.SNAPSHOT_ITEMS)
        there = {item.run_id for item in found.items}
        runs = [run for run in found.runs if run.id in there]
        if not runs:
            raise PilothouseError("bad_request", "There is no answer to go on with.", fix="Say something first.")
        run = await self._api.runs.resume(LOCAL_OWNER, runs[-1].id)
        await self._follow(Following(self._api, run, found.last_seq))

    async def _compact(self, keep: str) -> None:
        if self.conversation is None:
            raise PilothouseError("conflict", "There is nothing to sum up yet.")
        run = await self._settled(await sum_up(self._api, await self._current(), keep))
        if run.status != "completed":
            say(self._out, f"{run.status.capitalize()}.", "dim")

    async def _edit(self, typed: str) -> None:
        await self.branches.edit(await self._begun(), typed)

    async def _branch(self, typed: str) -> None:
        await self.branches.branch(await self._begun(), typed)

    async def _branches(self, typed: str) -> None:
        await self.branches.choose(await self._begun(), typed)

    async def _retry(self, typed: str) -> None:
        if (following := await self.branches.retry(await self._begun(), typed)) is not None:
            await self._follow(following)

    async def _begun(self) -> Conversation:
        """Return the conversation; raise where nothing was said yet."""
        if self.conversation is None:
            raise PilothouseError("bad_request", "Nothing was said here yet.", fix="Say something first.")
        return await self._current()

    async def _list(self, _rest: str) -> None:
        page = await self._api.conversations.list(LOCAL_OWNER, limit=20, cursor=None)
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
        self.conversation = await self._api.conversations.update(LOCAL_OWNER, self.conversation.id, patch)
        say(self._out, one_line(self.conversation.title), "bold")

    async def _choose_model(self, chosen: str) -> None:
        models = await self._api.models.list(LOCAL_OWNER)
        if not chosen:
            say(self._out, await self._model_words())
            say(self._out, f"There are: {', '.join(one.id for one in models.models)}.", "dim")
            return
        named = model_name(chosen) or chosen
        await check_model(self._api.models, named)
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
        where = (await self._now()).working_directory
        say(self._out, f"It works in {one_line(where)}." if where else "It works in no folder.", "dim")

    async def _choose_mode(self, mode: str) -> None:
        """Say what needs no question, or let this mode count from now on."""
        if mode:
            await self._set("mode", chosen(mode=mode)["mode"])
        now, is_default = await self._mode()
        by_default = ", the default here" if is_default else ""
        say(self._out, f"The mode is {now}{by_default}. No question for: {MODES[now]}.", "dim")
        say(self._out, f"There are: {', '.join(MODES)}.", "dim")

    async def _choose_thinking(self, word: str) -> None:
        """Say whether the model is asked to think first, or ask it from now on, or ask it not to."""
        if word and word not in _THINKING:
            raise PilothouseError("bad_request", f"“{word}” is neither on, off nor usual.", fix="Say /thinking on.")
        if word:
            self._thinking = _THINKING[word]
        say(self._out, _THINKS[self._thinking], "dim")

    async def _choose_temperature(self, typed: str) -> None:
        """Say how freely answers are worded, or word them so from now on."""
        if typed:
            how = "Say a number from 0 to 2, as in /temperature 0.2, or usual."
            await self._set("temperature", _number(typed, lambda: check_temperature(float(typed)), how))
        now = (await self._now()).temperature
        say(self._out, "The temperature is the model's own." if now is None else f"The temperature is {now}.", "dim")

    async def _choose_max_tokens(self, typed: str) -> None:
        """Say how long answers may be, or let them be so long from now on."""
        if typed:
            how = "Say a whole number of tokens, as in /max-tokens 500, or usual."
            await self._set("max_tokens", _number(typed, lambda: check_max_tokens(int(typed)), how))
        now = (await self._now()).max_tokens
        words = "as many tokens as the model gives" if now is None else f"at most {now:,} tokens"
        say(self._out, f"An answer has {words}.", "dim")

    async def _choose_images(self, files: str) -> None:
        """Say which images go with the next message, or send these with it, or none."""
        if files:
            self._images = () if files == "none" else read_images(_names(files))
        names = ", ".join(one_line(image.name) for image in self._images)
        say(self._out, f"With your next message: {names}." if names else "No image goes with your next message.", "dim")

    async def _choose_servers(self, names: str) -> None:
        """List the servers, or use these and no others from now on."""
        if names:
            self.selection = None if names == "usual" else await choose_servers(self._api, names.split())
            say(self._out, "It holds from your next message on.", "dim")
            return
        rows = [(one.slug, one.label) for one in (await self._api.servers.list(LOCAL_OWNER)).servers]
        chosen = [choice.name for choice in self.selection.servers or ()] if self.selection is not None else None
        if rows:
            show_table(self._out, ("server", "state"), rows)
        say(self._out, f"Used here: {', '.join(chosen) or 'none' if chosen is not None else 'the usual ones'}.", "dim")

    async def _set(self, name: str, value: str | float | None) -> None:
        """Change a setting of this conversation, and of those that begin after it."""
        await self._change(**{name: value})
        self._settings = {**self._settings, name: value}

    async def _now(self) -> ConversationSettings:
        """Return the settings as they are, or as a new conversation would have them."""
        if self.conversation is not None:
            return (await self._current()).settings
        usual = harmless(await self._api.settings.usual(LOCAL_OWNER))
        return msgspec.structs.replace(usual, **self._settings)

    async def _mode(self) -> tuple[Mode, bool]:
        """Return the mode that counts, and whether it is the default."""
        settings = await self._now()
        return (await self._api.settings.get(LOCAL_OWNER)).mode_of(settings), settings.mode == "default"

    async def _change(self, **fields: str | float | None) -> None:
        if self.conversation is not None:
            now = await self._current()
            patch = ConversationPatch(settings=msgspec.structs.replace(now.settings, **fields))
            self.conversation = await self._api.conversations.update(LOCAL_OWNER, now.id, patch)

    async def _model_words(self) -> str:
        models = await self._api.models.list(LOCAL_OWNER)
        own = self.conversation.settings.model_id if self.conversation is not None else None
        chosen = self._model or own or models.default_model_id
        names = {one.id: one.name for one in models.models}
        return f"{one_line(names.get(chosen or '', chosen or 'no model'))} answers"


def _number(typed: str, read: Callable[[], N], how: str) -> N | None:
    """Return the number that was typed, None for the usual one; raise one sentence for what is none."""
    try:
        return None if typed == _USUAL else read()
    except ValueError:
        raise PilothouseError("bad_request", f"“{typed}” is not such a number.", fix=how) from None


def _names(files: str) -> list[str]:
    """Return the files that were typed: one name with spaces in it, or several as in a shell."""
    # Several together may be longer than any name.
    with suppress(OSError):
        if at_home(files).is_file():
            return [files]
    try:
        return shlex.split(files)
    except ValueError:
        return [files]
