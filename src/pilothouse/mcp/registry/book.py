"""The registries that there are: two that everyone has, and those of one's own, which `config.json` keeps.

An entry there with the id of one that everyone has gives it another address, or none at all.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.registry import addresses
from pilothouse.mcp.registry.asking import LOST_KEY, RegistryTrouble
from pilothouse.mcp.registry.entries import text
from pilothouse.mcp.servers.names import plain_host
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.origins import is_nearby, origin_of
from pilothouse.types.ports import JsonStore, Secrets
from pilothouse.types.registries import RegistryKind

ALL = "all"
_EVERYONES: tuple[tuple[str, str, RegistryKind], ...] = (
    (addresses.OFFICIAL, "Official", "official"),
    (addresses.SMITHERY, "Smithery", "smithery"),
)
_TAKEN = {ALL, *addresses.KNOWN}
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
# What people copy with the address.
_ENDINGS = re.compile(r"(?:/v0(?:\.1)?(?:/servers)?)?/{0,9}$")


class Registry(msgspec.Struct, frozen=True, kw_only=True):
    """A registry: who it is, and where."""

    id: str
    name: str
    kind: RegistryKind
    url: str
    own: bool = False

    @property
    def subject(self) -> str:
        """Return what a sentence about it begins with."""
        if self.own:
            return f"The registry {self.name}"
        return "The official registry" if self.kind == "official" else self.name


class RegistryBook:
    """Reads and changes the list, and has the keys; each is bound to the address it was given for."""

    def __init__(self, file: JsonStore[object], read: Callable[[], Sequence[JsonObject]], secrets: Secrets) -> None:
        self._file = file
        self._read = read
        self._secrets = secrets

    def all(self) -> tuple[Registry, ...]:
        """Return all registries, the official one first; what is no entry of the file is passed over."""
        entries = {str(each.get("id")): each for each in self._read() if isinstance(each, dict)}
        found = []
        for registry_id, name, kind in _EVERYONES:
            url = entries.get(registry_id, {}).get("url", addresses.address(registry_id))
            if isinstance(url, str) and origin_of(url):
                found.append(Registry(id=registry_id, name=name, kind=kind, url=url.rstrip("/")))
        return (*found, *_own(entries.values()))

    def get(self, registry_id: str) -> Registry:
        """Return a registry by its id or its name; raise `not_found` with those there are."""
        registries = self.all()
        for each in registries:
            if registry_id == each.id or registry_id.casefold() == each.name.casefold():
                return each
        there = ", ".join(each.id for each in registries)
        message = f"There is no registry “{text(registry_id, limits.REGISTRY_TITLE_CHARS)}”."
        raise PilothouseError("not_found", message, fix=f"There are: {there}.")

    def new(self, url: str, name: str) -> Registry:
        """Return a registry that could be added; raise `bad_request` for an address that cannot be one."""
        url = _ENDINGS.sub("", url.strip())
        _check(url)
        host = plain_host(urlsplit(url).hostname or "")
        name = text(name, limits.REGISTRY_TITLE_CHARS) or host
        there = self.all()
        for each in there:
            if each.url == url:
                raise PilothouseError("conflict", f"{each.subject} has this address already.")
            if each.name.casefold() == name.casefold():
                raise PilothouseError("conflict", f"There is a registry “{name}” already.", fix="Give it another name.")
        if sum(each.own for each in there) >= limits.REGISTRIES_OWN:
            message = f"There are {limits.REGISTRIES_OWN} registries of your own already."
            raise PilothouseError("too_many", message, fix="Remove one first.")
        return Registry(id=_free(name, {each.id for each in there}), name=name, kind="official", url=url, own=True)

    async def add(self, registry: Registry) -> None:
        """Keep a registry of one's own."""
        entry = {"id": registry.id, "name": registry.name, "url": registry.url}

        def added(entries: list[JsonObject]) -> list[JsonObject]:
            # It was asked whether it is one meanwhile, and another may have come in.
            if any(_is(each, registry.id) or each.get("url") == registry.url for each in _own_entries(entries)):
                raise PilothouseError("conflict", f"The registry {registry.name} was added a moment ago.")
            return [*entries, entry]

        await self._change(added)

    async def remove(self, registry: Registry) -> None:
        """Forget a registry of one's own, with its key."""
        await self._change(lambda entries: [each for each in entries if not _is(each, registry.id)])
        await asyncio.to_thread(self._secrets.delete, _secret(registry))

    async def _change(self, change: Callable[[list[JsonObject]], list[JsonObject]]) -> None:
        def changed(raw: JsonObject) -> None:
            raw["registries"] = change(list(raw.get("registries") or []))

        await asyncio.to_thread(self._file.update, changed)

    # --- keys ---------------------------------------------------------------------------------------

    def has_key(self, registry: Registry) -> bool | None:
        """Return whether there is a key for a registry's address; None if what is kept cannot be read."""
        try:
            return self._secrets.origin_of(_secret(registry)) == origin_of(registry.url)
        except PilothouseError:
            return None

    async def key(self, registry: Registry) -> str:
        """Return a registry's key, none that was given for another address; raise RegistryTrouble for a lost one."""
        if await asyncio.to_thread(self.has_key, registry) is False:
            return ""
        try:
            return await asyncio.to_thread(self._secrets.get, _secret(registry), origin_of(registry.url)) or ""
        except PilothouseError:
            raise RegistryTrouble("key", LOST_KEY) from None

    async def set_key(self, registry: Registry, value: str | None) -> None:
        """Keep a key for a registry, or take it away."""
        if value is None:
            await asyncio.to_thread(self._secrets.delete, _secret(registry))
            return
        value = value.strip()
        if not value or len(value) > limits.REGISTRY_KEY_CHARS or not (value.isascii() and value.isprintable()):
            raise PilothouseError(
                "bad_request", "This cannot be a key.", fix="Copy it whole, without spaces around it."
            )
        if urlsplit(registry.url).scheme != "https" and not is_nearby(registry.url):
            message = f"{registry.subject} has an address without encryption: a key is not sent there."
            raise PilothouseError("bad_request", message, fix="Add it with its https address.")
        await asyncio.to_thread(self._secrets.put, _secret(registry), value, origin_of(registry.url))


