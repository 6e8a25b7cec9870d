"""Messages of servers that were made to hold us up: whatever comes, everyone else has their turn."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.servers import ConsentGiven, ServerInput
from pilothouse.web.run import ServerOptions
from tests.support.chats import ME, Chat, open_chat
from tests.support.in_process_server import BEARER, TOKEN, Reach, serve_host
from tests.support.lag import HELD, least_hold
from tests.support.mcp_servers import scripted
from tests.support.sampling import some_of

KB = 1024
MB = 1024 * KB


def result(inner: str) -> str:
    """Return a line that answers a call with this."""
    return f'{{"jsonrpc": "2.0", "id": $ID, "result": {inner}}}'


def content(text: str) -> str:
    """Return a line that answers a call with one text."""
    return result(json.dumps({"content": [{"type": "text", "text": text}]}))


def notes(method: str, params: dict[str, Any], count: int) -> str:
    """Return as many notifications, and an answer after them."""
    note = json.dumps({"jsonrpc": "2.0", "method": method, "params": params})
    return f"{note}\n" * count + content("after them")


def nested(count: int, opening: str = "[", closing: str = "]") -> str:
    return opening * count + "1" + closing * count


# What a server answers a call with, and what the call becomes.
LINES = {
    "data of 900 levels": (result(f'{{"content": [], "structuredContent": {{"a": {nested(900)}}}}}'), "too deeply"),
    "content of 900 levels": (result(f'{{"content": [{{"type": "odd", "a": {nested(900)}}}]}}'), "too deeply"),
    "notes of 900 levels": (
        result(f'{{"content": [], "_meta": {nested(900, chr(123) + chr(34) + "a" + chr(34) + ":", "}")}}}'),
        "too deeply",
    ),
    "data of 100 levels": (result(f'{{"content": [], "structuredContent": {{"a": {nested(100)}}}}}'), "[[[["),
    "data of 100,000 levels": (result(f'{{"content": [], "structuredContent": {nested(100_000)}}}'), "not JSON"),
    "a number of a million digits": (result(f'{{"content": [], "structuredContent": {{"a": {"9" * 1_000_000}}}}}'), ""),
    "a number of 5,000 digits": (result(f'{{"content": [], "structuredContent": {{"a": {"9" * 5_000}}}}}'), ""),
    "the id of a million digits": (
        '{"jsonrpc": "2.0", "id": ' + "9" * 1_000_000 + ', "result": {}}\n' + content("x"),
        "x",
    ),
    "many empty pieces": (result('{"content": [' + "{}," * 80_000 + "{}]}"), "more pieces were left out"),
    "a million empty pieces": (result('{"content": [' + "{}," * 1_000_000 + "{}]}"), ""),
    "many empty texts": (result('{"content": [' + '"",' * 80_000 + '""]}'), "more pieces were left out"),
    "many lists as data": (result('{"structuredContent": {"a": [' + "[]," * 80_000 + "[]]}}"), ""),
    "a million lists as data": (result('{"structuredContent": {"a": [' + "[]," * 1_000_000 + "[]]}}"), ""),
    "many members": (
        result('{"content": [], "structuredContent": {' + ",".join(f'"{n}":0' for n in range(25_000)) + "}}"),
        "",
    ),
    "the same in text and data": (
        result(
            json.dumps(
                {"content": [{"type": "text", "text": "[" + "[]," * 70_000 + "[]]"}], "structuredContent": {"a": []}}
            )
        ),
        "",
    ),
    "many texts and one value": (
        result(
            json.dumps(
                {"content": [{"type": "text", "text": "[1]"}] * 1_900, "structuredContent": {"a": list(range(20_000))}}
            )
        ),
        "",
    ),
    "a batch": ("[" + '{"method":"x"},' * 15_000 + content("in a batch") + "]\n" + content("after it"), "after it"),
    "a large batch": (
        "[" + '{"method":"x"},' * 100_000 + content("in a batch") + "]\n" + content("after it"),
        "after it",
    ),
    "a batch of questions": (
        "[" + '{"method":"x","id":1},' * 10_000 + '{"method":"y"}]\n' + content("after it"),
        "after it",
    ),
    "wrappers in wrappers": (
        json.dumps({"data": json.dumps({"payload": json.dumps([1] * 50_000)})}) + "\n" + content("after it"),
        "after it",
    ),
    "an error of megabytes": (
        '{"jsonrpc": "2.0", "id": $ID, "error": {"code": 1, "message": "' + "e" * 3 * MB + '"}}',
        "eee",
    ),
    "an error of 900 levels": (
        '{"jsonrpc": "2.0", "id": $ID, "error": {"code": 1, "message": "m", "data": ' + nested(900) + "}}",
        "",
    ),
    "text of escapes": (content("\x1b[31m" * 200_000), ""),
    "a colour and much text": (content("\x1b[31m" + "red " * 5 * MB), "red"),
    "text of line ends": (content("\r\n" * 500_000), ""),
    "text of half emoji": (result('{"content": [{"type": "text", "text": "' + "\\ud83d" * 200_000 + '"}]}'), ""),
    "text of angle brackets": (content("<" * 1_000_000), ""),
    "text of quotes": (content('"' * 1_000_000), ""),
    "text of backslashes": (content("\\" * 1_000_000), ""),
    "an image": (
        result('{"content": [{"type": "image", "mimeType": "image/png", "data": "' + "A" * 8 * MB + '"}]}'),
        "",
    ),
    "an image that is none": (
        result('{"content": [{"type": "image", "mimeType": "image/png", "data": "' + "=" * 3 * MB + '"}]}'),
        "",
    ),
    "an address": (result('{"content": [{"type": "resource_link", "uri": "' + "a:" * MB + '", "name": "x"}]}'), ""),
    "a flood of progress": (notes("notifications/progress", {"progressToken": 1, "progress": 1}, 10_000), "after them"),
    "a flood of log lines": (notes("notifications/message", {"level": "info", "data": "x"}, 10_000), "after them"),
    "a log line of 900 levels": (
        '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":'
        + nested(900)
        + "}}\n"
        + content("after it"),
        "after it",
    ),
    "changes of the tools": (notes("notifications/tools/list_changed", {}, 2_000), "after them"),
    "what is no message": ("x\n" * 20_000 + content("after it"), "after it"),
    "blank lines": ("\n" * 300_000 + content("after it"), "after it"),
    "a question of 900 levels": (
        '{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"?","requestedSchema":'
        + nested(900)
        + "}}\n"
        + content("after it"),
        "after it",
    ),
}
# One for each that is to be said, and the largest.
ALWAYS_LINES = (
    "data of 900 levels",
    "data of 100,000 levels",
    "a million empty pieces",
    "many empty texts",
    "a large batch",
    "a flood of log lines",
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "lines"
    folder.mkdir()
    return folder


@asynccontextmanager
async def far(home: Path, *more: str, turns: Any = ("Done.",)) -> AsyncIterator[tuple[Chat, Reach, str]]:
    """Open a host with one server of a stranger's, and its API."""
    async with open_chat(home, turns) as chat:
        command, *args = scripted()
        view = await chat.api.servers.add(
            ME, ServerInput(name="Far", command=command, args=(*args, *more), cannot_send=True)
        )
        assert view.consent is not None
        await chat.api.servers.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
        assert (await chat.api.servers.test(ME, view.id)).ok
        async with serve_host(chat.api, ServerOptions(home=home, token=TOKEN)) as server:
            yield chat, server, view.id


@pytest.mark.slow
@pytest.mark.case("TOOL-11", "TOOL-12")
async def test_whatever_a_server_answers_a_call_by_hand_holds_nobody_up(home: Path, files: Path) -> None:
    async with far(home) as (_, server, server_id):
        wrong: dict[str, object] = {}
        for kind, (line, expected) in some_of(LINES, "lines of servers", ALWAYS_LINES, 0.2).items():
            (files / "line").write_text(line)
            body = {"serverId": server_id, "tool": "raw", "arguments": {"file": str(files / "line")}}
            answers: list[Any] = []

            async def ask() -> None:
                answers.append(await server.http.post("/api/tools/try", json=body, headers=BEARER))  # noqa: B023

            held = await least_hold(ask)
            answer = answers[-1]
            if answer.status_code != 200 or held >= HELD or expected not in answer.text:
                wrong[kind] = (round(held, 3), answer.status_code, answer.text[:100])
        assert not wrong, repr(wrong)


def tool(name: str = "t", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "Does something.", "inputSchema": {"type": "object"}, **more}


def schema(**more: Any) -> dict[str, Any]:
    return {"type": "object", **more}


def properties(count: int, inner: Any) -> dict[str, Any]:
    return {"properties": {f"p{number}": inner for number in range(count)}}


DEFINED = {"d": {"allOf": [{"title": str(number)} for number in range(4_000)]}}
# What a server lists; all of it is within what is taken.
LISTS: dict[str, list[Any]] = {
    "many tools": [tool(f"t{number}", description="x" * 3_000) for number in range(2_000)],
    "many tools of many fields": [
        tool(f"t{number}", inputSchema=schema(**properties(60, {"type": "string"}))) for number in range(1_500)
    ],
    "many tools of that name": [tool("t") for _ in range(2_000)],
    "large schemas": [
        tool(f"t{number}", inputSchema=schema(**properties(9_000, {"type": "string"}))) for number in range(14)
    ],
    "references to a large definition": [
        tool(inputSchema=schema(**{"$defs": DEFINED}, **properties(4_000, {"$ref": "#/$defs/d"})))
    ],
    "references in references": [
        tool(
            inputSchema=schema(
                **{"$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(38)} | {"d38": {}}},
                allOf=[{"$ref": "#/$defs/d0"}],
            )
        )
    ],
    "a long reference": [tool(inputSchema=schema(**properties(500, {"$ref": "#" + "/properties" * 10})))],
    "patterns": [tool(inputSchema=schema(**properties(2_000, {"type": "string", "pattern": "(a|b)*c{1,50}" * 8})))],
    "one description": [tool(description="x " * (3 * MB))],
    "a description of hidden letters": [tool(description="\u200b" * MB)],
    "a description of blanks": [tool(description=" " * (3 * MB))],
    "a schema of 900 levels": [json.loads(nested(900, '{"a":', "}").replace("1", "{}"))],
    "annotations and icons": [tool(annotations={str(n): n for n in range(100_000)}, icons=[{}] * 50_000)],
    "no tools at all": [None] * 200_000,
    "an enum": [tool(inputSchema=schema(**properties(1, {"enum": [str(n) for n in range(30_000)]})))],
    "what it promises": [tool(outputSchema=schema(**properties(9_000, {"type": "string"})))],
}


@pytest.mark.slow
@pytest.mark.case("TOOL-05")
async def test_whatever_a_server_lists_holds_nobody_up(home: Path, files: Path) -> None:
    listed = files / "tools.json"
    listed.write_text("[]")
    async with far(home, "--tools", str(listed)) as (chat, server, server_id):
        wrong: dict[str, object] = {}
        for kind, tools in some_of(LISTS, "lists of tools", ("many tools",), 0.25).items():
            listed.write_text(json.dumps(tools))
            statuses: list[int] = []

            async def look() -> None:
                for path in (f"/api/servers/{server_id}/test", "/api/servers", "/api/tools"):
                    method = "POST" if path.endswith("test") else "GET"
                    statuses.append((await server.http.request(method, path, headers=BEARER)).status_code)  # noqa: B023
                await chat.say()

            held = await least_hold(look)
            if held >= HELD or set(statuses) != {200}:
                wrong[kind] = (round(held, 3), statuses)
        assert not wrong, repr(wrong)
