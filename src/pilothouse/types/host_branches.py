"""The verbs about branches: a part of `types/host`."""

from __future__ import annotations

from pilothouse.types import limits
from pilothouse.types.api import Comparison, ComparisonAccepted, ConversationSnapshot, MessageAccepted
from pilothouse.types.branch_views import BranchChoice, BranchTree, FilesBack, Hidden, LeftBehind, NewCopy, Retry
from pilothouse.types.changes import UndoReport
from pilothouse.types.conversations import Conversation
from pilothouse.types.replays import ReplayWish, RunDifference
from pilothouse.types.verbs import Options, Service, verb


class Branches(Service):
    """Other ways on: edited messages, other answers, branches, copies, comparisons and replays."""

    @verb("list_branches", "GET", "/api/conversations/{id}/branches")
    async def tree(self, owner: str, conversation_id: str) -> BranchTree:
        """All branches of a conversation, and the one that was chosen last."""

    @verb("choose_branch", "POST", "/api/conversations/{id}/branch")
    async def choose(self, owner: str, conversation_id: str, body: BranchChoice) -> ConversationSnapshot:
        """Go on with a branch: it is what is shown, and what new messages are added to."""

    @verb("retry_run", "POST", "/api/runs/{id}/retry", Options(status=202, repeatable=True))
    async def retry(self, owner: str, run_id: str, body: Retry) -> MessageAccepted:
        """Have a message answered once more, in a new branch."""

    @verb("compare_models", "POST", "/api/conversations/{id}/compare", Options(202, limits.MESSAGE_BODY_BYTES))
    async def compare(self, owner: str, conversation_id: str, body: Comparison) -> ComparisonAccepted:
        """Send one message to two or three models, which answer side by side, each in a branch."""

    @verb("left_behind", "GET", "/api/runs/{id}/left-behind")
    async def left_behind(self, owner: str, run_id: str, itself: bool = True) -> LeftBehind:
        """What a branch in the place of a run, or after it, would leave behind.

        Answers at work, files that can be put back, and what cannot.
        """

    @verb("put_files_back", "POST", "/api/runs/{id}/put-files-back")
    async def put_files_back(self, owner: str, run_id: str, body: FilesBack) -> UndoReport:
        """Put files back to what they were before a run, or right after it.

        What any branch changed since is undone, the newest first; what someone else changed since stays, and is named.
        """

    @verb("copy_run", "POST", "/api/runs/{id}/copy", Options(status=201))
    async def copy(self, owner: str, run_id: str, body: NewCopy) -> Conversation:
        """Make a new conversation of everything that leads to a run, and of the run."""

    @verb("hide_item", "POST", "/api/items/{id}/hide")
    async def hide(self, owner: str, item_id: str) -> Hidden:
        """Hide a message or an answer: it stays in the record, and models are not sent it."""

    @verb("show_item", "POST", "/api/items/{id}/show")
    async def show(self, owner: str, item_id: str) -> Hidden:
        """Show a hidden message or answer again."""

    @verb("replay_run", "POST", "/api/runs/{id}/replay", Options(status=202, repeatable=True))
    async def replay(self, owner: str, run_id: str, body: ReplayWish) -> MessageAccepted:
        """Ask a model what a run asked, with the results that its tools gave then.

        No tool is executed. A call that was not recorded stops it there.
        """

    @verb("compare_runs", "GET", "/api/runs/{id}/difference")
    async def difference(self, owner: str, run_id: str, other: str) -> RunDifference:
        """Two runs step by step: calls, arguments, answers, tokens, cost and time."""
