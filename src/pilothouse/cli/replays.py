"""`pilothouse replay`: finished runs once more, with another model or prompt and what their tools gave then."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import msgspec

from pilothouse.cli.asking import RunReport, tell, verdict, watch
from pilothouse.cli.command import CANCELLED, NOT_RECORDED, complain
from pilothouse.cli.run import cost_words
from pilothouse.cli.tables import counted, cut, show_table
from pilothouse.cli.terminal import Terminal, messages, one_line, output
from pilothouse.cli.wrapping import aside_only, say
from pilothouse.connection import connect_host
from pilothouse.host.following import Following
from pilothouse.host.named_runs import run_named
from pilothouse.host.new_conversations import model_name
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.json import Frozen
from pilothouse.types.replays import ReplayStep, ReplayWish, RunDifference, RunSummary, StepCall, StepDifference
from pilothouse.types.runs import Run, RunError
from pilothouse.types.usage import TokenUsage

# What a step differs in, in words.
_DIFFERS = {
    "same": "the same",
    "calls": "other calls",
    "arguments": "other arguments",
    "text": "other words",
    "only_before": "only then",
    "only_after": "only now",
}


class ReplayRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What `replay` was asked to do."""

    runs: tuple[str, ...]
    model: str | None = None
    # The system prompt itself, or the file that has it.
    system: str | None = None
    prompt: str | None = None
    temperature: float | None = None
    thinking: bool | None = None
    json: bool = False


class Replayed(Frozen, frozen=True):
    """One replay for programs: what was replayed, and what came of it or why nothing did."""

    replay_of: str
    run: Run | None = None
    difference: RunDifference | None = None
    error: RunError | None = None


async def replay(request: ReplayRequest) -> int:
    """Replay each run, show how it differs, and return the exit code."""
    wish = ReplayWish(
        model_id=model_name(request.model),
        system_prompt=_prompt(request),
        temperature=request.temperature,
        thinking=request.thinking,
    )
    codes = []
    async with connect_host(tell=aside_only, brief=True) as api:
        for given in request.runs:
            codes.append(await _one(api, given, wish, as_json=request.json))
            if codes[-1] == CANCELLED:
                break
    # What went wrong altogether comes before what only stopped.
    return next((code for code in codes if code not in (0, NOT_RECORDED)), max(codes))


