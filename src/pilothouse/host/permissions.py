"""Rules and passing permissions, what waits for the person, and the record of what was done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

import msgspec

from pilothouse.timeline.feed import Feed
from pilothouse.types import limits
from pilothouse.types.admin import AuthorityAdmin
from pilothouse.types.authority import (
    AuditCheck,
    AuditEntry,
    AuditReport,
    CallInShort,
    Example,
    Grant,
    GrantList,
    NewGrant,
    Pattern,
    PendingApprovals,
    PolicyCheck,
    PolicyInput,
    PolicyReplay,
    PolicyView,
    Rule,
)
from pilothouse.types.durations import seconds_of, words_of
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCreated
from pilothouse.types.host import LOCAL_OWNER, Permissions
from pilothouse.types.ids import new_id
from pilothouse.types.item_data import NoticeData
from pilothouse.types.items import new_item, patch
from pilothouse.types.paging import FIRST, Page, window
from pilothouse.types.patterns import in_words
from pilothouse.types.records import Records
from pilothouse.types.selection import ServerName
from pilothouse.types.settings import Settings

# The notice about a file of rules that cannot be read.
_NOTICE = "policy"


class PermissionService(Permissions):
    """Says who may do what, and who did."""

    def __init__(
        self,
        records: Records,
        authority: AuthorityAdmin,
        feed: Feed,
        server_names: Callable[[], Mapping[str, ServerName]],
        settings: Callable[[], Settings],
    ) -> None:
        self._records = records
        self._settings = settings
        self._authority = authority
        self._feed = feed
        self._server_names = server_names

    async def policy(self, owner: str) -> PolicyView:
        calls = await self._records.past_calls(owner, limits.REPLAYED_CALLS)
        uses = await asyncio.to_thread(self._authority.uses, calls)
        return PolicyView(rules=self._authority.rules, uses=uses, problem=self._authority.problem)

    async def set_policy(self, owner: str, body: PolicyInput) -> PolicyView:
        if owner != LOCAL_OWNER:
            raise PilothouseError("forbidden", "Only the owner of this installation may change its rules.")
        known = set(self._authority.rules)
        await self._authority.replace_rules(tuple(rule if rule in known else self._bound(rule) for rule in body.rules))
        self.changed()
        return await self.policy(owner)

    def _bound(self, rule: Rule) -> Rule:
        return msgspec.structs.replace(rule, pattern=self._of_server(rule.pattern)) if rule.verdict == "allow" else rule

    def _of_server(self, pattern: Pattern) -> Pattern:
        """Return a permission for a server's tools as one for the server that has this name now, and no later one."""
        name, dot, _ = pattern.tool.partition(".")
        server = self._server_names().get(name) if dot and not pattern.definition else None
        return msgspec.structs.replace(pattern, definition=server.key) if server is not None else pattern

    async def replay_policy(self, owner: str, body: PolicyInput) -> PolicyReplay:
        calls = await self._records.past_calls(owner, limits.REPLAYED_CALLS)
        return await asyncio.to_thread(self._authority.replay, body.rules, calls)

    async def check_policy(self, owner: str, call: CallInShort) -> PolicyCheck:
        paths = (call.path,) if call.path else ()
        return self._authority.check(Example(call.tool, paths, call.command, call.destination, call.folder))

    def changed(self) -> None:
        """Tell every page that the rules cannot be read, or can be again."""
        problem = self._authority.problem
        if problem is None:
            self._feed.notice("info", _NOTICE, "Your rules are in force again.")
            return
        said = f"Your rules in {problem.file} cannot be read, so nothing is allowed by rule. {problem.message}"
        self._feed.notice("warning", _NOTICE, said)

    async def grants(self, owner: str, conversation: str | None = None, page: Page = FIRST) -> GrantList:
        if conversation is not None:
            await self._records.conversation(owner, conversation, deleted=True)
        standing = tuple(await self._authority.grants(owner, conversation))
        first, last, rest = window([grant.id for grant in standing], page)
        return GrantList(grants=standing[first:last], next=rest)

    async def give_grant(self, owner: str, body: NewGrant) -> Grant:
        now, length = time.time(), seconds_of(body.duration or f"{self._settings().permission_minutes}m")
        grant = Grant(
            id=new_id("g"),
            owner=owner,
            conversation_id=body.conversation_id,
            pattern=self._of_server(body.pattern),
            created_at=now,
            expires_at=now + length,
            single_use=body.single_use,
        )
        await self._authority.add_grant(grant)
        often = "once" if grant.single_use else "as often as needed"
        await self._note(grant, f"Allowed for {words_of(length)}, {often}: {in_words(grant.pattern)}.")
        return grant

    async def revoke_grant(self, owner: str, grant_id: str) -> None:
        standing = [grant for grant in await self._authority.grants(owner, None) if grant.id == grant_id]
        await self._authority.revoke_grant(owner, grant_id)
        for grant in standing:
            await self._note(grant, f"Not allowed any more: {in_words(grant.pattern)}.")

    async def _note(self, grant: Grant, text: str) -> None:
        """Write what the person allowed by hand, or withdrew, to the timeline: the record is made from it."""
        data = patch(NoticeData, level="info", code="permission", grant=grant, by=grant.owner)
        said = new_item(grant.conversation_id, "notice", text=text, data=data)
        await self._records.append(grant.conversation_id, [ItemCreated(item=said)], None)

    async def approvals(self, owner: str, page: Page = FIRST) -> PendingApprovals:
        return await self._records.pending(owner, page)

    async def audit(
        self,
        owner: str,
        conversation: str | None = None,
        until: int | None = None,
        limit: int = limits.AUDIT_ENTRIES,
        cursor: str | None = None,
    ) -> AuditReport:
        every = [conversation] if conversation is not None else await self._records.audited(owner)
        first, last, rest = window(every, Page(limits.AUDIT_CONVERSATIONS, cursor))
        entries: list[AuditEntry] = []
        checks: list[AuditCheck] = []
        for each in every[first:last]:
            found, check = await self._records.audit(owner, each, until)
            entries += found
            checks.append(check)
        # All are looked at, whatever is shown: a check of a part would be none.
        newest = sorted(range(len(entries)), key=lambda index: (entries[index].at, index))[-limit:]
        kept = tuple(entries[index] for index in sorted(newest))
        return AuditReport(entries=kept, checks=tuple(checks), more=len(kept) < len(entries), next=rest)
