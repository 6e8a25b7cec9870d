"""Every list of the API has a bound, and what can be longer than that is had page by page, each of it once."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.library.servers import Servers
from pilothouse.types import limits
from pilothouse.types.authority import NewGrant, Pattern
from pilothouse.types.changes import FileChange, KeptChange
from pilothouse.types.events import ItemCreated
from pilothouse.types.ids import new_id
from pilothouse.types.paging import Page, window
from pilothouse.types.servers import ConsentGiven, ServerInput
from pilothouse.web.openapi import document
from pilothouse.wiring import OpenHost
from tests.support.chats import ME
from tests.support.in_process_server import BEARER, Reach, serve_folder
from tests.support.mcp_servers import SCRIPTED
from tests.support.records import a_conversation, a_posting, an_item

# What is had page by page: the list, and how a request says where it goes on.
PAGED = {
    ("/api/runs", "runs"): "cursor",
    ("/api/conversations", "conversations"): "cursor",
    ("/api/conversations/{id}/items", "items"): "before",
    ("/api/tools", "tools"): "cursor",
    ("/api/servers/{id}/tools", "tools"): "cursor",
    ("/api/grants", "grants"): "cursor",
    ("/api/topics", "topics"): "cursor",
    ("/api/approvals", "pending"): "cursor",
    ("/api/audit", "checks"): "cursor",
    ("/api/runs/{id}/changes", "changes"): "cursor",
    ("/api/memories", "memories"): "cursor",
    ("/api/documents", "documents"): "cursor",
}
FILE = "a file that a person edits, of at most SETTINGS_FILE_BYTES"
# What cannot be longer than that: why.
BOUNDED = {
    ("/api/state", "conversations.conversations"): "LIST_PAGE; the rest is under /api/conversations",
    ("/api/state", "snapshot.items"): "SNAPSHOT_ITEMS; the rest is under /api/conversations/{id}/items",
    ("/api/state", "snapshot.runs"): "those of the items, and PAGE_ITEMS that are at work or wait",
    ("/api/state", "snapshot.todos.todos"): "TODOS",
    ("/api/state", "models.models"): FILE,
    ("/api/state", "servers.servers"): FILE,
    ("/api/state", "config.profiles"): FILE,
    ("/api/state", "providers"): "the table of providers",
    ("/api/state", "builtInTools"): "those that there are",
    ("/api/state", "config.plugins"): "packages that are installed",
    ("/api/state", "topics.topics"): "TOPICS",
    ("/api/state", "snapshot.conversation.settings.miniPrompts"): "MINI_PROMPTS_ON",
    ("/api/conversations/{id}", "conversation.settings.miniPrompts"): "MINI_PROMPTS_ON",
    ("/api/prompts/{id}", "variables"): "PROMPT_VARIABLES",
    ("/api/mini-prompts/{id}", "variables"): "PROMPT_VARIABLES",
    ("/api/prompts", "prompts"): "PROMPTS, and those that come with the program",
    ("/api/prompts", "problems"): "PROMPTS",
    ("/api/mini-prompts", "prompts"): "PROMPTS, and those that come with the program",
    ("/api/mini-prompts", "problems"): "PROMPTS",
    ("/api/config", "profiles"): FILE,
    ("/api/config", "plugins"): "packages that are installed",
    ("/api/search", "hits"): "SEARCH_HITS",
    ("/api/documents/search", "hits"): "DOCUMENT_HITS",
    ("/api/documents/{id}/text", "passages"): "DOCUMENT_PASSAGES; the rest by `first`",
    ("/api/processes", "processes"): "one for each process on the database; those that ended or died are forgotten",
    ("/api/web", "services"): "one for each of two uses",
    ("/api/usage", "days"): "USAGE_DAYS, with the models that were asked on each",
    ("/api/conversations/{id}/context", "parts"): "eight kinds, and two for each server",
    ("/api/conversations/{id}/context", "runs"): "USAGE_RUNS; the rest is in the sum",
    ("/api/conversations/{id}", "items"): "PAGE_ITEMS; the rest is under /api/conversations/{id}/items",
    ("/api/conversations/{id}", "runs"): "those of the items, and PAGE_ITEMS that are at work or wait",
    ("/api/conversations/{id}", "todos.todos"): "TODOS",
    ("/api/conversations/{id}", "branches"): "BRANCHES",
    ("/api/conversations/{id}/branches", "branches"): "BRANCHES",
    ("/api/conversations/{id}/items", "branches"): "BRANCHES; those in the place of its messages",
    ("/api/state", "snapshot.branches"): "BRANCHES",
    ("/api/runs/{id}/left-behind", "atWork"): "WAITING_HERE, and those at work",
    ("/api/runs/{id}/left-behind", "files"): "LEFT_BEHIND_SHOWN; `filesCount` says how many there are",
    ("/api/runs/{id}/left-behind", "lasting"): "LEFT_BEHIND_SHOWN; `lastingCount` says how many there are",
    ("/api/runs/{id}/difference", "steps"): "the turns of two runs, which have a limit each",
    ("/api/conversations/{id}/todos", "todos"): "TODOS",
    ("/api/calls/{id}/result", "parts"): "RESULT_PARTS",
    ("/api/memories/search", "matches"): "MEMORY_HITS",
    ("/api/memories/collections", "collections"): "MEMORY_COLLECTIONS; the rest is in the sum",
    ("/api/memories/{id}", "tags"): "MEMORY_TAGS",
    ("/api/memories/{id}", "sources"): "MEMORY_SOURCES",
    ("/api/memories/{id}", "private"): "MEMORY_SOURCES",
    ("/api/memories/{id}", "doubts"): "MEMORY_DOUBTS",
    ("/api/policy", "rules"): "RULES: one document, which is replaced as a whole",
    ("/api/policy", "uses"): "RULES: one for each",
    ("/api/audit", "entries"): "AUDIT_ENTRIES; `more` says that there are more",
    ("/api/conversations/{id}/terminal", "sessions"): "TERMINALS_RUNNING",
    ("/api/conversations/{id}/terminal", "processes"): "BACKGROUND_COMMANDS and BACKGROUND_KEPT",
    ("/api/models", "models"): FILE,
    ("/api/models/found", "found"): "programs and keys that are looked for by name",
    ("/api/models/catalogue", "entries"): "MODEL_LIST_BYTES for each provider that is configured",
    ("/api/models/catalogue", "problems"): "one for each provider that is configured",
    ("/api/servers", "servers"): FILE,
    ("/api/servers/status", "servers"): FILE,
    ("/api/servers/import/files", "files"): "a fixed list of places, each looked at by name",
    ("/api/servers/{id}/export", "notes"): "a few for each key of one server",
    ("/api/registries", "registries"): FILE,
    ("/api/registries/search", "servers"): "REGISTRY_HITS; `total` says how many there are",
    ("/api/registries/search", "notes"): "one for each registry",
    ("/api/registries/search", "keyWanted"): "one for each registry",
    ("/api/registries/{id}/proposals", "proposals"): "REGISTRY_ENTRY_BYTES: what one entry describes",
    ("/api/traffic", "messages"): "TRAFFIC_MESSAGES and TRAFFIC_TOTAL_CHARS",
    ("/api/servers/{id}/log", "lines"): "SERVER_LOG_LINES",
}
# What one conversation or run was set to use; it came in one request, of at most BODY_BYTES.
OF_ONE_REQUEST = ("options.allow", ".selection.builtIn", ".selection.pinned", ".selection.servers")


def lists(schema: dict[str, Any], schemas: dict[str, Any], at: str = "") -> Iterator[str]:
    """Return the lists of an answer, by their place; what a member of a list has is bounded by what wrote it."""
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from lists(one, schemas, at)
    if schema.get("type") == "array":
        yield at
    for name, inner in schema.get("properties", {}).items():
        yield from lists(inner, schemas, f"{at}.{name}".strip("."))


def answered() -> Iterator[tuple[str, str, set[str]]]:
    """Return every list of every answer to a GET: its route, its place, and what a request may say."""
    spec = document()
    for path, operations in spec["paths"].items():
        get = operations.get("get", {})
        said = {parameter["name"] for parameter in get.get("parameters", ())}
        json_of = get.get("responses", {}).get("200", {}).get("content", {}).get("application/json")
        for place in set(lists(json_of["schema"], spec["components"]["schemas"])) if json_of else ():
            if not place.endswith(OF_ONE_REQUEST):
                yield path, place, said


def test_every_list_of_an_answer_has_a_bound_and_what_is_longer_has_pages() -> None:
    found = {(path, place): said for path, place, said in answered()}
    unknown = set(found) - set(PAGED) - set(BOUNDED)
    assert not unknown, "lists without a bound that is known: give them pages, or say here why they need none"
    assert not (set(PAGED) | set(BOUNDED)) - set(found)
    for place, goes_on in PAGED.items():
        assert {"limit", goes_on} <= found[place], place


def test_every_bound_that_is_named_is_one_of_ours() -> None:
    words = {word.strip(";:,.") for reason in BOUNDED.values() for word in reason.split()}
    named = {word for word in words if word.isupper()}
    assert len(named) > 10
    assert not [name for name in named if not hasattr(limits, name)]


def test_a_list_that_changes_between_two_pages_gives_nothing_twice_and_leaves_nothing_out() -> None:
    keys = [f"k{number}" for number in range(10)]
    first, last, cursor = window(keys, Page(4))
    assert (keys[first:last], cursor) == (keys[:4], "4~k3")
    for now in (["new", *keys], keys[1:], [*keys, "new"], [key for key in keys if key != "k3"]):
        first, last, _ = window(now, Page(4, cursor))
        rest = now[first:last]
        assert "k4" in rest or "k5" in rest
        assert not set(rest) & {"k0", "k1", "k2", "k3", "new"}
    assert window([], Page(4, cursor)) == (0, 0, None)
    assert window(keys, Page(4, "10~k9")) == (10, 10, None)


async def pages(server: Reach, path: str, name: str, limit: int | None = None) -> list[list[Any]]:
    """Return a list as it is had page by page."""
    found: list[list[Any]] = []
    said: dict[str, Any] = {} if limit is None else {"limit": limit}
    while True:
        answer = await server.http.get(path, params=said, headers=BEARER)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        found.append(body[name])
        if body["next"] is None:
            return found
        said["cursor"] = body["next"]


async def add_server(host: OpenHost, folder: Path, name: str, count: int) -> str:
    file = folder / f"{name}.json"
    schema = {"type": "object"}
    file.write_text(json.dumps([{"name": f"{name}_{n:04}", "inputSchema": schema} for n in range(count)]))
    body = ServerInput(name=name, command=sys.executable, args=(str(SCRIPTED), "--tools", str(file)))
    view = await host.api.servers.add(ME, body)
    assert view.consent is not None
    await host.api.servers.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
    assert (await host.api.servers.test(ME, view.id)).tools == count
    return view.id


async def test_the_tools_of_all_servers_come_in_pages_each_once(home: Path, tmp_path: Path) -> None:
    async with serve_folder(home) as (host, server):
        one, two = [await add_server(host, tmp_path, name, count) for name, count in (("one", 700), ("two", 5))]
        whole = await pages(server, "/api/tools", "tools")
        assert [len(page) for page in whole] == [limits.PAGE_ITEMS, 205]
        names = [tool["qualifiedName"] for page in whole for tool in page]
        assert len(set(names)) == 705
        few = await pages(server, "/api/tools", "tools", limit=300)
        assert [len(page) for page in few] == [300, 300, 105]
        assert [tool["qualifiedName"] for page in few for tool in page] == names
        alone = await pages(server, f"/api/servers/{two}/tools", "tools", limit=2)
        assert [len(page) for page in alone] == [2, 2, 1]
        assert [len(page) for page in await pages(server, f"/api/servers/{one}/tools", "tools")] == [500, 200]


async def test_permissions_questions_changes_and_checks_come_in_pages_each_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "AUDIT_CONVERSATIONS", 2)
    async with serve_folder(home) as (host, server):
        records: Any = host.api._records
        waiting, run = [], ""
        for number in range(5):
            conversation = await records.add_conversation(a_conversation())
            pattern = Pattern(tool="file_operations.create_file")
            await host.api.permissions.give_grant(ME, NewGrant(conversation_id=conversation.id, pattern=pattern))
            posting = a_posting(conversation.id)
            await records.post_message(posting)
            claimed = await records.claim_next(conversation.id, "p")
            question = an_item(conversation.id, "question", "waiting", f"{number}?", run_id=claimed.id)
            await records.append(conversation.id, [ItemCreated(item=question)], None)
            await records.change_run(claimed.id, lambda now: msgspec.structs.replace(now, status="waiting"))
            waiting.append(question.id)
            run = claimed.id
        await records.keep_changes([change(conversation.id, run, number) for number in range(5)])
        lists = {"/api/grants": "grants", "/api/approvals": "pending", f"/api/runs/{run}/changes": "changes"}
        for path, name in lists.items():
            found = await pages(server, path, name, limit=2)
            assert [len(page) for page in found] == [2, 2, 1]
            assert [one for page in found for one in page] == (await pages(server, path, name))[0]
        pending = [one["itemId"] for page in await pages(server, "/api/approvals", "pending", 2) for one in page]
        assert pending == waiting
        checks = await pages(server, "/api/audit", "checks")
        assert [len(page) for page in checks] == [2, 2, 1]
        assert len({check["conversationId"] for page in checks for check in page}) == 5
        for path in (*lists, "/api/tools", "/api/audit", "/api/conversations"):
            for cursor in ("x", "1", "-1~x", "\u0661~x", "nan", "1e999~", "~", "x" * 2_000):
                answer = await server.http.get(path, params={"cursor": cursor}, headers=BEARER)
                assert answer.status_code in (200, 400), (path, cursor, answer.text)


def change(conversation_id: str, run_id: str, number: int) -> KeptChange:
    made = FileChange(
        id=new_id("f"),
        conversation_id=conversation_id,
        run_id=run_id,
        item_id="i_1",
        path=f"/project/{number}",
        before=None,
        after=None,
        mode=None,
        at=float(number // 2),
    )
    return KeptChange(made, b"x" * 100_000)


async def test_the_library_and_commands_have_all_of_a_list(home: Path, tmp_path: Path) -> None:
    async with serve_folder(home) as (host, _server):
        await add_server(host, tmp_path, "many", 1_100)
        assert len({tool.name for tool in await Servers(host.api).tools("many")}) == 1_100
