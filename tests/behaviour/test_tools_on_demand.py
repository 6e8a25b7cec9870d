"""Tools on demand: with many tools a model gets names, looks for what it needs, and calls it by name.

Whoever decides about such a call, carries it out or shows it has the tool itself before them, as if the model had been
sent it. And what a model was sent stays as it was, byte for byte.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.types import limits
from pilothouse.types.api import Answer, ConfigPatch, ConversationPatch, ModelInput, NewConversation
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.items import Item
from pilothouse.types.selection import OnDemand, Selection
from pilothouse.types.servers import ConsentGiven, ServerInput
from tests.support.chats import ME, Chat, open_chat
from tests.support.mcp_servers import SCRIPTED
from tests.support.request_prefix import check_extends
from tests.support.sampling import first_and_some
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import WIRES, Call, Say, Text, Wire

SECRET_WORDS = "Gives back exactly the words that it was told"
ECHO: dict[str, Any] = {
    "name": "echo",
    "description": SECRET_WORDS,
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def a_tool(name: str, description: str = "", **properties: Any) -> dict[str, Any]:
    """Return a tool that is about as long as those of real servers."""
    said = description or f"Does the work of {name}. " + "It takes care of all that belongs to it. " * 20
    return {"name": name, "description": said, "inputSchema": {"type": "object", "properties": properties}}


def fillers(count: int) -> list[dict[str, Any]]:
    return [a_tool(f"filler{number:03}") for number in range(count)]


async def add_server(chat: Chat, folder: Path, name: str, tools: list[dict[str, Any]]) -> str:
    """Add a server with these tools, and let them be learned; return its id."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps(tools))
    body = ServerInput(name=name, command=sys.executable, args=(str(SCRIPTED), "--tools", str(file)))
    view = await chat.api.servers.add(ME, body)
    assert view.consent is not None
    await chat.api.servers.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
    assert (await chat.api.servers.test(ME, view.id)).ok
    return view.id


async def use(chat: Chat, endpoint: Endpoint, wire: Wire = "openai-compatible", **more: Any) -> None:
    given: dict[str, Any] = {"context_window": 100_000, "api_key": "sk-test", "model": "m", **more}
    await chat.use(ModelInput(name="m", id=f"m-{wire}", provider=wire, base_url=endpoint.url, **given))
    # Named, so that nobody asks the model for a title.
    await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))


async def set_to(chat: Chat, on_demand: OnDemand) -> None:
    await chat.api.settings.update(ME, ConfigPatch(tools_on_demand=on_demand))


def search(query: str, id: str = "call_s", **more: Any) -> Call:
    return Call(id, "search_tools", json.dumps({"query": query, **more}))


def by_name(name: str, arguments: Any, id: str = "call_n") -> Call:
    return Call(id, "call_tool", json.dumps({"name": name, "arguments": arguments}))


def calling(*calls: Call) -> Reply:
    return Reply(Say(calls, stop="tool"))


DONE = Reply(Say((Text(["Done."]),)))


def sent_names(body: Any) -> list[str]:
    """Return the names of the tools in a request."""
    tools = body.get("tools", [])
    if tools and "functionDeclarations" in tools[0]:
        return [tool["name"] for tool in tools[0]["functionDeclarations"]]
    return [(tool.get("function") or tool)["name"] for tool in tools]


async def calls(chat: Chat) -> list[Item]:
    return await chat.items("tool_call")


@asynccontextmanager
async def office(home: Path, folder: Path, *more: dict[str, Any]) -> AsyncIterator[tuple[Chat, Endpoint]]:
    """A chat that always looks for its tools, with a server of one that echoes and these."""
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await add_server(chat, folder, "Office", [ECHO, *more])
        await set_to(chat, "always")
        await use(chat, endpoint)
        yield chat, endpoint


