"""The scenes that the page's own tests are recorded from, each with the models it has beside `script`."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tests.browser.registries import registries
from tests.browser.spending import PRICES, WINDOW, counted, day
from tests.support.in_process_server import BEARER
from tests.support.pictures import a_png
from tests.support.waiting import eventually
from tests.web.recording import Json, Recorder, Scene, without_settings

# What an answer cites, as strangers write it.
HOSTILE: list[Json] = [
    {"cite": "https://boats.example/tides?x=1", "title": "Tides, explained", "quote": "Twice a day."},
    {"cite": "https://evil.example/", "title": "https://bank.example"},
    {"cite": "https://bank.example@evil.example/a", "title": "\u202eelpmaxe.knab\x1b[31m"},
    {"cite": "javascript:alert(1)", "title": "<img src=x onerror=alert(1)>"},
    {"cite": "", "title": "A book that has only a title"},
    {"cite": "https://long.example/", "title": "Very long title " * 80},
    {"cite": "https://boats.example/tides?x=1", "title": "Again"},
    {"cite": f"https://{'very-long-host.' * 12}example/", "title": "Short"},
    {"cite": "https://more.example/", "title": ""},
]
# What comes before a limit cuts the answer.
HALF: list[Json] = [{"text": "The tide turns twice a d"}, counted(20, 64), {"stop": "length"}]
# What the id of a server is instead: it is another one each time.
SERVER = "00000000-0000-4000-8000-000000000000"
TODOS: list[Json] = [
    {"id": 1, "title": "Read the notes", "description": "All of them.", "status": "completed"},
    {
        "id": 2,
        "title": "Mend the hull",
        "description": "Below the water line.",
        "status": "in-progress",
        "priority": "high",
        "subtasks": [{"title": "Sand it", "done": True}, {"title": "Paint it"}],
    },
    {
        "id": 3,
        "title": "Ask the harbour master",
        "description": "About the berth.",
        "status": "blocked",
        "blockedReason": "He is on leave.",
    },
    {"id": 4, "title": "Sail", "description": "At last.", "status": "not-started", "dependencies": [2]},
]


def files(operation: str, **arguments: Any) -> Json:
    """A step of a script: the model works on files."""
    return {"call": "file_operations", "arguments": {"operation": operation, **arguments}}


def terminal(operation: str, **arguments: Any) -> Json:
    """A step of a script: the model works in the terminal."""
    return {"call": "terminal_operations", "arguments": {"operation": operation, **arguments}}


def tool(name: str, **arguments: Any) -> Json:
    """A step of a script: the model calls a tool."""
    return {"call": name, "arguments": arguments}


async def start(here: Recorder) -> None:
    """Nobody has used it; also what the other scenes leave out because it is the same everywhere."""
    await here.get("/api/state", "/api/approvals", "/api/usage?days=30", "/api/config", "/api/models/catalogue")
    await here.get("/api/prompts", "/api/mini-prompts", "/api/topics", "/api/servers", "/api/memories", "/api/policy")
    await here.get("/api/grants", "/api/web", "/api/documents", "/api/registries")


async def calls(here: Recorder) -> None:
    """c_1: calls that went well, failed and were denied, and one that waits; c_2: a question of the agent.

    c_3: a picture that was attached.
    """
    ship = here.folder / "ship"
    ship.mkdir()
    (ship / "tides.txt").write_text("high water 14:20\n", encoding="utf-8")
    first = await here.conversation("The ship", workingDirectory=str(ship), mode="ask")
    went = [files("read_file", filePath="tides.txt"), files("read_file", filePath="gone.txt")]
    look = [{"thinking": "The tides first."}, "I look.", *went]
    there = await here.say(first, "When do we leave?", look, "High water is at **14:20**.")
    no = [files("create_file", filePath="no.txt", content="No.\n")]
    run = await here.say(first, "Do not write", no, "Then not.", until="waiting")
    await here.answer(first, {"choice": "deny"})
    await here.until(run)
    log = [files("create_file", filePath="log.txt", content="14:20\n")]
    await here.say(first, "Write the log", log, "Written.", until="waiting")
    second = await here.conversation("The boat")
    boat = [tool("user_collaboration", prompt="Which boat?", choices=["The sloop", "The ketch"])]
    await here.say(second, "Take a boat", boat, "Aye.", until="waiting")
    third = await here.conversation("The harbour")
    picture = {"mediaType": "image/png", "name": "harbour.png", "data": base64.b64encode(a_png(5_000)).decode()}
    await here.say(third, "Look", "I see.", images=[picture])
    for conversation in (first, second, third):
        await here.open(conversation)
    await here.get(f"/api/runs/{there}")


async def approvals(here: Recorder) -> None:
    """Calls that wait for an approval; c_1 deletes a folder, c_2 a file, c_3 types at an open terminal."""
    ship = here.folder / "ship"
    (ship / "src").mkdir(parents=True)
    (ship / "src" / "tides.py").write_text("high = 14\n", encoding="utf-8")
    begun = [
        await here.conversation(title, workingDirectory=str(ship), mode="ask") for title in ("All", "One", "Typed")
    ]
    folder, file, typed = begun
    await here.say(folder, "Tidy up", [files("delete_file", filePath="src", recursive=True)], "Done.", until="waiting")
    await here.say(file, "And this", [files("delete_file", filePath="src/tides.py")], "Done.", until="waiting")
    # What holds a command, and where the shell and the terminal are, is another matter on each machine.
    await here.do("PATCH", "/api/config", {"terminal": {"sandbox": "off"}})
    run = await here.say(typed, "Open it", [terminal("create_session")], "Open.", until="waiting")
    await here.answer(typed, {"choice": "allow"})
    await here.until(run)
    make = [terminal("send_input", input="make clean\r\n")]
    await here.say(typed, "Type it", make, "Typed.", until="waiting", insteadOf=here.message)
    for conversation in begun:
        await here.open(conversation)


async def answers(here: Recorder) -> None:
    """c_1: hostile sources; c_2: counted, priced and thought about; c_3: by a model without a price; c_4: todos.

    c_5: stopped in the middle; c_6: by a model that is gone.
    """
    first, second = await here.conversation("Tides"), await here.conversation("Prices")
    third, fourth = await here.conversation("Free", modelId="free"), await here.conversation("Plan")
    await here.say(first, "When?", ["The tide turns twice a day.", *HOSTILE])
    await here.say(second, "The first of two", ["One.", counted(10_000, 100)])
    yes = [{"thinking": "So be it."}, "Yes.", counted(20_000, 1_100, 15_000)]
    await here.say(second, "The second of two", yes)
    await here.say(third, "What does it cost?", ["One.", counted(16_000)])
    await here.say(fourth, "Plan", [tool("todo_operations", operation="write", todoList=TODOS)], "Planned.")
    await here.say(fourth, "Go on", "Yes.")
    fifth, sixth = await here.conversation("Stopped"), await here.conversation("Gone", modelId="gone")
    await here.stop(fifth, "q" * 4_000, "A few words and then more")
    await here.say(sixth, "What stays?", ["One.", counted(16_000, 20)])
    await here.do("DELETE", "/api/models/gone")
    for conversation in (first, second, third, fourth, fifth, sixth):
        await here.open(conversation)


async def branches(here: Recorder) -> None:
    """c_1: a message said in other words, and an answer made anew."""
    conversation = await here.conversation("Knots")
    first = await here.say(conversation, "Which knot?", "A bowline.", "A clove hitch.")
    await here.say(conversation, "Which knot holds?", "A reef knot.", insteadOf=here.message)
    again = await here.do("POST", f"/api/runs/{first}/retry", {})
    await here.until(again["runId"])
    await here.open(conversation)
    await here.get(f"/api/conversations/{conversation}/branches")


async def replay(here: Recorder) -> None:
    """c_1: a conversation of two messages, and a replay of the second answer by another model on branch 1."""
    conversation = await here.conversation("Tides")
    await here.say(conversation, "First question", "One.")
    run = await here.say(conversation, "Second question", "Two.")
    again = await here.do("POST", f"/api/runs/{run}/replay", {"modelId": "free"})
    await here.until(again["runId"])
    assert again["branch"] == 1
    await here.open(conversation)
    await here.get(f"/api/conversations/{conversation}/branches", f"/api/conversations/{conversation}?branch=1")


async def budget(here: Recorder) -> None:
    """c_1: a run that asks before it passes the budget for one message; c_2: one that was stopped there."""
    await here.do("PATCH", "/api/config", {"budgetPerRun": 0.08})
    think = [tool("think", thoughts="This takes a while."), counted(10_000, 100)]
    first, second = await here.conversation("Budget"), await here.conversation("Stopped at the budget")
    run = await here.say(second, "Think less", think, ["Done.", counted(11_000, 10)], until="waiting")
    await here.answer(second, {"choice": "stop"})
    await here.until(run)
    run = await here.say(first, "Think hard", think, ["Done.", counted(11_000, 10)], until="waiting")
    for conversation in (first, second):
        await here.open(conversation)
    await here.get("/api/config", "/api/usage?days=30")
    await here.answer(first, {"choice": "continue"}, recorded=True)
    await here.until(run)
    await record_step(here, first, "that went on")


async def summary_budget(here: Recorder) -> None:
    """c_1: summaries that are asked for and stop at the budget: the first is declined, the second goes on.

    The conversation is recorded after each step, under the step's name.
    """
    conversation = await here.conversation("The port")
    here.let("Person: ", ["They agreed on port 8123.", counted(1_000, 100)])
    await here.say(conversation, "Which port shall we take?", ["Port 8123, then.", counted(10_000, 100)])
    await here.do("PATCH", "/api/config", {"budgetPerRun": 0.001})
    await here.open(conversation)
    for choice, over in (("stop", "declined"), ("continue", "summed up")):
        asked = await here.do("POST", f"/api/conversations/{conversation}/compact", {"keep": ""})
        here.said.setdefault(f"POST /api/conversations/{conversation}/compact", asked)
        await here.until(asked["runId"], "waiting")
        await record_step(here, conversation, f"asked before it was {over}")
        await here.answer(conversation, {"choice": choice}, recorded=True)
        await here.until(asked["runId"])
        await record_step(here, conversation, over)


async def record_step(here: Recorder, conversation: str, step: str) -> None:
    """Record a conversation as it is after a step of a scene."""
    path = f"/api/conversations/{conversation}"
    here.said[f"GET {path} {step}"] = await here.do("GET", path)


async def config(here: Recorder) -> None:
    """Settings that are changed, taken back and refused; of an answer, only what the request changed."""
    changes: list[Json] = [{"runsAtOnce": number} for number in (0, 7, 9, None)]
    changes += [{"budgetPerRun": dollars} for dollars in (0.25, 2_000_000, None)]
    for change in changes:
        answer = await here.server.http.patch("/api/config", json=change, headers=BEARER)
        said = answer.json()
        request = f"PATCH /api/config {json.dumps(change, separators=(',', ':'))}"
        if answer.is_success:
            here.said[request] = {name: said[name] for name in change}
        else:
            here.said[request] = {"refusedWith": answer.status_code, "problem": said}


async def troubles(here: Recorder) -> None:
    """c_1: an attempt that broke off; c_2: an answer that did again and again; c_3: a model that is overloaded.

    c_4: a key that was refused; c_5: a tool that there is not; c_6: an answer that was cut, and left so; c_7: one that
    went on; c_8: an answer that cites a document which is gone.
    """
    titles = ("Cut", "Broken", "Overloaded", "Refused", "No such tool", "Left", "Gone on", "Cited")
    begun = [await here.conversation(title) for title in titles]
    first, broken, overloaded, refused, without, left, longer, cited = begun
    once: list[Json] = [{"fault": "cut", "after": 1, "times": 1}]
    await here.say(first, "Break off", [*once, "A first try. ", "The whole answer."])
    half: list[Json | str] = ["Half an answ", {"fault": "cut", "times": 9}]
    await here.say(broken, "Tell me everything", *[half] * 9)
    full: list[Json] = [{"fault": 503, "message": "overloaded", "retryAfter": 0, "times": 9}]
    await here.say(overloaded, "Are you there?", full)
    await here.say(refused, "Do you know me?", [{"fault": 401, "message": "wrong key"}])
    await here.say(without, "Call", [tool("no_such_tool")], "It is not there.")
    await here.say(left, "When does it turn?", HALF)
    await here.say(left, "Never mind", "Another matter.")
    run = await here.say(longer, "How often does it turn?", HALF)
    here.let("cut off by a limit", ["ay.", counted(90, 6)])
    await here.do("POST", f"/api/runs/{run}/resume")
    await here.until(run)
    await here.say(cited, "When did it come?", "It arrived at noon [Gone.pdf p. 1, line 1](doc:00000000#p1l1).")
    for conversation in begun:
        await here.open(conversation)


async def changes(here: Recorder) -> None:
    """c_1: files that were made: a plain one, one with hostile words, and a long one."""
    ship = here.folder / "ship"
    ship.mkdir()
    conversation = await here.conversation("The ship", workingDirectory=str(ship), mode="auto_edit")
    made = {
        "hull.py": "length = 12\n",
        "trick.html": "<img src=x onerror=alert(1)>\u202e\n",
        "long.txt": "".join(f"row {number}\n" for number in range(600)),
    }
    for name, content in made.items():
        await here.say(
            conversation, f"Make {name}", [files("create_file", filePath=str(ship / name), content=content)], "Done."
        )
    await here.open(conversation)


async def models(here: Recorder) -> None:
    """A default of which nothing is known, a model of which much is, and two at an address of one's own."""
    here.said["GET /api/state"] = without_settings(await here.do("GET", "/api/state"))


