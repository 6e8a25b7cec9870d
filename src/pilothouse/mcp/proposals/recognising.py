"""What a text is, found out without asking anyone: pure, and done in the helper process, since strangers wrote it."""

from __future__ import annotations

import re
import shlex
import shutil
from typing import Literal

import msgspec

from pilothouse.mcp.proposals import (
    addresses,
    commands,
    downloads,
    host_lines,
    links,
    repositories,
    server_json,
    snippets,
)
from pilothouse.mcp.proposals.texts import shown
from pilothouse.types import jsonc, limits
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import Frozen, an_object, is_within
from pilothouse.types.proposals import Proposal
from pilothouse.types.servers import ManualSource

PackageKind = Literal["npm", "pypi"]
_SCOPED = re.compile(r"(@[a-z0-9~-][a-z0-9._~-]*/[a-z0-9~][\w.~-]*)(?:@([\w.^~+-]+))?")
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[\w,-]+\])?(==|@)([\w.!+-]+)")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,213}")
_INSTALLED: tuple[tuple[re.Pattern[str], PackageKind], ...] = (
    (
        re.compile(r"(?:npm|pnpm|yarn) (?:global )?(?:install|i|add)(?: (?:-g|--global|--save|-D))* (\S+)(?: -g)?"),
        "npm",
    ),
    (re.compile(r"(?:(?:uv )?pip3?|pipx|uv tool) install (?:-U |--upgrade )?(\S+)"), "pypi"),
    (re.compile(r"npm:(\S+)"), "npm"),
    (re.compile(r"pypi:(\S+)"), "pypi"),
)
# A host or the catalogue of Docker before the name, or a tag or a digest behind it: then it is clear.
_IMAGE_NAME = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_TAG = r"(?::[A-Za-z0-9_][\w.-]{0,127})"
_DIGEST = r"(?:@sha256:[0-9a-f]{64})"
_IMAGE = re.compile(
    rf"(?:[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?/)(?:{_IMAGE_NAME}/)*{_IMAGE_NAME}{_TAG}?{_DIGEST}?"
    rf"|mcp/{_IMAGE_NAME}{_TAG}?{_DIGEST}?"
    rf"|(?:{_IMAGE_NAME}/){{0,3}}{_IMAGE_NAME}(?:{_TAG}{_DIGEST}?|{_DIGEST})"
)
# A name in a registry begins with a domain turned round.
_REGISTRY_NAME = re.compile(
    r"(?:io|com|org|net|dev|ai|app|co|me|de|uk|eu|ch|fr|xyz|cloud|tech|so|sh)(?:\.[\w-]+)+/[\w.-]+"
)
_TOO_MUCH = "There is too much in this JSON, or it is nested too deeply."
_FRAGMENT = re.compile(r'"[^"\\]{1,200}"\s*:\s*\{', re.DOTALL)
_FENCE = re.compile(r"```[\w-]*\n(.*?)\n?```", re.DOTALL)


class Asked(Frozen, frozen=True):
    """A text, and the home folder of whoever typed it."""

    text: str
    home: str


class PackageNamed(Frozen, frozen=True):
    """A package by its name: of one registry, or of any that has it."""

    name: str
    kinds: tuple[PackageKind, ...]
    version: str = ""


class Reading(Frozen, frozen=True):
    """What a text is, and what is to be asked elsewhere before that is sure."""

    what: str
    proposals: tuple[Proposal, ...] = ()
    words: str = ""
    package: PackageNamed | None = None
    repository: repositories.Repository | None = None
    bundle: downloads.BundleAddress | None = None


def read(asked: Asked) -> Reading:
    """Return what a text is; raise `bad_request` with one sentence for something that is broken."""
    text = asked.text.strip().removeprefix("\ufeff").strip()
    fenced = _FENCE.fullmatch(text)
    text = fenced[1].strip() if fenced else text
    if not text:
        raise PilothouseError("bad_request", "Type what you look for, or paste a command, an address or a snippet.")
    try:
        return _json_reading(text, asked) or _line_reading(text, asked)
    except BadField as error:
        raise PilothouseError("bad_request", error.message) from None


