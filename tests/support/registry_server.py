"""Registries of MCP servers on loopback that answer as the real ones do, and fail as they may.

    async with OfficialServer(entries) as official, SmitheryServer(listed) as smithery:
        monkeypatch.setenv("PILOTHOUSE_REGISTRIES", pointing(official=official, smithery=smithery))

What is in them may be changed while they run; `answering` replaces an answer as a whole.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.tiny_http import Answer, LoopbackServer, Request, TinyHttp

Json = dict[str, Any]
META = "io.modelcontextprotocol.registry/official"
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-10-17/server.schema.json"
BEFORE = "2026-05-01T10:00:00.000000Z"


def json_answer(value: object, status: int = 200, **headers: str) -> Answer:
    """Return a value as a JSON answer."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json", **named})


HTML = Answer(200, b"<!doctype html><title>Welcome</title><p>Nothing here.", {"Content-Type": "text/html"})


def registry_addresses(**servers: LoopbackServer | str) -> str:
    """Return the content of PILOTHOUSE_REGISTRIES that leads to these; `_` in a name stands for `-`."""
    return ",".join(
        f"{name.replace('_', '-')}={each if isinstance(each, str) else each.url}" for name, each in servers.items()
    )


# --- entries, in the shapes of the real ones ------------------------------------------------------


def npm(identifier: str, version: str = "1.0.0", **more: Any) -> Json:
    """Return a package of npm as `server.json` has it."""
    return {
        "registryType": "npm",
        "identifier": identifier,
        "version": version,
        "transport": {"type": "stdio"},
        **more,
    }


def pypi(identifier: str, version: str = "1.0.0", **more: Any) -> Json:
    """Return a package of PyPI as `server.json` has it."""
    return {
        "registryType": "pypi",
        "identifier": identifier,
        "version": version,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        **more,
    }


def oci(identifier: str, **more: Any) -> Json:
    """Return an image as `server.json` has it."""
    return {"registryType": "oci", "identifier": identifier, "transport": {"type": "stdio"}, **more}


def remote(url: str, kind: str = "streamable-http", **more: Any) -> Json:
    """Return an address as `server.json` has it: also `headers`, `variables`."""
    return {"type": kind, "url": url, **more}


def official_entry(
    name: str,
    description: str = "",
    *,
    version: str = "1.0.0",
    status: str = "active",
    updated: str = BEFORE,
    meta: Mapping[str, Any] | None = None,
    **server: Any,
) -> Json:
    """Return an entry as the official registry lists it; `server` are more fields of `server.json`."""
    return {
        "server": {
            "$schema": SCHEMA,
            "name": name,
            "description": description or f"What {name} does.",
            "version": version,
            **server,
        },
        "_meta": {
            META: {"status": status, "publishedAt": BEFORE, "updatedAt": updated, "isLatest": True, **(meta or {})}
        },
    }


def smithery_entry(
    name: str, description: str = "", *, title: str = "", verified: bool = False, uses: int = 0, **more: Any
) -> Json:
    """Return an entry as Smithery lists it."""
    return {
        "qualifiedName": name,
        "displayName": title or name.rpartition("/")[2],
        "description": description or f"What {name} does.",
        "iconUrl": None,
        "verified": verified,
        "useCount": uses,
        "remote": True,
        "createdAt": BEFORE,
        "homepage": f"https://smithery.ai/server/{name}",
        **more,
    }


def smithery_details(listed: Json, *, schema: Json | None = None, tools: Iterable[Json] = (), **more: Any) -> Json:
    """Return the details of a listed entry: a hosted server with the settings that it takes."""
    url = f"https://server.smithery.ai/{listed['qualifiedName']}"
    return {
        "qualifiedName": listed["qualifiedName"],
        "displayName": listed["displayName"],
        "description": listed["description"],
        "remote": True,
        "deploymentUrl": url,
        "connections": [
            {"type": "http", "deploymentUrl": url, "configSchema": schema or {"type": "object", "properties": {}}}
        ],
        "security": {"scanPassed": True},
        "tools": list(tools),
        **more,
    }


# --- the servers ----------------------------------------------------------------------------------


