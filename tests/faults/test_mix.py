"""Everything at once: servers that fail in every way while several conversations use them, by a seed; then calm."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from pilothouse.types import limits
from pilothouse.types.api import Answer, NewConversation, NewMessage
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import CLOSED, Item
from pilothouse.types.runs import ENDED, Run
from pilothouse.types.selection import Selection, ServerChoice
from pilothouse.types.servers import ConsentGiven, ServerPatch, ServerView, ToolConfirmed
from pilothouse.wiring import OpenHost, open_host
from tests.faults.chance import ALL_KINDS, SECONDS, SEED, seeded
from tests.faults.places import Place, Process, places
from tests.support import invariants
from tests.support.waiting import eventually

ME = "local"
TALKERS = 5
MESSAGES = 8
MARK = re.compile(r"mark\d+x")
# What is said only of calls that were surely not carried out.
NOT = re.compile(
    r"It was not carried out\.|PERMISSION_DENIED|TOOL_NOT_FOUND|SERVER_OFF|SERVER_UNAVAILABLE|TOOL_CHANGED"
)
LAST_WORDS = {"approval": "allow", "limit": "stop"}
PERHAPS = "It may have been carried out"
# After the last fault everything must have come to an end by then.
CALM = 60.0
# The loop's own work in one go, in seconds of its processor; what other programs take is not its fault.
LONGEST_STEP = 0.5
LOOK_EVERY = 0.005
# What the program may grow by while it is tormented.
MEMORY = 300 * 1024 * 1024
# How calls end when there is time for every kind of fault.
EVERY_END = {"completed", "CANCELLED", "TIMEOUT", "SERVER_LOST", "SERVER_UNAVAILABLE"}
SHORT: dict[str, Any] = {
    "LOCAL_BACKOFF": (0.05, 0.1, 0.2),
    "REMOTE_BACKOFF": (0.05, 0.1, 0.2, 0.4),
    "PARKED_RETRY": 1.0,
    "HEALTHY_AFTER": 0.5,
    "BREAKER_OPEN": 0.5,
    "HEALTH_EVERY": 1.0,
    "HEALTH_ANSWER": 1.0,
    "MCP_CONNECT": 3.0,
    "MCP_HANDSHAKE": 3.0,
    "PROBE_TIMEOUT": 0.5,
    "LIST_TIMEOUT": 2.0,
    "LEARN_DELAY": 0.05,
    "RELIST_EVERY": 0.1,
    "RETRY_FIRST_WAIT": 0.05,
    "STDIO_WRITE": 1.0,
    "CANCEL_GRACE": 0.5,
    "PROCESS_GRACE": 0.3,
    "FILE_WATCH": 0.2,
    # Four turns are in a script. A summary makes the scripted model forget which it has given: it gives one again.
    "MAX_ITERATIONS": 12,
}


class World:
    """The host under torment, what was asked of it, and what it may never do."""

    def __init__(self, host: OpenHost, servers: list[Place], folder: Path) -> None:
        self.host = host
        self.api = host.api
        self.servers = servers
        self.by_name = {server.body.name: server for server in servers}
        self.folder = folder
        self.runs: list[str] = []
        self.conversations: list[str] = []
        self._number = 0
        self.longest_step = 0.0

    async def add_servers(self) -> None:
        """Add all servers as a person does."""
        for server in self.servers:
            view = await self.api.servers.add(ME, server.body)
            if view.consent is not None:
                await self.api.servers.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
            tested = await self.api.servers.test(ME, view.id)
            assert tested.ok, tested.message

    def mark(self) -> str:
        """Return a text that no other call has."""
        self._number += 1
        return f"mark{self._number}x"

    async def suffer(self, seconds: float) -> None:
        """Talk in several conversations while things go wrong."""
        end = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            for number in range(TALKERS):
                group.create_task(self.talk(random.Random(SEED * 1000 + number), end))
            group.create_task(self.torment(random.Random(SEED), end))

    # --- talking ---

    async def talk(self, chance: random.Random, end: float) -> None:
        """Send message after message, and do what an impatient person does."""
        while time.monotonic() < end:
            conversation = (await self.api.conversations.create(ME, NewConversation())).id
            self.conversations.append(conversation)
            for _ in range(MESSAGES):
                if time.monotonic() < end:
                    await self.say(chance, conversation, min(end, time.monotonic() + 12))

    async def say(self, chance: random.Random, conversation: str, end: float) -> None:
        """Send one message and stay with it until it ends or it is time to go."""
        word = self.mark()
        allow = tuple(f"{name}.*" for name in self.by_name if chance.random() < 0.8)
        body = NewMessage(text=f"Do {word}", model_id=f"scripted:{self._script(chance, word)}", allow=allow)
        run_id = (await self.api.runs.post_message(ME, conversation, body)).run_id
        self.runs.append(run_id)
        stop_at = time.monotonic() + chance.uniform(0, 3) if chance.random() < 0.15 else end
        while (run := await self.api.runs.get(ME, run_id)).status not in ENDED and time.monotonic() < end:
            await self._meddle(chance, conversation, run)
            if time.monotonic() > stop_at:
                await self.api.runs.cancel(ME, run_id)
                stop_at = end
            await asyncio.sleep(chance.uniform(0.02, 0.2))

    def _script(self, chance: random.Random, word: str) -> Path:
        rounds: list[Any] = []
        for _ in range(chance.randrange(1, 4)):
            steps: list[Any] = [self._call(chance) for _ in range(chance.randrange(1, 4))]
            if chance.random() < 0.1:
                steps.insert(0, {"fault": "cut", "times": 1})
            rounds.append({"match": f"{word}", "steps": steps})
        rounds.append({"match": f"{word}", "steps": [{"text": "Done.", "pieces": 2}]})
        script = self.folder / f"{word}.json"
        script.write_text(json.dumps({"turns": rounds}))
        return script

    def _call(self, chance: random.Random) -> dict[str, Any]:
        server = chance.choice(self.servers)
        tool, arguments = server.arguments(chance, self.mark())
        return {"call": f"{server.body.name}__{tool}", "arguments": arguments}

    async def _meddle(self, chance: random.Random, conversation: str, run: Run) -> None:
        """Answer what is asked, and now and then stop a call or give it time."""
        open_items = [item for item in await self.items(conversation) if item.status not in CLOSED]
        for item in open_items:
            # What was open a moment ago may have ended meanwhile; then it is too late, and that is said.
            with suppress(PilothouseError):
                if item.kind == "question" and chance.random() < 0.3:
                    await self.api.questions.answer(ME, item.id, answer_to(item, chance))
                elif item.kind == "tool_call" and chance.random() < 0.03:
                    act = chance.choice((self.api.runs.cancel_call, self.api.runs.keep_waiting))
                    await act(ME, item.id)

    async def items(self, conversation: str) -> list[Item]:
        """Return all items of a conversation."""
        return list((await self.api.conversations.get(ME, conversation, limit=500)).items)

    # --- torment ---

    async def torment(self, chance: random.Random, end: float) -> None:
        """Spoil one thing after the other."""
        while time.monotonic() < end:
            view = chance.choice((await self.api.servers.list(ME)).servers)
            # What changes at the same moment may be refused; that is said.
            with suppress(PilothouseError):
                await self._spoil(view, chance)
            await asyncio.sleep(chance.uniform(0.02, 0.4))

    async def _spoil(self, view: ServerView, chance: random.Random) -> None:
        if not view.enabled:
            await self.api.servers.patch(ME, view.id, ServerPatch(enabled=True))
        elif chance.random() < 0.9:
            self.by_name[view.name].harm(chance, view)
        elif chance.random() < 0.5:
            await self.api.servers.patch(ME, view.id, ServerPatch(enabled=False))
        else:
            await self.api.servers.retry(ME, view.id)
            await self._edit(chance)

    async def _edit(self, chance: random.Random) -> None:
        """Change the file by hand: a server off, or another idle time."""

        def edit() -> None:
            file = self.host.home.path / "config.json"
            config = json.loads(file.read_text(encoding="utf-8"))
            entry = chance.choice(config["mcps"])
            entry["enabled"] = chance.random() < 0.8
            entry.setdefault("config", {})["idleStop"] = chance.choice((0.5, 5, 600))
            file.write_text(json.dumps(config), encoding="utf-8")

        await asyncio.to_thread(edit)

    async def measure(self) -> None:
        """Keep the longest step that the loop ever took."""
        while True:
            before = time.thread_time()
            await asyncio.sleep(LOOK_EVERY)
            self.longest_step = max(self.longest_step, time.thread_time() - before)

    # --- calm ---

    async def calm(self) -> None:
        """End all faults; everything must come to an end, and every server must work again."""
        for server in self.servers:
            server.heal()
            if isinstance(server, Process):
                server.define("")
        await eventually(self._all_ended, "every run to end", CALM)
        for view in (await self.api.servers.list(ME)).servers:
            await self.api.servers.patch(ME, view.id, ServerPatch(enabled=True))
            await eventually(lambda view=view: self._works(view.id), f"{view.name} to work again", CALM)  # type: ignore[misc]
        await self._accept_changes()

    async def _all_ended(self) -> bool:
        going = [run for run_id in self.runs if (run := await self.api.runs.get(ME, run_id)).status not in ENDED]
        for run in going:
            for item in await self.items(run.conversation_id):
                if item.kind == "question" and item.status == "waiting":
                    with suppress(PilothouseError):
                        await self.api.questions.answer(ME, item.id, last_answer_to(item))
        return not going

    async def _works(self, server_id: str) -> bool:
        return (await self.api.servers.test(ME, server_id)).ok

    async def _accept_changes(self) -> None:
        for tool in (await self.api.servers.all_tools(ME)).tools:
            if tool.state == "changed":
                accepted = ToolConfirmed(name=tool.name, fingerprint=tool.fingerprint)
                await self.api.servers.confirm_tool(ME, tool.server_id, accepted)

    async def final_round(self) -> None:
        """A call on every server, in one turn, brings every result."""
        marks = {name: self.mark() for name in self.by_name}
        script = self.folder / "final.json"
        steps = [{"call": f"{name}__echo", "arguments": {"text": mark}} for name, mark in marks.items()]
        script.write_text(json.dumps({"turns": [steps, "All well."]}))
        conversation = (await self.api.conversations.create(ME, NewConversation())).id
        self.conversations.append(conversation)
        every = Selection(servers=tuple(ServerChoice(name=name) for name in marks))
        allow = tuple(f"{name}.*" for name in marks)
        body = NewMessage(text="Go", model_id=f"scripted:{script}", allow=allow, selection=every)
        self.runs.append((await self.api.runs.post_message(ME, conversation, body)).run_id)
        await eventually(self._all_ended, "the last run to end", CALM)
        results = {item.raw["server"]: item for item in await self.items(conversation) if item.kind == "tool_call"}
        for name, mark in marks.items():
            assert results[name].status == "completed", results[name]
            assert mark in results[name].text

    async def check(self) -> Counter[str]:
        """Look at every call: its result is its own, it was carried out at most once, what it says is true.

        Returns how often calls ended in which way.
        """
        carried: Counter[str] = Counter()
        for server in self.servers:
            carried += server.carried()
        broken = [run.id for run_id in self.runs if (run := await self.api.runs.get(ME, run_id)).status == "failed"]
        assert not broken, f"runs failed by themselves: {broken}"
        calls: dict[str, list[Item]] = {}
        for conversation in self.conversations:
            for item in await self.items(conversation):
                if item.kind == "tool_call" and item.raw.get("arguments"):
                    calls.setdefault(item.raw["arguments"]["text"], []).append(item)
        for mark, items in calls.items():
            check_calls(mark, items, carried[mark])
        return Counter(
            (item.raw.get("error") or {}).get("code") or item.status for one in calls.values() for item in one
        )


def end_of(call: Item) -> str:
    """Return how a call ended: its status, or the code of its failure."""
    return str((call.raw.get("error") or {}).get("code") or call.status)


def answer_to(question: Item, chance: random.Random) -> Answer:
    """Return what a person might say to a question."""
    if question.raw["kind"] == "approval":
        offered = {choice["id"] for choice in question.raw["choices"]}
        wanted = [choice for choice in ("allow", "allow", "conversation", "deny") if choice in offered]
        return Answer(choice=chance.choice(wanted))
    if question.raw["kind"] == "limit":
        return Answer(choice=chance.choice(("continue", "stop")))
    choice = chance.choice(("accept", "decline", "cancel"))
    return Answer(choice=choice, content={"name": "Ada"} if choice == "accept" else None)


def last_answer_to(question: Item) -> Answer:
    """Return what somebody says who wants to see the end."""
    return Answer(choice=LAST_WORDS.get(question.raw["kind"], "decline"))


def check_calls(mark: str, calls: list[Item], carried: int) -> None:
    """A call has its own result and says truly whether it was carried out; each was at most once.

    There is one with each mark, unless the model forgot by a summary that it had made it.
    """
    for call in calls:
        assert call.status in CLOSED, call
        assert set(MARK.findall(call.text)) <= {mark}, f"{call.id} has the result of another call: {call.text[:300]}"
    surely_not = [call for call in calls if NOT.search(f"{call.text} {end_of(call)}") and PERHAPS not in call.text]
    done = [call for call in calls if call.status == "completed"]
    assert len(done) <= carried <= len(calls) - len(surely_not), f"carried out {carried} times: {calls}"


@pytest.mark.case("F-61")
@pytest.mark.timeout(SECONDS + 4 * CALM)
async def test_no_mix_of_faults_breaks_a_rule_and_afterwards_everything_ends(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SHORT.items():
        monkeypatch.setattr(limits, name, value)
    async with places(tmp_path) as servers, open_host(home, role="server") as host:
        world = World(host, servers, tmp_path)
        await world.add_servers()
        memory = psutil.Process().memory_info().rss
        measuring = asyncio.create_task(world.measure())
        try:
            await world.suffer(seeded(5 / 6))
            await world.calm()
            await world.final_round()
        finally:
            measuring.cancel()
        ends = await world.check()
        grown = psutil.Process().memory_info().rss - memory
        print(f"{len(world.runs)} runs, ends of calls {dict(ends)}, {grown >> 20} MB, step {world.longest_step:.3f} s")
        assert world.longest_step < LONGEST_STEP
        assert grown < MEMORY
        assert ends.keys() >= (EVERY_END if ALL_KINDS else {"completed"})
    invariants.check(f"sqlite:///{home / 'pilothouse.db'}")
