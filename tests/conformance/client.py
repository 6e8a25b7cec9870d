"""The program that the conformance suite drives: the product's own client, doing what each scenario calls for.

The server's address is the last argument; the scenario and its context are in the environment. The suite judges what
it sees on the wire, so this program only has to do its best.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from urllib.parse import parse_qsl, urlsplit

import msgspec

from pilothouse import __version__
from pilothouse.mcp.client.channel import Access, ChannelError
from pilothouse.mcp.client.session import InputRequired, RpcError, Session, SessionOptions, connect
from pilothouse.mcp.client.transports.detection import channel_to
from pilothouse.mcp.client.transports.remote import Target
from pilothouse.mcp.oauth import signing_in
from pilothouse.mcp.oauth.access import OAuthAccess
from pilothouse.mcp.oauth.credentials import Client, Credential, Credentials, SecretCredentials
from pilothouse.mcp.oauth.discovery import Place
from pilothouse.mcp.oauth.grants import AssertionGrant, ClientGrant, Grant, IdentityProvider
from pilothouse.mcp.oauth.registration import Identity
from pilothouse.mcp.servers.quarantine import reasons
from pilothouse.net.client import fetch
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Ask

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "initialize")
CONTEXT: JsonObject = msgspec.json.decode(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
REDIRECT = "http://localhost:3000/callback"
ABOUT_US = "https://conformance-test.local/client-metadata.json"
PATIENCE = 25.0
ZERO = {"integer": 0, "number": 0, "boolean": False, "object": {}, "array": []}


class Memory(SecretCredentials):
    """Keeps credentials for as long as the program runs."""

    def __init__(self) -> None:
        self._kept: dict[str, Credential] = {}

    async def get(self, server_url: str) -> Credential | None:
        return self._kept.get(server_url)

    async def set(self, credential: Credential) -> None:
        self._kept[credential.server_url] = credential

    async def delete(self, server_url: str) -> None:
        self._kept.pop(server_url, None)


class Person:
    """Signs in at once: follows the address as a browser would, and takes what it is sent back with."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    async def obtain(self, place: Place, scopes: tuple[str, ...], kept: Credential | None) -> Credential:
        sign_in, pending = await signing_in.begin(place, self._identity, scopes, kept)
        reply = await fetch(sign_in.url, timeout=PATIENCE, limit=65536)
        return await signing_in.finish(pending, dict(parse_qsl(urlsplit(reply.headers["location"]).query)))


def grant() -> Grant:
    """How this scenario's tokens are got."""
    if SCENARIO == "auth/client-credentials-jwt":
        key, algorithm = CONTEXT["private_key_pem"], CONTEXT.get("signing_algorithm", "ES256")
        return ClientGrant(Client(id=CONTEXT["client_id"], method="private_key_jwt", key=key, algorithm=algorithm))
    if SCENARIO == "auth/client-credentials-basic":
        return ClientGrant(known_client())
    if SCENARIO == "auth/enterprise-managed-authorization":
        provider = IdentityProvider(
            token_endpoint=CONTEXT["idp_token_endpoint"], client_id=CONTEXT["idp_client_id"], id_token=id_token
        )
        return AssertionGrant(known_client(), provider.vouch)
    if SCENARIO == "auth/wif-jwt-bearer":
        return AssertionGrant(known_client(), workload)
    client = known_client() if CONTEXT.get("client_id") else None
    return Person(Identity(redirect_uri=REDIRECT, client=client, document_url=ABOUT_US))


def known_client() -> Client:
    secret = CONTEXT.get("client_secret", "")
    return Client(id=CONTEXT["client_id"], secret=secret, method="client_secret_basic" if secret else "none")


async def id_token() -> str:
    return str(CONTEXT["idp_id_token"])


async def workload(issuer: str, resource: str) -> str:
    return str(CONTEXT["valid_jwt"])


def answer(ask: Ask) -> JsonObject:
    """Accept, with the defaults of the form."""
    fields = ask.schema.get("properties", {})
    content = {name: field["default"] for name, field in fields.items() if "default" in field}
    if "confirmed" in fields:
        content["confirmed"] = True
    return {"action": "accept", "content": content}


async def call(session: Session, name: str, arguments: JsonObject) -> None:
    """Call a tool and answer whatever it asks."""
    try:
        result = await session.call_tool(name, arguments)
        while isinstance(result, InputRequired):
            answers = {ask.id: answer(ask) for ask in result.asks}
            result = await session.resume_call(name, arguments, result.state, answers)
    except (RpcError, ChannelError) as error:
        print(f"{name}: {error!r}", file=sys.stderr)


def arguments_for(tool: JsonObject) -> JsonObject:
    fields = tool["inputSchema"].get("properties", {})
    required = tool["inputSchema"].get("required", [])
    return {name: ZERO.get(fields.get(name, {}).get("type"), "x") for name in required}


async def act(session: Session) -> None:
    """Do what the scenario looks at."""
    listed = (await session.list_tools()).tools
    tools = {tool["name"]: tool for tool, reason in zip(listed, reasons(listed), strict=True) if not reason}
    match SCENARIO:
        case "initialize" | "json-schema-ref-no-deref":
            pass
        case "tools_call":
            await call(session, "add_numbers", {"a": 5, "b": 3})
        case "http-custom-headers":
            for wanted in CONTEXT["toolCalls"]:
                await call(session, wanted["name"], wanted.get("arguments") or {})
        case "json-schema-2020-12-preservation":
            await call(session, "json_schema_echo", {"schema": tools["json_schema_2020_12_tool"]["inputSchema"]})
        case _:
            for name, tool in tools.items():
                await call(session, name, arguments_for(tool))
    if SCENARIO == "http-standard-headers":
        for resource in (await session.request("resources/list", {}))["resources"][:1]:
            await session.request("resources/read", {"uri": resource["uri"]})
        for prompt in (await session.request("prompts/list", {}))["prompts"][:1]:
            await session.request("prompts/get", {"name": prompt["name"]})


async def main(url: str) -> int:
    access: Access | None = None
    if SCENARIO.startswith("auth/"):
        access = OAuthAccess(url, grant(), Credentials(Memory()))
    channel = channel_to(Target(url=url, access=access))
    try:
        # All scenarios run at once; a slow answer must not look like one from another era.
        options = SessionOptions(client_version=__version__, probe_timeout=PATIENCE, connect_timeout=2 * PATIENCE)
        session = await connect(channel, options)
        try:
            await act(session)
        finally:
            await session.close()
    except (ChannelError, RpcError) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        with contextlib.suppress(ChannelError):
            await channel.close()
        await close_clients()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