# --- JSON ----------------------------------------------------------------------------------------


def _json_reading(text: str, asked: Asked) -> Reading | None:
    if text.startswith(("//", "/*")):
        text = jsonc.without_comments(text).strip()
    if text.startswith(("{", "[")):
        return _from_json(decoded(text), asked)
    if _FRAGMENT.match(text):
        # The inside of a list of servers, as READMEs have it.
        return _from_json(decoded("{" + text.rstrip().rstrip(",") + "}"), asked)
    return None


def decoded(text: str) -> object:
    """Return JSON as editors write it; raise a BadField for what is none or more than anyone writes."""
    try:
        content = msgspec.json.decode(jsonc.plain(text))
    except RecursionError:
        raise BadField((), _TOO_MUCH) from None
    except msgspec.DecodeError as error:
        raise BadField((), f"This looks like JSON, and cannot be read: {str(error).rstrip('.')}.") from None
    if not is_within(content, limits.JSON_DEPTH, limits.IMPORT_PIECES):
        raise BadField((), _TOO_MUCH)
    return content


def _from_json(content: object, asked: Asked) -> Reading:
    outer = an_object(content)
    inner = an_object(outer.get("server"))
    described = inner if _is_description(inner) else outer
    if _is_description(described):
        name = shown(described.get("name"), 100)
        found = server_json.proposals_of(described, ManualSource(imported_from="server.json"))
        return Reading(what=f"A registry's description of the server {name}.", proposals=found)
    if ("manifest_version" in outer or "dxt_version" in outer) and inner:
        raise BadField((), "This is the manifest of a bundle: drop the .mcpb file itself.")
    return _snippet(content, asked)


def _is_description(content: dict[str, object]) -> bool:
    lists = [content.get(key) for key in ("packages", "remotes")]
    return isinstance(content.get("name"), str) and any(isinstance(each, list) for each in lists)


def _snippet(content: object, asked: Asked, *, host: str = "", name: str = "") -> Reading:
    listed = snippets.listed(content, name)
    if listed is None:
        raise BadField((), "There are no MCP servers in this JSON: it has neither “mcpServers” nor a command or a URL.")
    try:
        found = snippets.proposals_of(snippets.Snippet(listed, asked.home, host or "a snippet"))
    except PilothouseError as error:
        raise BadField((), snippets.refused(error)) from None
    many = "a server" if len(found) == 1 else f"{len(found)} servers"
    return Reading(what=f"{many[0].upper()}{many[1:]} in a snippet of settings.", proposals=found)


# --- lines, links and names ----------------------------------------------------------------------


def _line_reading(text: str, asked: Asked) -> Reading:
    if links.is_link(text):
        return _link(text, asked)
    is_short = len(text) <= limits.SIGN_IN_URL_CHARS
    if is_short and (bundle := downloads.typed(text)) is not None:
        return Reading(what="The address of a bundle.", bundle=bundle)
    if is_short and (repository := repositories.named(text)) is not None:
        return Reading(what=f"A repository at {repository.host}.", repository=repository, words=repository.words)
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://\S+", text):
        made = addresses.proposal_of(addresses.Address(text))
        return Reading(what=f"A server at the address {made.runs}.", proposals=(made,))
    if len(text) > limits.PROPOSAL_LINE_CHARS:
        if text.split(maxsplit=1)[0] in commands.STARTERS:
            raise BadField((), "The command line is too long.")
        return _words(text)
    line = re.sub(r"\\\r?\n\s*", " ", text)
    line = re.sub(r"^[$>#] +", "", line)
    return _installed(line) or _command(line, asked) or _name(line.strip()) or _words(line)


def _link(text: str, asked: Asked) -> Reading:
    carried = links.carried(text)
    what = f"A link that installs a server in {carried.host}."
    if carried.argv:
        source = ManualSource(imported_from=carried.host)
        line = commands.Line(carried.argv, carried.env, carried.name, (), source)
        return Reading(what=what, proposals=(commands.proposal_of(line),))
    try:
        content, inputs = decoded(carried.text), decoded(carried.inputs) if carried.inputs else None
    except BadField:
        raise links.broken() from None
    if inputs is not None and isinstance(content, dict):
        content = {**content, "inputs": inputs}
    if snippets.listed(content, carried.name) is None:
        raise links.broken()
    made = _snippet(content, asked, host=carried.host, name=carried.name)
    return msgspec.structs.replace(made, what=what)


