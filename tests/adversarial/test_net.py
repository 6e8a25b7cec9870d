"""Addresses that a server names: what leads inside is refused, however it is written; what the person typed works."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.net import guarded
from pilothouse.net.addresses import checked, is_public, place_of
from pilothouse.net.certificates import pinned
from pilothouse.net.errors import NetError
from tests.support.certificates import SelfSigned
from tests.support.mcp_gateway import by_the_byte
from tests.support.tiny_http import Answer, Request, TinyHttp

FAR = "https://mcp.example.org/mcp"


def names(**table: list[str]) -> Callable[[str, int], Awaitable[list[str]]]:
    """Return a resolver that knows these names; dots are written as underscores."""
    known = {name.replace("_", "."): found for name, found in table.items()}

    async def ask(host: str, port: int) -> list[str]:
        return known[host]

    return ask


@pytest_asyncio.fixture
async def inside() -> AsyncIterator[TinyHttp]:
    """A server on this machine that no stranger's word may lead to."""
    async with TinyHttp(lambda request: Answer(200, b'{"secret": true}')) as server:
        yield server


INSIDE = [
    "http://127.0.0.1/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://app.localhost/",
    "http://0.0.0.0/",
    "http://10.1.2.3/",
    "http://172.16.0.9/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://168.63.129.16/",
    "http://100.64.0.1/",
    "http://100.100.100.200/",
    "http://192.0.0.192/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://[::1]/",
    "http://[::]/",
    "http://[fe80::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[ff02::1]/",
]
DISGUISED = [
    "http://2130706433/",
    "http://0x7f000001/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://127.0.0.1./",
    "http://169.254.43518/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://ⓛocalhost/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:7f00:1::1]/",
    "http://[2001:db8::5efe:10.0.0.1]/",
    "http://[2600::200:5efe:7f00:1]/",
    "http://[fe80::1%25eth0]/",
    "http://[::1%251]/",
    "http://%31%32%37.0.0.1/",
]


@pytest.mark.case("NET-01")
@pytest.mark.parametrize("url", INSIDE)
async def test_an_address_named_by_a_server_never_leads_inside(url: str) -> None:
    with pytest.raises(NetError) as caught:
        await guarded.request("GET", url, near=FAR)
    assert caught.value.problem == "refused"


@pytest.mark.case("NET-02")
@pytest.mark.parametrize("url", DISGUISED)
async def test_an_inner_address_is_known_in_every_disguise(url: str) -> None:
    with pytest.raises(NetError) as caught:
        await guarded.request("GET", url, near=FAR)
    assert caught.value.problem in ("refused", "url")


