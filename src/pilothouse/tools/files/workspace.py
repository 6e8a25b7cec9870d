"""What all file operations share: what a call touches, whether it keeps to that, and changes carried out whole."""

from __future__ import annotations

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.files.contents import Snapshot, read_whole
from pilothouse.tools.files.places import PathRefused, Place, components, find_place, followed, resolved
from pilothouse.tools.files.restoring import put_back
from pilothouse.tools.files.steps import Change, MakeFolder, Move, Step, WriteFile
from pilothouse.tools.files.walk import (
    Identity,
    check_names,
    identity,
    look,
    open_folder,
    open_root,
    parent_of,
    refusal,
)
from pilothouse.types import limits
from pilothouse.types.access import PathUse
from pilothouse.types.changes import FOLDER, FileChange, KeptChange
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ids import new_id
from pilothouse.types.ports import CallContext, PathGuard
from pilothouse.types.records import Records

PathEffect = Literal["reads", "writes"]


class Workspace:
    """Where files are read and changed for calls."""

    def __init__(self, guard: PathGuard, keeper: Records) -> None:
        self._guard = guard
        self._keeper = keeper
        self.readings = Readings()

    # --- what a call touches ---

    def place(self, text: str, context: CallContext) -> Place:
        """Return where a path of a call leads; once the call was allowed, only where it led then."""
        return self.held(followed(find_place(text, context.working_directory)), context)

    def entry(self, text: str, context: CallContext) -> Place:
        """Return the same for what is done to a name itself: a link at the end is that link."""
        return self.held(followed(find_place(text, context.working_directory), last=False), context)

    def held(self, place: Place, context: CallContext) -> Place:
        """Return a place, if its names are fit to be used and the call, once allowed, is about it."""
        check_names(place)
        if context.access is not None and all(place.path != use.path for use in context.access.paths):
            raise _not_allowed(place.path)
        return place

    def use(self, place: Place, effect: PathEffect) -> PathUse:
        """Return a place as a decision sees it; what cannot be looked at is judged by its name."""
        try:
            found = look(place)
        except PathRefused:
            if place.inside:
                raise
            found = None
        protected = self._guard.protects(place.path, None if found is None else identity(found), effect)
        return PathUse(path=place.path, effect=effect, inside=place.inside, protected=protected)

    def may_read(self, use: PathUse) -> bool:
        """Return whether something may be read without anyone's word: inside, and no secret under any name."""
        if not use.inside or not use.protected:
            return use.inside
        found = look(Place("/", components(use.path), False))
        return not self._guard.protects(use.path, None if found is None else identity(found), "reads")

    def protected(self, place: Place, effect: PathEffect, found: os.stat_result | None) -> PathUse | None:
        """Return a place only if it needs a word of its own."""
        why = self._guard.protects(place.path, None if found is None else identity(found), effect)
        return PathUse(path=place.path, effect=effect, inside=place.inside, protected=why) if why else None

    # --- whether it keeps to that ---

    def hold(self, context: CallContext, uses: Sequence[PathUse]) -> None:
        """Refuse to touch anything that was not allowed, or that became something else since."""
        allowed = _allowed(context)
        for use in uses:
            self._forbid(use.path, None)
            known = allowed.get((use.path, use.effect))
            if known is None or (use.protected and not known.protected) or (use.whole and not known.whole):
                raise _not_allowed(use.path)

    def hold_opened(self, context: CallContext, place: Place, effect: PathEffect, opened: Identity) -> None:
        """Refuse an opened file that is protected under whatever name, unless that was allowed."""
        self._forbid(place.path, opened)
        why = self._guard.protects(place.path, opened, effect)
        known = _allowed(context).get((place.path, effect))
        if why and (known is None or not known.protected):
            raise PathRefused(f"{place.name} is not to be touched without a word of its own: {why}", "PROTECTED")

    def _forbid(self, path: str, opened: Identity | None) -> None:
        if never := self._guard.forbids(path, opened):
            raise PathRefused(f"{path} is not to be touched: {never}", "PROTECTED")

    def read(self, place: Place, context: CallContext) -> Snapshot:
        """Return a file that shall be changed, as it is now and as the conversation knows it."""
        with parent_of(place, known_root(context)) as folder:
            before = read_whole(folder, place.last, place.name)
        if context.access is not None:
            self.hold_opened(context, place, "writes", before.identity)
        self.readings.check(context.conversation_id, place, before.digest)
        return before

    # --- carrying out ---

    async def carry_out(self, steps: Sequence[Step], context: CallContext) -> tuple[str, ...]:
        """Take all steps or none, and keep what they replace; return the ids of the changes.

        A call that is cancelled leaves everything as it was.
        """
        cancelled = False

        async def work() -> tuple[str, ...]:
            kept = kept_changes(steps, context)
            await self._keep(kept)
            try:
                if not cancelled:
                    await asyncio.to_thread(_take, steps, kept, known_root(context))
            except BaseException as error:
                await self._drop(kept, getattr(error, "stuck", ()))
                raise
            if cancelled:
                await self._drop(kept, await asyncio.to_thread(_put_back, kept))
            return tuple(each.change.id for each in kept)

        task = asyncio.ensure_future(work())
        try:
            ids = await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()
            raise
        self._remember(steps, context)
        return ids

    async def _keep(self, kept: Sequence[KeptChange]) -> None:
        try:
            await self._keeper.keep_changes(kept)
        except PilothouseError as error:
            raise BadArgument(f"Nothing was changed: {error.message}", error.code.upper()) from None

    async def _drop(self, kept: Sequence[KeptChange], stuck: Sequence[str]) -> None:
        await self._keeper.drop_changes([each.change.id for each in kept if each.change.id not in stuck])

    def _remember(self, steps: Sequence[Step], context: CallContext) -> None:
        for step in steps:
            after = step.kept().after
            self.readings.saw(context.conversation_id, step.place.path, None if after == FOLDER else after)
            if isinstance(step, Move):
                self.readings.saw(context.conversation_id, step.source.path, None)


