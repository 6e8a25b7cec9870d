"""The ledger of a conversation: what its next request is made of, and what all of its requests took."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from pilothouse.agent.history import until_message
from pilothouse.agent.window import Filling, Opening, filling
from pilothouse.host.active_run import Parts
from pilothouse.host.planning import system_text, wanted_tools
from pilothouse.types import limits
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import Models
from pilothouse.types.invisible import on_one_line
from pilothouse.types.items import Item
from pilothouse.types.models import ModelConfig, ModelView
from pilothouse.types.ports import ModelOutline
from pilothouse.types.runs import Run, RunOptions
from pilothouse.types.usage import ContextLedger, RequestUsage, RunUsage, UsageSum, added_up, sum_of

# Why there is no model: it was removed, or there is none at all.
_GONE = ("unknown_model", "no_model")
_CHOOSE = "Choose another one to go on; what was used until now stands below."


class ContextKeeper:
    """Tells what a conversation's window holds; it asks nobody and reads no file for that."""

    def __init__(self, parts: Parts, models: Models) -> None:
        self._parts = parts
        self._models = models

    async def ledger(self, owner: str, conversation_id: str) -> ContextLedger:
        """Return the ledger of a conversation as it stands."""
        records = self._parts.records
        conversation = await records.conversation(owner, conversation_id)
        run = await self._next_run(conversation)
        requests, items, listed = await asyncio.gather(
            records.requests(owner, conversation_id),
            records.history(conversation_id, conversation.branch),
            self._models.list(owner),
        )
        outline, gone = await self._outline(run.options.model_id or conversation.settings.model_id, requests)
        views = {view.id: view for view in listed.models}
        filled = await self._filling(run, conversation, outline, items)
        runs, on_path = _runs(requests, views), {item.run_id for item in items}
        config = outline.config
        return ContextLedger(
            model=config.id,
            model_name=config.name,
            window=config.context_window,
            used=filled.used,
            counted=filled.counted,
            compact_above=int(config.context_window * limits.COMPACT_ABOVE),
            parts=filled.parts,
            cached=_cached([one for one in requests if one.run_id in on_path]),
            totals=added_up(sum_of(one.used) for one in requests if one.used is not None),
            runs=runs,
            price_label=views[config.id].price_label if config.id in views else "",
            gone=gone,
        )

    async def _outline(self, model_id: str | None, requests: Sequence[RequestUsage]) -> tuple[ModelOutline, str]:
        """Return what is known of a conversation's model, and a sentence if it is gone: what was used stays true."""
        try:
            return await self._parts.models.outline(model_id), ""
        except PilothouseError as error:
            if error.code not in _GONE:
                raise
            said = f"{error.message} {_CHOOSE}"
        answered = next((one.used.model for one in reversed(requests) if one.used is not None), "")
        known = model_id or answered or "No model"
        return ModelOutline(ModelConfig(id=known, name=on_one_line(known), provider="plugin")), said

    async def _next_run(self, conversation: Conversation) -> Run:
        """Return the run at work; where none is, what a message would begin that wishes for nothing in particular."""
        active = await self._parts.records.runs_in(("running", "waiting"), conversation.id)
        if here := [run for run in active if run.branch == conversation.branch]:
            return here[0]
        return Run(
            id="",
            conversation_id=conversation.id,
            owner=conversation.owner,
            status="queued",
            message_item_id="",
            options=RunOptions(),
            created_at=0.0,
            updated_at=0.0,
        )

    async def _filling(
        self, run: Run, conversation: Conversation, outline: ModelOutline, items: Sequence[Item]
    ) -> Filling:
        parts, config, refused = self._parts, outline.config, outline.refuses_tools
        mode = await parts.modes.now(conversation.settings)
        wanted = wanted_tools(run, conversation, config, mode, items, refused_tools=refused)
        on_demand = parts.settings().tools_on_demand
        toolset = await parts.toolbox.tools(msgspec.structs.replace(wanted, on_demand=on_demand, waits=False))
        opening = Opening(system_text(conversation, toolset), toolset.tools, outline.media, config.id)
        return await filling(opening, until_message(items, run.id))


def _cached(requests: Sequence[RequestUsage]) -> int:
    last = next((one.used for one in reversed(requests) if one.used is not None), None)
    return last.usage.cache_read if last is not None else 0


def _runs(requests: Sequence[RequestUsage], views: Mapping[str, ModelView]) -> tuple[RunUsage, ...]:
    """Return what each message took, newest first; one that took nothing that was counted is left out."""
    by_run: dict[str, list[RequestUsage]] = {}
    for one in requests:
        by_run.setdefault(one.run_id, []).append(one)
    told = [group for group in reversed(by_run.values()) if any(one.used is not None for one in group)]
    return tuple(_run_usage(group, views) for group in told[: limits.USAGE_RUNS])


def _run_usage(group: Sequence[RequestUsage], views: Mapping[str, ModelView]) -> RunUsage:
    message = next((one for one in group if one.used is None), None)
    used = [one.used for one in group if one.used is not None]
    total: UsageSum = added_up(map(sum_of, used))
    model = used[-1].model
    return RunUsage(
        **msgspec.structs.asdict(total),
        run_id=group[0].run_id,
        started_at=group[0].at,
        model=model,
        model_name=views[model].name if model in views else model,
        item_id=message.item_id if message is not None else "",
    )
