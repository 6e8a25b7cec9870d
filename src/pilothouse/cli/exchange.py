"""`pilothouse conversations export` and `import`: conversations as files."""

from __future__ import annotations

import asyncio
import gzip
import os
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pilothouse.cli.tables import counted
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.cli.wrapping import say
from pilothouse.connection import connect_host
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.exchange import ExportFormat
from pilothouse.types.host import LOCAL_OWNER


def export(conversation_id: str | None, file: Path | None, form: ExportFormat, *, replace: bool) -> int:
    """Write conversations into a file, or print them."""
    from pilothouse.wiring.exports import export as write

    if file is None:
        write(LOCAL_OWNER, conversation_id, form, sys.stdout.buffer)
        return 0
    with _sink(file, replace=replace) as sink:
        count = write(LOCAL_OWNER, conversation_id, form, sink)
    output().line(str(file.absolute()))
    say(messages(), f"{counted(count, 'conversation')}.", "dim")
    return 0


@contextmanager
def _sink(file: Path, *, replace: bool) -> Iterator[BinaryIO]:
    from pilothouse.wiring.whole_files import new_file

    with new_file(file, replace=replace) as plain:
        if file.suffix == ".gz":
            with gzip.GzipFile(fileobj=plain, mode="wb") as packing:
                yield packing  # type: ignore[misc]
        else:
            yield plain


async def import_file(file: Path, *, as_json: bool) -> int:
    """Take the conversations of a file over."""
    async with connect_host() as api:
        done = await api.import_conversations(LOCAL_OWNER, _pieces(file))
    if as_json:
        output().json(done)
        return 0
    for one in done.conversations:
        said = " (was here already)" if one.already else ""
        output().line(f"{one.id}  {one_line(one.title) or '(new)'}{said}")
    if not done.conversations:
        messages().line("There is no conversation in this file.")
    return 0


async def _pieces(file: Path) -> AsyncGenerator[bytes, None]:
    try:
        with await asyncio.to_thread(file.open, "rb") as source:
            if not os.fstat(source.fileno()).st_size:
                raise PilothouseError("bad_request", f"{file} is empty.", fix="Use another copy.")
            while piece := await asyncio.to_thread(source.read, limits.DOWNLOAD_BYTES):
                yield piece
    except OSError as error:
        message = f"{file} cannot be read: {(error.strerror or 'it is not there').lower()}."
        raise PilothouseError("bad_request", message) from None
