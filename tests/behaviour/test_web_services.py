"""Searching the web and making pictures: there where a person has set a service up, and nowhere else."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse import Host
from pilothouse.types.api import Answer as Reply
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ports import Tool, ToolRequest
from pilothouse.types.web import WebKey
from tests.support.chats import ME, Chat, open_chat
from tests.support.pictures import a_png
from tests.support.tiny_http import Answer, Request, TinyHttp
from tests.support.web_sites import set_web, web_call

KEY = "very-secret-key"
PNG = a_png(600, width=640, height=480)
FOUND = {"results": [{"title": "Boats", "url": "https://boats.example/", "content": "About boats."}]}
MADE = {"data": [{"b64_json": base64.b64encode(PNG).decode()}]}


@asynccontextmanager
async def a_service(status: int = 200) -> AsyncIterator[TinyHttp]:
    """Open a server that searches as SearXNG does and makes pictures as OpenAI does, for whoever has the key."""

    def answer(request: Request) -> Answer:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return Answer(401, b"{}")
        found = FOUND if request.target.startswith("/search") else MADE
        return Answer(status, json.dumps(found).encode(), {"content-type": "application/json"})

    async with TinyHttp(answer) as server:
        yield server


async def offered(chat: Chat) -> dict[str, Tool]:
    found = await chat.host.executor._parts.toolbox.tools(ToolRequest(chat.id, context_window=100_000))
    return {tool.spec.name: tool for tool in found.tools}


def operations(tools: dict[str, Tool]) -> list[str]:
    schema: Any = tools["web_operations"].spec.input_schema
    return list(schema["properties"]["operation"]["enum"])


@pytest.mark.case("UTL-15")
async def test_searching_is_offered_once_a_service_is_set_up_and_works(home: Path) -> None:
    async with a_service() as server, open_chat(home, [[web_call("search", query="boats")], "Done."]) as chat:
        tools = await offered(chat)
        schema: Any = tools["web_operations"].spec.input_schema
        assert operations(tools) == ["fetch"]
        assert "query" not in schema["properties"]
        assert "search" not in tools["web_operations"].spec.description
        assert (await chat.api.web.list(ME)).services[0].name == ""
        await set_web(chat, search="searxng", searchAddress=server.url)
        tools = await offered(chat)
        assert operations(tools) == ["fetch", "search"]
        assert "- search:" in tools["web_operations"].spec.description
        # Without the key it does not work, and is taken away again.
        tried = await chat.api.web.test(ME, "search")
        assert (tried.ok, "wants a key" in tried.message) == (False, True)
        assert operations(await offered(chat)) == ["fetch"]
        kept = (await chat.api.web.set_key(ME, "search", WebKey(value=KEY))).services[0]
        assert (kept.has_key, kept.offered, kept.problem) == (True, True, "")
        assert (await chat.api.web.test(ME, "search")).ok
        assert operations(await offered(chat)) == ["fetch", "search"]
        run = await chat.say(allow=("web_operations.search",))
        [call] = await chat.items("tool_call")
        assert (run.status, call.text) == ("completed", "1. Boats\nhttps://boats.example/\nAbout boats.")
        assert call.raw["brings"]["untrusted"] is True
        assert KEY not in (home / "config.json").read_text()


@pytest.mark.case("UTL-15")
async def test_a_search_that_fails_says_why_and_a_search_without_a_service_is_refused(home: Path) -> None:
    turns = [[web_call("search", query="boats")], "Done.", [web_call("search", query="boats")], "Done."]
    async with a_service(429) as server, open_chat(home, turns) as chat:
        await chat.say()
        [call] = await chat.items("tool_call")
        assert call.status == "failed"
        assert "there is no operation search; there are fetch" in call.text
        await set_web(chat, search="searxng", searchAddress=server.url)
        await chat.api.web.set_key(ME, "search", WebKey(value=KEY))
        await chat.say(allow=("web_operations.search",))
        call = (await chat.items("tool_call"))[-1]
        assert call.text == (
            f"SearXNG at 127.0.0.1:{server.port} asks for a pause: "
            "too many requests, or the plan is used up (status 429)."
        )


@pytest.mark.case("UTL-17")
async def test_a_picture_is_made_where_a_service_is_set_up_and_kept_as_the_result(home: Path) -> None:
    wanted = {"call": "image_generation", "arguments": {"prompt": "A boat", "size": "640x480"}}
    async with a_service() as server, open_chat(home, [[wanted], "Done."]) as chat:
        assert "image_generation" not in await offered(chat)
        await set_web(chat, pictures="openai", picturesAddress=server.url, picturesModel="painter")
        await chat.api.web.set_key(ME, "pictures", WebKey(value=KEY))
        assert "image_generation" in await offered(chat)
        run = await chat.say()
        assert (run.status, server.requests) == ("waiting", [])
        [question] = await chat.items("question")
        assert question.text.startswith("Allow Making a picture: A boat?")
        await chat.api.questions.answer(ME, question.id, Reply(choice="conversation"))
        assert (await chat.settled(run.id)).status == "completed"
        [call] = await chat.items("tool_call")
        assert call.text == "The picture is shown to the person: 640 × 480 pixels."
        [part] = call.raw["content"]
        assert (part["kind"], part["mediaType"]) == ("image", "image/png")
        [request] = server.requests
        assert json.loads(request.body) == {"prompt": "A boat", "n": 1, "model": "painter", "size": "640x480"}


@pytest.mark.case("UTL-17")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"prompt": ""}, "`prompt` is missing"),
        ({"prompt": "x" * 5_000}, "at most 4,000 characters"),
        ({"prompt": "A boat", "count": 9}, "`count` is a number from 1 to 4."),
        ({"prompt": "A boat", "size": "9000x9000"}, "`size` is width and height from 64 to 4096 pixels"),
        ({"prompt": "A boat", "size": "large"}, "`size` is width and height"),
    ],
)
async def test_what_cannot_be_a_picture_is_said_before_anyone_is_asked(
    home: Path, given: dict[str, Any], said: str
) -> None:
    wanted = {"call": "image_generation", "arguments": given}
    async with open_chat(home, [[wanted], "Done."]) as chat:
        await set_web(chat, pictures="automatic1111")
        assert (await chat.say()).status == "completed"
        [call] = await chat.items("tool_call")
        assert call.status == "failed"
        assert said in call.text


@pytest.mark.case("UTL-17")
async def test_a_picture_that_may_cost_money_is_asked_about_where_commands_are_held(home: Path, tmp_path: Path) -> None:
    wanted = {"call": "image_generation", "arguments": {"prompt": "A boat"}}
    settings = {"working_directory": str(tmp_path), "mode": "sandboxed"}
    async with a_service() as server, open_chat(home, [[wanted], "Done."], settings=settings) as chat:
        await set_web(chat, pictures="openai", picturesAddress="https://pictures.example/v1")
        await chat.api.web.set_key(ME, "pictures", WebKey(value=KEY))
        run = await chat.say()
        [question] = await chat.items("question")
        assert question.raw["why"] == "It sends data to pictures.example, and may cost money."
        assert question.raw["access"]["costs"] is True
        await chat.api.questions.answer(ME, question.id, Reply(choice="deny"))
        await chat.settled(run.id)
        # On this machine it costs nothing.
        chat.write([[wanted], "Done.", [wanted], "Done."])
        await set_web(chat, picturesAddress=server.url)
        await chat.api.web.set_key(ME, "pictures", WebKey(value=KEY))
        assert ((await chat.say()).status, len(server.requests)) == ("completed", 1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"search": "altavista"}, "altavista"),
        ({"searchAddress": "ftp://x"}, "“ftp://x” is no web address"),
        ({"searchAddress": "https://me:pw@x.example"}, "a name or a password in it"),
        ({"searchAddress": "https://x.example/?q=1"}, "ends before the first"),
        ({"ownAddresses": "http://x/"}, "“http://x/” is no host"),
        ({"picturesModel": " x"}, "A model's name has at most"),
    ],
)
async def test_what_cannot_be_set_is_refused_in_one_sentence(home: Path, settings: dict[str, str], said: str) -> None:
    async with open_chat(home) as chat:
        with pytest.raises((PilothouseError, Exception)) as caught:
            await set_web(chat, **settings)
        assert said in str(caught.value)


async def test_there_are_services_for_two_things_only(home: Path) -> None:
    async with open_chat(home) as chat:
        with pytest.raises(PilothouseError, match="There is no service for “mail”"):
            await chat.api.web.test(ME, "mail")
        assert (await chat.api.web.test(ME, "search")).message == "No service is chosen."


async def test_a_program_sets_a_service_up(home: Path) -> None:
    async with a_service() as server:
        async with open_chat(home) as chat:
            await set_web(chat, search="searxng", searchAddress=server.url)
        async with Host(home) as host:
            await host.web.set_key("search", KEY)
            search, pictures = await host.web.services()
            assert (search.name, search.has_key, search.offered) == ("SearXNG", True, True)
            assert (pictures.use, pictures.offered) == ("pictures", False)
            assert (await host.web.test("search")).ok
            await host.web.set_key("search", None)
            assert not (await host.web.test("search")).ok
