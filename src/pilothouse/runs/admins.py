"""What people may change beside conversations, together."""

from __future__ import annotations

import msgspec

from pilothouse.types.admin import AuthorityAdmin, ConfigAdmin, ModelAdmin, ModelFinder, OwnTools, ServerAdmin
from pilothouse.types.changes import ChangeKeeper, Undoing
from pilothouse.types.searching import IndexHost
from pilothouse.types.terminals import TerminalHost
from pilothouse.types.todos import TodoDesk


class Admins(msgspec.Struct, frozen=True):
    """Who answers for the models, the settings and the servers."""

    models: ModelAdmin
    finder: ModelFinder
    config: ConfigAdmin
    servers: ServerAdmin
    todos: TodoDesk
    permissions: AuthorityAdmin
    changes: ChangeKeeper
    undoing: Undoing
    terminals: TerminalHost
    indexes: IndexHost
    tools: OwnTools