@pytest.mark.case("NAM-03", "NAM-04", "NAM-14")
@pytest.mark.parametrize("wire", first_and_some(WIRES))
async def test_a_tool_is_found_and_called_by_name_and_each_request_extends_the_one_before(
    home: Path, tmp_path: Path, wire: Wire
) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await add_server(chat, tmp_path, "Office", [ECHO, *fillers(60)])
        await use(chat, endpoint, wire)
        endpoint.answer(
            calling(search("give back my words")),
            calling(by_name("office__echo", {"text": "one"})),
            DONE,
            calling(by_name("office.echo", {"text": "two"}, "call_m")),
            DONE,
        )
        assert (await chat.say("One", allow=("office.*",))).status == "completed"
        assert (await chat.say("Two", allow=("office.*",))).status == "completed"
        for before, after in itertools.pairwise(endpoint.requests):
            check_extends(before.body, after.body)
        first = endpoint.requests[0]
        assert {"search_tools", "call_tool"} <= set(sent_names(first.json))
        assert not [name for name in sent_names(first.json) if "__" in name]
        # All names are there, what they do is not.
        assert b"after office__: echo, filler000, filler001," in first.body
        assert SECRET_WORDS.encode() not in first.body
        assert SECRET_WORDS.encode() in endpoint.requests[1].body
        looked, *named = await calls(chat)
        assert (looked.raw["tool"], looked.status) == ("search_tools", "completed")
        assert looked.raw["found"][0] == {"name": "office.echo", "server": "Office", "about": SECRET_WORDS}
        for item, words in zip(named, ("one", "two"), strict=True):
            assert (item.raw["tool"], item.raw["server"], item.raw["serverTool"]) == (
                "office__echo",
                "Office",
                "office.echo",
            )
            assert (item.raw["arguments"], item.text, item.status) == ({"text": words}, words, "completed")


VOLATILE = frozenset({"callId", "turn", "phases", "argumentBytes", "elapsedMs", "deadlineAt", "byName", "onDemand"})
OF_QUESTIONS = frozenset({"callItemId", "toolCallId", "callHash", "group"})


def lasting(item: Item, *more: str) -> dict[str, Any]:
    """Return what an item says, but for ids and times."""
    said = {name: value for name, value in item.raw.items() if name not in VOLATILE | OF_QUESTIONS | set(more)}
    if "decision" in said:
        said["decision"] = {key: value for key, value in said["decision"].items() if key not in ("at", "callHash")}
    return said


async def asked_and_allowed(chat: Chat, endpoint: Endpoint, call: Call) -> tuple[Any, ...]:
    """Have a call asked about and allowed in a new conversation; return what the question and the call say."""
    model = (await chat.snapshot()).conversation.settings.model_id
    settings = ConversationSettings(model_id=model, mode="ask")
    created = await chat.api.conversations.create(ME, NewConversation(title="Named", settings=settings))
    chat = Chat(chat.host, created.id, chat.script)
    endpoint.answer(calling(call), DONE)
    assert (await chat.say()).status == "waiting"
    [question] = await chat.items("question")
    await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
    assert (await chat.settled(question.run_id or "")).status == "completed"
    [item] = await calls(chat)
    return question.text, lasting(question), lasting(item), item.text


