"""A host in this process, for benchmarks of what it does with tools."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from pilothouse.host.service import HostService
from pilothouse.types.api import NewConversation, NewMessage
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.events import RunUpdated, event_decoder
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.runs import ENDED
from pilothouse.types.servers import ConsentGiven, ServerInput


async def add_server(api: HostService, name: str, command: Sequence[str]) -> str:
    """Add a local server and agree to its command, as a person does once; return its id."""
    added = await api.servers.add(ME, ServerInput(name=name, command=command[0], args=tuple(command[1:])))
    assert added.consent is not None
    await api.servers.consent(ME, added.id, ConsentGiven(fingerprint=added.consent.fingerprint))
    return added.id


async def learn_tools(api: HostService, server_id: str) -> None:
    """Have a server's tools known."""
    tested = await api.servers.test(ME, server_id)
    if not tested.ok:
        raise SystemExit(tested.message)


async def converse(api: HostService, model: str) -> str:
    """Hold one conversation in which every tool is allowed; return "done" or what went wrong."""
    _conversation_id, outcome = await hold(
        api, ConversationSettings(model_id=model), NewMessage(text="Go.", allow=("bench.*",))
    )
    return outcome


async def hold(api: HostService, settings: ConversationSettings, message: NewMessage) -> tuple[str, str]:
    """Hold a conversation of one message; return its id, and "done" or what went wrong."""
    made = await api.conversations.create(ME, NewConversation(title="Benchmark", settings=settings))
    sent = await api.runs.post_message(ME, made.id, message)
    async with aclosing(await api.conversations.events(ME, made.id, 0)) as feed:
        async for batch in feed:
            for event in batch:
                if event.seq and event.kind == "run.updated":
                    run = event_decoder.decode(event.json)
                    if isinstance(run, RunUpdated) and run.run.id == sent.run_id and run.run.status in ENDED:
                        return made.id, "done" if run.run.status == "completed" else f"{run.run.status} {run.run.error}"
    return made.id, "the feed ended"
