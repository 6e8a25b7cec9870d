"""Replays: a finished run once more, with the results that its tools gave then."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from pilothouse.agent import stop_reasons
from pilothouse.host import messages
from pilothouse.types.branches import ForkWish
from pilothouse.types.conversations import check_temperature
from pilothouse.types.errors import PilothouseError
from pilothouse.types.item_data import MessageData
from pilothouse.types.items import Item, parts_of, read
from pilothouse.types.json import encode
from pilothouse.types.records import Posting, Records
from pilothouse.types.replays import ReplayWish
from pilothouse.types.runs import ENDED, Run


async def posting(records: Records, owner: str, run_id: str, wish: ReplayWish) -> Posting:
    """Return the message that begins a replay; raise for a run that cannot be replayed.

    What is not wished otherwise is as in the run that is named. The results are those of the run that was carried out.
    """
    run = await records.run(owner, run_id)
    first = run if run.options.replay_of is None else await records.run(owner, run.options.replay_of)
    for each in (run, first):
        _check_finished(each)
    items = await records.items_of_run(owner, first.id)
    await _check_kept(records, first, items)
    if wish.temperature is not None:
        check_temperature(wish.temperature)
    if wish.system_prompt is not None:
        messages.check_text(wish.system_prompt)
    named = wish.model_id or run.options.model_id
    options = msgspec.structs.replace(
        run.options,
        model_id=named or answered_by(items if run is first else await records.items_of_run(owner, run.id)),
        system_prompt=run.options.system_prompt if wish.system_prompt is None else wish.system_prompt,
        temperature=run.options.temperature if wish.temperature is None else wish.temperature,
        thinking=run.options.thinking if wish.thinking is None else wish.thinking,
        unattended=True,
        allow=(),
        replay_of=first.id,
        beside=None,
    )
    message = await records.item(owner, first.message_item_id)
    fork = ForkWish(kind="replay", instead_of=first.id, repeats=repeated(message), chosen=False)
    made = messages.repeated(owner, message, options, fork)
    if wish.idempotency_key is None:
        return made
    told = encode((run_id, msgspec.structs.replace(wish, idempotency_key=None)))
    return msgspec.structs.replace(made, idempotency_key=wish.idempotency_key, digest=hashlib.sha256(told).hexdigest())


def repeated(message: Item) -> str:
    """Return the message that is said again when this one is: itself, or what it repeats already."""
    fork = read(MessageData, message.raw).fork
    return fork.repeats if fork is not None and fork.repeats is not None else message.id


def answered_by(items: Sequence[Item]) -> str | None:
    """Return the model that answered last in a run; None where none did."""
    return next((item.data.model for item in reversed(stop_reasons.standing(items)) if item.data.model), None)


def _check_finished(run: Run) -> None:
    if run.options.is_summary:
        raise PilothouseError("bad_request", "A summary is no answer, and cannot be replayed.")
    if run.status not in ENDED or run.status == "interrupted":
        raise PilothouseError(
            "conflict",
            "This answer is not finished, so it cannot be replayed yet.",
            fix="Stop it first, or wait until it has ended.",
        )


async def _check_kept(records: Records, run: Run, items: Sequence[Item]) -> None:
    """Raise where something of what the model was given is not kept any more."""
    told = {(item.id, part.index) for item in items for part in parts_of(item) if part.digest}
    if told and not told <= await records.kept_parts(run.id):
        raise PilothouseError(
            "conflict",
            "What tools gave in this run is not kept any more, so it cannot be replayed.",
            fix="Ask for another answer instead: that carries the calls out anew.",
        )