async def broken_server(here: Recorder) -> None:
    """c_1: a conversation beside an MCP server whose program there is not."""
    conversation = await here.conversation("The harbour")
    made = await here.do("POST", "/api/servers", {"name": "Wrong", "commandLine": "no-such-program-anywhere"})

    async def has_failed() -> bool:
        [server] = (await here.do("GET", "/api/servers"))["servers"]
        return bool(server["state"] == "error")

    await eventually(has_failed, "the server to fail")
    await here.open(conversation)
    await here.get("/api/servers", f"/api/servers/{made['id']}/tools")
    here.said = json.loads(json.dumps(here.said).replace(made["id"], SERVER))


async def finding(here: Recorder) -> None:
    """Servers that two registries list, searched for by words: in both, and in Smithery alone."""

    async def is_copied() -> bool:
        official = (await here.do("GET", "/api/registries"))["registries"][0]
        return official["copiedAt"] is not None

    with pytest.MonkeyPatch.context() as patch:
        async with registries(patch):
            await here.do("GET", "/api/registries/search?q=harbour&registry=official")
            await eventually(is_copied, "the official registry to be copied")
            for words in ("harbour", "jetty", "mooring", "tide"):
                text = json.dumps({"text": words}, separators=(",", ":"))
                here.said[f"POST /api/proposals {text}"] = await here.do("POST", "/api/proposals", {"text": words})
            searches = [("harbour", "all"), ("jetty", "all")]
            searches += [(words, "smithery") for words in ("jetty", "mooring", "tide")]
            await here.get(*(f"/api/registries/search?q={words}&registry={where}" for words, where in searches))
    # Each listens somewhere else each time.
    here.said = json.loads(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:9", json.dumps(here.said)))


async def usage(here: Recorder) -> None:
    """Two models that were used on days before, one of them without a price."""
    columns = "owner, day, model, requests, input, output, cache_read, cache_write, cost, cost_known_for, estimated"
    used = [(day(1), "script", 400_000, 1.5), (day(1), "free", 800_000, None), (day(20), "script", 200_000, 0.75)]
    kept = [
        ("local", on, model, 4, given, given // 20, given // 2, 0, cost or 0.0, 0 if cost is None else 4, 0)
        for on, model, given, cost in [*used, (day(60), "script", 100_000, 0.25)]
    ]
    places = ", ".join("?" * len(columns.split(",")))
    with closing(sqlite3.connect(here.folder / "home" / "pilothouse.db", timeout=20)) as database, database:
        database.executemany(f"INSERT INTO usage_days ({columns}) VALUES ({places})", kept)
    here.said["GET /api/state"] = without_settings(await here.do("GET", "/api/state"))
    await here.get("/api/usage?days=30", "/api/usage?days=7", "/api/usage?days=90")


PRICED: Json = {"script": {"name": "Script", "contextWindow": WINDOW, "prices": PRICES}}
FREE: Json = {"free": {"name": "Free one", "contextWindow": 32_000}}
CLAUDE: Json = {
    "name": "Claude",
    "provider": "anthropic-compatible",
    "model": "claude-opus-4-5",
    "supportsThinking": None,
    "supportsImages": None,
}
# Nobody answers there.
OWN: Json = {
    "provider": "openai-compatible",
    "baseUrl": "http://127.0.0.1:9/v1",
    "apiKeySource": "",
    "supportsImages": False,
}
FAST: Json = {**OWN, "name": "Fast one", "model": "text-3", "contextWindow": 128_000, "supportsThinking": False}
DEEP: Json = {**OWN, "name": "Deep thinker", "model": "tools", "contextWindow": 200_000, "supportsThinking": True}
SCENES: dict[str, tuple[Scene, Json]] = {
    "start": (start, {}),
    "calls": (calls, {}),
    "approvals": (approvals, {}),
    "answers": (answers, PRICED | FREE | {"gone": {"name": "Passing"}}),
    "budget": (budget, PRICED),
    "branches": (branches, {}),
    "broken_server": (broken_server, {}),
    "changes": (changes, {}),
    "config": (config, {}),
    "models": (models, {"claude": CLAUDE, "fast": FAST, "deep": DEEP}),
    "replay": (replay, FREE),
    "finding": (finding, {}),
    "summary_budget": (summary_budget, PRICED),
    "troubles": (troubles, {}),
    "usage": (usage, PRICED | FREE),
}
