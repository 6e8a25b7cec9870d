"""Titles: first the message's own first words, then a better one made from the first exchange."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

from pilothouse.agent.metering import Meter
from pilothouse.agent.requests import request_size
from pilothouse.agent.spending import Purse, estimate
from pilothouse.types.conversations import Conversation, clean_title
from pilothouse.types.items import Item
from pilothouse.types.messages import Message, ModelRequest, TextBlock
from pilothouse.types.ports import OpenModel
from pilothouse.types.records import Records
from pilothouse.types.stream import Failed, TextDelta
from pilothouse.types.usage import Used

_PROMPT = (Path(__file__).parent / "title_prompt.md").read_text()
_EXCERPT = 1_500
_TITLE_TOKENS = 40
# Too small to make titles, or scripted for other things.
_NO_TITLES = frozenset({"embedded", "scripted"})


def first_words(text: str) -> str:
    """Return a title made of a message's beginning."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return clean_title(lines[0][:400]) if lines else ""


async def improve(records: Records, conversation: Conversation, opened: OpenModel, purse: Purse) -> None:
    """Let the model title the conversation, once, after its first exchange; not where that would pass a budget."""
    if conversation.title_source != "first_words" or opened.config.provider in _NO_TITLES:
        return
    page = await records.items(conversation.owner, conversation.id, None, 20, conversation.branch)
    spoken = [item for item in page.items if item.kind in ("user_message", "response") and item.text]
    if page.has_earlier or sum(item.kind == "user_message" for item in spoken) != 1:
        return
    request = _request(opened, spoken)
    coming = estimate(opened.config, request_size(request), most=_TITLE_TOKENS)
    if not await purse.covers((), coming):
        return
    with purse.paying(coming):
        said, used = await _ask(opened, request)
    title = clean_title(said)
    if title or used is not None:
        await records.title(conversation, title, used)


def _request(opened: OpenModel, spoken: list[Item]) -> ModelRequest:
    talk = "\n\n".join(f"{'Person' if i.kind == 'user_message' else 'Assistant'}: {i.text[:_EXCERPT]}" for i in spoken)
    return ModelRequest(
        system=_PROMPT,
        messages=(Message("user", (TextBlock(text=talk),)),),
        max_tokens=_TITLE_TOKENS,
        thinking=False if opened.config.supports_thinking else None,
    )


async def _ask(opened: OpenModel, request: ModelRequest) -> tuple[str, Used | None]:
    """Return what the model says, and what that took if it tells."""
    parts: list[str] = []
    meter = Meter(request_size(request))
    async with aclosing(opened.model.stream(request)) as events:
        async for event in events:
            meter.take(event)
            if isinstance(event, TextDelta):
                parts.append(event.text)
            elif isinstance(event, Failed):
                parts = []
                break
    return "".join(parts), opened.config.used(meter.usage)
