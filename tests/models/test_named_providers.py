"""Every provider of the table is asked as it documents: path, headers, body and signature, and its stream is read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
import pytest_asyncio

from pilothouse.models.aws import Credentials, Scope, find_credentials
from pilothouse.models.factory import make_model, make_signer
from pilothouse.models.listing import has_list, list_urls, offered
from pilothouse.models.provider_table import rows, signs_at
from pilothouse.models.signing import Outgoing
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.errors import PilothouseError
from pilothouse.types.models import ModelConfig
from pilothouse.types.origins import origin_of
from pilothouse.types.stream import StreamEvent
from tests.models.asking import KEY, answer_of, failure_of, said, text_of
from tests.models.aws_frames import chunk, exception
from tests.models.strict_provider import (
    EVENT_STREAM,
    ExpectedRequest,
    chunks_of_claude,
    signature_check,
    stream_of,
    strict_provider,
)
from tests.support.tiny_http import Answer, Request, TinyHttp
from tests.support.wire_writers import Wire

BEARER = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
BLANKS = {"{resource}": "res", "{deployment}": "gpt-4o", "{region}": "eu-west-1", "{project}": "proj"}
CLAUDE = "global.anthropic.claude-sonnet-4-5-20250929-v1:0"


@pytest_asyncio.fixture(autouse=True)
async def no_connection_left() -> AsyncIterator[None]:
    yield
    await close_clients()


def placed(service: str, url: str, model: str = "m", source: str = "") -> ModelConfig:
    """Return a model of a provider whose address is on loopback, its path as the table has it."""
    row = rows()[service]
    address = row.base_url
    for blank, value in BLANKS.items():
        address = address.replace(blank, value)
    parts = urlsplit(address)
    base = url + parts.path + (f"?{parts.query}" if parts.query else "")
    kept = "" if row.id == row.wire else row.id
    return ModelConfig(name="M", provider=row.wire, service=kept, base_url=base, model=model, api_key_source=source)


async def asked(config: ModelConfig, key: str = KEY) -> list[StreamEvent]:
    return await answer_of(make_model(config, key, first_wait=0.01), said("Hello?"))


# What each documents: path, headers, and what it does not take. Written from their pages, not from the table.
DOCUMENTED: list[tuple[str, Wire, ExpectedRequest]] = [
    (
        "anthropic",
        "anthropic-compatible",
        ExpectedRequest(
            "/v1/messages", {"x-api-key": KEY, "anthropic-version": "2023-06-01"}, {"model": "m", "stream": True}
        ),
    ),
    ("openai", "openai-responses", ExpectedRequest("/v1/responses", BEARER, {"model": "m", "stream": True})),
    ("openai-chat", "openai-compatible", ExpectedRequest("/v1/chat/completions", BEARER, {"model": "m"})),
    (
        "gemini",
        "gemini",
        ExpectedRequest(
            "/v1beta/models/m:streamGenerateContent?alt=sse", {"x-goog-api-key": KEY}, without=("authorization",)
        ),
    ),
    (
        "azure",
        "openai-responses",
        ExpectedRequest("/openai/v1/responses", {"api-key": KEY}, without=("authorization",)),
    ),
    (
        "azure-chat",
        "openai-compatible",
        ExpectedRequest("/openai/v1/chat/completions", {"api-key": KEY}, {"model": "m"}, without=("authorization",)),
    ),
    (
        "azure-deployment",
        "openai-compatible",
        ExpectedRequest(
            "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
            {"api-key": KEY},
            without=("authorization",),
        ),
    ),
    (
        "azure-claude",
        "anthropic-compatible",
        ExpectedRequest("/anthropic/v1/messages", {"x-api-key": KEY}, without=("authorization",)),
    ),
    (
        "openrouter",
        "openai-compatible",
        ExpectedRequest("/api/v1/chat/completions", {**BEARER, "x-title": "Pilothouse"}),
    ),
    ("groq", "openai-compatible", ExpectedRequest("/openai/v1/chat/completions", BEARER, {"model": "m"})),
    (
        "mistral",
        "openai-compatible",
        ExpectedRequest(
            "/v1/chat/completions", BEARER, {"stream": True}, without=("stream_options", "max_completion_tokens")
        ),
    ),
    ("deepseek", "anthropic-compatible", ExpectedRequest("/anthropic/v1/messages", {"x-api-key": KEY}, {"model": "m"})),
    ("xai", "openai-compatible", ExpectedRequest("/v1/chat/completions", BEARER)),
    ("together", "openai-compatible", ExpectedRequest("/v1/chat/completions", BEARER)),
    ("fireworks", "openai-compatible", ExpectedRequest("/inference/v1/chat/completions", BEARER)),
    (
        "github-models",
        "openai-compatible",
        ExpectedRequest("/inference/chat/completions", {**BEARER, "x-github-api-version": "2022-11-28"}),
    ),
    ("ollama", "ollama", ExpectedRequest("/api/chat", {}, {"model": "m", "stream": True})),
    ("lmstudio", "openai-compatible", ExpectedRequest("/v1/chat/completions")),
    ("llamacpp", "openai-compatible", ExpectedRequest("/v1/chat/completions")),
    ("vllm", "openai-compatible", ExpectedRequest("/v1/chat/completions")),
    ("bedrock-openai", "openai-compatible", ExpectedRequest("/openai/v1/chat/completions", BEARER)),
    (
        "vertex",
        "gemini",
        ExpectedRequest(
            "/v1/projects/proj/locations/global/publishers/google/models/m:streamGenerateContent?alt=sse",
            BEARER,
            without=("x-goog-api-key",),
        ),
    ),
    (
        "vertex-claude",
        "anthropic-compatible",
        ExpectedRequest(
            "/v1/projects/proj/locations/global/publishers/anthropic/models/m:streamRawPredict",
            BEARER,
            {"anthropic_version": "vertex-2023-10-16", "stream": True},
            without=("model", "x-api-key", "anthropic-version"),
        ),
    ),
]


@pytest.mark.parametrize(("service", "wire", "insisted"), DOCUMENTED, ids=[each[0] for each in DOCUMENTED])
async def test_a_provider_is_asked_as_it_documents(service: str, wire: Wire, insisted: ExpectedRequest) -> None:
    kind = "application/x-ndjson" if wire == "ollama" else "text/event-stream"
    async with strict_provider(insisted, stream_of(wire), kind) as server:
        events = await asked(placed(service, server.url))
        assert text_of(events) == "Hello there.", events[-1]
        assert len(server.requests) == 1


# Those that sign have tests of their own.
ELSEWHERE = {"bedrock-claude", "copilot-responses"}


def has_own_tests(service: str) -> bool:
    return Path(__file__).with_name(f"test_{service.replace('-', '_')}.py").is_file()


async def test_every_row_that_has_an_address_is_documented_here_or_has_tests_of_its_name() -> None:
    addressed = {row.id for row in rows().values() if row.base_url}
    tested = {service for service, _, _ in DOCUMENTED} | ELSEWHERE
    assert tested <= addressed
    assert [service for service in addressed - tested if not has_own_tests(service)] == []


# --- Bedrock -------------------------------------------------------------------------------------

CREDENTIALS = Credentials("AKIDEXAMPLE", "a-secret-that-is-never-sent", "a-session-token")
INVOKE = f"/model/{CLAUDE.replace(':', '%3A')}/invoke-with-response-stream"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has credentials of AWS in its environment."""
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", CREDENTIALS.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CREDENTIALS.secret_key)
    monkeypatch.setenv("AWS_SESSION_TOKEN", CREDENTIALS.token)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")