def _own(entries: Iterable[JsonObject]) -> Iterator[Registry]:
    for each in entries:
        registry_id, url = each.get("id"), each.get("url")
        if not isinstance(registry_id, str) or not _ID.fullmatch(registry_id) or registry_id in _TAKEN:
            continue
        if isinstance(url, str) and origin_of(url):
            name = text(each.get("name"), limits.REGISTRY_TITLE_CHARS) or registry_id
            yield Registry(id=registry_id, name=name, kind="official", url=url.rstrip("/"), own=True)


def _own_entries(entries: Sequence[object]) -> Iterator[JsonObject]:
    return (each for each in entries if isinstance(each, dict))


def _is(entry: object, registry_id: str) -> bool:
    return isinstance(entry, dict) and entry.get("id") == registry_id


def _secret(registry: Registry) -> str:
    return f"registry.{registry.id}"


def _check(url: str) -> None:
    fix = "Give the address of a registry that has the API of the official one, as https://registry.example.com."
    if not origin_of(url):
        raise PilothouseError("bad_request", "This is no web address.", fix=fix)
    parts = urlsplit(url)
    if parts.username or parts.password:
        message = "The address has a name or a password in it."
        raise PilothouseError("bad_request", message, fix="Leave them out; a key is given after it was added.")
    if parts.query or parts.fragment:
        raise PilothouseError("bad_request", "The address of a registry has no “?” or “#” in it.", fix=fix)
    if parts.scheme != "https" and not is_nearby(url):
        message = "The address is without encryption: anyone on the way could name other servers."
        raise PilothouseError("bad_request", message, fix="Use https; http is for your own network.")


def _free(name: str, taken: set[str]) -> str:
    """Return an id for a registry: its name in small letters, with a number where that is taken."""
    wanted = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:32] or "registry"
    number, made = 1, wanted
    while made in taken | _TAKEN:
        number += 1
        made = f"{wanted}-{number}"
    return made
