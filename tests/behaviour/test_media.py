"""Pictures and sounds in results reach the models that take them, on every wire; others are told what there was."""

from __future__ import annotations

import base64
import json
import struct
import sys
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.api import ConversationPatch, ModelInput
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, Part, ToolError, ToolOutput
from pilothouse.types.servers import ConsentGiven, ServerInput
from tests.support.chats import ME, Chat, open_chat
from tests.support.mcp_servers import SCRIPTED
from tests.support.request_prefix import check_extends
from tests.support.scripted_endpoint import Endpoint, Received, Reply
from tests.support.tools import ToolOf, add_tools
from tests.support.wire_writers import WIRES, Call, Say, Text, Wire

DONE = Reply(Say((Text(["I see."]),)))
WAV = b"RIFF\x24\0\0\0WAVEfmt " + bytes(28)


def png(shade: int, padding: int = 0) -> bytes:
    """Return a real image of one pixel, made larger by a chunk that viewers skip."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"tEXt", bytes(padding)), chunk(b"IDAT", zlib.compress(bytes([0, shade]))))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IEND", b"")


ONE, TWO, THREE = png(1), png(2), png(3)


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(data: bytes, name: str = "shot.png") -> ToolOutput:
    about = f"[image: image/png, {len(data):,} bytes, {name}]"
    return ToolOutput(text=about, parts=(Part(kind="image", data=data, media_type="image/png", name=name),))


class Camera(ToolOf):
    """A tool that gives what it is told to, in turn by the number it is called with."""

    def __init__(self, *outputs: ToolOutput) -> None:
        async def given(arguments: JsonObject, _context: CallContext) -> ToolOutput:
            return outputs[arguments["n"]]

        super().__init__("look", given)


def looks(*numbers: int) -> Reply:
    """Return an answer that calls the tool so often at once."""
    calls = tuple(Call(f"call_{number}", "look", json.dumps({"n": number})) for number in numbers)
    return Reply(Say((Text(["Let me look."]), *calls), stop="tool"))


@asynccontextmanager
async def watching(home: Path, wire: Wire, *outputs: ToolOutput, **fields: Any) -> AsyncIterator[tuple[Chat, Endpoint]]:
    """Open a chat with a model behind a wire that takes images, and a tool that gives these results."""
    async with Endpoint() as endpoint, open_chat(home) as chat:
        about: Any = {"model": "m", "supports_images": True, "context_window": 1_000_000, **fields}
        await chat.use(ModelInput(name="m", id="m", provider=wire, base_url=endpoint.url, **about))
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        add_tools(chat.host, Camera(*outputs))
        yield chat, endpoint


def results(wire: Wire, request: Received) -> list[Any]:
    """Return what stands for results in a request, and whatever else the person's side says after them."""
    body = request.json
    match wire:
        case "anthropic-compatible":
            return [
                part for message in body["messages"][1:] if message["role"] == "user" for part in message["content"]
            ]
        case "openai-compatible":
            return [message for message in body["messages"][2:] if message["role"] != "assistant"]
        case "openai-responses":
            return [item for item in body["input"] if item.get("type") == "function_call_output"]
        case "ollama":
            return [message for message in body["messages"] if message["role"] == "tool"]
        case "gemini":
            return [content["parts"] for content in body["contents"][1:] if content["role"] == "user"]


def anthropic_image(data: bytes) -> Any:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": in_base64(data)}}


def url(data: bytes) -> str:
    return f"data:image/png;base64,{in_base64(data)}"


def one_result(wire: Wire, call: str, said: str, data: bytes) -> Any:
    """Return the result of one call that gave an image."""
    match wire:
        case "anthropic-compatible":
            content = [{"type": "text", "text": said}, anthropic_image(data)]
            return {"type": "tool_result", "tool_use_id": call, "content": content}
        case "openai-compatible":
            return {"role": "tool", "tool_call_id": call, "content": said}
        case "openai-responses":
            output = [
                {"type": "input_text", "text": said},
                {"type": "input_image", "image_url": url(data), "detail": "auto"},
            ]
            return {"type": "function_call_output", "call_id": call, "output": output}
        case "ollama":
            about: Any = {"role": "tool", "tool_name": "look", "tool_call_id": call, "content": said}
            return {**about, "images": [in_base64(data)]}
        case "gemini":
            inside = [{"inlineData": {"mimeType": "image/png", "data": in_base64(data)}}]
            about = {"id": call, "name": "look", "response": {"result": said}}
            return {"functionResponse": {**about, "parts": inside}}


def expected(wire: Wire) -> list[Any]:
    """Return what two calls at once that each gave an image look like."""
    shown = (("call_0", ONE), ("call_1", TWO))
    made = [one_result(wire, call, f"[image: image/png, {len(data):,} bytes, shot.png]", data) for call, data in shown]
    if wire == "openai-compatible":
        parts: list[Any] = []
        for call, data in shown:
            parts.append({"type": "text", "text": f"From the result of look (call {call}):"})
            parts.append({"type": "image_url", "image_url": {"url": url(data)}})
        return [*made, {"role": "user", "content": parts}]
    return [made] if wire == "gemini" else made


