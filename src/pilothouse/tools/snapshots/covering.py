"""Commands whose changes can be undone: the folder is looked at before and after each."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.files.places import PathRefused
from pilothouse.tools.files.shown_changes import shown_changes
from pilothouse.tools.files.steps import Step
from pilothouse.tools.files.walk import refusal
from pilothouse.tools.files.workspace import kept_changes
from pilothouse.tools.snapshots.autostart import Finding, aside, may_start, renamed, starting
from pilothouse.tools.snapshots.choosing import by_name, by_reason, named
from pilothouse.tools.snapshots.differences import changes_of, told, whole_change
from pilothouse.tools.snapshots.entries import written
from pilothouse.tools.snapshots.made import MadeRecord
from pilothouse.tools.snapshots.mirror import Difference, Mirror, TooMany
from pilothouse.types import limits
from pilothouse.types.changes import KeptChange
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCreated, ItemUpdated
from pilothouse.types.guarded_places import is_in
from pilothouse.types.item_data import NoticeData
from pilothouse.types.items import new_item, patch
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, PathGuard, ToolOutput
from pilothouse.types.records import Records

T = TypeVar("T")
_log = logging.getLogger(__name__)
_LEFT_OUT = "What commands change here can be undone, but not in {}."
_NOT_SEEN = (
    "Nobody looks into {}: what commands change there cannot be undone, and what starts by itself is not set aside."
)
_STAYS = "Undo will leave these alone, since they may have been elsewhere before the command: {}."
_TOO_MANY = f"This folder has more than {limits.SNAPSHOT_ENTRIES:,} files; what commands change here cannot be undone."
_CUT = (
    f"The command left more than {limits.SNAPSHOT_ENTRIES:,} files: what was there before can be put back, but what is "
    "new stays in part; what starts by itself was looked for by its name alone."
)
_ASIDE = "The command left behind what starts by itself; it was set aside until you looked at it: {}."
_FOR_MODEL = "Set aside, because it starts by itself, until the person has looked at it: {}."
_NOT_ASIDE = "The command left behind what starts by itself, and it could not be set aside: {}"
_RENAMED = "The command left behind what starts by itself under names that are not UTF-8; they were renamed: {}."
_USED_UP = (
    "Undo has no more room here and would not bring back {}. "
    "Once you allowed this, commands in this conversation go on without that."
)
_NAMED = 8
_UNSEEN = "What commands change here cannot be undone now: {}."


class Covered(msgspec.Struct):
    """What came of a command's folder, once the command is over."""

    # The changes that the call's card draws.
    shown: JsonObject = msgspec.field(default_factory=dict)
    # What starts by itself and was set aside.
    aside: tuple[str, ...] = ()
    # What undo leaves alone.
    stays: tuple[str, ...] = ()

    def added_to(self, output: ToolOutput) -> ToolOutput:
        """Return a command's result with its changes, and one sentence to the model about what was set aside."""
        text = f"{output.text}\n\n{_FOR_MODEL.format(_few(self.aside))}" if self.aside else output.text
        return msgspec.structs.replace(output, text=text, data=output.data | self.shown)


class _Known:
    """A folder that commands work in."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self.lock = asyncio.Lock()
        # Commands at work in it.
        self.at_work = 0
        # Why nothing is known of it.
        self.problem = ""
        # Who was told what is not covered.
        self.told: dict[str, set[str]] = {}
        # Names that are not UTF-8 and were there before the command.
        self.odd: frozenset[str] = frozenset()
        # Which conversations go on without what there is no more room for, by the person's word.
        self.given_up: dict[str, set[str]] = {}

    def used_up(self, conversation_id: str) -> str:
        """Return what of the person's own there is no more room for, unless that was allowed; or nothing."""
        given_up = self.given_up.get(conversation_id, set())
        lost = {path: size for path, size in self.mirror.lost().items() if path not in given_up}
        return _USED_UP.format(named(by_name(lost))) if lost else ""


