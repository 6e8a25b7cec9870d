"""An answer on its way in: what a question takes."""

from __future__ import annotations

from pilothouse.agent.validation import complaint
from pilothouse.types.api import Answer
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject, encode


async def checked(question: Item, body: Answer) -> JsonObject:
    """Return what is kept of an answer; raise one sentence if the question does not take it."""
    if question.kind != "question":
        raise PilothouseError("bad_request", "That is not a question.")
    choices = [choice["id"] for choice in question.data.get("choices", ())]
    if body.choice is not None and body.choice not in choices:
        raise PilothouseError("bad_request", f"Choose one of: {', '.join(choices) or '(text)'}.")
    if body.choice is None and (body.text is None or choices):
        raise PilothouseError("bad_request", f"Choose one of: {', '.join(choices)}." if choices else "Say something.")
    if body.choice is None:
        return {"text": body.text}
    is_form = body.choice == "accept" and question.data.get("mode") == "form"
    if not is_form:
        if body.content is not None:
            raise PilothouseError("bad_request", "Only an accepted form has content.")
        return {"choice": body.choice}
    return {"choice": body.choice, "content": await _filled_in(question, body.content)}


async def _filled_in(question: Item, content: JsonObject | None) -> JsonObject:
    if content is None:
        raise PilothouseError("bad_request", "The form is not filled in.", fix="Send its fields as `content`.")
    wrong = await complaint(question.data.get("schema") or {}, content, len(encode(content)), "field")
    if wrong is not None:
        raise PilothouseError("bad_request", f"{wrong}.")
    return content
