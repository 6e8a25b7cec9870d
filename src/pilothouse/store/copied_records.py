"""What a copy of a conversation changes about events, items and runs: the names of things, and nothing that is said."""

from __future__ import annotations

from typing import Any

import msgspec

from pilothouse.store.packed_range import Kept
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.runs import Run

# What people, models and tools said. Where it happens to be the name of something, it stays as it was said.
_SAID = frozenset({"text", "arguments", "askedArguments", "rawArguments", "native", "opaque", "noted", "facts"})
# What can be long about a conversation, and need not be told again and again.
_LONG: JsonObject = {"systemPrompt": None, "promptValues": {}}


class Renaming:
    """Gives everything of one conversation its name in another; what has none there does not belong to the copy."""

    def __init__(self, ids: dict[str, str], documents: dict[str, str], conversation_id: str) -> None:
        self.ids = ids
        self.documents = documents
        self.conversation_id = conversation_id
        self._names = ids | documents
        # What the conversation is, as it was told last, in few words.
        self._told: JsonObject = {}
        self._at = 0.0

    def event(self, event: Kept) -> Kept | None:
        """Return an event of the copy; None for one about something that is not in it."""
        if event.item_id is not None and event.item_id not in self.ids:
            return None
        said: JsonObject = msgspec.json.decode(event.body)
        if "run" in said and said["run"].get("id") not in self.ids:
            return None
        self._at = said.get("at", self._at)
        renamed: JsonObject = self._renamed(said)
        if "run" in renamed:
            renamed["run"] = _own_run(renamed["run"])
        elif "conversation" in renamed:
            renamed["conversation"] = self._own_conversation(renamed["conversation"])
        elif "item" in renamed:
            renamed["item"] = _first_branch(renamed["item"])
        item_id = self.ids[event.item_id] if event.item_id is not None else None
        return Kept(event.seq, event.kind, item_id, encode(renamed))

    def stand_in(self, seq: int) -> Kept:
        """Return what stands in the place of an event that is not in the copy: what the conversation is."""
        told = {"type": "conversation.updated", "seq": seq, "at": self._at, "conversation": self._told}
        return Kept(seq, "conversation.updated", None, encode(told))

    def item(self, body: bytes) -> bytes:
        """Return the body of an item of the copy."""
        return encode(_first_branch(self._renamed(msgspec.json.decode(body))))

    def run(self, run: Run) -> dict[str, object]:
        """Return the row of a run of the copy."""
        said: JsonObject = msgspec.json.decode(encode(run))
        return {
            "id": self.ids[run.id],
            "conversation_id": self.conversation_id,
            "owner": run.owner,
            "status": run.status,
            "epoch": run.epoch,
            "process": None,
            "created_at": run.created_at,
            "body": encode(_own_run(self._renamed(said))),
            "branch": 0,
        }

    def _own_conversation(self, conversation: JsonObject) -> JsonObject:
        own = conversation | {"branch": 0, "branches": 0, "deletedAt": None}
        self._told = own | {"settings": {**own.get("settings", {}), **_LONG}}
        return own

    def _renamed(self, value: Any) -> Any:
        """Return plain data in which every name is the one in the copy."""
        match value:
            case str():
                return self._names.get(value, value)
            case dict():
                return {key: each if key in _SAID else self._renamed(each) for key, each in value.items()}
            case list():
                return [self._renamed(each) for each in value]
            case _:
                return value


def _first_branch(item: JsonObject) -> JsonObject:
    """Return an item that stands in the first branch, and whose changes of files are undone where they were made."""
    data = {key: each for key, each in item["data"].items() if key != "fork"}
    return item | {"branch": 0, "data": _without_undo(data)}


def _without_undo(data: JsonObject) -> JsonObject:
    changes = data.get("changes")
    if not isinstance(changes, list):
        return data
    return data | {"changes": [{**each, "changeId": ""} if isinstance(each, dict) else each for each in changes]}


def _own_run(run: JsonObject) -> JsonObject:
    """Return a run that is like any other of its conversation, and is allowed nothing by what was said elsewhere."""
    options = run.get("options", {}) | {"allow": [], "beside": None, "replayOf": None}
    return run | {"branch": 0, "options": options}
