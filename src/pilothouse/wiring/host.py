"""Opens a host: every part, in the order in which they need each other."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from pilothouse.agent.reminders import CombinedReminders
from pilothouse.agent.results.masking import MaskerChain
from pilothouse.agent.results.pipeline import Pipeline
from pilothouse.helper.client import Helper, Unreadable
from pilothouse.host.active_run import Parts
from pilothouse.host.engine import DirectEngine, Engine, Executor, Runner
from pilothouse.host.modes import Modes
from pilothouse.host.recovery import Recovery, process_name
from pilothouse.host.service import HostService
from pilothouse.models.catalogue import ModelCatalogue
from pilothouse.models.factory import embedded_model, make_model, making
from pilothouse.models.keys import Keys, parse_bindings
from pilothouse.models.learned_limits import LessonBook, parse_lessons
from pilothouse.models.models_file import ModelsFile, embedded_only, first_models, has_no_models, parse_models
from pilothouse.models.service import ModelService
from pilothouse.net.loop_clients import close_clients
from pilothouse.permissions.authorizer import PersonAuthorizer
from pilothouse.permissions.grants import PersonPermissions
from pilothouse.permissions.policy import RuleSet
from pilothouse.permissions.policy_file import new_policy, parse_policy
from pilothouse.permissions.protected import Protected
from pilothouse.plugins.discovery import installed
from pilothouse.plugins.enabling import Enabling
from pilothouse.plugins.manager import Plugins
from pilothouse.secrets.redaction import Redactor
from pilothouse.secrets.sealing import Sealer
from pilothouse.secrets.store import SecretStore
from pilothouse.settings.config import ConfigService
from pilothouse.settings.home import Home, open_home
from pilothouse.settings.json_file import JsonFile
from pilothouse.settings.logs import logging_to, wanted_level
from pilothouse.store.connections import Connections, hanging
from pilothouse.store.opening import open_store
from pilothouse.timeline.feed import Feed
from pilothouse.timeline.store_outages import patiently, store_is_away, store_is_well
from pilothouse.types import limits
from pilothouse.types.api import ConfigPatch, ConfigView
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import Settings
from pilothouse.types.ids import new_id
from pilothouse.types.json import JsonObject
from pilothouse.types.lazy import Lazy
from pilothouse.types.ports import JsonStore
from pilothouse.types.records import KeptResult, QueueLimits
from pilothouse.wiring.answering import Made, about_self, dependencies_of, metrics_of, watched
from pilothouse.wiring.built_in import FOLDER_TOOLS, BuiltIns, CoreTools
from pilothouse.wiring.folder_tools import FolderTools
from pilothouse.wiring.foundation import Foundation
from pilothouse.wiring.knowledge import Forgets, Knowledge
from pilothouse.wiring.meaning import LateMeaning
from pilothouse.wiring.servers import Servers

if TYPE_CHECKING:
    from pilothouse.models.refresh import Offers
    from pilothouse.types.processes import ProcessRole, ProgramsAt
    from pilothouse.types.shared import OpenJson, SharedParts
    from pilothouse.web.sessions import Door
    from pilothouse.wiring.fleet import Fleet
    from pilothouse.wiring.housekeeping import HouseTurn

_log = logging.getLogger(__name__)
# A server serves the page and executes runs; on PostgreSQL it can be split into "web", which does the one, and
# "worker", which does the other. An heir had been a client until the folder's owner ended. All that execute take up
# what died with other processes; a one-shot command minds its own run.
Role: TypeAlias = "ProcessRole"
_SERVES: frozenset[Role] = frozenset({"server", "web", "worker"})


class OpenHost(NamedTuple):
    """An open host: its service and the parts that others may look at."""

    api: HostService
    home: Home
    redactor: Redactor
    executor: Executor
    # Ends what is at work, within the time that the person set; nothing is begun any more.
    drain: Callable[[], Awaitable[None]]
    # What the person who opens it should know, in a sentence.
    note: str = ""
    # Opens what its web server shares with others of the installation; None where there are none.
    door: Callable[[], Awaitable[Door]] | None = None


class Authority:
    """The person's rules and permissions, what is protected, and who decides by them."""

    def __init__(self, base: Foundation) -> None:
        self.file: JsonStore[RuleSet] = base.open_json(
            base.home.policy_file,
            parse_policy,
            new_policy,
            backup=base.home.cache / "last-good-policy.json",
        )
        self.permissions = PersonPermissions(self.file, base.opened.store)
        self.guard = Protected(base.home.path)
        config = base.config
        self.authorizer = PersonAuthorizer(
            self.permissions.policy,
            self.permissions,
            self.guard,
            lambda: config.config.permission_minutes,
            confirm=base.confirm,
        )


class _Settings(Settings):
    """The settings, with what other parts know of this machine."""

    def __init__(
        self,
        service: ConfigService,
        plugins: Plugins,
        folder_tools: FolderTools,
        authority: Authority,
        modes: Modes,
        meaning: LateMeaning,
    ) -> None:
        self._service = service
        self._plugins = plugins
        self._folder_tools = folder_tools
        self._authority = authority
        self._modes = modes
        self._meaning = meaning

    async def get(self, owner: str) -> ConfigView:
        return msgspec.structs.replace(
            self._service.view(),
            plugins=self._plugins.views(),
            sandbox=await self._folder_tools.held(),
            mode_in_folder=await self._modes.default(in_folder=True),
            mode_elsewhere=await self._modes.default(in_folder=False),
            rules_problem=self._authority.permissions.problem,
        )

    async def update(self, owner: str, body: ConfigPatch) -> ConfigView:
        # In the name of who says so.
        for name, digest in (body.plugins or {}).items():
            await asyncio.to_thread(self._plugins.switch, name, digest, owner)
        await self._service.patch(body)
        self._meaning.settings_changed()
        return await self.get(owner)

    async def usual(self, owner: str) -> ConversationSettings:
        return self._service.config.active_settings()

    def queue_limits(self) -> QueueLimits:
        """Return how many messages may wait for their answer; one conversation may not take all of it."""
        most = self._service.config.most_waiting
        return QueueLimits(min(limits.WAITING_HERE, most), most)


def _model_service(home: Home, models: ModelCatalogue, changed: Callable[[], Awaitable[None]]) -> ModelService:
    def offers() -> Offers:
        from pilothouse.models.refresh import Offers, no_offers, parse_offers

        return Offers(JsonFile(home.cache / "models.json", parse_offers, no_offers), models)

    return ModelService(models, Lazy(offers), changed)


