"""A server as another program takes it: a snippet for its settings, with a place for each secret and none of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.client.key_labels import AUTHORIZATION, label_of
from pilothouse.mcp.packages.pins import wanted_of
from pilothouse.mcp.servers.entries import SECRET, SLOT, command_of, slots_of
from pilothouse.mcp.servers.exported_texts import as_json, as_toml, as_yaml
from pilothouse.mcp.servers.keys import same_id
from pilothouse.mcp.servers.names import slug
from pilothouse.mcp.servers.other_files import LABELS, user_path
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.origins import is_loopback_host
from pilothouse.types.server_sharing import OtherProgram, Snippet
from pilothouse.types.servers import ServerEntry

# How a program writes what it fills in itself; the others are given a word that a person replaces.
_REFERENCES: dict[OtherProgram, str] = {
    "vscode": "${input:%s}",
    "cursor": "${env:%s}",
    "windsurf": "${env:%s}",
    "claude-code": "${%s}",
    "gemini-cli": "${%s}",
}
_YOURS = "YOUR_%s"
_HAVE_FOLDER = frozenset({"vscode", "gemini-cli", "codex"})
_OFF_TOOLS: dict[OtherProgram, str] = {
    "codex": "disabled_tools",
    "gemini-cli": "excludeTools",
    "cherry-studio": "disabledTools",
}
_PLAIN_NAMES = frozenset({"codex", "goose"})
_BEARER = re.compile(r"Bearer (\S+)")


class Written(msgspec.Struct, kw_only=True):
    """A server in words that every program has, with the program's own word in the place of each secret."""

    name: str
    argv: tuple[str, ...] = ()
    url: str = ""
    wire: str = "auto"
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    # What stands for a secret, by the word for it in this program: its name and its label.
    blanks: dict[str, tuple[str, str]] = {}
    # A folder to start in, and tools that are off, where the program has a place for them.
    more: JsonObject = {}
    notes: list[str] = []

    @property
    def command(self) -> JsonObject:
        """Return program, arguments and variables as most programs take them."""
        env = {"env": self.env} if self.env else {}
        return {"command": self.argv[0], "args": list(self.argv[1:]), **env}

    def address(self, key: str = "url") -> JsonObject:
        """Return address and headers as most programs take them."""
        return {key: self.url, **({"headers": self.headers} if self.headers else {})}


def exported(entry: ServerEntry, program: OtherProgram) -> Snippet:
    """Return a server for another program; raise a PilothouseError where it can be nowhere else."""
    if entry.package.type == "mcpb":
        raise PilothouseError(
            "bad_request",
            f"“{entry.name}” came as a bundle and runs from a folder of Pilothouse.",
            fix="Open the bundle's file in the other program.",
        )
    written = _written(entry, program)
    content = _FORMS[program](written)
    _tell(entry, program, written)
    path = user_path(program)
    language, text = _texts(program, content)
    return Snippet(
        program=LABELS[program],
        text=text,
        language=language,
        path=str(path) if path else "",
        notes=tuple(written.notes),
    )


def command_line(entry: ServerEntry) -> tuple[str, ...]:
    """Return the command that starts a server anywhere: a package by its name and exact version."""
    package = entry.package
    # Its name may say an older version than the one that was taken since.
    wanted = wanted_of(msgspec.structs.replace(package, runtime_hint=None)) if package.version else None
    if wanted is not None:
        package = msgspec.structs.replace(package, identifier=wanted.spoken)
    return command_of(msgspec.structs.replace(entry, package=package))


class _Blanks:
    """Gives each secret of a server its word in another program."""

    def __init__(self, entry: ServerEntry, program: OtherProgram) -> None:
        self._entry = entry
        self._form = _REFERENCES.get(program, _YOURS)
        self._names: dict[str, str] = {}
        self.words: dict[str, tuple[str, str]] = {}

    def of(self, key_id: str) -> str:
        """Return the word for the secret of this id."""
        if key_id not in self._names:
            self._names[key_id] = self._free(_variable(key_id, self._entry.name))
        name = self._names[key_id]
        word = self._form % name
        self.words[word] = (name, label_of(key_id))
        return word

    def _free(self, name: str) -> str:
        taken = set(self._names.values())
        return next(each for each in (name, *(f"{name}_{number}" for number in range(2, 1000))) if each not in taken)

    def filled(self, text: str) -> str:
        """Return a text of the entry with words for the secrets in it."""
        return SLOT.sub(lambda slot: self.of(f"slot:{slot[1]}"), text)

    def values(self, kind: str, values: Mapping[str, str]) -> dict[str, str]:
        """Return variables or headers with words for the secrets among them."""
        found: dict[str, str] = {}
        for name, value in values.items():
            found[name] = self._whole(kind, name) if value.startswith(SECRET) else self.filled(value)
        slots = slots_of(self._entry)
        for key_id in self._entry.config.keys:
            of, _, name = key_id.partition(":")
            if of == kind and name not in slots:
                kept = next((each for each in found if same_id(f"{kind}:{each}", key_id)), name)
                found[kept] = self._whole(kind, kept)
        return found

    def _whole(self, kind: str, name: str) -> str:
        word = self.of(f"{kind}:{name}")
        return f"Bearer {word}" if kind == "header" and name.lower() == AUTHORIZATION.lower() else word