class RegistryServer(TinyHttp):
    """What both kinds share: a key that may be wanted, and answers that are replaced."""

    def __init__(self, key: str = "") -> None:
        super().__init__(self._any)
        # Without this key it answers 401.
        self.key = key
        # Asked before anything else; None lets the usual answer be given.
        self.answering: Callable[[Request], Answer | Awaitable[Answer] | None] = lambda _request: None
        # Nothing is answered before this.
        self.until: asyncio.Event | None = None

    async def _any(self, request: Request) -> Answer:
        if self.until is not None:
            await self.until.wait()
        replaced = self.answering(request)
        if replaced is not None:
            return replaced if isinstance(replaced, Answer) else await replaced
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return json_answer({"error": "Unauthorized", "message": "Missing API key"}, 401)
        parts = urlsplit(request.target)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        return self.usual(parts.path, query)

    def usual(self, path: str, query: Mapping[str, str]) -> Answer:
        """Return what is answered when all is well."""
        raise NotImplementedError

    def asked_for(self, path: str) -> list[dict[str, str]]:
        """Return the queries of all requests for a path."""
        targets = [urlsplit(request.target) for request in self.requests]
        return [
            {name: values[-1] for name, values in parse_qs(each.query, keep_blank_values=True).items()}
            for each in targets
            if each.path == path
        ]

    def fails(self, status: int, **headers: str) -> None:
        """Answer everything with an error from now on."""
        self.answering = lambda _request: json_answer({"title": "Error", "status": status}, status, **headers)

    def says(self, answer: Answer) -> None:
        """Answer everything with this from now on."""
        self.answering = lambda _request: answer

    def hangs(self) -> None:
        """Answer nothing from now on."""

        async def never(_request: Request) -> Answer:
            await asyncio.Event().wait()
            raise AssertionError

        self.answering = never

    def works(self) -> None:
        """Answer as usual again."""
        self.answering = lambda _request: None


class OfficialServer(RegistryServer):
    """The official registry's API; `entries` are in the order of their pages, the newest version of each."""

    LIST = "/v0.1/servers"

    def __init__(self, entries: Iterable[Json] = (), key: str = "") -> None:
        super().__init__(key)
        self.entries = list(entries)

    def usual(self, path: str, query: Mapping[str, str]) -> Answer:
        if path == self.LIST:
            return json_answer(self._page(query))
        name = unquote(path.removeprefix(f"{self.LIST}/").removesuffix("/versions/latest"))
        found = [each for each in self.entries if each["server"]["name"] == name]
        if path.startswith(f"{self.LIST}/") and path.endswith("/versions/latest") and found:
            return json_answer(found[-1])
        return json_answer({"title": "Not Found", "status": 404, "detail": "Server not found"}, 404)

    def _page(self, query: Mapping[str, str]) -> Json:
        search, since = query.get("search", "").lower(), query.get("updated_since", "")
        found = [
            each
            for each in self.entries
            # The real one looks at names only.
            if search in str(each["server"].get("name", "")).lower()
            and (not since or str(each["_meta"][META].get("updatedAt", "")) >= since)
        ]
        begin, size = int(query.get("cursor") or 0), min(int(query.get("limit", 30)), 100)
        page = found[begin : begin + size]
        metadata: Json = {"count": len(page)}
        if begin + size < len(found):
            metadata["nextCursor"] = str(begin + size)
        return {"servers": page, "metadata": metadata}


class SmitheryServer(RegistryServer):
    """Smithery's API: `entries` as listed, `details` by qualified name (those of an entry without any are made)."""

    LIST = "/servers"

    def __init__(self, entries: Iterable[Json] = (), details: Iterable[Json] = (), key: str = "") -> None:
        super().__init__(key)
        self.entries = list(entries)
        self.details = {each["qualifiedName"]: each for each in details}

    def usual(self, path: str, query: Mapping[str, str]) -> Answer:
        if path == self.LIST:
            return json_answer(self._page(query))
        name = unquote(path.removeprefix(f"{self.LIST}/"))
        listed = next((each for each in self.entries if each["qualifiedName"] == name), None)
        if listed is None and name not in self.details:
            return json_answer({"error": "Server not found"}, 404)
        return json_answer(self.details.get(name) or smithery_details(listed or {}))

    def _page(self, query: Mapping[str, str]) -> Json:
        words = query.get("q", "").lower().split()
        found = [
            each for each in self.entries if all(word in json.dumps(each, ensure_ascii=False).lower() for word in words)
        ]
        number, size = int(query.get("page", 1)), int(query.get("pageSize", 10))
        return {
            "servers": found[(number - 1) * size : number * size],
            "pagination": {
                "currentPage": number,
                "pageSize": size,
                "totalPages": -(-len(found) // size),
                "totalCount": len(found),
            },
        }


class AdvisoryServer(RegistryServer):
    """OSV's API: `POST /v1/query`; `known` has the ids by ecosystem and name, those of all versions."""

    def __init__(self, known: Mapping[tuple[str, str], list[str]] | None = None) -> None:
        super().__init__()
        self.known = dict(known or {})

    async def _any(self, request: Request) -> Answer:
        replaced = self.answering(request)
        if replaced is not None:
            return replaced if isinstance(replaced, Answer) else await replaced
        if (request.method, request.target) != ("POST", "/v1/query"):
            return json_answer({"code": 5, "message": "Not found"}, 404)
        package = json.loads(request.body)["package"]
        ids = self.known.get((package["ecosystem"], package["name"]), [])
        vulns = [{"id": each, "summary": f"About {package['name']}", "modified": BEFORE} for each in ids]
        return json_answer({"vulns": vulns} if vulns else {})
