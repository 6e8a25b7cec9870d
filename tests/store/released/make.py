"""Makes the databases beside this file: every kind of item, question and end, as the code of that day wrote them.

They were made once, by the code before items had types, and stay as they are: `python -m tests.store.released.make`
in that version wrote `timeline.db.xz`, `timeline.sql.xz` and, beside each, what the API and the models were then given
of it. Made again, they would only prove that the code of today agrees with itself. `branchless.db.xz` and
`branchless.sql.xz` are some of the same conversations as the last version before branches left them, schema 0011.
"""

from __future__ import annotations

import asyncio
import base64
import json
import lzma
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.api import Answer, ConfigPatch, ImageInput, ModelInput, NewConversation
from pilothouse.types.authority import NewGrant, Pattern
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.events import event_decoder
from pilothouse.types.ids import new_id
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.todos import Todo, TodoInput
from pilothouse.wiring import OpenHost, open_host
from tests.store.released.opening import FOLDER, given
from tests.store.released.tools import FORM, give
from tests.support.chats import ME, Chat
from tests.support.pictures import a_png
from tests.support.postgres import Postgres
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.waiting import eventually
from tests.support.wire_writers import Native, Say, Text

STATUSES = ("streaming", "waiting", "completed", "failed", "cancelled", "timed_out", "unknown")


def a_call(tool: str, **arguments: Any) -> JsonObject:
    return {"call": tool, "arguments": arguments}


def thinks(number: int = 0) -> JsonObject:
    return a_call("think", thoughts=f"Number {number}", requested_tools=[])


# --- conversations -----------------------------------------------------------------------------------


class Maker:
    """Makes conversations in one open host."""

    def __init__(self, host: OpenHost, folder: Path) -> None:
        self.host = host
        self.folder = folder
        self.made = 0

    async def begin(self, title: str, turns: Sequence[Any] = ("Hello.",), **settings: Any) -> Chat:
        self.made += 1
        script = self.folder / f"script-{self.made}.json"
        script.write_text(json.dumps({"turns": list(turns)}))
        chosen = ConversationSettings(**{"model_id": f"scripted:{script}", **settings})
        conversation = await self.host.api.conversations.create(ME, NewConversation(title=title, settings=chosen))
        return Chat(self.host, conversation.id, script)


async def answer(chat: Chat, **given: Any) -> str:
    """Answer the first open question, and wait for what follows."""
    question = next(item for item in await chat.items("question") if item.status == "waiting")
    await chat.api.questions.answer(ME, question.id, Answer(**given))
    return (await chat.settled(question.run_id or "")).status


async def talk(maker: Maker) -> None:
    cites = {"cite": "https://example.test/a", "title": "A page", "quote": "So it is."}
    usage = {"usage": {"input": 50, "output": 40, "reasoning": 3}}
    turns = [
        [{"thinking": "Let me see."}, "I look. ", a_call("shop__draw", size=1), usage],
        ["It is a picture.", cites, usage],
        [a_call("shop__break", n=1), a_call("nothing__there"), a_call("shop__book", title="Emma")],
        ["Some of it failed.", {"stop": "refusal"}],
        [thinks(1), {"call": "think", "arguments": "{not json"}],
        "Done.",
    ]
    chat = await maker.begin("Talk", turns)
    picture = ImageInput(media_type="image/png", data=_base64(a_png(300)), name="seen.png")
    await chat.say("Look at this", images=(picture,), allow=("shop.*",))
    await chat.say("Now this")
    await answer(chat, choice="allow")
    await answer(chat, choice="deny", text="Not that one")
    await chat.api.todos.put(ME, chat.id, TodoInput(todos=(Todo(1, "Paint the door"),)))
    await chat.api.permissions.give_grant(ME, NewGrant(conversation_id=chat.id, pattern=Pattern(tool="shop.book")))
    await chat.say("And then")


async def questions(maker: Maker) -> None:
    ways = ("form", "form", "url", "question", "question")
    turns = [turn for how in ways for turn in ([a_call("shop__book", title="Emma", how=how)], f"After {how}.")]
    chat = await maker.begin("Questions", turns)
    replies: list[dict[str, Any]] = [
        {"choice": "accept", "content": {"email": "a@b.c"}},
        {"choice": "decline"},
        {"choice": "accept"},
        {"choice": "2", "text": "but bright"},
        {"text": "Neither"},
    ]
    for number, reply in enumerate(replies):
        await chat.say(f"Book {number}")
        if number == 0:
            await answer(chat, choice="conversation")
        await answer(chat, **reply)


async def collaboration(maker: Maker) -> None:
    ask = {"prompt": "May I write?", "authorize_operation": "file_operations.create_file"}
    chat = await maker.begin("Leave", [[a_call("user_collaboration", **ask)], "Thank you."], working_directory="/tmp")
    await chat.say("Ask me")
    await answer(chat, choice="approve")


