"""The library, as the README and the guide show it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pilothouse import Host, ItemCreated, ItemDelta, PilothouseError, ServerInput, Source, Tools
from tests.support.commands import environment, server
from tests.support.mcp_servers import scripted
from tests.support.package_indexes import indexes
from tests.support.source import ROOT

PATIENCE = 20.0
BRANCHES = re.compile(r"<!-- branches example: tested from here -->\n```python\n(.*?)```", re.DOTALL)
EXAMPLE = re.compile(r"<!-- library example: tested from here -->\n```python\n(.*?)```", re.DOTALL)


def script(folder: Path, turns: object) -> str:
    path = folder / "script.json"
    path.write_text(json.dumps(turns))
    return f"scripted:{path}"


def set_default(home: Path, folder: Path, turns: object) -> None:
    """Let a script answer where no model is named."""
    home.mkdir(mode=0o700)
    model = {"name": "S", "provider": "scripted", "model": script(folder, turns).partition(":")[2]}
    (home / "models.json").write_text(json.dumps({"defaultModelId": "s", "models": {"s": model}}))


def outcome_of(program: str, home: Path) -> str:
    """Run a program to its end; return what it printed."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment(home), check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_of_the_readme_runs_as_it_stands(home: Path, tmp_path: Path) -> None:
    said = [{"thinking": "Hm."}, {"text": "Because of Rayleigh.", "pieces": 4}, {"usage": {"input": 9, "output": 7}}]
    set_default(home, tmp_path, [said, [{"text": "1 "}, {"wait": 60}]])
    found = EXAMPLE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    assert len([line for line in found[1].splitlines() if line.strip()]) < 15
    assert outcome_of(found[1], home) == "Because of Rayleigh.\ncompleted, 7 tokens\n"


def test_the_example_about_branches_in_the_guide_runs_as_it_stands(home: Path, tmp_path: Path) -> None:
    set_default(home, tmp_path, ["A gull.", "At sea."])
    text = (ROOT / "docs" / "guide" / "library.md").read_text(encoding="utf-8")
    found = BRANCHES.search(text)
    assert found is not None
    assert outcome_of(found[1], home).splitlines() == [
        "A gull.",
        "At sea.",
        "A gull. 1",
        "At sea. 2",
        "[(0, None, 'Name a bird.'), (1, 'retry', 'Name a bird.'), (2, 'edit', 'What does it eat?')] 2",
        "4 3",
    ]


async def test_a_program_compares_branches_hides_and_copies(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(["From the other."]))
    async with Host(home) as host:
        chat = await host.start(model=script(tmp_path, ["One.", "Two.", "Three."]))
        answers = await chat.compare("Which?", [script(tmp_path, ["One.", "Two."]), f"scripted:{other}"])
        assert [await each.text() for each in answers] == ["One.", "From the other."]
        assert [each.branch for each in answers] == [0, 1]
        await chat.choose(1)
        assert [item.text for item in await chat.items() if item.kind == "response"] == ["From the other."]
        await chat.choose(0)
        first = await chat.send("More")
        await first.text()
        branched = await chat.branch(answers[0], "Otherwise", when_busy="stop")
        await branched.text()
        assert branched.branch == 2
        [message, *_] = await chat.items()
        assert (await chat.hide(message)).item_ids == (message.id,)
        assert (await chat.show(message.id)).hidden is False
        assert len((await chat.hide(branched)).item_ids) == len((await chat.show(branched)).item_ids) > 0
        left = await chat.left_behind(answers[0])
        assert (left.runs_count, left.files_count) == (4, 0)
        assert (await chat.put_files_back(answers[0])).undone == ()
        made = await chat.copy(branched)
        assert (await made.info()).title == "Which? (branch)"
        assert [item.text for item in await made.items() if item.kind == "user_message"] == ["Which?", "Otherwise"]


def test_importing_the_package_costs_nothing() -> None:
    code = "import sys, pilothouse; print('msgspec' in sys.modules, 'asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_every_public_name_is_there() -> None:
    code = "import pilothouse\nfor name in pilothouse.__all__: getattr(pilothouse, name)"
    subprocess.run([sys.executable, "-c", code], timeout=PATIENCE, check=True)
    with pytest.raises(ImportError):
        exec("from pilothouse import Nonsense")


async def test_a_conversation_from_start_to_end(home: Path, tmp_path: Path) -> None:
    await converse(tmp_path)


async def test_beside_a_running_server_the_library_is_its_client(home: Path, tmp_path: Path) -> None:
    with server(home):
        await converse(tmp_path)