@pytest.mark.case("NAM-04")
async def test_whoever_is_asked_sees_the_tool_itself_as_with_a_call_of_it(home: Path, tmp_path: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await add_server(chat, tmp_path, "Office", [ECHO, *fillers(3)])
        await use(chat, endpoint)
        await set_to(chat, "never")
        direct = await asked_and_allowed(chat, endpoint, Call("call_n", "office__echo", '{"text": "hi"}'))
        await set_to(chat, "always")
        named = await asked_and_allowed(chat, endpoint, by_name("office__echo", {"text": "hi"}))
        assert direct == named
        question, asked, call, text = named
        assert question == "Allow office.echo? It is a tool of the server Office."
        assert (text, call["arguments"], call["access"]["destination"]) == ("hi", {"text": "hi"}, "Office")
        assert asked["serverTool"] == "office.echo"
        assert call["brings"]["private"]


@pytest.mark.case("NAM-04")
async def test_a_permission_for_the_tool_holds_however_it_is_called(home: Path, tmp_path: Path) -> None:
    async with office(home, tmp_path, a_tool("other")) as (chat, endpoint):
        endpoint.answer(calling(by_name("office.echo", {"text": "a"})), DONE)
        assert (await chat.say()).status == "waiting"
        [question] = await chat.items("question")
        await chat.api.questions.answer(ME, question.id, Answer(choice="conversation"))
        assert (await chat.settled(question.run_id or "")).status == "completed"
        # By name, and as if it had been sent: nobody is asked again. Another tool is asked about.
        endpoint.answer(
            calling(by_name("office__echo", {"text": "b"}, "n2"), Call("n3", "office__echo", '{"text": "c"}')),
            calling(by_name("office__other", {}, "n4")),
            DONE,
        )
        assert (await chat.say()).status == "waiting"
        assert [item.text for item in await calls(chat)][:3] == ["a", "b", "c"]
        assert (await chat.items("question"))[-1].raw["serverTool"] == "office.other"


@pytest.mark.case("NAM-04")
async def test_wrong_arguments_are_told_in_the_usual_words_and_can_be_corrected(home: Path, tmp_path: Path) -> None:
    async with office(home, tmp_path) as (chat, endpoint):
        endpoint.answer(
            calling(Call("n1", "office__echo", '{"words": 1}')),
            calling(by_name("office__echo", {"words": 1}, "n2")),
            calling(Call("n3", "call_tool", '{"name": "office__echo", "text": "flat"}')),
            calling(Call("n4", "call_tool", '{"name": "office__eco", "arguments": {}}')),
            calling(Call("n5", "call_tool", '{"name": "nowhere.echo"}')),
            calling(Call("n6", "call_tool", '{"name": "office__echo", "arguments": "{\\"text\\": \\"right\\"}"}')),
            DONE,
        )
        assert (await chat.say(allow=("office.*",))).status == "completed"
        direct, named, flat, misspelt, elsewhere, right = await calls(chat)
        assert direct.raw["error"]["code"] == "INVALID_ARGUMENTS"
        assert named.text == direct.text
        assert named.raw["error"] == direct.raw["error"]
        assert (named.raw["tool"], flat.raw["tool"]) == ("office__echo", "call_tool")
        assert flat.raw["error"]["code"] == "INVALID_ARGUMENTS"
        assert misspelt.text == "There is no tool named office__eco. Look for one with search_tools."
        assert elsewhere.text == "There is no tool named nowhere.echo. Perhaps you mean office__echo."
        assert (right.text, right.raw["arguments"]) == ("right", {"text": "right"})


@pytest.mark.case("NAM-03")
@pytest.mark.parametrize("count", [3, 60])
async def test_by_itself_only_many_tools_are_looked_for(home: Path, tmp_path: Path, count: int) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await add_server(chat, tmp_path, "Office", fillers(count))
        await use(chat, endpoint)
        endpoint.answer(DONE)
        modes: dict[OnDemand, list[str]] = {}
        for mode in ("auto", "always", "never"):
            await set_to(chat, mode)
            await chat.say()
            modes[mode] = sent_names(endpoint.requests[-1].json)
        theirs = {mode: len([name for name in names if "__" in name]) for mode, names in modes.items()}
        assert theirs == {"auto": count if count == 3 else 0, "always": 0, "never": count}
        assert ["search_tools" in names for names in modes.values()] == [count > 3, True, False]
        # The host's own stay whole, and so does their order.
        own = [name for name in modes["never"] if "__" not in name]
        assert modes["always"] == [*own, "search_tools", "call_tool"]


@pytest.mark.case("NAM-03")
async def test_what_is_pinned_stays_in_and_more_than_the_provider_takes_is_not_left_out(
    home: Path, tmp_path: Path
) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        short = [a_tool(name, "Does it.") for name in ("pid", "count", *(f"t{number:03}" for number in range(200)))]
        await add_server(chat, tmp_path, "Office", short)
        await use(chat, endpoint, context_window=1_000_000)
        settings = (await chat.snapshot()).conversation.settings
        pinned = ConversationSettings(model_id=settings.model_id, selection=Selection(pinned=("office.pid",)))
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(settings=pinned))
        endpoint.answer(calling(Call("n1", "office__pid", "{}"), by_name("office__count", {}, "n2")), DONE)
        assert (await chat.say(allow=("office.*",))).status == "completed"
        assert [name for name in sent_names(endpoint.requests[0].json) if "__" in name] == ["office__pid"]
        assert [item.status for item in await calls(chat)] == ["completed", "completed"]
        assert [item.raw.get("onDemand", False) for item in await calls(chat)] == [False, True]
        assert await chat.items("notice") == []


