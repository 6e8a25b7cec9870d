"""Sending a message and following its answer in the terminal; `run`, `answer` and `chat` share it."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from types import FrameType

import msgspec

from pilothouse.cli import garbage, questions
from pilothouse.cli.approval_keys import ALL
from pilothouse.cli.command import CANCELLED, CUT, signal_handlers
from pilothouse.cli.prompting import someone_is_there
from pilothouse.cli.servers import find
from pilothouse.cli.terminal import Terminal, messages, output, plain_json
from pilothouse.cli.transcript import Transcript
from pilothouse.cli.wrapping import say
from pilothouse.host.following import Following
from pilothouse.types import limits
from pilothouse.types.api import Answer, Answers, CompactionWish, ConversationPatch, NewMessage
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.item_data import ApprovalData, ElicitationData, takes_own_words
from pilothouse.types.items import Call, Question
from pilothouse.types.json import JsonObject
from pilothouse.types.paging import whole
from pilothouse.types.runs import Run

_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


async def open_conversation(api: ClientApi, conversation_id: str, settings: JsonObject | None = None) -> Conversation:
    """Return a conversation, with what was chosen for it from now on."""
    now = (await api.conversations.get(LOCAL_OWNER, conversation_id, limit=1)).conversation
    wanted = msgspec.structs.replace(now.settings, **settings) if settings else now.settings
    if wanted == now.settings:
        return now
    return await api.conversations.update(LOCAL_OWNER, now.id, ConversationPatch(settings=wanted))


async def send(api: ClientApi, conversation: Conversation, message: NewMessage) -> Following:
    """Send a message and return its run to follow."""
    # A new conversation is told from its very first event.
    after = conversation.last_seq if conversation.title_source != "none" else 0
    if message.model_id == conversation.settings.model_id:
        # The conversation's own model, not this message's: another may be chosen before a cut answer goes on.
        message = msgspec.structs.replace(message, model_id=None)
    accepted = await api.runs.post_message(LOCAL_OWNER, conversation.id, message)
    return Following(api, await api.runs.get(LOCAL_OWNER, accepted.run_id), after)


async def sum_up(api: ClientApi, conversation: Conversation, keep: str) -> RunReport:
    """Have older turns summed up, and show how that goes."""
    out = output()
    wish = CompactionWish(keep=keep, unattended=not _can_be_asked(out))
    accepted = await api.runs.compact(LOCAL_OWNER, conversation.id, wish)
    run = await api.runs.get(LOCAL_OWNER, accepted.run_id)
    return await converse(api, Following(api, run, conversation.last_seq), out)


def _can_be_asked(out: Terminal) -> bool:
    """Return whether a person sees what goes to this output, and a question about it."""
    return out.is_terminal and someone_is_there(messages())


class RunReport(msgspec.Struct, frozen=True):
    """How a run went, and what of it the person still has to know."""

    run: Run
    transcript: Transcript
    # Whether its questions were asked in the terminal, and the person left them open.
    left_open: bool = False
    # Whether the program was told to end meanwhile, by more than a Ctrl-C.
    to_end: bool = False


async def converse(
    api: ClientApi,
    following: Following,
    out: Terminal,
    *,
    as_json: bool = False,
    transcript: Transcript | None = None,
) -> RunReport:
    """Show a run to its end; where a person is there, ask them whatever it waits for."""
    aside = messages()
    report = await tell(api, following, out, as_json=as_json, transcript=transcript)
    while not as_json and report.run.status == "waiting" and _can_be_asked(out):
        if not await _answer_all(api, following, report.transcript, aside):
            return RunReport(following.run, report.transcript, left_open=True)
        report = await tell(api, following, out, transcript=report.transcript)
    return report


async def _answer_all(api: ClientApi, following: Following, transcript: Transcript, aside: Terminal) -> bool:
    """Ask about everything that is open; return whether the run goes on."""
    run, asked = following.run, list(transcript.questions.values())
    for number, question in enumerate(asked, 1):
        if question.id not in transcript.questions:
            # An earlier answer settled it as well.
            continue
        if len(asked) > 1:
            aside.line(f"{number} of {len(asked)}", "dim")
        answered = await _answer(api, question, transcript, aside)
        if answered is None:
            return False
        run = answered
        transcript.answered(question, run)
    following.go_on(run)
    return not transcript.questions


async def _answer(api: ClientApi, question: Question, transcript: Transcript, aside: Terminal) -> Run | None:
    """Ask until the answer is one that the question takes; None when the person leaves it open."""
    together = [one.id for one in transcript.questions.values() if _stands_with_others(one)]
    while (answer := await questions.ask(question, transcript.call_of(question), aside, len(together))) is not None:
        try:
            if answer is ALL:
                return await _allow_all(api, together, transcript, question.run_id or "")
            if (server := _sign_in_of(question)) and answer.choice == "accept":
                return await _signed_in(api, server, question.run_id or "")
            return await api.questions.answer(LOCAL_OWNER, question.id, answer)
        except PilothouseError as error:
            if error.code == "conflict":
                # Someone was faster, in the page perhaps, or this answer was taken and only the word of it was lost.
                return await api.runs.get(LOCAL_OWNER, question.run_id or "")
            if error.code not in ("bad_request", "sign_in_failed", "cancelled"):
                raise
            say(aside, str(error), "yellow")
    return None


def _sign_in_of(question: Question) -> str:
    """Return the server that a question asks to sign in to; nothing for any other question."""
    asked = question.data
    return asked.server if isinstance(asked, ElicitationData) and asked.mode == "sign_in" else ""


async def _signed_in(api: ClientApi, server: str, run_id: str) -> Run:
    """Let the person sign in, which answers the question, and return what the run comes to."""
    from pilothouse.cli.sign_in import through_browser

    await through_browser(api, await find(api, server))
    return await api.runs.get(LOCAL_OWNER, run_id)


def _stands_with_others(question: Question) -> bool:
    """Return whether a question may be answered together with others; what is dangerous may not."""
    return isinstance(question.data, ApprovalData) and bool(question.data.group) and not question.data.dangerous


async def _allow_all(api: ClientApi, item_ids: Sequence[str], transcript: Transcript, run_id: str) -> Run:
    """Allow what may be allowed together, and return what the run comes to."""
    body = Answers(item_ids=tuple(item_ids), answer=Answer(choice="allow"))
    taken = (await api.questions.answer_many(LOCAL_OWNER, body)).answers
    run = await api.runs.get(LOCAL_OWNER, run_id)
    for one in taken:
        if one.taken:
            transcript.questions.pop(one.item_id, None)
    return run


async def tell(
    api: ClientApi,
    following: Following,
    out: Terminal,
    *,
    as_json: bool = False,
    transcript: Transcript | None = None,
) -> RunReport:
    """Show a run until it ends or waits; a first Ctrl-C cancels it, a second leaves at once."""
    transcript = transcript or Transcript(following.run.id, out, messages())
    garbage.started()
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
    return RunReport(following.run, transcript, to_end=any(number != signal.SIGINT for number in signals))


async def watch(api: ClientApi, following: Following) -> RunReport:
    """Wait for a run to end and show nothing of it; Ctrl-C cancels it as ever."""
    transcript = Transcript(following.run.id, output(), messages())
    with _cancelling(api, following) as signals:
        async with aclosing(following.events()) as events:
            async for _sent, _event in events:
                pass
    return RunReport(following.run, transcript, to_end=any(number != signal.SIGINT for number in signals))


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
            await api.runs.cancel(following.run.owner, following.run.id)
        except PilothouseError:
            # The server is away: there is nothing left to wait for.
            if following_task is not None:
                following_task.cancel()

    def handle(number: int, frame: FrameType | None) -> None:
        if tasks:
            os._exit(CANCELLED)
        signals.append(number)
        loop.call_soon_threadsafe(lambda: tasks.add(asyncio.create_task(cancel())))

    with signal_handlers(_ENDING, handle):
        yield signals


def _way_on(run: Run) -> str:
    """Return the command that has the rest of an answer; where the window is full, another model has to."""
    if run.cut == "context":
        return f'pilothouse run --conversation {run.conversation_id} --model LARGER "Go on."'
    return f"pilothouse conversations resume {run.conversation_id}"


def verdict(report: RunReport) -> int:
    """Say how a run ended, where that is not plain, and return the exit code."""
    run, aside = report.run, messages()
    match run.status:
        case "completed" if run.cut is not None:
            say(aside, report.transcript.missing.cut, "yellow")
            aside.line(f"Go on: {_way_on(run)}")
            return CUT
        case "completed":
            return 0
        case "cancelled":
            aside.line("Cancelled.", "yellow")
            return CANCELLED
        case "waiting":
            for question in report.transcript.questions.values():
                if report.left_open:
                    how_to_answer(question, aside)
                else:
                    ask(question, report.transcript.call_of(question), aside)
            _say_cure(report.transcript.questions.values(), aside)
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


def _say_cure(asked: Iterable[Question], aside: Terminal) -> None:
    """Print what would have allowed all of this beforehand; nothing where each of it is asked about each time."""
    cures = [one.data.cure for one in asked if isinstance(one.data, ApprovalData) and one.data.cure is not None]
    if names := [name for cure in cures for name in cure.allow]:
        aside.line(f"Next time without a question: pilothouse run … {questions.allow_words(names)}")


def ask(question: Question, call: Call | None, aside: Terminal) -> None:
    """Print a question and how to answer it."""
    questions.show(question, call, aside)
    how_to_answer(question, aside)


def how_to_answer(question: Question, aside: Terminal) -> None:
    """Print the commands that answer a question, each with what it means."""
    data = question.data
    if server := _sign_in_of(question):
        aside.line(f"  {shlex.join(['pilothouse', 'mcp', 'sign-in', server])}  Sign in; it goes on by itself.")
        return
    form = isinstance(data, ElicitationData) and data.mode == "form" and (data.schema or {}).get("properties")
    typed = [f"{one.id} --content '{{…}}'" if form and one.id == "accept" else one.id for one in data.choices]
    widest = max(map(len, typed), default=0)
    for words, choice in zip(typed, data.choices, strict=True):
        aside.line(f"  pilothouse answer {question.id} {words:<{widest}}  {choice.label}".rstrip())
    if not data.choices or takes_own_words(data):
        aside.line(f'  pilothouse answer {question.id} --text "…"')


async def tell_changes(api: ClientApi, report: RunReport) -> None:
    """Say how to put back what the run did to files; nowhere else would one find it."""
    listed = await whole(lambda page: api.changes.list(LOCAL_OWNER, report.run.id, page))
    changed = {change.path for change in listed.changes}
    if changed:
        files = "1 file" if len(changed) == 1 else f"{len(changed)} files"
        messages().line(f"It changed {files}. Put back: pilothouse undo {report.run.id}", "dim")
