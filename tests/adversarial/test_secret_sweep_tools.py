"""Canary secrets around an agent with tools, which looks for them everywhere; then a look at everything written.

Where each of them belongs is said in `TABLES`, `TOLD` and `GIVEN`; anywhere else it is a leak.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sqlite3
import sys
import zlib
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.adversarial.test_secret_sweep import command
from tests.support.mcp_servers import SCRIPTED
from tests.support.repositories import git
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.servers import Server
from tests.support.waiting import until
from tests.support.wire_writers import Call, Say, Text

# Kept by us as a model's key; the person has it in a file of the project too.
STORED = "sk-canary-stored-6f1d2c7a90"
# A model's key from a variable of the host.
VARIABLE = "sk-canary-variable-93ab7e15f2"
# In the host's environment, and no business of ours.
AMBIENT = "sk-canary-ambient-d01e55c3b8"
# A server's variable; the server tells it whoever asks.
SERVER = "sk-canary-server-77aa03e1d4"
# The person's own key, in their home folder.
PERSONAL = "canary-private-key-5be1f09c62"
# Nobody told us that this one is a secret: the model makes it up and writes it into a file.
WRITTEN = "sk-canary-written-c4d9e8370b"
CANARIES = (STORED, VARIABLE, AMBIENT, SERVER, PERSONAL, WRITTEN)
# What changes files is asked about, so that there are cards with previews.
LEAVE = ["terminal_operations.*", "vault.*"]
# The tables that may hold it: what a file was before it was changed has in it what the file had; what the model writes
# is in the calls by which it writes, and these can be searched.
SEARCH = {"search_texts", "search_words", "search_parts"}
TABLES = {STORED: {"file_changes"}, SERVER: {"file_changes"}, WRITTEN: {"events", "items", *SEARCH}}
# What may tell it: whatever shows those calls to the person, who decides about them, and to the model that made them.
TOLD = {WRITTEN: ("/api/approvals", "/api/conversations/", "/api/audit", "audit export", "the model")}
# The processes that are given it.
GIVEN = {SERVER: "scripted.py"}
# A text, or calls: the tool's name and its arguments.
Turn = str | list[tuple[str, dict[str, Any]]]
CONFIG = f"debug = no\napi_key = {STORED}\nvault = {SERVER}\nnote = first\n"


def files(operation: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "file_operations", {"operation": operation, **arguments}


def terminal(operation: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "terminal_operations", {"operation": operation, **arguments}


def looks_around(home: Path, person: Path) -> list[Turn]:
    """The model looks for what it must not find: by the file tool, by commands, at the terminal."""
    places = [home / "secrets", home / "config.json", home / "models.json", person / ".ssh" / "id_ed25519"]
    files_of_others = f"/proc/*/environ /proc/*/cmdline {person}/.ssh/* {home}/* {home}/secrets/* {home}/recordings/*"
    # What is not found would only fill the window.
    hunt = f"env; cat {files_of_others} 2>&1 | tr '\\0' '\\n' | grep -a canary; ps axe | grep -a canary"
    return [
        [files("read_file", filePath="notes.txt")],
        [files("list_dir", path=str(home)), *(files("read_file", filePath=str(path)) for path in places)],
        [files("grep_search", query="canary", path=str(home)), files("grep_search", query="canary", path=str(person))],
        [terminal("run_command", command=f"{hunt}; true"), terminal("run_command", argv=["env"])],
        [terminal("create_session")],
        [terminal("send_input", input=f"{hunt}; echo hunt''ed\r\n")],
    ]


def meets_secrets() -> list[Turn]:
    """The model comes upon secrets that we know: in a file of the project, and told by a server."""
    halves = "head -c 30 app.cfg; sleep 0.4; tail -c +31 app.cfg; base64 -w0 key.txt; echo; echo hal''ves"
    return [
        [files("read_file", filePath="app.cfg"), files("grep_search", query="api_key")],
        [files("semantic_search", query="api key"), files("search_index", query="api_key")],
        [files("get_search_results")],
        [files("grep_search", query="needle")],
        [terminal("run_command", command="cat app.cfg; base64 -w0 key.txt; echo; cat key.txt; sleep 0.3")],
        [terminal("run_command", command="cat key.txt; echo; sleep 0.3")],
        [terminal("run_command", command="cat app.cfg; sleep 300", is_background=True)],
        [terminal("get_terminal_output"), terminal("send_input", input=f"{halves}\r\n")],
        [terminal("run_command", command="sleep 1")],
        [terminal("get_history"), terminal("get_terminal_buffer"), terminal("get_output")],
        [("vault__env", {}), ("vault__echo", {"text": "${VAULT_TOKEN} {{CANARY_KEY}} $CANARY_KEY"})],
    ]


def changes_things() -> list[Turn]:
    commit = {"operation": "git_commit", "message": "Another note", "files": ["app.cfg", "made.cfg"]}
    return [
        [files("replace_string", filePath="app.cfg", oldString="note = first", newString="note = second")],
        [files("create_file", filePath="made.cfg", content=f"token = {WRITTEN}\n")],
        [("build_and_version_control", {"operation": "get_changed_files"})],
        [("build_and_version_control", commit)],
        "I found nothing.",
    ]


def reply_with(turn: Turn, number: int) -> Reply:
    if isinstance(turn, str):
        return Reply(Say((Text([turn]),)))
    calls = [Call(f"call_{number}_{index}", name, json.dumps(given)) for index, (name, given) in enumerate(turn)]
    return Reply(Say(tuple(calls), stop="tool"))


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person with a home folder, keys, and secrets in the environment."""
    folder = tmp_path / "person"
    (folder / ".ssh").mkdir(parents=True)
    (folder / ".ssh" / "id_ed25519").write_text(f"{PERSONAL}\n")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PILOTHOUSE_DEBUG", "1")
    monkeypatch.setenv("CANARY_KEY", VARIABLE)
    for name in ("ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PGPASSWORD"):
        monkeypatch.setenv(name, AMBIENT)
    return folder


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What holds the commands; without bubblewrap on the path it is Landlock."""
    if request.param == "landlock":
        programs = tmp_path / "programs"
        programs.mkdir()
        for folder in os.environ["PATH"].split(":"):
            for program in Path(folder).glob("*"):
                if program.name != "bwrap" and not (programs / program.name).exists():
                    (programs / program.name).symlink_to(program)
        monkeypatch.setenv("PATH", str(programs))
    return str(request.param)


@pytest.fixture
def project(tmp_path: Path, person: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("An ordinary file.\n")
    (folder / "app.cfg").write_text(CONFIG)
    (folder / "key.txt").write_text(STORED)
    # A search shows 240 characters of a line: most of the key, and not all.
    (folder / "long.txt").write_text(f"needle {'x' * 210} {STORED}{'y' * 300}\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.com")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Begin")
    return folder


class Sweep:
    """One conversation with everything in it, and all that was heard of it."""

    def __init__(self, server: Server, provider: Endpoint) -> None:
        self.server = server
        self.provider = provider
        self.heard: dict[str, str] = {}
        self.conversation = ""
        self.run = ""

    def say(self, method: str, path: str, body: object = None) -> Any:
        answer = self.server.client.request(method, path, json=body)
        self.heard[f"{len(self.heard)} {method} {path}"] = answer.text
        assert answer.status_code < 300, f"{method} {path}: {answer.text}"
        return json.loads(answer.content) if "json" in answer.headers.get("content-type", "") else answer.text

    def furnish(self, project: Path, record: Path) -> None:
        """Two models with keys, a server with a secret of its own, a conversation with a folder."""
        about = {"provider": "openai-compatible", "model": "m", "baseUrl": f"{self.provider.url}/v1"}
        self.say("POST", "/api/models", {"name": "stored", "apiKey": STORED, **about})
        self.say("POST", "/api/models", {"name": "variable", "apiKeySource": "env:CANARY_KEY", **about})
        starting = {"command": sys.executable, "args": [str(SCRIPTED), "--record", str(record)]}
        made = self.say("POST", "/api/servers", {"name": "Vault", "env": {"VAULT_TOKEN": SERVER}, **starting})
        self.say("POST", f"/api/servers/{made['id']}/consent", {"fingerprint": made["consent"]["fingerprint"]})
        until(
            lambda: {each["state"] for each in self.server.get("/api/servers")["servers"]} == {"connected"},
            "the server",
            20.0,
        )
        settings = {"workingDirectory": str(project)}
        self.conversation = self.say("POST", "/api/conversations", {"title": "A hunt", "settings": settings})["id"]

    def talk(self, model: str, text: str) -> None:
        """Send a message and answer what is asked: the person's keys are not to be read, the rest may be done."""
        body = {"text": text, "modelId": model, "allow": LEAVE}
        self.run = self.say("POST", f"/api/conversations/{self.conversation}/messages", body)["runId"]
        until(self._is_over, f"run {self.run}", 90.0)

    def _is_over(self) -> bool:
        for question in self.say("GET", "/api/approvals")["pending"]:
            choice = "deny" if ".ssh" in question["text"] or "person" in question["text"] else "allow"
            self.say("POST", "/api/answers", {"itemIds": [question["itemId"]], "answer": {"choice": choice}})
        status = self.server.run_status(self.run)
        assert status in ("running", "queued", "waiting", "completed"), self.server.get(f"/api/runs/{self.run}")
        return status == "completed"

    def calls(self) -> list[Any]:
        items = self.say("GET", f"/api/conversations/{self.conversation}?limit=200")["items"]
        return [item for item in items if item["kind"] == "tool_call"]

    def look_at_everything(self) -> None:
        """Ask for all that can be fetched or exported."""
        path = f"/api/conversations/{self.conversation}"
        for item in self.calls():
            for piece in item["data"].get("content", ()):
                self.say("GET", f"/api/items/{item['id']}/parts/{piece['index']}")
        processes = self.say("GET", f"{path}/terminal")["processes"]
        for process in processes:
            self.say("GET", f"{path}/processes/{process['id']}?from=0")
        recording = self.say("GET", f"{path}/terminal/recording")
        # In a recording a text may lie in several pieces; played, it is one.
        played = [json.loads(line) for line in recording.splitlines()[1:]]
        self.heard["the recording, played"] = "".join(str(event[2]) for event in played if event[1] == "o")
        for each in (
            f"/api/audit?conversation={self.conversation}",
            "/api/audit",
            f"/api/runs/{self.run}",
            f"/api/runs/{self.run}/changes",
            f"{path}/todos",
            f"/api/grants?conversation={self.conversation}",
            *("/api/state", "/api/config", "/api/models", "/api/servers", "/api/policy", "/api/approvals"),
        ):
            self.say("GET", each)
        for words in (("audit", "export"), ("audit", "verify"), ("doctor",), ("models", "list"), ("mcp", "list")):
            self.heard[" ".join(words)] = command(*words)

    def leaks(self) -> list[str]:
        """Return what of all that was told has a canary in it which does not belong there."""
        told = self.heard | {
            f"the model, {number}": asked.body.decode() for number, asked in enumerate(self.provider.requests)
        }
        return [
            f"{canary} in {name}"
            for name, text in told.items()
            for canary in CANARIES
            if holds(text.encode(), canary) and not any(where in name for where in TOLD.get(canary, ()))
        ]


