"""Smithery's details of a server made into what could be added: hosted at its address, or run here."""

from __future__ import annotations

import re
from urllib.parse import quote

from pilothouse.mcp.proposals.about import About
from pilothouse.mcp.proposals.blanks import Blanks, Wanted, is_secret
from pilothouse.mcp.proposals.config_schema import wanted_of
from pilothouse.mcp.proposals.texts import shown
from pilothouse.mcp.servers.entries import check_url, shown_url
from pilothouse.types import limits
from pilothouse.types.errors import BadField
from pilothouse.types.json import JsonObject, an_object, objects_in
from pilothouse.types.proposals import Proposal
from pilothouse.types.servers import PackageType, ServerInput, Source

_HOSTED = ("http", "sse", "ws", "websocket", "streamable-http")
_QUOTED = r"(?:'[^'\\\n]{0,1000}'|\"[^\"\\\n]{0,1000}\"|`[^`\\$\n]{0,1000}`)"
_READ = r"config(?:\?)?\.[A-Za-z_]\w{0,80}"
_PIECE = re.compile(rf"\s{{0,40}}({_QUOTED}|{_READ})\s{{0,40}}(?:,|$)")
_PAIR = re.compile(
    rf"\s{{0,40}}['\"]?([A-Za-z_]\w{{0,80}})['\"]?\s{{0,40}}:\s{{0,40}}({_QUOTED}|{_READ})\s{{0,40}}(?:,|$)"
)
# The small function that says how a server is started: only one that is a plain record of words is read.
_FUNCTION = re.compile(
    rf"\s*+\(?\s*+config\s*+\)?\s*+=>\s*+\(\s*+\{{\s*+['\"]?command['\"]?\s*+:\s*+({_QUOTED})\s*+,"
    r"\s*+['\"]?args['\"]?\s*+:\s*+\[([^\[\]{}()]{0,8000})\]\s*+,?"
    r"(?:\s*+['\"]?env['\"]?\s*+:\s*+\{([^\[\]{}()]{0,8000})\}\s*+,?)?\s*+\}\s*+\)\s*+;?\s*+",
)
_STARTERS: dict[str, PackageType] = {"npx": "npm", "uvx": "pypi", "docker": "docker"}
_OWN_WAY = "Smithery starts it by a program of its own; paste the command of its README."


def proposals_of(details: JsonObject, source: Source) -> tuple[Proposal, ...]:
    """Return what the details of a server offer; what cannot be had says why."""
    about = About(_name(details), shown(details.get("description")), source, str(details.get("deploymentUrl") or ""))
    made = []
    for connection in objects_in(details.get("connections"))[: limits.PROPOSALS_MOST]:
        try:
            made.append(_proposal(about, connection))
        except BadField as error:
            made.append(about.without(error.message, "command"))
    if not made and about.address:
        made.append(_guarded_hosted(about))
    return tuple(made) or (about.without("Smithery does not say how to reach or start it.", "command"),)


def _name(details: JsonObject) -> str:
    title = shown(details.get("displayName"), limits.KEY_LABEL_CHARS)
    name = str(details.get("qualifiedName") or "").rstrip("/").rpartition("/")[2]
    return title or shown(name, limits.KEY_LABEL_CHARS) or "server"


def _guarded_hosted(about: About) -> Proposal:
    try:
        return _hosted(about, {})
    except BadField as error:
        return about.without(error.message, "http")


def _proposal(about: About, connection: JsonObject) -> Proposal:
    kind = str(connection.get("type") or "")
    if kind in _HOSTED:
        return _hosted(about, connection)
    if kind == "stdio":
        return _local(about, connection)
    named = shown(kind, 40) or "nothing"
    return about.without(f"It is spoken to over “{named}”, which Pilothouse does not know.", "command")


def _hosted(about: About, connection: JsonObject) -> Proposal:
    """Return a server at its address, with its settings in the query, a value each."""
    url = str(connection.get("deploymentUrl") or connection.get("url") or about.address).strip()
    check_url(url)
    if not url.startswith(("https://", "wss://", "http://127.0.0.1", "http://localhost", "http://[::1]")):
        raise BadField((), f"Its address {shown(url, 100)} is not encrypted.")
    blanks = Blanks()
    query = "&".join(f"{quote(each.name, safe='')}={_mark(blanks, each)}" for each in _settings(connection))
    sign = "" if not query else "&" if "?" in url else "?"
    server = ServerInput(name=about.name, url=f"{url}{sign}{query}")
    return about.made("http", shown_url(url), server, blanks)


def _settings(connection: JsonObject) -> tuple[Wanted, ...]:
    return wanted_of(an_object(connection.get("configSchema")))


def _mark(blanks: Blanks, wanted: Wanted) -> str:
    return blanks.slot(wanted) if wanted.secret else blanks.value(wanted)


def _local(about: About, connection: JsonObject) -> Proposal:
    """Return a server that is started here, where its little function is a plain record of words."""
    if connection.get("bundleUrl") and not connection.get("stdioFunction"):
        address = shown(connection["bundleUrl"], 300)
        return about.without(f"It is a bundle: download {address} and drop the file here.", "mcpb")
    hit = _FUNCTION.fullmatch(str(connection.get("stdioFunction") or "")[: limits.SCHEMA_BYTES])
    if hit is None:
        return about.without(_OWN_WAY, "command")
    command, known = hit[1][1:-1], {each.name: each for each in _settings(connection)}
    if command not in _STARTERS:
        return about.without(f"It is started with “{shown(command, 40)}” in Smithery's own machines.", "command")
    blanks = Blanks()
    args = tuple(_word(each[1], known, blanks) for each in _all(_PIECE, hit[2]))
    plain: dict[str, str] = {}
    for name, value in ((each[1], each[2]) for each in _all(_PAIR, hit[3] or "")):
        wanted = _asked(value, known)
        if wanted is not None and wanted.secret:
            blanks.key(f"env:{name}", wanted)
        else:
            plain[name] = _word(value, known, blanks)
    if command == "docker":
        raise BadField((), "It is a container; paste the command of its README.")
    if command == "npx" and args[:1] not in (("-y",), ("--yes",)):
        args = ("-y", *args)
    server = ServerInput(name=about.name, command=command, args=args, plain_env=plain)
    package = next((word for word in args if not word.startswith("-")), "")
    return about.made(_STARTERS[command], f"{'npm' if command == 'npx' else 'PyPI'} {package}", server, blanks)


def _all(form: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Return the pieces of a list, if it has nothing else in it."""
    found: list[re.Match[str]] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        hit = form.match(text, at)
        if hit is None or len(found) > limits.PROPOSAL_WORDS:
            raise BadField((), _OWN_WAY)
        found.append(hit)
        at = hit.end()
    return found


def _asked(value: str, known: dict[str, Wanted]) -> Wanted | None:
    if value[0] in "'\"`":
        return None
    name = value.rpartition(".")[2]
    return known.get(name) or Wanted(name=name, secret=is_secret(name, None))


def _word(value: str, known: dict[str, Wanted], blanks: Blanks) -> str:
    wanted = _asked(value, known)
    return value[1:-1] if wanted is None else _mark(blanks, wanted)
