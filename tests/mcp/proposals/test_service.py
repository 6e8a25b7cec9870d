"""The box as page, command line and library have it: nothing is kept, started or reached that nobody named."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from time import process_time

import msgspec
import pytest

from pilothouse.helper.client import Helper
from pilothouse.mcp.packages.bundles import Bundles
from pilothouse.mcp.packages.facts import PackageFacts
from pilothouse.mcp.packages.index import PackageIndex
from pilothouse.mcp.packages.tools import Tools
from pilothouse.mcp.proposals.recognising import PackageKind
from pilothouse.mcp.proposals.service import ProposalService
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.proposals import AnyText, Recognised
from tests.support.package_indexes import indexes
from tests.support.tiny_http import Answer, Request, TinyHttp

DESCRIPTION = {"name": "io.github.o/r", "packages": [{"registryType": "npm", "identifier": "x", "version": "1.0.0"}]}


class Known:
    """A registry of packages that has what a test puts into it."""

    def __init__(self, *facts: PackageFacts) -> None:
        self.facts = facts
        self.problem: PilothouseError | None = None

    async def newest(self, kind: PackageKind, name: str, version: str = "") -> PackageFacts | None:
        if self.problem is not None and kind == "pypi":
            raise self.problem
        found = (each for each in self.facts if (each.kind, each.name) == (kind, name))
        return next((each for each in found if version in ("", each.version)), None)


def service(helper: Helper, folder: Path, *facts: PackageFacts, known: Known | None = None) -> ProposalService:
    return ProposalService(helper, known or Known(*facts), Bundles(folder / "bundles", Tools()))


async def recognised(box: ProposalService, text: str) -> Recognised:
    return await box.recognise(ME, AnyText(text=text))


def facts(kind: PackageKind = "npm", **more: object) -> PackageFacts:
    given = {"kind": kind, "name": "thing", "version": "1.2.3", "description": "An MCP server", "programs": ("thing",)}
    return msgspec.convert({**given, **more}, PackageFacts)


@pytest.mark.case("REG-01")
async def test_a_bare_name_is_looked_up_in_both_registries_and_is_words_as_well(helper: Helper, tmp_path: Path) -> None:
    found = await recognised(service(helper, tmp_path, facts(), facts("pypi", version="0.9")), "thing")
    assert found.what == "The package thing of npm and PyPI."
    assert [each.runs for each in found.proposals] == ["npm thing 1.2.3", "PyPI thing 0.9"]
    servers = [each.server for each in found.proposals if each.server is not None]
    assert [(each.command, each.args) for each in servers] == [
        ("npx", ("-y", "thing@1.2.3")),
        ("uvx", ("thing==0.9",)),
    ]
    assert found.words == "thing"


async def test_a_name_or_a_version_that_does_not_exist_is_one_sentence(helper: Helper, tmp_path: Path) -> None:
    box = service(helper, tmp_path, facts())
    found = await recognised(box, "nothing-like-it")
    assert (found.what, found.proposals) == ("There is no package nothing-like-it on npm or PyPI.", ())
    assert (await recognised(box, "thing@9.9.9")).what == "There is no version 9.9.9 of a package thing on npm or PyPI."
    assert (await recognised(box, "@a/b")).what == "There is no package @a/b on npm."


async def test_what_a_package_is_and_is_not_is_said(helper: Helper, tmp_path: Path) -> None:
    old = facts(description="Left pad\x1b[31m", deprecated="Use other")
    box = service(helper, tmp_path, old, facts("pypi", programs=()))
    npm, pypi = (await recognised(box, "thing")).proposals
    assert npm.description == "Left pad"
    assert npm.warnings == (
        "Its authors say that it should not be used any more: Use other",
        "Nothing in its name or description says that it is an MCP server.",
    )
    assert (pypi.server, pypi.problem) == (None, "The package thing has no program that could be started.")


async def test_a_registry_that_cannot_be_asked_does_not_hide_the_other(helper: Helper, tmp_path: Path) -> None:
    known = Known(facts())
    known.problem = PilothouseError("bad_request", "PyPI could not be reached.")
    found = await recognised(service(helper, tmp_path, known=known), "thing")
    assert found.what == "The package thing of npm. PyPI could not be reached."
    assert (await recognised(service(helper, tmp_path, known=known), "other")).what == "PyPI could not be reached."


@pytest.mark.slow
async def test_registries_are_asked_by_their_own_clients(
    helper: Helper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = Tools()
    box = ProposalService(helper, PackageIndex(tmp_path / "packages", tools), Bundles(tmp_path / "bundles", tools))
    async with indexes(monkeypatch) as index:
        index.node("@x/server-everything", "1.0.0")
        found = await recognised(box, "@x/server-everything")
        assert [each.kind for each in found.proposals] == ["npm"]
        gone = await recognised(box, "@x/no-such-server-of-ours")
    assert gone.what == "There is no package @x/no-such-server-of-ours on npm."


REPOSITORIES = {
    "https://github.com/o/r": ("github", "/o/r/HEAD/server.json"),
    "https://github.com/o/r/tree/dev/a": ("github", "/o/r/dev/a/server.json"),
    "https://gitlab.com/g/s/r": ("gitlab", "/g/s/r/-/raw/HEAD/server.json"),
    "https://codeberg.org/o/r": ("codeberg", "/api/v1/repos/o/r/raw/server.json"),
    "https://bitbucket.org/o/r": ("bitbucket", "/o/r/raw/HEAD/server.json"),
}


@pytest.mark.parametrize("typed", REPOSITORIES)
async def test_a_repository_is_asked_for_its_description(
    helper: Helper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    kind, asked = REPOSITORIES[typed]

    def host(request: Request) -> Answer:
        return Answer(200, json.dumps(DESCRIPTION).encode()) if request.target == asked else Answer(404)

    async with TinyHttp(host) as server:
        monkeypatch.setenv("PILOTHOUSE_REGISTRIES", f"{kind}-files={server.url}")
        found = await recognised(service(helper, tmp_path), typed)
    assert [each.runs for each in found.proposals] == ["npm x 1.0.0"]
    assert "describes its server" in found.what


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(404), "has no server.json."),
        (Answer(500, b"x"), "answered 500 when asked for its server.json."),
        (Answer(200, b"<html>"), "has a server.json that cannot be used"),
        (Answer(200, b"[1]"), "has a server.json that cannot be used: it is no description"),
        (Answer(200, b"{" * 60_000), "has a server.json that cannot be used"),
        (Answer(200, b" " * 2_000_000), "could not be asked for its server.json: it sent more than"),
    ],
)
async def test_a_repository_that_says_nothing_is_one_sentence_with_what_to_do(
    helper: Helper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer, why: str
) -> None:
    async with TinyHttp(lambda request: answer) as server:
        monkeypatch.setenv("PILOTHOUSE_REGISTRIES", f"github-files={server.url}")
        found = await recognised(service(helper, tmp_path), "https://github.com/o/r")
    assert found.what.startswith(f"The repository github.com/o/r {why}")
    assert found.what.endswith("Paste the command that its README gives.")
    assert (found.proposals, found.words) == ((), "r")


async def test_a_file_host_that_leads_inside_is_not_followed(
    helper: Helper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    led = Answer(302, b"", {"Location": "http://169.254.169.254/latest/meta-data"})
    async with TinyHttp(lambda request: led) as server:
        monkeypatch.setenv("PILOTHOUSE_REGISTRIES", f"github-files={server.url}")
        found = await recognised(service(helper, tmp_path), "https://github.com/o/r")
        assert [request.target for request in server.requests] == ["/o/r/HEAD/server.json"]
    assert "could not be asked" in found.what


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x" * 2_000_000, "too much text"),
        ("{" * 500_000, "cannot be read"),
        ('{"a":' + "[" * 300_000, "nested too deeply"),
        ("cursor://x?config=" + "A" * 900_000, "broken"),
        ("npx " + "a " * 300_000, "too long"),
        ("[" + "1," * 400_000 + "1]", "too much in this JSON"),
        ("docker run " + "-e A=1 " * 100_000, "too long"),
    ],
)
async def test_a_text_made_to_hold_us_up_is_one_sentence_soon(
    helper: Helper, tmp_path: Path, text: str, sentence: str
) -> None:
    began = process_time()
    with pytest.raises(PilothouseError) as refused:
        await recognised(service(helper, tmp_path), text)
    assert sentence in refused.value.message
    assert process_time() - began < 5


@pytest.mark.parametrize("text", ["a" * 900_000, "@" + "a-" * 300_000, "a_" * 200_000 + "=", "a/" * 300_000 + "b"])
async def test_a_long_text_of_no_kind_is_words_soon(helper: Helper, tmp_path: Path, text: str) -> None:
    began = process_time()
    assert len((await recognised(service(helper, tmp_path), text)).words) <= 400
    assert process_time() - began < 5


async def test_half_of_a_character_is_taken_as_a_mark(helper: Helper, tmp_path: Path) -> None:
    assert (await recognised(service(helper, tmp_path), "two words \ud800")).words == "two words ?"


async def test_only_the_owner_is_answered(helper: Helper, tmp_path: Path) -> None:
    with pytest.raises(PilothouseError, match="owner"):
        await service(helper, tmp_path).recognise("someone", AnyText(text="x y"))


async def test_a_file_that_is_no_bundle_is_one_sentence_and_not_kept(helper: Helper, tmp_path: Path) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"no zip at all"

    with pytest.raises(PilothouseError) as refused:
        await service(helper, tmp_path).recognise_bundle(ME, chunks())
    assert refused.value.code == "bad_request"
    left = await asyncio.to_thread(lambda: [each for each in tmp_path.rglob("*") if each.is_file()])
    assert left == []
