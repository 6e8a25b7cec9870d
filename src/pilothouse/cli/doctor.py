"""`pilothouse doctor`: what is installed, found and reachable, and the fix for what is not."""

from __future__ import annotations

import asyncio
import os
import platform
import stat
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from pilothouse import __version__
from pilothouse.cli.inline import Span
from pilothouse.cli.previews import sandbox_words
from pilothouse.cli.terminal import Terminal, one_line, output
from pilothouse.cli.wrapping import say
from pilothouse.connection import connect_host, connect_server, data_folder
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.meaning import MeaningView
from pilothouse.types.models import FileProblem, ModelList, ModelView
from pilothouse.types.plugin_views import PluginView
from pilothouse.types.terminals import SandboxView

# "good" is well, "fact" is worth knowing, "poor" works but could be better, "bad" is broken.
Level = Literal["good", "fact", "poor", "bad"]
MARKS: dict[Level, tuple[str, str]] = {
    "good": ("✓", "green"),
    "fact": ("·", "dim"),
    "poor": ("!", "yellow"),
    "bad": ("✗", "red"),
}


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    level: Level
    text: str
    fix: str = ""


class Findings(msgspec.Struct, frozen=True):
    """All that was looked at, for programs."""

    findings: tuple[Finding, ...]


async def doctor(*, as_json: bool) -> int:
    """Look at everything, show each finding as it comes, and return 1 when something is broken."""
    out, levels = output(), []
    if as_json:
        found = tuple([finding async for finding in examine()])
        out.json(Findings(found))
        return 1 if any(finding.level == "bad" for finding in found) else 0
    async for finding in examine():
        show(finding, out)
        levels.append(finding.level)
    out.line()
    if broken := levels.count("bad"):
        out.line(f"{broken} thing{'s' if broken > 1 else ''} to fix.", "bold")
        return 1
    out.line("It works; what has a mark could be better." if "poor" in levels else "All is well.", "bold")
    return 0


def show(finding: Finding, out: Terminal) -> None:
    """Print a finding and, below it, its fix."""
    mark, style = MARKS[finding.level]
    say(out, one_line(finding.text), before=Span(f"{mark} ", frozenset({style})))
    if finding.fix:
        say(out, one_line(finding.fix), "dim", Span("  "))


async def examine() -> AsyncIterator[Finding]:
    """Yield what is found, from the ground up."""
    yield _python()
    yield _page()
    yield _embedded()
    yield _folder(data_folder())
    yield await _server()
    try:
        async with connect_host() as api:
            async for finding in _host(api):
                yield finding
    except PilothouseError as error:
        yield Finding("bad", error.message, error.fix)


def _python() -> Finding:
    where = f"Pilothouse {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    # An installer checks this too; a copied folder does not.
    if sys.version_info < (3, 11):  # noqa: UP036
        return Finding("bad", where, "Pilothouse needs Python 3.11 or newer.")
    return Finding("good", where)


def _page() -> Finding:
    from pilothouse.wiring import page_is_built

    if page_is_built():
        return Finding("good", "The page is built")
    return Finding(
        "bad", "The page is not built", "From a clone: scripts/build-page. Otherwise install the package again."
    )


def _embedded() -> Finding:
    from pilothouse.wiring import embedded_is_installed

    if embedded_is_installed():
        return Finding("good", "The built-in model is installed")
    fix = "scripts/setup installs it; any other model does without."
    return Finding("poor", "The built-in model is not installed", fix)


def _folder(path: Path) -> Finding:
    if not path.exists():
        return Finding("fact", f"The data folder {path} is made now")
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        return Finding("poor", f"The data folder {path} was open to others (mode {mode:o})", "It is being closed now.")
    return Finding("good", f"The data folder {path} is closed to others")


async def _server() -> Finding:
    async with connect_server() as running:
        if running is None:
            return Finding("fact", "No server runs on this data folder", "Start one with: pilothouse serve")
        where = running.address
        if where is not None and where.kind == "command":
            return Finding("good", f"Another command (process {where.pid}) has the data folder, and serves it")
        if where is not None and where.exposed and not where.certificate:
            fix = "Give it a certificate: pilothouse serve --tls-cert FILE --tls-key FILE"
            return Finding("poor", f"The server at {where.url} is open to the network over plain HTTP", fix)
        return Finding("good", f"A server runs at {where.url if where is not None else 'no address now'}")


def _plugin(plugin: PluginView) -> Finding:
    name = f"Plugin {plugin.name} ({plugin.package} {plugin.version})"
    if plugin.off:
        return Finding("good", f"{name}: {plugin.off}")
    if plugin.problem:
        fix = "Mend or remove its package; everything else works."
        return Finding("bad", f"{name} is switched off: {plugin.problem}", fix)
    return Finding("good", name)


