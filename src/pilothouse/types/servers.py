"""MCP servers: what `config.json` keeps of each, what a person is shown, and what a form sends."""

from __future__ import annotations

from typing import Literal

import msgspec

from pilothouse.types import limits
from pilothouse.types.json import Body, Frozen, JsonObject
from pilothouse.types.models import FileProblem
from pilothouse.types.server_keys import KeyInput, KeyPlace, ServerKey
from pilothouse.types.sign_ins import ServerAccount

PackageType = Literal["npm", "pypi", "docker", "mcpb", "http", "command"]
Transport = Literal["stdio", "http"]
# How a URL is spoken to; "auto" finds out and remembers.
Wire = Literal["auto", "streamable", "sse", "websocket"]
# Which of the protocol's two eras; "auto" probes and remembers.
Era = Literal["auto", "modern", "handshake"]
AuthType = Literal["none", "api_key", "keyfile", "oauth"]
ServerState = Literal[
    "disabled",
    "needs_consent",
    "needs_sign_in",
    "idle",
    "connecting",
    "connected",
    "reconnecting",
    "disconnected",
    "error",
]
ToolState = Literal["offered", "off", "changed", "quarantined"]


# --- as `config.json` keeps them (there with underscores, absent when unset) ---------------------


class OfficialSource(msgspec.Struct, frozen=True, tag_field="type", tag="official", rename="camel"):
    """Found in the official registry."""

    name: str
    version: str


class SmitherySource(msgspec.Struct, frozen=True, tag_field="type", tag="smithery", rename="camel"):
    """Found in Smithery."""

    qualified_name: str


class RegistrySource(msgspec.Struct, frozen=True, tag_field="type", tag="registry", rename="camel"):
    """Found in a registry that the person added."""

    registry: str
    name: str
    version: str


class ManualSource(msgspec.Struct, frozen=True, tag_field="type", tag="manual", rename="camel", omit_defaults=True):
    """Typed by the person, or taken from another program's file (`imported_from`)."""

    url: str = ""
    imported_from: str = ""


Source = OfficialSource | SmitherySource | RegistrySource | ManualSource


