"""Has pictures made, and looks at what came: pictures, and none too large to be shown."""

from __future__ import annotations

import asyncio
import base64
import binascii

import msgspec

from pilothouse.net.errors import NetError
from pilothouse.tools.images.wires import WIRES, Found, Wanted, Wire
from pilothouse.tools.web.chosen import ChosenService, ServiceTrouble
from pilothouse.tools.web.services import ServiceRow
from pilothouse.types import limits
from pilothouse.types.media import OPAQUE, picture_type
from pilothouse.types.pictures import UNKNOWN, picture_size
from pilothouse.types.ports import Part

_NONE = "No service that makes pictures is chosen."


async def pictures(service: ChosenService, wanted: Wanted) -> list[Part]:
    """Return the pictures that a service makes; raise ServiceTrouble with one sentence."""
    wire, row = WIRES.get(service.choice.kind), service.row
    if wire is None or row is None:
        raise ServiceTrouble(_NONE)
    who, made = f"{row.name} at {service.host}", list[Part]()
    model = _model(service, row, wire)
    rounds = 1 if wire.several else wanted.count
    asked = wanted if wire.several else msgspec.structs.replace(wanted, count=1)
    for _ in range(rounds):
        answer = await service.ask(
            wire.path(model),
            headers=await _key(service, wire),
            content=wire.content(asked, model),
            timeout=limits.MADE_PICTURE_TIME,
            limit=limits.MADE_PICTURE_ANSWER_BYTES,
        )
        found = list(wire.found(answer))[: asked.count]
        if not found:
            raise ServiceTrouble(f"{who} answered without a picture. It may not make one of this description.")
        for each in found:
            data = await _bytes(each, service.address, who)
            made.append(_checked(data, who, len(made) + 1))
    return made


def _model(service: ChosenService, row: ServiceRow, wire: Wire) -> str:
    """Return which model is asked: the person's, else the usual one where there is no other or it must be named."""
    usual = row.model if wire.names_model or service.address == row.address else ""
    return service.choice.model or usual


async def test(service: ChosenService) -> str:
    """Ask for what costs nothing; return what to say of it, raise ServiceTrouble."""
    wire, row = WIRES.get(service.choice.kind), service.row
    if wire is None or row is None:
        raise ServiceTrouble(_NONE)
    await service.ask(
        wire.test,
        headers=await _key(service, wire),
        timeout=limits.MADE_PICTURE_TEST_TIME,
        limit=limits.MADE_PICTURE_TEST_BYTES,
    )
    return f"{row.name} at {service.host} answers. Whether it makes pictures, the first one shows."


async def _key(service: ChosenService, wire: Wire) -> dict[str, str]:
    key = await service.key()
    return dict(wire.key(key)) if key else {}


async def _bytes(found: Found, near: str, who: str) -> bytes:
    if found.encoded:
        return await asyncio.to_thread(_decoded, found.encoded, who)
    if not found.url:
        raise ServiceTrouble(f"{who} answered without a picture.")
    # Loaded when a service answers with an address.
    from pilothouse.net import guarded  # noqa: PLC0415

    try:
        async with asyncio.timeout(limits.WEB_TIME), guarded.stream(found.url, near=near) as reply:
            if reply.status != 200:
                raise ServiceTrouble(f"{who} named an address that has no picture (status {reply.status}).")
            data = await reply.read(limits.MADE_PICTURE_BYTES + 1, None)
    except TimeoutError:
        raise ServiceTrouble(f"{who} named an address that sent no picture in {limits.WEB_TIME:g} s.") from None
    except NetError as error:
        raise ServiceTrouble(f"{who} named an address that cannot be read: {error.why}.") from None
    return data


def _decoded(encoded: str, who: str) -> bytes:
    # A data URL has the same behind its first comma.
    text = encoded.partition(",")[2] if encoded.startswith("data:") else encoded
    if len(text) > limits.MADE_PICTURE_BYTES * 4 // 3 + 8:
        raise ServiceTrouble(_too_large(who))
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        raise ServiceTrouble(f"{who} answered with something that is no picture.") from None


def _too_large(who: str) -> str:
    return f"{who} made a picture of more than {limits.MADE_PICTURE_BYTES // 1024**2} MB, which is not kept."


def _checked(data: bytes, who: str, number: int) -> Part:
    """Return a picture as a part of a result."""
    if len(data) > limits.MADE_PICTURE_BYTES:
        raise ServiceTrouble(_too_large(who))
    media_type = picture_type(data)
    size = picture_size(media_type, data)
    if media_type == OPAQUE or size == UNKNOWN:
        raise ServiceTrouble(f"{who} answered with something that is no picture.")
    if size[0] * size[1] > limits.MADE_PICTURE_PIXELS:
        pixels = f"{size[0]:,} × {size[1]:,}"
        raise ServiceTrouble(f"{who} made a picture of {pixels} pixels, which is too large to be shown.")
    return Part(kind="image", data=data, media_type=media_type, name=f"picture-{number}.{media_type.partition('/')[2]}")