async def limited(maker: Maker, patch: pytest.MonkeyPatch) -> None:
    usage = {"usage": {"input": 50, "output": 50}}
    with patch.context() as patched:
        patched.setattr(limits, "MAX_ITERATIONS", 2)
        chat = await maker.begin("Limits", [[thinks(number), usage] for number in range(12)])
        await chat.say("Go")
        await answer(chat, choice="continue")
        await answer(chat, choice="stop")
        await (await maker.begin("Waits with a limit", [[thinks(number)] for number in range(9)])).say("Go")


async def ends(maker: Maker) -> None:
    chat = await maker.begin("Ends", [[a_call("shop__sleep")], "Too slow.", [a_call("shop__wait")], "Stopped."])
    await chat.say("Sleep", allow=("shop.*",))
    sent = await chat.send("Wait", allow=("shop.*",))

    [call] = await eventually(lambda: executing(chat), "the call to begin")
    await chat.api.runs.cancel_call(ME, call)
    await chat.settled(sent.run_id)
    chat = await maker.begin("Stopped", [["I wait. ", a_call("shop__wait"), a_call("shop__book")], "Never."])
    sent = await chat.send("Wait", allow=("shop.wait",))
    await eventually(lambda: executing(chat), "the call to begin")
    await chat.api.runs.cancel(ME, sent.run_id)
    await chat.settled(sent.run_id)
    chat = await maker.begin("Broken", [["Half of", {"fault": "cut"}], [{"fault": 400, "message": "No."}]])
    await chat.say("Break")
    await chat.say("Refuse")
    half = [{"text": "Half an ans"}, {"usage": {"input": 20, "output": 64}}, {"stop": "length"}]
    chat = await maker.begin("Cut", [half, "wer.", half])
    run = await chat.say("Cut")
    again = await chat.api.runs.resume(ME, run.id)
    await eventually(lambda: _ended(chat, again.id), "the run to go on")
    await chat.say("Cut again")


async def _ended(chat: Chat, run_id: str) -> bool:
    runs = await chat.api.runs.get(ME, run_id)
    return runs.status == "completed" and len(await chat.items("response")) == 2


async def interrupted(maker: Maker) -> None:
    """Leave a run to the end of its process, which is the next thing to come."""
    await maker.host.api.settings.update(ME, ConfigPatch(resume_after_restart="ask"))
    chat = await maker.begin("Interrupted", [["I begin. ", a_call("shop__wait")], "Never."])
    await chat.send("Wait", allow=("shop.*",))
    await eventually(lambda: executing(chat), "the call to begin")


async def executing(chat: Chat) -> list[str]:
    """Return the calls that execute; read off the JSON, as anyone could."""
    calls = json.loads(encode(await chat.items("tool_call")))
    return [call["id"] for call in calls if call["data"]["phase"] == "executing"]


async def summed_up(maker: Maker, patch: pytest.MonkeyPatch) -> None:
    turns = [[thinks(1)], "First.", {"match": "again", "steps": [thinks(2)]}, {"match": "again", "steps": ["Second."]}]
    chat = await maker.begin("Summed up", turns)
    await chat.api.todos.put(ME, chat.id, TodoInput(todos=(Todo(1, "Paint the door"),)))
    await chat.say("Begin")
    with patch.context() as patched:
        patched.setattr(limits, "COMPACT_ABOVE", 0.0)
        await chat.say("Go on")
    await chat.say("Once again")


async def waiting(maker: Maker) -> None:
    for title, call, allow in (
        ("Waits for leave", a_call("shop__break", n=1), ()),
        ("Waits for a form", a_call("shop__book"), ("shop.*",)),
        ("Waits for an address", a_call("shop__book", how="url"), ("shop.*",)),
        ("Waits for words", a_call("user_collaboration", prompt="Which colour?", choices=["Red", "Blue"]), ()),
    ):
        await (await maker.begin(title, [[call], "Thank you."])).say("Go", allow=allow)


async def drawn(maker: Maker) -> None:
    """Have a model of another wire answer, with blocks of its own and a picture."""
    async with Endpoint() as endpoint:
        chat = await maker.begin("Drawn")
        about: Any = {"model": "gemini-3-pro-image", "supports_images": True, "context_window": 1_000_000}
        await chat.use(ModelInput(name="Draws", id="draws", provider="gemini", base_url=endpoint.url, **about))
        signed = {"thoughtSignature": "U0lHTkFUVVJF"}
        part = {"inlineData": {"mimeType": "image/png", "data": _base64(a_png(400))}, **signed}
        code = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
        endpoint.answer(Reply(Say((Text(["Here: "]), Native(part), Native(code), Text(["Like it?"])))))
        await chat.say("Draw")


