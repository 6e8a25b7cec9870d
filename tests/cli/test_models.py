"""`pilothouse models` and `pilothouse doctor`."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse.models.known_models import source
from tests.support.commands import pilothouse
from tests.support.packages import install
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import Say, Text

KEY = "sk-a-key-that-nobody-must-see"
PRICES = "$3 in, $15 out per 1M tokens"


def test_an_added_model_says_what_is_known_of_it_and_who_says_so(home: Path) -> None:
    add = ("models", "add", "--provider", "anthropic-compatible", "--model", "claude-sonnet-4-5")
    code, out, err = _run(home, add, "")
    assert (code, out) == (0, "claude-sonnet-4-5\n")
    assert f"200K context, thinks, sees images, {PRICES}, from {source()}\n" in err
    code, out, err = _run(home, (*add, "--id", "mine", "--context-window", "9000", "--no-thinking", "--no-images"), "")
    assert f"9K context, {PRICES}\n" in err
    assert f"api.anthropic.com, 200K context, thinks, sees images, {PRICES}" in _run(home, ("models", "list"), "")[1]


def test_providers_are_listed_and_added_by_name(home: Path) -> None:
    code, out, _ = _run(home, ("models", "providers"), "")
    assert code == 0
    assert "groq " in out
    assert "https://console.groq.com/keys" in out
    code, out, err = _run(home, ("models", "add", "--provider", "groq", "--model", "m", "--id", "g"), "")
    assert (code, out) == (0, "g\n"), err
    assert "api.groq.com" in _run(home, ("models", "list"), "")[1]
    code, _, err = _run(home, ("models", "add", "--provider", "azure", "--model", "m"), "")
    assert (code, "put your own resource in the place of {resource}" in err) == (2, True)
    assert "--base-url with the whole address." in err


def test_a_provider_is_found_by_its_name_as_it_is_shown_and_a_slip_is_put_right(home: Path) -> None:
    for name in ("Groq", "LM Studio", "google gemini"):
        code, _, err = _run(home, ("models", "add", "--provider", name, "--model", "m", "--key-source", ""), "")
        assert code == 0, err
    code, _, err = _run(home, ("models", "add", "--provider", "grok", "--model", "m"), "")
    assert (code, err.splitlines()[0]) == (2, "The provider “grok” is not known.")
    assert "Did you mean groq? Use one of " in err


def test_a_key_that_waits_in_the_environment_is_taken_and_one_that_is_missing_is_told(home: Path) -> None:
    add = ("models", "add", "--provider", "groq", "--model", "m")
    code, _, err = _run(home, (*add, "--id", "without"), "")
    assert (code, "It has no key. Get one: https://console.groq.com/keys\n" in err) == (0, True)
    assert "Then give it: pilothouse models edit without --key\n" in err
    done = pilothouse(home, *add, "--id", "found", GROQ_API_KEY=KEY)
    assert (done.code, "Its key comes from env:GROQ_API_KEY.\n" in done.err) == (0, True)
    # Whoever says that there is none, or names another place, is believed.
    for more in (("--key-source", ""), ("--base-url", "http://127.0.0.1:9/v1")):
        done = pilothouse(home, *add, *more, GROQ_API_KEY=KEY)
        assert (done.code, "key" in done.err) == (0, False)


@pytest.mark.case("SECRET-05")
async def test_a_model_is_added_tested_edited_asked_and_removed(home: Path) -> None:
    async with Endpoint() as endpoint:

        async def do(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
            return await asyncio.to_thread(_run, home, arguments, stdin)

        code, out, err = await do(
            *("models", "add", "--name", "My Model", "--provider", "openai-compatible", "--model", "hello"),
            *("--base-url", f"{endpoint.url}/v1", "--key", "--context-window", "8000"),
            stdin=f"{KEY}\n",
        )
        assert (code, out) == (0, "my-model\n"), err
        assert "It is the default now." in err
        assert await do("models", "default") == (0, "my-model\n", "")
        code, out, err = await do("models", "test")
        assert (code, err) == (0, "")
        assert "my-model:" in out
        assert await do("run", "hi") == (0, "Hello from hello.\n", "")
        assert endpoint.requests[-1].headers["authorization"] == f"Bearer {KEY}"

        # A key stays with the address it was given for, until its owner says otherwise.
        await do("models", "edit", "my-model", "--base-url", endpoint.url.replace("127.0.0.1", "localhost") + "/v1")
        asked = len(endpoint.requests)
        code, out, err = await do("run", "hi")
        assert (code, len(endpoint.requests)) == (1, asked)
        assert "given for" in err
        code, out, err = await do("models", "confirm-key", "my-model")
        assert code == 0
        assert "localhost" in out
        assert (await do("run", "hi"))[0] == 0

        code, out, err = await do("models", "list", "--json")
        assert [one["name"] for one in json.loads(out)["models"] if one["isDefault"]] == ["My Model"]
        code, out, err = await do("models", "remove", "my-model")
        assert code == 1
        assert "default" in err
        await do("models", "default", "embedded")
        assert (await do("models", "remove", "my-model"))[0] == 0
        assert (await do("models", "test", "my-model"))[0] == 2
    assert not list(_files_with(home, KEY))


def _files_with(home: Path, text: str) -> Iterator[Path]:
    return (path for path in home.rglob("*") if path.is_file() and text.encode() in path.read_bytes())


def _run(home: Path, arguments: tuple[str, ...], stdin: str) -> tuple[int, str, str]:
    done = pilothouse(home, *arguments, stdin=stdin)
    assert KEY not in done.out + done.err
    return done.code, done.out, done.err


def test_what_is_missing_for_a_model_is_told(home: Path) -> None:
    assert "--provider" in pilothouse(home, "models", "add", "--model", "x").err
    assert pilothouse(home, "models", "add", "--provider", "nonsense").code == 2
    assert pilothouse(home, "models", "add", "--provider", "ollama", "--model", "m", "--key").code == 2
    assert "There are: embedded" in pilothouse(home, "models", "edit", "nope", "--name", "x").err
    found = pilothouse(home, "models", "found", OPENAI_API_KEY=KEY)
    assert "--key-source env:OPENAI_API_KEY" in found.out
    assert KEY not in found.out
    nobody = pilothouse(home, "models", "found", "127.0.0.1:9")
    assert (nobody.code, nobody.out) == (1, "")
    assert "No model server answered at 127.0.0.1:9" in nobody.err
    wrong = pilothouse(home, "models", "find", "my nas")
    assert (wrong.code != 0, "“my nas” is no host." in wrong.err) == (True, True)


def test_the_doctor_says_what_is_there_and_the_fix_for_what_is_not(home: Path) -> None:
    well = pilothouse(home, "doctor")
    assert well.code == 0, well.out
    for words in ("Python 3.", str(home), "The database opens (sqlite)", "Model embedded", "pilothouse serve"):
        assert words in well.out
    (home / "pilothouse.db").write_bytes(b"this is not a database" * 100)
    home.chmod(0o755)
    ill = pilothouse(home, "doctor")
    assert ill.code == 1
    assert "open to others" in ill.out
    assert "damaged" in ill.out
    assert "1 thing to fix." in ill.out
    for_programs = pilothouse(home, "doctor", "--json")
    found = json.loads(for_programs.out)["findings"]
    assert (for_programs.code, [one["level"] for one in found].count("bad")) == (1, 1)
    assert all(one["text"] for one in found)


def test_a_script_is_found_from_any_folder_and_a_model_without_a_key_has_none_to_confirm(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hello.yaml").write_text("- Hello.")
    monkeypatch.chdir(tmp_path)
    assert pilothouse(home, "models", "add", "--provider", "scripted", "--model", "hello.yaml", "--id", "s").code == 0
    monkeypatch.chdir("/")
    assert pilothouse(home, "run", "hi", "--model", "s").out == "Hello.\n"
    confirmed = pilothouse(home, "models", "confirm-key", "s")
    assert (confirmed.code, confirmed.out) == (1, "")
    assert "s has no key." in confirmed.err


async def test_the_doctor_tries_the_address_of_each_model(home: Path) -> None:
    async def do(*arguments: str) -> tuple[int, str, str]:
        return await asyncio.to_thread(_run, home, arguments, "")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed = taken.getsockname()[1]
    add = ("models", "add", "--provider", "openai-compatible", "--model", "m")
    async with Endpoint() as endpoint:
        await do(*add, "--id", "there", "--base-url", f"{endpoint.url}/v1")
        await do(*add, "--id", "gone", "--base-url", f"http://127.0.0.1:{closed}/v1")
        await do("models", "default", "there")
        code, out, _ = await do("doctor")
        assert code == 0, out
        assert re.search(r"^✓ Model there ", out, re.MULTILINE), out
        assert re.search(r"^! Model gone: .* It cannot be reached: nothing listens there\.$", out, re.MULTILINE), out
        assert "pilothouse models edit gone --base-url" in out
        await do("models", "default", "gone")
        code, out, _ = await do("doctor")
        assert code == 1
        assert re.search(r"^✗ Model gone \(the default\): ", out, re.MULTILINE), out
        # Once: that it lists no models has the same reason.
        assert "could not be asked" not in out


def test_the_doctor_tells_of_rules_that_cannot_be_read_and_of_a_plugin_that_is_switched_off(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pilothouse(home, "policy", "add", "deny", "--command", "git push").code == 0
    (home / "policy.json").write_text('{\n  "rules": [\n    {"id": 1}\n  ]\n}\n')
    install(tmp_path / "packages", "weather", "raise RuntimeError('no weather today')")
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    assert "is off until you enable it" in pilothouse(home, "doctor").out.lower()
    assert pilothouse(home, "plugins", "enable", "weather").code == 1
    told = pilothouse(home, "doctor")
    assert told.code == 1
    assert "policy.json: line 3" in told.out
    assert "nothing is allowed by a rule" in told.out
    assert "✗ Plugin weather (weather 1.2.3) is switched off: RuntimeError: no weather today" in told.out
    assert "2 things to fix." in told.out


async def test_what_was_learned_about_a_model_is_listed_until_it_is_forgotten(home: Path) -> None:
    async def do(*arguments: str) -> tuple[int, str, str]:
        return await asyncio.to_thread(_run, home, arguments, "")

    refusal = json.dumps({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"]}]}).encode()
    async with Endpoint() as endpoint:
        add = ("models", "add", "--id", "m", "--provider", "openai-compatible", "--model", "m")
        assert (await do(*add, "--base-url", f"{endpoint.url}/v1"))[0] == 0
        endpoint.answer(Reply(status=422, body=refusal), Reply(Say((Text(["Hello."]),))))
        assert (await do("models", "test", "m"))[0] == 0
        code, _, err = await do("models", "list")
        assert code == 0
        assert "m: Does not take stream_options; learned just now." in err
        assert "pilothouse models forget ID" in err
        code, out, _ = await do("models", "list", "--json")
        told = next(one for one in json.loads(out)["models"] if one["id"] == "m")["learned"]
        assert [one["text"] for one in told] == ["Does not take stream_options"]
        assert (await do("models", "forget", "m"))[0] == 0
        assert "stream_options" not in (await do("models", "list"))[2]
        assert (await do("models", "forget", "nobody"))[0] == 2
