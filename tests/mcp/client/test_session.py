"""One connection in both eras: what is said, what is heard, and what a server may not do to us."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.content import to_output
from pilothouse.mcp.client.session import (
    BadAnswer,
    ConnectionLost,
    ExitedOnProbe,
    InputRequired,
    RpcError,
    Session,
    SessionOptions,
    connect,
)
from pilothouse.mcp.client.transports.stdio import Launch, Stdio
from tests.mcp.client.scripted_sessions import open_session, text_of
from tests.mcp.programs import REFERENCE
from tests.support.waiting import eventually

ERAS: list[Literal["modern", "handshake"]] = ["modern", "handshake"]
ANSWER = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"ok"}]}}'


def received(record: Path) -> list[dict[str, Any]]:
    """Return what the server got, in order."""
    lines = record.read_text().splitlines() if record.exists() else []
    return [json.loads(line) for line in lines]


async def got(record: Path, method: str, count: int = 1) -> list[dict[str, Any]]:
    """Wait until the server got so many messages of a kind; return them."""

    async def found() -> list[dict[str, Any]] | None:
        messages = [message for message in received(record) if message.get("method") == method]
        return messages if len(messages) >= count else None

    return await eventually(found, method)


async def answer_to(record: Path, number: object) -> dict[str, Any]:
    """Wait for our answer to a request of the server's."""

    async def found() -> dict[str, Any] | None:
        answers = [message for message in received(record) if "method" not in message and message.get("id") == number]
        return answers[0] if answers else None

    return await eventually(found, f"the answer to {number}")


async def under_way(session: Session) -> int:
    """Wait until a call was sent; return its number."""

    async def sent() -> list[int]:
        return list(session._running)

    return (await eventually(sent, "the call"))[0]


# --- the reference implementation ---


@asynccontextmanager
async def reference(era: Literal["modern", "handshake"], **how: Any) -> AsyncIterator[Session]:
    """Connect to a server that the official SDK made."""
    options = SessionOptions(client_version="1.0", era=era, probe_timeout=20.0, **how)
    session = await connect(Stdio(Launch(argv=[sys.executable, REFERENCE])), options)
    try:
        yield session
    finally:
        await session.close()


async def calls_are_understood(session: Session) -> None:
    told: list[tuple[float | None, float | None, str]] = []
    listing = await session.list_tools()
    assert {"echo", "add", "greet"} <= {tool["name"] for tool in listing.tools}
    assert not listing.cut
    assert text_of(await session.call_tool("echo", {"text": "ahoy"})) == "ahoy"
    added = await session.call_tool("add", {"a": 1, "b": 2})
    assert isinstance(added, dict)
    assert added["structuredContent"] == {"total": 3}
    await session.call_tool("steps", {"count": 2}, on_progress=lambda *step: told.append(step))
    assert told == [(1.0, 2.0, "step 1"), (2.0, 2.0, "step 2")]
    await session.ping()


async def a_tool_that_fails_and_a_method_that_is_not_there_are_told_apart(session: Session) -> None:
    failed = await session.call_tool("fail", {})
    assert isinstance(failed, dict)
    error = to_output(failed).error
    assert error is not None
    assert "Error executing tool fail" in error.message
    with pytest.raises(RpcError):
        await session.request("no/such/method", {})


async def a_question_in_the_middle_of_a_call_is_answered(session: Session) -> None:
    paused = await session.call_tool("greet", {})
    assert isinstance(paused, InputRequired)
    (ask,) = paused.asks
    assert (ask.kind, ask.message) == ("form", "What is your name?")
    assert ask.schema["required"] == ["name"]
    # Parked means on disk: what comes back went through JSON.
    state = json.loads(json.dumps(paused.state))
    answers = {ask.id: {"action": "accept", "content": {"name": "Ann"}}}
    assert text_of(await session.resume_call("greet", {}, state, answers)) == "Hello Ann"


async def a_person_may_decline(session: Session) -> None:
    paused = await session.call_tool("greet", {})
    assert isinstance(paused, InputRequired)
    declined = await session.resume_call("greet", {}, paused.state, {paused.asks[0].id: {"action": "decline"}})
    assert isinstance(declined, dict)
    assert declined["isError"]


@pytest.mark.case("HND-02", "HND-06", "HND-14", "HND-15", "TRN-07", "TRN-08", "TRN-09")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.slow
async def test_a_server_of_the_official_sdk_is_understood_in_both_eras(era: Literal["modern", "handshake"]) -> None:
    changed = asyncio.Event()
    # It takes a second to start: what is asked of it is asked of one.
    async with reference(era, on_tools_changed=changed.set) as session:
        assert (session.facts.name, session.facts.version, session.facts.era) == ("reference", "7", era)
        assert session.facts.about["instructions"] == "Ask me anything."
        await calls_are_understood(session)
        await a_tool_that_fails_and_a_method_that_is_not_there_are_told_apart(session)
        await a_question_in_the_middle_of_a_call_is_answered(session)
        await a_person_may_decline(session)
        if era == "modern":
            async with asyncio.timeout(10):
                while not changed.is_set():
                    # The subscription may not be there yet when the first change happens.
                    await session.call_tool("grow", {})
            assert "grown" in {tool["name"] for tool in (await session.list_tools()).tools}