class Snapshots:
    """Keeps what files were before commands changed them."""

    def __init__(
        self, keeper: Records, guard: PathGuard, redact: Callable[[str], str], cache: Path, data_folder: Path
    ) -> None:
        self._keeper = keeper
        # What is written beside a call's result passes nobody else who would take the secrets out that we know.
        self._redact = redact
        self._guard = guard
        self._cache = cache
        self._data_folder = os.path.realpath(data_folder)
        self._folders: OrderedDict[str, _Known] = OrderedDict()

    async def uncovered(self, folder: str, conversation_id: str) -> str:
        """Return why what a command changes in a folder cannot be kept, or not all of it any more; or nothing.

        That is seen by the first look at it, and by those at what commands did.
        """
        known = self._known(folder)
        async with known.lock:
            if not known.at_work and (known.problem or not known.mirror.is_begun):
                known.problem = await self._looked(known, known.mirror.refresh)
            return known.problem or known.used_up(conversation_id)

    @asynccontextmanager
    async def covering(self, context: CallContext, folder: str) -> AsyncIterator[Covered]:
        """Look at the folder before a command and after it, however it ends, and keep what it changed."""
        known = self._known(folder)
        covered = Covered()
        await self._before(known, context)
        if (why := known.problem or known.used_up(context.conversation_id)) and _was_covered(context):
            raise BadArgument(f"{why} Ask for it again.", "CONFLICT")
        if _says_uncovered(context):
            # Whoever allowed this one was told what it is about.
            known.given_up.setdefault(context.conversation_id, set()).update(known.mirror.lost())
        known.at_work += 1
        is_over = False
        try:
            yield covered
            is_over = True
        finally:
            known.at_work -= 1
            work = asyncio.ensure_future(self._after(known, context, covered))
            await _whole(work)
            if not is_over and covered.shown:
                # Nobody takes the result of a call that was stopped.
                await self._tell_at_call(context, covered)

    def _known(self, folder: str) -> _Known:
        known = self._folders.get(folder)
        if known is None:
            inside = is_in(self._data_folder, folder) and self._data_folder != folder
            apart = os.path.relpath(self._data_folder, folder) if inside else ""
            mirror = Mirror(
                folder,
                self._cache,
                apart,
                made=MadeRecord(self._cache.with_name("made"), folder),
                standing_out=lambda paths: may_start(paths, folder, self._guard),
            )
            known = self._folders[folder] = _Known(mirror)
        self._folders.move_to_end(folder)
        idle = [path for path, each in self._folders.items() if not each.at_work and path != folder]
        for path in idle[: max(0, len(self._folders) - limits.SNAPSHOT_FOLDERS)]:
            self._folders.pop(path).mirror.close()
        return known

    async def _before(self, known: _Known, context: CallContext) -> None:
        async with known.lock:
            # Beside another command nobody could tell whose changes are whose: the first that ends has them all.
            if not known.at_work:
                known.problem = await self._looked(known, known.mirror.refresh)
                known.odd = frozenset(known.mirror.unnamed)
            if known.problem:
                await self._tell_once(known, context, {known.problem: known.problem}, lambda fresh: known.problem)
                return
            left_out = await asyncio.to_thread(_left_out, known.mirror)
            await self._tell_once(known, context, left_out, lambda fresh: _LEFT_OUT.format(named(fresh)))
            await self._tell_not_seen(known, context)

    async def _tell_not_seen(self, known: _Known, context: CallContext) -> None:
        not_seen = await asyncio.to_thread(known.mirror.not_seen)
        await self._tell_once(known, context, not_seen, lambda fresh: _NOT_SEEN.format(by_reason(fresh)))

    async def _tell_once(
        self, known: _Known, context: CallContext, names: Mapping[str, T], say: Callable[[dict[str, T]], str]
    ) -> None:
        """Tell a conversation about those names of which it was not told yet."""
        told = known.told.setdefault(context.conversation_id, set())
        if fresh := {name: about for name, about in names.items() if name not in told}:
            told.update(fresh)
            await self._tell(context, say(fresh))

    async def _looked(self, known: _Known, look: Callable[[], object]) -> str:
        """Look; return why that was not possible, or nothing."""
        if known.problem == _TOO_MANY:
            return known.problem
        try:
            await _whole(asyncio.ensure_future(asyncio.to_thread(look)))
        except TooMany:
            return _TOO_MANY
        except (OSError, PathRefused) as error:
            why = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
            return _UNSEEN.format((why or "the folder cannot be read").lower())
        return ""

    async def _after(self, known: _Known, context: CallContext, covered: Covered) -> None:
        async with known.lock:
            if known.problem:
                return
            found: list[Difference] = []
            kept: list[KeptChange] = []
            known.problem = await self._looked(known, lambda: found.extend(known.mirror.look()))
            is_cut = known.mirror.is_cut
            if not known.problem and not context.asked:
                await self._rename_odd(known, context)
                covered.aside = await self._set_aside(known, context, found)
            if not known.problem:
                rest = list(_without(found, covered.aside, known.mirror))
                known.problem = await self._looked(
                    known, lambda: kept.extend(self._compare(known.mirror, rest, context, covered))
                )
            if known.problem:
                await self._tell(context, known.problem)
                return
            try:
                for at in range(0, len(kept), limits.CHANGES_AT_ONCE):
                    await self._keeper.keep_changes(kept[at : at + limits.CHANGES_AT_ONCE])
            except PilothouseError as error:
                covered.shown = {}
                await self._tell(context, _UNSEEN.format(error.message.rstrip(".").lower()))
            await self._tell_not_seen(known, context)
            if covered.stays:
                await self._tell(context, _STAYS.format(_few(covered.stays)))
            if is_cut:
                known.problem = _TOO_MANY
                await self._tell(context, _CUT)

    async def _rename_odd(self, known: _Known, context: CallContext) -> None:
        """Give another name to what starts by itself and has one that is not UTF-8: no row can be kept of it."""
        new = [path for path in known.mirror.unnamed if path not in known.odd]
        done = await asyncio.to_thread(renamed, new, known.mirror.folder, self._guard) if new else {}
        if done:
            await self._tell(context, _RENAMED.format(_few([f"{written(old)} to {now}" for old, now in done.items()])))
        for path in done:
            del known.mirror.unnamed[path]

    async def _set_aside(self, known: _Known, context: CallContext, found: Sequence[Difference]) -> tuple[str, ...]:
        """Set aside what starts by itself until the person looked at it; return its paths."""
        mirror = known.mirror
        away = await asyncio.to_thread(lambda: list(aside(starting(found, mirror, self._guard), mirror)))
        if not away:
            return ()
        notice = new_item(context.conversation_id, "notice", run_id=context.run_id)
        # They are undone by themselves, not with the run: that would bring them back.
        kept = kept_changes([step for _, step in away], msgspec.structs.replace(context, call_id=notice.id, run_id=""))
        ids = [each.change.id for each in kept]
        shown = await asyncio.to_thread(
            lambda: shown_changes([whole_change(*each[:3], mirror) for each, _ in away], ids)
        )
        about = patch(NoticeData, level="warning", code="set_aside") | self._masked(shown)
        told = msgspec.structs.replace(notice, text=_aside_told(away), raw=about)
        try:
            await self._keeper.keep_changes(kept)
            # Before anything is taken away: what a process that is killed has taken can be put back then.
            await self._keeper.append(context.conversation_id, [ItemCreated(item=told)], None)
        except PilothouseError as error:
            await self._tell(context, _NOT_ASIDE.format(f"{_few([each.path for each, _ in away])}. {error.message}"))
            return ()
        stuck: dict[str, str] = {}
        known.problem = await self._looked(known, lambda: stuck.update(_take(away, mirror)))
        if stuck:
            await self._tell(context, _NOT_ASIDE.format(" ".join([*stuck.values()][:_NAMED])))
        gone = {each.path for each, _ in away}
        # Settings that are back may say of something else that it starts.
        rest = [each for each in found if each.path not in gone]
        more = () if known.problem else await self._set_aside(known, context, rest)
        return (*(path for path in gone if path not in stuck), *more)

    def _compare(
        self, mirror: Mirror, found: Sequence[Difference], context: CallContext, covered: Covered
    ) -> list[KeptChange]:
        command = context.access.command if context.access is not None else None
        changes, stays = changes_of(found, mirror, held=command is not None and bool(command.sandbox))
        kept = kept_changes(changes, context)
        covered.shown = told(changes, [each.change.id for each in kept])
        covered.stays = tuple(stays)
        for change in covered.shown.get("changes", ()):
            # What is in a file of secrets stands in no timeline.
            if self._guard.protects(os.path.join(mirror.folder, change["path"]), None, "reads"):
                change["diff"] = ""
        return kept

    async def _tell(self, context: CallContext, sentence: str) -> None:
        about = patch(NoticeData, level="warning", code="not_covered")
        notice = new_item(context.conversation_id, "notice", run_id=context.run_id, text=sentence, data=about)
        await self._write(context, ItemCreated(item=notice))

    async def _tell_at_call(self, context: CallContext, covered: Covered) -> None:
        await self._write(context, ItemUpdated(item_id=context.call_id, data=self._masked(covered.shown)))

    def _masked(self, shown: JsonObject) -> JsonObject:
        return shown | {"changes": [{**each, "diff": self._redact(each["diff"])} for each in shown["changes"]]}

    async def _write(self, context: CallContext, event: ItemCreated | ItemUpdated) -> None:
        try:
            await self._keeper.append(context.conversation_id, [event], None)
        except PilothouseError as error:
            _log.warning("what a command changed was not told: %s", error.message)

    def close(self) -> None:
        """Forget all folders."""
        for known in self._folders.values():
            known.mirror.close()
        self._folders.clear()


