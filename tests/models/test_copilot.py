"""GitHub Copilot: the sign-in is found, exchanged, renewed and used under our own name, and what is missing is said."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pilothouse import __version__
from pilothouse.models.copilot_login import find_token
from pilothouse.models.copilot_tokens import CopilotSigner
from pilothouse.models.discovery import find_models
from pilothouse.models.factory import make_model, make_signer
from pilothouse.models.listing import offered
from pilothouse.models.provider_table import belongs, signs_at
from pilothouse.models.signing import Outgoing
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.errors import PilothouseError
from pilothouse.types.messages import CallBlock, ImageBlock, Message, ModelRequest, ResultBlock, TextBlock
from pilothouse.types.models import ModelConfig, Provider
from tests.models.asking import answer_of, failure_of, said, text_of
from tests.models.strict_provider import stream_of
from tests.support.tiny_http import Answer, Request, TinyHttp

LOGIN = "ghu_what-the-editor-saved"
PASSING = "tid=1;exp=2;a-token-that-passes"
WHO = f"pilothouse/{__version__}"


@pytest_asyncio.fixture(autouse=True)
async def no_connection_left() -> AsyncIterator[None]:
    yield
    await close_clients()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine on which nobody is signed in."""
    for name in ("COPILOT_GITHUB_TOKEN", "GITHUB_COPILOT_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    return tmp_path


def sign_in(machine: Path, token: str = LOGIN, name: str = "apps.json", whose: str = "github.com:Iv1.abc") -> None:
    file = machine / ".config/github-copilot" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({whose: {"user": "octocat", "oauth_token": token, "githubAppId": "Iv1.abc"}}))


class Copilot:
    """GitHub and Copilot on loopback, which insist on what their tools are known to send."""

    def __init__(self, **token: Any) -> None:
        self.token: dict[str, Any] = {"token": PASSING, "expires_at": 4e9, "refresh_in": 1500} | token
        self.logins = {LOGIN}
        self.passing = {PASSING}
        self.exchanges = 0

    def github(self, request: Request) -> Answer:
        """Give a token for a sign-in."""
        if (request.method, request.target) != ("GET", "/copilot_internal/v2/token"):
            return Answer(404)
        if request.headers.get("editor-version") != WHO or request.headers.get("user-agent") != WHO:
            return Answer(400, b'{"message": "who is that?"}')
        scheme, _, login = request.headers["authorization"].partition(" ")
        if scheme != "token" or login not in self.logins:
            return Answer(401, json.dumps({"message": f"Bad credentials {login}"}).encode())
        self.exchanges += 1
        return Answer(200, json.dumps(self.token).encode())

    def api(self, request: Request) -> Answer:
        """Answer, or list the models."""
        if request.headers.get("authorization", "").removeprefix("Bearer ") not in self.passing:
            return Answer(401, b"unauthorized: token expired\n")
        if request.headers.get("editor-version") != WHO or "copilot-integration-id" in request.headers:
            return Answer(400, b"bad request: unknown Editor-Version header for IDE auth\n")
        match request.method, request.target:
            case "GET", "/models":
                return Answer(200, json.dumps(MODELS).encode())
            case "POST", "/chat/completions":
                return Answer(200, stream_of("openai-compatible"), {"content-type": "text/event-stream"})
            case "POST", "/responses":
                return Answer(200, stream_of("openai-responses"), {"content-type": "text/event-stream"})
        return Answer(404)

    def both(self, request: Request) -> Answer:
        """Be GitHub and Copilot at one address."""
        return self.github(request) if "copilot_internal" in request.target else self.api(request)


def listed(name: str, kind: str = "chat", **more: Any) -> dict[str, Any]:
    limits = {"max_context_window_tokens": 128000, "max_output_tokens": 16384}
    about = {"family": name, "limits": limits, "object": "model_capabilities", "type": kind}
    return {"id": name, "name": name.upper(), "object": "model", "vendor": "x", "capabilities": about, **more}


