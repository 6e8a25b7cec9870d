"""From a request with tools to one in plain text: the tools in the system prompt, calls and results as lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from pilothouse.models.tool_names import split
from pilothouse.types.json import JsonObject, encode_text
from pilothouse.types.messages import (
    Block,
    CallBlock,
    ImageBlock,
    Message,
    ModelRequest,
    ResultBlock,
    TextBlock,
    ToolSpec,
)

# From a tool's name to what a call and its result say of it.
Named = Callable[[str], JsonObject]

_HERE = Path(__file__).parent
_TEXT_APPENDIX = (_HERE / "text_protocol_appendix.md").read_text(encoding="utf-8")
_CONSTRAINED_APPENDIX = (_HERE / "constrained_appendix.md").read_text(encoding="utf-8")
_LAST_APPENDIX = (_HERE / "constrained_last_appendix.md").read_text(encoding="utf-8")
_LAST_RESULT = (_HERE / "constrained_last_result.md").read_text(encoding="utf-8").strip()


def in_text(request: ModelRequest) -> ModelRequest:
    """Return the request for a model that calls tools by lines of text."""
    tools = [_listed(spec) for spec in request.tools]
    return _lowered(request, _TEXT_APPENDIX if tools else "", tools, _apart)


def in_json(request: ModelRequest, schema: JsonObject) -> ModelRequest:
    """Return the request for a model whose whole answer is JSON of this schema: a call, or words."""
    tools = [f"- {spec.name}: {spec.description} Arguments: {encode_text(spec.input_schema)}" for spec in request.tools]
    return msgspec.structs.replace(_lowered(request, _CONSTRAINED_APPENDIX, tools, _in_one), answer_schema=schema)


def in_words(request: ModelRequest, schema: JsonObject) -> ModelRequest:
    """Return the request for such a model when only words are left to it: the plainer it is asked, the better."""
    messages: list[Message] = []
    for message in request.messages:
        blocks = tuple(_in_words(block) for block in message.content if not isinstance(block, CallBlock))
        if blocks and messages and messages[-1].role == message.role:
            blocks = (*messages.pop().content, TextBlock(text="\n"), *blocks)
        if blocks:
            messages.append(Message(message.role, blocks))
    plain = msgspec.structs.replace(request, messages=tuple(messages))
    return msgspec.structs.replace(_lowered(plain, _LAST_APPENDIX, (), _in_one), answer_schema=schema)


def _in_words(block: Block) -> Block:
    if isinstance(block, ResultBlock):
        return TextBlock(text=_LAST_RESULT.replace("{result}", block.text))
    return block


def _apart(name: str) -> JsonObject:
    """Return a tool's name as models that write lines are taught it."""
    server, name = split(name)
    return {"server": server, "name": name} if server else {"name": name}


def _in_one(name: str) -> JsonObject:
    """Return a tool's name as models that answer in JSON are taught it."""
    return {"name": name}


def _lowered(request: ModelRequest, appendix: str, tools: Sequence[str], named: Named) -> ModelRequest:
    # Only what is sent has the appendix; what is stored never does.
    system = f"{request.system}\n\n{appendix}".strip() + ("\n\n" + "\n".join(tools) if tools else "")
    messages = tuple(lowered for message in request.messages if (lowered := _message(message, named)) is not None)
    return msgspec.structs.replace(request, system=system, messages=messages, tools=(), call_style="native")


def _listed(spec: ToolSpec) -> str:
    return encode_text({**_apart(spec.name), "description": spec.description, "args": spec.input_schema})


def _message(message: Message, named: Named) -> Message | None:
    lines: list[str] = []
    images: list[Block] = []
    for block in message.content:
        match block:
            case ImageBlock():
                images.append(block)
            case TextBlock():
                lines.append(block.text)
            case CallBlock():
                lines.append("TOOL_CALL: " + encode_text({**named(block.name), "args": block.arguments}))
            case ResultBlock():
                outcome = {"error" if block.is_error else "result": block.text}
                lines.append("TOOL_RESULT: " + encode_text({**named(block.name), **outcome}))
                images += _pictures(block)
            case _:
                # Thinking and a provider's own blocks belong to another way of calling.
                continue
    text = [TextBlock(text="\n".join(lines))] if lines else []
    return Message(message.role, (*images, *text)) if images or text else None


def _pictures(block: ResultBlock) -> list[Block]:
    return [ImageBlock(media_type=media.media_type, data=media.data) for media in block.media if media.is_image]