@asynccontextmanager
async def open_host(
    home: Path | None = None,
    database_url: str | None = None,
    *,
    role: Role = "once",
    brief: bool = False,
    slots: int | None = None,
    programs: bool = True,
) -> AsyncGenerator[OpenHost, None]:
    """Open a host on a data folder (PILOTHOUSE_HOME by default) and close it; a `brief` one begins nothing unasked.

    It works on so many runs at once as it has `slots`; without a number, on as many as the settings say. Without
    `programs` it starts no local servers, no commands and no terminals.
    """
    url = database_url or os.environ.get("PILOTHOUSE_DATABASE_URL") or None
    check_role(role, url)
    at: ProgramsAt = "workers" if role == "web" else "here" if programs else "other_workers"
    process = process_name(new_id("p"), one_shot=role not in _SERVES)
    async with AsyncExitStack() as stack:
        base = await _foundation(stack, home, url, process, brief=brief, executes_own=role not in _SERVES)
        folder, config, authority = base.home, base.config, Authority(base)
        # Made last: none of the parts that tell it of changes has any before.
        service: HostService
        known = Knowledge(stack, base, authority.guard, lambda *todos: service.topic_news.changed(*todos))  # noqa: PLW0108
        folder_tools = FolderTools(base, known.tools, authority.guard, authority.permissions.policy, programs=at)
        stack.push_async_callback(folder_tools.close)
        plugins = _plugins(base, {"core": CoreTools(known.tools, known.memory.stored), FOLDER_TOOLS: folder_tools})
        models = _models(base, plugins, lambda: service.models_changed())  # noqa: PLW0108
        stack.push_async_callback(_close_models)
        built_in = BuiltIns(plugins)
        servers = Servers(
            base, built_in, folder_tools.server_sandbox, Lazy(lambda: service), learn=not brief, programs=at
        )
        stack.push_async_callback(servers.close)
        parts = _parts(base, models, servers, plugins, authority, folder_tools)
        executor = Executor(msgspec.structs.replace(parts, recall=known.memory.recall), process, titles=not brief)
        counters = watched(stack, base, models, process, counted=role in _SERVES)
        runner = Runner(executor, parts.settings, slots)
        fleet = _fleet(url, base, runner, process, role, folder_tools)
        engine: Engine = DirectEngine(runner) if fleet is None else fleet.engine
        settings = _Settings(config, plugins, folder_tools, authority, parts.modes, known.meaning)
        model_service = _model_service(folder, models, lambda: service.models_changed())  # noqa: PLW0108
        made = Made(
            *(base, known, folder_tools, authority, models, servers, fleet),
            metrics=metrics_of(base, counters, role, fleet, runner),
            alone=partial(about_self, process, role, runner, time.time()) if fleet is None else None,
        )
        dependencies = dependencies_of(made, settings, settings.queue_limits, model_service, built_in)
        service = HostService(parts, engine, dependencies)
        stack.push_async_callback(service.close)
        await _share(stack, url, base, known.remembering, service)
        if fleet is None:
            await _recover(stack, parts, engine, process, take_over=role != "once")
        else:
            await fleet.begin(stack, parts)
        if role in _SERVES:
            await _keep_house(stack, made, service, works=role != "web")
        servers.begin()
        yield OpenHost(service, folder, base.redactor, executor, engine.stop, _note(base), _door(base, process))


def _door(base: Foundation, process: str) -> Callable[[], Awaitable[Door]] | None:
    if base.shared is None:
        return None
    from pilothouse.wiring.shared_door import open_door

    return partial(open_door, base, process)


def _settings_changed(servers: Servers, meaning: LateMeaning) -> None:
    servers.reconcile()
    meaning.settings_changed()


def check_role(role: Role, url: str | None) -> None:
    """Raise if a role needs a database that several processes share, and there is none."""
    if role in ("web", "worker") and url is None:
        raise PilothouseError(
            "bad_config",
            f"The role “{role}” needs PostgreSQL: with SQLite one process serves the page and does the work.",
            fix="Set PILOTHOUSE_DATABASE_URL, or leave --role out.",
        )


async def _keep_house(stack: AsyncExitStack, made: Made, service: HostService, *, works: bool) -> None:
    """Do what a server does besides answering, for as long as it runs; one that only serves the page tidies nothing."""
    from pilothouse.documents.leftovers import sweep
    from pilothouse.wiring.housekeeping import keep_tidy, probe_sandbox, watch_files

    base, known = made.base, made.known
    if works:
        known.meaning.begin(stack)
        await asyncio.to_thread(sweep, base.home.cache / "documents")
        probe_sandbox(stack, made.folder_tools)
        await keep_tidy(stack, base.opened.store, lambda: base.config.config.retention, _house_turn(base))
    service.permissions.changed()
    files: dict[str, JsonStore[Any]] = {
        "models": made.models.file,
        "config": base.config.file,
        "policy": made.authority.file,
    }
    if base.shared is not None:
        files["consents"] = base.shared.open_json(base.home.secrets / "consents.json", dict, dict)
        files["lists"] = base.shared.open_json(base.home.path / "lists.json", dict, dict)
    changed = partial(_settings_changed, made.servers, known.meaning)
    watch_files(stack, files, service, changed, made.servers.consents_changed)


