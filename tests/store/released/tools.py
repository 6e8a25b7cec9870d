"""Tools that ask and end in every way there is."""

from __future__ import annotations

import asyncio

from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Ask, CallContext, Choice, Part, ToolError, ToolOutput, ToolPaused
from pilothouse.wiring import OpenHost
from tests.support.pictures import a_png
from tests.support.tools import ToolOf, add_tools

FORM: JsonObject = {"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]}


async def _book(arguments: JsonObject, context: CallContext) -> ToolOutput | ToolPaused:
    if context.resumed is None:
        kind = str(arguments.get("how", "form"))
        if kind == "url":
            return ToolPaused((Ask(id="pay", kind="url", message="Pay here.", url="https://shop.test/pay"),), {"n": 1})
        if kind == "question":
            asks = Ask(
                id="ask",
                kind="question",
                message="Which?",
                context="For the door.",
                choices=(Choice("1", "Red"), Choice("2", "Blue")),
            )
            return ToolPaused((asks,), {"n": 1})
        return ToolPaused((Ask(id="who", kind="form", message="Where to?", schema=FORM),), {"n": 1})
    return ToolOutput(text=f"Booked {dict(context.resumed.answers)}")


async def _break(arguments: JsonObject, context: CallContext) -> ToolOutput:
    return ToolOutput(text="It broke.", error=ToolError("BROKEN", "It broke.", retryable=True))


async def _draw(arguments: JsonObject, context: CallContext) -> ToolOutput:
    parts = (
        Part(kind="text", text="A picture."),
        Part(kind="image", data=a_png(500), media_type="image/png", name="p"),
    )
    return ToolOutput(text="A picture.", parts=parts, data={"attempts": 2, "ownField": {"a": [1, None]}})


async def _never(arguments: JsonObject, context: CallContext) -> ToolOutput:
    await asyncio.Event().wait()
    raise AssertionError


def give(host: OpenHost) -> None:
    add_tools(
        host,
        ToolOf("shop__book", _book, server="Shop"),
        ToolOf("shop__break", _break, server="Shop"),
        ToolOf("shop__draw", _draw, server="Shop"),
        ToolOf("shop__sleep", _never, server="Shop", timeout=0.2),
        ToolOf("shop__wait", _never, server="Shop"),
    )
