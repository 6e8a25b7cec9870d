"""Opens a database of an earlier release, and tells what the API and models are given of it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from pilothouse.types.api import Answer, ConversationPatch, ModelInput
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject, encode
from pilothouse.wiring import open_host
from tests.store.released.tools import give
from tests.support.chats import ME, PATIENCE, Chat
from tests.support.feed_reader import FeedReader
from tests.support.scripted_endpoint import Endpoint, Received, Reply
from tests.support.wire_writers import Say, Text, Wire

FOLDER = Path(__file__).parent
WIRES: tuple[Wire, ...] = ("openai-compatible", "anthropic-compatible", "gemini")
TALK = ("messages", "contents", "input")
ANSWERS: dict[str, JsonObject] = {
    "approval": {"choice": "allow"},
    "form": {"choice": "accept", "content": {"email": "x@y.z"}},
    "url": {"choice": "decline"},
    "collaboration": {"choice": "1", "text": "or so"},
    "limit": {"choice": "continue"},
}


async def given(home: Path, url: str | None) -> bytes:
    """Return, as JSON, each conversation's snapshot and the bytes of what models are sent when it goes on."""
    found: dict[str, Any] = {}
    async with Endpoint() as endpoint, open_host(home, url, role="server") as host:
        give(host)
        for wire in WIRES:
            about: Any = {"model": "m", "context_window": 1_000_000, "supports_images": True}
            await host.api.models.add(ME, ModelInput(name=wire, id=wire, provider=wire, base_url=endpoint.url, **about))
        listed = (await host.api.conversations.list(ME, limit=100, cursor=None)).conversations
        for each in sorted(listed, key=lambda one: one.created_at):
            chat = Chat(host, each.id, home / "none.json")
            shown = await chat.snapshot()
            snapshot = encode(shown)
            assert await _folded(chat, shown.last_seq) == list(shown.items), f"the events of “{each.title}”"
            assert (await chat.api.permissions.audit(ME, each.id)).checks[0].sound
            found[each.title] = {"snapshot": msgspec.Raw(snapshot), "sent": await _sent(chat, endpoint)}
    return msgspec.json.format(encode(found), indent=0)


async def _folded(chat: Chat, last: int) -> list[Item]:
    """Return the items that the conversation's events make, for whoever reads it from the beginning."""
    folded = FeedReader()
    async with asyncio.timeout(PATIENCE), aclosing(await chat.api.conversations.events(ME, chat.id, 0)) as feed:
        async for batch in feed:
            folded.take(batch)
            if folded.cursor >= last:
                break
    return folded.list()


async def _sent(chat: Chat, endpoint: Endpoint) -> list[tuple[str, list[msgspec.Raw]]]:
    """Answer what is open, go on with the run, then have one more message answered on each wire."""
    sent: list[tuple[str, list[msgspec.Raw]]] = []
    for wire in WIRES:
        settings = msgspec.structs.replace((await chat.snapshot()).conversation.settings, model_id=wire)
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(settings=settings))
        endpoint.answer(Reply(Say((Text(["Noted."]),))))
        before = len(endpoint.requests)
        questions = [item for item in (await chat.snapshot()).items if item.status == "waiting" and item.run_id]
        if asked := [item for item in questions if item.kind == "question"]:
            data = msgspec.json.decode(encode(asked[0]))["data"]
            await chat.api.questions.answer(ME, asked[0].id, Answer(**ANSWERS[data.get("mode") or data["kind"]]))
            run = await chat.settled(str(asked[0].run_id))
        else:
            run = await chat.say(f"And on {wire}?")
        assert run.status == "completed", (run.status, run.error)
        [asked_of_model] = endpoint.requests[before : before + 1]
        sent.append((wire, _talk(asked_of_model)))
    return sent


def _talk(received: Received) -> list[msgspec.Raw]:
    """Return the messages of a request, each as it was sent, without what the system says."""
    body = msgspec.json.decode(received.body, type=dict[str, msgspec.Raw])
    field = next(name for name in TALK if name in body)
    messages = msgspec.json.decode(body[field], type=list[msgspec.Raw])
    return [raw for raw in messages if msgspec.json.decode(raw).get("role") != "system"]
