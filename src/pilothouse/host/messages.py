"""A message on its way in: what is accepted, and what is kept of it."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from pilothouse.host import titles
from pilothouse.types import limits
from pilothouse.types.api import CompactionWish, ImageInput, NewMessage
from pilothouse.types.attached import AttachedDocument
from pilothouse.types.branches import ForkWish
from pilothouse.types.conversations import check_temperature
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ids import new_id
from pilothouse.types.invisible import whole
from pilothouse.types.item_data import MessageData, ResultPart
from pilothouse.types.items import Item, new_item, patch, read
from pilothouse.types.json import JsonObject, encode, plain
from pilothouse.types.media import picture_type
from pilothouse.types.parts import content
from pilothouse.types.pictures import UNKNOWN, picture_size
from pilothouse.types.ports import Part
from pilothouse.types.records import Posting
from pilothouse.types.runs import Run, RunOptions

if TYPE_CHECKING:
    from pilothouse.types.branch_views import Retry

# What a message that is said again has of the first one.
_REPEATED = ("content", "documents", "typedChars")
_LATER: JsonObject = {
    "temperature": None,
    "branch": None,
    "insteadOf": None,
    "after": None,
    "keepAttachments": True,
    "dropPictures": [],
    "dropDocuments": [],
    "whenBusy": "finish",
}


def check(body: NewMessage) -> None:
    """Raise one sentence if the message cannot be taken."""
    # What an edited message keeps is known once that one was read.
    if body.instead_of is None and not body.text.strip() and not body.images and not body.documents:
        raise _empty()
    if len(body.text) > limits.MESSAGE_CHARS:
        raise PilothouseError(
            "too_large",
            f"The message has {len(body.text):,} characters; at most {limits.MESSAGE_CHARS:,} can be sent.",
            fix="Shorten it, or send it in parts.",
        )
    check_text(body.text)
    if len(body.images) > limits.IMAGES_PER_MESSAGE:
        raise PilothouseError("too_large", f"At most {limits.IMAGES_PER_MESSAGE} images fit in one message.")
    if len(body.documents) > limits.DOCUMENTS_PER_MESSAGE:
        raise PilothouseError("too_large", f"At most {limits.DOCUMENTS_PER_MESSAGE} documents fit in one message.")
    check_key(body.idempotency_key)
    if body.temperature is not None:
        check_temperature(body.temperature)
    for image in body.images:
        check_text(image.name)
        if len(image.name) > limits.RESULT_LABEL_CHARS:
            raise PilothouseError("too_large", f"The name of an image has {len(image.name):,} characters.")


def _empty() -> PilothouseError:
    return PilothouseError("bad_request", "The message is empty.", fix="Write something or attach a file.")


def check_key(key: str | None) -> None:
    """Raise one sentence for what cannot be an idempotency key."""
    if key is not None and not 1 <= len(key) <= 200:
        raise PilothouseError("bad_request", "An idempotency key has 1 to 200 characters.")


def check_text(text: str) -> None:
    """Raise one sentence if a text has something in it that cannot be kept."""
    if whole(text) != text:
        raise PilothouseError("bad_request", "The text has half of a character in it.", fix="Send it as UTF-8 text.")


async def attached(body: NewMessage) -> tuple[Part, ...]:
    """Return what comes with a message, or raise one sentence if it is not what it says it is."""
    # Megabytes would hold the others up.
    return await asyncio.to_thread(lambda: tuple(map(_image, body.images))) if body.images else ()


def _image(image: ImageInput) -> Part:
    if len(image.data) > limits.IMAGE_BYTES * 4 // 3 + 4:
        raise PilothouseError(
            "too_large", f"An image is larger than {limits.IMAGE_BYTES // 1024 // 1024} MB.", fix="Make it smaller."
        )
    what = image.name or "An image"
    try:
        data = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        raise PilothouseError("bad_request", f"{what} is not valid base64.") from None
    if picture_type(data) != image.media_type:
        raise PilothouseError("bad_request", f"{what} is not what it says it is ({image.media_type}).")
    size = picture_size(image.media_type, data)
    if size == UNKNOWN:
        fix = "Is the file complete?"
        raise PilothouseError("bad_request", f"{what} is not whole ({image.media_type}).", fix=fix)
    if size[0] * size[1] > limits.IMAGE_PIXELS:
        most = limits.IMAGE_PIXELS // 1_000_000
        raise PilothouseError(
            "too_large",
            f"{what} has {size[0] * size[1] // 1_000_000:,} megapixels; at most {most} can be attached.",
            fix="Make it smaller.",
        )
    return Part(kind="image", data=data, media_type=image.media_type, name=image.name)


async def posting(owner: str, conversation_id: str, body: NewMessage) -> Posting:
    """Return the message, what is attached to it and its run, ready to be kept together."""
    parts = await attached(body)
    if not parts:
        return _posting(owner, conversation_id, body, parts)
    return await asyncio.to_thread(_posting, owner, conversation_id, body, parts)


def with_documents(posting: Posting, documents: tuple[AttachedDocument, ...]) -> Posting:
    """Return a message together with the documents that were attached to it."""
    data = posting.item.raw | patch(MessageData, documents=documents)
    named = posting.first_words or titles.first_words(", ".join(each.name for each in documents))
    return msgspec.structs.replace(posting, item=msgspec.structs.replace(posting.item, raw=data), first_words=named)


def _posting(owner: str, conversation_id: str, body: NewMessage, parts: tuple[Part, ...]) -> Posting:
    data: JsonObject = {"content": content(parts, are_apart=True)} if parts else {}
    if body.typed_chars is not None:
        data |= patch(MessageData, typed_chars=max(0, body.typed_chars))
    run_id = new_id("r")
    item = new_item(conversation_id, "user_message", run_id=run_id, text=body.text, data=data)
    run = Run(
        id=run_id,
        conversation_id=conversation_id,
        owner=owner,
        status="queued",
        message_item_id=item.id,
        options=RunOptions(
            model_id=body.model_id,
            unattended=body.unattended,
            selection=body.selection,
            allow=body.allow,
            thinking=body.thinking,
            temperature=body.temperature,
        ),
        created_at=0.0,
        updated_at=0.0,
    )
    return Posting(
        item=item,
        run=run,
        first_words=titles.first_words(body.text),
        idempotency_key=body.idempotency_key,
        digest=digest(body) if body.idempotency_key is not None else "",
        parts=parts,
        branch=body.branch,
        fork=ForkWish(kind="branch", after=body.after) if body.after is not None else None,
    )


def edited(posting: Posting, message: Item, body: NewMessage) -> Posting:
    """Return a message in the place of another, with what stays of that one's attachments; raise if it is empty."""
    was = read(MessageData, message.raw)
    data = posting.item.raw
    pictures, documents = _kept(was, body)
    first = len(posting.parts)
    shifted = [plain(msgspec.structs.replace(part, index=part.index + first)) for part in pictures]
    data = data | {"content": [*data.get("content", ()), *shifted]} if shifted else data
    data = data | patch(MessageData, documents=documents) if documents else data
    if not body.text.strip() and not body.documents and not data.get("content") and not documents:
        raise _empty()
    if was.typed_chars is not None and "typedChars" not in data:
        # What was piped in is not the person's own word because they changed something about it.
        data = data | patch(MessageData, typed_chars=was.typed_chars)
    return msgspec.structs.replace(
        posting,
        item=msgspec.structs.replace(posting.item, raw=data),
        fork=ForkWish(kind="edit", instead_of=message.run_id),
        attachments_of=message.id if pictures else None,
        attachments_dropped=tuple(sorted(set(body.drop_pictures))),
    )


