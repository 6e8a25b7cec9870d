"""Pictures that a model makes are kept, told of, carried along, and shown to whoever answers next."""

from __future__ import annotations

import base64
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse import Host
from pilothouse.types import limits
from pilothouse.types.api import ConversationPatch, ModelInput
from pilothouse.types.items import Item
from pilothouse.wiring.offline import export
from tests.support.chats import ME, Chat, open_chat
from tests.support.pictures import a_png
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import Native, Say, Text, Wire

PNG = a_png(2_000)
SIGNED = {"thoughtSignature": "U0lHTkFUVVJF"}
DONE = Reply(Say((Text(["Done."]),)))


def part(data: bytes, **more: str) -> dict[str, Any]:
    return {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(data).decode()}, **more}


def drawn(*parts: Text | Native) -> Reply:
    return Reply(Say(parts))


@asynccontextmanager
async def drawing(home: Path, wire: Wire = "gemini", **fields: Any) -> AsyncIterator[tuple[Chat, Endpoint]]:
    """Open a chat with a model that makes pictures."""
    async with Endpoint() as endpoint, open_chat(home) as chat:
        about: Any = {"model": "gemini-3-pro-image", "supports_images": True, "context_window": 1_000_000, **fields}
        await chat.use(ModelInput(name="m", id="m", provider=wire, base_url=endpoint.url, **about))
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        yield chat, endpoint


async def answer_of(chat: Chat) -> Item:
    return (await chat.items("response"))[-1]


async def test_a_picture_is_kept_beside_its_answer_and_goes_back_signed_in_its_place(home: Path) -> None:
    async with drawing(home) as (chat, endpoint):
        endpoint.answer(drawn(Text(["Here: "]), Native(part(PNG, **SIGNED)), Text(["Like it?"])), DONE)
        assert (await chat.say("Draw")).status == "completed"
        answer = await answer_of(chat)
        assert answer.text == "Here: Like it?"
        (told,) = answer.raw["content"]
        assert (told["kind"], told["mediaType"], told["at"]) == ("image", "image/png", 6)
        assert (told["width"], told["height"], told["bytes"]) == (64, 48, len(PNG))
        kept = await chat.api.runs.part(ME, answer.id, 0)
        assert (kept.data, kept.media_type, kept.name) == (PNG, "image/png", "picture-1.png")
        assert await chat.items("notice") == []
        await chat.say("In red")
        contents = endpoint.requests[-1].json["contents"]
        assert contents[1] == {
            "role": "model",
            "parts": [{"text": "Here: "}, part(PNG, **SIGNED), {"text": "Like it?"}],
        }
        (check,) = (await chat.api.permissions.audit(ME, chat.id)).checks
        assert check.sound


async def test_an_answer_that_is_only_a_picture_is_not_empty(home: Path) -> None:
    async with drawing(home) as (chat, endpoint):
        endpoint.answer(drawn(Native(part(PNG))))
        assert (await chat.say("Draw")).status == "completed"
        assert (await answer_of(chat)).raw["content"][0]["name"] == "picture-1.png"
        assert await chat.items("notice") == []


async def test_what_is_no_picture_is_left_out_and_told_of(home: Path) -> None:
    async with drawing(home) as (chat, endpoint):
        svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
        endpoint.answer(drawn(Text(["Here."]), Native(part(svg))), drawn(Native(part(svg))))
        await chat.say("Draw")
        assert "content" not in (await answer_of(chat)).raw
        (notice,) = await chat.items("notice")
        assert notice.raw["code"] == "picture_left_out"
        await chat.say("Again")
        # Each answer says what is missing in it.
        assert [item.raw["code"] for item in await chat.items("notice")] == ["picture_left_out"] * 2


async def test_more_pictures_than_an_answer_may_have_are_left_out(home: Path) -> None:
    async with drawing(home) as (chat, endpoint):
        many = [Native(part(a_png(200, number=number))) for number in range(limits.ANSWER_PICTURES + 3)]
        endpoint.answer(drawn(*many))
        await chat.say("Draw")
        answer = await answer_of(chat)
        assert [told["index"] for told in answer.raw["content"]] == list(range(limits.ANSWER_PICTURES))
        last = limits.ANSWER_PICTURES - 1
        assert (await chat.api.runs.part(ME, answer.id, last)).data == a_png(200, number=last)
        assert [item.raw["code"] for item in await chat.items("notice")] == ["picture_left_out"]


async def test_a_picture_of_one_provider_is_shown_to_another_as_if_a_person_had(home: Path) -> None:
    async with drawing(home) as (chat, endpoint):
        endpoint.answer(drawn(Native(part(PNG, **SIGNED))), DONE)
        await chat.say("Draw")
        other: Any = {"model": "gpt-5", "supports_images": True, "base_url": endpoint.url}
        await chat.use(ModelInput(name="o", id="o", provider="openai-compatible", **other))
        await chat.say("What is it?")
        *_, answer, after = endpoint.requests[-1].json["messages"]
        assert answer == {"role": "assistant", "content": "[a picture]"}
        picture = next(each for each in after["content"] if each["type"] == "image_url")
        assert picture["image_url"]["url"].endswith(base64.b64encode(PNG).decode())
        assert "U0lHTkFUVVJF" not in endpoint.requests[-1].body.decode()


async def test_a_model_that_takes_no_images_is_told_what_there_was(home: Path) -> None:
    async with drawing(home, supports_images=False) as (chat, endpoint):
        endpoint.answer(drawn(Text(["Here."]), Native(part(PNG))), DONE)
        await chat.say("Draw")
        await chat.say("And?")
        parts = endpoint.requests[-1].json["contents"][1]["parts"]
        assert [list(each) for each in parts] == [["text"], ["text"]]
        assert parts[1]["text"] == "[Not shown: image/png, 2,000 bytes, picture-1.png; this model takes no images.]"


async def test_pictures_go_along_with_an_export_and_are_there_after_an_import(home: Path, tmp_path: Path) -> None:
    (tmp_path / "a picture.png").write_bytes(PNG)
    script = tmp_path / "draws.yaml"
    script.write_text("- [Here., {picture: a picture.png}]")
    async with Host(home) as host:
        chat = await host.start(model=f"scripted:{script}")
        answer = await chat.send("Draw")
        (picture,) = await answer.pictures()
        assert (picture.data, picture.media_type, picture.name) == (PNG, "image/png", "picture-1.png")
        assert await answer.text() == "Here."
    file = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PILOTHOUSE_HOME", str(home))
        export(ME, chat.id, "json", file)

    async def chunks() -> AsyncIterator[bytes]:
        yield file.getvalue()

    async with Host(tmp_path / "elsewhere") as other:
        await other.api.exchange.import_conversations(ME, chunks())
        there = await other.conversation(chat.id)
        item = next(one for one in await there.items() if one.kind == "response")
        assert await there.part(item, 0) == PNG
        (check,) = (await other.api.permissions.audit(ME, chat.id)).checks
        assert check.sound
