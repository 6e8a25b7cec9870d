"""A command line as people publish it, made into what could be added."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from pilothouse.mcp.proposals.blanks import Blanks
from pilothouse.mcp.proposals.open_values import Sorted, words
from pilothouse.mcp.proposals.texts import shown
from pilothouse.mcp.servers.entries import derived_name
from pilothouse.mcp.servers.forms import recognised
from pilothouse.types import limits
from pilothouse.types.errors import BadField
from pilothouse.types.proposals import Proposal
from pilothouse.types.servers import ManualSource, PackageType, ServerInput

STARTERS = frozenset(
    ["npx", "uvx", "docker", "podman", "node", "python", "python3", "uv", "bunx", "bun", "pnpm", "deno", "pipx", "npm"]
)
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VERBS = {"npm": "npm", "pypi": "PyPI", "docker": "docker"}
# Options of `docker run` that have a value of their own.
_VALUED = frozenset(
    re.findall(
        r"\S+",
        "-e --env -v --volume --mount --name --network --net -p --publish -u --user -w --workdir --entrypoint "
        "-l --label --pull --platform -m --memory --cpus --add-host --cap-add --cap-drop --device --dns -h --hostname "
        "--security-opt --ip --gpus --restart --shm-size --tmpfs --ulimit --log-driver --pids-limit --runtime --link "
        "--volumes-from --cidfile --cgroup-parent --group-add --ipc --pid --userns --uts --stop-signal --expose "
        "--env-file --stop-timeout",
    )
)


class Line(msgspec.Struct, frozen=True):
    """A command with what belongs to it."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = {}
    name: str = ""
    notes: tuple[str, ...] = ()
    source: ManualSource = ManualSource()


def proposal_of(line: Line, blanks: Blanks | None = None) -> Proposal:
    """Return the server that a command line stands for; raise a BadField for one that is none."""
    if len(line.argv) > limits.PROPOSAL_WORDS:
        raise BadField((), "The command line is too long.")
    line = _unwrapped(line)
    blanks = blanks or Blanks()
    env = Sorted("env", blanks)
    for name, value in line.env.items():
        env.put(name, value)
    argv, notes = line.argv, list(line.notes)
    if argv[0] in ("docker", "podman") and argv[1:2] == ("run",):
        argv = (*argv[:2], *_Container(argv[2:], env, notes).words())
    argv = (argv[0], *words(argv[1:], blanks))
    if argv[0] == "npx" and len(argv) > 1 and not {"-y", "--yes"} & set(argv[1:3]):
        # Nobody is there to answer its question.
        argv = ("npx", "-y", *argv[1:])
    package, _ = recognised(argv)
    kind: PackageType = "docker" if argv[0] in ("docker", "podman") else package.type
    name = line.name or derived_name(package, argv[1:])
    if kind == "docker" and package.type == "command":
        name = line.name or _image_name(argv)
    # A name that nobody gave is found when it is added, so that it is no other's.
    server = ServerInput(name=line.name, command=argv[0], args=argv[1:], env=env.secret, plain_env=env.plain)
    return Proposal(
        name=name,
        kind=kind,
        runs=_runs(kind, package.identifier if package.type != "command" else "", argv),
        server=server,
        source=line.source,
        fields=blanks.fields,
        auth_type="api_key" if env.secret and blanks.auth_type == "none" else blanks.auth_type,
        notes=tuple(notes),
    )


def _unwrapped(line: Line) -> Line:
    """Return a line without what only a shell needs around it."""
    argv, env, notes = list(line.argv), dict(line.env), list(line.notes)
    if argv[:1] == ["env"]:
        argv = argv[1:]
    while argv and (hit := _ASSIGNED.fullmatch(argv[0])):
        env[hit[1]] = hit[2]
        argv = argv[1:]
    if len(argv) > 2 and argv[0].lower() in ("cmd", "cmd.exe") and argv[1].lower() == "/c":
        notes.append("“cmd /c” was left out: it is only needed on Windows.")
        argv = argv[2:]
    if not argv:
        raise BadField((), "There is no command in this line.")
    return msgspec.structs.replace(line, argv=tuple(argv), env=env, notes=tuple(notes))


class _Container:
    """The words behind `docker run`: variables are taken out, so that no key stands among the arguments."""

    def __init__(self, argv: Sequence[str], env: Sorted, notes: list[str]) -> None:
        self._argv = list(argv)
        self._env = env
        self._notes = notes

    def words(self) -> tuple[str, ...]:
        """Return the words as they are started: attached to us, and gone when they end."""
        kept: list[str] = []
        at = 0
        while at < len(self._argv) and self._argv[at].startswith("-"):
            name, sign, value = self._argv[at].partition("=")
            if name in _VALUED and not sign:
                value = self._argv[at + 1] if at + 1 < len(self._argv) else ""
                at += 1
            kept += self._option(name, value, joined=bool(sign))
            at += 1
        if at >= len(self._argv):
            raise BadField((), "The line names no image to run.")
        return ("-i", "--rm", *kept, *self._argv[at:])

    def _option(self, name: str, value: str, *, joined: bool) -> tuple[str, ...]:
        if name in ("-i", "--interactive", "--rm"):
            return ()
        if name in ("-it", "-ti", "-t", "--tty"):
            self._notes.append("“-t” was left out: a server speaks to a program, not to a terminal.")
            return ()
        if name in ("-d", "--detach"):
            self._notes.append("“-d” was left out: a server in the background could not be spoken to.")
            return ()
        if name in ("-e", "--env"):
            return self._variable(value)
        if name not in _VALUED:
            return (f"{name}={value}" if joined else name,)
        return (f"{name}={value}",) if joined else (name, value)

    def _variable(self, given: str) -> tuple[str, ...]:
        name, sign, value = given.partition("=")
        if not re.fullmatch(r"[A-Za-z_][\w.]*", name):
            raise BadField((), f"“{shown(name, 40)}” cannot be the name of an environment variable.")
        known = name in self._env.plain or name in self._env.secret
        if sign:
            self._env.put(name, value)
        elif not known:
            self._env.ask(name)
        return ("-e", name)


def _image_name(argv: Sequence[str]) -> str:
    image = _image(argv)
    return re.sub(r"[:@].*$", "", image.rstrip("/").rpartition("/")[2]) or "container"


def _image(argv: Sequence[str]) -> str:
    rest = list(argv[2:])
    while rest and rest[0].startswith("-"):
        taken = 2 if rest[0] in _VALUED else 1
        rest = rest[taken:]
    return rest[0] if rest else ""


def _runs(kind: PackageType, identifier: str, argv: Sequence[str]) -> str:
    if kind == "docker":
        return shown(f"docker {identifier or _image(argv)}", limits.PROPOSAL_ABOUT_CHARS)
    if kind in _VERBS:
        return shown(f"{_VERBS[kind]} {identifier}", limits.PROPOSAL_ABOUT_CHARS)
    return shown(" ".join(argv), limits.PROPOSAL_ABOUT_CHARS)
