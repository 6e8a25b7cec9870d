"""Other ways on, at a terminal: which message or answer is meant, what would be left behind, and the tree."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.cli.changes import tell_undone
from pilothouse.cli.prompting import read_line, yes
from pilothouse.cli.tables import counted, cut, show_table, when
from pilothouse.cli.terminal import Terminal, messages, one_line
from pilothouse.cli.wrapping import say
from pilothouse.host.following import Following, all_items
from pilothouse.types.branch_views import BranchNode, BranchTree, FilesBack, LeftBehind
from pilothouse.types.branches import BRANCH_KINDS, WhenBusy
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.item_data import MessageData
from pilothouse.types.items import Item, is_a
from pilothouse.types.runs import ENDED

# As many columns of a message's words as tell which one it is; what was said in the branch needs the room.
_LEAVES_WIDTH = 24
# More digits than any number of messages or branches has.
_DIGITS = 9


class Place(msgspec.Struct, frozen=True):
    """Where the next message stands that begins a branch, and what becomes of answers that it leaves behind."""

    # The own message that it stands in the place of, or the run that it follows.
    instead_of: str | None = None
    after: str | None = None
    when_busy: WhenBusy = "finish"


async def own_messages(api: ClientApi, conversation_id: str) -> list[Item]:
    """Return what the person said on the path that is chosen, oldest first; commands and hidden messages left out."""
    chosen = (await api.conversations.get(LOCAL_OWNER, conversation_id, limit=1)).branch
    items = await all_items(api, conversation_id, chosen)
    return [item for item in items if is_a(item, MessageData) and not (item.data.command or item.data.hidden)]


async def nth_message(api: ClientApi, conversation_id: str, typed: str) -> Item:
    """Return the own message that a number names, counted from the end: 1, or nothing, is the last one."""
    said = await own_messages(api, conversation_id)
    if not said:
        raise PilothouseError("bad_request", "Nothing was said here yet.", fix="Say something first.")
    most = f"Say a number from 1, the last message, to {len(said)}." if len(said) > 1 else "There is only one."
    number = _number(typed or "1", f"{most} What you write comes on the next line.")
    if number is None or not 1 <= number <= len(said):
        raise PilothouseError("bad_request", f"“{typed}” is no message of yours here.", fix=most)
    return said[-number]


def _number(typed: str, fix: str) -> int | None:
    """Return the number that was typed, None for what is none; raise one sentence for a number with words behind it."""
    first, *more = typed.split() or [""]
    number = int(first) if first.isdecimal() and len(first) <= _DIGITS else None
    if more and number is not None:
        raise PilothouseError("bad_request", f"Only a number is taken here, not “{one_line(typed)}”.", fix=fix)
    return None if more else number


async def offer(api: ClientApi, run_id: str, aside: Terminal, *, itself: bool) -> WhenBusy | None:
    """Ask what is to become of what a branch leaves behind; None when the person does not want the branch after all.

    Nothing is stopped and no file is touched unless they say so.
    """
    left = await api.branches.left_behind(LOCAL_OWNER, run_id, itself)
    busy: WhenBusy = "finish"
    if left.at_work:
        answer = await read_line("An answer is still at work. Stop it, or finish it first? [s/F] ", aside)
        if answer is None:
            return None
        busy = "stop" if answer.strip().lower() in ("s", "stop") else "finish"
    if left.lasting_count:
        say(aside, f"Done since, and not to be put back: {named(left.lasting, left.lasting_count)}.", "yellow")
    if left.files_count:
        await _offer_files(api, run_id, left, busy, aside, itself=itself)
    return busy


async def _offer_files(
    api: ClientApi, run_id: str, left: LeftBehind, busy: WhenBusy, aside: Terminal, *, itself: bool
) -> None:
    files = f"{counted(left.files_count, 'file')} changed since: {named(left.files, left.files_count)}."
    say(aside, files, "yellow")
    if left.at_work and busy == "finish":
        say(aside, "They can be put back once the answer has ended.", "dim")
        return
    if not await yes("Put them back as they were?", aside):
        return
    if left.at_work:
        await stop(api, left.at_work)
    report = await api.branches.put_files_back(LOCAL_OWNER, run_id, FilesBack(itself=itself))
    tell_undone(report, aside)


async def put_files_back(
    api: ClientApi, conversation_id: str, instead_of: str | None, after: str | None, *, stop_first: bool
) -> None:
    """Put files back to where a branch is to begin, and tell what was left alone."""
    run_id = after or ""
    if instead_of is not None:
        said = await all_items(api, conversation_id, None)
        message = next((item for item in said if item.id == instead_of and item.kind == "user_message"), None)
        if message is None or message.run_id is None:
            raise PilothouseError("not_found", "There is no such message in this conversation.")
        run_id = message.run_id
    left = await api.branches.left_behind(LOCAL_OWNER, run_id, after is None)
    if stop_first:
        await stop(api, left.at_work)
    tell_undone(await api.branches.put_files_back(LOCAL_OWNER, run_id, FilesBack(itself=after is None)), messages())


async def stop(api: ClientApi, run_ids: Sequence[str]) -> None:
    """Stop runs, the newest first, and wait until they have ended."""
    for run_id in reversed(run_ids):
        after = (await api.conversations.get(LOCAL_OWNER, await _place(api, run_id), limit=1)).last_seq
        run = await api.runs.cancel(LOCAL_OWNER, run_id)
        if run.status not in ENDED:
            async for _ in Following(api, run, after).events():
                pass


async def _place(api: ClientApi, run_id: str) -> str:
    return (await api.runs.get(LOCAL_OWNER, run_id)).conversation_id


def named(names: Sequence[str], count: int) -> str:
    """Return names in a row, and how many more there are."""
    shown = [one_line(name) for name in names[:5]]
    more = [f"{count - len(shown):,} more"] if count > len(shown) else []
    return ", ".join([*shown, *more])


def show_tree(tree: BranchTree, out: Terminal) -> None:
    """Print the branches of a conversation, each below the one that it leaves."""
    rows = [
        (
            f"{'*' if node.number == tree.chosen else ' '} {node.number}",
            f"{'  ' * depth}{BRANCH_KINDS[node.kind] if node.kind is not None else 'the first branch'}",
            _leaves(node),
            node.model,
            when(node.updated_at),
            _words(node),
        )
        for node, depth in in_order(tree.branches)
    ]
    show_table(out, ("branch", "what", "leaves", "model", "last used", "said"), rows)


def _leaves(node: BranchNode) -> str:
    """Return which branch another leaves, and after which message."""
    if node.kind is None:
        return ""
    if node.left_after is None:
        return f"{node.parent} at its beginning"
    words = one_line(node.left_words).strip()
    return f"{node.parent} after {f'“{cut(words, _LEAVES_WIDTH)}”' if words else 'a message without words'}"


def _words(node: BranchNode) -> str:
    more = f" … {node.last_words}" if node.messages > 1 else ""
    return f"{node.first_words}{more}"


def in_order(nodes: Sequence[BranchNode]) -> list[tuple[BranchNode, int]]:
    """Return the branches with how deep each stands, every one behind the one that it leaves."""
    below: dict[int, list[BranchNode]] = {}
    for node in nodes:
        if node.kind is not None:
            below.setdefault(node.parent, []).append(node)
    waiting = [(node, 0) for node in nodes if node.kind is None]
    found: list[tuple[BranchNode, int]] = []
    while waiting:
        node, depth = waiting.pop(0)
        found.append((node, depth))
        waiting[:0] = [(each, depth + 1) for each in below.get(node.number, ())]
    return found


def number_of(tree: BranchTree, typed: str) -> int:
    """Return the branch that a number names; raise one sentence for what is none."""
    last = max(node.number for node in tree.branches)
    most = f"Say a number from 0, the first branch, to {last}." if last else "There is only one, 0."
    number = _number(typed, most)
    if number is None or number > last:
        raise PilothouseError("bad_request", f"There is no branch “{one_line(typed)}”.", fix=most)
    return number


def tell_hidden(count: int, *, hidden: bool) -> None:
    """Say what became of a message or an answer that was hidden, or shown again."""
    what = "Models are not sent it any more; nothing is deleted." if hidden else "Models are sent it again."
    say(messages(), what if count else "It was so already.", "dim")
