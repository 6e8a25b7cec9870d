"""Rules, passing permissions and the record, through the whole program."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.api import Answer, NewConversation, NoticeFrame
from pilothouse.types.authority import AuditEntry, CallInShort, NewGrant, Pattern, PolicyInput, Rule
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, ToolError, ToolOutput
from pilothouse.wiring import open_host
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.tools import ToolOf, give_tools

READ = "files__read"


def a_call(tool: str = READ, **arguments: Any) -> JsonObject:
    return {"call": tool, "arguments": arguments}


def reader(**more: Any) -> ToolOf:
    return ToolOf(READ, server="Files", **more)


async def waiting(chat: Chat) -> Item:
    (question,) = (item for item in await chat.items("question") if item.status == "waiting")
    return question


async def answered(chat: Chat, **answer: Any) -> str:
    question = await waiting(chat)
    await chat.api.questions.answer(ME, question.id, Answer(**answer))
    return (await chat.settled(question.run_id or "")).status


async def recorded(chat: Chat) -> list[AuditEntry]:
    report = await chat.api.permissions.audit(ME, chat.id)
    assert [check.sound for check in report.checks] == [True]
    return list(report.entries)


def rules(*made: Rule) -> PolicyInput:
    return PolicyInput(rules=made)


def a_rule(rule_id: str, verdict: Any, note: str = "", **pattern: Any) -> Rule:
    return Rule(id=rule_id, verdict=verdict, pattern=Pattern(**pattern), note=note)


async def fails(arguments: JsonObject, context: CallContext) -> ToolOutput:
    return ToolOutput(text="It broke.", error=ToolError("EXECUTION_FAILED", "It broke."))


@pytest.mark.case("LOG-01")
async def test_every_call_is_in_the_record_with_who_what_and_why_however_it_ended(home: Path) -> None:
    broken = ToolOf("files__write", fails, server="Files")
    turns = [[a_call(n=1)], [a_call(n=2)], [a_call("files__write", n=3)], [a_call(n=4)], [a_call("nothing")], "Done."]
    async with open_chat(home, turns) as chat:
        give_tools(chat.host, reader(), broken)
        await chat.say()
        assert await answered(chat, choice="allow") == "waiting"
        assert await answered(chat, choice="deny", text="Not that one.") == "waiting"
        assert await answered(chat, choice="allow") == "waiting"
        await chat.api.permissions.set_policy(
            ME, rules(a_rule("no-reading", "deny", "Nobody reads here.", tool="files.read"))
        )
        question = await waiting(chat)
        await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
        assert (await chat.settled(question.run_id or "")).status == "completed"
        taken, denied, failed, forbidden, unknown = await recorded(chat)
    assert (taken.operation, taken.arguments, taken.status) == ("files.read", {"n": 1}, "completed")
    assert taken.decision is not None
    assert (taken.decision.authority, taken.decision.by, taken.decision.verdict) == ("person", ME, "allow")
    assert denied.decision is not None
    assert (denied.decision.verdict, denied.decision.by) == ("deny", ME)
    assert "Not that one." in denied.decision.why
    assert (denied.status, bool(denied.error)) == ("failed", True)
    assert (failed.operation, failed.error) == ("files.write", "It broke.")
    assert forbidden.decision is not None
    assert (forbidden.decision.authority, forbidden.decision.rule) == ("rule", "no-reading")
    assert "Nobody reads here." in forbidden.decision.why
    assert (unknown.decision, unknown.status, bool(unknown.error)) == (None, "failed", True)
    assert all(entry.decision.call_hash and entry.decision.at for entry in (taken, denied, failed) if entry.decision)


@pytest.mark.case("LOG-01")
async def test_a_report_has_no_more_calls_than_were_asked_for_the_newest_in_order(home: Path) -> None:
    async with open_chat(home, [[a_call(n=1)], [a_call(n=2)], [a_call(n=3)], "Done."]) as chat:
        give_tools(chat.host, reader())
        await chat.say()
        for _ in range(3):
            await answered(chat, choice="allow")
        for limit, numbers in ((2, [2, 3]), (3, [1, 2, 3]), (20, [1, 2, 3])):
            report = await chat.api.permissions.audit(ME, chat.id, limit=limit)
            assert [entry.arguments["n"] for entry in report.entries] == numbers
            assert report.more == (limit < 3)
            assert [check.sound for check in report.checks] == [True]


@pytest.mark.case("LOG-01")
async def test_a_call_that_never_ended_and_one_whose_question_was_withdrawn_are_in_the_record(home: Path) -> None:
    async def hangs(arguments: JsonObject, context: CallContext) -> ToolOutput:
        await asyncio.Event().wait()
        raise AssertionError

    async with open_chat(home, [[a_call(n=1)], [a_call(n=2)], "Never mind.", "Done."]) as chat:
        give_tools(chat.host, reader(action=hangs, timeout=0.05))
        await chat.say()
        assert await answered(chat, choice="allow") == "waiting"
        await chat.say("Something else")
        hung, withdrawn = await recorded(chat)
    assert hung.decision is not None
    assert (hung.status, hung.decision.authority) == ("timed_out", "person")
    assert withdrawn.decision is not None
    assert (withdrawn.status, withdrawn.decision.verdict) == ("cancelled", "ask")


@pytest.mark.case("LOG-01")
async def test_whoever_edits_the_database_afterwards_is_found_out(home: Path) -> None:
    async with open_chat(home, [[a_call(path="a.txt")], "Done."]) as chat:
        give_tools(chat.host, reader())
        await chat.say()
        await answered(chat, choice="allow")
        before = (await chat.api.permissions.audit(ME, chat.id)).checks[0]
        conversation = chat.id
    with sqlite3.connect(home / "pilothouse.db") as database:
        changed = database.execute(
            "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'a.txt', 'b.txt') AS BLOB) "
            "WHERE conversation_id = ? AND CAST(body AS TEXT) LIKE '%a.txt%'",
            (conversation,),
        )
        assert changed.rowcount > 0
    database.close()
    async with open_host(home) as host:
        other = await host.api.conversations.create(ME, NewConversation())
        (after,) = (await host.api.permissions.audit(ME, conversation)).checks
        whole = await host.api.permissions.audit(ME, None)
    assert before.sound
    assert (after.sound, after.head == before.head) == (False, False)
    assert after.first_bad is not None
    assert {check.conversation_id: check.sound for check in whole.checks} == {conversation: False, other.id: True}


@pytest.mark.case("ATZ-15", "AUTHZ-06")
async def test_a_rule_lets_calls_pass_without_a_question_and_its_use_is_counted(home: Path) -> None:
    tool = reader()
    async with open_chat(home, [[a_call(n=1)], [a_call(n=2)], "Done."]) as chat:
        give_tools(chat.host, tool)
        await chat.api.permissions.set_policy(ME, rules(a_rule("reads", "allow", tool="files.read")))
        assert (await chat.say()).status == "completed"
        policy = await chat.api.permissions.policy(ME)
        assert [(use.rule_id, use.uses) for use in policy.uses] == [("reads", 2)]
        replayed = await chat.api.permissions.replay_policy(ME, rules(a_rule("no", "deny", tool="files.*")))
        assert (replayed.looked_at, replayed.denied, [one.before for one in replayed.changed]) == (2, 2, ["allow"] * 2)
        found = await chat.api.permissions.check_policy(ME, CallInShort(tool="files.read"))
        assert (found.verdict, found.rule) == ("allow", "reads")


@pytest.mark.case("AUTHZ-08")
async def test_a_broken_file_of_rules_is_asked_about_and_told_to_every_page(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FILE_WATCH", 0.02)
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, reader())
        await chat.api.permissions.set_policy(ME, rules(a_rule("reads", "allow", tool="files.read")))
        good = (home / "policy.json").read_text()
        async with asyncio.timeout(PATIENCE), aclosing(chat.api.list_changes(ME)) as changes:
            (home / "policy.json").write_text("{")
            notices = (frame async for frame in changes if isinstance(frame, NoticeFrame) and frame.code == "policy")
            told = await anext(notices)
            assert told.level == "warning"
            assert str(home / "policy.json") in told.message
            assert (await chat.say()).status == "waiting"
            assert (await waiting(chat)).raw["rule"] == "policy"
            problem = (await chat.api.permissions.policy(ME)).problem
            assert problem is not None
            (home / "policy.json").write_text(good)
            assert (await anext(notices)).level == "info"
        # Deciding again about a call that was asked about: now the rule counts.
        assert await answered(chat, choice="allow") == "completed"


@pytest.mark.case("AUTHZ-08")
async def test_a_file_of_rules_that_is_broken_from_the_start_is_told_too(home: Path) -> None:
    os.makedirs(home)
    (home / "policy.json").write_text(json.dumps({"rules": [{"id": "x"}]}))
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, reader())
        async with asyncio.timeout(PATIENCE), aclosing(chat.api.list_changes(ME)) as changes:
            frames = (frame async for frame in changes if isinstance(frame, NoticeFrame))
            assert (await anext(frames)).code == "policy"
        assert (await chat.say()).status == "waiting"


@pytest.mark.case("ATZ-06", "ATZ-08", "AUTHZ-09")
async def test_a_permission_given_by_hand_is_used_once_and_can_be_withdrawn(home: Path) -> None:
    tool = reader()
    pattern = Pattern(tool="files.read")
    async with open_chat(home, [[a_call(n=1)], [a_call(n=2)], "Done.", [a_call(n=3)], "Done."]) as chat:
        give_tools(chat.host, tool)
        once = await chat.api.permissions.give_grant(
            ME, NewGrant(conversation_id=chat.id, pattern=pattern, duration="1h")
        )
        assert [grant.id for grant in (await chat.api.permissions.grants(ME, chat.id)).grants] == [once.id]
        assert (await chat.say()).status == "waiting"
        assert [arguments["n"] for arguments, _ in tool.calls] == [1]
        assert await answered(chat, choice="allow") == "completed"
        many = await chat.api.permissions.give_grant(
            ME, NewGrant(conversation_id=chat.id, pattern=pattern, single_use=False)
        )
        await chat.api.permissions.revoke_grant(ME, many.id)
        assert (await chat.api.permissions.grants(ME, None)).grants == ()
        assert (await chat.say("More")).status == "waiting"
        [first, *_] = await recorded(chat)
        assert first.decision is not None
        assert (first.decision.authority, first.decision.rule) == ("grant", once.id)
        # What was allowed by hand stands in the timeline too.
        notes = [(note.text, note.raw["grant"]["id"]) for note in await chat.items("notice")]
        assert notes == [
            ("Allowed for 1 hour, once: files.read.", once.id),
            ("Allowed for 30 minutes, as often as needed: files.read.", many.id),
            ("Not allowed any more: files.read.", many.id),
        ]


async def test_what_waits_is_listed_over_all_conversations_until_it_is_answered(home: Path) -> None:
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, reader())
        await chat.say("Read it")
        (pending,) = (await chat.api.permissions.approvals(ME)).pending
        assert (pending.conversation_id, pending.title) == (chat.id, "Read it")
        assert pending.data["callItemId"] == (await chat.items("tool_call"))[0].id
        await answered(chat, choice="deny")
        assert (await chat.api.permissions.approvals(ME)).pending == ()


async def test_bad_input_is_told_in_one_sentence_and_nothing_is_kept(home: Path) -> None:
    async with open_chat(home) as chat:
        api = chat.api
        given = NewGrant(conversation_id=chat.id, pattern=Pattern(tool="files.read"), duration="soon")
        for wrong, code in (
            (api.permissions.set_policy(ME, rules(a_rule("a", "allow", command=("find", "*")))), "bad_request"),
            (api.permissions.set_policy("someone else", rules()), "forbidden"),
            (api.permissions.give_grant(ME, given), "bad_request"),
            (
                api.permissions.give_grant(ME, NewGrant(conversation_id="c_none", pattern=Pattern(tool="x"))),
                "not_found",
            ),
            (
                api.permissions.give_grant("someone else", NewGrant(conversation_id=chat.id, pattern=Pattern())),
                "not_found",
            ),
            (api.permissions.revoke_grant(ME, "g_none"), "not_found"),
            (api.permissions.audit(ME, "c_none"), "not_found"),
            (api.permissions.audit("someone else", chat.id), "not_found"),
        ):
            with pytest.raises(PilothouseError) as refused:
                await wrong
            assert refused.value.code == code
        assert (await api.permissions.policy(ME)).rules == ()
        assert (await api.permissions.grants(ME, None)).grants == ()
        assert (await api.permissions.audit("someone else", None)).entries == ()
