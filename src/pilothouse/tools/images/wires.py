"""How each service that makes pictures is asked, and where the pictures stand in its answer."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from pilothouse.types.json import JsonObject


class Wanted(msgspec.Struct, frozen=True):
    """The pictures that are wanted."""

    prompt: str
    count: int = 1
    # 0 where the service may choose.
    width: int = 0
    height: int = 0

    @property
    def size(self) -> str:
        return f"{self.width}x{self.height}" if self.width else ""


class Found(NamedTuple):
    """A picture as an answer has it: in base64, or at an address."""

    encoded: str = ""
    url: str = ""


class Wire(msgspec.Struct, frozen=True):
    """One way of asking."""

    # What is asked, of which model.
    path: Callable[[str], str]
    key: Callable[[str], Mapping[str, str]]
    content: Callable[[Wanted, str], JsonObject]
    found: Callable[[JsonObject], Iterator[Found]]
    # What tells without a picture whether it works.
    test: str
    # Whether it makes several at once, and takes a size.
    several: bool = True
    sized: bool = True
    # Whether a model must be named, wherever it is.
    names_model: bool = False


def _openai(wanted: Wanted, model: str) -> JsonObject:
    asked: JsonObject = {"prompt": wanted.prompt, "n": wanted.count}
    # Which of the two forms comes back is not asked for: half of those that speak this API refuse the question.
    return asked | ({"model": model} if model else {}) | ({"size": wanted.size} if wanted.size else {})


def _of_openai(answer: JsonObject) -> Iterator[Found]:
    for each in _objects(answer.get("data")):
        yield Found(_text(each.get("b64_json")), _text(each.get("url")))


def _gemini(wanted: Wanted, model: str) -> JsonObject:
    return {
        "contents": [{"parts": [{"text": wanted.prompt}]}],
        "generationConfig": {"responseModalities": ["TEXT", "IMAGE"]},
    }


def _of_gemini(answer: JsonObject) -> Iterator[Found]:
    for candidate in _objects(answer.get("candidates")):
        content = candidate.get("content")
        for part in _objects(content.get("parts") if isinstance(content, dict) else None):
            inline = part.get("inlineData") or part.get("inline_data")
            if isinstance(inline, dict):
                yield Found(_text(inline.get("data")))


def _automatic(wanted: Wanted, model: str) -> JsonObject:
    asked: JsonObject = {"prompt": wanted.prompt, "batch_size": wanted.count}
    if wanted.width:
        asked |= {"width": wanted.width, "height": wanted.height}
    return asked | ({"override_settings": {"sd_model_checkpoint": model}} if model else {})


def _basic(key: str) -> dict[str, str]:
    """Return a key that is a name and a password, as its owner started the program with them."""
    return {"authorization": f"Basic {base64.b64encode(key.encode()).decode()}"}


def _of_automatic(answer: JsonObject) -> Iterator[Found]:
    found = answer.get("images")
    for each in found if isinstance(found, list) else []:
        yield Found(_text(each))


def _objects(value: object) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


WIRES: Mapping[str, Wire] = {
    "openai": Wire(
        path=lambda _model: "/images/generations",
        key=lambda key: {"authorization": f"Bearer {key}"},
        content=_openai,
        found=_of_openai,
        test="/models",
    ),
    "gemini": Wire(
        path=lambda model: f"/models/{quote(model, safe='')}:generateContent",
        key=lambda key: {"x-goog-api-key": key},
        content=_gemini,
        found=_of_gemini,
        test="/models",
        several=False,
        sized=False,
        names_model=True,
    ),
    "automatic1111": Wire(
        path=lambda _model: "/sdapi/v1/txt2img",
        key=_basic,
        content=_automatic,
        found=_of_automatic,
        test="/sdapi/v1/options",
    ),
}
