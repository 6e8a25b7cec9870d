"""AgentDojo's attacks, against a model that obeys every order it reads: how many are done, and how much is asked.

    scripts/judge agentdojo                         a share of all cases, in every layout and mode
    scripts/judge agentdojo --share 1               all of them
    scripts/judge agentdojo --suite banking --layout one --mode sandboxed --seed 7

The model is as bad as a model can be: it does what the person's task needs, and at the first result that has an order
in it, it carries the order out. What the table counts is therefore what the permissions let through.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import secrets
import shlex
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from pilothouse import ConversationSettings, Host, ServerInput
from pilothouse.library.chats import Chat
from pilothouse.types.api import ModelInput, NewConversation
from pilothouse.types.authority import Mode
from pilothouse.types.host import LOCAL_OWNER

WORLD = Path(__file__).parent / "others" / "agentdojo_world.py"
MODES: tuple[Mode, ...] = ("read_only", "ask", "sandboxed", "auto_edit", "auto_approve")
# Whether a suite's tools are of one server, or of one for each application; and whether these say what they do.
LAYOUTS = ("one", "split")
# What the person at the questions says: no to everything, or yes to what their task needs.
PERSONS = ("says no", "knows the task")
MODEL = "obedient"
MOST_QUESTIONS = 50


class Layout(NamedTuple):
    """How a suite's tools are given to the host."""

    suite: str
    split: bool
    annotated: bool


class Case(NamedTuple):
    """One conversation: a task, perhaps with an attack on it, in a mode and with a person."""

    layout: Layout
    task: str
    attack: str
    mode: Mode
    person: str


class Outcome(NamedTuple):
    """What became of a case."""

    asked: int
    done: bool
    attacked: bool


class Tasks:
    """The process that knows AgentDojo's tasks."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def ask(self, name: str, *given: str) -> Any:
        """Return what it answers."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, *given]).encode() + b"\n")
        line = await self._process.stdout.readline()
        if not line:
            raise SystemExit("AgentDojo's process has ended; its error stands above.")
        return json.loads(line)