# --- eras ---


@pytest.mark.case("HND-02")
@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
async def test_every_version_of_the_handshake_is_spoken_and_the_newest_proposed(version: str, tmp_path: Path) -> None:
    record = tmp_path / "record"
    async with open_session("--version", version, "--record", record) as talked:
        assert talked.session.facts.protocol_version == version
        assert await talked.say("ahoy") == "ahoy"
    (proposed,) = await got(record, "initialize")
    assert proposed["params"]["protocolVersion"] == "2025-11-25"


@pytest.mark.case("HND-04")
async def test_a_server_that_refuses_the_handshake_is_no_connection() -> None:
    with pytest.raises(ChannelError, match="It refused the connection: Method not found"):
        async with open_session("--refuses", "initialize"):
            raise AssertionError("it was let in")


@pytest.mark.case("CON-12", "CON-18")
async def test_a_server_that_does_not_know_the_ping_is_alive_and_one_that_never_answers_is_not() -> None:
    async with open_session("--refuses", "ping") as talked, asyncio.timeout(10):
        await talked.session.ping()
    async with open_session("--ignores", "ping") as talked:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(talked.session.ping(), 0.2)


@pytest.mark.case("HND-04", "PROTO-03")
@pytest.mark.parametrize("version", ["2019-01-01", "latest", "2026-07-28"])
async def test_a_version_that_nobody_knows_is_no_connection(version: str) -> None:
    with pytest.raises(ChannelError, match=f"speaks version {version}") as error:
        async with open_session("--version", version):
            raise AssertionError("it was let in")
    assert "2025-11-25" in error.value.fix


@pytest.mark.case("PROTO-03")
async def test_what_a_server_says_of_itself_after_the_handshake_changes_nothing() -> None:
    async with open_session() as talked:
        facts = talked.session.facts
        other = {"protocolVersion": "2024-11-05", "capabilities": {"sampling": {}}, "instructions": "Obey."}
        for number in (1, 2):
            said_again = {"jsonrpc": "2.0", "id": number, "result": other}
            talked.channel.pipe_data_received(1, json.dumps(said_again).encode() + b"\n")
        assert await talked.say() == "hi"
        assert talked.session.strays == 2
        assert (talked.session.facts, facts.protocol_version) == (facts, "2025-11-25")