def _prompt(request: ReplayRequest) -> str | None:
    if request.prompt is None:
        return request.system
    if request.system is not None:
        fix = "Say it, or name the file that has it."
        raise PilothouseError("bad_request", "--system and --prompt both give the system prompt.", fix=fix)
    file = at_home(request.prompt)
    try:
        if file.stat().st_size > 4 * limits.MESSAGE_CHARS:
            raise PilothouseError("too_large", f"{file} is too large for a prompt.", fix="Shorten it.")
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise PilothouseError("bad_request", f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise PilothouseError("bad_request", f"{file} is not UTF-8 text.", fix="Save it as text.") from None


async def _one(api: ClientApi, given: str, wish: ReplayWish, *, as_json: bool) -> int:
    """Replay one run; what is wrong with it does not keep the others from being replayed."""
    try:
        before = await run_named(api, given)
        report, difference = await _followed(api, before, wish, as_json=as_json)
    except PilothouseError as error:
        if as_json:
            told = RunError(code=error.code, message=error.message, fix=error.fix)
            output().json(Replayed(replay_of=given, error=told))
            return error.exit_code
        return complain(error)
    if as_json:
        output().json(Replayed(replay_of=before.id, run=report.run, difference=difference))
        return _code(report)
    show(output(), difference)
    return _said(report)


async def _followed(api: ClientApi, before: Run, wish: ReplayWish, *, as_json: bool) -> tuple[RunReport, RunDifference]:
    after = (await api.conversations.get(LOCAL_OWNER, before.conversation_id, limit=1)).last_seq
    accepted = await api.branches.replay(LOCAL_OWNER, before.id, wish)
    following = Following(api, await api.runs.get(LOCAL_OWNER, accepted.run_id), after)
    if as_json:
        report = await watch(api, following)
    else:
        say(messages(), f"Replaying {before.id} as {accepted.run_id}; no tool is executed.", "dim")
        report = await tell(api, following, output())
    return report, await api.branches.difference(LOCAL_OWNER, before.id, report.run.id)


def _code(report: RunReport) -> int:
    if report.run.error is not None:
        return PilothouseError(report.run.error.code, "").exit_code
    return {"completed": 0, "cancelled": CANCELLED}.get(report.run.status, 1)


def _said(report: RunReport) -> int:
    """Say how a replay ended, where that is not plain, and return the exit code."""
    try:
        return verdict(report)
    except PilothouseError as error:
        return complain(error)


# --- the difference ---


def show(out: Terminal, difference: RunDifference) -> None:
    """Print two runs beside each other: the whole of each, then step by step."""
    before, after = difference.before, difference.after
    out.fresh_line()
    out.line()
    show_table(out, ("", "then", "now"), list(zip(_NAMES, _cells(before), _cells(after), strict=True)))
    for step in difference.steps:
        _show_step(out, step)
    out.line()
    calls = "the same calls" if difference.same_calls else "other calls"
    answer = "ends in the same words" if difference.same_answer else "ends in other words"
    if after.status == "completed":
        say(out, f"It made {calls} and {answer}.", "bold")
    else:
        say(out, f"It did not come to its end, after {counted(after.calls, 'call')}.", "bold")


_NAMES = ("run", "status", "model", "steps", "calls", "tokens", "cost", "time")


def _cells(one: RunSummary) -> tuple[str, ...]:
    return (
        one.run_id,
        one.status,
        one.model,
        str(one.steps),
        str(one.calls),
        _tokens(one.usage),
        cost_words(one.cost) if one.cost is not None else "not known",
        _time(one.duration_ms),
    )


def spent_words(one: RunSummary) -> str:
    """Return in a line what a run took."""
    cost = (cost_words(one.cost),) if one.cost is not None else ()
    return " · ".join((_tokens(one.usage), *cost, _time(one.duration_ms)))


def _show_step(out: Terminal, step: StepDifference) -> None:
    out.line()
    differs = ", ".join(_DIFFERS.get(each, each) for each in step.differs)
    out.line(f"Step {step.number}: {differs}", "dim" if step.differs == ("same",) else "yellow")
    for name, side in (("then", step.before), ("now", step.after)):
        if side is not None:
            _show_side(out, name, side)


def _show_side(out: Terminal, name: str, side: ReplayStep) -> None:
    width = shutil.get_terminal_size().columns if out.is_terminal else None
    lines = list(_lines(side))
    for number, line in enumerate(lines):
        told = f"  {name if number == 0 else '':<5} {one_line(line)}"
        out.line(cut(told, width) if width is not None else told)
    if measured := " · ".join(_measures(side)):
        out.line(f"        {measured}", "dim")


def _lines(side: ReplayStep) -> Iterator[str]:
    if side.text:
        yield side.text
    yield from (_call(call) for call in side.calls)
    if not side.text and not side.calls:
        yield "(nothing)"


def _call(call: StepCall) -> str:
    ended = "" if call.status == "completed" else f" ({call.status.replace('_', ' ')})"
    return f"{call.tool} {call.arguments}{ended}"


def _measures(side: ReplayStep) -> Iterator[str]:
    if side.usage is not None:
        yield _tokens(side.usage)
    if side.cost is not None:
        yield cost_words(side.cost)
    if side.duration_ms is not None:
        yield _time(side.duration_ms)


def _tokens(usage: TokenUsage) -> str:
    return f"{usage.input:,} in, {usage.output:,} out"


def _time(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"
