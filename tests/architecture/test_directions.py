"""Who may know whom, who may talk to the network, who may start a process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.source import Module, called_name, modules

ANYTHING = None
RING = {"types", "net"}
# What each part may import besides itself. A part that is not named here has no place in the design yet.
MAY_IMPORT: dict[str, set[str] | None] = {
    "types": set(),
    "agent": {"json_schema", "types"},
    "net": {"types"},
    # Carries out functions of others in a process of its own, by their names; it knows none of them.
    "helper": {"types"},
    # What may take long it asks of a helper process of its own.
    "json_schema": {"helper", "types"},
    "permissions": RING,
    # Computes in a helper process of its own, and asks endpoints.
    "meaning": RING | {"helper"},
    "mcp": RING | {"helper", "json_schema"},
    "models": RING,
    "plugins": RING,
    "client": RING,
    "prompts": {"types"},
    "secrets": RING,
    # What is remembered; who finds by meaning is a port.
    "memory": {"types"},
    "settings": RING,
    # Files that strangers wrote are read in a helper process.
    "documents": {"helper", "types"},
    "store": RING,
    # The queue on PostgreSQL; who executes is a port.
    "queue": {"types"},
    # Hears what is written, and counts it.
    "telemetry": {"types"},
    "tools": RING | {"helper"},
    "timeline": {"types"},
    "host": {"agent", "json_schema", "timeline", "types"},
    "web": {"host", "timeline", "types"},
    # Finds the running server, or asks wiring for a host of its own.
    "connection": {"client", "host", "net", "settings", "types", "wiring"},
    "library": {"connection", "host", "timeline", "types"},
    # The command line asks for a host; it puts nothing together itself.
    "cli": {"connection", "host", "timeline", "types", "wiring"},
    "wiring": ANYTHING,
    # `from pilothouse import Host`, and `python -m pilothouse`.
    "__init__": {"library", "types"},
    "__main__": {"cli"},
}
HTTP_CLIENTS = {
    "aiohttp",
    "http.client",
    "httpcore2",
    "httpx",
    "httpx2",
    "requests",
    "urllib.request",
    "urllib3",
    "websockets.asyncio.client",
    "websockets.client",
    "websockets.sync.client",
}
CONNECTING_CALLS = {"asyncio.open_connection", "socket.create_connection"}
PROCESS_MODULES = {"subprocess", "multiprocessing", "pty"}
PROCESS_CALLS = {
    "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell",
    *(f"os.{name}" for name in ("fork", "forkpty", "system", "popen", "posix_spawn", "posix_spawnp")),
    *(f"os.{kind}{form}" for kind in ("exec", "spawn") for form in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
}
MAY_START_PROCESSES = {"helper", "mcp", "tools"}


def part_of(name: str) -> str:
    """Return the part that an imported module of ours belongs to."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def is_or_is_under(name: str, roots: set[str]) -> bool:
    return any(name == root or name.startswith(f"{root}.") for root in roots)


def test_every_part_has_its_place_in_the_design() -> None:
    parts = {module.package for module in modules()}
    unknown = parts - MAY_IMPORT.keys()
    assert not unknown, f"give these a line in MAY_IMPORT, with the narrowest right that works: {sorted(unknown)}"
    rights = [RING, MAY_START_PROCESSES, *(allowed for allowed in MAY_IMPORT.values() if allowed is not ANYTHING)]
    gone = MAY_IMPORT.keys() | set().union(*rights)
    assert not gone - parts, f"there is no such part, so take its rights away: {sorted(gone - parts)}"


def test_imports_go_only_the_allowed_ways() -> None:
    wrong = []
    for module in modules():
        allowed = MAY_IMPORT.get(module.package, set())
        for name, line in module.imports():
            if allowed is ANYTHING or not is_or_is_under(name, {"pilothouse"}):
                continue
            part = part_of(name)
            # The package's own `__init__` holds only the version for those inside.
            if part not in {module.package, "__init__", *allowed}:
                wrong.append(f"{module.place}:{line} imports {name}")
    assert not wrong, "\n".join(wrong)


def late_free_imports(module: Module) -> Iterator[str]:
    """Yield what importing the module imports at once, of ours."""
    for node in module.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            inner = Module(module.path, ast.Module(body=[node], type_ignores=[]))
            yield from (name for name, _ in inner.imports() if is_or_is_under(name, {"pilothouse"}))


def test_no_module_imports_itself_by_way_of_others() -> None:
    known = {module.name for module in modules()}
    graph = {module.name: {name for name in late_free_imports(module) if name in known} for module in modules()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            pytest.fail("a cycle of imports: " + " -> ".join([*path[path.index(name) :], name]))
        if name in done:
            return
        for following in sorted(graph[name] - {name}):
            visit(following, (*path, name))
        done.add(name)

    for name in sorted(graph):
        visit(name, ())


@pytest.mark.case("NET-01")
def test_only_net_opens_outgoing_connections() -> None:
    wrong = [
        f"{module.place}:{line} imports {name}"
        for module in modules()
        if module.package != "net"
        for name, line in module.imports()
        if is_or_is_under(name, HTTP_CLIENTS)
    ]
    wrong += [
        f"{module.place}:{node.lineno} calls {called_name(node)}"
        for module in modules()
        if module.package != "net"
        for node in module.nodes
        if isinstance(node, ast.Call) and called_name(node) in CONNECTING_CALLS
    ]
    assert not wrong, "\n".join(wrong)


def test_only_mcp_tools_and_their_helper_start_processes() -> None:
    wrong = []
    for module in modules():
        if module.package in MAY_START_PROCESSES:
            continue
        wrong += [
            f"{module.place}:{line} imports {name}"
            for name, line in module.imports()
            if is_or_is_under(name, PROCESS_MODULES)
        ]
        wrong += [
            f"{module.place}:{node.lineno} calls {called_name(node)}"
            for node in module.nodes
            if isinstance(node, ast.Call) and called_name(node) in PROCESS_CALLS
        ]
    assert not wrong, "\n".join(wrong)


def test_only_permissions_can_make_a_permit() -> None:
    permits = {
        node.name
        for module in modules()
        if module.package == "permissions"
        for node in module.nodes
        if isinstance(node, ast.ClassDef) and node.name.endswith("Permit")
    } | {"Permit"}
    wrong = [
        f"{module.place}:{node.lineno}"
        for module in modules()
        if module.package != "permissions"
        for node in module.nodes
        if isinstance(node, ast.Call) and called_name(node).rpartition(".")[2] in permits
    ]
    assert not wrong, f"a permit is made outside permissions: {wrong}"
