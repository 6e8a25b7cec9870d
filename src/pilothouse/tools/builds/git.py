"""git, asked so that a repository's own settings run nothing: no hook, filter, pager, helper or other program."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.builds.repository_links import BAD_REPOSITORY, Reach, Setting, included, layout, reach
from pilothouse.tools.sandbox.environment import program_path
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.terminal.text import plain, shortened
from pilothouse.types import limits
from pilothouse.types.terminals import Ran

# Settings that a repository may have and that name a program, or make git ask another machine.
_HARMLESS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.quotePath": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "log.showSignature": "false",
}
_NAMED = (
    r"^(filter\..*\.(clean|smudge|process|required)|remote\..*\.promisor|extensions\.partialclone|core\.worktree"
    r"|hook\..*\.(command|event))$"
)
# What a repository's own settings may name: of these only filters are run, with a commit, and told before it.
_PROGRAMS = (
    r"^(filter\..*\.(clean|process)|core\.(sshcommand|editor|pager|askpass|gitproxy|alternaterefscommand)"
    r"|sequence\.editor|diff\.external|diff\..*\.(command|textconv)|gpg\.(.*\.)?program|gpg\.ssh\.defaultkeycommand"
    r"|credential\.(.*\.)?helper|trailer\..*\.(command|cmd)|merge\..*\.driver|pager\..*"
    r"|remote\..*\.(promisor|uploadpack|receivepack|vcs)|extensions\.partialclone|hook\..*\.(command|event))$"
)
# What git runs where nothing else is set.
_USUAL = {
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.x509.program": "gpgsm",
    "gpg.ssh.program": "ssh-keygen",
}
_OF_REPOSITORY = ("local", "worktree")
# What a commit has as the person set it.
_FOR_LOOKING = frozenset({"core.hooksPath", "core.quotePath"})
_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    # None of that name exists: nothing is fetched, whatever a missing object's remote is.
    "GIT_ALLOW_PROTOCOL": "none",
}
# Of every comparison: nothing of the repository decides how it is made.
DIFF = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--submodule=short")
# Of repositories within: they are not looked into, or only which commit each is at.
NOT_INTO = "--ignore-submodules=all"
ONLY_THEIR_COMMITS = "--ignore-submodules=dirty"


class GitFailed(BadArgument):
    """git says no, or a hook does; the first line of what they say is the reason, the text has all of it."""

    def __init__(self, what: str, ran: Ran) -> None:
        words = shortened(plain((ran.errors + ran.output).decode(errors="replace"))).strip()
        first = words.partition("\n")[0][: limits.GIT_WORDS_CHARS].rstrip(".")
        why = "it took too long" if ran.timed_out else first or f"exit code {ran.exit_code}"
        super().__init__(f"{what}: {why}.", "GIT_FAILED", text=f"{what}: {why}.\n{words}")


class Repository:
    """The repository that a folder belongs to."""

    def __init__(self, runner: SandboxRunner, folder: str) -> None:
        """Find it, without asking git, which would take a folder that only looks like one."""
        self._runner = runner
        self.folder = folder
        self.root = _root(folder)
        self._settings: Mapping[str, str] | None = None

    @property
    def is_whole(self) -> bool:
        """Return whether all of it lies in the folder, so that it can be changed from there."""
        return self.root == self.folder

    async def ask(self, *arguments: str, codes: Sequence[int] = (0,)) -> bytes:
        """Return what git answers; nothing of the repository is run or changed."""
        ran = await self._git(arguments, await self._known())
        if ran.exit_code not in codes or ran.timed_out:
            raise GitFailed(f"git {arguments[0]} failed", ran)
        return ran.output

    async def line(self, *arguments: str) -> str:
        """Return the one line that git answers; empty when it has no answer."""
        return (await self.ask(*arguments, codes=(0, 1, 128))).decode(errors="replace").strip()

    async def reach(self, root: str = "") -> Reach:
        """Return how far it, or a repository within it, reaches; found out without asking git about it."""
        place = await asyncio.to_thread(layout, root or self.root)
        settings: list[Setting] = []
        files = list(place.settings)
        for number, file in enumerate(files):
            if number == limits.GIT_SETTINGS_FILES:
                raise BadArgument("The repository's settings are in too many files; git is not asked.", BAD_REPOSITORY)
            found = await self._written_in(file)
            settings += found
            files += await asyncio.to_thread(included, place, found, self.folder, files)
        return await asyncio.to_thread(reach, place, settings, self.folder)

    async def _written_in(self, file: str) -> list[Setting]:
        """Return the settings of one file, and of none that it names."""
        ran = await self._git(("config", "--file", file, "--no-includes", "--list", "-z"), {}, os.devnull)
        if ran.exit_code or ran.timed_out or ran.cut:
            raise GitFailed("git could not read its settings", ran)
        return await asyncio.to_thread(_settings, ran.output, file)

    async def programs(self) -> Mapping[str, str]:
        """Return the settings of the repository's own, not the person's, that name programs."""
        ran = await self._git(("config", "--includes", "--show-scope", "-z", "--get-regexp", _PROGRAMS), _HARMLESS)
        if ran.exit_code not in (0, 1) or ran.timed_out:
            raise GitFailed("git could not read its settings", ran)
        return await asyncio.to_thread(_own_settings, ran.output)

    async def hooks_folder(self) -> str:
        """Return where its hooks are, by its own settings."""
        settings = {name: value for name, value in _HARMLESS.items() if name != "core.hooksPath"}
        ran = await self._git(("rev-parse", "--git-path", "hooks"), settings)
        return os.path.join(self.folder, ran.output.decode(errors="surrogateescape").strip())

    async def run(self, *arguments: str) -> Ran:
        """Run git as the person would, with the repository's hooks and filters, and no other program of its own."""
        own = [name for name in await self.programs() if not is_filter(name)]
        settings = {name: value for name, value in _HARMLESS.items() if name not in _FOR_LOOKING}
        settings |= dict(_without(name) for name in own)
        program = shutil.which("git", path=program_path(os.environ.get("PATH", ""), self.root)) or "git"
        given = {"GIT_NO_LAZY_FETCH": "1", **_as_variables(settings)}
        return await self._runner.run((program, *arguments), self.root, limits.COMMIT_TIME, environment=given)

    async def _known(self) -> Mapping[str, str]:
        """Return the settings under which nothing is run, whatever filters and remotes the repository has."""
        if self._settings is None:
            self._settings = await self._harmless()
        return self._settings

    async def _harmless(self) -> dict[str, str]:
        ran = await self._git(("config", "--includes", "--name-only", "-z", "--get-regexp", _NAMED), _HARMLESS)
        if ran.exit_code not in (0, 1):
            raise GitFailed("git could not read its settings", ran)
        return await asyncio.to_thread(_switched_off, ran.output)

    async def _git(self, arguments: Sequence[str], settings: Mapping[str, str], git: str = "") -> Ran:
        given = {"GIT_DIR": git or os.path.join(self.root, ".git"), "GIT_WORK_TREE": self.root}
        # Nobody is asked about this: it is not for the project to say which program git is.
        given["PATH"] = program_path(os.environ.get("PATH", ""), self.root)
        environment = {**_ENVIRONMENT, **given, **_as_variables(settings)}
        return await self._runner.run(("git", *arguments), self.folder, limits.GIT_TIME, environment=environment)


