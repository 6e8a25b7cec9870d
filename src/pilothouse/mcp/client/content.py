"""What a tool call gave, for the model as text and for the person piece by piece."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence

import msgspec

from pilothouse.json_schema.checking import mismatch
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.media import described
from pilothouse.types.ports import Part, ToolError, ToolOutput

_NO_WORDS = "The tool reported an error without saying which."


async def checked_output(result: JsonObject, output_schema: JsonObject | None) -> ToolOutput:
    """Return a result like `to_output`, held against what its tool promised."""
    output = to_output(result)
    if output.error is not None or not output_schema:
        return output
    # The server's mistake, not the call's: the result is passed on all the same.
    fault = await schema_violation(result.get("structuredContent"), output_schema)
    return msgspec.structs.replace(output, data={"serverFault": fault}) if fault else output


def to_output(result: JsonObject) -> ToolOutput:
    """Return a result of `tools/call` as the agent takes it; odd content is passed on as text."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else [content] if content else []
    parts = [part for block in blocks[: limits.LARGE_MESSAGE_BLOCKS] for part in _parts(block)]
    if (left := len(blocks) - limits.LARGE_MESSAGE_BLOCKS) > 0:
        parts.append(Part(kind="text", text=f"[{left:,} more pieces were left out]"))
    structured = result.get("structuredContent")
    if isinstance(structured, msgspec.Raw):
        # Too large to be unfolded, and to be compared with anything.
        parts.append(Part(kind="json", text=bytes(structured).decode(), media_type="application/json"))
    elif isinstance(structured, dict | list):
        shown = msgspec.json.format(msgspec.json.encode(structured)).decode()
        # Many servers send the same data as text too, for clients that take nothing else.
        if not _says([part.text for part in parts if part.kind == "text"], structured):
            parts.append(Part(kind="json", text=shown, media_type="application/json"))
    text = "\n\n".join(said for part in parts if (said := _told(part)))
    if result.get("isError") is True:
        message = next((part.text for part in parts if part.kind == "text" and part.text.strip()), _NO_WORDS)
        return ToolOutput(text or message, ToolError("TOOL_ERROR", message), {}, tuple(parts))
    return ToolOutput(text, None, {}, tuple(parts))


def _parts(block: object) -> Iterator[Part]:
    if not isinstance(block, dict):
        yield Part(kind="text", text=block if isinstance(block, str) else _json(block))
        return
    match block.get("type"):
        case "text":
            yield Part(kind="text", text=_text(block.get("text")))
        case "image" | "audio" as kind:
            yield _binary(block, "image" if kind == "image" else "audio")
        case "resource_link":
            yield Part(
                kind="link", name=_title(block), uri=_text(block.get("uri")), text=_text(block.get("description"))
            )
        case "resource" if isinstance(block.get("resource"), dict):
            yield _resource(block["resource"])
        case _:
            yield Part(kind="text", text=_json(block))


def _binary(block: JsonObject, kind: str) -> Part:
    data = _decoded(block.get("data"))
    media_type = _text(block.get("mimeType"))
    if data is None:
        return Part(kind="text", text=f"[{kind} that cannot be read]")
    return Part(kind="image" if kind == "image" else "audio", data=data, media_type=media_type, name=_title(block))


def _resource(resource: JsonObject) -> Part:
    uri, media_type = _text(resource.get("uri")), _text(resource.get("mimeType"))
    blob = resource.get("blob")
    data = _decoded(blob) if blob is not None else b""
    text = _text(resource.get("text")) if data == b"" else ""
    return Part(kind="resource", text=text, data=data or b"", media_type=media_type, name=_title(resource), uri=uri)


def _told(part: Part) -> str:
    """Return what the model reads of a piece."""
    match part.kind:
        case "text" | "json":
            return part.text
        case "link":
            return f"[link: {part.name or part.uri}] {part.uri}" + (f": {part.text}" if part.text else "")
        case "resource" if part.text:
            return f"[{part.uri}]\n{part.text}"
        case kind:
            return f"[{kind}: {described(part.media_type, len(part.data), part.name or part.uri)}]"


def _decoded(data: object) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True) if isinstance(data, str) else None
    except (binascii.Error, ValueError):
        return None


def _says(texts: Sequence[str], structured: object) -> bool:
    """Return whether the texts have all the data, which a server may wrap in an object with one member for that."""
    values = list(structured.values()) if isinstance(structured, dict) else []
    inner = values[0] if len(values) == 1 else structured
    if any(_same(text, value) for text in texts for value in (structured, inner)):
        return True
    return isinstance(inner, list) and 0 < len(inner) == len(texts) and all(map(_same, texts, inner))


def _same(text: str, value: object) -> bool:
    if isinstance(value, str):
        return text == value
    if len(text) > limits.LARGE_MESSAGE_BYTES:
        return False
    try:
        return bool(msgspec.json.decode(text) == value)
    except (msgspec.DecodeError, RecursionError):
        return False


def _title(block: JsonObject) -> str:
    return _text(block.get("title")) or _text(block.get("name"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


async def schema_violation(structured: object, schema: JsonObject | None) -> str:
    """Return what is wrong with a structured result by the tool's own schema, in one sentence; empty when nothing."""
    if not schema:
        return ""
    if structured is None:
        return "The tool promised structured content and gave none."
    try:
        # What is large stays as it came, so this encodes little.
        if isinstance(structured, msgspec.Raw) or (size := len(encode(structured))) > limits.OUTPUT_CHECKED_BYTES:
            return ""
        found = await mismatch(schema, structured, size)
    except Exception:  # A schema that cannot be used proves nothing about a result.
        return ""
    if found is None:
        return ""
    where = "/".join(found.path)
    place = f"“{where}” of the structured content" if where else "The structured content"
    return f"{place} is not what the tool promised: {found.message}."
