"""Commits: what they contain is shown first, and what was shown is what is committed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import ClassVar

import msgspec

from pilothouse.tools.arguments import BadArgument, require_string, success
from pilothouse.tools.builds.contents import Contents, contents
from pilothouse.tools.builds.git import GitFailed, Repository
from pilothouse.tools.builds.operation import BuildOperation
from pilothouse.tools.files.places import find_place
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse, Effect, PathUse
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput
from pilothouse.types.terminals import Ran

_CHANGED = "What would be committed is not what was shown any more; ask again."
# The content of a commit that could not be shown: none that is made is the same.
_UNSEEN = "unseen"
_ELSEWHERE = "The repository's settings place its files elsewhere; commit by hand."


class GitCommit(BuildOperation):
    """Commits what is staged together with the named files."""

    name = "git_commit"
    doing = "Committing"
    effects: frozenset[Effect] = frozenset({"writes", "runs"})
    times = CallTimes(2 * limits.COMMIT_TIME)
    properties: ClassVar[JsonObject] = {
        "message": {"type": "string", "description": "The commit's message."},
        "files": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Files to commit along with what is staged.",
        },
    }

    def about(self, arguments: Mapping[str, object]) -> str:
        return str(arguments.get("message") or "").strip().partition("\n")[0]

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        """Return the files."""
        files = arguments.get("files")
        return [f"File: {file}" for file in files] if isinstance(files, list) else []

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return the command, with what the commit would contain."""
        command = await self._meant(arguments, context)
        repository = await self._whole(context)
        access = await self.command_access(command, context)
        led_to = await self.led_to(repository)
        try:
            found = await contents(repository, self._files(arguments, context))
        except BadArgument:
            if all(use.belongs for use in led_to):
                raise
            # Why not is told in the words of a repository elsewhere: first it is decided whether that may be looked at.
            return msgspec.structs.replace(access, paths=led_to, content=_UNSEEN)
        led_to = await self.led_to(repository, found.nested)
        hooks = (PathUse(path=path, effect="reads", inside=False, belongs=True) for path in found.hooks_outside)
        return msgspec.structs.replace(access, paths=(*led_to, *hooks), preview=found.shown, content=found.digest)

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Commit exactly what was shown; if that fails, nothing more is staged than before."""
        self.hold(context, await self._meant(arguments, context))
        await asyncio.to_thread(self.hold_folder, context)
        repository = await self._whole(context)
        await self.hold_leads(repository, context)
        found = await contents(repository, self._files(arguments, context))
        await self.hold_leads(repository, context, found.nested)
        if context.access is not None and context.access.content not in ("", found.digest):
            raise BadArgument(_CHANGED, "CONFLICT")
        before = (await repository.ask("write-tree")).decode().strip()
        done = False
        try:
            ran = await self._commit(repository, arguments, found, feedback)
            done = True
        finally:
            if not done:
                await asyncio.shield(repository.ask("read-tree", before))
        commit = await repository.line("rev-parse", "HEAD")
        files = len(found.changes) + found.more
        words = ran.output.decode(errors="replace").strip()
        said = f"Committed {files} file{'' if files == 1 else 's'} as {commit[:12]} on {found.branch}."
        return success(f"{said}\n{words}".strip(), {"commit": commit, "branch": found.branch, "files": files})

    async def _commit(
        self, repository: Repository, arguments: JsonObject, found: Contents, feedback: CallFeedback
    ) -> Ran:
        # One by one and not by `git add`, which asks the repositories within, each with its own settings.
        for start in range(0, len(found.unstaged), limits.COMMIT_FILES):
            paths = found.unstaged[start : start + limits.COMMIT_FILES]
            added = await repository.run("update-index", "--add", "--remove", "--replace", "--", *paths)
            if added.exit_code or added.timed_out:
                raise GitFailed("The files could not be staged", added)
        feedback.progress(None, None, "Committing")
        ran = await repository.run("commit", "--quiet", f"--message={self._message(arguments)}")
        if ran.exit_code or ran.timed_out:
            raise GitFailed("Nothing was committed", ran)
        return ran

    async def _whole(self, context: CallContext) -> Repository:
        repository = await self.repository(context)
        if not repository.is_whole:
            raise BadArgument(
                f"The repository begins at {repository.root}; make that the working directory to commit.", "OUTSIDE"
            )
        if (await repository.reach()).is_elsewhere:
            raise BadArgument(_ELSEWHERE, "OUTSIDE")
        return repository

    async def _meant(self, arguments: JsonObject, context: CallContext) -> CommandUse:
        message, files = self._message(arguments), self._files(arguments, context)
        argv = ("git", "commit", f"--message={message}", *(("--", *files) if files else ()))
        return await self.use(context, "", argv, network=False)

    def _message(self, arguments: JsonObject) -> str:
        message = require_string(arguments, "message")
        if not message.strip():
            raise BadArgument("`message` is empty; say what the commit is for.")
        if len(message) > limits.COMMIT_MESSAGE_CHARS or "\0" in message:
            raise BadArgument(f"`message` has at most {limits.COMMIT_MESSAGE_CHARS:,} characters, and no NUL.")
        return message

    def _files(self, arguments: JsonObject, context: CallContext) -> list[str]:
        given = arguments.get("files") or []
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            raise BadArgument("`files` must be a list of paths.")
        places = [find_place(each, context.working_directory) for each in given]
        outside = [place.path for place in places if not place.inside or ".git" in place.parts]
        if outside:
            raise BadArgument(f"{outside[0]} cannot be committed: it is not one of the repository's files.", "OUTSIDE")
        return ["/".join(place.parts) or "." for place in places]