def _house_turn(base: Foundation) -> HouseTurn | None:
    if base.shared is None:
        return None
    from pilothouse.store.house_turn import SharedHouseTurn

    return SharedHouseTurn(base.opened.database)


def _fleet(
    url: str | None, base: Foundation, runner: Runner, process: str, role: Role, folder_tools: FolderTools
) -> Fleet | None:
    """Return this process's part among those that share a PostgreSQL; a folder has one process alone."""
    if url is None:
        return None
    # Imported only here: SQLite needs none of it.
    from pilothouse.mcp.servers.entries import has_local
    from pilothouse.wiring.fleet import Fleet, Here

    async def folder_of(conversation_id: str) -> str | None:
        return (await base.opened.store.settings(conversation_id)).working_directory

    async def needs_programs(conversation_id: str) -> bool:
        return await folder_of(conversation_id) is not None or has_local(base.config.config.mcps)

    here = Here(folder_tools.with_terminals, folder_of, needs_programs, folder_tools.programs)
    return Fleet(url, base.connections, runner, process, role, here)


async def _recover(stack: AsyncExitStack, parts: Parts, engine: Engine, process: str, *, take_over: bool) -> None:
    """Go on with what was at work when the last process ended."""
    recovery = Recovery(parts.records, engine, process, parts.settings, parts.feed)
    await recovery.begin(take_over=take_over)
    stack.push_async_callback(recovery.end)
    stack.push_async_callback(engine.stop)


def _note(base: Foundation) -> str:
    if not base.opened.database.cramped:
        return ""
    note = "The disk is full: everything can be read, and nothing can be kept until there is room."
    _log.error("%s", note)
    return note


async def _foundation(
    stack: AsyncExitStack, home: Path | None, url: str | None, process: str, *, brief: bool, executes_own: bool
) -> Foundation:
    folder = open_home(home)
    redactor = Redactor()
    stack.enter_context(
        logging_to(folder.logs, redactor.redact, level=wanted_level(), process=process.partition("@")[0])
    )
    feed = Feed()
    connections = await _watch_database(stack, url, feed)
    opened = await asyncio.to_thread(open_store, folder.path, url, feed.publish, connections, executes_own=executes_own)
    stack.push_async_callback(opened.close)
    secrets = SecretStore(folder.secrets, learn=redactor.learn)
    open_json: OpenJson = JsonFile
    confirm: Callable[[], Awaitable[None]] | None = None
    parts: SharedParts | None = None
    if url is not None:
        from pilothouse.wiring.shared_settings import open_shared, share_settings

        opening = partial(open_shared, folder, opened.database, secrets, redactor)
        shared = await share_settings(stack, url, connections, opening)
        secrets, open_json, parts = shared.secrets, shared.settings.open_json, shared.parts(url, connections)
        confirm = partial(patiently, feed, shared.settings.confirm)
    config = await asyncio.to_thread(ConfigService, folder.path, "postgresql" if url else "sqlite", open_json)
    if not brief:
        _learn_secrets(stack, secrets)
    helper = Helper()
    stack.callback(helper.close)
    return Foundation(
        folder, opened, config, secrets, redactor, feed, helper, Sealer(secrets), connections, open_json, confirm, parts
    )


def _parts(
    base: Foundation,
    models: ModelCatalogue,
    servers: Servers,
    plugins: Plugins,
    authority: Authority,
    folder_tools: FolderTools,
) -> Parts:
    store, maskers, config = base.opened.store, plugins.maskers(), base.config
    redactor = MaskerChain(base.redactor, maskers) if maskers else base.redactor

    async def keep(result: KeptResult) -> None:
        # A call's result is not lost to a full disk.
        await patiently(base.feed, lambda: store.keep_result(result))

    return Parts(
        records=store,
        feed=base.feed,
        models=models,
        toolbox=servers,
        authorizer=authority.authorizer,
        results=Pipeline(redactor, keep, base.sealer, partial(_shape, base.helper)),
        modes=Modes(lambda: config.config, folder_tools.is_offline),
        settings=lambda: config.config,
        reminders=CombinedReminders(plugins.reminders()),
        release=servers.release,
        confirm=base.confirm,
    )