MODELS = {
    "object": "list",
    "data": [
        listed("gpt-4.1"),
        listed("claude-sonnet-4.5", supported_endpoints=["/chat/completions", "/v1/messages"]),
        listed("gpt-5.3-codex", supported_endpoints=["/responses"]),
        listed("text-small", kind="embeddings"),
        listed("copilot-next", kind="completion"),
    ],
}


def at(url: str, service: str = "copilot", source: str = "copilot") -> ModelConfig:
    wire: Provider = "openai-responses" if service == "copilot-responses" else "openai-compatible"
    return ModelConfig(
        name="C", provider=wire, service=service, base_url=url, model="gpt-4.1", api_key_source=source, id="c"
    )


@pytest.mark.parametrize("service", ["copilot", "copilot-responses"])
async def test_whoever_signed_in_with_an_editor_can_ask_at_the_place_that_github_names(
    machine: Path, service: str
) -> None:
    sign_in(machine)
    copilot = Copilot()
    async with TinyHttp(copilot.api) as there, TinyHttp(copilot.github) as github:
        copilot.token["endpoints"] = {"api": there.url, "telemetry": "http://127.0.0.1:9"}
        model = make_model(at(github.url, service))
        for _ in range(2):
            events = await answer_of(model, said("Hello?"))
            assert text_of(events) == "Hello there.", events[-1]
        # One token for both; what the editor saved goes to GitHub alone.
        assert (copilot.exchanges, len(github.requests), len(there.requests)) == (1, 1, 2)
        assert LOGIN not in repr(there.requests)
        assert there.requests[0].headers["openai-intent"] == "conversation-panel"


async def test_a_token_is_renewed_before_it_passes_and_when_it_is_refused(machine: Path) -> None:
    sign_in(machine)
    now = 1_000.0
    copilot = Copilot(expires_at=2_500)
    async with TinyHttp(copilot.both) as server:
        signer = CopilotSigner(base_url=server.url, may_move=lambda place: False, clock=lambda: now)
        request = Outgoing("GET", f"{server.url}/models", {})
        for later, exchanges in ((1_000.0, 1), (2_300.0, 1), (2_400.0, 2)):
            now = later
            assert (await signer.signed(request)).headers["authorization"] == f"Bearer {PASSING}"
            assert copilot.exchanges == exchanges
        model = make_model(at(server.url))
        assert text_of(await answer_of(model, said("Hello?"))) == "Hello there."
        copilot.passing, copilot.token["token"] = {"tid=another"}, "tid=another"
        assert text_of(await answer_of(model, said("Again?"))) == "Hello there."
        assert copilot.exchanges == 4


@pytest.mark.parametrize("source", ["env:COPILOT_GITHUB_TOKEN", "secret:model-c"])
async def test_a_token_with_the_permission_is_used_as_it_is(machine: Path, source: str) -> None:
    copilot = Copilot()
    copilot.passing = {"github_pat_mine"}
    async with TinyHttp(copilot.both) as server:
        model = make_model(at(server.url, source=source), "github_pat_mine")
        assert text_of(await answer_of(model, said("Hello?"))) == "Hello there."
        assert [request.target for request in server.requests] == ["/chat/completions"]


async def test_a_sign_in_that_github_does_not_exchange_is_used_as_it_is(machine: Path) -> None:
    copilot = Copilot()
    copilot.passing = {"gho_of-another-program"}

    def both(request: Request) -> Answer:
        return (
            Answer(404, b'{"message": "Not Found"}') if "copilot_internal" in request.target else copilot.api(request)
        )

    async with TinyHttp(both) as server:
        model = make_model(at(server.url), "gho_of-another-program")
        assert text_of(await answer_of(model, said("Hello?"))) == "Hello there."


def shown() -> ModelRequest:
    picture = ImageBlock(media_type="image/png", data="iVBORw0KGgo=", size=8)
    return ModelRequest(messages=(Message("user", (TextBlock(text="What is it?"), picture)),))


