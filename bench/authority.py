"""Deciding with very many rules, and living with very many questions that wait: against few of either."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
import uvloop

from bench.results import table, verdict
from bench.seeding import open_folder
from pilothouse.permissions.matching import Subject
from pilothouse.permissions.policy import Policy
from pilothouse.permissions.policy_file import new_policy, parse_policy
from pilothouse.settings.json_file import JsonFile
from pilothouse.store.store import Store
from pilothouse.types.access import Access, CommandUse, PathUse
from pilothouse.types.api import Answer, NewConversation, NewMessage
from pilothouse.types.authority import Pattern, Rule, Verdict
from pilothouse.types.events import ItemCreated
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.json import plain
from pilothouse.wiring.host import open_host
from tests.support.records import a_conversation, a_posting, an_item

TERMINAL = "terminal_operations.run_command"
CHOICES = [{"id": "allow", "label": "Allow once"}, {"id": "deny", "label": "Deny"}]


def rules(count: int) -> list[Rule]:
    """Return as many rules of every kind."""
    made: list[tuple[Verdict, Pattern]] = []
    for number in range(count // 4):
        made += [
            ("allow", Pattern(tool=f"server{number}.read", destination=f"h{number}.example.com")),
            ("deny", Pattern(tool="file_operations.*", paths=(f"src/part{number}/**",))),
            ("deny", Pattern(tool=TERMINAL, command=(f"program{number}", "*"))),
            ("ask", Pattern(destination=f"*.h{number}.example.com")),
        ]
    return [Rule(id=f"rule-{at}", verdict=says, pattern=pattern) for at, (says, pattern) in enumerate(made)]


def accesses(folder: str) -> dict[str, Access]:
    """Return calls as agents make them."""
    written = PathUse(path=f"{folder}/src/app.py", effect="writes", inside=True)
    chained = "; ".join(["cd src && make test"] * 50)
    return {
        "a file written": Access(operation="file_operations.create_file", paths=(written,)),
        "a plain command": Access(operation=TERMINAL, command=CommandUse(text="git log main", folder=folder)),
        "100 commands joined": Access(operation=TERMINAL, command=CommandUse(text=chained, folder=folder)),
        "a server's tool": Access(operation="github.read_file", destination="github"),
    }


def deciding(folder: Path, count: int, times: int) -> dict[str, float]:
    """Return how long a decision takes, in microseconds, with the rules in a file as they always are."""
    home = folder / f"rules-{count}"
    home.mkdir()
    file = JsonFile(home / "policy.json", parse_policy, new_policy)
    file.update(lambda raw: raw.update(rules=[plain(rule) for rule in rules(count)]))
    policy, taken = Policy(file), {}
    for name, access in accesses(str(folder)).items():
        each = []
        for _ in range(times):
            began = time.perf_counter()
            policy.judge(Subject(access, "", str(folder)))
            each.append((time.perf_counter() - began) * 1e6)
        taken[name] = statistics.median(each)
    return taken


def compare_rules(folder: Path, times: int) -> None:
    """Compare ten rules with ten thousand."""
    few, many = deciding(folder, 12, times), deciding(folder, 10_000, times)
    rows = [("", "12 rules", "10,000", "ratio")]
    rows += [(name, f"{few[name]:.0f}", f"{many[name]:.0f}", f"{many[name] / few[name]:.2f}") for name in few]
    table(f"One decision, median of {times}, microseconds", rows)
    verdict("a decision with 10,000 rules", max(many.values()) / 1_000, 5.0, " ms")
    verdict("10,000 rules against 12", statistics.median(many[name] / few[name] for name in few), 3.0, "×")


async def ask(store: Store, number: int) -> str:
    """Write a conversation that waits for an answer; return its question."""
    made = msgspec.structs.replace(a_conversation(), title=f"Conversation {number}", title_source="person")
    conversation = await store.add_conversation(made)
    await store.post_message(a_posting(conversation.id))
    run = await store.claim_next(conversation.id, "bench")
    if run is None:
        raise SystemExit("the run could not be taken")
    data = {"tool": "file_operations", "callId": "1", "arguments": {"operation": "create_file", "path": "a.txt"}}
    call = an_item(conversation.id, "tool_call", "waiting", run_id=run.id, data=data)
    asked = {"kind": "approval", "callItemId": call.id, "callHash": "0", "choices": CHOICES, "group": "create_file"}
    question = an_item(conversation.id, "question", "waiting", "Allow it?", run_id=run.id, data=asked)
    await store.append(conversation.id, [ItemCreated(item=call), ItemCreated(item=question)], None)
    await store.change_run(run.id, lambda now: msgspec.structs.replace(now, status="waiting", process=None))
    return question.id


async def waiting(folder: Path, count: int, times: int) -> dict[str, float]:
    """Return how long things take, in milliseconds, while so many questions wait."""
    opened = open_folder(folder)
    spare = [await ask(opened.store, number) for number in range(times)]
    for number in range(count - 1):
        await ask(opened.store, times + number)
    await opened.close()
    taken: dict[str, float] = {}
    async with open_host(folder) as host:
        api = host.api
        # All but one of those that are answered now, so that as many wait as were asked for.
        answered = iter(spare)
        taken["answer one"] = await median(
            times - 1, lambda: api.questions.answer(LOCAL_OWNER, next(answered), Answer(choice="deny"))
        )
        taken["list them"] = await median(times, lambda: api.permissions.approvals(LOCAL_OWNER))
        begun = [await api.conversations.create(LOCAL_OWNER, NewConversation()) for _ in range(times)]
        fresh = iter(begun)
        taken["send a message"] = await median(
            times, lambda: api.runs.post_message(LOCAL_OWNER, next(fresh).id, NewMessage(text="Hello"))
        )
        taken["draw the page"] = await median(times, lambda: api.conversations.page_state(LOCAL_OWNER, None))
    return taken


async def median(times: int, work: Callable[[], Awaitable[object]]) -> float:
    """Return the middle time of a piece of work, in milliseconds."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - began) * 1_000)
    return statistics.median(taken)


async def compare_questions(folder: Path, count: int, times: int) -> None:
    """Compare one question that waits with very many."""
    few, many = await waiting(folder / "few", 1, times), await waiting(folder / "many", count, times)
    rows = [("", "1 waits", f"{count:,} wait", "ratio")]
    rows += [(name, f"{few[name]:.1f}", f"{many[name]:.1f}", f"{many[name] / few[name]:.1f}") for name in few]
    table(f"Questions that wait, median of {times}, milliseconds", rows)
    verdict(f"listing {count:,} questions", many["list them"], 250.0, " ms")
    verdict(f"answering one of {count:,}", many["answer one"] / few["answer one"], 3.0, "×")
    verdict(f"a message while {count:,} wait", many["send a message"] / few["send a message"], 3.0, "×")
    verdict(f"the page while {count:,} wait", many["draw the page"] / few["draw the page"], 3.0, "×")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--questions", type=int, default=1_000)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="pilothouse-bench-") as temporary:
        folder = Path(temporary)
        compare_rules(folder, chosen.times * 10)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(compare_questions(folder, chosen.questions, chosen.times))


if __name__ == "__main__":
    main()