@pytest.mark.case("NAM-03")
async def test_a_restart_in_the_middle_of_a_call_by_name_goes_on_with_it(home: Path, tmp_path: Path) -> None:
    async with Endpoint() as endpoint:
        async with open_chat(home, at_rest=False) as chat:
            await add_server(chat, tmp_path, "Office", [ECHO, *fillers(60)])
            await use(chat, endpoint)
            endpoint.answer(calling(search("give back words")), calling(by_name("office__echo", {"text": "hi"})), DONE)
            assert (await chat.say()).status == "waiting"
            [question] = await chat.items("question")
            conversation = chat.id
        async with open_chat(home) as other:
            chat = Chat(other.host, conversation, other.script)
            await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
            assert (await chat.settled(question.run_id or "")).status == "completed"
            assert (await calls(chat))[-1].text == "hi"
        for before, after in itertools.pairwise(endpoint.requests):
            check_extends(before.body, after.body)


@pytest.mark.case("NAM-03")
async def test_what_was_used_is_sent_whole_once_a_summary_took_the_place_of_the_search(
    home: Path, tmp_path: Path
) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await add_server(chat, tmp_path, "Office", [ECHO, *fillers(60)])
        await use(chat, endpoint, context_window=20_000)
        endpoint.answer(
            calling(search("give back words")),
            calling(by_name("office__echo", {"text": "hi"})),
            Reply(Say((Text(["Long. " * 12_500]),))),
            # The summary.
            Reply(Say((Text(["They talked."]),))),
            calling(search("give back words", "call_t")),
            calling(by_name("office__echo", {"text": "again"}, "call_o")),
            DONE,
            calling(Call("call_p", "office__echo", '{"text": "directly"}')),
            DONE,
        )
        assert (await chat.say("One", allow=("office.*",))).status == "completed"
        assert (await chat.say("Two", allow=("office.*",))).status == "completed"
        [summary] = await chat.items("compaction")
        assert summary.raw["tools"] == ["office__echo"]
        assert (await chat.say("Three", allow=("office.*",))).status == "completed"
        sent = [[name for name in sent_names(request.json) if "__" in name] for request in endpoint.requests]
        # The run in which it was summed up keeps its tools, and finds again what it needs.
        assert sent[:3] == [[]] * 3
        assert sent[-2:] == [["office__echo"]] * 2
        assert [item.text for item in await calls(chat) if item.raw["tool"] == "office__echo"][-2:] == [
            "again",
            "directly",
        ]


