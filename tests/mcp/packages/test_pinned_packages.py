"""Packages are pinned by the consent, installed once, and the program itself is started."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import msgspec
import psutil
import pytest

from pilothouse.mcp.packages.facts import Advisories
from pilothouse.mcp.packages.pins import PackageKind, Wanted
from pilothouse.mcp.packages.rooms import rooms_in
from pilothouse.mcp.servers.consent import look
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.lazy import Lazy
from pilothouse.types.server_checks import ServerCheck
from pilothouse.types.servers import ConsentGiven, ServerInput
from tests.mcp.packages.tiny_server import KINDS, consent_of, publish, where
from tests.support.mcp_hosting import McpHost, open_mcp_host
from tests.support.package_indexes import NODE_SERVER, Indexes
from tests.support.waiting import eventually

# Each installs a package.
pytestmark = pytest.mark.slow


def everything(home: Path) -> list[str]:
    return [str(path) for path in home.rglob("*")]


def installs(home: Path) -> list[Path]:
    return sorted((home / "servers").glob("*/packages/*"))


@KINDS
@pytest.mark.case("attack:REG-02", "PRF-02")
async def test_a_package_is_installed_once_its_program_itself_is_started_and_deleting_it_leaves_nothing(
    hosted: McpHost, index: Indexes, line: str, home: Path
) -> None:
    publish(index, "1.2.3")
    view, consent = await consent_of(hosted, f"{line} --loud")
    assert consent.argv == ("tiny-server", "--loud")
    assert "tiny-server 1.2.3 of" in consent.installs[0]
    assert consent.warnings == ()
    assert not installs(home), "nothing is installed before the person agreed"
    assert not any("-/tiny" in path for path in index.asked), "nor downloaded, of npm"
    # While the person reads, a newer one appears.
    publish(index, "6.6.6")
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=consent.fingerprint))
    said = await where(hosted)
    assert (said["version"], said["argv"]) == ("1.2.3", ["--loud"])
    (place,) = installs(home)
    assert str(said["script"]).startswith(str(place))
    view = await hosted.view("tiny-server")
    assert view.process is not None
    assert view.process.pid == said["pid"], "no npx and no uvx stands between us and the server"
    assert view.package.version == "1.2.3"
    assert view.process.memory_bytes is not None
    assert view.process.memory_bytes < 100_000_000, "one process: no npm and no uv stays beside it"
    assert view.warnings == ()
    asked = len(index.asked)
    await hosted.admin.disconnect(ME, view.id)
    assert (await where(hosted))["pid"] != said["pid"]
    assert len(index.asked) == asked, "the second start asks no index"
    await hosted.admin.delete(ME, view.id)
    assert [path for path in everything(home) if "tiny" in path or view.id in path] == []
    assert not (home / "cache" / "packages").exists()


@pytest.mark.case("attack:REG-02")
async def test_the_version_that_was_allowed_is_the_one_that_runs(hosted: McpHost, index: Indexes, home: Path) -> None:
    publish(index, "1.0.0")
    view, consent = await consent_of(hosted, "uvx tiny-server")
    # While the person reads, a newer one appears.
    publish(index, "6.6.6")
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=consent.fingerprint))
    assert (await where(hosted))["version"] == "1.0.0"
    await hosted.supervisor.close()
    async with open_mcp_host(home) as again:
        assert (await where(again))["version"] == "1.0.0"
        assert (await again.view("tiny-server")).consent is None


@pytest.mark.case("attack:REG-02")
async def test_the_consent_to_one_version_is_none_to_another(hosted: McpHost, index: Indexes) -> None:
    publish(index, "1.0.0")
    view, consent = await consent_of(hosted, "uvx tiny-server")
    await hosted.admin.delete(ME, view.id)
    publish(index, "1.0.1")
    hosted.supervisor.parts.packages().index._locks.clear()
    view, later = await consent_of(hosted, "uvx tiny-server")
    with pytest.raises(PilothouseError, match="changed since you looked at it"):
        await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=consent.fingerprint))
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=later.fingerprint))
    assert (await where(hosted))["version"] == "1.0.1"


@KINDS
@pytest.mark.case("attack:REG-02")
async def test_a_package_whose_content_changed_behind_its_version_is_not_started(
    hosted: McpHost, index: Indexes, line: str, home: Path
) -> None:
    publish(index, "1.0.0")
    view, consent = await consent_of(hosted, line)
    # uv has the wheel already that it was described by.
    await hosted.supervisor.parts.packages().index.empty()
    index.replace_content("1.0.0")
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=consent.fingerprint))
    view = await hosted.until("tiny-server", "error", timeout=60)
    assert "its content changed behind its version" in view.last_error
    assert "Nothing was started" in view.fix
    assert not installs(home)


@pytest.mark.case("attack:REG-02")
@pytest.mark.parametrize(("wanted", "starts"), [("tiny-server@latest", False), ("tiny-server@^1.0.0", True)])
async def test_a_tag_or_a_range_is_resolved_to_one_version_at_consent(
    hosted: McpHost, index: Indexes, wanted: str, starts: bool
) -> None:
    publish(index, "1.0.0")
    publish(index, "1.4.0")
    view, consent = await consent_of(hosted, f"npx -y {wanted}")
    assert "tiny-server 1.4.0 of npm" in consent.installs[0]
    assert not any("may change" in warning for warning in consent.warnings)
    if starts:
        publish(index, "1.5.0")
        await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=consent.fingerprint))
        assert (await where(hosted))["version"] == "1.4.0"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("npx -y no-such-server", "There is no package no-such-server on npm."),
        ("uvx no-such-server", "There is no package no-such-server on PyPI."),
        ("npx -y tiny-server@9.9.9", "npm has no version 9.9.9 of tiny-server."),
        ("uvx tiny-server==9.9.9", "PyPI has no version 9.9.9 of tiny-server."),
        ("npx -y tiny-library", "The package tiny-library of npm has no program that could be started"),
        ("uvx tiny-library", "The package tiny-library of PyPI has no program that could be started"),
        ("npx -y tiny-many", "has no program of its own name; it has one, two."),
        ("uvx tiny-many", "has no program of its own name; it has one, two."),
    ],
)
async def test_what_is_not_there_or_cannot_be_started_is_one_sentence_and_nothing_is_kept(
    hosted: McpHost, index: Indexes, line: str, sentence: str, home: Path
) -> None:
    publish(index, "1.0.0")
    index.node("tiny-library", "1.0.0", bin=None)
    index.python("tiny-library", "1.0.0", programs={})
    index.node("tiny-many", "1.0.0", bin={"one": "server.js", "two": "./other.js"})
    index.python("tiny-many", "1.0.0", programs={"one": "tiny_many:main", "two": "tiny_many:main"})
    with pytest.raises(PilothouseError) as refused:
        await hosted.add(ServerInput(command_line=line))
    assert sentence in refused.value.message
    assert refused.value.code == "bad_request"
    assert (await hosted.admin.list(ME)).servers == ()
    assert not (home / "servers").exists() or not list((home / "servers").iterdir())


@pytest.mark.parametrize("line", ["npx -y --package=tiny-many two", "uvx --from tiny-many two"])
async def test_one_of_several_programs_is_started_if_it_is_named(hosted: McpHost, index: Indexes, line: str) -> None:
    index.node("tiny-many", "1.0.0", bin={"one": "other.js", "two": "server.js"})
    index.python("tiny-many", "1.0.0", programs={"one": "tiny_many:other", "two": "tiny_many:main"})
    view = await hosted.add(ServerInput(name="Many", command_line=f"{line} --flag"))
    assert view.package.program == "two"
    assert (await where(hosted, "many"))["argv"] == ["--flag"]


async def test_what_is_installed_beside_a_package_is_pinned_with_it(hosted: McpHost, index: Indexes) -> None:
    index.python("tiny-server", "1.0.0", needs="tiny-library")
    index.python("tiny-library", "1.0.0", programs={})
    index.python("tiny-library", "2.0.0", programs={})
    view, consent = await consent_of(hosted, "uvx --with 'tiny-library<2' tiny-server")
    assert view.package.requirements == ("tiny-library<2",)
    assert "with 1 package that it needs" in consent.installs[0]
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=consent.fingerprint))
    await where(hosted)
    assert any("tiny_library-1.0.0" in path for path in index.asked)
    assert not any("tiny_library-2.0.0" in path and path.endswith(".whl") for path in index.asked)


async def test_an_index_that_does_not_answer_is_told_and_asked_again_later(
    hosted: McpHost, index: Indexes, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(index, "1.0.0")
    index.status = 503
    view = await hosted.add(ServerInput(command_line="npx -y tiny-server"), agree=False)
    assert view.state == "error"
    assert "npm could not be reached" in view.last_error
    assert len(index.asked) == 1, "who adds a server waits for that once"
    index.status = 0
    monkeypatch.setattr(limits, "RESOLVE_AGAIN", 0.0)
    await hosted.admin.retry(ME, view.id)
    assert (await hosted.until("tiny-server", "needs_consent", timeout=60)).consent is not None


async def test_a_list_does_not_wait_for_an_index(hosted: McpHost, index: Indexes) -> None:
    index.slow.add("tiny-server")
    entry = {"id": "one", "name": "Tiny", "package": {"type": "npm", "identifier": "tiny-server"}}
    await hosted.file.change(lambda entries: entries.append(entry))
    shown = await hosted.view("Tiny")
    assert (shown.label, shown.consent) == ("Looking up its package...", None)


@pytest.mark.case("attack:REG-06")
async def test_a_package_that_is_known_to_be_malicious_is_blocked(home: Path, hosted: McpHost, index: Indexes) -> None:
    publish(index, "1.0.0")
    publish(index, "1.0.1")

    async def advisories(kind: PackageKind, name: str, version: str) -> Advisories:
        if version == "1.0.0":
            return Advisories(malicious="MAL-2026-1: Malicious code in tiny-server (PyPI)")
        return Advisories(warnings=("Nobody could be asked about known weaknesses.",))

    rooms = rooms_in(home / "cache", advisories)
    parts = msgspec.structs.replace(hosted.supervisor.parts, packages=Lazy(lambda: rooms))
    hosted.supervisor.parts = hosted.admin._parts = parts
    with pytest.raises(PilothouseError, match=r"known to be malicious: MAL-2026-1: Malicious code") as refused:
        await hosted.add(ServerInput(command_line="uvx tiny-server==1.0.0"))
    assert "Nothing was installed" in refused.value.fix
    assert (await hosted.admin.list(ME)).servers == ()
    # The honest twin is only warned about.
    _, consent = await consent_of(hosted, "uvx tiny-server==1.0.1")
    assert consent.warnings == ("Nobody could be asked about known weaknesses.",)


@KINDS
async def test_a_check_installs_aside_and_leaves_nothing_and_its_consent_counts_for_the_same_server(
    hosted: McpHost, index: Indexes, line: str, home: Path
) -> None:
    publish(index, "1.0.0")
    body = ServerInput(command_line=line)
    asked = await hosted.admin.check(ME, ServerCheck(server=body))
    assert asked.consent is not None
    checked = await hosted.admin.check(ME, ServerCheck(server=body, fingerprint=asked.consent.fingerprint))
    assert (checked.ok, checked.tool_count) == (True, 1)
    assert not installs(home)
    assert not list((home / "servers").iterdir())
    view = await hosted.add(body, agree=False)
    assert view.consent is not None
    assert view.consent.fingerprint == checked.fingerprint
    downloads = [path for path in index.asked if path.endswith((".tgz", ".whl"))]
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=checked.fingerprint))
    await where(hosted)
    assert [path for path in index.asked if path.endswith((".tgz", ".whl"))] == downloads, "nothing is fetched twice"


async def checked(hosted: McpHost) -> None:
    body = ServerInput(command_line="uvx tiny-server")
    asked = await hosted.admin.check(ME, ServerCheck(server=body))
    assert asked.consent is not None
    told = await hosted.admin.check(ME, ServerCheck(server=body, fingerprint=asked.consent.fingerprint))
    assert told.ok, told.message


async def test_what_a_check_downloaded_goes_after_a_while_and_when_the_program_ends(
    index: Indexes, home: Path, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(index, "1.0.0")
    downloads = home / "cache" / "packages"
    async with open_mcp_host(home) as brief:
        await checked(brief)
        assert list(downloads.iterdir())
    assert not downloads.exists()
    monkeypatch.setattr(limits, "CHECKED_PACKAGES_KEPT", 0.01)
    async with open_mcp_host(home) as long:
        await checked(long)

        async def gone() -> bool:
            return not downloads.exists()

        await eventually(gone, "the downloads to go")


async def test_names_that_fail_leave_no_lock_behind(hosted: McpHost, index: Indexes) -> None:
    packages = hosted.supervisor.parts.packages().index
    for number in range(2):
        with pytest.raises(PilothouseError):
            await packages.lock(Wanted(kind="pypi", name=f"no-such-server-{number}"))
    gc.collect()
    assert len(packages._resolving) == 0


async def test_a_server_that_is_there_is_checked_at_its_version_without_asking_what_is_new(
    hosted: McpHost, index: Indexes
) -> None:
    publish(index, "1.0.0")
    body = ServerInput(command_line="uvx tiny-server")
    view = await hosted.add(body)
    await where(hosted)
    publish(index, "1.1.0")
    hosted.supervisor.parts.packages().index._locks.clear()
    checked = await hosted.admin.check(ME, ServerCheck(server=body, id=view.id))
    assert checked.ok, checked.message
    assert checked.tools[0].description == "1.0.0"


async def test_an_older_installation_goes_once_the_newer_one_has_connected(
    hosted: McpHost, index: Indexes, home: Path
) -> None:
    publish(index, "1.0.0")
    publish(index, "1.1.0")
    view = await hosted.add(ServerInput(command_line="uvx tiny-server==1.0.0"))
    await where(hosted)
    (before,) = installs(home)
    view = await hosted.admin.update(ME, view.id, ServerInput(command_line="uvx tiny-server==1.1.0"))
    assert view.consent is not None
    assert before in installs(home)
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))

    async def replaced() -> bool:
        return len(installs(home)) == 1 and before not in installs(home)

    await eventually(replaced, "the older one to go", 90)


async def test_an_installation_that_was_interrupted_is_not_used(
    hosted: McpHost, index: Indexes, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(index, "1.0.0")
    view, consent = await consent_of(hosted, "npx -y tiny-server")
    index.slow.add("tiny-server-1.0.0.tgz")
    monkeypatch.setattr(limits, "INSTALL_TIMEOUT", 3.0)
    before = {each.pid for each in psutil.Process().children(recursive=True)}
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=consent.fingerprint))
    told = await hosted.until("tiny-server", "error", timeout=60)
    assert "did not finish within 3 s" in told.last_error
    assert not installs(home)
    left = {each.pid for each in psutil.Process().children(recursive=True)} - before
    assert not left, "npm and what it started are gone"
    index.slow.clear()
    monkeypatch.setattr(limits, "INSTALL_TIMEOUT", 120.0)
    await hosted.admin.retry(ME, view.id)
    assert (await where(hosted))["version"] == "1.0.0"


async def test_who_agreed_to_npx_before_is_not_asked_again_and_a_change_pins(
    hosted: McpHost, index: Indexes, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(index, "1.0.0")
    tools = tmp_path / "bin"
    tools.mkdir()
    script = tmp_path / "server.js"
    index.node("tiny-server", "0.1.0")
    script.write_text(NODE_SERVER.replace("VERSION", "npx"))
    (tools / "npx").write_text(f'#!/bin/sh\nexec node {script} "$@"\n')
    (tools / "npx").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    entry = {"id": "one", "name": "Tiny", "package": {"type": "npm", "identifier": "tiny-server"}}
    await hosted.file.change(lambda entries: entries.append(entry))
    server = hosted.server("Tiny")
    hosted.supervisor.parts.consents().give("one", look(server.entry))
    await hosted.admin.retry(ME, "one")
    said = await where(hosted, "tiny")
    assert (said["version"], said["argv"]) == ("npx", ["-y", "tiny-server"])
    assert index.asked == []
    changed = await hosted.admin.update(ME, "one", ServerInput(name="Tiny", command_line="npx -y tiny-server --more"))
    assert changed.consent is not None
    assert any("is installed once, at version" in change for change in changed.consent.changes)


async def test_without_node_the_sentence_says_what_to_install(
    hosted: McpHost, index: Indexes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from pilothouse.mcp.packages import tools

    publish(index, "1.0.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "_node_of_wheel", lambda: None)
    view = await hosted.add(ServerInput(command_line="npx -y tiny-server"), agree=False)
    assert view.state == "error"
    assert "needs Node.js 18 or newer, which is not on this machine" in view.last_error
    assert "Install Node.js, or run pip install 'pilothouse[servers]'" in view.fix


async def test_node_and_npm_of_the_python_package_are_enough(
    hosted: McpHost, index: Indexes, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(index, "1.0.0")
    monkeypatch.setenv("PATH", "/usr/sbin")
    await hosted.add(ServerInput(command_line="npx -y tiny-server"))
    assert (await where(hosted))["version"] == "1.0.0"


async def test_a_version_that_cannot_be_one_of_python_is_just_not_there(hosted: McpHost, index: Indexes) -> None:
    publish(index, "1.0.0")
    packages = hosted.supervisor.parts.packages().index
    assert await packages.newest("pypi", "tiny-server", "0.0.0-none") is None
    assert await packages.newest("pypi", "tiny-server", "1.0.0") is not None


async def test_an_image_without_docker_is_one_sentence_and_nothing_is_kept(
    hosted: McpHost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    image = ServerInput(command_line="docker run -i --rm ghcr.io/x/y")
    with pytest.raises(PilothouseError) as refused:
        await hosted.add(image)
    assert refused.value.message == (
        "This server is an image, and nothing here runs images: the program “docker” was not found on this machine."
    )
    assert refused.value.fix == "Install Docker and start it."
    assert (await hosted.admin.list(ME)).servers == ()
    (tmp_path / "docker").symlink_to("/bin/true")
    assert (await hosted.add(image, agree=False)).consent is not None
