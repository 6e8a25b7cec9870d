"""The sandbox: what holds commands here, found out by really trying, and how a command is put into it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.files.walk import open_folder
from pilothouse.tools.sandbox import launch
from pilothouse.tools.sandbox.bubblewrap import INSIDE, JOINING, OWN_FOLDER, Enclosure, bwrap_arguments
from pilothouse.tools.sandbox.cgroups import Group, Groups
from pilothouse.tools.sandbox.environment import WITHOUT_HOME, command_environment, program_path, system_program
from pilothouse.tools.sandbox.hidden import EMPTIED, hidden_places, is_the_machines, second_names, services
from pilothouse.tools.sandbox.plans import caps_plan, held_open, landlock_plan, written
from pilothouse.tools.sandbox.repositories import unshared
from pilothouse.tools.sandbox.resource_limits import Caps
from pilothouse.tools.sandbox.seccomp import filter_of
from pilothouse.tools.sandbox.visible import Named, View, shown_places
from pilothouse.types import limits
from pilothouse.types.guarded_places import is_in
from pilothouse.types.ids import new_id
from pilothouse.types.json import JsonObject
from pilothouse.types.terminals import SandboxKind, SandboxView, TerminalSettings

# The version of Landlock that knows sockets without a file.
_SCOPING = 6
_LAUNCHER = str(Path(launch.__file__).resolve())
# What this very program runs on, as it was when it started.
_OURS = (sys.prefix, sys.base_prefix, os.path.realpath(sys.executable))
_NOTHING = (
    "Nothing holds commands on this machine: they can read and change everything that you can. "
    "Install bubblewrap, or look at each command before you allow it."
)
_NO_PROGRAMS = (
    "No command can be started: this worker was told to start no programs, and no other one that does was there. "
    "Start a worker without --no-programs."
)
_OFF = "The sandbox is switched off: commands can read and change everything that you can."
_OPEN = "Landlock on this machine cannot keep commands off the network. Install bubblewrap for that."
# Fails where anything outside can be reached: by datagrams, which ask for names, too; by TCP; by a nameless socket.
_REACHING = """\
import socket, sys
def reaches(family, kind, address):
    try:
        with socket.socket(family, kind) as out:
            out.settimeout(1)
            out.connect(address)
            out.send(b"x")
    except OSError:
        return False
    return True
there = "127.0.0.1"
sys.exit(
    reaches(socket.AF_INET, socket.SOCK_DGRAM, (there, int(sys.argv[1])))
    or reaches(socket.AF_INET, socket.SOCK_STREAM, (there, int(sys.argv[2])))
    or reaches(socket.AF_UNIX, socket.SOCK_DGRAM, "\\0" + sys.argv[3])
)
"""
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """A command that is to be started."""

    argv: tuple[str, ...]
    folder: str
    # The device and inode of the folder that was allowed; another one in its place is refused.
    identity: tuple[int, int] | None = None
    network: bool = False
    environment: Mapping[str, str] = {}
    # Whether a person types at it: it gets a terminal of its own.
    terminal: bool = False
    # Commands of the same owner share their temporary files.
    owner: str = ""
    # A folder of ours that outlives the command and keeps its caches; `folder` may lie in it.
    room: str = ""
    # A folder of ours that it may look into.
    installed: str = ""
    # What of emptied places it sees beside what every command does.
    named: Named = Named()


class Prepared(msgspec.Struct, frozen=True):
    """How a command is started, with everything around it."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    # What it inherits beside its input and output.
    descriptors: tuple[int, ...]
    group: Group | None
    # Whether it is bubblewrap that stands between us and the command.
    enclosed: bool
    # git's own folders in its folder, which take their settings from nowhere else.
    repositories: tuple[str, ...] = ()


class _Ground(msgspec.Struct, frozen=True):
    """What a command stands on beside its folder."""

    scratch: str
    # Empty where its caches go with its temporary files.
    cache: str
    view: View
    # Whether its folder is one of ours.
    in_room: bool

    @property
    def own(self) -> tuple[str, ...]:
        """Return what it may change."""
        return (self.scratch, self.cache) if self.cache else (self.scratch,)


class Sandbox:
    """Finds out once what holds commands, and prepares them."""

    def __init__(
        self,
        data_folder: Path,
        settings: Callable[[], TerminalSettings],
        *,
        caps: Caps | None = None,
        only: SandboxKind | None = None,
        programs: bool = True,
    ) -> None:
        self._data_folder = data_folder
        self._settings = settings
        self._caps = caps or Caps()
        # The strongest kind to try, for tests of the others.
        self._only = only
        # Whether anything may be started at all; where not, nothing is tried for that either.
        self._programs = programs
        self._found: SandboxView | None = None if programs else SandboxView(kind="none", warning=_NO_PROGRAMS)
        self._groups: Groups | None = None
        self._bwrap = ""
        self.scratch = Scratch(data_folder / "scratch")

    @property
    def caps(self) -> Caps:
        """Return the bounds of every command."""
        return self._caps

    @property
    def settings(self) -> TerminalSettings:
        """Return what the person set."""
        return self._settings()

    def view(self) -> SandboxView:
        """Return what holds commands now, and a warning where nothing does."""
        if self._programs and self._settings().sandbox == "off":
            return SandboxView(kind="none", warning=_OFF)
        return self.found()

    def found(self) -> SandboxView:
        """Return what can hold something here, whatever is set for commands."""
        if self._found is None:
            self._found = self._probe()
        return self._found

    def kind(self) -> SandboxKind:
        """Return what holds commands now."""
        return self.view().kind

    def _probe(self) -> SandboxView:
        if sys.platform != "linux":
            return SandboxView(kind="none", warning=_NOTHING)
        self._bwrap = system_program("bwrap")
        if self._bwrap and self._only in (None, "bubblewrap") and self._works("bubblewrap"):
            return SandboxView(kind="bubblewrap", offline=True)
        if self._only in (None, "landlock") and launch.landlock_version() and self._works("landlock"):
            closed = self._keeps_off("landlock")
            return SandboxView(kind="landlock", warning="" if closed else _OPEN, offline=closed)
        return SandboxView(kind="none", warning=_NOTHING)

    def _keeps_off(self, kind: SandboxKind) -> bool:
        """Try from inside to reach sockets of ours: Landlock by itself holds TCP, and nothing else."""
        name = f"\0pilothouse-{new_id('p')}"
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            stream = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            nameless = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            datagrams.bind(("127.0.0.1", 0))
            nameless.bind(name)
            ports = (str(each.getsockname()[1]) for each in (datagrams, stream))
            return self._works(kind, (sys.executable, "-I", "-S", "-c", _REACHING, *ports, name[1:]))
        # Where there is nothing to be reached nobody can tell.
        return False

    def _works(self, kind: SandboxKind, argv: tuple[str, ...] = ("/bin/sh", "-c", ":")) -> bool:
        """Run a program that does nothing: the only test that counts."""
        try:
            with self._prepared(Order(argv=argv, folder="/usr"), kind) as ready:
                done = subprocess.run(
                    ready.argv,
                    env=ready.environment,
                    cwd="/",
                    pass_fds=ready.descriptors,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=limits.SANDBOX_PROBE,
                    check=False,
                )
                if ready.group is not None:
                    ready.group.remove()
        except (OSError, subprocess.SubprocessError, BadArgument):
            return False
        return done.returncode == 0

    @contextlib.contextmanager
    def prepared(self, order: Order, kind: SandboxKind | None = None) -> Iterator[Prepared]:
        """Prepare a command; what that needs is held open until the command was started."""
        if not self._programs:
            raise BadArgument(_NO_PROGRAMS, "NOT_STARTED")
        with self._prepared(order, kind or self.kind()) as ready:
            yield ready

    def shows(self, path: str) -> bool:
        """Return whether a command sees this path, once it is named."""
        hidden = hidden_places(self._data_folder)
        return not any(is_in(name, place) for name in (path, os.path.realpath(path)) for place in hidden)

    @contextlib.contextmanager
    def _prepared(self, order: Order, kind: SandboxKind) -> Iterator[Prepared]:
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(open_folder(order.folder))
            if order.identity is not None and folder.identity != order.identity:
                raise BadArgument(f"{order.folder} was replaced by another folder since this was allowed.", "CONFLICT")
            ground = self._ground(order, kind)
            descriptors: tuple[int, ...] = ()
            if kind == "bubblewrap":
                if program := filter_of("all"):
                    descriptors = (stack.enter_context(held_open(program)),)
                argv = self._enclosed(order, folder.identity, ground, descriptors)
                plan: JsonObject = {"terminal": True} if order.terminal else {}
                plan |= {"apart": True} if order.network and self._scopes() else {}
                plan |= {"keyless": True} if plan else {}
            else:
                argv, plan = list(order.argv), self._held(order, folder.descriptor)
                if kind == "landlock":
                    version = launch.landlock_version()
                    plan |= landlock_plan(order.folder, ground.own, ground.view, version, order.network)
                descriptors = (folder.descriptor,)
            if plan:
                told = stack.enter_context(written(plan))
                descriptors = (*descriptors, told)
                argv = [sys.executable, "-I", "-S", _LAUNCHER, str(told), *argv]
            group = self._group()
            if group is not None:
                argv = ["/bin/sh", "-c", JOINING, "sh", group.joined_by, *argv]
            places = INSIDE if kind == "bubblewrap" else (ground.scratch, ground.cache or f"{ground.scratch}/cache")
            given = command_environment(*places, network=order.network, attended=order.terminal)
            if kind == "landlock" and any(is_in(os.path.realpath(given.get("HOME", "/")), place) for place in EMPTIED):
                given |= WITHOUT_HOME
            given |= order.environment
            theirs = unshared(order.folder) if kind == "bubblewrap" else ()
            ready = Prepared(tuple(argv), given, descriptors, group, kind == "bubblewrap", theirs)
            try:
                yield ready
            except BaseException:
                if group is not None:
                    group.remove()
                raise

    def _ground(self, order: Order, kind: SandboxKind) -> _Ground:
        hidden = hidden_places(self._data_folder) if kind != "none" else ()
        in_room = bool(order.room) and is_in(order.folder, order.room)
        if not in_room and any(is_in(order.folder, place) for place in hidden):
            raise BadArgument(f"{order.folder} is hidden from commands; choose another working directory.", "HIDDEN")
        if kind != "none" and is_the_machines(order.folder):
            raise BadArgument(f"Nothing holds a command in {order.folder}; choose another working directory.", "HIDDEN")
        cache = os.path.join(order.room, "cache") if order.room else ""
        if cache:
            os.makedirs(cache, mode=0o700, exist_ok=True)
        # What listens on a socket does what it is told outside, also where that can only be read.
        sockets = services() if kind != "none" else ()
        shown = shown_places(_also(order.named), order.folder, (*hidden, *sockets)) if kind != "none" else ()
        if not in_room:
            hidden = (*hidden, *second_names(order.folder, hidden))
        return _Ground(self.scratch.of(order.owner), cache, View(hidden, shown, sockets, order.installed), in_room)

    def _enclosed(self, order: Order, identity: tuple[int, int], ground: _Ground, filters: Sequence[int]) -> list[str]:
        enclosure = Enclosure(
            folder=OWN_FOLDER if ground.in_room else order.folder,
            source=order.folder,
            identity=identity,
            scratch=ground.scratch,
            cache=ground.cache,
            view=ground.view,
            network=order.network,
            terminal=order.terminal,
            filters=tuple(filters),
        )
        return bwrap_arguments(self._bwrap, enclosure, self._caps, order.argv)

    def _scopes(self) -> bool:
        """Return whether Landlock can be put around bubblewrap, which must not need more rights than ours then."""
        return launch.landlock_version() >= _SCOPING and not os.stat(self._bwrap).st_mode & stat.S_ISUID

    def _held(self, order: Order, folder: int) -> JsonObject:
        return {
            "hold": True,
            "terminal": order.terminal,
            "folder": folder,
            "host": os.getpid(),
            "caps": caps_plan(self._caps),
        }

    def _group(self) -> Group | None:
        if self._groups is None:
            self._groups = Groups()
        return self._groups.make(self._caps)

    def close(self) -> None:
        """Remove what commands left in their temporary folders."""
        self.scratch.close()


def _also(named: Named) -> Named:
    """Return what is named, with what every command needs: the programs on the path, and what we run on."""
    path = program_path(os.environ.get("PATH", "")).split(":")
    return Named((*_OURS, *path, *named.programs), named.places)


class Scratch:
    """Folders that stand for /tmp inside a sandbox; commands of one owner see the same."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._ours = base / str(os.getpid())

    def of(self, owner: str) -> str:
        """Return an owner's folder; made when it is needed."""
        folder = self._ours / (_UNFIT.sub("_", owner) or "shared")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.path.realpath(folder)

    def forget(self, owner: str) -> None:
        """Remove an owner's files."""
        shutil.rmtree(self._ours / (_UNFIT.sub("_", owner) or "shared"), ignore_errors=True)

    def sweep(self) -> None:
        """Remove what processes that are gone have left."""
        for folder in self._base.iterdir() if self._base.is_dir() else ():
            if folder.name.isdigit() and folder != self._ours and not _is_alive(int(folder.name)):
                shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Remove everything of this process."""
        shutil.rmtree(self._ours, ignore_errors=True)
        with contextlib.suppress(OSError):
            self._base.rmdir()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