@pytest.mark.case("NET-01", "NET-02")
@pytest.mark.parametrize(
    "address", ["93.184.215.14", "2606:4700::6810:84e5", "64:ff9b::5db8:d70e", "2002:5db8:d70e::1"]
)
def test_an_address_out_in_the_open_is_allowed(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.case("NET-02")
async def test_a_public_address_written_as_a_number_is_connected_to_as_what_it_means() -> None:
    place = place_of("https://1572394766/x")
    assert await checked(place, near=place_of(FAR)) == "93.184.215.14"


@pytest.mark.case("NET-03")
async def test_one_private_address_behind_a_name_refuses_it() -> None:
    ask = names(two_example=["93.184.215.14", "10.0.0.1"], one_example=["93.184.215.14", "2606:4700::1"])
    with pytest.raises(NetError, match=r"two\.example leads to the private address 10\.0\.0\.1"):
        await checked(place_of("https://two.example/"), near=place_of(FAR), ask=ask)
    assert await checked(place_of("https://one.example/"), near=place_of(FAR), ask=ask) == "93.184.215.14"


@pytest.mark.case("NET-03")
async def test_a_name_is_looked_up_once_and_the_checked_address_is_connected_to(
    monkeypatch: pytest.MonkeyPatch, inside: TinyHttp
) -> None:
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["93.184.215.14"] if len(asked) == 1 else ["127.0.0.1"]

    monkeypatch.setattr(guarded, "resolve", rebinding)
    with pytest.raises(NetError) as caught:
        await guarded.request("GET", f"http://rebind.example:{inside.port}/", near=FAR)
    # The tests cannot reach a public address, so going there shows as a failed connection.
    assert caught.value.problem == "unreachable"
    assert asked == ["rebind.example"]
    assert inside.requests == []


@pytest.mark.case("NET-03")
async def test_the_checked_address_is_reached_under_the_name(monkeypatch: pytest.MonkeyPatch, inside: TinyHttp) -> None:
    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    monkeypatch.setattr(guarded, "resolve", here)
    url = f"http://app.localhost:{inside.port}/.well-known/x?y=1"
    got = await guarded.request("GET", url, near="http://localhost:1/mcp")
    assert got.status == 200
    assert inside.requests[0].headers["host"] == f"app.localhost:{inside.port}"
    assert inside.requests[0].target == "/.well-known/x?y=1"


@pytest.mark.case("NET-03", "NET-11")
async def test_the_name_is_what_the_certificate_is_checked_against(tmp_path: Path) -> None:
    own = SelfSigned(tmp_path)
    context = own.server()
    names_shown: list[str | None] = []
    context.sni_callback = lambda tls, name, inner: names_shown.append(name)
    async with TinyHttp(lambda request: Answer(), context) as server:
        with pytest.raises(NetError) as caught:
            await guarded.request("GET", f"https://localhost:{server.port}/", near="http://localhost:1/")
        assert server.requests == []
    assert caught.value.problem == "certificate"
    assert names_shown == ["localhost"]


@pytest.mark.case("NET-03")
async def test_a_typed_name_of_the_own_network_works_but_never_becomes_this_machine() -> None:
    near = place_of("https://mcp.intern.example/mcp")
    token = place_of("https://mcp.intern.example/token")
    assert await checked(token, near=near, ask=names(mcp_intern_example=["10.0.0.7"])) == "10.0.0.7"
    for address in ("127.0.0.1", "169.254.169.254", "::ffff:127.0.0.1"):
        with pytest.raises(NetError):
            await checked(token, near=near, ask=names(mcp_intern_example=[address]))


@asynccontextmanager
async def redirecting(target: str, status: int = 302) -> AsyncIterator[TinyHttp]:
    """A server that sends everything but /end on."""

    def answer(request: Request) -> Answer:
        if request.target == "/end":
            return Answer(200, b"there")
        return Answer(status, b"", {"Location": target})

    async with TinyHttp(answer) as server:
        yield server


@pytest.mark.case("NET-04")
@pytest.mark.parametrize(
    "target", ["http://10.0.0.1/", "//169.254.169.254/latest", "http://0x0a000001/", "file:///etc"]
)
async def test_a_redirect_is_checked_like_the_first_address(target: str) -> None:
    async with redirecting(target) as server:
        with pytest.raises(NetError) as caught:
            await guarded.request("GET", f"{server.url}/", near=server.url)
    assert caught.value.problem in ("refused", "url")


@pytest.mark.case("NET-04")
async def test_a_redirect_within_reach_is_followed() -> None:
    async with redirecting("/end") as server:
        got = await guarded.request("GET", f"{server.url}/start", near=server.url)
    assert got.body == b"there"


@pytest.mark.case("NET-04")
async def test_a_redirect_away_from_encryption_is_not_followed(
    tmp_path: Path, inside: TinyHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = SelfSigned(tmp_path)
    monkeypatch.setattr(guarded, "roots", lambda: pinned(own.fingerprint))
    moved = Answer(302, b"", {"Location": f"{inside.url}/"})
    async with TinyHttp(lambda request: moved, own.server()) as server:
        with pytest.raises(NetError, match="without encryption"):
            await guarded.request("GET", f"{server.url}/", near=server.url)
        assert len(server.requests) == 1
    assert inside.requests == []


@pytest.mark.case("NET-04")
async def test_redirects_end_after_five() -> None:
    async with redirecting("/again") as server:
        with pytest.raises(NetError, match="more than 5 times"):
            await guarded.request("GET", f"{server.url}/", near=server.url)
        assert len(server.requests) == 6


@pytest.mark.case("NET-05")
async def test_credentials_stay_behind_when_the_origin_changes(inside: TinyHttp) -> None:
    secret = {"Authorization": "Bearer t", "Cookie": "a=b", "X-API-Key": "k", "Accept": "application/json"}
    async with redirecting(f"{inside.url}/moved") as server:
        await guarded.request("GET", f"{server.url}/", headers=secret, near=server.url)
        assert server.requests[0].headers["authorization"] == "Bearer t"
    moved = inside.requests[0].headers
    assert moved["accept"] == "application/json"
    assert not {"authorization", "cookie", "x-api-key"} & moved.keys()


@pytest.mark.case("NET-05")
@pytest.mark.parametrize("status", [302, 307, 308])
async def test_a_form_is_not_sent_on_to_another_origin(status: int, inside: TinyHttp) -> None:
    async with redirecting(f"{inside.url}/token", status) as server:
        with pytest.raises(NetError, match="sent on"):
            await guarded.request("POST", f"{server.url}/token", content=b"code=secret", near=server.url)
    assert inside.requests == []


@pytest.mark.case("NET-06")
@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://trusted.example.attacker.example/", "trusted.example.attacker.example"),
        ("https://attacker.example#trusted.example/", "attacker.example"),
        ("https://attacker.example?@trusted.example/", "attacker.example"),
        ("https://Trusted.Example.:443/", "trusted.example"),
    ],
)
def test_a_host_is_what_a_connection_would_use(url: str, host: str) -> None:
    assert place_of(url).host == host