async def converse(folder: Path) -> None:
    model = script(folder, [[{"thinking": "hm"}, {"text": "Hello 👋 you.", "pieces": 2}], ["Second."], ["Third."]])
    async with asyncio.timeout(PATIENCE), Host() as host:
        chat = await host.start(model=model, system="Be brief.", title="A talk")
        answer = await chat.send("Hi")
        kinds: dict[str, str] = {}
        texts: dict[str, str] = {}
        async for event in answer:
            match event:
                case ItemCreated(item=item):
                    kinds[item.id] = item.kind
                case ItemDelta():
                    texts[kinds[event.item_id]] = texts.get(kinds[event.item_id], "") + event.text
        assert texts == {"thinking": "hm", "response": "Hello 👋 you."}
        assert answer.status == "completed"
        assert answer.usage.output > 0
        assert await answer.text() == "Hello 👋 you."
        assert [piece async for piece in (await chat.send("More")).stream()] == ["Second."]
        again = await host.conversation(chat.id)
        assert await (await again.send("More")).text() == "Third."
        assert [item.text for item in await again.items() if item.kind == "user_message"] == ["Hi", "More", "More"]
        assert (await again.info()).title == "A talk"
        assert [one.id async for one in host.conversations()] == [chat.id]
        assert (await host.search("Second"))[0].conversation_id == chat.id
        assert await host.models.default() in {one.id for one in await host.models.list()}
        await again.update(title="Renamed")
        await again.delete()
        assert [one async for one in host.conversations()] == []


async def test_a_program_has_a_conversation_summed_up(home: Path, tmp_path: Path) -> None:
    turns = [{"match": "Person: ", "steps": ["They agreed on port 8123."]}, "Port 8123, then."]
    async with Host(home) as host:
        chat = await host.start(model=script(tmp_path, turns))
        with pytest.raises(PilothouseError, match="There is nothing to sum up yet"):
            await chat.compact()
        await (await chat.send("Which port?")).text()
        summary = await chat.compact(keep="the port")
        assert await summary.text() == "They agreed on port 8123."
        assert [item.kind for item in await chat.items()][-1] == "compaction"


async def test_an_answer_tells_its_sources(home: Path, tmp_path: Path) -> None:
    cited = {"cite": "https://a.example/", "title": "A", "quote": "a"}
    turns = [
        ["One.", cited, {"call": "think", "arguments": {"thoughts": "x"}}],
        ["Two.", cited, {"cite": "", "title": "B"}],
    ]
    async with Host(home) as host:
        chat = await host.start(model=script(tmp_path, turns))
        answer = await chat.send("Hi")
        await answer.text()
        assert answer.sources == (Source(url="https://a.example/", title="A", quote="a"), Source(title="B"))


async def test_an_answer_that_nobody_read_has_stopped_when_it_was_cancelled(home: Path, tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE), Host(home) as host:
        chat = await host.start(model=script(tmp_path, [[{"text": "1 2 3 "}, {"wait": 60}]]))
        answer = await chat.send("Count.")
        await answer.cancel()
        assert answer.status == "cancelled"
        await answer.cancel()
        assert answer.status == "cancelled"
        assert [piece async for piece in answer.stream()] in ([], ["1 2 3 "])


async def test_an_answer_can_be_cancelled_and_says_so(home: Path, tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE), Host(home) as host:
        chat = await host.start(model=script(tmp_path, [[{"text": "1 2 3 "}, {"wait": 60}]]))
        answer = await chat.send("Count.")
        async for piece in answer.stream():
            assert piece == "1 2 3 "
            await answer.cancel()
        assert answer.status == "cancelled"
        with pytest.raises(PilothouseError) as cancelled:
            await answer.text()
        assert cancelled.value.code == "cancelled"


async def test_a_question_can_be_replied_to(home: Path, tmp_path: Path) -> None:
    loop = script(tmp_path, [[{"call": "think", "arguments": {"thought": "again"}}]])
    async with asyncio.timeout(PATIENCE), Host(home) as host:
        answer = await (await host.start(model=loop)).send("Loop.", attended=True)
        with pytest.raises(PilothouseError) as waiting:
            await answer.text()
        assert waiting.value.code == "needs_answer"
        assert answer.question is not None
        await answer.reply("stop")
        async for _event in answer:
            pass
        assert answer.status == "completed"


async def test_what_goes_wrong_is_one_kind_of_error(home: Path, tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE), Host(home) as host:
        chat = await host.start()
        with pytest.raises(PilothouseError) as unknown:
            await chat.send("Hi", model="nope")
        assert unknown.value.code == "unknown_model"
        with pytest.raises(PilothouseError) as failed:
            await (await chat.send("Hi", model=script(tmp_path, [[{"fault": 401}]]))).text()
        assert failed.value.message
        with pytest.raises(PilothouseError):
            await host.conversation("c_unknown")
        with pytest.raises(PilothouseError, match="no model “nobody”"):
            await host.start(model="nobody")
        assert [one.id async for one in host.conversations()] == [chat.id]
    with pytest.raises(RuntimeError, match="async with"):
        _ = Host(home).api


