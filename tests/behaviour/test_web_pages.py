"""The agent reads web pages: as text with its links, a long one in parts, and asks about a host once."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from pilothouse import __version__
from pilothouse.types.api import Answer as Reply
from tests.support.chats import ME, Chat, open_chat
from tests.support.tiny_http import HTML, Answer, Request, TinyHttp, site
from tests.support.web_sites import allow_sites, web_call

PAGE = """<!doctype html><html><head><title>Boats &amp; harbours</title></head><body>
<nav><a href="/">Home</a></nav>
<main><h1>Boats</h1><p>A pilot <a href="/pilots#top">guides</a> a ship.</p>
<ul><li>pilot<li>ship</ul>
<table><tr><th>Name<th>Length<tr><td>Anna<td>12 m</table>
<pre>anchor up
  full ahead</pre></main><footer>Imprint</footer></body></html>"""


async def last_call(chat: Chat) -> Any:
    return (await chat.items("tool_call"))[-1]


@pytest.mark.case("UTL-15")
async def test_a_page_is_read_as_text_with_its_links(home: Path) -> None:
    async with site({"/": PAGE}) as server, open_chat(home, [[web_call("fetch", url="x")], "Done."]) as chat:
        await allow_sites(chat, server)
        chat.write([[web_call("fetch", url=f"{server.url}/#boats")], "Done."])
        assert (await chat.say("Read it.", allow=("web_operations.fetch",))).status == "completed"
        text = (await last_call(chat)).text
        assert text.startswith(f"Boats & harbours\n{server.url}/\n\n# Boats\n\nA pilot guides [2] a ship.\n")
        assert "- pilot\n- ship\n\n| Name | Length |\n| --- | --- |\n| Anna | 12 m |\n" in text
        assert "```\nanchor up\n  full ahead\n```" in text
        assert text.endswith(f"Links:\n[2] {server.url}/pilots")
        assert "Home" not in text
        assert "Imprint" not in text
        [request] = server.requests
        assert request.headers["user-agent"].startswith(f"Pilothouse/{__version__} ")
        assert (request.method, request.target) == ("GET", "/")


@pytest.mark.case("UTL-15")
async def test_a_host_is_asked_about_before_anything_is_sent_and_once_in_a_conversation(home: Path) -> None:
    async with site({"/": PAGE, "/more": PAGE}) as server, open_chat(home) as chat:
        await allow_sites(chat, server)
        turns = [[web_call("fetch", url=f"{server.url}/")], [web_call("fetch", url=f"{server.url}/more")], "Done."]
        chat.write(turns)
        run = await chat.say()
        assert (run.status, server.requests) == ("waiting", [])
        [question] = await chat.items("question")
        assert question.raw["why"] == f"It sends data to 127.0.0.1:{server.port}."
        assert question.raw["access"]["payloadBytes"] == len(f"{server.url}/")
        await chat.api.questions.answer(ME, question.id, Reply(choice="conversation"))
        assert (await chat.settled(run.id)).status == "completed"
        # What was read inside the person's network is theirs: it may go back there, which was allowed.
        assert [request.target for request in server.requests] == ["/", "/more"]


@pytest.mark.case("UTL-15")
async def test_where_commands_are_held_reading_a_page_asks_nothing_until_something_private_was_read(
    home: Path, work: Path
) -> None:
    (work / "notes.txt").write_text("private")
    read = {"call": "file_operations", "arguments": {"operation": "read_file", "filePath": "notes.txt"}}
    settings = {"working_directory": str(work), "mode": "sandboxed"}
    async with site({"/": PAGE}) as server, open_chat(home, settings=settings) as chat:
        await allow_sites(chat, server)
        turns = [[web_call("fetch", url=f"{server.url}/")], [web_call("fetch", url=f"{server.url}/?a=b")], "Done."]
        leaving = web_call("fetch", url=f"{server.url}/?about=private")
        chat.write([*turns, [read], [leaving], "Done."])
        assert (await chat.say()).status == "completed"
        assert (len(server.requests), await chat.items("question")) == (2, [])
        assert (await chat.say()).status == "waiting"
        question = (await chat.items("question"))[-1]
        assert question.raw["rule"] == "leaving"
        assert question.raw["why"].startswith("It can take what was read from your files")
        assert len(server.requests) == 2
        await chat.api.questions.answer(ME, question.id, Reply(choice="deny"))
        await chat.settled(question.run_id or "")


@pytest.mark.case("UTL-15")
async def test_the_rest_of_a_long_page_is_read_without_asking_anyone_again(home: Path) -> None:
    words = "".join(f"<p>Paragraph number {number} of a long page.</p>" for number in range(3_000))
    async with site({"/": f"<title>Long</title>{words}"}) as server, open_chat(home) as chat:
        await allow_sites(chat, server)
        once = [[web_call("fetch", url=server.url)], "Done."]
        chat.write(once)
        await chat.say(allow=("web_operations.fetch",))
        first = (await last_call(chat)).text
        told = first.rpartition("[Cut at character ")[2]
        start = int(told.rpartition("start ")[2].rstrip(".]"))
        assert "Go on with the same url and start" in told
        # In one run: the page is there, and nobody is asked.
        both = [[web_call("fetch", url=server.url)], [web_call("fetch", url=server.url, start=start)], "Done."]
        chat.write([*once, *both])
        run = await chat.say()
        [question] = [item for item in await chat.items("question") if item.status == "waiting"]
        await chat.api.questions.answer(ME, question.id, Reply(choice="allow"))
        assert (await chat.settled(run.id)).status == "completed"
        rest = (await last_call(chat)).text
        assert len(server.requests) == 2
        number = int(first.rpartition("Paragraph number ")[2].split()[0])
        assert f"\n\nParagraph number {number + 1} of" in rest


@pytest.mark.case("UTL-15")
@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        ("text/plain; charset=iso-8859-1", "café".encode("latin-1"), "café"),
        ("text/html", "<meta charset=shift_jis><p>日本</p>".encode("shift_jis"), "日本"),
        ("text/html; charset=bogus", b"\xef\xbb\xbf<p>caf\xc3\xa9", "café"),
        ("application/json", b'{"a": [1, 2]}', '{"a": [1, 2]}'),
        ("text/markdown", b"# Title\n\n* one", "# Title\n\n* one"),
        ("", b"<!DOCTYPE html><p>untyped", "untyped"),
    ],
)
async def test_each_kind_of_text_is_read_in_its_own_letters(home: Path, kind: str, body: bytes, shown: str) -> None:
    headers = {"content-type": kind} if kind else {}
    async with site({"/": Answer(200, body, headers)}) as server, open_chat(home) as chat:
        await allow_sites(chat, server)
        chat.write([[web_call("fetch", url=server.url)], "Done."])
        await chat.say(allow=("web_operations.fetch",))
        assert shown in (await last_call(chat)).text


@pytest.mark.case("UTL-15")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(404), "127.0.0.1 has no such page (status 404)."),
        (Answer(503), "127.0.0.1 failed (status 503)."),
        (Answer(200, b"%PDF-1.7", {"content-type": "application/pdf"}), "is a PDF, which is no page."),
        (Answer(200, b"\x89PNG", {"content-type": "image/png"}), "is a picture (image/png), which has no text."),
        (Answer(200, b"PK", {"content-type": "application/zip"}), "is application/zip, which is no page to read."),
        (Answer(200, b"x", {"content-encoding": "br"}), "it compresses its answer as “br”"),
    ],
)
async def test_what_is_no_page_is_said_in_one_sentence(home: Path, answer: Answer, said: str) -> None:
    async with site({"/": answer}) as server, open_chat(home) as chat:
        await allow_sites(chat, server)
        chat.write([[web_call("fetch", url=server.url)], "Done."])
        await chat.say(allow=("web_operations.fetch",))
        call = await last_call(chat)
        assert call.status == "failed"
        assert said in call.text
        assert "\n" not in call.text


@pytest.mark.case("UTL-15")
async def test_a_page_that_moved_on_its_own_host_is_followed_and_one_that_moved_elsewhere_is_named(home: Path) -> None:
    async with site({"/new": PAGE}) as there:
        pages: dict[str, Answer | str] = {"/old": Answer(301, b"", {"location": "/new"}), "/new": PAGE}
        pages["/away"] = Answer(302, b"", {"location": f"{there.url}/new?told=1"})
        async with site(pages) as server, open_chat(home) as chat:
            await allow_sites(chat, server, there)
            moved, away = f"{server.url}/old", f"{server.url}/away"
            chat.write([[web_call("fetch", url=moved)], [web_call("fetch", url=away)], "Done."])
            await chat.say(allow=("web_operations.fetch",))
            first, second = await chat.items("tool_call")
            assert first.text.startswith(f"Boats & harbours\n{server.url}/new\n")
            assert second.text == (
                f"127.0.0.1:{server.port} sends on to another host: {there.url}/new?told=1 "
                "If that is wanted, fetch that address."
            )
            assert there.requests == []


@pytest.mark.case("UTL-15")
async def test_pages_of_one_host_are_read_one_after_the_other(home: Path) -> None:
    open_now = most = 0
    together = asyncio.Event()

    async def answer(_request: Request) -> Answer:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        if open_now > 1:
            together.set()
        # Long enough for another one to come, if it does.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(together.wait(), 0.3)
        open_now -= 1
        return Answer(200, b"<p>slow", HTML)

    async with TinyHttp(answer) as server, open_chat(home) as chat:
        await allow_sites(chat, server)
        chat.write([[web_call("fetch", url=f"{server.url}/{number}") for number in range(3)], "Done."])
        await chat.say(allow=("web_operations.fetch",))
        assert [call.status for call in await chat.items("tool_call")] == ["completed"] * 3
        assert (most, len(server.requests)) == (1, 3)


async def test_a_read_only_conversation_cannot_read_the_web(home: Path) -> None:
    async with open_chat(home, settings={"mode": "read_only"}) as chat:
        chat.write([[web_call("fetch", url="https://example.com/")], "Done."])
        await chat.say()
        assert (await last_call(chat)).status == "failed"
        kept = json.loads((home / "config.json").read_text())
        assert "web" not in kept
