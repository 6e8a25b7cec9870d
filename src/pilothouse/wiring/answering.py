"""Who answers for what a host's service does not do itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pilothouse.host.dependencies import Dependencies, PromptParts
from pilothouse.host.prompts import facts_of
from pilothouse.host.service import HostService
from pilothouse.models.catalogue import ModelCatalogue
from pilothouse.models.known_models import source as prices_from
from pilothouse.models.service import ModelService
from pilothouse.types.host import Models, Settings
from pilothouse.types.lazy import Lazy
from pilothouse.types.models import ProviderView
from pilothouse.types.records import QueueLimits, Records
from pilothouse.wiring.built_in import BuiltIns
from pilothouse.wiring.folder_tools import FolderTools
from pilothouse.wiring.foundation import TRACE_ENDPOINTS, Foundation
from pilothouse.wiring.knowledge import Knowledge
from pilothouse.wiring.servers import Servers

if TYPE_CHECKING:
    from pilothouse.host.engine import Runner
    from pilothouse.prompts.library import PromptLibrary
    from pilothouse.prompts.service import MiniPromptService, PromptService
    from pilothouse.telemetry.counters import Counters
    from pilothouse.types.host_branches import Branches
    from pilothouse.types.host_operations import Operations
    from pilothouse.types.processes import ProcessRole, ProcessView
    from pilothouse.wiring.fleet import Fleet
    from pilothouse.wiring.host import Authority
    from pilothouse.wiring.telemetry import Metrics


class Made(NamedTuple):
    """What a host is put together from, before its service is."""

    base: Foundation
    known: Knowledge
    folder_tools: FolderTools
    authority: Authority
    models: ModelCatalogue
    servers: Servers
    fleet: Fleet | None
    metrics: Metrics | None
    # What this process is, where it is the only one.
    alone: Callable[[], ProcessView] | None


def dependencies_of(
    made: Made,
    settings: Settings,
    queue_limits: Callable[[], QueueLimits],
    model_service: ModelService,
    built_in: BuiltIns,
) -> Dependencies:
    """Return who answers for what the service does not do itself."""
    known, servers, folder_tools = made.known, made.servers, made.folder_tools
    return Dependencies(
        models=model_service,
        model_source=made.models,
        providers=_providers,
        settings=settings,
        queue_limits=queue_limits,
        servers=servers.admin,
        finding=servers.finding,
        server_names=lambda: servers.admin().names(),
        release=servers.release,
        todos=known.todos,
        memories=known.memory.service,
        prompts=prompt_parts(known.prompts, made.base.opened.store, model_service),
        permissions=made.authority.permissions,
        undo=folder_tools.undo,
        terminals=folder_tools.terminals,
        index=folder_tools.view,
        tools=built_in,
        web=known.web.admin,
        prices_from=prices_from,
        meaning=known.meaning,
        documents=known.documents.held,
        branches=_branches,
        operations=partial(_operations, made.alone),
        why_not_working=partial(_why_not_working, made.fleet),
        metrics=made.metrics,
        has_folders=folder_tools.has_folders,
        confirm=made.base.shared.confirm if made.base.shared is not None else None,
    )


def _branches(records: Records, host: HostService, dependencies: Dependencies) -> Branches:
    """Return who answers for branches; loaded when someone asks about them."""
    from pilothouse.host.branches import BranchService

    return BranchService(records, host, dependencies)


def _operations(alone: Callable[[], ProcessView] | None, records: Records) -> Operations:
    """Return who answers for what is at work where; loaded when someone asks."""
    from pilothouse.host.operations import OperationService

    return OperationService(records, alone)


def _why_not_working(fleet: Fleet | None) -> str:
    return fleet.trouble if fleet is not None else ""


def _providers() -> tuple[ProviderView, ...]:
    from pilothouse.wiring.provider_list import provider_list

    return provider_list()


def prompt_parts(library: Lazy[PromptLibrary], records: Records, models: Models) -> PromptParts:
    """Return who answers for the prompts."""

    async def facts(owner: str, conversation_id: str | None) -> Mapping[str, str]:
        settings = (await records.conversation(owner, conversation_id)).settings if conversation_id else None
        return await facts_of(records, models, owner, settings)

    def prompts() -> PromptService:
        from pilothouse.prompts.service import PromptService

        return PromptService(library(), facts)

    def mini_prompts() -> MiniPromptService:
        from pilothouse.prompts.service import MiniPromptService

        return MiniPromptService(library())

    return PromptParts(library, Lazy(prompts), Lazy(mini_prompts))


def watched(
    stack: AsyncExitStack, base: Foundation, models: ModelCatalogue, process: str, *, counted: bool
) -> Counters | None:
    """Have what happens counted and traced, where someone may ask for it; a command has none of that."""
    if not counted and not any(os.environ.get(name) for name in TRACE_ENDPOINTS):
        return None
    from pilothouse.wiring.telemetry import observe

    return observe(stack, base, models, process, counted=counted)


def metrics_of(
    base: Foundation, counters: Counters | None, role: ProcessRole, fleet: Fleet | None, runner: Runner
) -> Metrics | None:
    """Return what operators are told in numbers; None where nothing is counted."""
    if counters is None:
        return None
    from pilothouse.wiring.telemetry import Metrics

    return Metrics(base, counters, role, fleet, runner)


def about_self(process: str, role: ProcessRole, runner: Runner, began: float) -> ProcessView:
    """Return what this process is, which has its folder alone."""
    from pilothouse.wiring.telemetry import about_self

    return about_self(process, role, runner, began)
