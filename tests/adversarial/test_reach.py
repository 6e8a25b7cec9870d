"""Modes and permissions that reach exactly as far as they say, and no further."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.permissions.matching import Subject, covers_all
from pilothouse.types.api import Answer
from pilothouse.types.authority import NewGrant, Pattern, PolicyInput, Rule, Seen
from pilothouse.types.items import Item
from pilothouse.types.servers import ServerInput
from tests.adversarial.test_exfil import READ, SEND, ServerTool, a_call
from tests.support.authorizers import (
    ROOT,
    SERVER,
    TERMINAL,
    a_grant,
    an_authorizer,
    command_access,
    decide,
    file_access,
    server_access,
    verdict,
)
from tests.support.chats import ME, Chat, open_chat
from tests.support.repositories import make_repository
from tests.support.tools import ToolOf, add_tools


@pytest.fixture
def project(work: Path) -> Path:
    (work / "secret.txt").write_text("the launch code is 0000")
    return work


async def open_questions(chat: Chat) -> list[Item]:
    return [item for item in await chat.items("question") if item.status == "waiting"]


# --- auto-approve and private data ---------------------------------------------------------------


@pytest.mark.case("AUTHZ-14", "EXFIL-01")
async def test_auto_approve_does_not_let_private_data_out(home: Path, project: Path) -> None:
    mail = ServerTool("mail__send")
    settings = {"working_directory": str(project), "mode": "auto_approve"}
    async with open_chat(home, [[READ], [SEND], "Done."], settings=settings) as chat:
        add_tools(chat.host, mail)
        assert ((await chat.say()).status, mail.calls) == ("waiting", [])
        [question] = await open_questions(chat)
        assert question.raw["rule"] == "leaving"
        assert question.raw["why"] == "It can take what was read from your files to Mail."


@pytest.mark.case("EXFIL-01", "TOOL-04")
@pytest.mark.parametrize("name", ["files", "terminal", "anywhere"])
async def test_a_server_named_like_a_source_gets_nothing_of_it(name: str) -> None:
    seen = Seen(frozenset({name if name != "anywhere" else "files"}))
    by = an_authorizer(a_grant(Pattern(tool="files.read", sources=())))
    tool = ToolOf("files__read", server=name, effects=SERVER.effects)
    assert verdict(await decide(server_access(name), by=by, tool=tool, seen=seen))[2] == "leaving"
    own = Seen(frozenset({f"server:{name}"}))
    assert verdict(await decide(server_access(name), by=by, tool=tool, seen=own))[0] == "allow"


@pytest.mark.case("AUTHZ-14")
async def test_auto_approve_lets_out_what_is_not_private_and_what_was_allowed(home: Path, project: Path) -> None:
    mail = ServerTool("mail__send")
    settings = {"working_directory": str(project), "mode": "auto_approve"}
    async with open_chat(home, [[SEND], [SEND], "Done."], settings=settings) as chat:
        add_tools(chat.host, mail)
        assert ((await chat.say()).status, len(mail.calls)) == ("completed", 2)
    read = Seen(private=frozenset({"files"}))
    by = an_authorizer(a_grant(Pattern(tool="files.read")))
    assert verdict(await decide(server_access(), "auto_approve", by=by, tool=SERVER, seen=read))[:2] == (
        "allow",
        "grant",
    )
    assert verdict(await decide(command_access("make"), "auto_approve", tool=TERMINAL, seen=read))[1] == "mode"


# --- rules about files, and searches that come upon them -----------------------------------------

SEARCHES = [
    a_call("file_operations", operation="grep_search", query="launch"),
    a_call("file_operations", operation="semantic_search", query="launch code"),
    a_call("file_operations", operation="search_index", query="launch"),
    a_call("file_operations", operation="list_usages", symbolName="launch"),
]


async def searched(home: Path, project: Path, turns: list[Any], *rules: dict[str, Any]) -> list[Item]:
    async with open_chat(home, [*turns, "Done."], settings={"working_directory": str(project)}) as chat:
        (home / "policy.json").write_text(json.dumps({"version": "1.0", "rules": rules}))
        assert (await chat.say()).status == "completed"
        return await chat.items("tool_call")


@pytest.mark.case("FS-04", "AUTHZ-06")
@pytest.mark.parametrize("tool", ["*", "file_operations.read_file"])
@pytest.mark.parametrize("verdict", ["deny", "ask"])
@pytest.mark.parametrize("paths", ["private/**", "**/secret.txt"])
async def test_a_search_does_not_show_what_a_rule_keeps_from_being_read(
    home: Path, project: Path, tool: str, verdict: str, paths: str
) -> None:
    (project / "private").mkdir()
    (project / "secret.txt").rename(project / "private" / "secret.txt")
    (project / "open.txt").write_text("launch at noon")
    rule = {"id": "no", "verdict": verdict, "pattern": {"tool": tool, "paths": [paths]}}
    calls = await searched(home, project, [[search] for search in SEARCHES], rule)
    assert "launch at noon" in calls[0].text
    assert not [call.text for call in calls if "0000" in call.text]


@pytest.fixture
def repository(project: Path) -> Path:
    """A repository in which a secret, a key and an open file were changed."""
    make_repository(project, secret__txt="old\n", open__txt="old\n", id_rsa="old\n")
    for name, text in (("secret.txt", "the launch code is 0000\n"), ("id_rsa", "key-7777\n"), ("open.txt", "noon\n")):
        (project / name).write_text(text)
    return project


@pytest.mark.case("FS-04", "SECRET-03")
async def test_differences_do_not_show_what_may_not_be_read_unasked(home: Path, repository: Path) -> None:
    rule = {"id": "no", "verdict": "deny", "pattern": {"tool": "file_operations.read_file", "paths": ["secret.txt"]}}
    look = a_call("build_and_version_control", operation="get_changed_files", include_diff=True)
    [call] = await searched(home, repository, [[look]], rule)
    assert "+noon" in call.text
    assert "Left out: id_rsa, secret.txt." in call.text
    assert "0000" not in call.text
    assert "7777" not in call.text


async def test_a_search_that_a_rule_does_not_speak_about_shows_everything(home: Path, project: Path) -> None:
    rule = {"id": "no", "verdict": "deny", "pattern": {"tool": "*", "paths": ["other/**"]}}
    [call] = await searched(home, project, [[SEARCHES[0]]], rule)
    assert "0000" in call.text


# --- permissions for files, and folders with everything in them ----------------------------------


def moved(path: str, to: str) -> dict[str, Any]:
    return a_call("file_operations", operation="rename_file", filePath=path, newPath=to)


def deleted(path: str) -> dict[str, Any]:
    return a_call("file_operations", operation="delete_file", filePath=path, recursive=True)


@pytest.fixture
def tree(project: Path) -> Path:
    for name in ("a.txt", "b.txt", "src/deep/c.txt", "src/deep/keys/d.key"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(name)
    return project


@pytest.mark.case("AUTHZ-05", "FS-12")
async def test_a_permission_for_files_of_a_folder_is_none_for_the_folders_in_it(home: Path, tree: Path) -> None:
    turns = [[deleted("a.txt")], [deleted("b.txt")], [deleted("src")], "Done."]
    async with open_chat(home, turns, settings={"working_directory": str(tree)}) as chat:
        run = await chat.say()
        [question] = await open_questions(chat)
        assert question.raw["proposal"]["paths"] == ["*"]
        await chat.api.questions.answer(ME, question.id, Answer(choice="conversation"))
        # The other file goes with it; everything in a folder does not.
        assert (await chat.settled(run.id)).status == "waiting"
        assert ((tree / "b.txt").exists(), (tree / "src/deep/c.txt").exists()) == (False, True)
        [question] = await open_questions(chat)
        assert (question.raw["proposal"], question.raw["group"]) == (None, "")


@pytest.mark.parametrize(("paths", "allowed"), [("src/*", False), ("src/*/*", False), ("src/**", True), ("**", True)])
@pytest.mark.case("AUTHZ-05")
def test_only_a_pattern_for_whatever_is_below_covers_a_whole_folder(paths: str, allowed: bool) -> None:
    [use] = file_access(f"{ROOT}/src/deep", operation="delete_file").paths
    whole = msgspec.structs.replace(file_access(), paths=(msgspec.structs.replace(use, whole=True),))
    assert covers_all(Pattern(paths=(paths,)), Subject(whole, "", ROOT)) is allowed


@pytest.mark.case("FS-04", "FS-12")
@pytest.mark.parametrize("paths", ["**/*.key", "src/*/keys/**", "src/deep/keys/d.key"])
@pytest.mark.parametrize("call", [moved("src/deep", "shallow"), deleted("src"), moved("src", "lib")])
async def test_what_a_rule_forbids_is_not_moved_with_the_folder_around_it(
    home: Path, tree: Path, call: dict[str, Any], paths: str
) -> None:
    rule = {"id": "no", "verdict": "deny", "pattern": {"tool": "*", "paths": [paths]}}
    settings = {"working_directory": str(tree), "mode": "auto_edit"}
    async with open_chat(home, [[call], [moved("a.txt", "z.txt")], "Done."], settings=settings) as chat:
        (home / "policy.json").write_text(json.dumps({"version": "1.0", "rules": [rule]}))
        assert (await chat.say()).status == "completed"
        assert ((tree / "src/deep/keys/d.key").exists(), (tree / "z.txt").exists()) == (True, True)


# --- a repository that does not look like one ----------------------------------------------------


@pytest.mark.case("FS-11")
@pytest.mark.parametrize("last", ["vendor/HEAD", "vendor/head"])
async def test_a_folder_is_not_made_a_repository_without_a_word_of_its_own(
    home: Path, project: Path, last: str
) -> None:
    """Whoever steps into it, or only has a prompt that asks git, would run what its settings name."""
    names = ["vendor/config", "vendor/objects/x", "vendor/refs/x", "vendor/header.txt", "head/index.ts", last]
    turns = [[a_call("file_operations", operation="create_file", filePath=name, content="x")] for name in names]
    settings = {"working_directory": str(project), "mode": "auto_edit"}
    async with open_chat(home, [*turns, "Done."], settings=settings) as chat:
        assert (await chat.say()).status == "waiting"
        assert [(project / name).exists() for name in names] == [True] * 5 + [False]
        [question] = await open_questions(chat)
        assert question.raw["rule"] == "protected"


@pytest.mark.case("FS-11")
async def test_neither_is_one_renamed_or_moved_into_place(home: Path, project: Path) -> None:
    (project / "innocent").mkdir()
    (project / "innocent" / "HEAD").write_text("ref: refs/heads/main")
    turns = [[moved("secret.txt", "vendor/HEAD")], [moved("innocent", "vendor")], "Done."]
    settings = {"working_directory": str(project), "mode": "auto_edit"}
    async with open_chat(home, turns, settings=settings) as chat:
        run = await chat.say()
        for _ in range(2):
            [question] = await open_questions(chat)
            assert question.raw["rule"] == "protected"
            await chat.api.questions.answer(ME, question.id, Answer(choice="deny"))
            run = await chat.settled(run.id)
        assert (run.status, (project / "vendor").exists()) == ("completed", False)


# --- permissions that name a server ---------------------------------------------------------------


@pytest.mark.case("AUTHZ-04")
async def test_a_permission_that_names_a_server_is_for_the_one_that_has_the_name_then(home: Path) -> None:
    """By hand, too: edited to another address it is another server, and the rule is not about that one."""
    async with open_chat(home) as chat:
        api = chat.api
        view = await api.servers.add(ME, ServerInput(name="Notes", url="http://127.0.0.1:9/mcp", enabled=False))
        rules = (
            Rule(id="one", verdict="allow", pattern=Pattern(tool="notes.*")),
            Rule(id="two", verdict="deny", pattern=Pattern(tool="notes.*", destination="x.example")),
            Rule(id="three", verdict="allow", pattern=Pattern(tool="unknown.*")),
        )
        one, *others = (await api.permissions.set_policy(ME, PolicyInput(rules=rules))).rules
        assert one.pattern.definition.startswith(f"{view.id}@")
        assert [rule.pattern for rule in others] == [rule.pattern for rule in rules[1:]]
        pattern = Pattern(tool="notes.read")
        grant = await api.permissions.give_grant(ME, NewGrant(conversation_id=chat.id, pattern=pattern))
        assert grant.pattern.definition == one.pattern.definition
        await api.servers.update(ME, view.id, ServerInput(name="Notes", url="http://127.0.0.1:9/other", enabled=False))
        # What was kept stays as it was; what is said now is for the new one.
        new = Rule(id="four", verdict="allow", pattern=Pattern(tool="notes.*"))
        kept = (await api.permissions.set_policy(ME, PolicyInput(rules=(one, new)))).rules
        assert kept[0] == one
        assert kept[1].pattern.definition.startswith(f"{view.id}@")
        assert kept[1].pattern.definition != one.pattern.definition
