"""Opens a host: every part, in the order in which they need each other."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from pilothouse.agent.reminders import Several
from pilothouse.helper.client import Helper
from pilothouse.models.catalogue import ModelCatalogue
from pilothouse.models.factory import make_model
from pilothouse.models.keys import Keys, parse_bindings
from pilothouse.models.models_file import embedded_only, first_models, has_no_models, parse_models
from pilothouse.models.plugged import making
from pilothouse.plugins.discovery import installed
from pilothouse.plugins.enabling import Enabling
from pilothouse.plugins.manager import Plugins
from pilothouse.results.maskers import MaskerChain
from pilothouse.results.pipeline import Pipeline
from pilothouse.runs.active import Parts
from pilothouse.runs.admins import Admins
from pilothouse.runs.engine import DirectEngine, Executor
from pilothouse.runs.feed import Feed
from pilothouse.runs.patience import store_is_away, store_is_well
from pilothouse.runs.recovery import ONE_SHOT, Recovery
from pilothouse.runs.results import PatientKeeper
from pilothouse.runs.service import HostService
from pilothouse.secrets.redaction import Redactor
from pilothouse.secrets.sealing import Sealer
from pilothouse.secrets.store import SecretStore
from pilothouse.settings.config import ConfigService
from pilothouse.settings.home import Home, open_home
from pilothouse.settings.json_file import JsonFile
from pilothouse.settings.logs import logging_to, wanted_level
from pilothouse.settings.watch import watch
from pilothouse.store.lines import Lines, hanging
from pilothouse.store.opening import open_store
from pilothouse.tools.todos.lists import TodoLists
from pilothouse.types import limits
from pilothouse.types.admin import ServerAdmin
from pilothouse.types.api import Catalogue, ConfigPatch, ConfigView, FoundModels
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ids import new_id
from pilothouse.types.ports import JsonStore
from pilothouse.types.records import Records, Room
from pilothouse.types.retention import Retention
from pilothouse.types.terminals import TerminalHost
from pilothouse.wiring.authority import Authority
from pilothouse.wiring.built_in import HANDS, BuiltIns, CoreTools
from pilothouse.wiring.foundation import Foundation
from pilothouse.wiring.hands import Hands, LateEncloser, LateTerminals
from pilothouse.wiring.servers import LateAdmin, Servers

if TYPE_CHECKING:
    from pilothouse.models.refresh import Offers
    from pilothouse.server.listening import Listener

_log = logging.getLogger(__name__)
# A server and an heir, which had been a client until the folder's owner ended, take up what died with other processes;
# a one-shot command minds its own run.
Role = Literal["server", "heir", "once"]


class OpenHost:
    """An open host: its service and the parts that others may look at."""

    def __init__(self, api: HostService, home: Home, redactor: Redactor, executor: Executor, note: str = "") -> None:
        # What the person who opens it should know, in a sentence.
        self.note = note
        self.api = api
        self.home = home
        self.redactor = redactor
        self.executor = executor


class _Settings:
    """The settings in the words of the `ConfigAdmin` port."""

    def __init__(self, service: ConfigService, plugins: Plugins, hands: Hands, authority: Authority) -> None:
        self._service = service
        self._plugins = plugins
        self._hands = hands
        self._authority = authority

    def view(self) -> ConfigView:
        """Return the settings, with the plugins, what holds commands, and whether the rules can be read."""
        return msgspec.structs.replace(
            self._service.view(),
            plugins=self._plugins.views(),
            sandbox=self._hands.terminals.sandbox.view(),
            rules_problem=self._authority.permissions.problem,
        )

    async def patch(self, patch: ConfigPatch, by: str) -> ConfigView:
        """Change settings; plugins are enabled and disabled in the name of who says so."""
        for name, digest in (patch.plugins or {}).items():
            await asyncio.to_thread(self._plugins.switch, name, digest, by)
        await self._service.patch(patch)
        return self.view()

    def room(self) -> Room:
        """Return how many messages may wait for their answer; one conversation may not take all of it."""
        most = self._service.config.most_waiting
        return Room(min(limits.WAITING_HERE, most), most)

    def new_conversation_settings(self) -> ConversationSettings:
        """Return what the active profile sets for new conversations."""
        return self._service.config.active_settings()


class _Finder:
    """Discovery and the providers' lists, in the words of the `ModelFinder` port."""

    def __init__(self, home: Home, models: ModelCatalogue) -> None:
        self._home = home
        self._models = models

    async def found(self, host: str = "") -> FoundModels:
        """Look for local servers and keys in the environment; or on a host that a person named, and only there."""
        from pilothouse.models.discovery import find_models
        from pilothouse.models.host_discovery import find_at

        if host.strip():
            return await find_at(host, await self._models.configs())
        return FoundModels(found=await find_models(await self._models.configs()))

    async def catalogue(self) -> Catalogue:
        """Return the kept lists of the providers' models."""
        return await self._offers().kept()

    async def refresh(self) -> Catalogue:
        """Ask the configured providers what they offer."""
        return await self._offers().refresh()

    def _offers(self) -> Offers:
        from pilothouse.models.refresh import Offers, no_offers, parse_offers

        return Offers(JsonFile(self._home.cache / "models.json", parse_offers, no_offers), self._models)