def _was_covered(context: CallContext) -> bool:
    """Return whether a command needed nobody's word because its changes can be undone."""
    command = context.access.command if context.access is not None else None
    return context.mode == "sandboxed" and command is not None and command.covered


def _says_uncovered(context: CallContext) -> bool:
    """Return whether a command was allowed although undo does not cover all that it may change."""
    command = context.access.command if context.access is not None else None
    return command is not None and bool(command.uncovered)


def _take(away: Sequence[tuple[Finding, Step]], mirror: Mirror) -> dict[str, str]:
    """Take all steps that can be taken; return of the others why not."""
    stuck = {}
    for each, step in away:
        try:
            step.take(None)
        except OSError as error:
            stuck[each.path] = refusal(each.path, error).message
        except BadArgument as error:
            stuck[each.path] = error.message
    mirror.look()
    return stuck


def _without(found: Sequence[Difference], aside: Sequence[str], mirror: Mirror) -> Iterator[Difference]:
    """Yield what a command did without what was set aside; what stood in its place before, and is not back, is gone."""
    for each in found:
        if each.path not in aside:
            yield each
        elif each.before is not None and not mirror.has(each.path):
            yield each._replace(after=None)


def _aside_told(away: Sequence[tuple[Finding, Step]]) -> str:
    """Return what was set aside, and why, in the words of each reason."""
    reasons: dict[str, list[str]] = {}
    for each, _ in away:
        reasons.setdefault(each.why, []).append(each.path)
    said = (f"{_few(paths)} ({why[:1].lower()}{why[1:].rstrip('.')})" for why, paths in reasons.items())
    return _ASIDE.format("; ".join(said))


def _few(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(paths[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _left_out(mirror: Mirror) -> dict[str, int]:
    return by_name(mirror.left_out())


async def _whole(work: asyncio.Future[None] | asyncio.Future[object]) -> None:
    """Wait for work to its end, also when whoever waits is told to stop."""
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise
