"""A program of its own: takes on its bounds, then becomes the command or stays to hold it.

Started as `python -I -S launch.py FD COMMAND…`; the descriptor is a file with the plan as JSON (see `plans.py`).
It imports nothing of ours, so that it starts fast, and nothing of it runs in the host.

Holding means: everything that descends from the command is a child of this process in the end (a subreaper adopts
orphans), and ends with it: when the command does, when the host says so, and when the host dies.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import platform
import resource
import signal
import stat
import struct
import sys
import termios
import time
from typing import Any, NoReturn

# What a shell says when it finds no program, and when it may not start one.
NOT_FOUND, NOT_STARTED = 127, 126
# Told on standard error when nothing could be started because the bounds could not be taken on.
FAILED = "pilothouse: the sandbox could not be entered"
# How long what was killed may need to be gone.
_GONE = 2.0

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_CHILD_SUBREAPER = 1, 38, 36
_PR_SET_SECCOMP, _PR_CAPBSET_DROP = 22, 24
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_CAPSET = {"x86_64": 126, "aarch64": 91}
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_JOIN_SESSION = 1
_READ_FILE, _READ_DIR, _EXECUTE, _WRITE_FILE, _TRUNCATE, _REFER = 1 << 2, 1 << 3, 1 << 0, 1 << 1, 1 << 14, 1 << 13
# Everything the first version knows, creating devices included.
_ALL_OF_V1 = (1 << 13) - 1
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_MAKE_DEVICES = 1 << 6 | 1 << 11


def libc() -> Any:
    """Return the C library."""
    return ctypes.CDLL(None, use_errno=True)


def landlock_version() -> int:
    """Return which version of Landlock the kernel has; 0 when it has none."""
    return max(0, int(libc().syscall(_CREATE_RULESET, None, 0, 1)))


def checked(result: int, what: str) -> int:
    """Return the result of a system call, or raise for a failed one."""
    if result < 0:
        raise OSError(ctypes.get_errno(), what)
    return result


def main() -> None:
    """Take on the plan, and never return."""
    descriptor, command = int(sys.argv[1]), sys.argv[2:]
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        plan = json.load(file)
    if plan.get("terminal"):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if plan.get("keyless"):
        leave_keys()
    if plan.get("apart"):
        keep_apart()
    if not plan.get("hold"):
        become(command)
    hold(plan, command)


def keep_apart() -> None:
    """Reach no service of this machine that listens under a name without a file: no mount hides those."""
    try:
        library = libc()
        checked(library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        ruleset = checked(library.syscall(_CREATE_RULESET, struct.pack("=QQQ", 0, 0, 1), 24, 0), "ruleset")
        checked(library.syscall(_RESTRICT_SELF, ruleset, 0), "restrict")
        os.close(ruleset)
    except OSError as error:
        os.write(2, f"{FAILED}: {error}\n".encode())
        os._exit(NOT_STARTED)


def become(command: list[str]) -> NoReturn:
    """Replace this program by the command."""
    try:
        os.execvp(command[0], command)  # noqa: S606 - this is what the program is for
    except OSError as error:
        os.write(2, f"{command[0]}: {os.strerror(error.errno or 0)}\n".encode())
        os._exit(NOT_FOUND if error.errno == errno.ENOENT else NOT_STARTED)


# --- holding -------------------------------------------------------------------------------------


def hold(plan: dict[str, Any], command: list[str]) -> NoReturn:
    """Start the command and stay until it and everything it started is gone."""
    parent = plan["host"]
    if sys.platform == "linux":
        library = libc()
        library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(NOT_STARTED)
    awaited = {signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited | {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})
    child = os.fork()
    if child == 0:
        enter(plan, command)
    if "folder" in plan:
        os.close(plan["folder"])
    while True:
        status = reap(child)
        if status is not None:
            break
        if signal.sigwait(awaited) in (signal.SIGTERM, signal.SIGHUP):
            status = 128 + signal.SIGTERM
            break
    end_all()
    os._exit(status)


def reap(child: int) -> int | None:
    """Reap everything that ended; return how the command did, once it has."""
    status = None
    while True:
        try:
            pid, raw = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == child:
            code = os.waitstatus_to_exitcode(raw)
            status = code if code >= 0 else 128 - code


def end_all() -> None:
    """End everything that descends from us: first stopped, so that nothing new appears meanwhile."""
    until = time.monotonic() + _GONE
    for number in (signal.SIGSTOP, signal.SIGKILL):
        known: set[int] = set()
        while time.monotonic() < until:
            found = descendants(os.getpid())
            for pid in found:
                send(pid, number)
            if number == signal.SIGSTOP and found <= known:
                break
            known |= found
            reap(0)
            if not found:
                return
            time.sleep(0.002)


def send(pid: int, number: int) -> None:
    """Send a signal to a process that may be gone."""
    try:
        os.kill(pid, number)
    except OSError:
        return


def descendants(pid: int) -> set[int]:
    """Return all living processes that descend from one."""
    parents: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return set()
    for name in filter(str.isdigit, names):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents.setdefault(int(fields[1]), []).append(int(name))
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        for child in parents.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


# --- entering ------------------------------------------------------------------------------------


def enter(plan: dict[str, Any], command: list[str]) -> NoReturn:
    """Take on every bound of the plan, then become the command."""
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
        if "folder" in plan:
            os.fchdir(plan["folder"])
        bound(plan.get("caps", {}))
        if plan.get("landlock"):
            drop_capabilities()
            checked(libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
            restrict(plan)
            if plan["filter"]:
                refuse(bytes.fromhex(plan["filter"]))
        if "folder" in plan:
            # Kept open it would lead a command out of where it is held.
            os.close(plan["folder"])
    except Exception as error:
        os.write(2, f"{FAILED}: {error}\n".encode())
        os._exit(NOT_STARTED)
    become(command)


def bound(caps: dict[str, int]) -> None:
    """Take on the bounds that the kernel keeps for each process."""
    wanted = {resource.RLIMIT_CORE: 0}
    if "file" in caps:
        wanted[resource.RLIMIT_FSIZE] = caps["file"]
    if sys.platform == "linux" and caps:
        wanted[resource.RLIMIT_DATA] = caps["memory"]
        # Here everything of this account counts; for root the kernel does not count at all.
        if os.getuid() != 0:
            wanted[resource.RLIMIT_NPROC] = own_tasks() + caps["tasks"]
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("800")
    for kind, most in wanted.items():
        hard = resource.getrlimit(kind)[1]
        held = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (held, held))


def own_tasks() -> int:
    """Return how many processes and threads this account has now."""
    count = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{name}").st_uid == os.getuid():
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    count += int(file.read().rpartition(")")[2].split()[17])
        except OSError:
            continue
    return count


def drop_capabilities() -> None:
    """Give up what root may do beyond its files."""
    if os.geteuid() != 0:
        return
    library = libc()
    for number in range(64):
        if library.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) < 0:
            break
    header = struct.pack("=Ii", 0x20080522, 0)
    checked(library.syscall(_CAPSET[platform.machine()], header, bytes(24)), "capset")


def restrict(plan: dict[str, Any]) -> None:
    """Allow what the plan names and nothing else of the file system."""
    library, version = libc(), plan["landlock"]
    handled = _ALL_OF_V1 | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    # Binding and connecting by TCP; abstract sockets and signals out of the sandbox.
    ports = 3 if version >= 4 and not plan["network"] else 0
    scoped = (3 if not plan["network"] else 2) if version >= 6 else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    attributes = struct.pack("=QQQ", handled, ports, scoped)[:size]
    ruleset = checked(library.syscall(_CREATE_RULESET, attributes, size, 0), "ruleset")
    reading = _READ_FILE | _READ_DIR | _EXECUTE
    everything = handled & ~_MAKE_DEVICES
    for paths, rights in (
        (plan["read"], reading),
        (plan["write"], everything),
        (plan["devices"], _READ_FILE | _WRITE_FILE | _TRUNCATE & handled),
    ):
        for path in paths:
            allow(library, ruleset, path, rights)
    if plan["whole_folder"]:
        allow_open(library, ruleset, plan["folder"], everything)
    checked(library.syscall(_RESTRICT_SELF, ruleset, 0), "restrict")
    os.close(ruleset)


def allow(library: Any, ruleset: int, path: str, rights: int) -> None:
    """Allow something below a path; what is gone by now needs no rule."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allow_open(library, ruleset, descriptor, rights)
    finally:
        os.close(descriptor)


def allow_open(library: Any, ruleset: int, descriptor: int, rights: int) -> None:
    """Allow something below an open file or folder; a link stands for nothing."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISLNK(mode):
        return
    rule = struct.pack("=Qi", rights if stat.S_ISDIR(mode) else rights & _FILE_RIGHTS, descriptor)
    checked(library.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0), "rule")


# --- refusing ------------------------------------------------------------------------------------


def leave_keys() -> None:
    """Have a session of keys of its own: what the person's session holds stays there."""
    number = _KEYCTL.get(platform.machine())
    if number is not None:
        # Where there are no keys, none are left behind.
        libc().syscall(number, _JOIN_SESSION, None)


def refuse(program: bytes) -> None:
    """Make no call any more that the filter refuses (see `refused.py`)."""
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    checked(libc().prctl(_PR_SET_SECCOMP, 2, header, 0, 0), "seccomp")


if __name__ == "__main__":
    main()
