"""What a call's item says about its tool and its arguments, as the model makes it."""

from __future__ import annotations

from pilothouse.agent.recording import identity, words
from pilothouse.agent.results.pipeline import Pipeline
from pilothouse.agent.tool_lookup import ToolLookup
from pilothouse.types.item_data import CallData
from pilothouse.types.items import patch
from pilothouse.types.json import JsonObject


class CallWords:
    """Puts the calls of one run into words."""

    def __init__(self, names: ToolLookup, results: Pipeline) -> None:
        self._names = names
        self._results = results

    async def describe(self, name: str, arguments: JsonObject | str | None, item_id: str) -> JsonObject:
        """Return what a call's item says about its tool, and once they are there its arguments and a friendly line.

        Secrets in them are masked; the real arguments stand beside them, sealed.
        """
        called = self._names.called(name, arguments)
        meant, arguments = called.meant, called.arguments
        about = patch(CallData, tool=name) if meant is None else identity(meant.tool)
        about |= patch(CallData, by_name=called.by_name) if called.by_name else {}
        about |= patch(CallData, on_demand=True) if called.on_demand else {}
        if isinstance(arguments, str):
            written = self._results.masked(patch(CallData, raw_arguments=arguments))
            return about | patch(CallData, arguments=None) | written
        if arguments is None:
            return about
        exact = arguments if meant is None else meant.arguments(arguments)
        kept = await self._results.keep_arguments(exact, item_id)
        about |= patch(CallData, arguments=kept.arguments)
        about |= patch(CallData, display=name) if meant is None else words(meant.tool, kept.arguments)
        return about | (patch(CallData, sealed=kept.sealed, masked=True) if kept.sealed else {})
