"""What a command in a sandbox asks of the kernel itself: keys, programs in the kernel, typing at the terminal."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse.tools.sandbox.sandbox import Order, Sandbox
from pilothouse.tools.sandbox.seccomp import REFUSED
from pilothouse.types.terminals import SandboxKind, TerminalSettings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux")
KINDS: tuple[SandboxKind, ...] = ("bubblewrap", "landlock")
KEY = b"canary-session-key-5be1f09c62"
_OWN = {"x86_64": 0, "aarch64": 2}[platform.machine()] if sys.platform == "linux" else 0
_NUMBERS = {call.name: call.numbers[_OWN] for call in REFUSED}
_SEARCH, _READ, _JOIN, _SESSION = 10, 11, 1, -3
# Reads a key of the session as any program may, and says what it found or which error it got.
READING = f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    done = libc.syscall(*arguments)
    return (done, errno.errorcode.get(ctypes.get_errno(), "")) if done < 0 else (done, "")
key, why = call({_NUMBERS["keyctl"]}, {_SEARCH}, ctypes.c_long({_SESSION}), b"user", b"pilothouse-test", 0)
buffer = ctypes.create_string_buffer(100)
size, _ = call({_NUMBERS["keyctl"]}, {_READ}, ctypes.c_long(key), buffer, 100) if key > 0 else (0, "")
print(buffer.raw[:max(size, 0)].decode() or why)
"""


@pytest.fixture
def planted() -> Iterator[None]:
    """Put a key into the session of this process, as signing in to a network's files does."""
    libc = ctypes.CDLL(None, use_errno=True)
    key = libc.syscall(_NUMBERS["add_key"], b"user", b"pilothouse-test", KEY, len(KEY), ctypes.c_long(_SESSION))
    if key < 0:
        pytest.skip("this machine keeps no keys: whoever runs the tests may not use them either")
    yield
    libc.syscall(_NUMBERS["keyctl"], 3, ctypes.c_long(key))


def held(tmp_path: Path, kind: SandboxKind, *argv: str, network: bool = False, terminal: bool = False) -> str:
    """Run a command in a sandbox of this kind and return what it printed."""
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    sandbox = Sandbox(tmp_path / "home", TerminalSettings, only=kind)
    try:
        assert sandbox.found().kind == kind
        order = Order(argv=argv, folder=str(folder), network=network, owner="c1")
        with sandbox.prepared(order, kind) as ready:
            done = subprocess.run(
                ready.argv,
                env=ready.environment,
                cwd="/",
                pass_fds=ready.descriptors,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=60,
                check=False,
            )
            if ready.group is not None:
                ready.group.remove()
    finally:
        sandbox.close()
    return (done.stdout + done.stderr).decode().strip()


def python(source: str) -> tuple[str, ...]:
    return sys.executable, "-I", "-S", "-c", source


def test_a_key_of_the_session_is_readable_outside(planted: None) -> None:
    done = subprocess.run(python(READING), capture_output=True, timeout=60, check=True)
    assert done.stdout.strip() == KEY, "the twin: without a sandbox any program reads it"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("network", [False, True])
def test_a_key_of_the_session_is_not_readable_inside(
    tmp_path: Path, planted: None, kind: SandboxKind, network: bool
) -> None:
    assert held(tmp_path, kind, *python(READING), network=network) == "EPERM"
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-S', '-c', {READING!r}])"
    assert held(tmp_path, kind, *python(nested), network=network) == "EPERM"


@pytest.mark.parametrize("kind", KINDS)
def test_every_call_of_the_table_is_refused_with_its_error(tmp_path: Path, kind: SandboxKind) -> None:
    numbers = json.dumps({call.name: call.numbers[_OWN] for call in REFUSED})
    source = f"""
import ctypes, errno, json
libc = ctypes.CDLL(None, use_errno=True)
told = {{}}
for name, number in json.loads({numbers!r}).items():
    ctypes.set_errno(0)
    libc.syscall(number, ctypes.c_long(-1), ctypes.c_long(-1), ctypes.c_long(-1), ctypes.c_long(-1), ctypes.c_long(-1))
    told[name] = errno.errorcode[ctypes.get_errno()]
print(json.dumps(told))
"""
    told = json.loads(held(tmp_path, kind, *python(source)))
    assert told == {call.name: errno.errorcode[call.error] for call in REFUSED}


@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_of_another_architecture_lead_nowhere(tmp_path: Path, kind: SandboxKind) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("only there a process can use two sets of numbers at once")
    source = f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
done = libc.syscall(0x40000000 + {_NUMBERS["keyctl"]}, 0, -3, 0)
print(done, errno.errorcode[ctypes.get_errno()])
"""
    assert held(tmp_path, kind, *python(source)) == "-1 ENOSYS"
    # int 0x80: keyctl by its number of the older architecture, with the answer as the exit code.
    code = "b8200100 00 31db 31c9 31d2 cd80 c3"
    older = f"""
import ctypes, mmap
code = bytes.fromhex({code!r})
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(code)
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))())
"""
    assert held(tmp_path, kind, *python(older)) in (str(-errno.EPERM), "")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_typed_into_the_persons_terminal(tmp_path: Path, kind: SandboxKind) -> None:
    source = """
import errno, fcntl, os
master, slave = os.openpty()
for request in (0x5412, 0x541C, 0x100005412):
    try:
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        done = libc.ioctl(slave, ctypes.c_ulong(request), b"x")
        print(done, errno.errorcode[ctypes.get_errno()])
    except OSError as error:
        print(error)
import termios
termios.tcgetattr(slave)
print("fine")
"""
    assert held(tmp_path, kind, *python(source)).split("\n") == ["-1 EPERM"] * 3 + ["fine"]


@pytest.mark.parametrize("kind", KINDS)
def test_git_works_where_the_settings_in_a_hidden_home_are_denied(
    tmp_path: Path, kind: SandboxKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = tmp_path / "person"
    person.mkdir()
    (person / ".gitconfig").write_text("[user]\n\tname = Person\n")
    monkeypatch.setenv("HOME", str(person))
    assert held(tmp_path, kind, "sh", "-c", "git init -q r && cd r && git status -s && echo well") == "well"


@pytest.mark.parametrize("kind", KINDS)
def test_ordinary_programs_work_as_before(tmp_path: Path, kind: SandboxKind) -> None:
    threads = (
        "import threading, multiprocessing.pool, ssl, sqlite3, asyncio; asyncio.run(asyncio.sleep(0)); print('well')"
    )
    assert held(tmp_path, kind, *python(threads)) == "well"
    assert held(tmp_path, kind, "git", "--version").startswith("git version")
    assert held(tmp_path, kind, "sh", "-c", "git init -q r && cd r && git status -s && echo well") == "well"
    if shutil.which("gcc"):
        build = "echo 'int main(void){return 7;}' > a.c && gcc a.c -o a; ./a; echo $?"
        assert held(tmp_path, kind, "sh", "-c", build) == "7"
    node = shutil.which("node") or next(
        map(str, Path(sys.prefix).glob("lib/python*/site-packages/nodejs*/bin/node")), ""
    )
    if node:
        script = "require('fs').promises.readFile('/etc/hostname').then(() => console.log('well'))"
        assert held(tmp_path, kind, node, "-e", script) == "well"
    assert os.path.isdir(tmp_path)