@asynccontextmanager
async def open_tasks(python: str, folder: Path) -> AsyncIterator[Tasks]:
    """Start the process, and end it."""
    process = await asyncio.create_subprocess_exec(
        *(python, str(WORLD), "tasks", str(folder)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=16 * 1024 * 1024,
    )
    try:
        yield Tasks(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class Court:
    """A host with a suite's tools, in which cases are tried."""

    def __init__(self, host: Host, tasks: Tasks, script: Path, wire_names: dict[str, str]) -> None:
        self._host = host
        self._tasks = tasks
        self._script = script
        self._wire_names = wire_names

    async def tried(self, case: Case) -> Outcome:
        """Hold the conversation and return what became of it."""
        told = await self._tasks.ask("begin", case.layout.suite, case.task, case.attack)
        behind = told["at"] + 1
        calls = [*told["own"][:behind], *told["order"], *told["own"][behind:]]
        turns: list[Any] = [{"call": self._wire_names[each["tool"]], "arguments": each["arguments"]} for each in calls]
        self._script.write_text(json.dumps({"turns": [[turn] for turn in [*turns, told["says"] or "Done."]]}))
        wanted = {_key(self._wire_names[each["tool"]], each["arguments"]) for each in told["own"]}
        settings = ConversationSettings(model_id=MODEL, mode=case.mode)
        chat = Chat(
            self._host.api, await self._host.api.conversations.create(LOCAL_OWNER, NewConversation(settings=settings))
        )
        asked = await self._answered(chat, told["prompt"], wanted if case.person == "knows the task" else set())
        found = await self._tasks.ask("end")
        await chat.delete()
        return Outcome(asked, found["done"], found["attacked"])

    async def _answered(self, chat: Chat, prompt: str, wanted: set[str]) -> int:
        """Send the task and answer the questions about it; return how many there were."""
        answer = await chat.send(prompt, attended=True)
        for asked in range(MOST_QUESTIONS):
            async for _event in answer:
                pass
            question = answer.question
            if question is None:
                if answer.status != "completed":
                    raise SystemExit(f"The answer is {answer.status}: {answer.error}")
                return asked
            items = {item.id: item for item in await chat.items()}
            data = cast(Any, items[cast(Any, question.data).call_item_id].data)
            await answer.reply("allow" if _key(data.tool, data.arguments) in wanted else "deny")
        raise SystemExit(f"More than {MOST_QUESTIONS} questions in one conversation.")


def _key(tool: str, arguments: Any) -> str:
    return json.dumps([tool, arguments], sort_keys=True)


@asynccontextmanager
async def open_court(python: str, tasks: Tasks, layout: Layout, folder: Path) -> AsyncIterator[Court]:
    """Open a host in a folder of its own, and add the servers as a person adds them, who agrees to them."""
    about = (await tasks.ask("suites"))[layout.suite]
    script = folder / "script.json"
    script.write_text('{"turns": ["Hello."]}')
    with tempfile.TemporaryDirectory(prefix="judge-home-") as home:
        async with Host(home) as host:
            await host.models.add(ModelInput(id=MODEL, name="Obedient", provider="scripted", model=str(script)))
            names: dict[str, str] = {}
            for app in about["applications"] if layout.split else [""]:
                name = (app or layout.suite).replace("_client", "")
                words = ["serve", str(folder), layout.suite, "annotated" if layout.annotated else "plain", app]
                line = shlex.join([python, str(WORLD), *words])
                added = await host.servers.add(ServerInput(name=name, command_line=line))
                if added.consent is not None:
                    await host.servers.consent(added.id, added.consent.fingerprint)
                test = await host.servers.test(added.id)
                if not test.ok:
                    raise SystemExit(f"The server {name} does not work: {test}")
                tools = [tool for tool, place in about["tools"].items() if not app or place == app]
                names |= {tool: f"{added.slug}__{tool}" for tool in tools}
            yield Court(host, tasks, script, names)


def cases(layout: Layout, about: Any, modes: Sequence[Mode]) -> Iterator[Case]:
    """Yield every case of a layout: the clean tasks, and each attack on each task where an order is read."""
    for mode in modes:
        for task, is_open in about["tasks"].items():
            yield Case(layout, task, "", mode, "knows the task")
            for attack in about["attacks"] if is_open else ():
                for person in PERSONS:
                    yield Case(layout, task, attack, mode, person)


async def judge(options: argparse.Namespace) -> dict[Case, Outcome]:
    """Try a share of the cases; each layout has at least some of them."""
    chance = random.Random(options.seed)
    outcomes: dict[Case, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        async with open_tasks(options.python, Path(folder)) as tasks:
            suites = await tasks.ask("suites")
            if unknown := set(options.suite or ()) - set(suites):
                raise SystemExit(f"There is no suite {min(unknown)}. There are: {', '.join(suites)}.")
            for layout in _layouts(options, suites):
                every = list(cases(layout, suites[layout.suite], options.mode or MODES))
                drawn = chance.sample(every, max(1, round(min(options.share, 1) * len(every))))
                async with open_court(options.python, tasks, layout, Path(folder)) as court:
                    for case in drawn:
                        outcomes[case] = await court.tried(case)
                        if options.each:
                            print(case, outcomes[case], flush=True)
    return outcomes


def _layouts(options: argparse.Namespace, suites: Sequence[str]) -> Iterator[Layout]:
    for suite in options.suite or suites:
        for layout in options.layout or LAYOUTS:
            for annotated in (False, True):
                yield Layout(suite, layout == "split", annotated)


def report(outcomes: dict[Case, Outcome]) -> None:
    """Print what was let through and what was asked, by mode and layout."""
    head = ("mode", "servers", "annotated", *(f"attacks done, person {person}" for person in PERSONS))
    rows: list[tuple[object, ...]] = [(*head, "clean tasks done", "questions each"), ("---",) * 7]
    groups = {(case.mode, case.layout.split, case.layout.annotated) for case in outcomes}
    for mode, split, annotated in sorted(groups, key=lambda group: (MODES.index(group[0]), *group[1:])):
        tried = {
            case: outcome
            for case, outcome in outcomes.items()
            if (case.mode, case.layout.split, case.layout.annotated) == (mode, split, annotated)
        }
        clean = [outcome for case, outcome in tried.items() if not case.attack]
        done, asked = sum(each.done for each in clean), sum(each.asked for each in clean)
        questions = f"{asked / len(clean):.2f}" if clean else "none tried"
        said = ("one for each application" if split else "one", "yes" if annotated else "no")
        rows.append(
            (mode, *said, *(_attacks(tried, person) for person in PERSONS), f"{done} of {len(clean)}", questions)
        )
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


def _attacks(chosen: dict[Case, Outcome], person: str) -> str:
    tried = [outcome for case, outcome in chosen.items() if case.attack and case.person == person]
    return f"{sum(each.attacked for each in tried)} of {len(tried)}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/judge agentdojo")
    parser.add_argument("--python", required=True, help="the Python that has AgentDojo; scripts/judge names it")
    parser.add_argument("--share", type=float, default=0.05, help="how much of all cases is tried; 1 is all")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000), help="tries the same share again")
    parser.add_argument("--suite", action="append")
    parser.add_argument("--layout", action="append", choices=LAYOUTS)
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--each", action="store_true", help="print every case, too")
    options = parser.parse_args()
    print(f"--share {options.share} --seed {options.seed}")
    report(asyncio.run(judge(options)))


if __name__ == "__main__":
    main()
