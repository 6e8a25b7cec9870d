"""Secrets that we know, in what terminals and commands write: covered, wherever a piece begins or ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse.secrets.redaction import Redactor
from pilothouse.tools.sandbox.sandbox import Order, Sandbox
from pilothouse.tools.terminal.background import start_background
from pilothouse.tools.terminal.masking import Bare, covered_ends, covered_piece, held_back
from pilothouse.tools.terminal.output_buffer import HeadTail, Ring
from pilothouse.tools.terminal.recording import Began, Recording
from pilothouse.tools.terminal.terminals import Terminals
from pilothouse.types.terminals import TerminalSettings
from tests.support.waiting import eventually

SECRET = "sk-known-secret-40112"
COVERED = b"*" * len(SECRET)
BEGAN = Began(folder="/w", shell="bash", columns=80, rows=24, at=0.0, sandbox="none", index=0)


@pytest.fixture
def cover() -> Redactor:
    redactor = Redactor()
    redactor.learn(SECRET)
    redactor.learn("sk-another-one-that-is-longer-40113")
    return redactor


@pytest.mark.case("SECRET-01", "SECRET-04")
@pytest.mark.parametrize("cut", range(len(SECRET) + 1))
async def test_a_secret_is_covered_in_a_recording_wherever_its_bytes_come_apart(
    tmp_path: Path, cover: Redactor, cut: int
) -> None:
    recording = Recording(tmp_path, "c", cover)
    recording.begin(BEGAN)
    recording.add(b"before " + SECRET[:cut].encode())
    await recording.flush()
    assert (tmp_path / "c.bytes").read_bytes().rstrip(b"*") == b"before "
    recording.add(SECRET[cut:].encode() + b" after")
    recording.ended(0)
    await recording.close()
    assert (tmp_path / "c.bytes").read_bytes() == b"before " + COVERED + b" after"
    assert SECRET.encode() not in await recording.cast("c")


async def test_what_only_begins_like_a_secret_is_written_as_it_is(tmp_path: Path, cover: Redactor) -> None:
    recording = Recording(tmp_path, "c", cover)
    recording.begin(BEGAN)
    for piece in (b"sk-kno", b"wn unknowns, ", b"s", b"k"):
        recording.add(piece)
        await recording.flush()
    recording.ended(0)
    await recording.close()
    assert (tmp_path / "c.bytes").read_bytes() == b"sk-known unknowns, sk"


async def test_after_a_crash_in_the_middle_of_a_secret_the_recording_goes_on_in_its_places(
    tmp_path: Path, cover: Redactor
) -> None:
    killed = Recording(tmp_path, "c", cover)
    killed.begin(BEGAN)
    killed.add(b"one " + SECRET[:12].encode())
    await killed.flush()
    again = Recording(tmp_path, "c", cover)
    assert again.index == 16
    again.begin(Began(folder="/w", shell="bash", columns=80, rows=24, at=0.0, sandbox="none", index=again.index))
    again.add(b" two")
    again.ended(0)
    await again.close()
    assert (tmp_path / "c.bytes").read_bytes() == b"one " + b"*" * 12 + b" two"


@pytest.mark.case("SECRET-01", "SECRET-04")
@pytest.mark.slow
async def test_a_real_terminal_that_writes_a_secret_in_two_goes_has_it_covered(
    home: Path, tmp_path: Path, cover: Redactor
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "key").write_text(SECRET)
    terminals = Terminals(Sandbox(home, TerminalSettings), home / "recordings", cover)
    await terminals.open_terminal("c", str(work))
    await terminals.type("c", b"head -c 9 key; sleep 0.3; tail -c +10 key; echo; echo do''ne\r")

    async def done() -> bool:
        return b"\ndone" in (await terminals.session("c").read(0, 100_000))[1]

    await eventually(done, "the end")
    # The person at the terminal sees what is there; what is kept of it has no secret.
    assert SECRET.encode() in (await terminals.session("c").read(0, 100_000))[1]
    cast = (await terminals.recording("c")).data
    await terminals.close()
    (kept,) = (home / "recordings").glob("*.bytes")
    assert COVERED in kept.read_bytes()
    for content in (cast, kept.read_bytes()):
        assert SECRET[-9:].encode() not in content
        assert b"done" in content


async def test_what_a_command_in_the_background_writes_is_covered_from_whichever_byte_it_is_read(
    home: Path, tmp_path: Path, cover: Redactor
) -> None:
    order = Order(argv=("printf", f"key {SECRET} end"), folder=str(tmp_path), owner="c")
    process = await start_background(Sandbox(home, TerminalSettings), order, "i", "printf", cover)
    await process.wait()
    whole = f"key {COVERED.decode()} end"
    for index in range(len(whole)):
        assert process.output(index).output == whole[index:]


def test_no_half_of_a_secret_stays_where_the_middle_is_left_out(cover: Redactor) -> None:
    for shift in range(len(SECRET) + 2):
        kept = HeadTail(head=200, tail=200)
        kept.add(b"a" * (190 - shift) + f" {SECRET} ".encode() + b"b" * 1_000)
        kept.add(b"c" * (190 - shift) + f" {SECRET} ".encode() + b"d" * (180 + shift - len(SECRET)))
        ends = covered_ends(kept, cover)
        assert ends.left_out
        assert not any(part in ends.head + ends.tail for part in (b"sk-k", b"know", b"secret", b"40112"))


def test_a_reader_waits_for_the_rest_of_a_secret_and_for_nothing_else(cover: Redactor) -> None:
    assert held_back(b"the key is sk-known-sec", cover) == len("sk-known-sec")
    assert held_back(b"many thanks", cover) == 0
    assert held_back(SECRET.encode(), cover) == 0
    ring = Ring()
    ring.add(b"x" + SECRET.encode() + b"y")
    assert covered_piece(ring, 5, cover) == COVERED[4:] + b"y"
    assert covered_piece(ring, 5, Bare()) == SECRET[4:].encode() + b"y"
