"""What `/edit`, `/retry`, `/branch` and `/branches` do in a chat."""

from __future__ import annotations

from pilothouse.cli.branching import Place, nth_message, number_of, offer, show_tree
from pilothouse.cli.prompting import read_line
from pilothouse.cli.terminal import Terminal, messages, one_line
from pilothouse.cli.wrapping import say
from pilothouse.host.following import Following
from pilothouse.host.new_conversations import model_name
from pilothouse.types.api import ConversationSnapshot
from pilothouse.types.branch_views import BranchChoice, Retry
from pilothouse.types.conversations import Conversation, check_temperature
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi

_SHOWN = 60


class ChatBranches:
    """Where the next message of a chat goes, and what its line begins with."""

    def __init__(self, api: ClientApi, out: Terminal) -> None:
        self._api = api
        self._out = out
        self._place: Place | None = None
        self._words = ""

    def begun(self) -> str:
        """Return what the next line begins with, once: the words of the message that is edited."""
        words, self._words = self._words, ""
        return words

    def place(self) -> Place | None:
        """Return where the next message goes, once; None for the end of the branch that is chosen."""
        place, self._place = self._place, None
        return place

    async def edit(self, conversation: Conversation, typed: str) -> None:
        """Let the next line be an own message in other words."""
        message = await nth_message(self._api, conversation.id, typed)
        busy = await offer(self._api, message.run_id or "", messages(), itself=True)
        if busy is not None:
            self._place, self._words = Place(instead_of=message.id, when_busy=busy), message.text
            say(self._out, "Change it and press Enter. An empty line, or Ctrl-C, leaves it as it is.", "dim")

    async def branch(self, conversation: Conversation, typed: str) -> None:
        """Let the next message follow an earlier answer."""
        message = await nth_message(self._api, conversation.id, typed or "2")
        busy = await offer(self._api, message.run_id or "", messages(), itself=False)
        if busy is not None:
            self._place = Place(after=message.run_id, when_busy=busy)
            words = one_line(message.text)[:_SHOWN]
            say(self._out, f"Your next message goes on after the answer to “{words}”.", "dim")

    async def retry(self, conversation: Conversation, typed: str) -> Following | None:
        """Have the last message answered once more; return the answer to follow."""
        wish = _wished(typed)
        message = await nth_message(self._api, conversation.id, "")
        busy = await offer(self._api, message.run_id or "", messages(), itself=True)
        if busy is None:
            return None
        body = Retry(model_id=wish.model_id, temperature=wish.temperature, when_busy=busy)
        after = (await self._api.conversations.get(LOCAL_OWNER, conversation.id, limit=1)).last_seq
        accepted = await self._api.branches.retry(LOCAL_OWNER, message.run_id or "", body)
        return Following(self._api, await self._api.runs.get(LOCAL_OWNER, accepted.run_id), after)

    async def choose(self, conversation: Conversation, typed: str) -> None:
        """Show the tree, and go on with the branch that the person names."""
        tree = await self._api.branches.tree(LOCAL_OWNER, conversation.id)
        if not typed:
            show_tree(tree, self._out)
            if len(tree.branches) < 2:
                return
            typed = (await read_line("Go on with which? (Enter: the same) ", messages()) or "").strip()
            if not typed:
                return
        number = number_of(tree, typed)
        chosen = await self._api.branches.choose(LOCAL_OWNER, conversation.id, BranchChoice(branch=number))
        self._place = None
        say(self._out, _where(chosen), "dim")


def _where(chosen: ConversationSnapshot) -> str:
    """Return where a person stands who chose a branch: what was said there last."""
    said = [item.text for item in chosen.items if item.kind in ("user_message", "response") and item.text]
    last = f" It ends with: “{one_line(said[-1])[:_SHOWN]}”" if said else ""
    return f"You go on with branch {chosen.branch}.{last}"


def _wished(typed: str) -> Retry:
    """Return the model and the temperature that were typed, in either order."""
    model, temperature = None, None
    for word in typed.split():
        try:
            temperature = check_temperature(float(word))
        except ValueError:
            if model is not None:
                fix = "Say one model, and a temperature from 0 to 2, as in /retry 0.7."
                raise PilothouseError("bad_request", f"“{word}” is one model too many.", fix=fix) from None
            model = model_name(word) or word
    return Retry(model_id=model, temperature=temperature)
