"""The same conversations with Pilothouse, its log on disk: `ours.py URL MODEL CONVERSATIONS AT_ONCE SERVER...`.

See `others/measuring.py` for what is printed. The host is the library's own; every event of every conversation is
written to a database in a temporary folder, as it always is.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import aclosing
from pathlib import Path

import uvloop

from bench.others.measuring import measure
from bench.processes import write_models
from pilothouse.runs.service import HostService
from pilothouse.types.api import NewConversation, NewMessage
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.events import RunUpdated, event_decoder
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.runs import ENDED
from pilothouse.types.servers import ConsentGiven, ServerInput
from pilothouse.wiring import open_host

URL, MODEL, SERVER = sys.argv[1], sys.argv[2], sys.argv[5:]


async def add_server(api: HostService) -> None:
    """Add the echo server, agree to its command and wait until its tools are known."""
    added = await api.add_server(ME, ServerInput(name="bench", command=SERVER[0], args=tuple(SERVER[1:])))
    if added.consent is not None:
        await api.consent_server(ME, added.id, ConsentGiven(fingerprint=added.consent.fingerprint))
    tested = await api.test_server(ME, added.id)
    if not tested.ok:
        raise SystemExit(tested.message)


async def converse(api: HostService) -> str:
    """Hold one conversation and return how it ended."""
    settings = ConversationSettings(model_id=MODEL)
    made = await api.create_conversation(ME, NewConversation(title="Benchmark", settings=settings))
    sent = await api.post_message(ME, made.id, NewMessage(text="Go.", allow=("bench.*",)))
    async with aclosing(await api.events(ME, made.id, 0)) as feed:
        async for batch in feed:
            for event in batch:
                if event.seq and event.kind == "run.updated":
                    run = event_decoder.decode(event.json)
                    if isinstance(run, RunUpdated) and run.run.id == sent.run_id and run.run.status in ENDED:
                        return "done" if run.run.status == "completed" else f"{run.run.status} {run.run.error}"
    return "the feed ended"


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        home = Path(folder) / "home"
        write_models(home, URL.removesuffix("/v1"), [MODEL])
        async with open_host(home, role="server") as host:
            await add_server(host.api)
            await measure(lambda: converse(host.api))


uvloop.run(main())
