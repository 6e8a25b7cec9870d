"""Lines that other programs take to add a server: `claude mcp add …`, `code --add-mcp …`, `gemini mcp add …`."""

from __future__ import annotations

import re

import msgspec

from pilothouse.mcp.proposals import addresses, commands
from pilothouse.mcp.proposals.texts import shown
from pilothouse.types.errors import BadField
from pilothouse.types.proposals import Proposal
from pilothouse.types.servers import ManualSource

# Who has `mcp add`, as people call it.
HOSTS = {
    "claude": "Claude Code",
    "gemini": "Gemini CLI",
    "codex": "Codex",
    "qwen": "Qwen Code",
    "amp": "Amp",
    "droid": "Factory",
    "copilot": "Copilot CLI",
    "pilothouse": "Pilothouse",
}
EDITORS = {
    "code": "VS Code",
    "code-insiders": "VS Code",
    "codium": "VSCodium",
    "cursor": "Cursor",
    "windsurf": "Windsurf",
}
_ENV = ("-e", "--env")
_HEADER = ("-H", "--header")
_TRANSPORT = ("-t", "--transport", "--type")
_IGNORED_VALUED = ("-s", "--scope", "--timeout", "--description", "--include-tools", "--exclude-tools", "--client-id",
                   "--client-secret", "--callback-port", "--bearer-token-env-var")  # fmt: skip
_IGNORED = ("--trust", "-y", "--yes", "--force")
_ADD = ("add", "add-json")
_PAIR = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


class Pasted(msgspec.Struct, frozen=True):
    """A line that holds JSON: its host, that JSON, and the name that stands beside it."""

    host: str
    text: str
    name: str = ""


def json_in(argv: tuple[str, ...]) -> Pasted | None:
    """Return the JSON that a line gives to its host; None where it gives none."""
    if argv[0] in EDITORS and "--add-mcp" in argv:
        at = argv.index("--add-mcp")
        if at + 1 >= len(argv):
            raise BadField((), "The JSON behind --add-mcp is missing.")
        return Pasted(EDITORS[argv[0]], argv[at + 1])
    joined = next((word for word in argv if word.startswith("--add-mcp=")), "")
    if argv[0] in EDITORS and joined:
        return Pasted(EDITORS[argv[0]], joined.partition("=")[2])
    if argv[0] in HOSTS and argv[1:3] == ("mcp", "add-json"):
        rest = [word for word in argv[3:] if not word.startswith("-")]
        found = next((word for word in rest if word.lstrip().startswith("{")), None)
        if found is None:
            raise BadField((), "The JSON of the server is missing in this line.")
        return Pasted(HOSTS[argv[0]], found, rest[0] if rest[0] != found else "")
    return None


def is_adding(argv: tuple[str, ...]) -> bool:
    """Return whether a line adds a server to another program."""
    return argv[0] in HOSTS and argv[1:2] == ("mcp",) and argv[2:3] in (("add",), ("add-json",))


def proposal_of(argv: tuple[str, ...]) -> Proposal:
    """Return the server that such a line adds; raise a BadField for one that is cut short."""
    return _Line(HOSTS[argv[0]], list(argv[3:])).proposal()


class _Line:
    """What stands behind `mcp add`: options, a name, and a command or an address."""

    def __init__(self, host: str, rest: list[str]) -> None:
        self._host = host
        self._rest = rest
        self._env: dict[str, str] = {}
        self._headers: dict[str, str] = {}
        self._transport = ""
        self._url = ""
        self._notes: list[str] = []

    def proposal(self) -> Proposal:
        named, target = self._parse()
        source = ManualSource(imported_from=self._host)
        if self._url:
            target = [self._url]
        if not target and named and (addresses.ADDRESS.fullmatch(named)):
            named, target = "", [named]
        if not target:
            raise BadField((), f"The line for {self._host} names no command and no address.")
        notes = tuple(self._notes)
        if addresses.ADDRESS.fullmatch(target[0]):
            wire = addresses.WIRES.get(self._transport.lower(), "auto")
            address = addresses.Address(target[0], named, wire, self._headers, notes, source)
            return addresses.proposal_of(address)
        if self._transport not in ("", "stdio"):
            raise BadField((), f"“{shown(target[0], 80)}” is not an address.")
        return commands.proposal_of(commands.Line(tuple(target), self._env, named, notes, source))

    def _parse(self) -> tuple[str, list[str]]:
        named, at = "", 0
        while at < len(self._rest):
            word = self._rest[at]
            if word == "--":
                return named, self._rest[at + 1 :]
            if word.startswith("-"):
                at = self._option(at)
            elif not named:
                named, at = word, at + 1
            elif addresses.ADDRESS.fullmatch(word):
                # Options may stand behind an address, not behind a command.
                self._url, at = word, at + 1
            else:
                return named, self._rest[at:]
        return named, []

    def _option(self, at: int) -> int:
        """Take up an option; return where the next word is."""
        name, sign, value = self._rest[at].partition("=")
        if name in _IGNORED:
            self._notes.append(f"“{name}” was left out: it means something to {self._host} only.")
            return at + 1
        if not sign:
            if at + 1 >= len(self._rest):
                raise BadField((), f"The option {shown(name, 40)} has no value in this line.")
            at, value = at + 1, self._rest[at + 1]
        self._take(name, value)
        at += 1
        # One such option may have several values behind it.
        while name in _ENV and at < len(self._rest) and _PAIR.fullmatch(self._rest[at]):
            self._take(name, self._rest[at])
            at += 1
        return at

    def _take(self, name: str, value: str) -> None:
        if name in _ENV:
            pair = _PAIR.fullmatch(value)
            self._env[pair[1] if pair else value] = pair[2] if pair else ""
        elif name in _HEADER:
            header, sign, content = value.partition(":")
            if not sign:
                raise BadField((), f"“{shown(header, 40)}” is not a header with a value.")
            self._headers[header.strip()] = content.strip()
        elif name in _TRANSPORT:
            self._transport = value
        elif name == "--url":
            self._url = value
        elif name == "--bearer-token-env-var":
            self._headers["Authorization"] = ""
        elif name in _IGNORED_VALUED:
            self._notes.append(f"“{name} {shown(value, 40)}” was left out: it means something to {self._host} only.")
        else:
            raise BadField((), f"The option {shown(name, 40)} of {self._host} is not known here.")
