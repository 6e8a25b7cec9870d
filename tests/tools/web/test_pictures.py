"""Making pictures: each service is asked in its own way, and what comes is a picture or one sentence."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from pilothouse.secrets.store import SecretStore
from pilothouse.tools.images.making import pictures, test
from pilothouse.tools.images.wires import Wanted
from pilothouse.tools.web.chosen import Choice, ChosenService, ServiceTrouble
from pilothouse.tools.web.services import PICTURE_MAKERS
from pilothouse.types import limits
from tests.support.pictures import a_png
from tests.support.tiny_http import Answer, Request, TinyHttp

test.__test__ = False  # type: ignore[attr-defined]
PNG = a_png(600)
JSON = {"content-type": "application/json"}
KEY = "very-secret-key"


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


ANSWERS: dict[str, Any] = {
    "openai": {"created": 1, "data": [{"b64_json": in_base64(PNG)}, {"b64_json": in_base64(PNG)}]},
    "gemini": {
        "candidates": [
            {
                "content": {
                    "parts": [{"text": "Here:"}, {"inlineData": {"mimeType": "image/png", "data": in_base64(PNG)}}]
                }
            }
        ]
    },
    "automatic1111": {"images": [in_base64(PNG), f"data:image/png;base64,{in_base64(PNG)}"], "info": "{}"},
}


def a_maker(home: Path, kind: str, address: str, model: str = "") -> ChosenService:
    secrets = SecretStore(home / "secrets", learn=lambda _value: None)
    return ChosenService("pictures", PICTURE_MAKERS, lambda: Choice(kind, address, model), secrets)


def given(answer: Any, status: int = 200) -> TinyHttp:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return TinyHttp(lambda _request: Answer(status, body, JSON))


@pytest.mark.case("UTL-17")
@pytest.mark.parametrize(
    ("kind", "path", "header", "sent", "requests"),
    [
        (
            "openai",
            "/images/generations",
            "authorization",
            {"prompt": "A cat", "n": 2, "model": "m/1", "size": "512x256"},
            1,
        ),
        (
            "gemini",
            "/models/m%2F1:generateContent",
            "x-goog-api-key",
            {
                "contents": [{"parts": [{"text": "A cat"}]}],
                "generationConfig": {"responseModalities": ["TEXT", "IMAGE"]},
            },
            2,
        ),
        (
            "automatic1111",
            "/sdapi/v1/txt2img",
            "authorization",
            {
                "prompt": "A cat",
                "batch_size": 2,
                "width": 512,
                "height": 256,
                "override_settings": {"sd_model_checkpoint": "m/1"},
            },
            1,
        ),
    ],
)
async def test_each_service_is_asked_in_its_own_way(
    home: Path, kind: str, path: str, header: str, sent: Any, requests: int
) -> None:
    async with given(ANSWERS[kind]) as server:
        service = a_maker(home, kind, server.url, "m/1")
        await service.set_key(KEY)
        made = await pictures(service, Wanted("A cat", 2, 512, 256))
        assert [(part.kind, part.media_type, part.data) for part in made] == [("image", "image/png", PNG)] * 2
        assert len(server.requests) == requests
        request = server.requests[0]
        assert (request.method, request.target, json.loads(request.body)) == ("POST", path, sent)
        shown = request.headers[header].rpartition(" ")[2]
        assert (base64.b64decode(shown).decode() if kind == "automatic1111" else shown) == KEY


@pytest.mark.case("UTL-17")
async def test_where_nobody_names_a_model_the_usual_one_is_asked_if_one_must_be_named(home: Path) -> None:
    for kind, path in (("gemini", "/models/gemini-2.5-flash-image:generateContent"), ("openai", "/images/generations")):
        async with given(ANSWERS[kind]) as server:
            await pictures(a_maker(home, kind, server.url), Wanted("A cat"))
            [request] = server.requests
            assert (request.target, "model" in json.loads(request.body)) == (path, False)


@pytest.mark.case("UTL-17")
async def test_a_picture_at_an_address_is_fetched_from_the_service_itself(home: Path) -> None:
    def answer(request: Request) -> Answer:
        if request.target == "/pictures/1.png":
            return Answer(200, PNG, {"content-type": "image/png"})
        return Answer(200, json.dumps({"data": [{"url": f"{server.url}/pictures/1.png"}]}).encode(), JSON)

    async with TinyHttp(answer) as server:
        [part] = await pictures(a_maker(home, "openai", server.url), Wanted("A cat"))
        assert part.data == PNG
        # Without a size and a model the service chooses; the key stays where it belongs.
        assert json.loads(server.requests[0].body) == {"prompt": "A cat", "n": 1}
        assert "authorization" not in server.requests[1].headers


def huge(width: int, height: int) -> bytes:
    """Return a picture that says it is that large."""
    return PNG[:16] + struct.pack(">II", width, height) + PNG[24:]


@pytest.mark.case("UTL-17")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"data": []}, "answered without a picture. It may not make one of this description."),
        ({"data": [{"revised_prompt": "A cat"}]}, "answered without a picture."),
        ({"data": [{"b64_json": in_base64(b"<svg onload=alert(1)>")}]}, "answered with something that is no picture."),
        ({"data": [{"b64_json": "@@@"}]}, "answered with something that is no picture."),
        ({"data": [{"b64_json": in_base64(huge(20_000, 5_000))}]}, "made a picture of 20,000 × 5,000 pixels"),
        ({"data": [{"b64_json": "A" * 23_000_000}]}, "made a picture of more than 16 MB, which is not kept."),
        ({"data": [{"url": "http://169.254.169.254/latest"}]}, "cannot be read: 169.254.169.254 is a private address."),
        ({"data": [{"url": "file:///etc/passwd"}]}, "cannot be read: it is not a web address."),
        (b"<html>", "answered with something that is not its JSON."),
    ],
)
async def test_what_is_no_picture_is_one_sentence(home: Path, answer: Any, said: str) -> None:
    async with given(answer) as server:
        with pytest.raises(ServiceTrouble) as caught:
            await pictures(a_maker(home, "openai", server.url), Wanted("A cat"))
        assert said in caught.value.sentence
        assert caught.value.sentence.startswith(f"OpenAI at 127.0.0.1:{server.port} ")


@pytest.mark.case("UTL-17")
async def test_a_refusal_says_what_the_service_says(home: Path) -> None:
    async with given({"error": {"message": "Your request was rejected by the safety system."}}, 400) as server:
        with pytest.raises(ServiceTrouble, match=r"refused it \(status 400\): Your request was rejected"):
            await pictures(a_maker(home, "openai", server.url), Wanted("A cat"))


async def test_the_test_of_a_service_makes_no_picture(home: Path) -> None:
    for kind, path in (("openai", "/models"), ("gemini", "/models"), ("automatic1111", "/sdapi/v1/options")):
        async with given({"data": []}) as server:
            said = await test(a_maker(home, kind, server.url))
            assert said.endswith("answers. Whether it makes pictures, the first one shows.")
            assert [(request.method, request.target) for request in server.requests] == [("GET", path)]


def test_a_service_of_ones_own_needs_no_key_and_costs_nothing(home: Path) -> None:
    own, theirs = a_maker(home, "automatic1111", ""), a_maker(home, "openai", "")
    assert (own.problem, own.is_local, own.host) == ("", True, "127.0.0.1:7860")
    assert (theirs.problem, theirs.is_local) == ("OpenAI wants a key.", False)
    assert limits.MADE_PICTURES_AT_ONCE > 1
