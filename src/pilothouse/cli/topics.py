"""`pilothouse topic`: named places that conversations share, and what a command says of topics and prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pilothouse.cli.options import AsJson, command, new_app
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, output
from pilothouse.connection import connect_host
from pilothouse.host.named_topics import topic_named
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.json import JsonObject
from pilothouse.types.limits import UNDO_DELETE_DAYS
from pilothouse.types.paging import whole
from pilothouse.types.topics import TopicInput, TopicPatch

if TYPE_CHECKING:
    from pilothouse.cli.run import RunRequest

TopicName = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name or id.")]
About = Annotated[str | None, typer.Option("--about", metavar="TEXT", help="What it is about.", show_default=False)]
app = new_app()


async def said_of(api: ClientApi, request: RunRequest) -> JsonObject:
    """Return what a command said of topics and prompts, as the settings of a conversation."""
    if request.prompt is not None and request.system is not None:
        raise PilothouseError("bad_request", "There is a prompt and a system prompt.", fix="Give one of the two.")
    if request.var and request.prompt is None:
        raise PilothouseError("bad_request", "There are variables and no prompt.", fix="Name it with --prompt.")
    said: JsonObject = {}
    if request.prompt is not None:
        said |= {"prompt": request.prompt, "prompt_values": dict(map(_variable, request.var)), "system_prompt": None}
    if request.mini:
        said["mini_prompts"] = request.mini
    if request.topic is not None:
        said["topic_id"] = (await topic_named(api, request.topic)).id
    return said


def _variable(typed: str) -> tuple[str, str]:
    name, equals, value = typed.partition("=")
    if not equals or not name.strip():
        raise PilothouseError("bad_request", f"“{typed}” is no variable.", fix="Write it as NAME=VALUE.")
    return name.strip(), value


@command(app, "list")
async def list_topics(json: AsJson = False) -> int:
    """List the topics with how much is in them."""
    async with connect_host() as api:
        found = await whole(lambda page: api.topics.list(LOCAL_OWNER, page))
    if json:
        output().json(found)
        return 0
    head = ("topic", "conversations", "memories", "documents", "todos", "about")
    rows = [
        (each.name, *map(str, (each.conversations, each.memories, each.documents, each.todos)), each.description)
        for each in found.topics
    ]
    show_table(output(), head, rows, none="There are no topics yet. Make one: pilothouse topic create NAME")
    return 0


@command(app)
async def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    about: About = None,
    json: AsJson = False,
) -> int:
    """Make a topic, and print its id."""
    async with connect_host() as api:
        made = await api.topics.create(LOCAL_OWNER, TopicInput(name=name, description=about or ""))
    if json:
        output().json(made)
    else:
        output().line(made.id)
    return 0


@command(app)
async def rename(
    topic: TopicName,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Its new name.", show_default=False)] = None,
    about: About = None,
) -> int:
    """Give a topic another name, or say what it is about."""
    if name is None and about is None:
        raise PilothouseError("bad_request", "There is nothing to change.", fix="Give a new name, or --about.")
    async with connect_host() as api:
        found = await topic_named(api, topic)
        changed = await api.topics.update(LOCAL_OWNER, found.id, TopicPatch(name=name, description=about))
    messages().line(f"It is “{changed.name}” now.")
    return 0


@command(app)
async def remove(topic: TopicName) -> int:
    """Delete a topic.

    Its conversations stay. Its memories, documents and todos are hidden, and can be brought back with it for 30 days.
    """
    async with connect_host() as api:
        found = await topic_named(api, topic)
        await api.topics.delete(LOCAL_OWNER, found.id)
    how = f"Bring it back within {UNDO_DELETE_DAYS} days: pilothouse topic restore {found.id}"
    messages().line(f"Deleted “{found.name}”. {how}")
    return 0


@command(app)
async def restore(topic: Annotated[str, typer.Argument(metavar="ID", help="The id of a deleted topic.")]) -> int:
    """Bring a deleted topic back, with its conversations."""
    async with connect_host() as api:
        back = await api.topics.restore(LOCAL_OWNER, topic)
    messages().line(f"“{back.name}” is back.")
    return 0