class Package(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What is run or reached; `runtime_hint` replaces the usual starter (npx, uvx, docker)."""

    type: PackageType
    identifier: str
    runtime_hint: str | None = None
    # The exact version that is installed and started; empty for what its starter finds (npx, uvx).
    version: str = ""
    program: str = ""  # Which of its programs is started; empty for the one of its own name.
    requirements: tuple[str, ...] = ()  # What is installed beside a package of PyPI: "mcp<2".
    # Whether the scripts that packages of npm run when they are installed may run; of PyPI, whether one may be built.
    scripts: bool = False


class ToolTimes(msgspec.Struct, frozen=True, omit_defaults=True):
    """How long a call may take, in seconds."""

    total: float | None = None


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a person sets for a server, kept as a form sends it."""

    cwd: str | None = None
    wire: Wire = "auto"
    era: Era = "auto"
    subprotocols: tuple[str, ...] = ()
    always_on: bool = False
    # One process or connection per conversation, for servers that keep state between calls.
    per_conversation: bool = False
    read_only: bool = False
    # The person's word that nothing it is told leaves this machine; what it says is a stranger's text all the same.
    cannot_send: bool = False
    # Runs in the sandbox of commands: it can change its folder only, or one of its own where it has none.
    sandbox: bool = False
    # Whether it may use the network in there.
    network: bool = True
    off_tools: tuple[str, ...] = ()
    times: ToolTimes = ToolTimes()
    tool_times: dict[str, ToolTimes] = {}
    # SHA-256 of a certificate that the person accepted although nobody vouches for it.
    trusted_certificate: str | None = None
    # Folders that the server is told it may work in.
    roots: tuple[str, ...] = ()


class ServerSettings(ServerOptions, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The entry's `config`: how the server is started or reached. Keys that are not named here are kept."""

    # What follows the package on the command line, or the arguments of a plain command.
    args: tuple[str, ...] = ()
    # A value is literal or "secret:NAME". In it, as in arguments, headers and the URL, "${secret:NAME}" stands for a
    # secret of this server.
    env: dict[str, str] = {}
    url: str = ""
    # A value is literal or "secret:NAME". "Authorization" may hold a bearer token.
    headers: dict[str, str] = {}
    # Keys that are read at each start, by the id of each: "env:NAME", "header:NAME" or "slot:NAME".
    keys: dict[str, KeyPlace] = {}
    connect_timeout: float | None = None
    idle_stop: float | None = None


class ServerEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of `mcps` in `config.json`."""

    id: str
    name: str
    enabled: bool = True
    source: Source = ManualSource()
    package: Package
    transport: Transport
    auth_type: AuthType = "none"
    keyfile_path: str | None = None
    config: ServerSettings = ServerSettings()


# --- as a person sees them (camelCase) -----------------------------------------------------------


class Consent(Frozen, frozen=True):
    """What a person agrees to before a local command starts for the first time, in full."""

    # Bound to everything below; a change of any of it makes another fingerprint.
    fingerprint: str
    # The program as it was found, with every argument; control characters are made visible.
    argv: tuple[str, ...]
    program: str
    program_owner: str
    environment: tuple[str, ...]
    # Empty for a folder of its own, in a sandbox.
    folder: str
    # What holds it, in one sentence; empty when nothing does.
    sandbox: str = ""
    installs: tuple[str, ...] = ()  # What is installed before it starts, a sentence each.
    # The files that it is bound to, the program first: when one of them changes, the person is asked again.
    files: tuple[str, ...] = ()
    # "Runs arbitrary code", "Mounts / into the container", …: what a careful reader would notice.
    warnings: tuple[str, ...] = ()
    # What differs from what was agreed to before, one line each; empty the first time.
    changes: tuple[str, ...] = ()


class ProcessFacts(Frozen, frozen=True):
    """The process behind a local server."""

    pid: int
    started_at: float
    memory_bytes: int | None = None


class AboutChange(Frozen, frozen=True):
    """What a server says about itself and the person has not accepted; models get what was accepted before."""

    fingerprint: str
    # What differs, one line each.
    changes: tuple[str, ...]
    approved: JsonObject
    now: JsonObject
    # The person looked, and keeps what was.
    refused: bool = False


class ServerView(Frozen, frozen=True):
    """A server as lists show it; secrets are named, never shown."""

    id: str
    name: str
    # The prefix of its tools.
    slug: str
    enabled: bool
    state: ServerState
    # "Connected (3 tools)", "Connecting...", "Error: …", "Disabled", "Idle".
    label: str
    transport: Transport
    wire: Wire
    package: Package
    source: Source
    auth_type: AuthType
    # The command line or the URL, without secrets.
    address: str
    settings: ServerSettings
    # The names of environment variables and headers whose value is kept as a secret.
    secret_names: tuple[str, ...]
    tool_count: int
    # Those it has, and those it said that it lacks.
    keys: tuple[ServerKey, ...] = ()
    # Tools that wait for a look: changed since they were approved, or quarantined.
    changed_tools: int = 0
    quarantined_tools: int = 0
    protocol_version: str = ""
    # Why it is spoken to in an older protocol than it offers; empty where it is not.
    protocol_note: str = ""
    server_version: str = ""
    connected_at: float | None = None
    last_used_at: float | None = None
    last_health_check: float | None = None
    last_error: str = ""
    # What to do about it, where there is something.
    fix: str = ""
    restarts: int = 0
    process: ProcessFacts | None = None
    consent: Consent | None = None
    # What a careful reader would notice about its name and its address.
    warnings: tuple[str, ...] = ()
    # What stands as "${secret:NAME}" in its arguments, variables, headers or URL.
    secret_slots: tuple[str, ...] = ()
    # It says something else about itself than before; None when it does not.
    about_change: AboutChange | None = None
    # None when nobody is signed in to it.
    signed_in: ServerAccount | None = None


class ServerList(Frozen, frozen=True):
    """All servers in their order, and what is wrong with the file if anything is."""

    servers: tuple[ServerView, ...]
    problem: FileProblem | None = None


class ServerTool(Frozen, frozen=True):
    """A tool of a server as it was last listed."""

    server_id: str
    server: str
    # The server's own name for it.
    name: str
    # `server.tool` for people, `server__tool` for models.
    qualified_name: str
    wire_name: str
    title: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None
    annotations: JsonObject
    fingerprint: str
    state: ToolState
    # Why it is quarantined or what changed, one sentence.
    reason: str = ""
    # What a scanner noticed in its texts.
    warnings: tuple[str, ...] = ()
    # The definition that was approved, while a changed one waits.
    approved: JsonObject | None = None
    # The changed one, in the same form.
    now: JsonObject | None = None
    # How long a call of it may take, in seconds, by its own setting, its server's, or the usual.
    seconds: float = limits.MCP_TOTAL


class ToolList(Frozen, frozen=True):
    """Tools across servers; `next` is the cursor for the rest."""

    tools: tuple[ServerTool, ...]
    next: str | None = None


class LogLine(Frozen, frozen=True):
    """A line a server wrote (stderr), sent (logging), or that could not be understood (stdout)."""

    at: float
    source: Literal["stderr", "logging", "stdout", "host"]
    level: str
    text: str


class ServerLog(Frozen, frozen=True):
    """The newest lines of a server, oldest first."""

    lines: tuple[LogLine, ...]


class Latency(Frozen, frozen=True):
    """One call: when, which tool, how long, and whether it succeeded."""

    at: float
    tool: str
    seconds: float
    ok: bool


class StateChange(Frozen, frozen=True):
    """A server came into a state."""

    at: float
    state: ServerState
    reason: str = ""


class ServerStatus(Frozen, frozen=True):
    """What the status page shows of one server."""

    server_id: str
    server: str
    state: ServerState
    calls: tuple[Latency, ...]
    history: tuple[StateChange, ...]
    errors: tuple[LogLine, ...]


class StatusReport(Frozen, frozen=True):
    """The state of all servers over time."""

    servers: tuple[ServerStatus, ...]


class ToolTrial(Frozen, frozen=True):
    """What a tool gave when a person tried it."""

    ok: bool
    text: str
    content: tuple[JsonObject, ...]
    structured: JsonObject | None
    elapsed_ms: int
    needs_sign_in: bool = False


class ServerTest(Frozen, frozen=True):
    """What connecting to a server gave, in one sentence."""

    ok: bool
    message: str
    fix: str = ""
    needs_sign_in: bool = False
    tools: int = 0
    protocol_version: str = ""
    seconds: float = 0.0


class ImportQuestion(Frozen, frozen=True):
    """Something that another program would have filled in, and that only the person knows."""

    # "input:token", "env:TOKEN", "workspaceFolder": the key of its answer.
    id: str
    label: str
    secret: bool
    options: tuple[str, ...] = ()
    # What it is when nothing is typed.
    default: str = ""
    # An environment variable that is set here; the answer null takes its value.
    is_set: bool = False
    # Who needs it.
    servers: tuple[str, ...] = ()


class ImportQuestions(Frozen, frozen=True):
    """What to ask before a file is imported."""

    questions: tuple[ImportQuestion, ...]


class ImportedServer(Frozen, frozen=True):
    """One entry of an imported file: added, or why not."""

    name: str
    outcome: Literal["added", "known", "refused"]
    reason: str = ""
    # Of an added one.
    id: str = ""
    # Whether the other program had it switched off.
    was_off: bool = False
    # What was taken over in another way, left out, or is still missing: one sentence each.
    notes: tuple[str, ...] = ()


class ImportReport(Frozen, frozen=True):
    """What an import did; nothing of it starts without consent."""

    servers: tuple[ImportedServer, ...]


# --- as a form sends them ------------------------------------------------------------------------


class ServerInput(ServerOptions, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A server as a form sends it: a command line, a command with arguments, or a URL.

    In `env`, `headers` and `token` a text is kept as a secret, null keeps the secret that is there;
    what is in `plain_env` and `plain_headers` is kept readable.
    """

    # Empty takes a name from the package, the program or the host.
    name: str = ""
    enabled: bool = True
    # "npx -y @scope/server /folder": split like a shell would, but never given to one.
    command_line: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    url: str | None = None
    env: dict[str, str | None] = {}
    plain_env: dict[str, str] = {}
    headers: dict[str, str | None] = {}
    plain_headers: dict[str, str] = {}
    # A bearer token.
    token: str | None = None
    # The SHA-256 of a bundle that was dropped; `command` and `args` then hold "${__dirname}" for where it is unpacked.
    bundle: str | None = None
    # Whether install scripts of its package may run; left out, they may not, or as it was.
    scripts: bool | None = None
    # Where it was found; left out, it was typed, or as it was.
    source: Source | None = None
    # What "${secret:NAME}" in the fields above and in the URL stands for; null keeps the secret that is there.
    secrets: dict[str, str | None] = {}
    # By `ServerKey.id`; null keeps what is there. They count before `env`, `headers` and `secrets`.
    keys: dict[str, KeyInput | None] = {}


class ServerPatch(Body, frozen=True):
    """Small changes; an absent field stays."""

    enabled: bool | None = None
    off_tools: tuple[str, ...] | None = None
    read_only: bool | None = None
    cannot_send: bool | None = None
    # Without a sandbox nothing keeps it off the network.
    sandbox: bool | None = None
    network: bool | None = None
    times: ToolTimes | None = None
    # By a tool's name; others stay, and null takes one back.
    tool_times: dict[str, ToolTimes | None] | None = None


class ConsentGiven(Body, frozen=True):
    """The person agrees to exactly what this fingerprint stands for."""

    fingerprint: str
    # Whether they vouch that it sends nothing on; left out, what they said of the same command before counts.
    cannot_send: bool | None = None


class ToolConfirmed(Body, frozen=True):
    """The person accepts a tool's new definition."""

    name: str
    fingerprint: str


class AboutDecided(Body, frozen=True):
    """The person accepts what a server says about itself now, or keeps what it said before."""

    fingerprint: str
    accept: bool


class ToolTry(Body, frozen=True):
    """A person tries a tool by hand."""

    server_id: str
    tool: str
    arguments: JsonObject = msgspec.field(default_factory=dict)


class ImportRequest(Body, frozen=True):
    """The text of another program's settings file."""

    text: str = ""
    # Or the path of one that `other_files` lists.
    file: str = ""
    # The names of those to take; empty takes all.
    only: tuple[str, ...] = ()
    # Where it comes from, for the record: "Claude Desktop", a file name.
    origin: str = ""
    # To the questions of the file, by their ids; null takes the value of the environment variable.
    answers: dict[str, str | None] = msgspec.field(default_factory=dict)


class ServersSwitch(Body, frozen=True):
    """Several servers are switched on or off at once."""

    ids: tuple[str, ...]
    enabled: bool