def known_root(context: CallContext) -> Identity | None:
    """Return the identity of the working directory that a call was allowed for."""
    return context.access.folder_identity if context.access is not None else None


def folder_identity(context: CallContext) -> Identity | None:
    """Return the identity of the working directory as it is now."""
    if not context.working_directory:
        return None
    with open_folder(resolved(context.working_directory)) as folder:
        return folder.identity


def missing_folders(place: Place) -> list[Step]:
    """Return the steps that make the folders that a new file needs."""
    steps: list[Step] = []
    for depth in range(len(place.parts) - 1, 0, -1):
        parent = Place(place.root, place.parts[:depth], place.inside)
        if look(parent) is not None:
            break
        steps.insert(0, MakeFolder(parent))
    return steps


def _not_allowed(path: str) -> PathRefused:
    return PathRefused(f"{path} is not what the call was allowed to touch; ask again.", "CONFLICT")


def _allowed(context: CallContext) -> dict[tuple[str, str], PathUse]:
    if context.access is None:
        raise PathRefused("The call was not allowed.", "PERMISSION_DENIED")
    return {(use.path, use.effect): use for use in context.access.paths}


def kept_changes(steps: Sequence[Change], context: CallContext) -> list[KeptChange]:
    """Return what a call changes, or changed, as it is kept for undoing."""
    kept = []
    now = time.time()
    for number, step in enumerate(steps):
        was = step.kept()
        change = FileChange(
            id=new_id("f"),
            conversation_id=context.conversation_id,
            run_id=context.run_id,
            item_id=context.call_id,
            path=step.place.path,
            before=was.before,
            after=was.after,
            mode=was.mode,
            # Their order is what undoing goes by.
            at=now + number * 1e-6,
            moved_from=was.moved_from,
        )
        kept.append(KeptChange(change, was.content))
    return kept


class _Halfway(PathRefused):
    """A step failed, and some before it could not be put back; those stay among the changes that can be undone."""

    def __init__(self, why: BadArgument, stuck: Sequence[str], paths: Sequence[str]) -> None:
        super().__init__(f"{why.message} What was changed in {', '.join(paths)} could not be put back.", why.code)
        self.stuck = stuck


def _take(steps: Sequence[Step], kept: Sequence[KeptChange], known: Identity | None) -> None:
    _check_room(steps)
    taken = 0
    try:
        for step in steps:
            step.take(known)
            taken += 1
    except (OSError, BadArgument) as error:
        why = refusal(steps[taken].place.name, error) if isinstance(error, OSError) else error
        stuck = _put_back(kept[:taken])
        if stuck:
            paths = [each.change.path for each in kept if each.change.id in stuck]
            raise _Halfway(why, stuck, paths) from None
        raise why from None


def _check_room(steps: Sequence[Step]) -> None:
    """Refuse changes of several files when the disk could fill up between them: putting back needs room too."""
    writes = [step for step in steps if isinstance(step, WriteFile)]
    if len(writes) < 2:
        return
    needed = sum(len(step.after) + (step.before.size if step.before else 0) for step in writes)
    with open_root(writes[0].place) as root:
        system = os.fstatvfs(root.descriptor)
    if system.f_bavail * system.f_frsize < needed:
        raise PathRefused("The disk is full; nothing was changed.", "DISK_FULL")


def _put_back(kept: Sequence[KeptChange]) -> tuple[str, ...]:
    """Undo steps that were just taken; return the ids of those for which that failed."""
    stuck = []
    for each in reversed(kept):
        try:
            put_back(each)
        except (OSError, PathRefused):
            stuck.append(each.change.id)
    return tuple(stuck)


class Readings:
    """The hashes of what was read or written last, by conversation and path; the oldest are forgotten first."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, OrderedDict[str, str]] = OrderedDict()

    def saw(self, conversation_id: str, path: str, digest: str | None) -> None:
        """Remember the content that a conversation knows now; None for a file that is gone."""
        seen = self._seen.setdefault(conversation_id, OrderedDict())
        self._seen.move_to_end(conversation_id)
        seen.pop(path, None)
        if digest is not None:
            seen[path] = digest
        if len(seen) > limits.READINGS:
            seen.popitem(last=False)
        if len(self._seen) > limits.READING_CONVERSATIONS:
            self._seen.popitem(last=False)

    def check(self, conversation_id: str, place: Place, digest: str) -> None:
        """Refuse a change of a file that is not what the conversation saw of it."""
        known = self._seen.get(conversation_id, OrderedDict()).get(place.path)
        if known is not None and known != digest:
            message = f"{place.name} was changed by someone else since you read it; read it again before you change it."
            raise PathRefused(message, "CONFLICT")