def _variable(key_id: str, server: str) -> str:
    """Return the name of a variable for a secret."""
    kind, _, name = key_id.partition(":")
    if name.lower() == AUTHORIZATION.lower():
        name = f"{slug(server)}_TOKEN"
    if kind == "env" and re.fullmatch(r"[A-Za-z_]\w*", name):
        return name
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").upper() or "KEY"
    return plain if plain[0].isalpha() else f"KEY_{plain}"


def _written(entry: ServerEntry, program: OtherProgram) -> Written:
    blanks, config = _Blanks(entry, program), entry.config
    name = slug(entry.name) if program in _PLAIN_NAMES else entry.name
    made = Written(name=name, wire=config.wire)
    if entry.transport == "http":
        made.url, made.headers = blanks.filled(config.url), blanks.values("header", config.headers)
    else:
        made.argv = tuple(map(blanks.filled, command_line(entry)))
        made.env = blanks.values("env", config.env)
        if config.cwd and program in _HAVE_FOLDER:
            made.more["cwd"] = config.cwd
    if config.off_tools and program in _OFF_TOOLS:
        made.more[_OFF_TOOLS[program]] = list(config.off_tools)
    made.blanks = blanks.words
    return made


def _tell(entry: ServerEntry, program: OtherProgram, written: Written) -> None:
    """Say what the person has to fill in, and what the other program does not do."""
    config, label, notes = entry.config, LABELS[program], written.notes
    for word, (name, about) in written.blanks.items():
        notes.append(_to_fill_in(program, word, name, about))
    if entry.auth_type == "oauth":
        notes.append(f"You signed in to it here; {label} asks you to sign in by itself.")
    if config.wire == "websocket" or urlsplit(config.url).scheme in ("ws", "wss"):
        notes.append(f"It is reached over a WebSocket, which {label} may not speak.")
    if config.cwd and program not in _HAVE_FOLDER:
        notes.append(f"{label} has no place for the folder that it starts in: {config.cwd}.")
    if config.sandbox:
        notes.append(f"Here it runs in a sandbox; in {label} nothing holds it.")
    if config.off_tools and program not in _OFF_TOOLS:
        notes.append(f"Switched off here, and not there: {', '.join(config.off_tools)}.")
    if config.trusted_certificate:
        notes.append(f"You trust its certificate here; {label} may not.")
    texts = (*config.args, *config.env.values(), *config.headers.values(), config.url)
    if any("${" in SLOT.sub("", text) for text in texts):
        notes.append(f"It has “${{” in it, which {label} may take for something to fill in.")
    if program == "cherry-studio":
        notes.append("Paste it in Cherry Studio's settings, MCP servers, Import from JSON.")


def _to_fill_in(program: OtherProgram, word: str, name: str, about: str) -> str:
    if program == "vscode":
        return f"VS Code asks for the {about} and keeps it."
    if program in _REFERENCES or word.startswith("$"):
        return f"Set the variable {name} to the {about} where {LABELS[program]} starts."
    return f"Put the {about} in the place of {word}."


def _servers(written: Written, entry: JsonObject, place: str = "mcpServers") -> JsonObject:
    return {place: {written.name: {**entry, **written.more}}}


def _claude_desktop(written: Written) -> JsonObject:
    """Claude Desktop starts programs only; an address is reached through one."""
    if not written.url:
        return _servers(written, written.command)
    args, env = ["-y", "mcp-remote", written.url], {}
    if written.wire in ("sse", "streamable"):
        args += ["--transport", "sse-only" if written.wire == "sse" else "http-only"]
    parts = urlsplit(written.url)
    if parts.scheme == "http" and not is_loopback_host(parts.hostname or ""):
        args.append("--allow-http")
    for name, value in written.headers.items():
        variable = _variable(f"slot:{name}", "")
        # A space in an argument is lost on some systems.
        env[variable] = value
        args += ["--header", f"{name}:${{{variable}}}"]
    written.notes.append(
        "Claude Desktop reaches addresses through the package mcp-remote, in whatever version it finds. Without it: "
        "Settings, Connectors, Add custom connector."
    )
    return _servers(written, {"command": "npx", "args": args, **({"env": env} if env else {})})