@asynccontextmanager
async def open_host(
    home: Path | None = None, database_url: str | None = None, *, role: Role = "once", brief: bool = False
) -> AsyncGenerator[OpenHost, None]:
    """Open a host on a data folder (PILOTHOUSE_HOME by default) and close it; a `brief` one begins nothing unasked."""
    url = database_url or os.environ.get("PILOTHOUSE_DATABASE_URL") or None
    async with AsyncExitStack() as stack:
        base = await _foundation(stack, home, url, brief=brief)
        folder, config, feed = base.home, base.config, base.feed
        todos = TodoLists(base.opened.store)
        core = CoreTools(todos, lambda: config.config.most_added_iterations)
        authority = Authority(base)
        hands = Hands(base, authority.guard, authority.permissions.policy)
        stack.push_async_callback(hands.close)
        plugins = _plugins(base, {"core": core, HANDS: hands})
        models = _models(base, plugins)
        stack.push_async_callback(_close_models)
        built_in = BuiltIns(plugins)
        servers = Servers(base, built_in.fitting, LateEncloser(hands), learn=not brief)
        stack.push_async_callback(servers.close)
        parts = _parts(base, models, servers, plugins, authority)
        process = f"{'' if role == 'server' else ONE_SHOT}{new_id('p')}"
        executor = Executor(parts, process, titles=not brief)
        engine = DirectEngine(executor, lambda: config.config.drain_seconds, lambda: config.config.runs_at_once)
        admins = Admins(
            models,
            _Finder(folder, models),
            _Settings(config, plugins, hands, authority),
            cast(ServerAdmin, LateAdmin(servers)),
            todos,
            authority.permissions,
            base.opened.store,
            hands,
            cast(TerminalHost, LateTerminals(hands)),
            hands,
            built_in,
        )
        service = HostService(parts.records, feed, engine, admins, parts.modes)
        servers.changed = service.servers_changed
        stack.push_async_callback(service.close)
        if url is not None:
            await _share(stack, url, base, todos)
        recovery = Recovery(parts.records, engine, process, parts.resume, feed)
        await recovery.begin(alone=url is None, take_over=role != "once")
        stack.push_async_callback(recovery.end)
        stack.push_async_callback(engine.stop)
        if role == "server":
            _probe_sandbox(stack, hands)
            await _keep_tidy(stack, parts.records, lambda: config.config.retention)
            service.policy_changed()
            _watch_files(
                stack, {"models": models.file, "config": config.file, "policy": authority.file}, service, servers
            )
        servers.begin()
        yield OpenHost(service, folder, base.redactor, executor, _note(base))


def _note(base: Foundation) -> str:
    if not base.opened.database.cramped:
        return ""
    note = "The disk is full: everything can be read, and nothing can be kept until there is room."
    _log.error("%s", note)
    return note


async def _foundation(stack: AsyncExitStack, home: Path | None, url: str | None, *, brief: bool) -> Foundation:
    folder = open_home(home)
    redactor = Redactor()
    stack.enter_context(logging_to(folder.logs, redactor.redact, level=wanted_level()))
    feed = Feed()
    lines = await _watch_database(stack, url, feed)
    opened = await asyncio.to_thread(open_store, folder.path, url, feed.publish, lines)
    stack.push_async_callback(opened.close)
    config = ConfigService(folder.path, "postgresql" if url else "sqlite")
    secrets = SecretStore(folder.secrets, learn=redactor.learn)
    if not brief:
        _learn_secrets(stack, secrets)
    helper = Helper()
    stack.callback(helper.close)
    return Foundation(folder, opened, config, secrets, redactor, feed, helper, Sealer(secrets), lines)


async def run_server(listener: Listener, on_ready: Callable[[str, str, str], None]) -> None:
    """Open a host and serve it on a bound port until a signal comes; say its address, a link and a note first."""
    from pilothouse.secrets.memory import keep_private
    from pilothouse.server.descriptors import raise_limit
    from pilothouse.server.memory import giving_back
    from pilothouse.server.run import Ready, ServerOptions, serve
    from pilothouse.server.stopping import stop_on_signals

    def ready(now: Ready) -> None:
        on_ready(now.url, now.link, " ".join(filter(None, (now.note, few_files, host.note))))

    keep_private()
    few_files = raise_limit()
    with closing(listener), stop_on_signals() as stop:
        async with giving_back(), open_host(role="server") as host:
            await serve(host.api, listener, ServerOptions.from_environment(host.home.path, ready), stop)


def bind(
    host: str,
    port: int | None,
    *,
    expose_to_network: bool,
    rather: int | None = None,
    certificate: tuple[str | None, str | None] = (None, None),
) -> Listener:
    """Take a port for a server: the one that it should rather have, if that is free; the files are for TLS."""
    from pilothouse.server.listening import listen
    from pilothouse.server.tls import read_tls

    tls = read_tls(*certificate)
    if rather is not None:
        with suppress(PilothouseError):
            return listen(host, rather, expose_to_network=expose_to_network, tls=tls)
    return listen(host, port, expose_to_network=expose_to_network, tls=tls)


async def unreachable(url: str) -> str:
    """Return in a few words why nothing answers at an address, empty when something does."""
    from pilothouse.net.client import knock

    error = await knock(url, limits.KNOCK_TIMEOUT)
    return error.why if error is not None else ""


async def unless_stopped(work: asyncio.Future[Any]) -> bool:
    """Wait for some work and return True, or give it up and return False when a signal ends the program."""
    from pilothouse.server.stopping import stop_on_signals

    with stop_on_signals() as stop:
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for one in (work, stopping):
            one.cancel()
    return work.done() and not work.cancelled()


def page_is_built() -> bool:
    """Return whether there is a page to serve."""
    from pilothouse.server.pages import load_page

    return bool(load_page())


def embedded_is_installed() -> bool:
    """Return whether the model that answers without a key is there."""
    from pilothouse.models.embedded import embedded_available

    return embedded_available()


def _parts(base: Foundation, models: ModelCatalogue, servers: Servers, plugins: Plugins, authority: Authority) -> Parts:
    store, maskers, config = base.opened.store, plugins.maskers(), base.config
    redactor = MaskerChain(base.redactor, maskers) if maskers else base.redactor
    return Parts(
        records=store,
        feed=base.feed,
        models=models,
        toolbox=servers,
        authorizer=authority.authorizer,
        results=Pipeline(redactor, PatientKeeper(store, base.feed), base.sealer),
        timeouts=lambda: config.config.tool_timeouts,
        longest_answer=lambda: config.config.longest_answer,
        resume=lambda: config.config.resume_after_restart,
        reminders=Several(plugins.reminders()),
        release=servers.release,
    )


def _plugins(base: Foundation, built_in: Mapping[str, object]) -> Plugins:
    folder = base.home.path / "plugins"
    enabling = Enabling(folder / "enabled.json", base.sealer)
    return Plugins(built_in, installed(), folder, enabling, _plugin_broke(base.feed))


def _plugin_broke(feed: Feed) -> Callable[[str], None]:
    """Tell everyone which plugins do not work, each in its own notice."""
    return lambda said: feed.notice("warning", f"plugin {said.split('”')[0]}", said)


def _models(base: Foundation, plugins: Plugins) -> ModelCatalogue:
    folder, secrets, redactor = base.home, base.secrets, base.redactor
    bindings = JsonFile(folder.secrets / "bindings.json", parse_bindings, dict, is_empty=lambda _raw: False)
    file = JsonFile(
        folder.models_file,
        parse_models,
        first_models(folder.path, secrets),
        fallback=embedded_only,
        is_empty=has_no_models,
        backup=folder.cache / "last-good-models.json",
    )
    return ModelCatalogue(
        file, secrets, Keys(secrets, bindings, learn=redactor.learn), making(plugins.models, make_model)
    )


