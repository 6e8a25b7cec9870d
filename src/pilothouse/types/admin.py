"""What people may change beside conversations: the models and the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pilothouse.types.authority import Example, Grant, Pattern, PolicyCheck, PolicyReplay, Rule, RuleUse
from pilothouse.types.models import FileProblem
from pilothouse.types.records import PastCall


class Permissions(Protocol):
    """Keeps what the person allows beyond one call."""

    def vet(self, pattern: Pattern, *, lasting: bool) -> None:
        """Raise `bad_request` with why a permission for such calls, passing or lasting, cannot be kept."""

    async def add_grant(self, grant: Grant) -> None:
        """Keep a passing permission."""

    async def add_rule(self, rule: Rule) -> None:
        """Keep a lasting rule beside the others; raise `bad_request` with why it cannot be kept."""


class AuthorityAdmin(Permissions, Protocol):
    """The rules and the passing permissions, and changes to them."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules in force, or the last that could be read."""

    @property
    def problem(self) -> FileProblem | None:
        """Return what is wrong with the file of the rules."""

    async def replace_rules(self, rules: Sequence[Rule]) -> None:
        """Put these rules in the place of all others; raise `bad_request` that names the one which cannot be kept."""

    def replay(self, rules: Sequence[Rule], calls: Sequence[PastCall]) -> PolicyReplay:
        """Return what rules would have done about calls of the past."""

    def uses(self, calls: Sequence[PastCall]) -> tuple[RuleUse, ...]:
        """Return how often rules decided about these calls."""

    def check(self, example: Example) -> PolicyCheck:
        """Return what the rules in force say about a call."""

    async def grants(self, owner: str, conversation_id: str | None) -> Sequence[Grant]:
        """Return the passing permissions of a conversation or of all that stand now, newest first."""

    async def revoke_grant(self, owner: str, grant_id: str) -> None:
        """Withdraw a passing permission."""


class OwnTools(Protocol):
    """The tools of the host and of plugins, whether a conversation is offered them or not."""

    def operations(self) -> Mapping[str, Sequence[str] | None]:
        """Return the operations of each by its name; None for a tool that does not tell them."""
