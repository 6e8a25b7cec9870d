"""Sending a message and following its answer in the terminal; `run`, `answer` and `chat` share it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from types import FrameType

import msgspec

from pilothouse.cli import questions
from pilothouse.cli.command import CANCELLED
from pilothouse.cli.prompting import someone_is_there
from pilothouse.cli.terminal import Terminal, messages, plain_json
from pilothouse.cli.transcript import Transcript
from pilothouse.cli.wrapping import say
from pilothouse.runs.following import Following
from pilothouse.types import limits
from pilothouse.types.api import ConversationPatch, NewMessage
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.paging import whole
from pilothouse.types.runs import Run

_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


async def open_conversation(api: ClientApi, conversation_id: str, settings: JsonObject | None = None) -> Conversation:
    """Return a conversation, with what was chosen for it from now on."""
    now = (await api.snapshot(LOCAL_OWNER, conversation_id, limit=1)).conversation
    wanted = msgspec.structs.replace(now.settings, **settings) if settings else now.settings
    if wanted == now.settings:
        return now
    return await api.update_conversation(LOCAL_OWNER, now.id, ConversationPatch(settings=wanted))


async def send(api: ClientApi, conversation: Conversation, message: NewMessage) -> Following:
    """Send a message and return its run to follow."""
    # A new conversation is told from its very first event.
    after = conversation.last_seq if conversation.title_source != "none" else 0
    accepted = await api.post_message(LOCAL_OWNER, conversation.id, message)
    return Following(api, await api.run(LOCAL_OWNER, accepted.run_id), after)


class Told(msgspec.Struct, frozen=True):
    """How a run went, and what of it the person still has to know."""

    run: Run
    transcript: Transcript
    # Whether its questions were asked in the terminal, and the person left them open.
    left_open: bool = False
    # Whether the program was told to end meanwhile, by more than a Ctrl-C.
    to_end: bool = False


async def converse(api: ClientApi, following: Following, out: Terminal, *, as_json: bool = False) -> Told:
    """Show a run to its end; where a person is there, ask them whatever it waits for."""
    aside = messages()
    told = await tell(api, following, out, as_json=as_json)
    while not as_json and told.run.status == "waiting" and out.is_terminal and someone_is_there(aside):
        if not await _answer_all(api, following, told.transcript, aside):
            return Told(following.run, told.transcript, left_open=True)
        told = await tell(api, following, out, transcript=told.transcript)
    return told


async def _answer_all(api: ClientApi, following: Following, transcript: Transcript, aside: Terminal) -> bool:
    """Ask about everything that is open; return whether the run goes on."""
    run = following.run
    for question in list(transcript.questions.values()):
        if question.id not in transcript.questions:
            # An earlier answer settled it as well.
            continue
        answered = await _answer(api, question, transcript, aside)
        if answered is None:
            return False
        run = answered
        transcript.settled(question, run)
    following.go_on(run)
    return not transcript.questions


async def _answer(api: ClientApi, question: Item, transcript: Transcript, aside: Terminal) -> Run | None:
    """Ask until the answer is one that the question takes; None when the person leaves it open."""
    while (answer := await questions.ask(question, transcript.call_of(question), aside)) is not None:
        try:
            return await api.answer(LOCAL_OWNER, question.id, answer)
        except PilothouseError as error:
            if error.code == "conflict":
                # Someone was faster, in the page perhaps, or this answer was taken and only the word of it was lost.
                return await api.run(LOCAL_OWNER, question.run_id or "")
            if error.code != "bad_request":
                raise
            say(aside, str(error), "yellow")
    return None


async def tell(
    api: ClientApi,
    following: Following,
    out: Terminal,
    *,
    as_json: bool = False,
    transcript: Transcript | None = None,
) -> Told:
    """Show a run until it ends or waits; a first Ctrl-C cancels it, a second leaves at once."""
    transcript = transcript or Transcript(following.run.id, out, messages())
    with _cancelling(api, following) as signals:
        async with _ticking(transcript, moves=messages().styled), aclosing(following.events()) as events:
            async for sent, event in events:
                transcript.missing.see(event)
                if as_json:
                    out.write(plain_json(sent.json.decode()) + "\n")
                else:
                    transcript.show(event)
    if not as_json:
        transcript.end()
    return Told(following.run, transcript, to_end=any(number != signal.SIGINT for number in signals))


@asynccontextmanager
async def _ticking(transcript: Transcript, *, moves: bool) -> AsyncGenerator[None, None]:
    """Let the line about calls at work move by itself, on a terminal that can take it back."""
    if not moves:
        yield
        return

    async def tick() -> None:
        while True:
            await asyncio.sleep(limits.TERMINAL_TICK)
            transcript.tick()

    ticking = asyncio.create_task(tick())
    try:
        yield
    finally:
        ticking.cancel()
        await asyncio.wait([ticking])


@contextmanager
def _cancelling(api: ClientApi, following: Following) -> Iterator[list[int]]:
    """Let the signals that end a program cancel the run first, so that the timeline says so; give those that came."""
    signals: list[int] = []
    loop, following_task, tasks = asyncio.get_running_loop(), asyncio.current_task(), set[asyncio.Task[None]]()

    async def cancel() -> None:
        try:
            await api.cancel_run(following.run.owner, following.run.id)
        except PilothouseError:
            # The server is away: there is nothing left to wait for.
            if following_task is not None:
                following_task.cancel()

    def handle(number: int, frame: FrameType | None) -> None:
        if tasks:
            os._exit(CANCELLED)
        signals.append(number)
        loop.call_soon_threadsafe(lambda: tasks.add(asyncio.create_task(cancel())))

    before = {number: signal.signal(number, handle) for number in _ENDING}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def verdict(told: Told) -> int:
    """Say how a run ended, where that is not plain, and return the exit code."""
    run, aside = told.run, messages()
    match run.status:
        case "completed":
            return 0
        case "cancelled":
            aside.line("Cancelled.", "yellow")
            return CANCELLED
        case "waiting":
            for question in told.transcript.questions.values():
                if told.left_open:
                    how_to_answer(question, aside)
                else:
                    ask(question, told.transcript.call_of(question), aside)
            return 3
        case "interrupted" if run.error is not None:
            fix = f"Try once more: pilothouse conversations resume {run.conversation_id}"
            raise PilothouseError(run.error.code, run.error.message, fix=fix)
        case "interrupted":
            fix = f'What came so far is kept. Go on with: pilothouse run --conversation {run.conversation_id} "Go on."'
            raise PilothouseError("stream_broken", "The server stopped before the answer was complete.", fix=fix)
        case _:
            error = run.error
            if error is None:
                raise PilothouseError("internal", "The run failed.")
            raise PilothouseError(error.code, error.message, fix=error.fix)


def ask(question: Item, call: Item | None, aside: Terminal) -> None:
    """Print a question and how to answer it."""
    questions.show(question, call, aside)
    how_to_answer(question, aside)


def how_to_answer(question: Item, aside: Terminal) -> None:
    """Print the commands that answer a question, each with what it means."""
    choices = question.data.get("choices") or ()
    form = question.data.get("mode") == "form" and (question.data.get("schema") or {}).get("properties")
    typed = [f"{one['id']} --content '{{…}}'" if form and one["id"] == "accept" else str(one["id"]) for one in choices]
    widest = max(map(len, typed), default=0)
    for words, choice in zip(typed, choices, strict=True):
        aside.line(f"  pilothouse answer {question.id} {words:<{widest}}  {choice.get('label', '')}".rstrip())
    if not choices or (question.data.get("kind") == "collaboration" and not question.data.get("authorizes")):
        aside.line(f'  pilothouse answer {question.id} --text "…"')


async def tell_changes(api: ClientApi, told: Told) -> None:
    """Say how to put back what the run did to files; nowhere else would one find it."""
    listed = await whole(lambda page: api.changes(LOCAL_OWNER, told.run.id, page))
    changed = {change.path for change in listed.changes}
    if changed:
        files = "1 file" if len(changed) == 1 else f"{len(changed)} files"
        messages().line(f"It changed {files}. Put back: pilothouse undo {told.run.id}", "dim")
