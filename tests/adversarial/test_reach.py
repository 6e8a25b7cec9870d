"""Modes and permissions that reach exactly as far as they say, and no further."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse.types.authority import Pattern, Seen
from pilothouse.types.items import Item
from tests.adversarial.test_exfil import READ, SEND, ServerTool
from tests.support.chatting import Chat, chatting
from tests.support.deciding import SERVER, TERMINAL, a_grant, an_authorizer, calling, decide, running, verdict
from tests.support.tools import add_tools


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "secret.txt").write_text("the launch code is 0000")
    return folder


async def open_questions(chat: Chat) -> list[Item]:
    return [item for item in await chat.items("question") if item.status == "waiting"]


# --- auto-approve and private data ---------------------------------------------------------------


@pytest.mark.case("AUTHZ-14", "EXFIL-01")
async def test_auto_approve_does_not_let_private_data_out(home: Path, project: Path) -> None:
    mail = ServerTool("mail__send")
    settings = {"working_directory": str(project), "mode": "auto_approve"}
    async with chatting(home, [[READ], [SEND], "Done."], settings=settings) as chat:
        add_tools(chat.host, mail)
        assert ((await chat.say()).status, mail.calls) == ("waiting", [])
        [question] = await open_questions(chat)
        assert question.data["rule"] == "private"
        assert "Mail" in question.data["why"]


@pytest.mark.case("AUTHZ-14")
async def test_auto_approve_lets_out_what_is_not_private_and_what_was_allowed(home: Path, project: Path) -> None:
    mail = ServerTool("mail__send")
    settings = {"working_directory": str(project), "mode": "auto_approve"}
    async with chatting(home, [[SEND], [SEND], "Done."], settings=settings) as chat:
        add_tools(chat.host, mail)
        assert ((await chat.say()).status, len(mail.calls)) == ("completed", 2)
    read = Seen(private=frozenset({"files"}))
    by = an_authorizer(a_grant(Pattern(tool="files.read")))
    assert verdict(await decide(calling(), "auto_approve", by=by, tool=SERVER, seen=read))[:2] == ("allow", "grant")
    assert verdict(await decide(running("make"), "auto_approve", tool=TERMINAL, seen=read))[1] == "mode"