def on_bedrock(**more: object) -> ExpectedRequest:
    body = {"anthropic_version": "bedrock-2023-05-31"}
    without = ("model", "stream", "x-api-key", "anthropic-version")
    return ExpectedRequest(INVOKE, body=body, without=without, **more)  # type: ignore[arg-type]


async def test_claude_on_bedrock_is_asked_with_a_signature_and_its_frames_are_read(aws: None) -> None:
    scope = Scope("eu-west-1", "bedrock")
    headers = {"x-amz-security-token": CREDENTIALS.token}
    insisted = on_bedrock(headers=headers, check=signature_check(CREDENTIALS, scope, lambda: server.url))
    async with strict_provider(insisted, chunks_of_claude(), EVENT_STREAM["content-type"]) as server:
        events = await asked(placed("bedrock-claude", server.url, CLAUDE, "aws"), "")
        assert text_of(events) == "Hello there.", events[-1]
        (request,) = server.requests
        assert CREDENTIALS.secret_key not in repr(request)


async def test_claude_on_bedrock_takes_a_bedrock_api_key_instead() -> None:
    insisted = on_bedrock(headers=BEARER)
    async with strict_provider(insisted, chunks_of_claude(), EVENT_STREAM["content-type"]) as server:
        assert text_of(await asked(placed("bedrock-claude", server.url, CLAUDE))) == "Hello there."


