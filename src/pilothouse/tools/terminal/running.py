"""The operations that are about commands: running one, and looking at what came of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from pilothouse.tools.arguments import (
    BadArgument,
    optional_bool,
    optional_float,
    optional_int,
    optional_string,
    success,
)
from pilothouse.tools.terminal.commands import Outcome, run_command
from pilothouse.tools.terminal.masking import Ends, covered_ends, held_back
from pilothouse.tools.terminal.operation import TerminalOperation
from pilothouse.tools.terminal.shells import text_command
from pilothouse.tools.terminal.text import decode, for_model, last_line, plain, shortened, whole_of
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse, Effect
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolError, ToolOutput
from pilothouse.types.terminals import ProcessOutput

_NETWORK = "The command had no network. If it needs one, ask for it with `network`: true."
_HINTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), sentence)
    for pattern, sentence in (
        (
            r"\bsudo:|no new privileges|must be setuid root|Permission denied.{0,200}\bsu\b|su: ",
            "Commands have no administrator's rights and cannot get them.",
        ),
        (
            r"problem with the editor|editor '?false|Aborting commit due to empty commit message",
            "There is no editor here: give the text as an option, such as -m.",
        ),
        (
            r"EOFError|EOF when reading|terminal is required|not a (?:tty|terminal)|/dev/tty|terminal prompts disabled"
            r"|Inappropriate ioctl for device|could not read (?:Username|Password)|no askpass",
            "Nobody can type here: the command has neither input nor a terminal. "
            "Give what it asks for as an argument, or use create_session and send_input.",
        ),
        (
            r"Read-only file system|Device or resource busy",
            "Only the working directory and /tmp can be written to; and in them not what makes other programs run "
            "something by themselves, such as hooks and settings of build servers, editors and agents. "
            "Change such a file with file_operations.",
        ),
        (r"Disk quota exceeded|No space left on device", "The disk is full."),
        (r"Resource temporarily unavailable|Cannot fork|can't start new thread", "It started too many processes."),
    )
)
_UNREACHED = re.compile(
    r"Network is unreachable|Could not resolve|name resolution|EAI_AGAIN|Name or service not known|ENETUNREACH"
    r"|nodename nor servname|Unknown host|getaddrinfo",
    re.IGNORECASE,
)
# How the kernel ends what goes beyond its bounds: 128 and the number of the signal.
_SIGNALS = {
    137: "It was killed; most often that means too much memory.",
    152: "It used up its processor time.",
    153: "It wrote a file that is larger than a command may write.",
}
_LAST_WORDS = 4_000


class RunCommand(TerminalOperation):
    """Runs a command and waits for it, or leaves it running."""

    name = "run_command"
    doing = "Running"
    effects: frozenset[Effect] = frozenset({"reads", "writes", "runs", "sends"})
    properties: ClassVar[JsonObject] = {
        "command": {"type": "string", "description": "A command line for bash."},
        "argv": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Instead of command: a program and its arguments, without a shell.",
        },
        "timeout": {"type": "number", "description": "Seconds until it is ended."},
        "is_background": {"type": "boolean", "description": "Leave it running and return its process_id."},
        "network": {"type": "boolean", "description": "Whether it needs the network; it has none otherwise."},
    }

    @property
    def times(self) -> CallTimes:
        """Return the longest that a command may take here; its own time ends it before."""
        most = max(self._terminals.sandbox.settings.timeout, limits.COMMAND_TIME) + limits.COMMAND_SLACK
        return CallTimes(most)

    def about(self, arguments: Mapping[str, object]) -> str:
        argv = arguments.get("argv")
        return str(arguments.get("command") or (" ".join(map(str, argv)) if isinstance(argv, list) else ""))

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        said = {"network": "With the network", "is_background": "In the background, where undo does not cover it"}
        return [sentence for key, sentence in said.items() if arguments.get(key)]

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return the command and what holds it."""
        self._timeout(arguments)
        return await self.command_access(await self._meant(arguments, context), context)

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Run exactly what was allowed."""
        now = await self._meant(arguments, context)
        self.hold(context, now)
        argv = now.argv or text_command(now.text)
        order = self.order(context, now, argv)
        said = now.text or " ".join(now.argv)
        if optional_bool(arguments, "is_background", False):
            process = await self._terminals.start_background(order, context.call_id, said)
            self._terminals.remember(context.conversation_id, said)
            return success(
                f"It runs in the background; process_id: {process.id}. Look at it with get_terminal_output.",
                {"processId": process.id},
            )
        feedback.progress(None, None, "Started")
        async with self.covering(context, now) as covered:
            outcome = await run_command(
                self._terminals.sandbox,
                order,
                self._timeout(arguments),
                lambda recent: feedback.progress(None, None, self._now(recent)),
            )
        self._terminals.remember(context.conversation_id, said, outcome.exit_code)
        ends = covered_ends(outcome.output, self._terminals.cover)
        output = _told(outcome, ends, now, self._timeout(arguments))
        return covered.added_to(output)

    def _now(self, recent: bytes) -> str:
        """Return the newest line."""
        cover = self._terminals.cover
        return last_line(cover.cover(recent[: len(recent) - held_back(recent, cover)]))

    async def _meant(self, arguments: JsonObject, context: CallContext) -> CommandUse:
        text, argv = optional_string(arguments, "command"), _words(arguments.get("argv"))
        if bool(text.strip()) == bool(argv):
            raise BadArgument("Give either `command`, a text, or `argv`, a list of words.")
        _check_text(" ".join((text, *argv)))
        network = optional_bool(arguments, "network", False) or self._terminals.sandbox.settings.network
        ends = not optional_bool(arguments, "is_background", False)
        return await self.use(context, text, argv, network, ends=ends)

    def _timeout(self, arguments: JsonObject) -> float:
        set_by_person = self._terminals.sandbox.settings.timeout
        wanted = optional_float(arguments, "timeout", set_by_person)
        most = max(set_by_person, limits.COMMAND_TIME)
        if not 0 < wanted <= most:
            raise BadArgument(
                f"`timeout` must be above 0 and at most {most:g} seconds; what takes longer runs with is_background."
            )
        return wanted


def _check_text(text: str) -> None:
    """Refuse what the system would not take as a command."""
    if "\0" in text:
        raise BadArgument("The command has a NUL character in it.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise BadArgument("The command has characters in it that are no text.") from None
    if size > limits.COMMAND_CHARS:
        raise BadArgument("The command is too long; put it into a file and run that.")


def _words(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise BadArgument("`argv` must be a list of texts.")
    if value and not value[0].strip():
        raise BadArgument("The first word of `argv` must name a program.")
    return tuple(value)


def _told(outcome: Outcome, ends: Ends, command: CommandUse, timeout: float) -> ToolOutput:
    """Return a command's end for the model, and its output for people."""
    output = for_model(ends)
    endings = {
        "ended": f"Exit code {outcome.exit_code} after {outcome.seconds:.1f} s.",
        "timeout": f"It was ended after {timeout:g} s, with everything that it started.",
        "disk": "It was ended because the disk was almost full.",
    }
    said = " ".join(filter(None, (endings[outcome.ending], hint(outcome.exit_code, output, command.network))))
    error = None
    if outcome.ending != "ended":
        error = ToolError("TIMEOUT" if outcome.ending == "timeout" else "DISK_FULL", said)
    parts = whole_of(plain(decode(ends.head + ends.tail)), output)
    data: JsonObject = {
        "exitCode": outcome.exit_code,
        "outputBytes": outcome.output.total,
        "sandbox": command.sandbox or "none",
    }
    return ToolOutput(text=f"{said}\n{output or '(no output)'}", error=error, data=data, parts=parts)