def going_on() -> ModelRequest:
    call = CallBlock(id="1", name="look", arguments={})
    result = ResultBlock(id="1", name="look", text="a cat")
    return ModelRequest(
        messages=(
            Message("user", (TextBlock(text="Look."),)),
            Message("assistant", (call,)),
            Message("user", (result,)),
        )
    )


@pytest.mark.parametrize("service", ["copilot", "copilot-responses"])
@pytest.mark.parametrize(
    ("request_", "initiator", "sees"),
    [(said("Hello?"), "user", None), (shown(), "user", "true"), (going_on(), "agent", None)],
    ids=["words", "a picture", "a result"],
)
async def test_a_request_says_whether_a_person_began_it_and_whether_it_shows_pictures(
    machine: Path, service: str, request_: ModelRequest, initiator: str, sees: str | None
) -> None:
    copilot = Copilot()
    async with TinyHttp(copilot.both) as server:
        model = make_model(at(server.url, service), LOGIN)
        assert text_of(await answer_of(model, request_)) == "Hello there."
        headers = server.requests[-1].headers
        assert (headers["x-initiator"], headers.get("copilot-vision-request")) == (initiator, sees)


@pytest.mark.parametrize(
    ("service", "names"),
    [("copilot", ("claude-sonnet-4.5", "gpt-4.1")), ("copilot-responses", ("gpt-4.1", "gpt-5.3-codex"))],
)
async def test_the_models_that_chat_there_are_listed(machine: Path, service: str, names: tuple[str, ...]) -> None:
    sign_in(machine)
    async with TinyHttp(Copilot().both) as server:
        assert await offered(at(server.url, service), "") == names


async def test_without_a_sign_in_nothing_is_asked_and_what_to_do_is_said(machine: Path) -> None:
    async with TinyHttp(Copilot().both) as server:
        failed = failure_of(await answer_of(make_model(at(server.url)), said("Hello?")))
        assert failed.code == "no_key"
        assert failed.message.startswith("Nobody is signed in to GitHub Copilot on this machine. Sign in with Copilot")
        failed = failure_of(await answer_of(make_model(at(server.url), "ghp_classic"), said("Hello?")))
        assert (failed.code, "classic" in failed.message) == ("bad_key", True)
        assert server.requests == []


async def test_what_github_says_is_told_without_the_token(machine: Path) -> None:
    sign_in(machine, "ghu_revoked")
    async with TinyHttp(Copilot().both) as server:
        failed = failure_of(await answer_of(make_model(at(server.url)), said("Hello?")))
        assert failed.message == (
            "GitHub gave no Copilot token: Bad credentials …. Sign in to Copilot again with GitHub's own tools."
        )


@pytest.mark.parametrize(
    "odd",
    [
        {"endpoints": None},
        {"endpoints": {"api": 3}},
        {"endpoints": {"api": "http://[::1"}},
        {"message": None, "expires_at": None},
        {"expires_at": "2030-01-01T00:00:00Z"},
        {"expires_at": -5},
    ],
)
async def test_a_token_is_taken_whatever_else_comes_with_it(machine: Path, odd: dict[str, Any]) -> None:
    async with TinyHttp(Copilot(**odd).both) as server:
        model = make_model(at(server.url), LOGIN)
        for _ in range(2):
            assert text_of(await answer_of(model, said("Hello?"))) == "Hello there."


