"""The service that a person chose for something: where it is, its key, whether it works, and how it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import msgspec

from pilothouse.net.client import fetch
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Fetched
from pilothouse.tools.web.services import ServiceRow
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.origins import host_shown, is_nearby, origin_of
from pilothouse.types.ports import Secrets
from pilothouse.types.web import WebServiceView, WebUse


class ServiceTrouble(Exception):
    """A service gave nothing; the text is one sentence that names it."""

    def __init__(self, sentence: str, *, lasting: bool = False) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        # Whether it stays so until a person does something: the key is wrong, or it is no such service.
        self.lasting = lasting


class Choice(msgspec.Struct, frozen=True):
    """What the settings say: which service, and where and with which model if not as usual."""

    kind: str
    address: str = ""
    model: str = ""


class ChosenService:
    """The service that is chosen now, by the settings as they are."""

    def __init__(
        self, use: WebUse, rows: Mapping[str, ServiceRow], settings: Callable[[], Choice], secrets: Secrets
    ) -> None:
        self.use: WebUse = use
        self._rows = rows
        self._settings = settings
        self._secrets = secrets
        # What did not work, and why: it is not offered until something is changed or a test goes well.
        self._broken: tuple[Choice, str] | None = None

    @property
    def choice(self) -> Choice:
        return self._settings()

    @property
    def row(self) -> ServiceRow | None:
        return self._rows.get(self.choice.kind)

    @property
    def address(self) -> str:
        """Return where it is asked, without a slash at the end."""
        row = self.row
        return (self.choice.address or (row.address if row else "")).rstrip("/")

    @property
    def host(self) -> str:
        """Return where data would go."""
        return host_shown(self.address)

    @property
    def is_local(self) -> bool:
        """Return whether it is on this machine or in its network, where nothing is paid for."""
        return is_nearby(self.address)

    @property
    def problem(self) -> str:
        """Return why it cannot be used now, in a sentence; empty if it can."""
        row = self.row
        if row is None:
            return "No service is chosen."
        if not self.address:
            return f"The address of your {row.name} is missing."
        if self._is_open:
            return f"{row.name} has an address without encryption: what is asked there could be read on the way."
        if self._wants_key and not self.has_key:
            return f"{row.name} wants a key."
        broken = self._broken
        return broken[1] if broken is not None and broken[0] == self.choice else ""

    @property
    def _is_open(self) -> bool:
        """Return whether what is sent there could be read by anyone on the way."""
        return urlsplit(self.address).scheme != "https" and not self.is_local

    @property
    def _wants_key(self) -> bool:
        """Return whether it must have a key: what speaks the same API at home often wants none."""
        row = self.row
        return row is not None and row.wants_key and not self.is_local

    @property
    def has_key(self) -> bool:
        return bool(self.address) and self._secrets.origin_of(self._secret) == origin_of(self.address)

    @property
    def _secret(self) -> str:
        return f"web.{self.use}.{self.choice.kind}"

    async def key(self) -> str:
        """Return its key; none that was given for another address."""
        if not self.has_key:
            return ""
        return await asyncio.to_thread(self._secrets.get, self._secret, origin_of(self.address)) or ""

    async def set_key(self, value: str | None) -> None:
        """Keep a key for it, or take it away."""
        if (row := self.row) is None:
            raise PilothouseError("bad_request", "No service is chosen that a key could be for.", fix="Choose one.")
        self._broken = None
        if value is None:
            await asyncio.to_thread(self._secrets.delete, self._secret)
            return
        key = value.strip()
        if not key or len(key) > limits.WEB_KEY_CHARS or not (key.isascii() and key.isprintable()):
            fix = "Copy it whole, without spaces around it."
            raise PilothouseError("bad_request", "This cannot be a key.", fix=fix)
        if not self.address:
            raise PilothouseError("bad_request", f"The address of your {row.name} is missing.", fix="Set it first.")
        if self._is_open:
            message = f"{row.name} has an address without encryption: a key is not sent there."
            raise PilothouseError("bad_request", message, fix="Set its https address.")
        await asyncio.to_thread(self._secrets.put, self._secret, key, origin_of(self.address))

    def view(self) -> WebServiceView:
        """Return how it stands, for people."""
        row, problem = self.row, self.problem
        if row is None:
            return WebServiceView(self.use)
        return WebServiceView(
            use=self.use,
            name=row.name,
            address=self.address,
            wants_key=self._wants_key,
            has_key=self.has_key,
            key_page=row.key_page,
            offered=not problem,
            problem=problem,
        )

    # --- asking it ---

    async def ask(
        self,
        path: str,
        *,
        headers: Mapping[str, str],
        content: JsonObject | None = None,
        timeout: float | None = None,
        limit: int = limits.WEB_SEARCH_BYTES,
    ) -> JsonObject:
        """Return the JSON object that it answers with; raise ServiceTrouble."""
        choice, name = self.choice, self.row.name if self.row else ""
        try:
            got = await self._sent(name, path, headers, content, (timeout or limits.WEB_SEARCH_TIME, limit))
            found = await asyncio.to_thread(_object, got.body)
            if found is None:
                sentence = f"{name} at {self.host} answered with something that is not its JSON."
                raise ServiceTrouble(f"{sentence} Look whether the address is right.", lasting=True)
        except ServiceTrouble as trouble:
            if trouble.lasting:
                self._broken = (choice, trouble.sentence)
            raise
        self._broken = None
        return found

    async def _sent(
        self, name: str, path: str, headers: Mapping[str, str], content: JsonObject | None, bounds: tuple[float, int]
    ) -> Fetched:
        timeout, limit = bounds
        sending = {"accept": "application/json", **headers}
        if content is not None:
            sending["content-type"] = "application/json"
        body = None if content is None else encode(content)
        try:
            got = await fetch(f"{self.address}{path}", headers=sending, content=body, timeout=timeout, limit=limit)
        except NetError as error:
            raise ServiceTrouble(f"{name} at {self.host} cannot be reached: {error.why}.") from None
        if got.status >= 300:
            raise _refused(f"{name} at {self.host}", got, has_key=self.has_key)
        return got


def _refused(who: str, got: Fetched, *, has_key: bool) -> ServiceTrouble:
    status = got.status
    if status in (401, 403):
        why = "did not take the key that it was given" if has_key else "wants a key, or refuses programs"
        return ServiceTrouble(f"{who} {why} (status {status}).", lasting=True)
    if status in (402, 432, 433):
        return ServiceTrouble(f"{who} says that its plan is used up (status {status}).")
    if status == 429:
        return ServiceTrouble(f"{who} asks for a pause: too many requests, or the plan is used up (status 429).")
    if status == 404 or status < 400:
        sentence = f"{who} has nothing at that address (status {status}). Look whether the address is right."
        return ServiceTrouble(sentence, lasting=True)
    if status >= 500:
        return ServiceTrouble(f"{who} is not well (status {status}). Try again later.")
    said = _said(got.body)
    return ServiceTrouble(f"{who} refused it (status {status}){f': {said}' if said else '.'}")


def _object(body: bytes) -> JsonObject | None:
    try:
        found = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _said(body: bytes) -> str:
    """Return what a service says about a refusal, as far as it is one line of text."""
    found: object = _object(body[: limits.WEB_SEARCH_SNIPPET_CHARS * 8]) or {}
    # Each wraps it in another way, some twice.
    for name in ("detail", "error", "message"):
        found = found.get(name, found) if isinstance(found, dict) else found
    words = " ".join(found.split()) if isinstance(found, str) else ""
    return words[: limits.WEB_SEARCH_SNIPPET_CHARS] if words.isprintable() else ""
