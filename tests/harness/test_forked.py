"""A process that is forked from one that has imported the product ends as one of the usual kind does."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.support import forked
from tests.support.commands import environment

pytestmark = pytest.mark.slow

PATIENCE = 20.0
# What the interpreter reads when it starts is different: such a process is never forked.
USUAL = {"PYTHONHASHSEED": "7"}
ENDINGS = {
    "a code": "import sys; print('out'); sys.exit(3)",
    "a large code": "raise SystemExit(259)",
    "a sentence": "import sys; sys.exit('a sentence')",
    "nothing": "print('out', end='')",
    "an exception": "raise ValueError('in vain')",
    "an interruption": "raise KeyboardInterrupt",
    "what is to be done at the end": "import atexit; atexit.register(print, 'at the end')",
    "a thread that is still at work": (
        "import threading\ndef work():\n    threading.Event().wait(0.2)\n    print('done')\n"
        "threading.Thread(target=work).start()"
    ),
    "work that was handed on": (
        "import threading, concurrent.futures as f\ndef work():\n    threading.Event().wait(0.2)\n    print('done')\n"
        "f.ThreadPoolExecutor().submit(work)"
    ),
    "a temporary folder": "import tempfile; kept = tempfile.TemporaryDirectory(dir='.', prefix='kept')",
    "garbage that is not quiet": (
        "class Loud:\n    def __del__(self):\n        print('gone')\nloud = Loud()\nloud.itself = loud\ndel loud"
    ),
    "a coroutine that nobody awaited": "async def work(): pass\nloud = [work()]\nloud.append(loud)\ndel loud",
    "a signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "output that nobody takes": "import sys; sys.stdout = open('/dev/full', 'w'); print('out')",
}


def ended(folder: Path, name: str, **variables: str) -> tuple[int, bytes, list[bytes], list[str]]:
    """Run a module; return its code, its output, the last line of its errors, and what it left in its folder."""
    pipe = subprocess.PIPE
    env = environment(folder, **variables)
    with forked.start([name], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as process:
        out, err = process.communicate(timeout=PATIENCE)
    left = sorted(path.name for path in folder.glob("kept*"))
    # A traceback's first lines name what stands between the interpreter and the module.
    return process.returncode, out, err.splitlines()[-1:], left


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_a_forked_process_ends_like_any_other(tmp_path: Path, ending: str) -> None:
    (tmp_path / "ending.py").write_text(ending, encoding="utf-8")
    assert ended(tmp_path, "ending") == ended(tmp_path, "ending", **USUAL)


@pytest.mark.parametrize("arguments", [["usage"], ["run", "hi", "--model", "scripted:script.yaml"], ["no", "command"]])
def test_a_command_says_nothing_more_where_the_interpreter_takes_all_apart(
    tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "script.yaml").write_text("- ok", encoding="utf-8")
    told = [_told(tmp_path / kind, tmp_path, arguments, more) for kind, more in (("a", {}), ("b", USUAL))]
    assert told[0] == told[1]
    assert "Exception" not in told[1][2]


def _told(home: Path, folder: Path, arguments: list[str], more: dict[str, str]) -> tuple[int, str, str]:
    pipe, env = subprocess.PIPE, environment(home, **more)
    with forked.start(["pilothouse", *arguments], cwd=folder, env=env, stdout=pipe, stderr=pipe) as process:
        out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out.decode(), err.decode()


def test_a_server_says_nothing_more_where_the_interpreter_takes_all_apart(tmp_path: Path) -> None:
    pipe, env = subprocess.PIPE, environment(tmp_path / "home", **USUAL)
    with forked.start(["pilothouse", "serve", "--no-browser", "--port", "0"], env=env, stdout=pipe, stderr=pipe) as it:
        assert it.stdout is not None
        it.stdout.readline()
        it.send_signal(signal.SIGTERM)
        _, err = it.communicate(timeout=PATIENCE)
    assert it.returncode == 0, err
    assert b"Exception" not in err
    assert b"Traceback" not in err
