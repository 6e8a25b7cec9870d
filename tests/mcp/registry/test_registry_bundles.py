"""Bundles with an address: fetched when a person asks, held to their hash, and then as if they had been dropped."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pilothouse.mcp.packages.bundles import Bundles
from pilothouse.mcp.packages.tools import Tools
from pilothouse.mcp.proposals.downloads import BundleAddress, downloaded
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.json import JsonObject
from pilothouse.types.servers import OfficialSource
from tests.mcp.registry.services import open_registries
from tests.support.package_indexes import NODE_SERVER, bundle
from tests.support.registry_server import Json, npm, official_entry
from tests.support.tiny_http import Answer, Request, TinyHttp

MANIFEST: JsonObject = {
    "manifest_version": "0.3",
    "name": "tiny",
    "version": "1.2.3",
    "server": {
        "type": "node",
        "entry_point": "index.js",
        "mcp_config": {"command": "node", "args": ["${__dirname}/index.js"]},
    },
}
DATA = bundle(MANIFEST, {"index.js": NODE_SERVER})
SHA256 = hashlib.sha256(DATA).hexdigest()


def mcpb(url: str, sha256: str = SHA256) -> Json:
    return {"registryType": "mcpb", "identifier": url, "fileSha256": sha256, "transport": {"type": "stdio"}}


def serving(data: bytes = DATA) -> TinyHttp:
    """Serve a bundle, and at /moved the way to it."""

    def answer(request: Request) -> Answer:
        if request.target == "/moved.mcpb":
            return Answer(302, b"", {"Location": "/tiny.mcpb"})
        return Answer(200, data) if request.target == "/tiny.mcpb" else Answer(404)

    return TinyHttp(answer)


def kept(home: Path) -> list[str]:
    return sorted(each.name for each in (home / "cache" / "bundles").glob("*"))


@pytest.mark.parametrize("path", ["tiny", "moved"])
async def test_the_bundle_of_a_registry_is_fetched_when_its_server_is_asked_for(
    home: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    async with serving() as files:
        entry = official_entry("com.example/tiny", packages=[mcpb(f"{files.url}/{path}.mcpb", SHA256.upper())])
        async with open_registries(home, monkeypatch, [entry]) as both:
            await both.finder.search("tiny")
            assert not files.requests, "a search fetches nothing"
            (offered,) = (await both.finder.service.proposals(ME, "official", "com.example/tiny")).proposals
    assert offered.server is not None, offered.problem
    assert (offered.server.bundle, offered.server.command) == (SHA256, "node")
    assert offered.source == OfficialSource("com.example/tiny", "1.0.0")
    assert kept(home) == [SHA256]


async def test_a_bundle_beside_another_way_is_fetched_only_by_its_address(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving() as files:
        packages = [mcpb(f"{files.url}/tiny.mcpb"), npm("tiny")]
        async with open_registries(home, monkeypatch, [official_entry("com.example/tiny", packages=packages)]) as both:
            first, _ = (await both.finder.service.proposals(ME, "official", "com.example/tiny")).proposals
        assert not files.requests
        assert first.problem == f"It is a bundle: add it by its address, {files.url}/tiny.mcpb#sha256={SHA256}"


@pytest.mark.parametrize(
    ("path", "sha256", "said"),
    [
        ("tiny", "0" * 64, "not the one that was named"),
        ("absent", "a" * 64, "could not be downloaded from 127.0.0.1: its host answered 404."),
    ],
)
async def test_a_bundle_that_is_another_one_or_gone_is_one_sentence_and_nothing_is_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch, path: str, sha256: str, said: str
) -> None:
    async with serving() as files:
        entry = official_entry("com.example/tiny", packages=[mcpb(f"{files.url}/{path}.mcpb", sha256)])
        async with open_registries(home, monkeypatch, [entry]) as both:
            with pytest.raises(PilothouseError) as caught:
                await both.finder.service.proposals(ME, "official", "com.example/tiny")
    assert said in caught.value.message
    assert kept(home) == []


async def test_a_registry_elsewhere_cannot_have_a_bundle_fetched_from_this_machine(home: Path) -> None:
    async with serving() as files:
        address = BundleAddress(f"{files.url}/tiny.mcpb", SHA256)
        with pytest.raises(PilothouseError, match=r"could not be downloaded from 127\.0\.0\.1"):
            await downloaded(address, Bundles(home / "cache" / "bundles", Tools()), near="https://registry.example")
        assert not files.requests
    assert kept(home) == []


async def test_a_bundle_without_end_is_given_up_at_the_bound(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BUNDLE_BYTES", 1_000)
    async with serving(b"x" * 100_000) as files:
        address = BundleAddress(f"{files.url}/tiny.mcpb")
        with pytest.raises(PilothouseError, match="at most"):
            await downloaded(address, Bundles(home / "cache" / "bundles", Tools()), near=files.url)
    assert kept(home) == []
