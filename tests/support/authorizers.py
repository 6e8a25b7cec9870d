"""An authorizer whose rules and permissions are kept in memory, and the calls it decides about."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from pilothouse.permissions.authorizer import PersonAuthorizer
from pilothouse.permissions.case import within
from pilothouse.permissions.grants import PersonPermissions
from pilothouse.permissions.policy import Policy, RuleSet
from pilothouse.permissions.protected import Protected
from pilothouse.types.access import Access, CommandUse, Effect, PathUse
from pilothouse.types.authority import Grant, Mode, Pattern, Rule, Seen, Verdict
from pilothouse.types.json import JsonObject
from pilothouse.types.models import FileProblem
from pilothouse.types.ports import CallContext, Permit, PermitNeeded, PermitRefused, Tool
from tests.support.tools import ToolOf

NOWHERE = Path("/nonexistent/pilothouse")


class HeldRules:
    """The content of a rules file, without the file."""

    def __init__(self, *rules: Rule) -> None:
        self.value = RuleSet(rules)
        self.problem: FileProblem | None = None

    def look(self) -> tuple[RuleSet, FileProblem | None]:
        return self.value, self.problem

    def refresh(self) -> bool:
        return False

    def update(self, change: Callable[[JsonObject], None]) -> RuleSet:
        raise NotImplementedError

    def say(self, *rules: Rule) -> None:
        """Replace the rules."""
        self.value = RuleSet(rules)


class HeldGrants(PersonPermissions):
    """Passing permissions in memory."""

    def __init__(self, *grants: Grant) -> None:
        self.held = {grant.id: grant for grant in grants}

    async def standing_grants(self, owner: str, conversation_id: str, branch: int = 0) -> Sequence[Grant]:
        return [grant for grant in self.held.values() if grant.conversation_id == conversation_id and _stands(grant)]

    async def use_grant(self, grant_id: str, at: float) -> bool:
        grant = self.held[grant_id]
        if not _stands(grant):
            return False
        self.held[grant_id] = msgspec.structs.replace(grant, uses=grant.uses + 1, last_used_at=at)
        return True

    def revoke(self, grant_id: str) -> None:
        self.held[grant_id] = msgspec.structs.replace(self.held[grant_id], revoked_at=time.time())


def _stands(grant: Grant) -> bool:
    used_up = grant.single_use and grant.uses > 0
    return grant.revoked_at is None and not used_up and time.time() < (grant.expires_at or math.inf)


def a_rule(verdict: Verdict, pattern: Pattern, rule_id: str = "rule", note: str = "") -> Rule:
    return Rule(id=rule_id, verdict=verdict, pattern=pattern, note=note)


def a_grant(pattern: Pattern, grant_id: str = "g_1", *, lasts: float = 300.0, **more: object) -> Grant:
    now = time.time()
    grant = Grant(
        id=grant_id,
        owner="",
        conversation_id="c_1",
        pattern=pattern,
        created_at=now,
        expires_at=now + lasts,
        single_use=False,
    )
    return msgspec.structs.replace(grant, **more)


def an_authorizer(
    *grants: Grant, rules: HeldRules | None = None, held: HeldGrants | None = None, guard: Protected | None = None
) -> PersonAuthorizer:
    return PersonAuthorizer(
        Policy(rules or HeldRules()), held or HeldGrants(*grants), guard or Protected(NOWHERE, NOWHERE), lambda: 30
    )


# --- calls ---

FILES = ToolOf("file_operations", effects=frozenset({"reads", "writes"}))
TERMINAL = ToolOf("terminal_operations", effects=frozenset({"runs"}))
SERVER = ToolOf("files__read", server="Files", effects=frozenset({"reads", "writes", "runs", "sends"}))
ROOT = "/srv/project"
# What was read before the call: files of the person.
FILES_READ = Seen(frozenset({"files"}))
Decided = Permit | PermitNeeded | PermitRefused


def file_access(*paths: str, effect: Literal["reads", "writes"] = "writes", operation: str = "create_file") -> Access:
    uses = tuple(PathUse(path=path, effect=effect, inside=within(path, ROOT)) for path in paths)
    return Access(operation=f"file_operations.{operation}", effects=frozenset({effect}), paths=uses)


def command_access(text: str, *, network: bool = False) -> Access:
    effects: frozenset[Effect] = frozenset({"runs", "sends"} if network else {"runs"})
    return Access(
        operation="terminal_operations.run_command",
        effects=effects,
        command=CommandUse(text=text, folder=ROOT, sandbox="bubblewrap", network=network),
        destination="anywhere" if network else "",
        payload_bytes=len(text) if network else 0,
    )


def covered(access: Access, **more: object) -> Access:
    """The same command, where undo covers what it changes."""
    assert access.command is not None
    command: CommandUse = msgspec.structs.replace(access.command, **{"covered": True, **more})
    return msgspec.structs.replace(access, command=command)


def server_access(server: str = "Files", payload: int = 10) -> Access:
    effects: frozenset[Effect] = frozenset({"reads", "writes", "runs", "sends"})
    return Access(operation="files.read", effects=effects, destination=server, payload_bytes=payload)


def call_context(access: Access | None, mode: Mode = "ask", **more: object) -> CallContext:
    context = CallContext("c_1", "r_1", "i_1", ROOT, (), False, mode=mode, access=access)
    return msgspec.structs.replace(context, **more)


async def decide(
    access: Access | None,
    mode: Mode = "ask",
    *,
    by: PersonAuthorizer | None = None,
    tool: Tool = FILES,
    arguments: JsonObject | None = None,
    **more: object,
) -> Decided:
    given = {"text": "words of the model"} if arguments is None else arguments
    return await (by or an_authorizer()).decide(tool, given, call_context(access, mode, **more), None)


def verdict(found: Decided) -> tuple[str, str, str]:
    """Return what was decided, on whose word, and by which rule."""
    return found.decision.verdict, found.decision.authority, found.decision.rule


async def permit_for(by: PersonAuthorizer, context: CallContext) -> Permit:
    found = await by.decide(FILES, {}, context, None)
    assert not isinstance(found, PermitNeeded | PermitRefused)
    return found