async def test_the_openai_compatible_side_of_bedrock_is_signed_too(aws: None) -> None:
    check = signature_check(CREDENTIALS, Scope("eu-west-1", "bedrock"), lambda: server.url)
    async with strict_provider(
        ExpectedRequest("/openai/v1/chat/completions", check=check), stream_of("openai-compatible")
    ) as server:
        assert text_of(await asked(placed("bedrock-openai", server.url, "m", "aws"), "")) == "Hello there."


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("throttlingException", "model_overloaded"),
        ("validationException", "model_refused"),
        ("internalServerException", "model_failed"),
    ],
)
async def test_what_bedrock_tells_inside_its_stream_is_told(kind: str, code: str) -> None:
    stream = chunk({"type": "message_start"}) + exception(kind, "as it says")
    async with strict_provider(on_bedrock(), stream, EVENT_STREAM["content-type"]) as server:
        failed = failure_of(await asked(placed("bedrock-claude", server.url, CLAUDE)))
        assert (failed.code, "as it says" in failed.message) == (code, True)


async def test_a_damaged_frame_of_bedrock_breaks_the_answer_and_nothing_else() -> None:
    whole = chunks_of_claude()
    async with strict_provider(on_bedrock(), whole[:-9] + b"x" + whole[-8:], EVENT_STREAM["content-type"]) as server:
        failed = failure_of(await asked(placed("bedrock-claude", server.url, CLAUDE)))
        assert (failed.code, "checksum" in failed.message) == ("stream_broken", True)


async def test_without_credentials_nothing_is_asked_and_what_to_do_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    (tmp_path / "config").write_text("[profile work]\nsso_session = corp\n")
    async with strict_provider(on_bedrock(), b"") as server:
        failed = failure_of(await asked(placed("bedrock-claude", server.url, CLAUDE, "aws"), ""))
        assert (failed.code, "aws configure" in failed.message) == ("no_key", True)
        failed = failure_of(await asked(placed("bedrock-claude", server.url, CLAUDE, "aws:work"), ""))
        assert "signs in through the aws tools" in failed.message
        assert server.requests == []


async def test_a_profile_is_read_from_the_files_of_the_aws_tools(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, aws: None
) -> None:
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = other\n"
        "[work]\naws_access_key_id = AKIDWORK\naws_secret_access_key = per%cent\n"
    )
    check = signature_check(Credentials("AKIDWORK", "per%cent"), Scope("eu-west-1", "bedrock"), lambda: server.url)
    async with strict_provider(on_bedrock(check=check), chunks_of_claude(), EVENT_STREAM["content-type"]) as server:
        config = placed("bedrock-claude", server.url, CLAUDE, "aws:work")
        assert text_of(await asked(config, "")) == "Hello there."


async def test_keys_in_the_environment_count_before_the_profile_that_it_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, aws: None
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "work")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    (tmp_path / "credentials").write_text("[work]\naws_access_key_id = AKIDWORK\naws_secret_access_key = s\n")
    assert find_credentials() == CREDENTIALS
    assert find_credentials("work") == Credentials("AKIDWORK", "s")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert find_credentials() == Credentials("AKIDWORK", "s")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"aws_access_key_id = AKID\naws_secret_access_key = hush\n", "line 1"),
        (b"[default]\naws_access_key_id = AKID\naws_secret_access_key hush\n", "line 3"),
        (b"[default]\naws_secret_access_key = \xff\xfehush\n", "not text"),
    ],
)
def test_a_file_of_profiles_with_a_mistake_is_told_of_with_its_place_and_without_its_words(
    tmp_path: Path, content: bytes, words: str
) -> None:
    file = tmp_path / "credentials"
    file.write_bytes(content)
    with pytest.raises(PilothouseError, match=words) as refused:
        find_credentials(environ={"AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_CONFIG_FILE": "/nowhere"})
    assert "hush" not in str(refused.value)
    assert str(file) in str(refused.value)


def test_in_the_home_of_nobody_there_are_no_credentials() -> None:
    with pytest.raises(PilothouseError, match="no AWS credentials"):
        find_credentials(
            environ={"AWS_SHARED_CREDENTIALS_FILE": "~nobody-of-that-name/x", "AWS_CONFIG_FILE": "/nowhere"}
        )