def _installed(line: str) -> Reading | None:
    """Return the package that a line would install, which is started here instead."""
    for form, kind in _INSTALLED:
        hit = form.fullmatch(line)
        if hit is not None:
            found = _package(hit[1])
            if found is not None:
                package = msgspec.structs.replace(found, kinds=(kind,))
                return Reading(what=f"The package {package.name}.", package=package)
    return None


def _command(line: str, asked: Asked) -> Reading | None:
    try:
        argv = tuple(shlex.split(line))
    except ValueError:
        if line.split(maxsplit=1)[0] in commands.STARTERS:
            raise BadField((), "A quotation mark in the command line is not closed.") from None
        return None
    if len(argv) < 2:
        return _single(argv)
    if pasted := host_lines.json_in(argv):
        made = _snippet(decoded(pasted.text), asked, host=pasted.host, name=pasted.name)
        return msgspec.structs.replace(made, what=f"A line that adds a server to {pasted.host}.")
    if host_lines.is_adding(argv):
        found = host_lines.proposal_of(argv)
        return Reading(what=f"A line that adds a server to {host_lines.HOSTS[argv[0]]}.", proposals=(found,))
    if not _is_command(argv):
        return None
    made_line = commands.proposal_of(commands.Line(argv))
    return Reading(what=f"A command that runs {made_line.runs}.", proposals=(made_line,))


def _single(argv: tuple[str, ...]) -> Reading | None:
    """Return the program that a path names."""
    if not argv or not re.match(r"(/|~/|\./|\.\./)", argv[0]):
        return None
    found = commands.proposal_of(commands.Line(argv))
    return Reading(what=f"The program {shown(argv[0], 200)}.", proposals=(found,))


def _is_command(argv: tuple[str, ...]) -> bool:
    first = next((word for word in argv if not re.fullmatch(r"[A-Za-z_]\w*=.*|env", word, re.DOTALL)), "")
    if first in commands.STARTERS or first.lower() in ("cmd", "cmd.exe"):
        return True
    if re.match(r"(/|~/|\./|\.\./)", first):
        return True
    # Words for a search have no options behind them.
    return any(word.startswith("-") for word in argv[1:]) and shutil.which(first) is not None


def _name(text: str) -> Reading | None:
    if len(text) > limits.PROPOSAL_ABOUT_CHARS:
        return None
    if _REGISTRY_NAME.fullmatch(text):
        return Reading(what=f"The name {text} in a registry of servers.", words=text)
    if _IMAGE.fullmatch(text):
        found = commands.proposal_of(commands.Line(("docker", "run", "-i", "--rm", text)))
        return Reading(what=f"The image {shown(text, 200)} of a container.", proposals=(found,))
    package = _package(text)
    if package is None:
        return None
    words = package.name if len(package.kinds) > 1 and not package.version else ""
    return Reading(what=f"The package {package.name}.", package=package, words=words)


def _package(text: str) -> PackageNamed | None:
    if scoped := _SCOPED.fullmatch(text):
        version = scoped[2] or ""
        return PackageNamed(name=scoped[1], kinds=("npm",), version="" if version == "latest" else version)
    if pinned := _PINNED.fullmatch(text):
        kinds: tuple[PackageKind, ...] = ("pypi",) if pinned[2] == "==" else ("npm", "pypi")
        return PackageNamed(name=pinned[1], kinds=kinds, version="" if pinned[3] == "latest" else pinned[3])
    if _WORD.fullmatch(text):
        return PackageNamed(name=text, kinds=("npm", "pypi"))
    return None


def _words(text: str) -> Reading:
    words = shown(text, limits.PROPOSAL_ABOUT_CHARS)
    return Reading(what="Words to search for.", words=words)
