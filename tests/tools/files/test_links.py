"""Links in the working directory: one that leads to something in it is followed, and what it leads to is judged."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.tools.files.workspace import Workspace
from pilothouse.types.access import Access
from tests.support.files import FileCalls, open_file_tool

LIBRARY = "node_modules/.pnpm/lib@1.0.0/node_modules/lib"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A project as pnpm lays one out: packages by links, and links to links."""
    folder = tmp_path / "proj"
    (folder / LIBRARY).mkdir(parents=True)
    (folder / LIBRARY / "index.js").write_text("one\n")
    (folder / "node_modules" / "lib").symlink_to(".pnpm/lib@1.0.0/node_modules/lib")
    (folder / "packages" / "app" / "node_modules").mkdir(parents=True)
    (folder / "packages" / "app" / "node_modules" / "lib").symlink_to("../../../node_modules/lib")
    (folder / "main.js").symlink_to(folder / LIBRARY / "index.js")
    return folder


@pytest_asyncio.fixture
async def at_work(home: Path, work: Path, tmp_path: Path) -> AsyncIterator[FileCalls]:
    async with open_file_tool(home, work, tmp_path / "person") as opened:
        yield opened


@pytest.mark.case("FS-03")
@pytest.mark.parametrize(
    "way", ["main.js", "node_modules/lib/index.js", "packages/app/node_modules/lib/index.js", f"{LIBRARY}/index.js"]
)
async def test_a_link_that_leads_inside_is_followed_and_named_by_what_it_leads_to(
    at_work: FileCalls, work: Path, way: str
) -> None:
    real = work / LIBRARY / "index.js"
    for text in (way, str(work / way)):
        access = await at_work.touched("read_file", filePath=text)
        assert [(use.path, use.inside) for use in access.paths] == [(str(real), True)]
        assert (await at_work.does("read_file", filePath=text)).text == "one"
    edited = await at_work.does("replace_string", filePath=way, oldString="one", newString="two")
    assert f"{LIBRARY}/index.js" in edited.text
    patch = f"--- a/{way}\n+++ b/{way}\n@@ -1 +1 @@\n-two\n+three\n"
    await at_work.does("apply_patch", patch=patch)
    await at_work.does("create_file", filePath=way, content="four\n", overwrite=True)
    assert real.read_text() == "four\n"
    assert (work / "main.js").is_symlink()
    assert (await at_work.undo()).conflicts == ()
    assert real.read_text() == "one\n"


@pytest.mark.case("FS-03")
async def test_a_linked_folder_is_listed_and_takes_new_files(at_work: FileCalls, work: Path) -> None:
    assert (await at_work.does("list_dir", path="node_modules/lib")).text == "index.js (4 bytes)"
    await at_work.does("create_file", filePath="packages/app/node_modules/lib/sub/new.js", content="new\n")
    assert (work / LIBRARY / "sub" / "new.js").read_text() == "new\n"
    await at_work.does("rename_file", filePath="node_modules/lib/sub/new.js", newPath="node_modules/lib/")
    assert (work / LIBRARY / "new.js").read_text() == "new\n"
    await at_work.does("delete_file", filePath="node_modules/lib/new.js")
    assert not (work / LIBRARY / "new.js").exists()


async def test_renaming_and_deleting_a_link_leave_what_it_leads_to(at_work: FileCalls, work: Path) -> None:
    await at_work.does("rename_file", filePath="main.js", newPath="start.js")
    assert (work / "start.js").is_symlink()
    assert (await at_work.fails("rename_file", filePath=f"{LIBRARY}/index.js", newPath="start.js")).startswith("EXISTS")
    await at_work.does("delete_file", filePath="start.js")
    await at_work.does("delete_file", filePath="node_modules/lib")
    assert not (work / "node_modules" / "lib").is_symlink()
    gone = "--- a/packages/app/node_modules/lib\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
    assert (await at_work.fails("apply_patch", patch=gone)).startswith("LINK: ")
    assert (work / LIBRARY / "index.js").read_text() == "one\n"