@pytest.mark.case("NAM-03")
async def test_changing_models_in_between_loses_nothing(home: Path, tmp_path: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await add_server(chat, tmp_path, "Office", [ECHO, *fillers(60)])
        said = []
        for number, wire in enumerate(WIRES):
            await use(chat, endpoint, wire)
            endpoint.answer(
                calling(search("give back words", f"s{number}")),
                calling(by_name("office__echo", {"text": wire}, f"n{number}")),
                calling(Call(f"d{number}", "office__echo", json.dumps({"text": f"{wire} too"}))),
                DONE,
            )
            assert (await chat.say(wire, allow=("office.*",))).status == "completed"
            said += [wire, f"{wire} too"]
            assert SECRET_WORDS.encode() in endpoint.requests[-1].body
        assert [item.text for item in await calls(chat) if item.raw["tool"] == "office__echo"] == said


@pytest.mark.case("NAM-03")
async def test_a_model_that_writes_its_calls_as_text_finds_tools_too(home: Path, tmp_path: Path) -> None:
    def line(**call: Any) -> list[Any]:
        return [{"text": f"TOOL_CALL: {json.dumps(call)}"}]

    turns = [
        line(name="search_tools", args={"query": "give back words"}),
        line(name="call_tool", args={"name": "office__echo", "arguments": {"text": "by name"}}),
        line(server="office", name="echo", args={"text": "as it was taught"}),
        "Done.",
    ]
    async with open_chat(home, turns) as chat:
        await add_server(chat, tmp_path, "Office", [ECHO, *fillers(60)])
        await chat.use(ModelInput(name="m", id="m", provider="scripted", model=str(chat.script), tool_calls="text"))
        assert (await chat.say(allow=("office.*",))).status == "completed"
        looked, named, taught = await calls(chat)
        assert SECRET_WORDS in looked.text
        assert [(item.raw["tool"], item.text) for item in (named, taught)] == [
            ("office__echo", "by name"),
            ("office__echo", "as it was taught"),
        ]


@pytest.mark.case("NAM-04")
async def test_a_person_may_change_what_a_tool_is_given_and_the_models_words_stay(home: Path, tmp_path: Path) -> None:
    async with office(home, tmp_path) as (chat, endpoint):
        endpoint.answer(calling(by_name("office__echo", {"text": "mine"})), DONE)
        assert (await chat.say()).status == "waiting"
        [question] = await chat.items("question")
        await chat.api.questions.answer(ME, question.id, Answer(choice="allow", arguments={"text": "yours"}))
        assert (await chat.settled(question.run_id or "")).status == "completed"
        assert (await calls(chat))[0].text == "yours"
        [asked] = [message for message in endpoint.requests[-1].json["messages"] if message.get("tool_calls")]
        assert json.loads(asked["tool_calls"][0]["function"]["arguments"]) == {
            "name": "office__echo",
            "arguments": {"text": "mine"},
        }


@pytest.mark.case("NAM-03")
async def test_a_search_comes_in_pages_with_whole_schemas_of_the_best(home: Path, tmp_path: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        many = [a_tool(f"send_letter_{number:02}", "Sends a letter.", to={"type": "string"}) for number in range(12)]
        await add_server(chat, tmp_path, "Post", [*many, *fillers(60)])
        await use(chat, endpoint)
        endpoint.answer(
            calling(search("send a letter", "a")),
            calling(search("send a letter", "b", page=3)),
            calling(search("send a letter", "c", page=4)),
            calling(search("post__send_letter_11", "d")),
            calling(search("quetzalcoatl", "e")),
            calling(search("x" * (limits.FINDING_CHARS + 1), "f")),
            DONE,
        )
        assert (await chat.say()).status == "completed"
        first, third, fourth, exact, nothing, too_long = await calls(chat)
        assert "Found 12 tools; these are 1 to 5." in first.text
        lines = [msgspec.json.decode(line) for line in first.text.splitlines() if line.startswith("{")]
        assert [line["name"] for line in lines] == [f"post__send_letter_{number:02}" for number in range(5)]
        assert lines[0]["input_schema"] == many[0]["inputSchema"]
        assert "On page 2: post__send_letter_05, " in first.text
        assert [found["name"] for found in third.raw["found"]] == ["post.send_letter_10", "post.send_letter_11"]
        assert (fourth.status, fourth.text) == ("failed", "There is no page 4 of what was found.")
        assert exact.raw["found"][0]["name"] == "post.send_letter_11"
        assert nothing.text.startswith("No tool has any of these words.")
        assert too_long.raw["error"]["code"] == "INVALID_ARGUMENTS"
