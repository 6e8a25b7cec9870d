"""Google's tokens: made with a service account's key or the person's own credentials, and only as often as needed."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from pilothouse.models.factory import make_model
from pilothouse.models.google_tokens import GoogleSigner
from pilothouse.models.signing import Outgoing
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.errors import PilothouseError
from pilothouse.types.models import ModelConfig
from tests.models.asking import answer_of, failure_of, said, text_of
from tests.models.strict_provider import stream_of
from tests.support.tiny_http import Answer, Request, TinyHttp

TOKEN = "ya29.a-token-that-passes"
REQUEST = Outgoing("POST", "http://127.0.0.1/", {"x": "y"})


@pytest_asyncio.fixture(autouse=True)
async def no_connection_left() -> AsyncIterator[None]:
    yield
    await close_clients()


@cache
def private_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def account(url: str, **fields: Any) -> str:
    pem = private_key().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    key = {"type": "service_account", "client_email": "bot@proj.iam.gserviceaccount.com", "private_key_id": "k1"}
    return json.dumps(key | {"private_key": pem.decode(), "token_uri": f"{url}/token"} | fields)


def part(text: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def checked(request: Request, address: str) -> None:
    """Insist on the grant as Google documents it, signature included."""
    form = parse_qs(request.body.decode())
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    head, claims, signature = form["assertion"][0].split(".")
    assert part(head) == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
    said_ = part(claims)
    assert (said_["iss"], said_["aud"]) == ("bot@proj.iam.gserviceaccount.com", address)
    assert said_["scope"] == "https://www.googleapis.com/auth/cloud-platform"
    assert 0 < said_["exp"] - said_["iat"] <= 3600
    raw = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    private_key().public_key().verify(raw, f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256())


def tokens(request: Request) -> Answer:
    return Answer(200, json.dumps({"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"}).encode())


async def test_a_service_accounts_key_opens_gemini_on_vertex_and_is_never_sent() -> None:
    path = "/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse"

    def answer(request: Request) -> Answer:
        if request.target == "/token":
            checked(request, f"{server.url}/token")
            return tokens(request)
        good = request.target == path and request.headers["authorization"] == f"Bearer {TOKEN}"
        return Answer(200, stream_of("gemini"), {"content-type": "text/event-stream"}) if good else Answer(401)

    async with TinyHttp(answer) as server:
        base = f"{server.url}/v1/projects/p/locations/global"
        config = ModelConfig(name="V", provider="gemini", service="vertex", base_url=base, model="gemini-2.5-flash")
        model = make_model(config, account(server.url))
        assert text_of(await answer_of(model, said("Hello?"))) == "Hello there."
        assert text_of(await answer_of(model, said("Again?"))) == "Hello there."
        assert [request.target for request in server.requests] == ["/token", path, path]
        assert "PRIVATE KEY" not in repr(server.requests)


async def test_a_token_is_renewed_before_it_passes() -> None:
    now = 1000.0
    async with TinyHttp(tokens) as server:
        signer = GoogleSigner(account(server.url), clock=lambda: now)
        assert (await signer.signed(REQUEST)).headers["authorization"] == f"Bearer {TOKEN}"
        now += 3400
        await signer.signed(REQUEST)
        assert len(server.requests) == 1
        now += 100
        await signer.signed(REQUEST)
        assert len(server.requests) == 2


async def test_a_person_who_signed_in_with_the_google_tools_needs_no_key(tmp_path: Path) -> None:
    async with TinyHttp(tokens) as server:
        kept = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
        file = tmp_path / "application_default_credentials.json"
        file.write_text(json.dumps(kept | {"token_uri": f"{server.url}/token"}))
        signer = GoogleSigner(environ={"CLOUDSDK_CONFIG": str(tmp_path)})
        assert (await signer.signed(REQUEST)).headers == {"x": "y", "authorization": f"Bearer {TOKEN}"}
        form = parse_qs(server.requests[0].body.decode())
        assert form == {
            "grant_type": ["refresh_token"],
            "client_id": ["c"],
            "client_secret": ["s"],
            "refresh_token": ["r"],
        }
        named = GoogleSigner(environ={"GOOGLE_APPLICATION_CREDENTIALS": str(file)})
        assert (await named.signed(REQUEST)).headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a JSON key"),
        ('{"type": "external_account"}', "external_account"),
        ('{"type": "service_account", "client_email": "a", "private_key": "nonsense"}', "cannot be read"),
    ],
)
async def test_credentials_that_cannot_be_used_are_told_with_what_to_do(text: str, words: str) -> None:
    with pytest.raises(PilothouseError, match=words) as refused:
        await GoogleSigner(text).signed(REQUEST)
    assert refused.value.code == "no_key"
    assert "service account" in refused.value.fix
    with pytest.raises(PilothouseError, match="no Google credentials"):
        await GoogleSigner(path="/nowhere/key.json").signed(REQUEST)


async def test_a_refused_key_ends_the_question_with_googles_words_and_without_the_key() -> None:
    refusal = b'{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}'
    async with TinyHttp(lambda request: Answer(400, refusal)) as server:
        config = ModelConfig(name="V", provider="gemini", service="vertex", base_url=server.url, model="g")
        failed = failure_of(await answer_of(make_model(config, account(server.url)), said("Hello?")))
        assert (failed.code, "Invalid JWT Signature" in failed.message) == ("bad_key", True)
        assert len(server.requests) == 1


async def test_credentials_are_as_good_as_before_when_google_has_a_bad_day() -> None:
    async with TinyHttp(lambda request: Answer(503, b"<html>")) as server:
        with pytest.raises(PilothouseError, match=r"status 503\. Try again later") as raised:
            await GoogleSigner(account(server.url)).signed(REQUEST)
        assert raised.value.code == "model_unreachable"


@pytest.mark.parametrize("path", ["~nobody-of-that-name/key.json", "\0"])
async def test_where_no_file_can_be_there_are_no_credentials(path: str) -> None:
    with pytest.raises(PilothouseError, match="There are no Google credentials"):
        await GoogleSigner(path=path).signed(REQUEST)


async def test_a_token_that_a_provider_repeats_in_an_error_is_not_told() -> None:
    def answer(request: Request) -> Answer:
        if request.target == "/token":
            return tokens(request)
        return Answer(403, json.dumps({"error": {"message": f"no: {request.headers['authorization']}"}}).encode())

    async with TinyHttp(answer) as server:
        config = ModelConfig(name="V", provider="gemini", service="vertex", base_url=server.url, model="g")
        failed = failure_of(await answer_of(make_model(config, account(server.url)), said("Hello?")))
        assert (failed.code, TOKEN in failed.message, "no: Bearer •••" in failed.message) == ("bad_key", False, True)


async def test_whoever_wrote_a_key_does_not_choose_who_gets_what_is_made_with_it() -> None:
    signer = GoogleSigner(account("https://evil.example"))
    # Tests reach nothing but loopback: what is told is whom it would have asked.
    with pytest.raises(PilothouseError, match="Google could not be asked"):
        await signer.signed(REQUEST)


async def test_a_token_that_is_refused_before_its_time_is_renewed_and_the_question_asked_again() -> None:
    good = ["first"]

    def answer(request: Request) -> Answer:
        if request.target == "/token":
            return Answer(200, json.dumps({"access_token": good[-1], "expires_in": 3599}).encode())
        if request.headers["authorization"] != f"Bearer {good[-1]}":
            return Answer(401, b'{"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "expired"}}')
        return Answer(200, stream_of("gemini"), {"content-type": "text/event-stream"})

    async with TinyHttp(answer) as server:
        config = ModelConfig(name="V", provider="gemini", service="vertex", base_url=server.url, model="g")
        model = make_model(config, account(server.url))
        assert text_of(await answer_of(model, said("Hello?"))) == "Hello there."
        good.append("second")
        assert text_of(await answer_of(model, said("Again?"))) == "Hello there."
        assert len(server.requests) == 2 + 3


async def test_an_account_that_is_refused_with_a_new_token_too_is_told_of_after_that() -> None:
    def answer(request: Request) -> Answer:
        return tokens(request) if request.target == "/token" else Answer(401, b'{"error": {"message": "not you"}}')

    async with TinyHttp(answer) as server:
        config = ModelConfig(name="V", provider="gemini", service="vertex", base_url=server.url, model="g")
        failed = failure_of(await answer_of(make_model(config, account(server.url)), said("Hello?")))
        assert (failed.code, "not you" in failed.message) == ("bad_key", True)
        assert len(server.requests) == 4
