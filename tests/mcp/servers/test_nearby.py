"""Servers on hosts that a person names: found at the usual places, asked who they are, and nothing else."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from pilothouse.mcp.servers import nearby, nearby_places
from pilothouse.mcp.servers.nearby_places import PORTS, Named, named, ports_of, ways_to
from pilothouse.net.addresses import checked, is_public, literal, place_of
from pilothouse.net.certificates import roots
from pilothouse.net.errors import NetError
from pilothouse.net.multicast_dns import Announced
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.server_sharing import HostsToLookAt, NearbyServer, NearbyServers
from pilothouse.types.servers import ServerInput, Wire
from tests.mcp.programs import reference_over_http
from tests.support.certificates import SelfSigned
from tests.support.limits_in_hand import in_hand
from tests.support.mcp_gateway import EVENTS, JSON, Brain, FaultProxy, OldGateway, Socket, Streamable
from tests.support.mcp_hosting import McpHost, text
from tests.support.tiny_http import Answer, Request, TinyHttp
from tests.support.waiting import eventually

# Each listens as long as a person would wait.
pytestmark = pytest.mark.slow

BOX = "box.tail1234.ts.net"
TAILNET = "100.101.102.103"


async def look(hosted: McpHost, *hosts: str, announced: bool = False) -> NearbyServers:
    return await hosted.nearby.look(ME, HostsToLookAt(hosts=hosts, announced=announced))


def page(request: Request) -> Answer:
    """Answer like a web site: a page wherever one looks."""
    return Answer(200, b"<!doctype html><title>My NAS</title>", {"Content-Type": "text/html"})


@pytest.fixture
def usual_ports(monkeypatch: pytest.MonkeyPatch) -> dict[int, str]:
    """Return the ports that are looked at, which a test fills."""
    ports: dict[int, str] = {}
    monkeypatch.setattr(nearby_places, "PORTS", ports)
    return ports


@pytest.mark.slow
@pytest.mark.case("AGT-04")
async def test_a_host_is_looked_through_and_what_speaks_is_listed_and_not_added(
    hosted: McpHost, usual_ports: dict[int, str]
) -> None:
    async with (
        TinyHttp(Streamable()) as one,
        TinyHttp(OldGateway()) as two,
        Socket(path="/ws").running() as three,
        TinyHttp(page) as four,
    ):
        usual_ports |= dict.fromkeys((one.port, two.port, three.port, four.port, 9), "")
        found = await look(hosted, "127.0.0.1")
        assert found.notes == ()
        assert sorted(found.servers, key=lambda each: each.wire) == [
            NearbyServer(url=f"{two.url}/sse", name="gateway", wire="sse", version="1", tools=1),
            NearbyServer(url=f"{one.url}/mcp", name="gateway", wire="streamable", version="1", tools=1),
            NearbyServer(url=f"ws://127.0.0.1:{three.port}/ws", name="gateway", wire="websocket", version="1", tools=1),
        ]
        assert (await hosted.admin.list(ME)).servers == ()
        asked = {json.loads(each.body)["method"] for each in one.requests if each.body}
        assert asked == {"server/discover", "initialize", "notifications/initialized", "tools/list"}
        assert not any("authorization" in each.headers for each in one.requests)


@pytest.mark.case("AGT-04")
async def test_only_hosts_that_are_named_are_looked_at(hosted: McpHost, usual_ports: dict[int, str]) -> None:
    for typed in ("192.0.2.0/24", "192.0.2.1-20", "192.0.2.*", "2001:db8::/32", "*"):
        with pytest.raises(PilothouseError, match="range; only hosts that you name"):
            await look(hosted, typed)
    for typed in ("", "a b", "ftp://nas", "me:pw@nas", "nas:99999", "x" * 400, "http://", "nas\\x"):
        with pytest.raises(PilothouseError, match=r"is no host|missing or too long"):
            await look(hosted, typed)
    with pytest.raises(PilothouseError, match="At most 16 hosts"):
        await look(hosted, *(f"192.0.2.{number}" for number in range(17)))
    with pytest.raises(PilothouseError, match="No host is named"):
        await look(hosted)
    with pytest.raises(PilothouseError, match="Only the owner"):
        await hosted.nearby.look("guest", HostsToLookAt(hosts=("127.0.0.1",)))


async def test_a_host_that_does_not_answer_or_has_no_server_is_told(
    hosted: McpHost, usual_ports: dict[int, str]
) -> None:
    usual_ports[9] = ""
    async with TinyHttp(page) as server:
        found = await look(hosted, "127.0.0.1", "unknown.example", f"127.0.0.1:{server.port}")
    assert found.servers == ()
    assert sorted(found.notes) == [
        "127.0.0.1 does not answer.",
        f"127.0.0.1:{server.port} answers, but no MCP server was found there.",
        "unknown.example: the name unknown.example is not known.",
    ]


async def test_a_server_that_wants_a_sign_in_is_listed_and_one_that_we_have_is_known(hosted: McpHost) -> None:
    def closed(request: Request) -> Answer:
        if request.target != "/mcp":
            return Answer(404)
        return Answer(401, b"", {"WWW-Authenticate": 'Bearer resource_metadata="http://127.0.0.1:9/x"'})

    async with TinyHttp(closed) as server, TinyHttp(Streamable()) as ours:
        await hosted.add(ServerInput(name="Ours", url=f"{ours.url}/mcp", enabled=False))
        found = await look(hosted, f"127.0.0.1:{server.port}", f"{ours.url}/mcp")
        assert [(each.url, each.needs_sign_in, each.tools, each.known_as) for each in found.servers] == [
            (f"{server.url}/mcp", True, None, ""),
            (f"{ours.url}/mcp", False, 1, "Ours"),
        ]


async def test_a_login_page_is_no_server_and_a_nameless_door_is_told(hosted: McpHost) -> None:
    basic = Answer(401, b"", {"WWW-Authenticate": 'Basic realm="router"'})
    async with TinyHttp(lambda request: basic) as router, TinyHttp(lambda request: Answer(401)) as nameless:
        found = await look(hosted, f"127.0.0.1:{router.port}", f"http://127.0.0.1:{nameless.port}/mcp")
    assert found.servers == ()
    assert f"127.0.0.1:{router.port} answers, but no MCP server was found there." in found.notes
    assert any("/mcp wants a key and does not say what it is" in note for note in found.notes)


def test_the_usual_places_and_how_a_host_may_be_written() -> None:
    assert {80, 443, 3000, 3001, 8000, 8080, 8123, 8931} <= set(PORTS)
    assert ports_of(named("nas")) == tuple(PORTS)
    assert list(ways_to(named("nas"), 8000)) == [
        ("http://nas:8000/mcp", "streamable"),
        ("http://nas:8000/sse", "sse"),
        ("http://nas:8000/", "streamable"),
        ("http://nas:8000/ws", "websocket"),
    ]
    assert next(url for url, _ in ways_to(named("box"), 443)) == "https://box/mcp"
    assert "http://nas:8123/api/mcp" in [url for url, _ in ways_to(named("NAS."), 8123)]
    assert next(ways_to(named("nas:4711"), 4711))[0] == "http://nas:4711/mcp"
    assert next(ways_to(named("nas:4711"), 4711, encrypted=True))[0] == "https://nas:4711/mcp"
    assert list(ways_to(named("wss://nas/x?a=1"), 443)) == [("https://nas/x?a=1", "auto")]
    assert (named("::1").host, named("[::1]:80").port, named("192.0.2.7").host) == ("::1", 80, "192.0.2.7")
    assert next(ways_to(named("::1"), 80))[0] == "http://[::1]/mcp"


@pytest.mark.parametrize("said", ["/mcp", "", "http://elsewhere.example/", "//x", "/" + "a" * 500, "/a b"])
async def test_what_announces_itself_is_asked_at_its_own_address_only(
    hosted: McpHost, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    async with TinyHttp(Streamable()) as server:

        async def heard(service: str) -> list[Announced]:
            assert service == "_mcp._tcp.local"
            return [Announced("Files\u202e", "127.0.0.1", server.port, {"path": said})]

        monkeypatch.setattr(nearby, "announced", heard)
        found = await look(hosted, announced=True)
    if said.startswith("//"):
        assert found.servers == ()
        assert found.notes == (
            f"Files\\u{{202e}} at 127.0.0.1:{server.port} answers, but no MCP server was found there.",
        )
        return
    assert [(each.url, each.tools) for each in found.servers] == [(f"{server.url}/mcp", 1)]


async def test_nobody_announces_itself(hosted: McpHost, monkeypatch: pytest.MonkeyPatch) -> None:
    async def silence(service: str) -> list[Announced]:
        return []

    monkeypatch.setattr(nearby, "announced", silence)
    assert (await look(hosted, announced=True)).notes == ("No server announces itself in the local network.",)


# --- hosts that mean no good ---


class Asked:
    """Sees who is being asked during a look, and what was found."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._urls: list[str] = []
        self.found: set[str] = set()
        real = nearby._Looking._asked

        async def watched(looking: nearby._Looking, url: str, wire: Wire, host: Named) -> NearbyServer | None:
            self._urls.append(url)
            try:
                server = await real(looking, url, wire, host)
            finally:
                self._urls.remove(url)
            if server is not None:
                self.found.add(server.url)
            return server

        monkeypatch.setattr(nearby._Looking, "_asked", watched)

    @property
    def under_way(self) -> set[int]:
        """Return the ports at which someone is asked now."""
        return {place_of(url).port for url in self._urls}