NO_ACCESS = {"message": "Resource not accessible", "error_details": {"message": f"{LOGIN} has no access to Copilot."}}


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (Answer(503, b"<html>"), "model_unreachable", "status 503. Try again later"),
        (
            Answer(429, b'{"message": "API rate limit exceeded"}'),
            "model_unreachable",
            "limit exceeded. Try again later",
        ),
        (Answer(302, b"", {"location": "/elsewhere"}), "model_unreachable", "status 302. Try again later"),
        (Answer(200, b"<html>"), "model_unreachable", "its answer was something else. Try again later"),
        (Answer(200, b'{"token": "a\\r\\nx: 1"}'), "model_unreachable", "its answer was something else. Try again"),
        (Answer(401, b'{"message": {"a": 1}}'), "bad_key", "status 401. Sign in to Copilot again"),
        (
            Answer(403, json.dumps(NO_ACCESS).encode()),
            "bad_key",
            "… has no access to Copilot. Sign in to Copilot again",
        ),
    ],
)
async def test_only_a_refused_sign_in_is_to_be_made_again(machine: Path, answer: Answer, code: str, words: str) -> None:
    async with TinyHttp(lambda request: answer) as server:
        failed = failure_of(await answer_of(make_model(at(server.url), LOGIN), said("Hello?")))
        assert (failed.code, words in failed.message, LOGIN in failed.message) == (code, True, False), failed.message
        # What was given for one address goes to no other, and to GitHub alone.
        assert [request.target for request in server.requests] == ["/copilot_internal/v2/token"]


async def test_a_name_that_github_does_not_take_is_told_in_its_own_words(machine: Path) -> None:
    words = b"bad request: unknown Editor-Version header for IDE auth\n"
    async with TinyHttp(lambda request: Answer(400, words)) as server:
        failed = failure_of(await answer_of(make_model(at(server.url), "github_pat_mine"), said("Hello?")))
        assert "unknown Editor-Version" in failed.message
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".config/github-copilot/apps.json", {"github.com:Iv1.b": {"oauth_token": LOGIN, "githubAppId": "Iv1.b"}}),
        (".config/github-copilot/hosts.json", {"github.com": {"user": "octocat", "oauth_token": LOGIN}}),
        (".copilot/config.json", {"copilot_tokens": {"https://github.com:octocat": LOGIN}, "theme": "auto"}),
        (".copilot/config.json", {"copilotTokens": {"https://github.com:octocat": LOGIN}}),
    ],
)
def test_the_sign_in_is_found_where_githubs_tools_keep_it(machine: Path, name: str, content: object) -> None:
    file = machine / name
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(content))
    assert find_token() == LOGIN
    assert find_token(str(file)) == LOGIN


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".config/github-copilot/apps.json", {"ghe.example:1": None, "github.com:1": {"oauth_token": LOGIN}}),
        (
            ".config/github-copilot/apps.json",
            {"github.com:1": {"oauth_token": None}, "github.com:2": {"oauth_token": LOGIN}},
        ),
        (".config/github-copilot/hosts.json", {"version": 3, "github.com": {"oauth_token": f"{LOGIN}\n"}}),
        (
            ".config/github-copilot/hosts.json",
            {"x": {"y": "z" * 70_000}, "https://GitHub.com/": {"oauth_token": LOGIN}},
        ),
        (
            ".copilot/config.json",
            {"copilot_tokens": None, "copilotTokens": {"x": None, "https://github.com:me": LOGIN}},
        ),
    ],
    ids=["nobody elsewhere", "nobody before", "a number", "much else", "nothing in the old place"],
)
@pytest.mark.parametrize("above", ["", "\ufeff", "// Managed automatically.\n  // See settings.json.\n"])
def test_what_else_stands_in_a_file_does_not_hide_the_sign_in(
    machine: Path, name: str, content: object, above: str
) -> None:
    file = machine / name
    file.parent.mkdir(parents=True)
    file.write_text(above + json.dumps(content), encoding="utf-8")
    assert find_token() == LOGIN


@pytest.mark.parametrize("token", [" ", "ghu_a\r\nX-Evil: 1", "ghu_ä€", "ghu_\0", 3, ["ghu_a"]])
def test_what_no_header_takes_is_no_sign_in(machine: Path, token: Any) -> None:
    sign_in(machine, token)
    with pytest.raises(PilothouseError, match="Nobody is signed in"):
        find_token()


def test_where_no_file_can_be_nobody_is_signed_in(machine: Path) -> None:
    os.mkfifo(machine / "pipe")
    for path in ("~nobody-of-that-name/apps.json", "\0", "/dev/zero", str(machine), str(machine / "pipe")):
        with pytest.raises(PilothouseError, match="Nobody is signed in"):
            find_token(path)


