"""`pilothouse conversations branches`, `choose`, `retry`, `copy`, `hide` and `unhide`: other ways on, for scripts."""

from __future__ import annotations

from typing import Annotated

import typer

from pilothouse.cli.asking import converse, verdict
from pilothouse.cli.branching import show_tree, tell_hidden
from pilothouse.cli.options import AsJson, ConversationId, command, given, new_app
from pilothouse.cli.prompting import someone_is_there
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.cli.wrapping import aside_only, say
from pilothouse.connection import connect_host
from pilothouse.host.following import Following
from pilothouse.host.new_conversations import model_name
from pilothouse.types.branch_views import BranchChoice, NewCopy, Retry
from pilothouse.types.host import LOCAL_OWNER

app = new_app()
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id; `branches --json` and `show --json` have it.")]
ItemId = Annotated[str, typer.Argument(metavar="ITEM", help="The id of a message or of a piece of an answer.")]


@command(app)
async def branches(conversation: ConversationId, json: AsJson = False) -> int:
    """Print a conversation's branches; the chosen one has a star."""
    async with connect_host() as api:
        tree = await api.branches.tree(LOCAL_OWNER, conversation)
    if json:
        output().json(tree)
    else:
        show_tree(tree, output())
    return 0


@command(app)
async def choose(
    conversation: ConversationId,
    branch: Annotated[int, typer.Argument(metavar="NUMBER", min=0, help="The branch; 0 is the first one.")],
) -> int:
    """Go on with a branch.

    It is what is shown, and what new messages are added to.
    """
    async with connect_host() as api:
        chosen = await api.branches.choose(LOCAL_OWNER, conversation, BranchChoice(branch=branch))
    say(messages(), f"Branch {chosen.branch} is chosen.", "dim")
    return 0


@command(app)
async def retry(
    run: RunId,
    model: Annotated[str | None, given("--model", "-m", help="Another model's id, or scripted:FILE.")] = None,
    temperature: Annotated[float | None, given(metavar="0-2", min=0, max=2, help="Another temperature.")] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop answers at work that it leaves behind.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the events, one JSON object a line.")] = False,
) -> int:
    """Have a message answered once more, in a new branch."""
    async with connect_host(tell=aside_only, brief=True) as api:
        out = output()
        conversation_id = (await api.runs.get(LOCAL_OWNER, run)).conversation_id
        after = (await api.conversations.get(LOCAL_OWNER, conversation_id, limit=1)).last_seq
        body = Retry(
            model_id=model_name(model),
            temperature=temperature,
            when_busy="stop" if stop else "finish",
            unattended=not (out.is_terminal and someone_is_there(messages())),
        )
        accepted = await api.branches.retry(LOCAL_OWNER, run, body)
        following = Following(api, await api.runs.get(LOCAL_OWNER, accepted.run_id), after)
        return verdict(await converse(api, following, out, as_json=json))


@command(app)
async def copy(
    run: RunId,
    title: Annotated[str | None, given(metavar="TITLE", help="Its title, instead of the old one's.")] = None,
    json: AsJson = False,
) -> int:
    """Make a new conversation of everything up to a run.

    It prints the new one's id. What was allowed for a while and what files were before is not taken over.
    """
    async with connect_host() as api:
        made = await api.branches.copy(LOCAL_OWNER, run, NewCopy(title=title))
    if json:
        output().json(made)
        return 0
    output().line(made.id)
    say(messages(), one_line(made.title), "dim")
    return 0


@command(app)
async def hide(item: ItemId) -> int:
    """Hide a message or a whole answer from models.

    It stays in the record. A summary of older turns that was made before may still tell of it.
    """
    async with connect_host() as api:
        done = await api.branches.hide(LOCAL_OWNER, item)
    tell_hidden(len(done.item_ids), hidden=True)
    return 0


@command(app)
async def unhide(item: ItemId) -> int:
    """Let models be sent again what was hidden."""
    async with connect_host() as api:
        done = await api.branches.show(LOCAL_OWNER, item)
    tell_hidden(len(done.item_ids), hidden=False)
    return 0
