"""Receipts: what was answered to a message, for the case that it is sent again with the same key."""

from __future__ import annotations

import msgspec

from pilothouse.store.rows import run_decoder
from pilothouse.store.statements import Connection, Statement
from pilothouse.types.api import MessageAccepted
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode
from pilothouse.types.records import Posting
from pilothouse.types.runs import Run

_RECEIPT = Statement("SELECT body FROM receipts WHERE owner = :owner AND key = :key")
# Those of one comparison are made in one transaction, at one time.
_RUNS_SINCE = Statement(
    "SELECT others.body FROM runs JOIN runs others ON others.conversation_id = runs.conversation_id "
    "AND others.created_at = runs.created_at WHERE runs.id = :id"
)
_KEEP = Statement(
    "INSERT INTO receipts (owner, key, body, created_at) VALUES (:owner, :key, :body, :at) ON CONFLICT DO NOTHING"
)


class _Receipt(MessageAccepted, frozen=True):
    """What was answered, and to which words; a receipt of an earlier version does not know them."""

    digest: str = ""


_decoder = msgspec.json.Decoder(_Receipt)


def receipt(connection: Connection, posting: Posting) -> MessageAccepted | None:
    """Return what was answered to this message before; raise `conflict` if its key belongs to another."""
    if posting.idempotency_key is None:
        return None
    body = _RECEIPT.first(connection, {"owner": posting.run.owner, "key": posting.idempotency_key})
    if body is None:
        return None
    kept = _decoder.decode(body)
    if kept.conversation_id != posting.item.conversation_id:
        raise _refused("This idempotency key belongs to a message in another conversation.")
    if kept.digest not in ("", posting.digest):
        raise _refused("This idempotency key belongs to another message, which was accepted.")
    return MessageAccepted(
        conversation_id=kept.conversation_id, item_id=kept.item_id, run_id=kept.run_id, branch=kept.branch
    )


def together(connection: Connection, first: MessageAccepted) -> list[MessageAccepted]:
    """Return what was answered to a message and to those that were sent with it, for other models."""
    runs = map(run_decoder.decode, _RUNS_SINCE.column(connection, {"id": first.run_id}))
    others = [run for run in runs if run.options.beside == first.run_id and run.id != first.run_id]
    return [first, *map(_accepted, sorted(others, key=lambda run: run.branch))]


def _accepted(run: Run) -> MessageAccepted:
    return MessageAccepted(
        conversation_id=run.conversation_id, item_id=run.message_item_id, run_id=run.id, branch=run.branch
    )


def conversation_of(body: bytes) -> str:
    """Return where the message was sent that a receipt is for."""
    return _decoder.decode(body).conversation_id


def keep(connection: Connection, posting: Posting, accepted: MessageAccepted, at: float) -> bool:
    """Keep what is answered; False when another process has just used the key."""
    kept = _Receipt(**msgspec.structs.asdict(accepted), digest=posting.digest)
    values = {"owner": posting.run.owner, "key": posting.idempotency_key, "body": encode(kept), "at": at}
    return posting.idempotency_key is None or _KEEP.count(connection, values) > 0


def _refused(message: str) -> PilothouseError:
    fix = "Give each message a key of its own; the same key is for sending the very same message again."
    return PilothouseError("conflict", message, fix=fix)
