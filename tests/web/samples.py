"""A well-formed request for every route of the table."""

from __future__ import annotations

from typing import Any

from pilothouse.types.api import (
    Answer,
    Answers,
    CompactionWish,
    Comparison,
    ConfigPatch,
    ConversationPatch,
    ModelInput,
    NewConversation,
    NewMessage,
    SessionRequest,
)
from pilothouse.types.authority import NewGrant, PolicyInput
from pilothouse.types.branch_views import BranchChoice, FilesBack, NewCopy, Retry
from pilothouse.types.documents import DocumentPatch
from pilothouse.types.embeddings import EmbeddingKey, EmbeddingTest
from pilothouse.types.memories import MemoryMerge, MemoryPatch, NewMemory
from pilothouse.types.package_updates import UpdateAgreed
from pilothouse.types.prompts import PromptInput, PromptValues
from pilothouse.types.proposals import AnyText, FilledProposal
from pilothouse.types.registries import RegistryInput, RegistryKey
from pilothouse.types.replays import ReplayWish
from pilothouse.types.server_checks import ServerCheck
from pilothouse.types.server_sharing import HostsToLookAt
from pilothouse.types.server_traffic import TrafficSwitch
from pilothouse.types.servers import (
    AboutDecided,
    ConsentGiven,
    ImportRequest,
    ServerInput,
    ServerPatch,
    ServersSwitch,
    ToolConfirmed,
    ToolTry,
)
from pilothouse.types.sign_ins import ProgramSignIn, SignInAnswer, SignInStart
from pilothouse.types.terminals import TerminalSelection, TerminalSize
from pilothouse.types.todos import TodoInput
from pilothouse.types.topics import TopicInput, TopicPatch
from pilothouse.types.web import WebKey
from pilothouse.web.routing import AnyRoute

PROPOSAL: dict[str, Any] = {
    "name": "Far",
    "kind": "http",
    "runs": "https://mcp.example/mcp",
    "server": {"url": "https://mcp.example/mcp"},
    "source": {"type": "manual"},
}
BODIES: dict[type, dict[str, Any]] = {
    SessionRequest: {"code": "not-a-code"},
    NewConversation: {"title": "Hello"},
    ConversationPatch: {"title": "Renamed"},
    NewMessage: {"text": "Hello"},
    CompactionWish: {"keep": "the port numbers"},
    Answer: {"choice": "yes"},
    Answers: {"itemIds": ["i_none"], "answer": {"choice": "yes"}},
    PolicyInput: {"rules": [{"id": "no-push", "verdict": "deny", "pattern": {"command": ["git", "push"]}}]},
    NewGrant: {"conversationId": "c_none", "pattern": {"tool": "file_operations.create_file"}},
    ModelInput: {"name": "Scripted", "provider": "scripted", "model": "script.json"},
    ConfigPatch: {"resumeAfterRestart": "ask"},
    EmbeddingKey: {"value": None},
    EmbeddingTest: {"url": "http://127.0.0.1:9/v1", "model": "embed"},
    ServerInput: {"name": "Echo", "commandLine": "echo-server --stdio"},
    ServerCheck: {"server": {"name": "Echo", "commandLine": "echo-server --stdio"}},
    ServerPatch: {"enabled": False},
    ServersSwitch: {"ids": ["s_none"], "enabled": True},
    ConsentGiven: {"fingerprint": "0"},
    AboutDecided: {"fingerprint": "0", "accept": True},
    ToolConfirmed: {"name": "echo", "fingerprint": "0"},
    ToolTry: {"serverId": "s_1", "tool": "echo"},
    ImportRequest: {"text": '{"mcpServers": {"far": {"url": "https://mcp.example/mcp"}}}'},
    ProgramSignIn: {"clientId": "robot", "clientSecret": "very-secret"},
    SignInStart: {"redirectUri": "http://127.0.0.1/oauth/callback"},
    SignInAnswer: {"address": "?state=none&code=none"},
    AnyText: {"text": "https://mcp.example/mcp"},
    FilledProposal: {"proposal": PROPOSAL},
    RegistryInput: {"url": "https://registry.example"},
    RegistryKey: {"value": "very-secret"},
    HostsToLookAt: {"hosts": ["127.0.0.1:9"]},
    DocumentPatch: {"name": "Renamed.pdf"},
    UpdateAgreed: {"version": "2.0.0", "fingerprint": "0"},
    TrafficSwitch: {"recording": True},
    NewMemory: {"text": "Tea, not coffee."},
    MemoryPatch: {"title": "Drink"},
    MemoryMerge: {"keys": ["m_none", "m_other"]},
    TopicInput: {"name": "Garden"},
    TopicPatch: {"description": "Green"},
    PromptInput: {"text": "Be kind."},
    PromptValues: {"values": {"name": "Anne"}},
    WebKey: {"value": "very-secret"},
    TodoInput: {"todos": [{"id": 1, "title": "Write it down"}]},
    TerminalSize: {"columns": 80, "rows": 24},
    TerminalSelection: {"text": "an error"},
    BranchChoice: {"branch": 0},
    Retry: {"modelId": "scripted"},
    Comparison: {"message": {"text": "Hello"}, "modelIds": ["one", "other"]},
    FilesBack: {"itself": True},
    NewCopy: {"title": "Copied"},
    ReplayWish: {"temperature": 0.5},
}
DOCUMENTS = {"/api/documents": {"name": "x.txt"}, "/api/documents/search": {"q": "hello"}}
FINDING = {"/api/registries/search": {"q": "files"}, "/api/registries/{id}/proposals": {"name": "x/y"}}
QUERIES = {
    "/api/memories/search": {"q": "tea"},
    "/api/search": {"q": "hello"},
    "/api/policy/check": {"tool": "think"},
    "/api/runs/{id}/difference": {"other": "r_none"},
    **FINDING,
    **DOCUMENTS,
}


def request_for(route: AnyRoute, item_id: str = "c_unknown") -> dict[str, Any]:
    """Return the arguments of a client's `request` for a route."""
    request: dict[str, Any] = {
        "method": route.method,
        "url": route.path.replace("{id}", item_id).replace("{index}", "0").replace("{process}", "p_none"),
    }
    if route.body is not type(None):
        request["json"] = BODIES[route.body]
    if route.path in QUERIES:
        request["params"] = QUERIES[route.path]
    return request


def nothing_there(route: AnyRoute) -> int:
    """Return the status of a request that is well-formed, and about nothing that there is."""
    if route.path == "/api/servers/sign-in":
        # No sign-in waits; the address itself is known.
        return 409
    if route.path == "/api/registries":
        # Nothing answers at the address.
        return 400
    # Nothing was sent along, and a file cannot be nothing.
    return 400 if route.upload else 404