class GetTerminalOutput(TerminalOperation):
    """Looks at a background command."""

    name = "get_terminal_output"
    doing = "Reading output"
    properties: ClassVar[JsonObject] = {
        "process_id": {"type": "string", "description": "What run_command returned."},
        "from_index": {"type": "integer", "description": "Only output from this byte on; end_index of the last look."},
    }

    def about(self, arguments: Mapping[str, object]) -> str:
        return str(arguments.get("process_id") or "")

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Return its output and whether it runs."""
        process_id = optional_string(arguments, "process_id")
        found = await self._terminals.terminals(context.conversation_id)
        if not process_id:
            if not found.processes:
                raise BadArgument("No command of this conversation runs in the background.", "NOT_FOUND")
            process_id = found.processes[-1].id
        index = optional_int(arguments, "from_index", 0)
        process = self._terminals.background(context.conversation_id, process_id)
        output = process.output(index)
        state = "It is running" if output.running else f"It ended with exit code {output.exit_code}"
        note = f" {process.note}" if process.note else ""
        told = shortened(output.output)
        text = f"{state}; end_index: {output.end_index}.{note}\n{told or '(no new output)'}"
        return success(text, _data(process_id, output), whole_of(output.output, told))


def _data(process_id: str, output: ProcessOutput) -> JsonObject:
    return {
        "processId": process_id,
        "endIndex": output.end_index,
        "running": output.running,
        "exitCode": output.exit_code,
    }


class GetLastCommand(TerminalOperation):
    """Tells the last command of the conversation."""

    name = "get_last_command"
    doing = "Looking up the last command"

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Return it, with its exit code where that is known."""
        last = self._terminals.last_command(context.conversation_id)
        if last is None:
            return success("No command was run in this conversation yet.")
        code = "" if last.exit_code is None else f"\nExit code {last.exit_code}."
        return success(f"{last.text}{code}", {"command": last.text, "exitCode": last.exit_code})


def hint(exit_code: int, output: str, network: bool) -> str:
    """Return what helps with a command that failed; nothing where its own words say it all."""
    if exit_code == 0:
        return ""
    last = output[-_LAST_WORDS:]
    if not network and _UNREACHED.search(last):
        return _NETWORK
    found = (sentence for pattern, sentence in _HINTS if pattern.search(last))
    return next(found, _SIGNALS.get(exit_code, ""))
