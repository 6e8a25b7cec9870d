"""What a person attaches reaches the model byte for byte, and nobody else before they look at it."""

from __future__ import annotations

import base64
from contextlib import aclosing
from pathlib import Path

import pytest

from pilothouse.agent.media import MediaLoader
from pilothouse.library import Host
from pilothouse.store.database import sqlite_file
from pilothouse.types.api import ImageInput, ModelInput, NewMessage
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode
from pilothouse.types.messages import ImageBlock, Message, TextBlock
from tests.support.chats import ME, Chat, open_chat
from tests.support.lag import MOST, least_turn
from tests.support.pictures import a_png
from tests.support.scripted_endpoint import Endpoint

LARGE = 4_000_000
MESSAGES, EACH = 3, 4


def attached(*pictures: bytes) -> tuple[ImageInput, ...]:
    """Return pictures as a message has them."""
    return tuple(
        ImageInput(media_type="image/png", data=base64.b64encode(data).decode(), name=f"{number}.png")
        for number, data in enumerate(pictures)
    )


async def seeing(chat: Chat, endpoint: Endpoint) -> None:
    fields = {"base_url": endpoint.url, "model": "m", "supports_images": True, "context_window": 1_000_000}
    await chat.use(ModelInput(name="m", provider="openai-compatible", **fields))  # type: ignore[arg-type]


async def read_all(chat: Chat) -> int:
    """Return how many bytes a reader of everything so far is sent."""
    last, size = (await chat.snapshot()).last_seq, 0
    async with aclosing(await chat.api.conversations.events(ME, chat.id, 0)) as feed:
        async for batch in feed:
            size += sum(len(event.json) for event in batch)
            if batch and batch[-1].seq >= last:
                return size
    raise AssertionError("the feed ended")


@pytest.mark.case("CHT-11")
async def test_twelve_large_pictures_make_opening_no_larger_and_the_model_gets_them_as_they_are(home: Path) -> None:
    pictures = [a_png(LARGE, number=number) for number in range(MESSAGES * EACH)]
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await seeing(chat, endpoint)
        for number in range(MESSAGES):
            shown = attached(*pictures[number * EACH : (number + 1) * EACH])
            assert (await chat.say(f"Look {number}", images=shown)).status == "completed"
        opened, followed = len(encode(await chat.snapshot())), await read_all(chat)
        sent = endpoint.requests[-1].body
        places = [sent.find(base64.b64encode(data)) for data in pictures]
    on_disk = sqlite_file(home).stat().st_size
    print(f"opened: {opened:,} bytes, followed: {followed:,} bytes, on disk: {on_disk:,} bytes")
    assert opened < 100_000
    assert followed < 100_000
    assert all(place > 0 for place in places)
    assert places == sorted(places)
    assert len(pictures) * LARGE < on_disk < len(pictures) * LARGE * 1.05


async def test_no_run_holds_on_to_the_bytes_that_it_sent() -> None:
    fetched: list[int] = []

    async def fetch(_item_id: str, index: int) -> bytes:
        fetched.append(index)
        return b"x" * 1_000

    showing = MediaLoader({}, fetch)
    message = Message("user", (ImageBlock(media_type="image/png", item_id="i", index=3, size=1_000),))
    first, second = await showing.messages([message]), await showing.messages([message])
    assert first == second
    assert fetched == [3, 3]
    assert not [held for held in vars(showing).values() if isinstance(held, dict | list) and held]


async def test_a_model_is_told_of_a_picture_that_is_not_there_any_more() -> None:
    async def fetch(_item_id: str, _index: int) -> None:
        return None

    message = Message("user", (ImageBlock(media_type="image/png", item_id="i", size=9, name="a.png"),))
    (told,) = await MediaLoader({}, fetch).messages([message])
    assert told.content == (TextBlock(text="[Not shown: image/png, 9 bytes, a.png; it was not kept.]"),)


async def test_a_message_with_pictures_that_is_refused_or_comes_twice_is_no_second_one(home: Path) -> None:
    pictures = attached(a_png(50_000), a_png(50_000, number=1))
    async with open_chat(home) as chat:
        first = await chat.send("Look", images=pictures, idempotency_key="k")
        assert await chat.send("Look", images=pictures, idempotency_key="k") == first
        with pytest.raises(PilothouseError) as refused:
            await chat.send("Look", images=pictures[:1], idempotency_key="k")
        assert refused.value.code == "conflict"
        with pytest.raises(PilothouseError):
            await chat.api.runs.post_message(ME, "c_nowhere", NewMessage(text="Look", images=pictures))
        await chat.settled(first.run_id)
        (item,) = await chat.items("user_message")
        part = await chat.api.runs.part(ME, item.id, 1)
        assert (part.media_type, part.name, part.data) == ("image/png", "1.png", a_png(50_000, number=1))
        with pytest.raises(PilothouseError) as unknown:
            await chat.api.runs.part(ME, item.id, 2)
        assert unknown.value.code == "not_found"


async def test_taking_a_message_with_large_pictures_holds_nobody_up(home: Path) -> None:
    body = NewMessage(text="Look", images=attached(*(a_png(LARGE, number=number) for number in range(EACH))))
    async with open_chat(home) as chat:

        async def check() -> None:
            await chat.api.runs.check_message(ME, body)

        assert await least_turn(check) < MOST


async def test_the_library_attaches_pictures_and_reads_what_they_are(home: Path) -> None:
    picture = a_png(20_000)
    async with open_chat(home) as chat:
        script = f"scripted:{chat.script}"
    async with Host(home) as host:
        talk = await host.start()
        answer = await talk.send("Look", images=attached(picture), model=script)
        assert await answer.text() == "Hello."
        message = (await talk.items())[0]
        assert [(part["name"], part["bytes"]) for part in message.raw["content"]] == [("0.png", len(picture))]
        assert await talk.part(message, 0) == picture
