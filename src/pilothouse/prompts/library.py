"""All prompts: those in the data folder, and before them those that come with the program."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from pilothouse.prompts.folder import SUFFIX, Contents, PromptFolder, is_name
from pilothouse.prompts.front_matter import BadFile, parsed, written
from pilothouse.prompts.variables import check_values, filled, variables
from pilothouse.types import durable_files, limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.prompts import PromptDetails, PromptInput, PromptKind, PromptList, PromptView

FOLDERS: dict[PromptKind, str] = {"prompt": "prompts", "mini_prompt": "mini-prompts"}
_BYTES: dict[PromptKind, int] = {"prompt": limits.PROMPT_BYTES, "mini_prompt": limits.MINI_PROMPT_BYTES}
_WORDS: dict[PromptKind, str] = {"prompt": "prompt", "mini_prompt": "mini prompt"}
_NAMING = "Use letters, digits, hyphens and underscores."


class PromptLibrary:
    """Implements the port `PromptSource`; the files are looked at whenever someone asks."""

    def __init__(self, home: Path) -> None:
        self._own = {kind: PromptFolder(home / FOLDERS[kind], _BYTES[kind]) for kind in FOLDERS}
        ours = Path(__file__).parent / "built_in"
        self._ours = {kind: PromptFolder(ours / FOLDERS[kind], _BYTES[kind], built_in=True) for kind in FOLDERS}
        # One look at a time: each remembers what it read for the next.
        self._lock = threading.Lock()

    async def listed(self, kind: PromptKind) -> PromptList:
        return await asyncio.to_thread(self.list, kind)

    def list(self, kind: PromptKind) -> PromptList:
        """Return all prompts of a kind, in a thread of the caller's."""
        found = self._contents(kind)
        fields = PromptView.__struct_fields__
        views = (PromptView(**{name: getattr(each, name) for name in fields}) for each in found.prompts.values())
        return PromptList(prompts=tuple(views), folder=str(self._own[kind].path), problems=found.problems)

    async def details(self, kind: PromptKind, name: str) -> PromptDetails:
        contents = await asyncio.to_thread(self._contents, kind)
        found = contents.prompts.get(name)
        if found is None:
            # Its file may be there and be broken.
            why = next((each for each in contents.problems if each.startswith(f"{name}{SUFFIX} ")), "")
            raise PilothouseError("not_found", why or f"There is no {_WORDS[kind]} “{_shown(name)}”.")
        return found

    async def usable(self, kind: PromptKind, names: Sequence[str]) -> Sequence[PromptDetails]:
        found = (await asyncio.to_thread(self._contents, kind)).prompts
        return [found[name] for name in dict.fromkeys(names) if name in found]

    async def filled(self, name: str, values: Mapping[str, str], facts: Mapping[str, str]) -> str:
        check_values(values)
        try:
            found = await self.details("prompt", name)
        except PilothouseError as error:
            names = ", ".join((await asyncio.to_thread(self._contents, "prompt")).prompts)
            raise PilothouseError("bad_request", error.message, fix=f"There are: {names}." if names else "") from None
        named = [each.name for each in found.variables]
        if unknown := [name for name in values if name not in named]:
            what = f"The prompt “{name}” has no variable “{_shown(unknown[0])}”."
            raise PilothouseError("bad_request", what, fix=f"It has: {', '.join(named)}." if named else "It has none.")
        made = filled(found.text, values, facts)
        if made.missing:
            what = ", ".join(made.missing)
            raise PilothouseError("bad_request", f"The prompt “{name}” needs a value for: {what}.")
        return made.text

    async def put(self, kind: PromptKind, name: str, body: PromptInput) -> PromptDetails:
        """Write a prompt's file; raise one sentence for what would not be read again."""
        check_name(name)
        content = written(body.title, body.description, body.text)
        try:
            if len(content.encode()) > _BYTES[kind]:
                raise BadFile(f"is larger than {_BYTES[kind] // 1024} KiB")
            if len(variables(parsed(content).text)) > limits.PROMPT_VARIABLES:
                raise BadFile(f"has more than {limits.PROMPT_VARIABLES} variables")
        except (BadFile, UnicodeEncodeError) as error:
            why = str(error) if isinstance(error, BadFile) else "has characters that cannot be kept"
            raise PilothouseError("bad_request", f"The {_WORDS[kind]} {why}.") from None
        await asyncio.to_thread(self._write, kind, name, content.encode())
        return await self.details(kind, name)

    async def delete(self, kind: PromptKind, name: str) -> None:
        """Remove a prompt's file; raise `not_found` where there is none of the person's."""
        found = await self.details(kind, name)
        if found.built_in:
            raise PilothouseError("bad_request", f"“{name}” comes with the program and cannot be deleted.")
        try:
            await asyncio.to_thread(Path(found.path).unlink)
        except OSError as error:
            raise _refused(Path(found.path), error) from None

    def _write(self, kind: PromptKind, name: str, content: bytes) -> None:
        folder = self._own[kind]
        path = folder.path / f"{name}{SUFFIX}"
        if path.is_symlink():
            raise PilothouseError("bad_request", f"{path} is a link; change the file that it leads to.")
        if not path.exists() and len(folder.contents().prompts) >= limits.PROMPTS:
            raise PilothouseError("too_many", f"There are {limits.PROMPTS} files already.", fix="Delete one.")
        try:
            durable_files.make_folder(folder.path)
            durable_files.replace(path, content)
        except OSError as error:
            raise _refused(path, error) from None

    def _contents(self, kind: PromptKind) -> Contents:
        with self._lock:
            ours, own = self._ours[kind].contents(), self._own[kind].contents()
        both = {**ours.prompts, **own.prompts}
        return Contents({name: both[name] for name in sorted(both)}, own.problems)


def check_name(name: str) -> None:
    """Raise one sentence for what no prompt can be called."""
    if not is_name(name):
        raise PilothouseError("bad_request", f"A prompt cannot be called “{_shown(name)}”.", fix=_NAMING)


def _shown(name: str) -> str:
    return name if len(name) <= limits.PROMPT_NAME_CHARS else f"{name[: limits.PROMPT_NAME_CHARS]}…"


def _refused(path: Path, error: OSError) -> PilothouseError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return PilothouseError("disk_full", f"The disk is full; {path} was left as it was.", fix="Free some space.")
    why = (error.strerror or "it is not possible").lower()
    return PilothouseError("data_folder", f"{path} could not be written: {why}.", fix="Check that you may write there.")