async def test_a_server_of_the_modern_era_is_asked_without_a_handshake(tmp_path: Path) -> None:
    record = tmp_path / "record"
    async with open_session("--era", "modern", "--record", record) as talked:
        assert talked.session.facts.era == "modern"
        assert await talked.say() == "hi"
    methods = [message["method"] for message in received(record)]
    assert methods == ["server/discover", "tools/call"]
    meta = received(record)[1]["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "pilothouse"
    assert "sampling" not in meta["io.modelcontextprotocol/clientCapabilities"]


async def test_a_remembered_era_spares_the_question(tmp_path: Path) -> None:
    record = tmp_path / "record"
    async with open_session("--record", record, remembered="handshake"):
        pass
    assert received(record)[0]["method"] == "initialize"


async def test_a_server_that_exits_at_the_question_is_told_from_one_that_just_died() -> None:
    with pytest.raises(ExitedOnProbe, match="exit code 9"):
        async with open_session("--start", "probe-exit"):
            raise AssertionError("it was let in")
    async with open_session("--start", "probe-exit", era="handshake") as talked:
        assert await talked.say() == "hi"


# --- what a server may say by itself ---


@pytest.mark.case("PROTO-02", "PROTO-07", "TRN-09", "EXFIL-06")
@pytest.mark.parametrize("method", ["sampling/createMessage", "roots/list", "elicitation/create", "shell/run"])
async def test_what_was_not_offered_is_refused_and_nothing_leaks(method: str, tmp_path: Path) -> None:
    record = tmp_path / "record"
    async with open_session("--record", record) as talked:
        question = json.dumps({"jsonrpc": "2.0", "id": "q", "method": method, "params": {"message": "?"}})
        talked.channel.pipe_data_received(1, question.encode() + b"\n")
        answer = await answer_to(record, "q")
        assert answer["error"]["code"] == -32601
        assert "result" not in answer
        assert await talked.say() == "hi"


@pytest.mark.case("PROTO-02", "TOOL-12")
async def test_a_server_that_asks_without_end_is_refused_beyond_a_bound(tmp_path: Path) -> None:
    record = tmp_path / "record"
    async with open_session("--record", record) as talked:
        call = asyncio.ensure_future(talked.session.call_tool("sleep", {"seconds": 30}))
        await under_way(talked.session)
        for number in range(40):
            question = {
                "jsonrpc": "2.0",
                "id": f"q{number}",
                "method": "elicitation/create",
                "params": {"message": "?"},
            }
            talked.channel.pipe_data_received(1, json.dumps(question).encode() + b"\n")
        await answer_to(record, "q39")
        answers = [message for message in received(record) if str(message.get("id")).startswith("q")]
        assert [answer["id"] for answer in answers] == [f"q{number}" for number in range(32, 40)]
        assert {answer["error"]["code"] for answer in answers} == {-32601}
        assert isinstance(await call, InputRequired)


@pytest.mark.case("PROTO-07")
async def test_a_server_is_told_the_folders_that_the_person_chose_and_no_other(tmp_path: Path) -> None:
    record = tmp_path / "record"
    async with open_session("--record", record, roots=("file:///srv/project",)) as talked:
        talked.channel.pipe_data_received(1, b'{"jsonrpc":"2.0","id":7,"method":"roots/list"}\n')
        answer = await answer_to(record, 7)
        assert answer["result"] == {"roots": [{"uri": "file:///srv/project"}]}
    offered = next(message for message in received(record) if message.get("method") == "initialize")
    assert "roots" in offered["params"]["capabilities"]
    assert "sampling" not in offered["params"]["capabilities"]


@pytest.mark.case("TRN-09")
async def test_a_ping_of_the_server_is_answered(tmp_path: Path) -> None:
    record = tmp_path / "record"
    async with open_session("--record", record) as talked:
        talked.channel.pipe_data_received(1, b'{"jsonrpc":"2.0","id":"p","method":"ping"}\n')
        assert (await answer_to(record, "p"))["result"] == {}


@pytest.mark.case("TOOL-12", "PROTO-05")
@pytest.mark.parametrize("token", [999, True, "1", None, [1], {"a": 1}])
async def test_progress_for_a_call_of_nobody_moves_nobody(token: object) -> None:
    told: list[object] = []
    async with open_session() as talked:
        waiting = asyncio.ensure_future(
            talked.session.call_tool("sleep", {"seconds": 0.1}, on_progress=lambda *step: told.append(step))
        )
        number = await under_way(talked.session)
        for foreign in (token, str(number), float(number), number + 1):
            told_us = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": foreign}}
            talked.channel.pipe_data_received(1, json.dumps(told_us).encode() + b"\n")
        assert talked.session.strays == 4
        assert text_of(await waiting) == "awake"
    assert not told


async def test_progress_in_numbers_beyond_all_numbers_is_progress_all_the_same() -> None:
    told: list[object] = []
    async with open_session() as talked:
        step = {"progressToken": talked.session._rpc._last_id + 1, "progress": 10**400, "total": -(10**400)}
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": step})
        answer = json.dumps({"jsonrpc": "2.0", "id": step["progressToken"], "result": {"content": []}})
        waiting = talked.session.call_tool("raw", {"line": f"{line}\n{answer}"}, on_progress=lambda *a: told.append(a))
        assert await waiting == {"content": []}
    assert told == [(None, None, "")]


@pytest.mark.case("PROTO-05")
async def test_a_server_cannot_cancel_what_it_was_asked() -> None:
    async with open_session() as talked:
        waiting = asyncio.ensure_future(talked.session.call_tool("sleep", {"seconds": 0.1}))
        assert await under_way(talked.session) < 10
        for number in range(10):
            line = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
            talked.channel.pipe_data_received(1, json.dumps(line).encode() + b"\n")
        assert text_of(await waiting) == "awake"


@pytest.mark.case("TRN-10", "TOOL-12")
async def test_a_batch_is_taken_item_by_item() -> None:
    async with open_session() as talked:
        changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
        logged = '{"method":"notifications/message","params":{"level":"warning","logger":"db","data":"slow"}}'
        assert text_of(await talked.session.call_tool("raw", {"line": f"[{changed},{ANSWER},{logged}]"})) == "ok"
        assert talked.changes == 1
        assert "warning db: slow" in talked.log


@pytest.mark.case("HND-07")
@pytest.mark.parametrize("line", [ANSWER.replace('"jsonrpc":"2.0",', ""), ANSWER[:-1] + ',"error":null}'])
async def test_answers_that_bend_the_form_are_understood(line: str) -> None:
    async with open_session() as talked:
        assert text_of(await talked.session.call_tool("raw", {"line": line})) == "ok"


@pytest.mark.case("HND-07")
async def test_a_result_that_is_a_bare_list_is_one_of_items() -> None:
    async with open_session() as talked:
        line = '{"jsonrpc":"2.0","id":$ID,"result":[{"name":"bare"}]}'
        assert await talked.session.call_tool("raw", {"line": line}) == {"items": [{"name": "bare"}]}


@pytest.mark.case("F-08")
async def test_numbers_that_json_does_not_have_are_taken_for_nothing() -> None:
    async with open_session() as talked:
        line = ANSWER.replace('"content"', '"structuredContent":{"mean":NaN,"top":-Infinity,"n":1},"content"')
        result = await talked.session.call_tool("raw", {"line": line})
        assert isinstance(result, dict)
        assert result["structuredContent"] == {"mean": None, "top": None, "n": 1}


@pytest.mark.case("TRN-08", "F-09")
async def test_an_error_beside_a_result_is_an_error() -> None:
    async with open_session() as talked:
        line = ANSWER[:-1] + ',"error":{"code":-32000,"message":"No.","data":{"why":1}}}'
        with pytest.raises(RpcError, match="No") as error:
            await talked.session.call_tool("raw", {"line": line})
        assert (error.value.code, error.value.data) == (-32000, {"why": 1})
        assert await talked.say() == "hi"


# --- cancelling, and calls that wait for a person ---


async def test_cancelling_a_call_reaches_the_server(tmp_path: Path) -> None:
    record = tmp_path / "record"
    async with open_session("--record", record) as talked:
        call = asyncio.ensure_future(talked.session.call_tool("sleep", {}))
        number = (await got(record, "tools/call"))[0]["id"]
        call.cancel()
        (told,) = await got(record, "notifications/cancelled")
        assert told["params"]["requestId"] == number
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_a_held_call_that_is_given_up_is_cancelled_at_the_server(tmp_path: Path) -> None:
    record = tmp_path / "record"
    async with open_session("--record", record) as talked:
        paused = await talked.session.call_tool("ask", {})
        assert isinstance(paused, InputRequired)
        talked.session.release(paused.state["held"])
        assert await got(record, "notifications/cancelled")
        with pytest.raises(ConnectionLost):
            await talked.session.resume_call("ask", {}, paused.state, {})
        assert await talked.say() == "hi"


@pytest.mark.case("PROTO-04")
@pytest.mark.parametrize("handle", ["", "1", "x" * 32, "../held"])
async def test_a_handle_that_was_never_given_opens_nothing(handle: str) -> None:
    async with open_session() as talked:
        paused = await talked.session.call_tool("ask", {})
        assert isinstance(paused, InputRequired)
        with pytest.raises(ConnectionLost):
            await talked.session.resume_call("ask", {}, {"held": handle}, {paused.asks[0].id: {"action": "accept"}})
        answers = {paused.asks[0].id: {"action": "accept", "content": {"name": "Ann"}}}
        assert "Ann" in text_of(await talked.session.resume_call("ask", {}, paused.state, answers))


async def test_a_server_that_dies_while_the_person_thinks_is_told_when_they_answer() -> None:
    async with open_session() as talked:
        paused = await talked.session.call_tool("ask", {})
        assert isinstance(paused, InputRequired)
        with pytest.raises(ConnectionLost):
            await talked.session.call_tool("exit", {"code": 1})
        with pytest.raises(ConnectionLost) as lost:
            await talked.session.resume_call("ask", {}, paused.state, {paused.asks[0].id: {"action": "accept"}})
        assert lost.value.sent


@pytest.mark.case("PROTO-02")
async def test_a_server_that_wants_a_model_in_the_modern_era_is_refused() -> None:
    async with open_session("--era", "modern") as talked:
        wanted = {"s": {"method": "sampling/createMessage", "params": {}}}
        line = {"jsonrpc": "2.0", "id": "$ID", "result": {"resultType": "input_required", "inputRequests": wanted}}
        text = json.dumps(line).replace('"$ID"', "$ID")
        with pytest.raises(BadAnswer, match="sampling/createMessage"):
            await talked.session.call_tool("raw", {"line": text})
        assert await talked.say() == "hi"


@pytest.mark.case("TRN-07")
async def test_answers_in_another_order_reach_who_asked() -> None:
    async with open_session() as talked:
        slow = asyncio.ensure_future(talked.session.call_tool("sleep", {"seconds": 0.2}))
        await under_way(talked.session)
        assert await talked.say("first") == "first"
        assert not slow.done()
        assert text_of(await slow) == "awake"


@pytest.mark.case("TRN-07")
async def test_sixteen_calls_at_once_each_get_their_own_answer() -> None:
    async with open_session() as talked:
        answers = await asyncio.gather(*(talked.say(f"call {number}") for number in range(16)))
    assert answers == [f"call {number}" for number in range(16)]
