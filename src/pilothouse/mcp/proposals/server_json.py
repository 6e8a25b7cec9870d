"""The official registry's description of a server, `server.json`, made into what could be added."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.proposals.about import About
from pilothouse.mcp.proposals.blanks import Blanks
from pilothouse.mcp.proposals.downloads import of_package
from pilothouse.mcp.proposals.registry_inputs import templated, values, words
from pilothouse.mcp.proposals.texts import shown
from pilothouse.mcp.servers.entries import SLOT, shown_url
from pilothouse.types import limits
from pilothouse.types.errors import BadField
from pilothouse.types.json import JsonObject, an_object, objects_in
from pilothouse.types.proposals import Proposal
from pilothouse.types.servers import PackageType, ServerInput, Source, Wire

# How descriptions of the first months spell their fields.
_EARLIER = {
    "registry_type": "registryType", "registry_name": "registryType", "registry_base_url": "registryBaseUrl",
    "file_sha256": "fileSha256", "runtime_hint": "runtimeHint", "runtime_arguments": "runtimeArguments",
    "package_arguments": "packageArguments", "environment_variables": "environmentVariables",
    "is_required": "isRequired", "is_secret": "isSecret", "is_repeated": "isRepeated", "value_hint": "valueHint",
    "transport_type": "type",
}  # fmt: skip
_KINDS: dict[str, PackageType] = {
    "npm": "npm", "pypi": "pypi", "oci": "docker", "docker": "docker", "nuget": "command", "mcpb": "mcpb",
}  # fmt: skip
_NPM = re.compile(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[a-zA-Z0-9~][\w.~-]*")
_PYPI = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[\w,-]+\])?")
_NUGET = re.compile(r"[A-Za-z0-9_][\w.-]*")
_IMAGE = re.compile(r"[a-z0-9][\w./:@-]*")
_VERSION = re.compile(r"[\w.+!-]{1,128}")
_WIRES: dict[str, Wire] = {"streamable-http": "streamable", "streamable": "streamable", "http": "auto", "sse": "sse"}


def proposals_of(server: JsonObject, source: Source) -> tuple[Proposal, ...]:
    """Return what a server's description offers, packages first; what cannot be had says why."""
    server = an_object(_spelled(server, limits.JSON_DEPTH))
    packages = objects_in(server.get("packages"))[: limits.PROPOSALS_MOST]
    remotes = objects_in(server.get("remotes"))[: limits.PROPOSALS_MOST]
    about = About(_name(server), shown(server.get("description")), source)
    made = [_guarded(about, _package, each) for each in packages]
    made += [_guarded(about, _remote, each) for each in remotes]
    return tuple(made) or (about.without("It says neither what to run nor where it is.", "command"),)


def _spelled(value: object, depth: int) -> object:
    """Return a description with its fields spelled as they are today; deeper than anyone reads is nothing."""
    if depth < 0:
        return None
    if isinstance(value, dict):
        return {_EARLIER.get(str(key), str(key)): _spelled(inner, depth - 1) for key, inner in value.items()}
    return [_spelled(inner, depth - 1) for inner in value] if isinstance(value, list) else value


def _name(server: JsonObject) -> str:
    title = shown(server.get("title"), limits.KEY_LABEL_CHARS)
    return title or shown(str(server.get("name") or "").rpartition("/")[2], limits.KEY_LABEL_CHARS) or "server"


def _guarded(about: About, make: Callable[[About, JsonObject], Proposal], raw: JsonObject) -> Proposal:
    kind = _KINDS.get(str(raw.get("registryType")), "command") if "identifier" in raw or "url" not in raw else "http"
    try:
        return make(about, raw)
    except BadField as error:
        return about.without(error.message, kind, str(raw.get("identifier") or raw.get("url") or ""))


# --- packages ------------------------------------------------------------------------------------


class _Package(msgspec.Struct, frozen=True):
    """A package, its words and variables with marks in them."""

    identifier: str
    version: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    variables: tuple[str, ...]


def _package(about: About, raw: JsonObject) -> Proposal:
    kind = str(raw.get("registryType") or "")
    identifier = str(raw.get("identifier") or raw.get("name") or "").strip()
    if kind not in _KINDS:
        known = shown(kind, 40) or "no registry"
        return about.without(f"It is a package of {known}, which Pilothouse does not know.", "command", identifier)
    transport = an_object(raw.get("transport"))
    if transport.get("type") not in (None, "", "stdio"):
        return about.without(_listens(transport), _KINDS[kind], f"{kind} {identifier}")
    if kind == "mcpb":
        return about.without(_bundle(raw, identifier), "mcpb", identifier)
    blanks = Blanks()
    given = values(raw.get("environmentVariables"), "env", blanks)
    package = _Package(
        identifier=identifier,
        version=_checked_version(raw.get("version")),
        before=words(raw.get("runtimeArguments"), blanks, of_runtime=True),
        after=words(raw.get("packageArguments"), blanks),
        variables=given.names,
    )
    make = {"npm": _npm, "pypi": _pypi, "oci": _oci, "docker": _oci, "nuget": _nuget}[kind]
    runs, argv = make(package, str(raw.get("registryBaseUrl") or ""))
    server = ServerInput(name=about.name, command=argv[0], args=argv[1:], plain_env=given.plain)
    return about.made(_KINDS[kind], runs, server, blanks, _hint_notes(kind, str(raw.get("runtimeHint") or ""), argv[0]))