async def written(maker: Maker) -> None:
    """Write down by hand what only a fault, an older version or a newer field leaves behind."""
    chat = await maker.begin("By hand")
    rare: dict[str, JsonObject] = {
        "user_message": {"images": [{"mediaType": "image/png", "data": _base64(a_png(200))}]},
        "response": {"turn": "1.1", "model": "m", "stop": "end", "notKnownYet": [1, {"a": None}]},
        "thinking": {"turn": "1.1", "durationMs": 12, "opaque": [{"wire": "x", "sealed": "s"}]},
        "tool_call": {
            "turn": "1.1",
            "tool": "shop__book",
            "server": "Shop",
            "arguments": {"a": "ä\u2028"},
            "phase": "x",
        },
        "tool_summary": {"calls": ["i_1"], "server": None},
        "question": {"kind": "approval", "callItemId": "i_1", "choices": [{"id": "allow", "label": "Allow"}]},
        "notice": {"level": "warning", "code": "made_up", "fix": "Do nothing."},
        "compaction": {"keepFrom": 1, "seen": {"private": ["Shop"], "untrusted": [], "sent": {}}},
        "reminder": {"name": "made_up"},
    }
    for number, (kind, data) in enumerate(rare.items()):
        for status in STATUSES:
            # A summary that counts would stand for all before it.
            if (kind, status) == ("compaction", "completed"):
                continue
            ended: JsonObject = {"callId": f"call_{status}", "phase": status, "phases": {"started": 1.5, status: 2.5}}
            more = ended if kind == "tool_call" else {}
            await _keep(chat, kind, status, f"{kind} {number}", data | more)
    extra = {"kind": "elicitation", "mode": "form", "schema": FORM, "answer": {"choice": "accept", "content": {}}}
    await _keep(chat, "question", "completed", "Where to?", extra)
    await chat.say("Then")


async def _keep(chat: Chat, kind: str, status: str, text: str, data: JsonObject) -> None:
    item = {
        "id": new_id("i"),
        "conversationId": chat.id,
        "runId": None,
        "kind": kind,
        "status": "streaming" if status in ("completed", "failed") else status,
        "position": 0,
        "text": text,
        "data": data,
        "createdAt": 1.5,
        "updatedAt": 1.5,
    }
    bodies: list[JsonObject] = [{"type": "item.created", "item": item}]
    if status in ("completed", "failed"):
        update = {"type": "item.updated", "itemId": item["id"], "data": {"changed": {"status": status}}}
        end = {"type": "item.completed", "itemId": item["id"], "status": status, "data": {"cutOff": status == "failed"}}
        bodies += [update, end]
    store = chat.host.executor._parts.records
    await store.append(chat.id, [event_decoder.decode(encode(body)) for body in bodies], None)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# --- putting it together ------------------------------------------------------------------------------


async def fill(home: Path, url: str | None) -> None:
    """Make everything in one database."""
    patch = pytest.MonkeyPatch()
    async with open_host(home, url, role="server") as host:
        give(host)
        maker = Maker(host, home)
        await talk(maker)
        await questions(maker)
        await collaboration(maker)
        await limited(maker, patch)
        await ends(maker)
        await summed_up(maker, patch)
        await waiting(maker)
        await drawn(maker)
        await written(maker)
        await interrupted(maker)


@asynccontextmanager
async def postgres(folder: Path) -> AsyncIterator[tuple[Postgres, str]]:
    server = Postgres.start(folder)
    try:
        server.execute('CREATE DATABASE "released"')
        yield server, server.url("released")
    finally:
        server.stop()


async def main() -> None:
    """Make both databases, and what is given of them."""
    home = Path(tempfile.mkdtemp(prefix="released-"))
    await fill(home, None)
    (FOLDER / "timeline.db.xz").write_bytes(lzma.compress((home / "pilothouse.db").read_bytes(), preset=9))
    (FOLDER / "timeline.db.json.xz").write_bytes(lzma.compress(await given(home, None), preset=9))
    shutil.rmtree(home)
    home = Path(tempfile.mkdtemp(prefix="released-"))
    async with postgres(home) as (server, url):
        await fill(home, url)
        dump = server.folder / "dump.sql"
        server.run("pg_dump", "--inserts", "--no-owner", "--no-privileges", "-f", str(dump), url)
        # Without what only psql understands.
        lines = [line for line in dump.read_bytes().splitlines(keepends=True) if not line.startswith(b"\\")]
        (FOLDER / "timeline.sql.xz").write_bytes(lzma.compress(b"".join(lines), preset=9))
        (FOLDER / "timeline.sql.json.xz").write_bytes(lzma.compress(await given(home, url), preset=9))
    shutil.rmtree(home)


if __name__ == "__main__":
    if sys.argv[1:] != ["--again"]:
        sys.exit("These were made once and stay as they are; --again makes them with the code of today.")
    asyncio.run(main())
