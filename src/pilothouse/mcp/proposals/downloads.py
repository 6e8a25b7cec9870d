"""Bundles that have an address: fetched when a person asks for one, then handled as if it had been dropped."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Protocol
from urllib.parse import urlsplit

from pilothouse.mcp.proposals import mcpb
from pilothouse.mcp.proposals.texts import shown
from pilothouse.net import guarded
from pilothouse.net.errors import NetError
from pilothouse.types import limits
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import Frozen, JsonObject
from pilothouse.types.origins import is_loopback_host
from pilothouse.types.proposals import Proposal

_ADDRESS = re.compile(r"(?i)(https?://[^\s#]+\.(?:mcpb|dxt)(?:\?[^\s#]*)?)(?:#sha256=([0-9a-f]{64}))?")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


class BundleAddress(Frozen, frozen=True):
    """Where a bundle is, and the hash that it must have; empty where nobody said."""

    url: str
    sha256: str = ""

    @property
    def text(self) -> str:
        """Return it as the box takes it."""
        return f"{self.url}#sha256={self.sha256}" if self.sha256 else self.url


class Kept(Protocol):
    """A bundle that is kept for a while."""

    @property
    def sha256(self) -> str: ...
    @property
    def manifest(self) -> JsonObject: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...


class KeepsBundles(Protocol):
    """Reads bundles, and keeps each for a while."""

    async def keep(self, chunks: AsyncIterator[bytes], sha256: str = "") -> Kept: ...


def typed(text: str) -> BundleAddress | None:
    """Return the address of a bundle that a text is; raise a BadField for one that anybody on the way could change."""
    hit = _ADDRESS.fullmatch(text)
    return _checked(hit[1], hit[2] or "") if hit else None


def of_package(raw: JsonObject) -> BundleAddress | None:
    """Return where a registry's bundle is; None for one that it has no hash of."""
    url, digest = str(raw.get("identifier") or "").strip(), str(raw.get("fileSha256") or "")
    if not _SHA256.fullmatch(digest) or re.search(r"\s", url) or len(url) > limits.SIGN_IN_URL_CHARS:
        return None
    return _checked(url, digest)


def _checked(url: str, digest: str) -> BundleAddress:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback_host(parts.hostname or "")):
        raise BadField((), "It is a bundle without an encrypted address to get it from.")
    return BundleAddress(url, digest.lower())


async def downloaded(address: BundleAddress, bundles: KeepsBundles, *, near: str) -> Proposal:
    """Return what a bundle offers; `near` is the address that the person typed, if only that of a registry.

    Raise a PilothouseError in one sentence for one that cannot be had, is another one than was named, or is none.
    """
    try:
        async with asyncio.timeout(limits.BUNDLE_DOWNLOAD_TIME):
            kept = await bundles.keep(_pieces(address, near), address.sha256)
    except NetError as error:
        raise _failed(address, str(error)) from None
    except TimeoutError:
        raise _failed(address, f"it took more than {limits.BUNDLE_DOWNLOAD_TIME:g} s") from None
    return mcpb.proposal_of(kept.manifest, kept.sha256, kept.warnings)


async def _pieces(address: BundleAddress, near: str) -> AsyncIterator[bytes]:
    async with guarded.stream(address.url, near=near) as reply:
        if reply.status != 200:
            raise _failed(address, f"its host answered {reply.status}")
        while (piece := await reply.chunk(limits.GUARDED_TIMEOUT)) is not None:
            yield piece


def _failed(address: BundleAddress, why: str) -> PilothouseError:
    host = shown(urlsplit(address.url).hostname or "", 100)
    message = f"The bundle could not be downloaded from {host}: {why.rstrip('.')}."
    return PilothouseError("server_failed", message, fix="Check its address and the network, or download it yourself.")
