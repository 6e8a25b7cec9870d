"""Files under attack: links, races, other names for protected things, and calls that say one thing and do another."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from pilothouse.tools.files.contents import read_whole
from pilothouse.tools.files.places import PathRefused, find_place
from pilothouse.tools.files.walk import open_folder, parent_of
from pilothouse.types.access import Access, PathUse
from pilothouse.types.api import ConversationPatch
from tests.adversarial import swapping
from tests.support.chats import ME, open_chat
from tests.support.files import FileCalls, open_file_tool

SECRET = "canary-7431-outside"
SWAPS = 10_000
FORBIDDEN = "It belongs to Pilothouse itself"


@pytest.fixture
def person(tmp_path: Path) -> Path:
    """The home folder of the person, with something in it that nobody may read."""
    folder = tmp_path / "person"
    (folder / ".ssh").mkdir(parents=True)
    (folder / ".ssh" / "id_work").write_text(SECRET)
    return folder


@pytest_asyncio.fixture
async def at_work(home: Path, work: Path, person: Path) -> AsyncIterator[FileCalls]:
    async with open_file_tool(home, work, person) as opened:
        yield opened


def outside_of(work: Path) -> Path:
    """Return a folder beside the working directory with a secret in it."""
    folder = work.parent / "work-secrets"
    folder.mkdir()
    (folder / "a.txt").write_text(SECRET)
    return folder


# --- links and races ---


@pytest.mark.case("FS-03")
async def test_nothing_is_read_or_written_through_a_link(at_work: FileCalls, work: Path) -> None:
    outside = outside_of(work)
    (work / "dir").symlink_to(outside)
    (work / "chain").symlink_to("dir")
    (work / "file").symlink_to(outside / "a.txt")
    (work / "later").symlink_to(outside / "new.txt")
    (work / "mine.txt").write_text("mine\n")
    for path in ("dir/a.txt", "chain/a.txt", "file", str(work / "dir" / "a.txt"), "dir/../dir/a.txt"):
        assert "LINK: " in await at_work.fails("read_file", filePath=path)
        assert "LINK: " in await at_work.fails("replace_string", filePath=path, oldString=SECRET, newString="x")
    for path in ("dir/new.txt", "later", "chain/sub/new.txt"):
        refused = await at_work.fails("create_file", filePath=path, content="x", overwrite=True)
        assert refused.startswith("LINK: ")
    assert "LINK: " in await at_work.fails("rename_file", filePath="mine.txt", newPath="dir/mine.txt")
    assert "LINK: " in await at_work.fails("list_dir", path="dir")
    assert "LINK: " in await at_work.fails("delete_file", filePath="dir/a.txt")
    patch = "--- /dev/null\n+++ b/dir/p.txt\n@@ -0,0 +1 @@\n+x\n"
    assert "LINK: " in await at_work.fails("apply_patch", patch=patch)
    assert sorted(os.listdir(outside)) == ["a.txt"]
    assert (outside / "a.txt").read_text() == SECRET
    # The honest twin: the same things beside the links work.
    await at_work.does("rename_file", filePath="mine.txt", newPath="real/mine.txt")
    assert (await at_work.does("read_file", filePath="real/mine.txt")).text == "mine"


@pytest.mark.case("FS-05")
@pytest.mark.timeout(60)
async def test_ten_thousand_swaps_of_a_folder_and_a_link_let_nothing_out(at_work: FileCalls, work: Path) -> None:
    outside = outside_of(work)
    (work / "dir").mkdir()
    (work / "dir" / "a.txt").write_text("inside")
    (work / "link").symlink_to(outside)
    seen: Counter[str] = Counter()
    over = threading.Event()
    watcher = asyncio.ensure_future(asyncio.to_thread(_walk_until, over, work, seen))
    swapper = await asyncio.create_subprocess_exec(
        sys.executable, swapping.__file__, work / "dir", work / "link", str(SWAPS)
    )
    number = 0
    while swapper.returncode is None:
        number += 1
        for given in (
            {"operation": "read_file", "filePath": "dir/a.txt"},
            {"operation": "create_file", "filePath": f"dir/{number}.txt", "content": "made inside\n"},
            {
                "operation": "replace_string",
                "filePath": "dir/a.txt",
                "oldString": "inside",
                "newString": "inside"[::-1],
            },
            {"operation": "replace_string", "filePath": "dir/a.txt", "oldString": "edisni", "newString": "inside"},
            {"operation": "rename_file", "filePath": f"dir/{number}.txt", "newPath": f"dir/{number}.moved"},
            {"operation": "delete_file", "filePath": f"dir/{number}.moved"},
        ):
            output = await at_work.call(**given)
            assert SECRET not in output.text
            seen["done" if output.error is None else output.error.code] += 1
    over.set()
    await watcher
    assert swapper.returncode == 0
    assert os.listdir(outside) == ["a.txt"]
    assert (outside / "a.txt").read_text() == SECRET
    assert not [name for name in os.listdir(work / "dir") if name.startswith(".pilothouse")]
    assert min(seen["done"], seen["LINK"], seen["walked"], seen["walk refused"]) > 20, seen


def _walk_until(over: threading.Event, work: Path, seen: Counter[str]) -> None:
    """Read by the bare walk, far more often than calls can."""
    place = find_place("dir/a.txt", str(work))
    while not over.is_set():
        try:
            with parent_of(place) as folder:
                content = read_whole(folder, place.last, place.name).content
        except PathRefused:
            seen["walk refused"] += 1
        else:
            assert content.decode() in ("inside", "edisni")
            seen["walked"] += 1


@pytest.mark.case("CMD-10", "FS-05")
async def test_another_working_directory_in_the_place_of_the_allowed_one_is_refused(
    at_work: FileCalls, work: Path
) -> None:
    outside = outside_of(work)
    (work / "a.txt").write_text("mine")
    for given in (
        {"operation": "read_file", "filePath": "a.txt"},
        {"operation": "create_file", "filePath": "b.txt", "content": "x"},
        {"operation": "list_dir"},
    ):
        context = at_work.context()
        access = await at_work.tool.access(given, context)
        assert isinstance(access, Access)
        _exchange(work, outside)
        output = await at_work.execute(dict(given), context, access)
        assert output.error is not None
        assert "replaced by another one" in output.text
        assert os.listdir(work) == ["a.txt"]
        _exchange(work, outside)
    assert (await at_work.does("read_file", filePath="a.txt")).text == "mine"


def _exchange(one: Path, two: Path) -> None:
    was = one.parent / "was"
    one.rename(was)
    two.rename(one)
    was.rename(two)


# --- what is not a file ---


@pytest.mark.case("FS-06", "FIL-18")
async def test_pipes_and_devices_are_neither_read_nor_written(at_work: FileCalls, work: Path) -> None:
    os.mkfifo(work / "pipe")
    for path in ("pipe", "/dev/zero", "/dev/full", "/dev/stdin"):
        refused = await at_work.fails("read_file", filePath=path)
        assert not refused.startswith("EXECUTION")
        await at_work.fails("replace_string", filePath=path, oldString="a", newString="b")
        await at_work.fails("create_file", filePath=path, content="x", overwrite=True)
    assert "NOT_A_FILE" in await at_work.fails("delete_file", filePath="pipe")


# --- saying one thing and doing another ---


@pytest.mark.case("FS-12", "FS-02")
async def test_every_path_of_a_patch_is_a_path_of_the_call(at_work: FileCalls, work: Path) -> None:
    outside = outside_of(work)
    (work / "a.txt").write_text("one\n")
    patch = (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n"
        f"--- {outside / 'a.txt'}\n+++ {outside / 'a.txt'}\n@@ -1 +1 @@\n-{SECRET}\n+x\n"
        "--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+evil\n"
    )
    access = await at_work.touched("apply_patch", patch=patch)
    assert [(use.path, use.inside, bool(use.protected)) for use in access.paths] == [
        (str(work / "a.txt"), True, False),
        (str(outside / "a.txt"), False, False),
        (str(work / ".git/hooks/pre-commit"), True, True),
    ]
    assert access.preview == {}
    assert "leaves the working directory" in await at_work.fails(
        "apply_patch", patch="--- a/../work-secrets/a.txt\n+++ b/../work-secrets/a.txt\n@@ -1 +1 @@\n-a\n+b\n"
    )
    moved = "diff --git a/a.txt b/x\nrename from a.txt\nrename to .vscode/tasks.json\n"
    access = await at_work.touched("apply_patch", patch=moved)
    assert [bool(use.protected) for use in access.paths] == [False, True]


@pytest.mark.case("AUTHZ-01", "FS-12")
async def test_a_call_holds_itself_to_exactly_what_was_allowed(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text("a\n")
    (work / "b.txt").write_text("b\n")
    allowed = await at_work.touched("delete_file", filePath="a.txt")
    given: dict[str, object] = {"operation": "delete_file", "filePath": "b.txt"}
    refused = await at_work.execute(given, at_work.context(), allowed)
    assert refused.error is not None
    assert refused.error.code == "CONFLICT"
    reading = await at_work.touched("read_file", filePath="b.txt")
    refused = await at_work.execute(given, at_work.context(), reading)
    assert refused.error is not None
    nothing = await at_work.tool.execute(given, at_work.context(), None)  # type: ignore[arg-type]
    assert nothing.error is not None  # type: ignore[union-attr]
    assert nothing.error.code == "PERMISSION_DENIED"  # type: ignore[union-attr]
    assert sorted(os.listdir(work)) == ["a.txt", "b.txt"]


# --- other names for protected things ---


@pytest.mark.case("FS-04", "FS-09")
async def test_a_second_name_for_a_protected_file_is_protected_too(
    at_work: FileCalls, work: Path, person: Path
) -> None:
    key = person / ".ssh" / "id_work"
    os.link(key, work / "notes.txt")
    (work / "link.txt").symlink_to(key)
    with key.open() as opened:
        ways = (str(key), "notes.txt", f"/proc/self/fd/{opened.fileno()}", f"/proc/{os.getpid()}/root{key}")
        for way in ways:
            access = await at_work.touched("read_file", filePath=way)
            assert access.paths[0].protected, way
            access = await at_work.touched("replace_string", filePath=way, oldString="a", newString="b")
            assert access.paths[0].protected, way
            assert access.preview == {}
    assert "LINK: " in await at_work.fails("read_file", filePath="link.txt")


@pytest.mark.case("FS-04")
async def test_a_file_that_becomes_a_protected_one_after_it_was_allowed_is_refused(
    at_work: FileCalls, work: Path, person: Path
) -> None:
    (work / "notes.txt").write_text("harmless\n")
    for given in (
        {"operation": "read_file", "filePath": "notes.txt"},
        {"operation": "replace_string", "filePath": "notes.txt", "oldString": "canary", "newString": "x"},
        {"operation": "delete_file", "filePath": "notes.txt"},
    ):
        (work / "notes.txt").unlink()
        (work / "notes.txt").write_text("harmless canary\n")
        context = at_work.context()
        access = await at_work.tool.access(given, context)
        assert isinstance(access, Access)
        (work / "notes.txt").unlink()
        os.link(person / ".ssh" / "id_work", work / "notes.txt")
        output = await at_work.execute(dict(given), context, access)
        assert output.error is not None
        assert SECRET not in output.text
        assert (person / ".ssh" / "id_work").read_text() == SECRET


@pytest.mark.case("FS-09", "FS-11")
@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        ".GIT/Hooks/pre-commit",
        "\uff0egit/hooks/x",
        "sub/.vscode/tasks.json",
        ".VSCode/tasks.json",
        ".github/workflows/ci.yml",
        ".mcp.json",
        "x/.ssh/authorized_keys",
    ],
)
async def test_what_starts_by_itself_is_protected_whether_or_not_it_exists(at_work: FileCalls, path: str) -> None:
    access = await at_work.touched("create_file", filePath=path, content="x")
    assert access.paths[0].protected
    # The person sees what would be written.
    assert bool(access.preview) is (".ssh" not in path)
    # A spelling that other systems take for the same is refused by its form already.
    refused = await at_work.fails("create_file", filePath=".git./hooks/x", content="x")
    assert refused.startswith("PATH_REFUSED: ")
    honest = await at_work.touched("create_file", filePath="src/main.py", content="x")
    assert not honest.paths[0].protected


@pytest.mark.case("FS-11")
async def test_a_folder_that_takes_protected_things_along_is_protected(at_work: FileCalls, work: Path) -> None:
    (work / "harmless" / "hooks").mkdir(parents=True)
    (work / "harmless" / "hooks" / "pre-commit").write_text("evil")
    (work / "app" / ".vscode").mkdir(parents=True)
    (work / "app" / ".vscode" / "tasks.json").write_text("{}")
    into = await at_work.touched("rename_file", filePath="harmless", newPath=".git")
    away = await at_work.touched("rename_file", filePath="app", newPath="other")
    gone = await at_work.touched("delete_file", filePath="app", recursive=True)
    for access in (into, away, gone):
        assert any(use.protected for use in access.paths)


@pytest.mark.case("SPAWN-06", "FS-11")
async def test_our_own_settings_are_written_on_nobodys_word(at_work: FileCalls, work: Path, home: Path) -> None:
    (work / "a.txt").write_text("{}")
    os.link(_made(home / "config.json"), work / "second-name.json")
    before = sorted(os.listdir(home))
    for operation, arguments in (
        ("create_file", {"filePath": str(home / "policy.json"), "content": "{}"}),
        ("create_file", {"filePath": str(home / "config.json"), "content": "{}", "overwrite": True}),
        ("rename_file", {"filePath": "a.txt", "newPath": str(home / "policy.json")}),
        ("delete_file", {"filePath": str(home / "config.json")}),
        ("insert_edit", {"filePath": "second-name.json", "startLine": 1, "content": "x"}),
        ("apply_patch", {"patch": f"--- /dev/null\n+++ {home}/servers.json\n@@ -0,0 +1 @@\n+x\n"}),
        ("read_file", {"filePath": str(home / "config.json")}),
    ):
        access = await at_work.touched(operation, **arguments)
        assert any(use.protected.startswith(FORBIDDEN) for use in access.paths)
        # Even if someone said yes.
        output = await at_work.call(operation, **arguments)
        assert output.error is not None, operation
        assert output.error.code == "PROTECTED"
        assert FORBIDDEN in output.text
    assert (home / "config.json").read_text() == "ours"
    assert sorted(os.listdir(home)) == before


@pytest.mark.case("SPAWN-06")
async def test_no_mode_lets_an_agent_write_our_settings(home: Path, work: Path) -> None:
    (work / "a.txt").write_text("{}")
    given = [
        {"operation": "create_file", "filePath": str(home / "servers.json"), "content": "{}"},
        {"operation": "rename_file", "filePath": "a.txt", "newPath": str(home / "plugins" / "evil.py")},
        {"operation": "create_file", "filePath": "honest.txt", "content": "fine"},
    ]
    turns = [[{"call": "file_operations", "arguments": each}] for each in given]
    async with open_chat(home, [*turns, "Done."], settings={"working_directory": str(work)}) as chat:
        settings = (await chat.snapshot()).conversation.settings
        approving = msgspec.structs.replace(settings, mode="auto_approve")
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(settings=approving))
        assert (await chat.say()).status == "completed"
        calls = await chat.items("tool_call")
        assert [call.status for call in calls] == ["failed", "failed", "completed"]
        assert {call.raw["error"]["code"] for call in calls[:2]} == {"PERMISSION_DENIED"}
        assert all(call.raw["decision"]["verdict"] == "deny" for call in calls[:2])
    assert not (home / "servers.json").exists()
    assert sorted(os.listdir(work)) == ["a.txt", "honest.txt"]


def _made(path: Path) -> Path:
    path.write_text("ours")
    return path


@pytest.mark.case("ATZ-05", "FS-02")
async def test_a_neighbour_of_the_working_directory_is_outside_it(at_work: FileCalls, work: Path) -> None:
    outside = outside_of(work)
    access = await at_work.touched("read_file", filePath=str(outside / "a.txt"))
    assert access.paths == (PathUse(path=str(outside / "a.txt"), effect="reads", inside=False),)
    linked = work.parent / "way"
    linked.symlink_to(outside)
    # Outside, links are resolved once, and the person sees where they lead.
    access = await at_work.touched("read_file", filePath=str(linked / "a.txt"))
    assert access.paths[0].path == str(outside / "a.txt")
    # Changed since: what is walked is the path that was shown.
    linked.unlink()
    linked.symlink_to(work)
    context = msgspec.structs.replace(at_work.context(), access=access)
    given = {"operation": "read_file", "filePath": str(linked / "a.txt")}
    output = await at_work.tool.execute(given, context, None)  # type: ignore[arg-type]
    assert output.error is not None  # type: ignore[union-attr]


def test_the_descriptors_of_a_walk_are_closed_whatever_happens(work: Path) -> None:
    (work / "a").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    for parts in (("a", "b"), ("none",), ("a", "..", "x")):
        with open_folder(str(work)) as root, pytest.raises(PathRefused):
            root.descend(parts)
    assert len(os.listdir("/proc/self/fd")) == before