def test_a_file_of_profiles_as_windows_writes_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_bytes(b"\xef\xbb\xbf[default]\r\naws_access_key_id=AKID\r\naws_secret_access_key=s\r\n")
    assert find_credentials(environ={"AWS_SHARED_CREDENTIALS_FILE": str(file)}) == Credentials("AKID", "s")


async def test_what_amazon_says_about_permissions_is_told() -> None:
    words = "User: arn:aws:iam::1:user/me is not authorized to perform: bedrock:InvokeModel"
    async with TinyHttp(lambda request: Answer(403, json.dumps({"Message": words}).encode())) as server:
        failed = failure_of(await asked(placed("bedrock-claude", server.url, CLAUDE)))
        assert (failed.code, words in failed.message) == ("bad_key", True)


def by_the_clock(off: timedelta, answer: Callable[[Request], Answer]) -> Callable[[Request], Answer]:
    """Return what refuses each signature of another time than its own."""

    def answered(request: Request) -> Answer:
        now = datetime.now(UTC) + off
        told = datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        if abs(told - now) > timedelta(minutes=5):
            date = {"date": format_datetime(now, usegmt=True)}
            return Answer(403, b'{"message": "Signature expired: it is now earlier than that"}', date)
        return answer(request)

    return answered


@pytest.mark.parametrize("off", [timedelta(hours=-2), timedelta(minutes=9)])
async def test_a_clock_that_is_wrong_is_put_right_by_amazons_own_once(aws: None, off: timedelta) -> None:
    async with TinyHttp(by_the_clock(off, lambda request: Answer(200, chunks_of_claude(), EVENT_STREAM))) as server:
        model = make_model(placed("bedrock-claude", server.url, CLAUDE, "aws"))
        for _ in range(2):
            assert text_of(await answer_of(model, said("Hello?"))) == "Hello there."
        assert len(server.requests) == 3


async def test_a_refusal_that_is_not_about_the_clock_is_not_asked_again(aws: None) -> None:
    date = {"date": format_datetime(datetime.now(UTC), usegmt=True)}
    async with TinyHttp(lambda request: Answer(403, b'{"message": "no access"}', date)) as server:
        assert failure_of(await asked(placed("bedrock-claude", server.url, CLAUDE, "aws"), "")).code == "bad_key"
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "host", ["bedrock-runtime.{}.amazonaws.com", "bedrock-runtime-fips.{}.amazonaws.com", "bedrock-runtime.{}.api.aws"]
)
async def test_a_request_to_any_address_of_bedrock_is_signed_for_the_region_in_it(host: str, aws: None) -> None:
    base = f"https://{host.format('us-gov-west-1')}"
    config = ModelConfig(name="M", provider="bedrock-converse", base_url=base, model="m", api_key_source="aws")
    signer = make_signer(config)
    assert signer is not None
    headers = (await signer.signed(Outgoing("POST", base, {}))).headers
    assert "/us-gov-west-1/bedrock/aws4_request" in headers["authorization"]
    assert signs_at("aws", origin_of(base))


# --- lists ---------------------------------------------------------------------------------------

LIST = b'{"object": "list", "data": [{"id": "one"}, {"id": "two"}]}'
BARE = b'[{"id": "one", "object": "model", "type": "chat"}, {"id": "two"}]'

LISTS = {
    "groq": ("/openai/v1/models", LIST),
    "azure": ("/openai/v1/models", LIST),
    "together": ("/v1/models", BARE),
    "fireworks": ("/inference/v1/models", LIST),
    "github-models": ("/catalog/models", BARE),
    "deepseek": ("/models", LIST),
    "vllm": ("/v1/models", LIST),
}


@pytest.mark.parametrize("service", LISTS)
async def test_a_providers_models_are_listed_where_it_documents_it(service: str) -> None:
    path, body = LISTS[service]

    def answer(request: Request) -> Answer:
        return Answer(200, body) if request.target == path else Answer(404)

    async with TinyHttp(answer) as server:
        assert await offered(placed(service, server.url), KEY) == ("one", "two")


BEDROCK = "https://bedrock-runtime.eu-west-1.amazonaws.com"
ON_DEMAND = [
    {"modelId": "anthropic.claude-3-haiku-v1:0", "modelName": "Claude 3 Haiku", "responseStreamingSupported": True},
    {"modelId": "amazon.nova-lite-v1:0", "responseStreamingSupported": True, "outputModalities": ["TEXT"]},
    {"modelId": "ai21.waits-v1:0", "responseStreamingSupported": False},
]
PROFILES = [
    {"inferenceProfileId": "us.anthropic.claude-sonnet-4-5-v1:0", "inferenceProfileName": "US", "status": "ACTIVE"},
]