@pytest.mark.case("FS-03", "FS-04")
async def test_a_link_is_judged_by_what_it_leads_to(at_work: FileCalls, work: Path) -> None:
    (work / ".git" / "hooks").mkdir(parents=True)
    (work / ".env").write_text("KEY=canary\n")
    (work / "notes.txt").symlink_to(".env")
    (work / "scripts").symlink_to(".git/hooks")
    for operation, given in (
        ("read_file", {"filePath": "notes.txt"}),
        ("create_file", {"filePath": "scripts/pre-commit", "content": "x"}),
    ):
        access = await at_work.touched(operation, **given)
        assert access.paths[0].protected, operation
        assert "canary" not in str(access.preview)


@pytest.mark.case("FS-03")
@pytest.mark.parametrize("target", ["missing.txt", "loop.txt", "../elsewhere/a.txt", "/etc/hostname", "over/a.txt"])
async def test_a_link_to_nothing_to_itself_or_out_is_refused(at_work: FileCalls, work: Path, target: str) -> None:
    (work.parent / "elsewhere").mkdir()
    (work.parent / "elsewhere" / "a.txt").write_text("canary\n")
    (work / "over").symlink_to(work.parent / "elsewhere")
    (work / "loop.txt").symlink_to(target)
    refused = await at_work.fails("read_file", filePath="loop.txt")
    assert refused.startswith("LINK: ")
    assert "only links to something in the working directory are followed" in refused
    made = await at_work.fails("create_file", filePath="loop.txt", content="x", overwrite=True)
    assert made.startswith("LINK: ")
    assert not (work / "missing.txt").exists()
    assert (work.parent / "elsewhere" / "a.txt").read_text() == "canary\n"


@pytest.mark.case("FS-03", "FS-05")
@pytest.mark.parametrize("moment", ["after it was allowed", "after it was held to that"])
@pytest.mark.parametrize("other", ["beside.txt", "../outside.txt"])
async def test_a_link_that_is_exchanged_is_not_followed(
    at_work: FileCalls, work: Path, monkeypatch: pytest.MonkeyPatch, moment: str, other: str
) -> None:
    for path in (work / "beside.txt", work.parent / "outside.txt"):
        path.write_text("canary\n")
    link = work / "main.js"

    def exchange() -> None:
        (work / "fresh").symlink_to(other)
        os.replace(work / "fresh", link)

    hold = Workspace.hold

    def hold_then_exchange(*given: object) -> None:
        hold(*given)  # type: ignore[arg-type]
        exchange()

    for given in (
        {"operation": "read_file", "filePath": "main.js"},
        {"operation": "replace_string", "filePath": "main.js", "oldString": "one", "newString": "x"},
        {"operation": "create_file", "filePath": "main.js", "content": "x", "overwrite": True},
        {"operation": "insert_edit", "filePath": "main.js", "startLine": 1, "content": "x"},
        {"operation": "apply_patch", "patch": "--- a/main.js\n+++ b/main.js\n@@ -1 +1 @@\n-one\n+x\n"},
    ):
        link.unlink()
        link.symlink_to(f"{LIBRARY}/index.js")
        context = at_work.context()
        access = await at_work.tool.access(given, context)
        assert isinstance(access, Access), access
        with monkeypatch.context() as patched:
            if moment == "after it was allowed":
                exchange()
            else:
                patched.setattr(Workspace, "hold", hold_then_exchange)
            output = await at_work.execute(dict(given), context, access)
        assert output.error is not None, given
        assert output.error.code in ("CONFLICT", "LINK")
        assert "canary" not in output.text
    for path in (work / "beside.txt", work.parent / "outside.txt"):
        assert path.read_text() == "canary\n"
    assert (work / LIBRARY / "index.js").read_text() == "one\n"


async def test_a_patch_that_compares_with_a_copy_changes_the_file_that_is_there(at_work: FileCalls, work: Path) -> None:
    patch = "--- main.js.orig\n+++ main.js\n@@ -1 +1 @@\n-one\n+two\n"
    await at_work.does("apply_patch", patch=patch)
    assert (work / LIBRARY / "index.js").read_text() == "two\n"
