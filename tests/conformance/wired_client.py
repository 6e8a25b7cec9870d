"""The program that the conformance suite drives for signing in: the whole product, with a person who always agrees.

The server's address is the last argument; the scenario and its context are in the environment. A host is opened on an
empty folder, the server is added, a scripted model calls its tools, and whenever the product asks for a sign-in, one
happens. The suite judges what it sees on the wire.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

import msgspec

from pilothouse.net.client import fetch
from pilothouse.types.api import ConfigPatch, NewConversation, NewMessage
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.host import ClientApi
from pilothouse.types.json import JsonObject
from pilothouse.types.runs import Run
from pilothouse.types.servers import ServerInput
from pilothouse.types.sign_ins import ProgramSignIn, SignInAnswer, SignInStart
from pilothouse.wiring import open_host
from tests.support.waiting import eventually

CONTEXT: JsonObject = msgspec.json.decode(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
BACK = "http://localhost:3000/oauth/callback"
ABOUT_US = "https://conformance-test.local/client-metadata.json"
PATIENCE = 60.0
# A person does not sign in for ever.
SIGN_INS = 6
ZERO = {"integer": 0, "number": 0, "boolean": False, "object": {}, "array": []}


class Person:
    """Someone who agrees wherever they are sent."""

    def __init__(self, api: ClientApi) -> None:
        self._api = api
        self._left = SIGN_INS

    async def sign_in(self) -> None:
        if os.environ.get("MCP_CONFORMANCE_SCENARIO") == "auth/client-credentials-basic":
            program = ProgramSignIn(client_id=CONTEXT["client_id"], client_secret=CONTEXT["client_secret"])
            await self._api.servers.sign_in_program(ME, "One", program)
            return
        self._left -= 1
        if self._left < 0:
            raise PilothouseError("sign_in_failed", "It asks for ever more sign-ins.")
        own = {name: CONTEXT[name] for name in ("client_id", "client_secret") if name in CONTEXT}
        begun = await self._api.servers.begin_sign_in(ME, "One", SignInStart(redirect_uri=BACK, **own))
        reply = await fetch(begun.url, timeout=PATIENCE, limit=65536)
        await self._api.servers.finish_sign_in(ME, SignInAnswer(address=reply.headers["location"]))

    async def connect(self) -> None:
        """Sign in until the server lets us in."""
        while not (tried := await self._api.servers.test(ME, "One")).ok:
            if not tried.needs_sign_in:
                raise PilothouseError("server_failed", tried.message)
            await self.sign_in()

    async def use(self, script: Path) -> None:
        """Have a model call every tool, and sign in when a call waits for that."""
        tools = (await self._api.servers.tools(ME, "One")).tools
        calls = [
            {"call": tool.qualified_name.replace(".", "__"), "arguments": _filled(tool.input_schema)} for tool in tools
        ]
        await asyncio.to_thread(script.write_text, json.dumps({"turns": [calls, "Done."]}))
        settings = ConversationSettings(model_id=f"scripted:{script}", mode="auto_approve")
        conversation = await self._api.conversations.create(ME, NewConversation(settings=settings))
        sent = await self._api.runs.post_message(ME, conversation.id, NewMessage(text="Go"))
        while (await self._settled(sent.run_id)).status == "waiting":
            await self.sign_in()
        # A call that its server refused for good is told to the model; the suite is told by what it saw.

    async def _settled(self, run_id: str) -> Run:
        async def there() -> Run | None:
            run = await self._api.runs.get(ME, run_id)
            return run if run.status in ("waiting", "completed", "failed", "cancelled") else None

        return await eventually(there, "the run to end or to ask", PATIENCE)


def _filled(schema: JsonObject) -> JsonObject:
    fields = schema.get("properties", {})
    return {name: ZERO.get(fields.get(name, {}).get("type"), "x") for name in schema.get("required", [])}


async def main(url: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        async with open_host(Path(folder) / "home") as host:
            await host.api.settings.update(ME, ConfigPatch(client_document=ABOUT_US))
            await host.api.servers.add(ME, ServerInput(name="One", command_line=url))
            person = Person(host.api)
            try:
                await person.connect()
                await person.use(Path(folder) / "script.json")
            except PilothouseError as error:
                print(error, file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