async def test_hostile_answers_are_bounded_and_lead_nowhere(
    hosted: McpHost, usual_ports: dict[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asking, asked = in_hand(monkeypatch, "NEARBY_ASK"), Asked(monkeypatch)
    monkeypatch.setattr(limits, "NEARBY_BYTES", 50_000)
    reached: list[Request] = []

    def inside(request: Request) -> Answer:
        reached.append(request)
        return Answer(200, b"{}")

    def huge(request: Request) -> Answer:
        # It would be a server, if it were not so long.
        answer = Brain().answer(json.loads(request.body or b"{}")) or {}
        answer.get("result", {})["padding"] = "x" * 200_000
        return Answer(200, json.dumps(answer).encode(), JSON)

    async with TinyHttp(inside) as target:
        away = Answer(307, b"", {"Location": f"{target.url}/mcp"})
        silent = Answer(200, b"x" * 10, EVENTS, stall_after=5)
        endpoint = Answer(200, f"event: endpoint\ndata: {target.url}/x\n\n".encode(), EVENTS)
        async with (
            TinyHttp(lambda request: away) as redirecting,
            TinyHttp(huge) as large,
            TinyHttp(lambda request: silent) as slow,
            TinyHttp(lambda request: endpoint) as misleading,
            TinyHttp(Streamable()) as honest,
        ):
            hostile = (redirecting, large, slow, misleading)
            usual_ports |= dict.fromkeys((each.port for each in (*hostile, honest)), "")
            looking = asyncio.create_task(look(hosted, "127.0.0.1"))

            async def looked() -> bool:
                waits = all(each.requests for each in hostile) and asked.under_way == {slow.port}
                if waits and f"{honest.url}/mcp" in asked.found:
                    asking.run_out()
                return looking.done()

            await eventually(looked, "the look to end")
            found = await looking
            assert [each.url for each in found.servers] == [f"{honest.url}/mcp"]
            assert all(each.requests for each in hostile)
    assert reached == []


async def test_what_is_found_in_time_is_told_although_a_host_keeps_us_waiting(
    hosted: McpHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_of_it, asked = in_hand(monkeypatch, "NEARBY_LOOK", 3.0), Asked(monkeypatch)
    slow = Answer(200, b"x" * 10, {"Content-Type": "application/json"}, stall_after=5)
    async with TinyHttp(lambda request: slow) as hostile, TinyHttp(Streamable()) as honest:
        looking = asyncio.create_task(look(hosted, hostile.url, honest.url))

        async def told() -> bool:
            return bool(hostile.requests) and f"{honest.url}/mcp" in asked.found

        await eventually(told, "the honest one")
        all_of_it.run_out()
        found = await looking
    assert [each.url for each in found.servers] == [f"{honest.url}/mcp"]
    assert "Not everything was looked at within 3 s." in found.notes


async def test_what_a_server_calls_itself_is_text_within_bounds(hosted: McpHost) -> None:
    server = Streamable()

    def named_badly(params: object) -> dict[str, Any]:
        info = {"name": "good\u202e\x1b[31m" + "x" * 10_000, "version": "1\n2"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}

    server.brain._initialize = named_badly  # type: ignore[method-assign]
    async with TinyHttp(server) as running:
        (found,) = (await look(hosted, f"127.0.0.1:{running.port}")).servers
    assert found.name.startswith("good\\u{202e}\\u{001b}[31mxxx")
    assert len(found.name) <= limits.NEARBY_NAME_CHARS
    assert found.version == "1\\u{000a}2"


# --- a machine in a private network, by its name there ---


@pytest.fixture
def magic_dns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of a tailnet lead to this machine, as its own resolver would lead to another."""
    real = socket.getaddrinfo

    def found(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        return real("127.0.0.1" if name in (BOX, "box") else host, port, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.mark.slow
@pytest.mark.case("AGT-05")
async def test_a_machine_is_reached_by_its_name_in_the_tailnet_with_and_without_encryption(
    hosted: McpHost, magic_dns: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = SelfSigned(tmp_path, more=(BOX,))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.path))
    roots.cache_clear()
    try:
        with reference_over_http(f"{BOX}:*", "box:*") as port:
            async with FaultProxy(port, certificate.server()) as proxy:
                found = await look(hosted, f"{BOX}:{proxy.port}", f"box:{port}")
                assert [(each.url, each.name, each.version) for each in found.servers] == [
                    (f"https://{BOX}:{proxy.port}/mcp", "reference", "7"),
                    (f"http://box:{port}/mcp", "reference", "7"),
                ]
                for number, each in enumerate(found.servers):
                    await hosted.add(ServerInput(name=f"Box {number}", url=each.url))
                    assert (await hosted.admin.test(ME, f"Box {number}")).ok
                    assert text(await hosted.call(f"box_{number}.echo", {"text": "over there"})) == "over there"
                    # Before the proxy goes: a connection that breaks is made again, in the middle of the test's end.
                    await hosted.admin.delete(ME, f"Box {number}")
    finally:
        roots.cache_clear()


@pytest.mark.slow
@pytest.mark.case("AGT-05")
async def test_a_certificate_that_nobody_vouches_for_and_a_name_that_is_not_allowed_are_told(
    hosted: McpHost, magic_dns: None, tmp_path: Path
) -> None:
    certificate = SelfSigned(tmp_path, more=(BOX,))
    with reference_over_http("127.0.0.1:*") as port:
        async with FaultProxy(port, certificate.server()) as proxy:
            found = await look(hosted, f"https://{BOX}:{proxy.port}", f"box:{port}")
            assert found.servers == ()
            assert any(certificate.fingerprint in note for note in found.notes)
            assert f"box:{port} does not answer to this name; add it to the hosts that it allows." in found.notes
            # Trusted by its fingerprint it is reached, under a name that the server allows.
            body = ServerInput(
                name="Box", url=f"https://127.0.0.1:{proxy.port}/mcp", trusted_certificate=certificate.fingerprint
            )
            await hosted.add(body)
            assert (await hosted.admin.test(ME, "Box")).ok
            await hosted.admin.delete(ME, "Box")


@pytest.mark.case("AGT-05")
async def test_an_address_of_a_tailnet_is_the_persons_own_only_where_they_typed_it() -> None:
    async def ask(host: str, port: int) -> list[str]:
        return ["100.100.100.200"] if host == "cloud" else [TAILNET]

    box, other = place_of(f"http://{BOX}/mcp"), place_of("https://registry.example/")
    assert await checked(box, near=box, ask=ask) == TAILNET
    typed = place_of(f"http://{TAILNET}:8000/mcp")
    assert await checked(typed, near=typed, ask=ask) == TAILNET
    for stranger in (box, typed):
        with pytest.raises(NetError, match="private address"):
            await checked(stranger, near=other, ask=ask)
    # Where a cloud gives out its credentials, in the same range.
    cloud = place_of("http://cloud/mcp")
    with pytest.raises(NetError, match="private address"):
        await checked(cloud, near=cloud, ask=ask)
    address = literal(TAILNET)
    assert address is not None
    assert not is_public(address)