def _checked_version(raw: object) -> str:
    version = str(raw or "").strip()
    if version in ("", "latest"):
        return ""
    if not _VERSION.fullmatch(version):
        raise BadField((), f"“{shown(version, 40)}” is no exact version of a package.")
    return version


def _listens(transport: JsonObject) -> str:
    where = shown(transport.get("url"), 200)
    at = f" Start it yourself, then add its address {where}." if where else " Start it yourself, then add its address."
    return f"It is a web server of its own when it runs, and Pilothouse starts only what it talks to directly.{at}"


def _bundle(raw: JsonObject, identifier: str) -> str:
    address = of_package(raw)
    if address is None:
        return (
            f"It is a bundle without a hash: download {shown(identifier, 300)} if you trust it, and drop the file here."
        )
    return f"It is a bundle: add it by its address, {shown(address.text, 400)}"


def _hint_notes(kind: str, hint: str, starter: str) -> Sequence[str]:
    usual = {"npm": ("npx", "node"), "pypi": ("uvx", "uv", "python", "python3"), "oci": ("docker",), "nuget": ("dnx",)}
    if not hint or hint in usual.get(kind, (hint,)):
        return ()
    return (f"Its description starts it with “{shown(hint, 40)}”; here it is started with {starter}.",)


def _named(form: re.Pattern[str], identifier: str, registry: str) -> str:
    if not form.fullmatch(identifier) or len(identifier) > limits.PROPOSAL_ABOUT_CHARS:
        raise BadField((), f"“{shown(identifier, 60)}” cannot be the name of a package of {registry}.")
    return identifier


def _without_yes(before: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in before if word not in ("-y", "--yes"))


def _runs(registry: str, package: _Package) -> str:
    return f"{registry} {package.identifier} {package.version}".strip()


def _npm(package: _Package, _base: str) -> tuple[str, tuple[str, ...]]:
    name = _named(_NPM, package.identifier, "npm")
    pinned = f"{name}@{package.version}" if package.version else name
    return _runs("npm", package), ("npx", "-y", *_without_yes(package.before), pinned, *package.after)


def _pypi(package: _Package, _base: str) -> tuple[str, tuple[str, ...]]:
    name = _named(_PYPI, package.identifier, "PyPI")
    pinned = f"{name}=={package.version}" if package.version else name
    if "--from" in package.before:
        # What it is taken from stands among the words already; the name is that of the program.
        pinned = name
    return _runs("PyPI", package), ("uvx", *package.before, pinned, *package.after)


def _oci(package: _Package, base: str) -> tuple[str, tuple[str, ...]]:
    image = _named(_IMAGE, package.identifier, "images")
    host = urlsplit(base).hostname or ""
    if host and not image.startswith(f"{host}/"):
        image = f"{host}/{image}"
    if package.version and "@" not in image and ":" not in image.rpartition("/")[2]:
        image = f"{image}:{package.version}"
    flags = tuple(word for word in package.before if word not in ("-i", "--rm", "--interactive", "run"))
    passed = tuple(word for name in package.variables for word in ("-e", name))
    return f"docker {image}", ("docker", "run", "-i", "--rm", *flags, *passed, image, *package.after)


def _nuget(package: _Package, _base: str) -> tuple[str, tuple[str, ...]]:
    name = _named(_NUGET, package.identifier, "NuGet")
    if shutil.which("dnx") is None:
        raise BadField((), "It is a .NET package, and dnx is not here: install the .NET 10 SDK, then add it.")
    pinned = f"{name}@{package.version}" if package.version else name
    after = ("--", *package.after) if package.after else ()
    return _runs("NuGet", package), ("dnx", pinned, "--yes", *package.before, *after)


# --- addresses -----------------------------------------------------------------------------------


def _remote(about: About, raw: JsonObject) -> Proposal:
    blanks = Blanks()
    kind, url = str(raw.get("type") or ""), str(raw.get("url") or "").strip()
    if kind not in _WIRES:
        named = shown(kind, 40) or "nothing"
        return about.without(f"It is spoken to over “{named}”, which Pilothouse does not know.", "http", url)
    if re.search(r"[\s\0]", url) or not re.match(r"https?://|\$?\{", url):
        raise BadField((), f"“{shown(url, 100)}” is not an address.")
    marked = templated(url, raw, blanks)
    if SLOT.search(re.split(r"(?<![:/])[/?#](?!/)", marked, maxsplit=1)[0]):
        raise BadField((), "It wants a secret in the name of its host, where it could be seen by others.")
    headers = values(raw.get("headers"), "header", blanks)
    server = ServerInput(name=about.name, url=marked, wire=_WIRES[kind], plain_headers=headers.plain)
    return about.made("http", _shown_address(url), server, blanks)


def _shown_address(url: str) -> str:
    try:
        return shown_url(url)
    except ValueError:
        return url