def descendants(server: Server) -> dict[int, tuple[str, str]]:
    """Return the command line and the environment of every process that the host has started."""
    found = {}
    for process in psutil.Process(server.process.pid).children(recursive=True):
        try:
            raw = Path(f"/proc/{process.pid}/environ").read_bytes().decode(errors="replace")
            found[process.pid] = (" ".join(process.cmdline()), raw)
        except (OSError, psutil.Error):
            continue
    return found


def forms(canary: str) -> tuple[bytes, ...]:
    """Return what counts as the canary: most of it from either end, and other ways to write it."""
    raw = canary.encode()
    most = len(raw) * 3 // 4
    return raw[:most], raw[-most:], raw.hex().encode(), base64.b64encode(raw)[:24]


def holds(content: bytes, canary: str) -> bool:
    return any(form in content for form in forms(canary))


def tables(home: Path) -> dict[str, bytes]:
    """Return every table with all that is in it; a virtual one has all of it in others."""
    found = {}
    kept = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    with closing(sqlite3.connect(home / "pilothouse.db")) as database:
        database.text_factory = bytes
        names = [row[0].decode() for row in database.execute(kept)]
        for name in names:
            rows = database.execute(f'SELECT * FROM "{name}"').fetchall()
            found[name] = b"\n".join(readable(value) for row in rows for value in row)
    return found