def _default_mode(in_folder: str, elsewhere: str) -> str:
    return in_folder if in_folder == elsewhere else f"{in_folder} in a folder, {elsewhere} without one"


async def _host(api: ClientApi) -> AsyncIterator[Finding]:
    config = await api.settings.get(LOCAL_OWNER)
    yield Finding("good", f"The database opens ({config.database})")
    if config.problem is not None:
        yield _broken_file(config.problem, "Correct the file; until then the last good settings hold.")
    if config.rules_problem is not None:
        yield _broken_file(config.rules_problem, "Correct the file; until then nothing is allowed by a rule.")
    yield _sandbox(config.sandbox)
    yield _meaning(await api.meaning.get(LOCAL_OWNER))
    yield Finding("fact", f"The default mode: {_default_mode(config.mode_in_folder, config.mode_elsewhere)}")
    for finding in map(_plugin, config.plugins):
        yield finding
    models = await api.models.list(LOCAL_OWNER)
    silent = await _silent(models.models)
    for finding in _models(models, silent):
        yield finding
    async for finding in _servers(api):
        yield finding
    for one in (await api.models.found(LOCAL_OWNER)).found:
        yield Finding("fact", f"Found: {one.title}", "Add it with: pilothouse models found")
    # What cannot be reached was told with its model.
    told = tuple(f"{urlsplit(one.base_url).hostname} could not be asked" for one in models.models if one.id in silent)
    for problem in (await api.models.refresh(LOCAL_OWNER)).problems:
        if not problem.startswith(told):
            yield Finding("poor", problem, "Try it with: pilothouse models test ID")


def _broken_file(problem: FileProblem, fix: str) -> Finding:
    place = f"line {problem.line}: " if problem.line else ""
    return Finding("bad", f"{problem.file}: {place}{problem.message}", fix)


def _sandbox(sandbox: SandboxView) -> Finding:
    if sandbox.kind == "none":
        return Finding("poor", sandbox.warning, "On Debian or Ubuntu: apt-get install bubblewrap")
    said = f"Commands run {sandbox_words(sandbox.kind)}"
    return Finding("poor", said, sandbox.warning) if sandbox.warning else Finding("good", said)


def _meaning(view: MeaningView) -> Finding:
    if view.state == "words":
        return Finding("fact", view.message)
    waiting = f", {view.waiting:,} wait" if view.waiting else ""
    said = f"Texts are found by meaning ({view.model}): {view.done:,} done{waiting}"
    return Finding("poor", said, view.message) if view.state == "failed" else Finding("good", said)


def _models(models: ModelList, silent: Mapping[str, str]) -> Iterator[Finding]:
    if models.problem is not None:
        yield _broken_file(models.problem, "Correct the file; until then the last good models hold.")
    if not models.models:
        yield Finding("bad", "No model is configured", "Add one: pilothouse models add --help")
    for one in models.models:
        name = f"Model {one.id}{' (the default)' if one.is_default else ''}: {one.name}, {one.host}"
        moved = f"pilothouse models confirm-key {one.id}" if one.key.moved else ""
        if one.key.problem:
            yield Finding("poor", f"{name}. {one.key.problem}", moved)
        elif why := silent.get(one.id):
            fix = f"Start its server, or correct its address: pilothouse models edit {one.id} --base-url URL"
            yield Finding("bad" if one.is_default else "poor", f"{name}. It cannot be reached: {why}.", fix)
        else:
            yield Finding("good", name)


async def _silent(models: Sequence[ModelView]) -> dict[str, str]:
    """Return which models cannot be reached, and why; each address is tried once, all side by side."""
    from pilothouse.wiring import unreachable

    urls = list(dict.fromkeys(one.base_url for one in models if one.base_url.startswith("http")))
    reasons = dict(zip(urls, await asyncio.gather(*map(unreachable, urls)), strict=True))
    return {one.id: why for one in models if (why := reasons.get(one.base_url))}


async def _servers(api: ClientApi) -> AsyncIterator[Finding]:
    for one in (await api.servers.list(LOCAL_OWNER)).servers:
        name = f"MCP server {one.slug}: {one.label}"
        if one.consent is not None:
            yield Finding("poor", name, f"Look at its command: pilothouse mcp enable {one.slug}")
        elif one.state in ("error", "disconnected"):
            yield Finding("poor", name, one.fix or f"Try it again: pilothouse mcp test {one.slug}")
        else:
            yield Finding("good" if one.enabled else "fact", name)