# What git says can be megabytes: it is taken apart beside the event loop.


def _settings(output: bytes, file: str) -> list[Setting]:
    pairs = (entry.partition("\n") for entry in output.decode(errors="surrogateescape").split("\0") if entry)
    return [Setting(name, value, file) for name, _, value in pairs]


def _own_settings(output: bytes) -> dict[str, str]:
    said = output.decode(errors="surrogateescape").split("\0")
    pairs = ((scope, *entry.partition("\n")[::2]) for scope, entry in zip(said[::2], said[1::2], strict=False))
    return {name: value for scope, name, value in pairs if scope in _OF_REPOSITORY}


def _switched_off(output: bytes) -> dict[str, str]:
    names = (name for name in output.decode(errors="surrogateescape").split("\0") if name)
    return {**_HARMLESS, **dict(_without(name) for name in names)}


def is_filter(name: str) -> bool:
    """Return whether a setting names a program that files go through on their way into a commit."""
    return name.startswith("filter.") and name.endswith((".clean", ".process"))


def _without(name: str) -> tuple[str, str]:
    """Return the setting under which another names nothing, or what is usual."""
    if name.startswith("hook."):
        # Newer versions of git run such commands beside the hooks in its folder; no empty one is allowed.
        return f"{name.rpartition('.')[0]}.enabled", "false"
    return name, _USUAL.get(name, "false" if name.endswith(("required", "promisor")) else "")


def _as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as git takes them from its environment: by `-c` a name could not have any character."""
    given = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        given |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return given


def _root(folder: str) -> str:
    found = folder
    while not os.path.lexists(os.path.join(found, ".git")):
        if found == os.path.dirname(found):
            raise BadArgument(f"{folder} is not in a git repository.", "NOT_A_REPOSITORY")
        found = os.path.dirname(found)
    return found
