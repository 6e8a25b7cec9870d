"""The `server.json` of a repository, where it can be reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from pilothouse.mcp.proposals import server_json
from pilothouse.mcp.proposals.recognising import decoded
from pilothouse.mcp.proposals.repositories import Repository, descriptions
from pilothouse.mcp.registry.addresses import address
from pilothouse.net import guarded
from pilothouse.net.errors import NetError
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import an_object
from pilothouse.types.proposals import Proposal, Recognised
from pilothouse.types.servers import ManualSource

_PASTE = "Paste the command that its README gives."


def described(text: str) -> tuple[Proposal, ...]:
    """Return what a `server.json` offers; raise `bad_request` for one that is none. Done in the helper process."""
    try:
        content = an_object(decoded(text))
    except BadField as error:
        raise PilothouseError("bad_request", error.message) from None
    if not isinstance(content.get("name"), str):
        raise PilothouseError("bad_request", "It is no description of a server.")
    return server_json.proposals_of(content, ManualSource())


async def of_repository(repository: Repository, read: Callable[[str], Awaitable[tuple[Proposal, ...]]]) -> Recognised:
    """Return what a repository says about itself; where it says nothing, what was tried is the sentence."""
    where = f"{repository.host}/{repository.path}"
    near = address(f"{repository.kind}-files")
    trouble = "has no server.json"
    for url in descriptions(repository, address):
        try:
            got = await guarded.request("GET", url, near=near)
        except NetError as error:
            trouble = f"could not be asked for its server.json: {error}"
            break
        if got.status == 404:
            continue
        if got.status != 200:
            trouble = f"answered {got.status} when asked for its server.json"
            break
        try:
            found = await read(got.body.decode("utf-8", "replace"))
        except PilothouseError as error:
            trouble = (
                f"has a server.json that cannot be used: {error.message[0].lower()}{error.message[1:].rstrip('.')}"
            )
            break
        source = ManualSource(imported_from=where)
        proposals = tuple(msgspec.structs.replace(each, source=source) for each in found)
        return Recognised(what=f"The repository {where}, which describes its server.", proposals=proposals)
    return Recognised(what=f"The repository {where} {trouble}. {_PASTE}", words=repository.words)