def test_a_token_named_for_copilot_counts_first_and_one_for_all_of_github_last(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "gho_all")
    monkeypatch.setenv("GH_TOKEN", "ghp_classic")
    assert find_token() == "gho_all"
    sign_in(machine)
    assert find_token() == LOGIN
    monkeypatch.setenv("COPILOT_GITHUB_TOKEN", "github_pat_mine")
    assert find_token() == "github_pat_mine"


@pytest.mark.parametrize("content", [b"", b"[]", b'{"github.com": 3}', b"\xff", b"[" * 5000])
def test_a_file_that_is_something_else_is_no_sign_in(machine: Path, content: bytes) -> None:
    sign_in(machine)
    (machine / ".config/github-copilot/apps.json").write_bytes(content)
    with pytest.raises(PilothouseError, match="Nobody is signed in"):
        find_token()


def test_the_sign_in_to_a_companys_own_server_goes_nowhere_else(machine: Path) -> None:
    sign_in(machine, whose="github.example.com:Iv1.abc")
    with pytest.raises(PilothouseError, match="Nobody is signed in"):
        find_token()


@pytest.mark.case("SECRET-05")
@pytest.mark.parametrize(
    ("host", "named", "other"),
    [
        ("api.githubcopilot.com", "https://api.individual.githubcopilot.com", "api.individual.githubcopilot.com"),
        ("api.githubcopilot.com", "https://evil.example", None),
        ("api.githubcopilot.com", "https://api.githubcopilot.com.evil.example", None),
        ("api.githubcopilot.com", "http://api.individual.githubcopilot.com", None),
        ("api.githubcopilot.com", "http://127.0.0.1:1", None),
        ("api.business.githubcopilot.com", "https://api.githubcopilot.com", None),
    ],
)
async def test_requests_move_only_to_an_address_of_copilots_own(
    machine: Path, monkeypatch: pytest.MonkeyPatch, host: str, named: str, other: str | None
) -> None:
    async with TinyHttp(Copilot(endpoints={"api": named}).both) as server:
        monkeypatch.setattr("pilothouse.models.copilot_tokens._GITHUB", server.url)
        signer = make_signer(at(f"https://{host}"), LOGIN)
        assert signer is not None
        sent = await signer.signed(Outgoing("POST", f"https://{host}/chat/completions", {}))
        assert sent.url == f"https://{other or host}/chat/completions"


@pytest.mark.case("SECRET-05")
def test_the_sign_in_belongs_to_copilot_alone() -> None:
    assert signs_at("copilot", "https://api.githubcopilot.com:443")
    assert signs_at("copilot", "https://api.business.githubcopilot.com:443")
    assert not signs_at("copilot", "https://models.github.ai:443")
    assert not signs_at("copilot", "https://a.b.githubcopilot.com:443")
    assert belongs("COPILOT_GITHUB_TOKEN", "https://api.githubcopilot.com:443")
    assert belongs("COPILOT_GITHUB_TOKEN", "https://api.openai.com:443") is False


def of_copilot(found: tuple[Any, ...]) -> list[tuple[str, str]]:
    return [(each.title, each.draft.api_key_source) for each in found if each.draft.service == "copilot"]


async def test_a_sign_in_is_offered_once(machine: Path) -> None:
    environ: dict[str, str] = {"HOME": str(machine)}
    find: Callable[..., Any] = find_models
    assert of_copilot(await find((), environ=environ, servers=())) == []
    sign_in(machine)
    assert of_copilot(await find((), environ=environ, servers=())) == [("GitHub Copilot: a sign-in found", "copilot")]
    environ["COPILOT_GITHUB_TOKEN"] = "github_pat_mine"
    assert of_copilot(await find((), environ=environ, servers=())) == [
        ("GitHub Copilot: key found in COPILOT_GITHUB_TOKEN", "env:COPILOT_GITHUB_TOKEN")
    ]
