"""Entries of registries as the copy keeps them: what they say, cleaned, and what they would run.

Strangers wrote all of it. Nothing here raises for what they wrote; what is no entry is None.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

import msgspec

from pilothouse.mcp.servers.consent_warnings import visible
from pilothouse.types import limits
from pilothouse.types.invisible import whole
from pilothouse.types.json import JsonObject, an_object, encode, is_within, objects_in
from pilothouse.types.registries import FoundStatus, ListedServer

OFFICIAL_META = "io.modelcontextprotocol.registry/official"
_STATUS: dict[str, FoundStatus] = {"active": "active", "deprecated": "deprecated", "deleted": "deleted"}
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?")
# A name of PyPI is the same in any spelling.
_PYPI = re.compile(r"[-_.]+")
_KINDS = {"npm", "pypi", "oci", "nuget", "mcpb"}


class Entry(ListedServer, frozen=True, kw_only=True):
    """A server as the copy keeps it."""

    # When it was first there: of two that look alike, the later one is the other one.
    published_at: str = ""
    # What it runs without versions, to tell whether two entries run the same; empty where that is not known.
    keys: tuple[str, ...] = ()
    # The names of packages, images and hosts, to search for.
    packages: str = ""
    # As the registry sent it.
    raw: JsonObject


def text(value: object, most: int) -> str:
    """Return a stranger's text in one line of so many characters, with nothing in it that cannot be seen."""
    if not isinstance(value, str):
        return ""
    # Cut before it is looked at: it may be as long as a page.
    line = visible(" ".join(whole(value[: most * 4]).split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def official(value: object) -> Entry | None:
    """Return an entry of the official API's list; None for what is none, or an older version of one."""
    listed = an_object(value)
    server, meta = an_object(listed.get("server")), an_object(an_object(listed.get("_meta")).get(OFFICIAL_META))
    name = text(server.get("name"), limits.REGISTRY_NAME_CHARS)
    if not name or meta.get("isLatest") is False or not _fits(listed):
        return None
    things = list(_things(server))
    # A server whose status was part of its own description, as the registry once had it.
    status = meta.get("status") or server.get("status")
    return Entry(
        name=name,
        title=text(server.get("title"), limits.REGISTRY_TITLE_CHARS) or name.rpartition("/")[2],
        description=text(server.get("description"), limits.REGISTRY_ABOUT_CHARS),
        version=text(server.get("version"), limits.REGISTRY_TITLE_CHARS),
        updated_at=_time(meta.get("updatedAt")) or _time(meta.get("publishedAt")),
        published_at=_time(meta.get("publishedAt")),
        status=_STATUS.get(status, "active") if isinstance(status, str) else "active",
        status_note=text(meta.get("statusMessage"), limits.REGISTRY_ABOUT_CHARS),
        licence=text(server.get("license"), limits.REGISTRY_TITLE_CHARS),
        runs=tuple(shown for shown, _key in things)[: limits.REGISTRY_RUNS],
        keys=tuple(dict.fromkeys(key for _shown, key in things if key)),
        packages=" ".join(key.partition(":")[2] for _shown, key in things),
        raw=listed,
    )


def smithery(value: object) -> Entry | None:
    """Return an entry of Smithery's list, or its details; None for what is none."""
    listed = an_object(value)
    name = text(listed.get("qualifiedName"), limits.REGISTRY_NAME_CHARS)
    if not name or not _fits(listed):
        return None
    title = text(listed.get("displayName"), limits.REGISTRY_TITLE_CHARS)
    url = listed.get("deploymentUrl")
    address = _address(url) if isinstance(url, str) else ""
    return Entry(
        name=name,
        title=title or name.rpartition("/")[2],
        description=text(listed.get("description"), limits.REGISTRY_ABOUT_CHARS),
        verified=listed.get("verified") is True or listed.get("isVerified") is True,
        uses=_count(listed.get("useCount")),
        updated_at=_time(listed.get("updatedAt")) or _time(listed.get("createdAt")),
        published_at=_time(listed.get("createdAt")),
        licence=text(listed.get("license"), limits.REGISTRY_TITLE_CHARS),
        runs=(text(url, limits.REGISTRY_NAME_CHARS),) if address else (),
        keys=(f"url:{address}",) if address else (),
        packages=address,
        raw=listed,
    )


def _fits(listed: JsonObject) -> bool:
    return is_within(listed, limits.REGISTRY_DEPTH) and len(encode(listed)) <= limits.REGISTRY_ENTRY_BYTES


def _things(server: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield what an entry would run or reach: for people, and as a key by which the same is known elsewhere."""
    for package in objects_in(server.get("packages")):
        kind, name, version = (package.get(each) for each in ("registryType", "identifier", "version"))
        if isinstance(kind, str) and isinstance(name, str) and kind in _KINDS and name.strip():
            shown = text(f"{kind} {name}", limits.REGISTRY_NAME_CHARS)
            # An image and a bundle carry their version in their name.
            at = text(version, limits.REGISTRY_TITLE_CHARS) if kind not in ("oci", "mcpb") else ""
            yield f"{shown} {at}".strip(), f"{kind}:{_package(kind, name.strip())}"
    for reached in objects_in(server.get("remotes")):
        url = reached.get("url")
        if isinstance(url, str) and url.strip():
            yield text(url, limits.REGISTRY_NAME_CHARS), f"url:{_address(url)}" if _address(url) else ""


def _package(kind: str, name: str) -> str:
    name = name[: limits.REGISTRY_NAME_CHARS]
    if kind == "oci":
        image = name.partition("@")[0]
        # A colon after the last slash parts the tag off; one before it a port.
        head, slash, tail = image.rpartition("/")
        return f"{head}{slash}{tail.partition(':')[0]}".lower().removeprefix("docker.io/").removeprefix("library/")
    return _PYPI.sub("-", name).lower() if kind == "pypi" else name.lower()


def _address(url: str) -> str:
    """Return an address without what does not tell servers apart: scheme, query, a slash at its end."""
    scheme, sign, rest = url.strip()[: limits.REGISTRY_NAME_CHARS].partition("://")
    if not sign or scheme.lower() not in ("http", "https"):
        return ""
    host, slash, path = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
    return f"{host.lower()}{slash}{path}".rstrip("/")


def _time(value: object) -> str:
    return value if isinstance(value, str) and _TIME.fullmatch(value) else ""


def _count(value: object) -> int | None:
    """Return a number of uses, also one that came as text; None for what is no number."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,15}", value):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15 else None


def packed(raw: JsonObject) -> bytes:
    """Return a raw entry as it is kept on disk."""
    return zlib.compress(encode(raw), 1)


def unpacked(data: bytes) -> JsonObject:
    """Return what was packed; what is broken is empty."""
    try:
        return an_object(msgspec.json.decode(zlib.decompress(data)))
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError):
        return {}
