"""`pilothouse conversations files`: pictures and other files of a conversation, listed or saved."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from pilothouse.cli.backups import size
from pilothouse.cli.tables import counted, show_table
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.cli.wrapping import say
from pilothouse.connection import connect_host
from pilothouse.host.following import all_items
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.item_data import CallData, ResultPart
from pilothouse.types.items import Item, is_a, parts_of
from pilothouse.types.json import Frozen

_KINDS = ("image", "audio", "resource")
# What a file's name may have in it; strangers gave most names.
_UNFIT = re.compile(r"[^\w.+-]+")
_NAME_CHARS = 80


class KeptFile(Frozen, frozen=True):
    """A file of a conversation, by its number there."""

    number: int
    item_id: str
    # Whose it is: "you", "model", or the name of a tool.
    by: str
    part: ResultPart

    @property
    def file_name(self) -> str:
        """Return the name under which it is saved: its number, and as much of its own as is harmless."""
        name = _UNFIT.sub("-", self.part.name.rpartition("/")[2]).strip("-.")[-_NAME_CHARS:]
        ending = self.part.media_type.partition("/")[2].partition(";")[0]
        return f"{self.number:02}-{name}" if name else f"{self.number:02}.{_UNFIT.sub('-', ending) or 'bin'}"


def pictures_of(parts: Iterable[ResultPart]) -> list[ResultPart]:
    """Return the pictures among an item's parts."""
    return [part for part in _files(parts) if part.kind == "image"]


def described(part: ResultPart) -> str:
    """Return a file in words."""
    pixels = f"{part.width} × {part.height}" if part.width else ""
    return ", ".join(filter(None, (one_line(part.name), part.media_type, pixels, size(part.bytes))))


async def show_or_save(
    conversation_id: str, folder: Path | None, *, only: int | None, replace: bool, as_json: bool
) -> int:
    """List the files of a conversation, or save them into a folder."""
    async with connect_host() as api:
        found = [one for one in _found(await all_items(api, conversation_id, None)) if only in (None, one.number)]
        if only is not None and not found:
            raise PilothouseError("not_found", f"There is no file {only} in this conversation.")
        saved = [await _save(api, one, folder, replace=replace) for one in found] if folder is not None else []
    if as_json:
        output().json([msgspec.to_builtins(one) for one in found])
        return 0
    for path in saved:
        output().line(str(path))
    if not found:
        messages().line("There are no pictures and no files in this conversation.")
    elif folder is None:
        show_table(output(), ("", "by", "what"), [(str(one.number), one.by, described(one.part)) for one in found])
        say(messages(), f"Save them: pilothouse conversations files {conversation_id} FOLDER", "dim")
    else:
        say(messages(), f"{counted(len(saved), 'file')}.", "dim")
    return 0


def _found(items: Iterable[Item]) -> Iterator[KeptFile]:
    number = 0
    for item in items:
        for part in _files(parts_of(item)):
            number += 1
            by = {"user_message": "you", "response": "model"}.get(item.kind, "tool")
            if is_a(item, CallData):
                by = item.data.tool or by
            yield KeptFile(number=number, item_id=item.id, by=one_line(by), part=part)


def _files(parts: Iterable[ResultPart]) -> list[ResultPart]:
    return [part for part in parts if part.kind in _KINDS and part.media_type and part.bytes and not part.text]


async def _save(api: ClientApi, one: KeptFile, folder: Path, *, replace: bool) -> Path:
    data = (await api.runs.part(LOCAL_OWNER, one.item_id, one.part.index)).data
    return await asyncio.to_thread(_write, folder / one.file_name, data, replace=replace)


def _write(target: Path, data: bytes, *, replace: bool) -> Path:
    from pilothouse.wiring.whole_files import new_file

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = (error.strerror or "it is not possible").lower()
        raise PilothouseError("bad_request", f"{target.parent} cannot be made: {why}.") from None
    with new_file(target, replace=replace) as sink:
        sink.write(data)
    return target.absolute()
