"""Running npm and uv: bounded in time and output, and gone with everything that they started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from uuid import uuid4

import msgspec

from pilothouse.mcp.client.processes import environment, kill_marked, signal_group, with_us
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.server_sandbox import SandboxedProgram

# Where the person's own registry, its credentials and its certificates are told.
_CONFIGURED = ("npm_config_", "NPM_CONFIG_", "UV_", "PIP_")
_PIECE = 64 * 1024

# Puts a command with its variables, which may change one folder, into a sandbox.
Within = Callable[[tuple[str, ...], Mapping[str, str], str], AbstractContextManager[SandboxedProgram]]


class Around(msgspec.Struct, frozen=True):
    """What code of a package has around it while that is installed: a home that is not the person's, and a sandbox."""

    home: Path
    within: Within | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A program to run to its end."""

    argv: Sequence[str]
    folder: Path
    variables: Mapping[str, str] = {}
    given: bytes = b""
    seconds: float = limits.INSTALL_TIMEOUT
    # Whether code of strangers may run in it: it is given no credentials then.
    runs_code: bool = False
    within: Within | None = None
    output_bytes: int = limits.INSTALLER_OUTPUT_BYTES


class Done(msgspec.Struct, frozen=True):
    """How it ended, and what it wrote."""

    code: int
    output: bytes
    said: str

    @property
    def ok(self) -> bool:
        return self.code == 0


async def run(job: Job) -> Done:
    """Return how a program ended; raise a PilothouseError when it takes too long or cannot be started."""
    mark = uuid4().hex
    process, sandboxed = await _started(job, mark)
    try:
        async with asyncio.timeout(job.seconds):
            output, said, _ = await asyncio.gather(
                _read(process.stdout, job.output_bytes),
                _read(process.stderr, limits.INSTALLER_OUTPUT_BYTES),
                _give(process.stdin, job.given),
            )
            code = await process.wait()
    except TimeoutError:
        name = Path(job.argv[0]).name
        message = f"{name} did not finish within {job.seconds:g} s."
        raise PilothouseError("server_failed", message, fix="Check the network and try again.") from None
    finally:
        await _end(process, mark, sandboxed)
    return Done(code, output, said.decode(errors="replace"))


async def _started(job: Job, mark: str) -> tuple[asyncio.subprocess.Process, SandboxedProgram | None]:
    argv, given, folder, sandboxed = tuple(job.argv), _environment(job, mark), str(job.folder), None
    try:
        with contextlib.ExitStack() as held:
            if job.within is not None:
                sandboxed = held.enter_context(job.within(argv, given, folder))
                argv, given, folder = sandboxed.argv, {**sandboxed.environment}, "/"
            process = await asyncio.create_subprocess_exec(
                *with_us(argv),
                stdin=asyncio.subprocess.PIPE if job.given else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=folder,
                env=given,
                pass_fds=sandboxed.descriptors if sandboxed is not None else (),
                start_new_session=True,
            )
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PilothouseError("server_failed", f"{job.argv[0]} could not be started: {why}.") from None
    return process, sandboxed


def _environment(job: Job, mark: str) -> dict[str, str]:
    given = environment({}, mark)
    if not job.runs_code:
        given |= {name: value for name, value in os.environ.items() if name.startswith(_CONFIGURED)}
    return {**given, **job.variables}


async def _read(stream: asyncio.StreamReader | None, most: int) -> bytes:
    """Return what is written, its end where it is too much."""
    data = bytearray()
    while stream is not None and (piece := await stream.read(_PIECE)):
        data += piece
        if len(data) > 2 * most:
            del data[:-most]
    return bytes(data[-most:])


async def _give(stream: asyncio.StreamWriter | None, given: bytes) -> None:
    if stream is None:
        return
    with contextlib.suppress(OSError):
        stream.write(given)
        await stream.drain()
    stream.close()


async def _end(process: asyncio.subprocess.Process, mark: str, sandboxed: SandboxedProgram | None) -> None:
    """End it, with all that it started, also where whoever waits was cancelled."""
    if process.returncode is None:
        signal_group(process.pid, signal.SIGKILL)

    async def end() -> None:
        await process.wait()
        await asyncio.to_thread(kill_marked, mark)
        if sandboxed is not None:
            await asyncio.to_thread(sandboxed.ended)

    await asyncio.shield(asyncio.ensure_future(end()))