def plain(value: Any) -> Any:
    """Return a request's content without the marks of Anthropic's cache."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items() if name != "cache_control"}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("wire", WIRES)
async def test_images_of_calls_side_by_side_reach_the_model_in_order(home: Path, wire: Wire) -> None:
    async with watching(home, wire, image(ONE), image(TWO)) as (chat, endpoint):
        endpoint.answer(looks(0, 1), DONE)
        assert (await chat.say("Look.", allow=("look",))).status == "completed"
        assert plain(results(wire, endpoint.requests[-1])) == expected(wire)


@pytest.mark.parametrize("wire", WIRES)
async def test_what_was_shown_is_sent_again_byte_for_byte_after_a_restart_too(home: Path, wire: Wire) -> None:
    async with Endpoint() as endpoint:
        endpoint.answer(looks(0, 1), looks(2), DONE)
        fields: Any = {"base_url": endpoint.url, "supports_images": True, "context_window": 1_000_000, "model": "m"}
        async with open_chat(home) as chat:
            await chat.use(ModelInput(name="m", id="m", provider=wire, **fields))
            await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
            add_tools(chat.host, Camera(image(ONE), image(TWO), image(THREE)))
            assert (await chat.say("Look.", allow=("look",))).status == "completed"
        async with open_chat(home) as again:
            add_tools(again.host, Camera())
            old = Chat(again.host, chat.id, chat.script)
            endpoint.answer(DONE)
            assert (await old.say("And now?")).status == "completed"
        before, after = endpoint.requests[-2], endpoint.requests[-1]
        check_extends(endpoint.requests[-3].body, before.body)
        check_extends(before.body, after.body)
        assert all(in_base64(data).encode() in after.body for data in (ONE, TWO, THREE))


@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_that_takes_no_images_is_told_what_there_was(home: Path, wire: Wire) -> None:
    async with watching(home, wire, image(ONE), supports_images=False) as (chat, endpoint):
        endpoint.answer(looks(0), DONE)
        assert (await chat.say("Look.", allow=("look",))).status == "completed"
        body = endpoint.requests[-1].body
        assert in_base64(ONE).encode() not in body
        said = f"[Not shown: image/png, {len(ONE)} bytes, shot.png; this model takes no images.]"
        assert said.encode() in body


@pytest.mark.parametrize("wire", WIRES)
async def test_an_image_that_is_too_large_for_the_provider_is_described(home: Path, wire: Wire) -> None:
    large = png(1, 9 * 1024 * 1024)
    async with watching(home, wire, image(large)) as (chat, endpoint):
        endpoint.answer(looks(0), DONE)
        assert (await chat.say("Look.", allow=("look",))).status == "completed"
        body = endpoint.requests[-1].body
        assert len(body) < 100_000
        assert f"[Not shown: image/png, {len(large):,} bytes, shot.png; this model takes at most ".encode() in body


async def test_a_failed_call_shows_its_picture_beside_the_result_where_an_error_may_only_be_text(home: Path) -> None:
    broken = ToolOutput("No button.", ToolError("TOOL_ERROR", "No button."), {}, image(ONE).parts)
    async with watching(home, "anthropic-compatible", broken, image(TWO)) as (chat, endpoint):
        endpoint.answer(looks(0, 1), DONE)
        assert (await chat.say("Look.", allow=("look",))).status == "completed"
        failed, fine, words, picture = plain(results("anthropic-compatible", endpoint.requests[-1]))
        assert (failed["content"], failed["is_error"]) == ("No button.", True)
        assert fine["type"] == "tool_result"
        assert words == {"type": "text", "text": "From the result of look (call call_0):"}
        assert picture == anthropic_image(ONE)


async def test_an_older_gemini_gets_pictures_after_the_results_and_a_newer_one_inside(home: Path) -> None:
    async with watching(home, "gemini", image(ONE), model="gemini-2.5-flash") as (chat, endpoint):
        endpoint.answer(looks(0), DONE)
        assert (await chat.say("Look.", allow=("look",))).status == "completed"
        result, beside = results("gemini", endpoint.requests[-1])
        assert "parts" not in result[0]["functionResponse"]
        assert beside[1] == {"inlineData": {"mimeType": "image/png", "data": in_base64(ONE)}}
        assert beside[0]["text"].startswith("From the result of look (call ")


@pytest.mark.parametrize(("wire", "model"), [("openai-compatible", "gpt-audio"), ("gemini", "gemini-3-pro")])
async def test_sounds_reach_models_that_listen(home: Path, wire: Wire, model: str) -> None:
    sound = ToolOutput(text="[audio]", parts=(Part(kind="audio", data=WAV, media_type="audio/x-wav"),))
    async with watching(home, wire, sound, model=model) as (chat, endpoint):
        endpoint.answer(looks(0), DONE)
        assert (await chat.say("Listen.", allow=("look",))).status == "completed"
        given = results(wire, endpoint.requests[-1])[-1]
        if wire == "gemini":
            assert given[1] == {"inlineData": {"mimeType": "audio/wav", "data": in_base64(WAV)}}
        else:
            audio = {"data": in_base64(WAV), "format": "wav"}
            assert given["content"][1] == {"type": "input_audio", "input_audio": audio}


async def test_a_model_that_does_not_listen_is_told_of_a_sound(home: Path) -> None:
    sound = ToolOutput(text="[audio]", parts=(Part(kind="audio", data=WAV, name="beep"),))
    async with watching(home, "anthropic-compatible", sound) as (chat, endpoint):
        endpoint.answer(looks(0), DONE)
        assert (await chat.say("Listen.", allow=("look",))).status == "completed"
        body = endpoint.requests[-1].body
        assert f"[Not shown: audio/wav, {len(WAV)} bytes, beep; this model takes no sounds.]".encode() in body


@pytest.mark.parametrize("wire", WIRES)
async def test_a_picture_that_the_provider_refuses_does_not_end_the_conversation(home: Path, wire: Wire) -> None:
    refusal = Reply(status=400, body=b'{"error": {"message": "Could not process image"}}')
    async with watching(home, wire, image(ONE)) as (chat, endpoint):
        endpoint.answer(looks(0), refusal, DONE)
        assert (await chat.say("Look.", allow=("look",))).status == "completed"
        assert in_base64(ONE).encode() in endpoint.requests[-2].body
        assert in_base64(ONE).encode() not in endpoint.requests[-1].body
        assert b"the provider did not take it" in endpoint.requests[-1].body


async def test_what_comes_after_as_much_as_fits_is_described_and_nothing_before_it_changes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SHOWN_MEDIA", 2)
    monkeypatch.setattr(limits, "SHOWN_MEDIA_FULL", 2.0)
    async with watching(home, "anthropic-compatible", image(ONE), image(TWO), image(THREE)) as (chat, endpoint):
        endpoint.answer(looks(0), looks(1), looks(2), DONE)
        assert (await chat.say("Look.", allow=("look",))).status == "completed"
        for before, after in zip(endpoint.requests, endpoint.requests[1:], strict=False):
            check_extends(before.body, after.body)
        body = endpoint.requests[-1].body
        assert in_base64(TWO).encode() in body
        assert in_base64(THREE).encode() not in body
        assert b"as much as fits has been shown already" in body


async def test_older_turns_are_summarised_before_pictures_fill_a_request(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SHOWN_MEDIA", 3)
    summary = Reply(Say((Text(["They looked at two pictures."]),)))
    async with watching(home, "anthropic-compatible", image(ONE), image(TWO), image(THREE)) as (chat, endpoint):
        endpoint.answer(looks(0), looks(1), looks(2), summary, DONE)
        assert (await chat.say("Look.", allow=("look",))).status == "completed"
        [made] = await chat.items("compaction")
        assert made.text == "They looked at two pictures."
        body = endpoint.requests[-1].body
        assert in_base64(ONE).encode() not in body
        assert in_base64(THREE).encode() in body


async def test_a_picture_counts_towards_the_window(home: Path) -> None:
    """Twenty small pictures cost a model more than their few bytes."""
    summary = Reply(Say((Text(["They looked."]),)))
    window = 20 * limits.IMAGE_CHARS // limits.CHARS_PER_TOKEN
    async with watching(home, "ollama", *(image(png(n)) for n in range(20)), context_window=window) as (chat, endpoint):
        endpoint.answer(looks(*range(10)), looks(*range(10, 20)), summary, DONE)
        assert (await chat.say("Look.", allow=("look",))).status == "completed"
        assert len(await chat.items("compaction")) == 1


async def test_an_image_of_a_real_server_reaches_the_model(home: Path) -> None:
    async with watching(home, "openai-responses") as (chat, endpoint):
        added = await chat.api.servers.add(
            ME, ServerInput(name="Scripted", command=sys.executable, args=(str(SCRIPTED),))
        )
        assert added.consent is not None
        await chat.api.servers.consent(ME, added.id, ConsentGiven(fingerprint=added.consent.fingerprint))
        assert (await chat.api.servers.test(ME, added.id)).ok
        endpoint.answer(Reply(Say((Call("c1", "scripted__image", "{}"),), stop="tool")), DONE)
        assert (await chat.say("Look.", allow=("scripted.*",))).status == "completed"
        [result] = results("openai-responses", endpoint.requests[-1])
        assert result["output"][0]["text"].startswith("A pixel.\n\n[image: image/png, ")
        assert result["output"][1]["image_url"].startswith("data:image/png;base64,iVBOR")


async def test_a_model_that_calls_by_lines_of_text_sees_images_too(home: Path) -> None:
    line = 'TOOL_CALL: {"name": "look", "args": {"n": 0}}\n'
    async with watching(home, "openai-compatible", image(ONE), tool_calls="text") as (chat, endpoint):
        endpoint.answer(Reply(Say((Text([line]),))), DONE)
        assert (await chat.say("Look.", allow=("look",))).status == "completed"
        last = endpoint.requests[-1].json["messages"][-1]
        assert last["content"][0] == {"type": "image_url", "image_url": {"url": url(ONE)}}
        assert last["content"][1]["text"].startswith("TOOL_RESULT: ")
