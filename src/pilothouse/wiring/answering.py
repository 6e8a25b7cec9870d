"""Who answers for what a host's service does not do itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pilothouse.host.dependencies import Dependencies
from pilothouse.host.service import HostService
from pilothouse.models.catalogue import ModelCatalogue
from pilothouse.models.known_models import source as prices_from
from pilothouse.models.service import ModelService
from pilothouse.types.host import Settings
from pilothouse.types.models import ProviderView
from pilothouse.types.processes import ProcessView
from pilothouse.types.records import QueueLimits, Records
from pilothouse.wiring.built_in import BuiltIns
from pilothouse.wiring.folder_tools import FolderTools
from pilothouse.wiring.foundation import Foundation
from pilothouse.wiring.knowledge import Knowledge
from pilothouse.wiring.prompts import prompt_parts
from pilothouse.wiring.servers import Servers
from pilothouse.wiring.telemetry import Metrics

if TYPE_CHECKING:
    from pilothouse.types.host_branches import Branches
    from pilothouse.types.host_operations import Operations
    from pilothouse.wiring.fleet import Fleet
    from pilothouse.wiring.host import Authority


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