def _kept(was: MessageData, body: NewMessage) -> tuple[Sequence[ResultPart], tuple[AttachedDocument, ...]]:
    """Return what of a message's attachments stays with the one in its place; raise for what is not attached to it."""
    pictures, documents = set(body.drop_pictures), set(body.drop_documents)
    if pictures - {part.index for part in was.content} or documents - {each.id for each in was.documents}:
        raise PilothouseError("bad_request", "The message has no such attachment.", fix="Reload the conversation.")
    if not body.keep_attachments:
        return (), ()
    return (
        [part for part in was.content if part.index not in pictures],
        tuple(each for each in was.documents if each.id not in documents),
    )


def repeated(owner: str, message: Item, options: RunOptions, fork: ForkWish) -> Posting:
    """Return a message once more, with what was attached to it and a run of its own."""
    was = read(MessageData, message.raw)
    data = {name: value for name, value in message.raw.items() if name in _REPEATED}
    run_id = new_id("r")
    item = new_item(message.conversation_id, "user_message", run_id=run_id, text=message.text, data=data)
    run = Run(
        id=run_id,
        conversation_id=message.conversation_id,
        owner=owner,
        status="queued",
        message_item_id=item.id,
        options=options,
        created_at=0.0,
        updated_at=0.0,
    )
    attachments = message.id if was.content else None
    return Posting(item=item, run=run, first_words="", idempotency_key=None, fork=fork, attachments_of=attachments)


def compaction(owner: str, conversation_id: str, body: CompactionWish) -> Posting:
    """Return the wish for a summary as a message that no model reads, with its run; raise if it cannot be taken."""
    keep = body.keep.strip()
    if len(keep) > limits.KEEP_CHARS:
        raise PilothouseError(
            "too_large",
            f"What the summary is to keep has {len(keep):,} characters; at most {limits.KEEP_CHARS:,} can be said.",
            fix="Shorten it.",
        )
    check_text(keep)
    run_id = new_id("r")
    data = patch(MessageData, command="compact")
    item = new_item(conversation_id, "user_message", run_id=run_id, text=f"/compact {keep}".strip(), data=data)
    run = Run(
        id=run_id,
        conversation_id=conversation_id,
        owner=owner,
        status="queued",
        message_item_id=item.id,
        options=RunOptions(compact=keep, unattended=body.unattended),
        created_at=0.0,
        updated_at=0.0,
    )
    return Posting(item=item, run=run, first_words="", idempotency_key=None, branch=body.branch)


def digest(body: NewMessage | Retry, *more: str) -> str:
    """Return a short mark of everything that was sent, save the key."""
    sent = plain(msgspec.structs.replace(body, idempotency_key=None))
    # What messages could not say in earlier versions is left out where it is not said: the mark stays the same.
    said = {name: value for name, value in sent.items() if name not in _LATER or value != _LATER[name]}
    return hashlib.sha256(b"\0".join((encode(said), *(each.encode() for each in more)))).hexdigest()