CLAUDES = ("anthropic.claude-3-haiku-v1:0", "us.anthropic.claude-sonnet-4-5-v1:0")
BEDROCKS = {
    "/foundation-models?byInferenceType=ON_DEMAND&byOutputModality=TEXT": {"modelSummaries": ON_DEMAND},
    "/inference-profiles?maxResults=1000&type=SYSTEM_DEFINED": {"inferenceProfileSummaries": PROFILES},
}


def bedrocks_lists(request: Request) -> Answer:
    is_signed = request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 ")
    return Answer(200, json.dumps(BEDROCKS[request.target]).encode()) if is_signed else Answer(403)


@pytest.mark.parametrize(
    ("service", "names"),
    [
        ("bedrock-claude", CLAUDES),
        ("bedrock-converse", ("amazon.nova-lite-v1:0", *CLAUDES)),
    ],
)
async def test_bedrock_lists_what_streams_on_demand_and_its_profiles(
    service: str, names: tuple[str, ...], aws: None
) -> None:
    async with TinyHttp(bedrocks_lists) as server:
        config = msgspec.structs.replace(placed(service, server.url, source="aws"), service=service)
        assert await offered(config, "") == names


@pytest.mark.parametrize("off", [timedelta(), timedelta(hours=-2)])
async def test_bedrock_lists_its_models_for_a_wrong_clock_and_whoever_may_see_one_list_sees_that(
    off: timedelta, aws: None
) -> None:
    def some(request: Request) -> Answer:
        return (
            Answer(403, b'{"message": "not authorized"}') if "profiles" in request.target else bedrocks_lists(request)
        )

    for answer, names in ((some, ("anthropic.claude-3-haiku-v1:0",)), (bedrocks_lists, CLAUDES)):
        async with TinyHttp(by_the_clock(off, answer)) as server:
            assert await offered(placed("bedrock-claude", server.url, source="aws"), "") == names
    async with TinyHttp(lambda request: Answer(403)) as server:
        with pytest.raises(PilothouseError, match="did not list its models"):
            await offered(placed("bedrock-claude", server.url, source="aws"), "")


async def test_vertex_lists_the_models_of_gemini_for_the_project_that_pays() -> None:
    names = ("gemini-2.5-flash", "gemini-embedding-001", "imagen-4")
    body = {"publisherModels": [{"name": f"publishers/google/models/{name}", "versionId": "default"} for name in names]}

    def answer(request: Request) -> Answer:
        wanted = "/v1beta1/publishers/google/models?pageSize=1000"
        is_right = request.target == wanted and request.headers["x-goog-user-project"] == BLANKS["{project}"]
        return Answer(200, json.dumps(body).encode()) if is_right else Answer(404)

    async with TinyHttp(answer) as server:
        assert await offered(placed("vertex", server.url), KEY) == ("gemini-2.5-flash",)


@pytest.mark.case("SECRET-05")
def test_bedrocks_lists_are_at_a_host_of_their_own_where_no_key_is_sent() -> None:
    config = ModelConfig(name="B", provider="bedrock-converse", base_url=BEDROCK, model="m", api_key_source="aws")
    assert {urlsplit(url).hostname for url in list_urls(config, f"{BEDROCK}/model/m/converse-stream")} == {
        "bedrock.eu-west-1.amazonaws.com"
    }
    with_key = msgspec.structs.replace(config, api_key_source="env:AWS_BEARER_TOKEN_BEDROCK")
    assert list_urls(with_key, BEDROCK) == ()
    assert (has_list(config), has_list(with_key)) == (True, False)


async def test_a_provider_without_a_list_is_not_asked_for_one() -> None:
    async with TinyHttp(lambda request: Answer(404)) as server:
        with pytest.raises(PilothouseError, match="Type the model's name"):
            await offered(placed("bedrock-claude", server.url), KEY)
        assert server.requests == []
    assert not has_list(placed("bedrock-claude", "http://127.0.0.1:9"))
    assert has_list(placed("groq", "http://127.0.0.1:9"))


def test_no_row_names_the_same_field_twice_and_all_can_be_shown() -> None:
    for row in rows().values():
        assert row.name
        assert not row.keys_at or row.keys_at.startswith("https://"), row.id
        json.dumps({"extra": row.extra, "headers": row.headers})