def _claude_code(written: Written) -> JsonObject:
    if not written.url:
        return _servers(written, {"type": "stdio", **written.command})
    return _servers(written, {"type": _kind(written), **written.address()})


def _vscode(written: Written) -> JsonObject:
    inputs = [
        {"type": "promptString", "id": name, "description": about, "password": True}
        for name, about in written.blanks.values()
    ]
    entry = {"type": _kind(written), **written.address()} if written.url else {"type": "stdio", **written.command}
    return {**({"inputs": inputs} if inputs else {}), **_servers(written, entry, "servers")}


def _cursor(written: Written) -> JsonObject:
    return _servers(written, written.address() if written.url else written.command)


def _windsurf(written: Written) -> JsonObject:
    return _servers(written, written.address("serverUrl") if written.url else written.command)


def _zed(written: Written) -> JsonObject:
    entry = written.address() if written.url else {"source": "custom", **written.command}
    return _servers(written, entry, "context_servers")


def _gemini(written: Written) -> JsonObject:
    if not written.url:
        return _servers(written, written.command)
    return _servers(written, written.address("url" if written.wire == "sse" else "httpUrl"))


def _cherry(written: Written) -> JsonObject:
    kind = {"sse": "sse"}.get(written.wire, "streamableHttp") if written.url else "stdio"
    entry = written.address("baseUrl") if written.url else written.command
    return {
        "mcpServers": {
            slug(written.name): {"name": written.name, "type": kind, "isActive": True, **entry, **written.more}
        }
    }


def _goose(written: Written) -> JsonObject:
    entry: JsonObject = {"enabled": True, "name": written.name}
    if written.url:
        kind = "sse" if written.wire == "sse" else "streamable_http"
        return {"extensions": {written.name: {**entry, "type": kind, **written.address("uri")}}}
    keys = [name for name, value in written.env.items() if value == _YOURS % name]
    envs = {name: value for name, value in written.env.items() if name not in keys}
    command = {"type": "stdio", "cmd": written.argv[0], "args": list(written.argv[1:]), "envs": envs, "env_keys": keys}
    for name in keys:
        _rename(written, _YOURS % name, f"${name}")
    return {"extensions": {written.name: {**entry, **command}}}


def _codex(written: Written) -> JsonObject:
    if not written.url:
        given = [name for name, value in written.env.items() if value == _YOURS % name]
        env = {name: value for name, value in written.env.items() if name not in given}
        for name in given:
            _rename(written, _YOURS % name, f"${name}")
        command = {"command": written.argv[0], "args": list(written.argv[1:])}
        return _servers(written, {**command, "env_vars": given, "env": env}, "mcp_servers")
    entry: JsonObject = {"url": written.url}
    plain: dict[str, str] = {}
    named: dict[str, str] = {}
    for header, value in written.headers.items():
        bearer = _BEARER.fullmatch(value) if header.lower() == AUTHORIZATION.lower() else None
        word = bearer[1] if bearer else value
        if word not in written.blanks:
            plain[header] = value
            continue
        variable = written.blanks[word][0]
        _rename(written, word, f"${variable}")
        if bearer:
            entry["bearer_token_env_var"] = variable
        else:
            named[header] = variable
    return _servers(written, {**entry, "http_headers": plain, "env_http_headers": named}, "mcp_servers")


def _rename(written: Written, word: str, variable: str) -> None:
    """Note that a secret is a variable of the environment there, and no word in the snippet."""
    if word in written.blanks:
        written.blanks = {variable if each == word else each: about for each, about in written.blanks.items()}


def _kind(written: Written) -> str:
    return {"sse": "sse", "websocket": "ws"}.get(written.wire, "http")


_FORMS: dict[OtherProgram, Callable[[Written], JsonObject]] = {
    "claude-desktop": _claude_desktop,
    "claude-code": _claude_code,
    "vscode": _vscode,
    "cursor": _cursor,
    "windsurf": _windsurf,
    "zed": _zed,
    "goose": _goose,
    "codex": _codex,
    "gemini-cli": _gemini,
    # It says that it takes what Cursor takes.
    "lm-studio": _cursor,
    "cherry-studio": _cherry,
}


def _texts(program: OtherProgram, content: JsonObject) -> tuple[Literal["json", "toml", "yaml"], str]:
    match program:
        case "codex":
            return "toml", as_toml(content)
        case "goose":
            return "yaml", as_yaml(content)
        case _:
            return "json", as_json(content)