async def _watch_database(stack: AsyncExitStack, url: str | None, feed: Feed) -> Lines:
    """Notice when a database elsewhere hangs, and tell everyone; from before the first of it is asked."""
    lines = Lines()
    if url is None:
        return lines
    from pilothouse.store.pulse import Pulse

    def changed() -> None:
        if lines.silent:
            store_is_away(feed, hanging())
        else:
            store_is_well(feed)
            feed.wake_all()

    pulse = Pulse(url, lines, changed)
    pulse.begin()
    stack.push_async_callback(pulse.end)
    return lines


async def _share(stack: AsyncExitStack, url: str, base: Foundation, todos: TodoLists) -> None:
    """Hear from other processes on the same database, and tell them."""
    from pilothouse.store.wakeups import Wakeups

    feed = base.feed

    def woken(conversation_id: str) -> None:
        todos.forget(conversation_id)
        feed.wake(conversation_id)
        feed.on_listed(conversation_id)

    def missed() -> None:
        todos.forget()
        feed.wake_all()

    wakeups = Wakeups(url, base.lines, woken, missed)
    feed.on_written = wakeups.changed
    wakeups.begin()
    stack.push_async_callback(wakeups.end)


def _learn_secrets(stack: AsyncExitStack, secrets: SecretStore) -> None:
    """Learn what must be masked before anyone needs it for anything else."""
    learning = asyncio.create_task(asyncio.to_thread(secrets.learn_kept), name="learn-secrets")
    stack.push_async_callback(asyncio.wait, [learning])


def _probe_sandbox(stack: AsyncExitStack, hands: Hands) -> None:
    """Find out what holds commands before someone needs one."""
    probing = asyncio.create_task(asyncio.to_thread(hands.terminals.sandbox.view), name="probe-sandbox")
    stack.push_async_callback(asyncio.wait, [probing])


def _watch_files(
    stack: AsyncExitStack, files: Mapping[str, JsonStore[Any]], service: HostService, servers: Servers
) -> None:
    """Pick up edits of the settings files while the server runs."""
    telling: set[asyncio.Task[None]] = set()

    def changed(name: str) -> None:
        if name == "models":
            task = asyncio.create_task(service.models_changed())
            telling.add(task)
            task.add_done_callback(telling.discard)
        elif name == "policy":
            service.policy_changed()
        else:
            servers.reconcile()
            service.servers_changed()

    watcher = asyncio.create_task(watch(files, changed), name="watch-files")
    stack.push_async_callback(_ended, watcher)


async def _keep_tidy(stack: AsyncExitStack, records: Records, retention: Callable[[], Retention]) -> None:
    """Tidy up now, and go on with it as long as the host is open."""
    try:
        await records.tidy()
    except PilothouseError as error:
        _log.warning("old records were not dropped: %s", error.message)
    stack.push_async_callback(_ended, asyncio.create_task(_tidying(records, retention), name="tidying"))
    stack.push_async_callback(_ended, asyncio.create_task(_catching_up(records), name="catching-up"))
    stack.push_async_callback(_ended, asyncio.create_task(_packing(records), name="packing"))


async def _tidying(records: Records, retention: Callable[[], Retention]) -> None:
    """Tidy up now and then: a server may run for months."""
    while True:
        try:
            # It may take a while, so that nobody's start waits for it.
            await records.retain(retention())
            await asyncio.sleep(limits.TIDY_EVERY)
            await records.tidy()
        except PilothouseError as error:
            _log.warning("old records were not dropped: %s", error.message)
            await asyncio.sleep(limits.TIDY_RETRY)


async def _catching_up(records: Records) -> None:
    """Make findable what an earlier version kept; what is not done when the host closes, the next one does."""
    more = True
    while more:
        pause = limits.CATCH_UP_PAUSE
        try:
            more = await records.catch_up()
        except PilothouseError as error:
            pause = limits.PACK_EVERY
            _log.warning("older calls cannot be searched yet: %s", error.message)
        await asyncio.sleep(pause)


async def _packing(records: Records) -> None:
    """Make what finished runs wrote smaller, a little at a time, as long as the host is open."""
    more = False
    while True:
        await asyncio.sleep(limits.CATCH_UP_PAUSE if more else limits.PACK_EVERY)
        try:
            more = await records.pack()
        except PilothouseError as error:
            more = False
            _log.info("what finished runs wrote was not packed: %s", error.message)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def _close_models() -> None:
    """Close the connections to models and stop the built-in one, where they were used at all."""
    if "pilothouse.net.client" in sys.modules:
        from pilothouse.net.client import close_clients

        await close_clients()
    if "pilothouse.models.embedded" in sys.modules:
        from pilothouse.models.embedded import close_embedded

        await asyncio.to_thread(close_embedded)