def _shape(helper: Helper, text: str) -> str:
    """Return what a text is, in a few words; strangers wrote it, so a process of its own looks."""
    from pilothouse.tools.results.reading import shape

    try:
        return helper.ask(shape, text, limits.RESULT_READ_TIME)
    except Unreadable:
        return ""


def _plugins(base: Foundation, built_in: Mapping[str, object]) -> Plugins:
    folder = base.home.path / "plugins"
    enabling = Enabling(folder / "enabled.json", base.sealer)
    return Plugins(built_in, installed(), folder, enabling, _plugin_broke(base.feed))


def _plugin_broke(feed: Feed) -> Callable[[str], None]:
    """Tell everyone which plugins do not work, each in its own notice."""
    return lambda said: feed.notice("warning", f"plugin {said.split('”')[0]}", said)


def _models(base: Foundation, plugins: Plugins, changed: Callable[[], Awaitable[None]]) -> ModelCatalogue:
    folder, secrets, redactor = base.home, base.secrets, base.redactor
    bindings = base.open_json(folder.secrets / "bindings.json", parse_bindings, dict, is_empty=lambda _raw: False)
    keys = Keys(secrets, bindings, learn=redactor.learn)
    parse: Callable[[JsonObject], ModelsFile] = parse_models
    if base.confirm is not None:
        from pilothouse.wiring.shared_settings import seeing

        parse = seeing(keys)
    file = base.open_json(
        folder.models_file,
        parse,
        first_models(folder.path, secrets),
        fallback=embedded_only,
        is_empty=has_no_models,
        backup=folder.cache / "last-good-models.json",
    )
    learned = LessonBook(
        folder.cache / "learned.json",
        lambda path: JsonFile(path, parse_lessons, dict, is_empty=lambda _raw: False),
        changed=changed,
    )
    make = making(plugins.models, lambda config, key: make_model(config, key, lessons=learned.of(config)))
    return ModelCatalogue(file, secrets, keys, make, learned)


async def _watch_database(stack: AsyncExitStack, url: str | None, feed: Feed) -> Connections:
    """Notice when a database elsewhere hangs, and tell everyone; from before the first of it is asked."""
    connections = Connections()
    if url is None:
        return connections
    from pilothouse.store.health_check import HealthCheck

    def changed() -> None:
        if connections.silent:
            store_is_away(feed, hanging())
        else:
            store_is_well(feed)
            feed.wake_all()

    health = HealthCheck(url, connections, changed)
    health.begin()
    stack.push_async_callback(health.end)
    return connections


async def _share(
    stack: AsyncExitStack,
    url: str | None,
    base: Foundation,
    remembering: Sequence[Forgets],
    service: HostService,
) -> None:
    """Hear from other processes on the same database, and tell them; an embedded one has none."""
    if url is None:
        return
    from pilothouse.wiring.shared_wakeups import share

    share(stack, url, base, remembering, service)


def _learn_secrets(stack: AsyncExitStack, secrets: SecretStore) -> None:
    """Learn what must be masked before anyone needs it for anything else."""
    learning = asyncio.create_task(asyncio.to_thread(secrets.learn_kept), name="learn-secrets")
    stack.push_async_callback(asyncio.wait, [learning])


async def _close_models() -> None:
    """Close the connections to models and stop the built-in one, where they were used at all."""
    await close_clients()
    if (model := embedded_model.made) is not None:
        await asyncio.to_thread(model.close)