async def test_a_program_adds_a_server_and_lets_a_model_use_it(home: Path, tmp_path: Path) -> None:
    command, *args = scripted()
    model = script(tmp_path, [[{"call": "my_echo__echo", "arguments": {"text": "hi"}}], ["Done."]])
    async with asyncio.timeout(PATIENCE), Host() as host:
        added = await host.servers.add(ServerInput(name="My Echo", command=command, args=tuple(args)))
        assert added.consent is not None
        await host.servers.consent("my echo", added.consent.fingerprint)
        assert (await host.servers.test("my_echo")).ok
        assert "my_echo.echo" in [tool.qualified_name for tool in await host.servers.tools("my_echo")]
        assert (await host.servers.call("my_echo", "echo", {"text": "by hand"})).text == "by hand"
        chat = await host.start(model=model, servers=["my_echo:echo"])
        answer = await chat.send("Go.", tools=Tools(allow=["my_echo.*"]))
        assert await answer.text() == "Done."
        asked = await (await host.start(model=model)).send("Go.", attended=True)
        with pytest.raises(PilothouseError, match="question"):
            await asked.text()
        question = asked.question
        assert question is not None
        assert question.raw["serverTool"] == "my_echo.echo"
        await asked.reply("deny")
        assert asked.question is None
        assert await asked.text() == "Done."
        for wrong in (host.start(servers=["nope"]), chat.send("x", tools=Tools(servers=["my_echo:nope"]))):
            with pytest.raises(PilothouseError) as refused:
                await wrong
            assert refused.value.code == "unknown_server"
        assert not (await host.servers.switch("my_echo", on=False)).enabled
        await host.servers.remove("my_echo")
        assert await host.servers.list() == ()


async def test_an_answer_tells_that_it_was_cut_and_goes_on_in_one_text(home: Path, tmp_path: Path) -> None:
    async with Host(home) as host:
        turns = [[{"text": "Half an ans"}, {"stop": "length"}], "wer.", "Whole."]
        chat = await host.start(model=script(tmp_path, turns))
        answer = await chat.send("Tell me.")
        assert (await answer.text(), answer.status, answer.cut) == ("Half an ans", "completed", "length")
        await answer.go_on()
        assert [piece async for piece in answer.stream()] == ["wer."]
        assert (await answer.text(), answer.cut) == ("Half an answer.", None)
        with pytest.raises(PilothouseError) as refused:
            await answer.go_on()
        assert refused.value.code == "conflict"


async def test_what_an_answer_took_includes_turns_that_were_only_calls(home: Path, tmp_path: Path) -> None:
    calls = [{"call": "think", "arguments": {"thoughts": "Hm."}}, {"usage": {"input": 100, "output": 10}}]
    set_default(home, tmp_path, [calls, [{"text": "Done."}, {"usage": {"input": 200, "output": 20}}]])
    async with Host(home) as host:
        answer = await (await host.start()).send("Go")
        assert await answer.text() == "Done."
        assert (answer.usage.input, answer.usage.output) == (300, 30)


async def test_a_program_adds_what_a_line_says_updates_it_and_writes_it_down_for_another(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with indexes(monkeypatch) as index, Host(home) as host:
        index.python("tiny-server", "1.0.0")
        found = await host.servers.recognise("claude mcp add tiny -e TINY_TOKEN=YOUR_TOKEN -- uvx tiny-server")
        (proposal,) = found.proposals
        assert [(field.id, field.secret) for field in proposal.fields] == [("env:TINY_TOKEN", True)]
        server = await host.servers.filled(proposal, keys={"env:TINY_TOKEN": "tok-0123456789"})
        added = await host.servers.add(server)
        assert added.consent is not None
        await host.servers.consent("tiny", added.consent.fingerprint)
        assert (await host.servers.test("tiny")).ok
        index.python("tiny-server", "1.1.0")
        newer = await host.servers.newer("tiny")
        assert (newer.version, newer.newest) == ("1.0.0", "1.1.0")
        assert newer.consent is not None
        await host.servers.update("tiny", newer.newest, newer.consent.fingerprint)
        assert (await host.servers.test("tiny")).ok
        assert (await host.servers.find("tiny")).package.version == "1.1.0"
        snippet = await host.servers.export("tiny", "vscode")
        assert "tiny-server==1.1.0" in snippet.text
        assert "tok-0123456789" not in snippet.text
