"""Terminals and commands as people and the agent share them."""

from collections.abc import AsyncGenerator
from typing import Annotated, Literal, Protocol

import msgspec

from pilothouse.types import limits
from pilothouse.types.json import Body, Frozen
from pilothouse.types.setting import Setting

SandboxMode = Literal["on", "off"]
# What holds commands on this machine: a mount namespace, the kernel's own file rules, or nothing.
SandboxKind = Literal["bubblewrap", "landlock", "none"]


class TerminalSettings(Frozen, frozen=True):
    """What a person sets about commands and terminals."""

    shell: Annotated[
        str,
        Setting(
            tab="terminal",
            part="Shell",
            label="Shell",
            note="For terminals that are opened from now on.",
            what="The shell",
            choices={shell: shell for shell in ("bash", "zsh", "fish", "sh")},
        ),
    ] = "bash"
    sandbox: SandboxMode = "on"
    # Whether commands may use the network without being asked about it.
    network: bool = False
    timeout: Annotated[
        float,
        Setting(
            tab="terminal",
            part="Time",
            label="Seconds that a command may take",
            note="When a call does not say otherwise; what takes longer is ended with everything it started.",
            least=1,
            most=limits.COMMAND_TIME_MOST,
            refusal=f"A command's time is from 1 second to {limits.COMMAND_TIME_MOST / 3600:g} hours.",
        ),
    ] = 600.0


class SandboxView(Frozen, frozen=True):
    """What holds commands here, and a warning where nothing does."""

    kind: SandboxKind
    warning: str = ""
    # Whether it keeps commands off the network.
    offline: bool = False

    @property
    def is_open(self) -> bool:
        """Return whether it holds commands, but each of them has a network, asked for or not."""
        return self.kind != "none" and not self.offline


class TerminalView(Frozen, frozen=True):
    """A terminal session of a conversation."""

    session_id: str
    conversation_id: str
    tty_name: str
    working_directory: str
    shell: str
    pid: int
    columns: int
    rows: int
    started_at: float
    # Bytes of output so far; an index into the recording.
    end_index: int
    running: bool
    exit_code: int | None = None
    sandbox: SandboxKind = "none"


class ProcessView(Frozen, frozen=True):
    """A command in the background."""

    id: str
    conversation_id: str
    item_id: str
    command: str
    pid: int
    started_at: float
    ended_at: float | None = None
    exit_code: int | None = None
    output_bytes: int = 0


class TerminalList(Frozen, frozen=True):
    """The sessions and background commands of a conversation, and what holds them."""

    sessions: tuple[TerminalView, ...]
    processes: tuple[ProcessView, ...]
    sandbox: SandboxView


class ProcessOutput(Frozen, frozen=True):
    """What a background command wrote, from an index on."""

    output: str
    end_index: int
    running: bool
    exit_code: int | None = None


class Recording(msgspec.Struct, frozen=True):
    """A session's raw bytes with their times, as an asciicast document."""

    name: str
    data: bytes


class TerminalSize(Body, frozen=True):
    """How large a person's window is."""

    columns: int = 80
    rows: int = 24


class TerminalSelection(Body, frozen=True):
    """What a person selected in the terminal."""

    text: str


class Ran(msgspec.Struct, frozen=True):
    """How a program that was waited for ended, and what it wrote."""

    # As shells say it: 128 and the number of the signal that ended it; 127 when there is no such program.
    exit_code: int
    output: bytes
    errors: bytes
    seconds: float
    timed_out: bool = False
    # Whether it wrote more than was kept.
    cut: bool = False


# --- a terminal's WebSocket ----------------------------------------------------------------------


class OpenTerminal(Body, frozen=True, tag_field="type", tag="open"):
    """Start the session or take the one that runs, and send its output from a byte on."""

    columns: int = 80
    rows: int = 24
    start: int = msgspec.field(default=0, name="from")


class TypeInput(Body, frozen=True, tag_field="type", tag="input"):
    """What the person typed."""

    data: str


class ResizeTerminal(Body, frozen=True, tag_field="type", tag="resize"):
    """The window has another size now."""

    columns: int
    rows: int


class SelectText(Body, frozen=True, tag_field="type", tag="select"):
    """The person selected something."""

    text: str


TerminalCommand = OpenTerminal | TypeInput | ResizeTerminal | SelectText


class TerminalOpened(msgspec.Struct, frozen=True, tag_field="type", tag="opened", rename="camel"):
    """The session is there; binary frames follow, the first of them with the byte at this index."""

    terminal: TerminalView
    index: int


class TerminalEnded(msgspec.Struct, frozen=True, tag_field="type", tag="ended", rename="camel"):
    """The session has ended."""

    exit_code: int | None


class TerminalProblem(msgspec.Struct, frozen=True, tag_field="type", tag="problem", rename="camel"):
    """A command could not be carried out, and why."""

    message: str


TerminalFrame = TerminalOpened | TerminalEnded | TerminalProblem


class TerminalHost(Protocol):
    """Terminals as the page and the command line see them."""

    async def terminals(self, conversation_id: str) -> TerminalList:
        """Return what runs in a conversation."""

    async def open_terminal(
        self, conversation_id: str, working_directory: str, columns: int, rows: int
    ) -> TerminalView:
        """Return the conversation's session; started if there is none or the folder is another."""

    def output(self, conversation_id: str, from_index: int) -> AsyncGenerator[tuple[int, bytes], None]:
        """Yield (index, bytes) from an index on, as they come, until the session ends."""

    async def type(self, conversation_id: str, data: bytes) -> None:
        """Give input to the session, as it is."""

    async def resize(self, conversation_id: str, columns: int, rows: int) -> None:
        """Tell the session how large its window is."""

    async def select(self, conversation_id: str, text: str) -> None:
        """Remember what the person has selected in the terminal."""

    async def close_terminal(self, conversation_id: str) -> None:
        """End the session and everything in it."""

    async def process_output(self, conversation_id: str, process_id: str, from_index: int) -> ProcessOutput:
        """Return what a background command wrote."""

    async def stop_process(self, conversation_id: str, process_id: str) -> ProcessView:
        """End a background command and everything it started."""

    async def recording(self, conversation_id: str) -> Recording:
        """Return the recording of the conversation's session."""

    async def forget(self, conversation_id: str) -> None:
        """End everything of a conversation that was deleted."""

    async def restored(self, conversation_id: str) -> None:
        """Keep what is left of a conversation that was brought back."""
