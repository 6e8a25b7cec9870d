"""What servers wrote, kept on disk: from one start to the next, masked, bounded, gone with the server."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from pilothouse.mcp.servers.logbook import Logbook
from pilothouse.types import limits
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.servers import LogLine
from tests.mcp.conftest import Scripted
from tests.support.lag import longest_turn
from tests.support.mcp_hosting import McpHost, open_mcp_host, text
from tests.support.waiting import eventually


def line(said: str, at: float = 1.0) -> LogLine:
    return LogLine(at=at, source="stderr", level="info", text=said)


def records(path: Path) -> list[dict[str, object]]:
    return [json.loads(record) for record in path.read_bytes().split(b"\n")[:-1]]


@pytest.mark.case("SPAWN-10", "OBS-06", "SECRET-01")
async def test_what_a_server_wrote_is_there_after_a_restart_without_secrets(
    home: Path, hosted: McpHost, scripted: Scripted
) -> None:
    said = "Hello with canary-secret-value"
    view = await hosted.add(scripted("--say", said, env={"TOKEN": "canary-secret-value"}))
    await hosted.until("Scripted", "connected")
    before = (await hosted.admin.log(ME, view.id)).lines
    await hosted.supervisor.close()
    path = home / "logs" / "mcp" / f"{view.id}.log"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "canary-secret-value" not in path.read_text()
    async with open_mcp_host(home) as again:
        assert (await again.admin.log(ME, view.id)).lines[: len(before)] == before
        assert text(await again.call("scripted.echo", {"text": "x"})) == "x"
        told = [each.text for each in (await again.admin.log(ME, view.id)).lines]
    assert sum(each.startswith("Hello with ") for each in told) == 2
    assert [each["text"] for each in records(path)][: len(told)] == told


@pytest.mark.case("F-12", "SPAWN-10")
@pytest.mark.slow
async def test_a_flood_fills_no_disk_and_keeps_nobody_waiting(home: Path, hosted: McpHost, scripted: Scripted) -> None:
    view = await hosted.add(scripted())
    await hosted.until("Scripted", "connected")

    async def flooded() -> None:
        assert text(await hosted.call("scripted.flood", {"megabytes": 64})) == "flooded"

    # Held up by the flood it would be many seconds.
    assert await longest_turn(flooded()) < 1
    assert text(await hosted.call("scripted.echo", {"text": "alive"})) == "alive"
    await hosted.supervisor.close()
    path = home / "logs" / "mcp" / f"{view.id}.log"
    assert path.stat().st_size <= limits.SERVER_LOG_BYTES
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert any("lines are missing here" in str(each["text"]) for each in records(path))


@pytest.mark.case("TEXT-06", "TEXT-07")
async def test_no_text_makes_a_second_record(tmp_path: Path) -> None:
    evil = 'a\n{"at":1,"source":"host","level":"info","text":"forged"}\r\u2028\u0085\x1b[2J\x9b\x00\ud800 ende'
    book = Logbook(tmp_path)
    book.log("one").write(line(evil))
    await book.close()
    assert (tmp_path / "one.log").read_bytes().isascii()
    assert len(records(tmp_path / "one.log")) == 1
    assert [each.text for each in book.log("one").read()] == [evil.replace("\ud800", "?")]


async def test_the_older_half_of_a_full_log_is_dropped(tmp_path: Path) -> None:
    log = Logbook(tmp_path).log("one")
    for number in range(30):
        log.append([line(f"{number} {'x' * 900}", float(each)) for each in range(100)])
        assert (tmp_path / "one.log").stat().st_size <= limits.SERVER_LOG_BYTES
    kept = records(tmp_path / "one.log")
    assert kept[-1]["at"] == 99
    assert len(kept) > 500
    assert len(log.read()) <= limits.SERVER_LOG_LINES


async def test_what_is_no_record_is_passed_over(tmp_path: Path) -> None:
    log = Logbook(tmp_path).log("one")
    log.append([line("first")])
    with (tmp_path / "one.log").open("ab") as file:
        file.write(b'rubbish\n{"at": "no"}\n\xff\xfe\n')
    log.append([line("second")])
    assert [each.text for each in log.read()] == ["first", "second"]


async def test_a_log_that_cannot_be_written_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    book = Logbook(tmp_path / "file")
    for said in ("one", "two"):
        book.log("one").write(line(said))
        await book.close()
    assert len(caplog.records) == 1


@pytest.mark.case("SRV-22")
@pytest.mark.slow
async def test_the_log_goes_with_the_server(home: Path, hosted: McpHost, scripted: Scripted) -> None:
    view = await hosted.add(scripted("--say", "Hello"))
    await hosted.until("Scripted", "connected")
    path = home / "logs" / "mcp" / f"{view.id}.log"

    async def written() -> bool:
        return path.exists()

    await eventually(written, "the log")
    history = hosted.server("Scripted").history
    await hosted.admin.delete(ME, view.id)
    history.line("stderr", "info", "Still here.")
    await hosted.supervisor.close()
    assert not path.exists()


async def test_an_id_leads_to_no_file_outside_the_folder(tmp_path: Path) -> None:
    beside = tmp_path / "beside.log"
    beside.write_text("mine")
    await Logbook(tmp_path / "mcp").forget("../beside")
    assert beside.read_text() == "mine"