@pytest.mark.case("NET-06")
@pytest.mark.parametrize(
    "url",
    [
        "https://trusted.example@attacker.example/",
        "https://attacker.example\\@trusted.example/",
        "https://attacker.example\\.trusted.example/",
        "https://trusted.example\t.attacker.example/",
        "https://trusted.example\n/",
        " https://trusted.example/",
        "javascript:alert(1)",
        "https:///path",
        "https://a.example:99999/",
    ],
)
def test_an_address_that_can_be_read_in_two_ways_is_no_address(url: str) -> None:
    with pytest.raises(NetError):
        place_of(url)


@pytest.mark.case("NET-08")
async def test_a_document_that_never_ends_is_given_up() -> None:
    async with TinyHttp(lambda request: Answer(200, b"x" * (3 << 20))) as server:
        with pytest.raises(NetError, match="more than 1024 KB"):
            await guarded.request("GET", f"{server.url}/", near=server.url)


@pytest.mark.case("NET-08")
async def test_a_document_that_comes_by_the_byte_is_given_up() -> None:
    stalled = Answer(200, b"x" * 100, stall_after=3)
    drops = Answer(200, stream=by_the_byte(0.02))
    async with TinyHttp(lambda request: stalled if request.target == "/" else drops) as server:
        for path in ("/", "/drops"):
            began = asyncio.get_running_loop().time()
            with pytest.raises(NetError) as caught:
                await guarded.request("GET", f"{server.url}{path}", near=server.url, timeout=0.2)
            assert caught.value.problem == "silent"
            assert asyncio.get_running_loop().time() - began < 5


@pytest.mark.case("NET-08")
async def test_a_compressed_document_is_bounded_by_what_it_unfolds_to() -> None:
    import gzip

    bomb = gzip.compress(b"\0" * (64 << 20))
    small = gzip.compress(b'{"issuer": "x"}')
    headers = {"Content-Encoding": "gzip"}
    async with TinyHttp(lambda request: Answer(200, bomb if request.target == "/bomb" else small, headers)) as server:
        with pytest.raises(NetError, match="more than 1024 KB"):
            await guarded.request("GET", f"{server.url}/bomb", near=server.url)
        assert (await guarded.request("GET", f"{server.url}/", near=server.url)).body == b'{"issuer": "x"}'


@pytest.mark.case("NET-09")
@pytest.mark.parametrize("typed", ["http://127.0.0.1:9/mcp", "http://localhost:9/mcp"])
async def test_a_server_that_the_person_typed_on_this_machine_may_name_this_machine(
    typed: str, inside: TinyHttp
) -> None:
    assert (await guarded.request("GET", f"{inside.url}/", near=typed)).status == 200


@pytest.mark.case("NET-10")
async def test_only_the_persons_own_environment_names_a_proxy(
    monkeypatch: pytest.MonkeyPatch, inside: TinyHttp
) -> None:
    # The person's own: asked for what is far away, never for this machine.
    monkeypatch.setenv("http_proxy", inside.url)
    async with TinyHttp(lambda request: Answer(200, b"direct")) as server:
        assert (await guarded.request("GET", f"{server.url}/", near=server.url)).body == b"direct"
    assert inside.requests == []
    got = await guarded.request("GET", "http://93.184.215.14/x", near=FAR)
    assert got.body == b'{"secret": true}'
    # A private address stays refused behind it.
    with pytest.raises(NetError):
        await guarded.request("GET", "http://10.0.0.1/x", near=FAR)