def readable(value: object) -> bytes:
    """Return what a column holds, and what is packed in it."""
    raw = value if isinstance(value, bytes) else str(value).encode()
    with suppress(zlib.error):
        return raw + b"\n" + zlib.decompress(raw)
    return raw


def swept(home: Path, *others: Path) -> list[str]:
    """Return what was written that has a canary in it which does not belong there."""
    database = [home / f"pilothouse.db{end}" for end in ("", "-wal", "-shm")]
    files = [path for path in home.rglob("*") if path.is_file() and path not in database]
    written = {f"table {name}": content for name, content in tables(home).items()}
    written |= {str(path): path.read_bytes() for path in (*files, *others)}
    allowed = {canary: {f"table {name}" for name in names} for canary, names in TABLES.items()}
    return [
        f"{canary} in {name}"
        for name, content in written.items()
        for canary in CANARIES
        if holds(content, canary) and name not in allowed.get(canary, ())
    ]


def hunt(sweep: Sweep, project: Path, record: Path, sandbox: str) -> dict[int, tuple[str, str]]:
    """Let the model go through its turns, and fetch all that can be fetched; return the processes that were running."""
    sweep.furnish(project, record)
    assert sweep.server.get("/api/config")["sandbox"]["kind"] == sandbox
    sweep.talk("stored", "Find every secret.")
    children = descendants(sweep.server)
    sweep.look_at_everything()
    assert "note = second" in git(project, "show", "HEAD:app.cfg")
    sweep.say("POST", f"/api/runs/{sweep.run}/undo")
    sweep.talk("variable", "Thanks.")
    the_hunt_was_real(sweep, {json.dumps(call["data"]["arguments"]): call for call in sweep.calls()})
    return children


@pytest.mark.timeout(240)
@pytest.mark.case("SECRET-01", "SECRET-03", "SECRET-04", "SECRET-08", "SECRET-09", "SPAWN-09")
async def test_canaries_around_an_agent_with_tools_are_found_only_where_they_belong(
    home: Path, tmp_path: Path, person: Path, project: Path, sandbox: str
) -> None:
    record = tmp_path / "record"
    turns = [*looks_around(home, person), *meets_secrets(), *changes_things()]
    async with Endpoint() as provider:
        provider.answer(*(reply_with(turn, number) for number, turn in enumerate(turns)))
        with Server(home) as server:
            sweep = Sweep(server, provider)
            # The provider answers in this thread meanwhile.
            children = await asyncio.to_thread(hunt, sweep, project, record, sandbox)
    assert not sweep.leaks()
    assert not swept(home, server.log, record)
    for words, environment in children.values():
        assert not [canary for canary in CANARIES if canary in words]
        given = {canary for canary in CANARIES if canary in environment}
        assert given == {canary for canary, whose in GIVEN.items() if whose in words}
    # Secrets are resolved for their owners: keys reach the provider; elsewhere a template is a text like any other.
    assert {asked.headers["authorization"] for asked in provider.requests} == {f"Bearer {STORED}", f"Bearer {VARIABLE}"}
    assert "${VAULT_TOKEN} {{CANARY_KEY}} $CANARY_KEY" in record.read_text()
    # The person's own files are as they were.
    assert (project / "app.cfg").read_text() == CONFIG
    assert not (project / "made.cfg").exists()
    assert PERSONAL in (person / ".ssh" / "id_ed25519").read_text()


def the_hunt_was_real(sweep: Sweep, calls: dict[str, Any]) -> None:
    """The twin: the tools work, and what was looked for in vain was really looked for."""

    def said(*parts: str) -> str:
        return str(next(call["text"] for words, call in calls.items() if all(part in words for part in parts)))

    assert "An ordinary file." in said("notes.txt")
    for place in ("/home/secrets", "/home/config.json", "/home/models.json", "id_ed25519"):
        refused = next(call for words, call in calls.items() if f'{place}"' in words and "read_file" in words)
        assert refused["status"] == "failed", refused
    assert "PATH=" in said('["env"]')
    assert "PATH=" in said("run_command", "/proc/*/environ")
    assert all(part in said("get_history") for part in ("hunted", "halves", "api_key = ***"))
    assert "api_key = [redacted]" in said("read_file", "app.cfg")
    assert "x [redacted]…" in said("needle")
    assert '"VAULT_TOKEN": "[redacted]"' in said("{}")
    recording = sweep.heard["the recording, played"]
    assert "halves" in recording
    assert f"api_key = {'*' * len(STORED)}" in recording
    assert "all as they were written" in sweep.heard["audit verify"]
