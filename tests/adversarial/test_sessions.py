"""Browsers' sessions under attack by others on this machine: other ports' cookies, and whoever takes our port."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import httpx2
import pytest

from pilothouse.connection import connect_server
from pilothouse.host.address import write_address
from pilothouse.net.loop_clients import close_clients
from pilothouse.types import limits
from pilothouse.types.address import CHALLENGE, PROOF, ServerAddress
from pilothouse.types.errors import PilothouseError
from pilothouse.web.failed_sign_ins import FailedSignIns
from pilothouse.web.guard import HALF, START
from tests.adversarial.browser_key import BrowserKey
from tests.support.in_process_server import BEARER, Reach, RunningServer, serve_folder


async def signed_in(server: Reach, key: BrowserKey) -> str:
    """Sign a browser with a key in and return its cookie."""
    link = (await server.http.post("/api/link", headers=BEARER)).json()["url"]
    body = {"code": link.partition("#code=")[2], "key": key.public}
    answer = await server.http.post("/api/session", json=body)
    assert (answer.status_code, answer.json()["half"]) == (200, "")
    server.http.cookies.clear()
    return str(answer.headers["set-cookie"].partition(";")[0])


async def start_of(server: Reach) -> str:
    return str((await server.http.get("/api/models")).headers[START])


async def status(server: Reach, cookie: str, half: str) -> int:
    return (await server.http.get("/api/models", headers={"cookie": cookie, HALF: half})).status_code


# --- cookies of others --------------------------------------------------------------------------------


@pytest.mark.case("WEB-12")
async def test_cookies_of_our_name_that_another_port_set_on_other_paths_lock_nobody_out(server: RunningServer) -> None:
    browser = await server.sign_in()
    ours, name = browser["cookie"], server.cookie_name
    foreign = [f"{name}=x", f"{name}=", f'{name}="quoted"', *(f"{name}={number}" for number in range(12))]
    for cookie in ("; ".join([*foreign, ours]), f"{ours}; {name}=same-path", "; ".join([ours, *foreign[:3]])):
        assert (await server.http.get("/api/models", headers={**browser, "cookie": cookie})).status_code == 200
    assert (await server.http.post("/api/conversations", json={}, headers=browser)).status_code == 201


@pytest.mark.case("WEB-12")
async def test_cookies_without_number_are_not_all_tried(server: RunningServer) -> None:
    browser = await server.sign_in()
    many = "; ".join(f"{server.cookie_name}={number}" for number in range(500))
    asked: list[str] = []
    look = server.host.api.sessions.owner_of

    async def counting(token: str) -> str | None:
        asked.append(token)
        return await look(token)

    server.host.api.sessions.owner_of = counting  # type: ignore[method-assign]
    assert (await server.http.get("/api/models", headers={**browser, "cookie": many})).status_code == 401
    assert len(asked) == limits.COOKIES_TRIED


# --- a squatter of the port ---------------------------------------------------------------------------


@pytest.mark.case("WEB-15", "F-39")
async def test_what_a_browser_sends_is_worth_nothing_after_a_restart_and_the_browser_itself_stays_signed_in(
    tmp_path: Path,
) -> None:
    key, home = BrowserKey(), tmp_path / "home"
    async with serve_folder(home) as (_, server):
        port = server.listener.port
        cookie = await signed_in(server, key)
        taken = key.half(await start_of(server))
        assert await status(server, cookie, taken) == 200
    # The port is free now; whoever takes it chooses what the open page signs.
    chosen = key.half("what-a-squatter-chose")
    async with serve_folder(home, port) as (_, server):
        assert await status(server, cookie, taken) == 401
        assert await status(server, cookie, chosen) == 401
        start = await start_of(server)
        replaced = f"{start}.{chosen.partition('.')[2]}"
        assert await status(server, cookie, replaced) == 401
        assert await status(server, cookie, f"{start}.{key.public}") == 401
        assert await status(server, cookie, BrowserKey().half(start)) == 401
        assert await status(server, cookie, key.half(start)) == 200


@pytest.mark.case("WEB-15")
async def test_a_squatter_cannot_pass_a_session_on_to_the_server_on_another_port(tmp_path: Path) -> None:
    key, home = BrowserKey(), tmp_path / "home"
    async with serve_folder(home) as (_, server):
        cookie, before = await signed_in(server, key), server.listener.port
    async with serve_folder(home) as (_, server):
        assert server.listener.port != before
        renamed = f"{server.cookie_name}={cookie.partition('=')[2]}"
        assert await status(server, renamed, key.half(await start_of(server))) == 401


@pytest.mark.case("WEB-15")
async def test_a_browser_without_keys_signs_in_again_after_a_restart(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with serve_folder(home) as (_, server):
        browser = await server.sign_in()
        assert await status(server, browser["cookie"], browser[HALF]) == 200
        port = server.listener.port
    async with serve_folder(home, port) as (_, server):
        secret = browser[HALF].partition(".")[2]
        for half in (browser[HALF], f"{await start_of(server)}.{secret}", secret):
            assert await status(server, browser["cookie"], half) == 401


async def test_a_key_that_is_none_begins_no_session(server: RunningServer) -> None:
    for key in ("x", BrowserKey().public[:-1], BrowserKey().public + "=", "B" + "A" * 86, "é" * 87):
        link = (await server.http.post("/api/link", headers=BEARER)).json()["url"]
        answer = await server.http.post("/api/session", json={"code": link.partition("#code=")[2], "key": key})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_request"), key


async def test_a_service_worker_of_whoever_was_here_before_is_replaced_by_one_that_ends_itself(
    server: RunningServer,
) -> None:
    for path in ("/sw.js", "/api/sw.js", "/assets/main-a1B2c3D4.js", "/c/c_1"):
        answer = await server.http.get(path, headers={"service-worker": "script"})
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
        assert answer.headers["content-type"].startswith("text/javascript")
        assert "registration.unregister()" in answer.text
    foreign = {"service-worker": "script", "host": "attacker.example"}
    assert (await server.http.get("/sw.js", headers=foreign)).status_code == 403
    assert (await server.http.get("/sw.js")).status_code == 404


async def test_a_browser_forgets_what_its_cache_holds_of_us_once_after_each_start_and_a_link_is_in_none(
    server: RunningServer,
) -> None:
    links = {(await server.http.post("/api/link", headers=BEARER)).json()["url"].partition("#")[0] for _ in range(3)}
    assert len(links) == 3
    first = await server.http.get("/")
    assert first.headers["clear-site-data"] == '"cache"'
    assert "clear-site-data" not in (await server.http.get("/c/c_1")).headers
    stale = {"cookie": f"{server.cookie_name}_seen=what-a-squatter-set"}
    server.http.cookies.clear()
    assert "clear-site-data" in (await server.http.get("/settings", headers=stale)).headers
    assert "clear-site-data" not in (await server.http.get("/assets/main-a1B2c3D4.js")).headers


# --- commands beside a squatter -----------------------------------------------------------------------


@pytest.mark.case("WEB-15")
async def test_a_command_sends_its_token_only_to_the_process_that_wrote_it_down(tmp_path: Path) -> None:
    heard: list[bytes] = []

    async def squat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        body = b'{"status":"up"}'
        proof = f"{PROOF}: {'0' * 64}\r\n".encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n%s\r\n%s" % (len(body), proof, body))
        await writer.drain()
        writer.close()

    squatter = await asyncio.start_server(squat, "127.0.0.1", 0)
    port = squatter.sockets[0].getsockname()[1]
    # Its process died, and another has its number now.
    write_address(tmp_path, ServerAddress(url=f"http://127.0.0.1:{port}", pid=1, token="the-token-of-before"))
    async with squatter, connect_server(tmp_path) as running:
        assert running is None
    await close_clients()
    assert len(heard) == 1
    assert CHALLENGE.encode() in heard[0].lower()
    assert b"the-token-of-before" not in heard[0]


async def test_a_command_knows_its_own_server(server: RunningServer) -> None:
    async with connect_server(server.home) as running:
        assert running is not None
        assert "#code=" in await running.new_link()
    assert PROOF not in (await server.http.get("/api/health")).headers


# --- guessing -----------------------------------------------------------------------------------------


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_one_address_of_the_network_that_guesses_is_held_up_and_this_machine_never_is() -> None:
    clock = Clock()
    attempts = FailedSignIns(clock)
    for client in ("192.0.2.7", "127.0.0.1", "::1", "2001:db8::1"):
        for _ in range(limits.FAILED_SIGN_INS):
            attempts.check(client)
            attempts.failed(client)
    for client in ("192.0.2.7", "2001:db8::2"):
        with pytest.raises(PilothouseError, match="Too many sign-ins") as refused:
            attempts.check(client)
        assert refused.value.fix == "Try again in 60 seconds."
    for client in ("127.0.0.1", "::1", "192.0.2.8", "2001:db8:0:1::1"):
        attempts.check(client)
    clock.now += limits.FAILED_SIGN_IN_SECONDS
    attempts.check("192.0.2.7")


def test_many_addresses_that_guess_have_one_try_each_and_little_is_kept_of_them() -> None:
    attempts = FailedSignIns(Clock())
    for number in range(5 * limits.FAILED_ADDRESSES):
        attempts.failed(f"10.{number // 65_536}.{number // 256 % 256}.{number % 256}")
    with pytest.raises(PilothouseError, match="Too many"):
        attempts.check(f"10.0.{(5 * limits.FAILED_ADDRESSES - 1) // 256}.255")
    attempts.check("192.0.2.99")
    assert len(attempts._failures) <= limits.FAILED_ADDRESSES


async def test_a_failed_sign_in_is_logged_without_what_was_tried(
    server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="pilothouse")
    assert (await server.http.get("/api/models", headers={"authorization": "Bearer guess-1"})).status_code == 401
    answer = await server.http.post("/api/session", json={"code": "guess-2"})
    assert answer.status_code == 401
    told = [record.getMessage() for record in caplog.records if "sign-in" in record.getMessage()]
    assert told == ["a sign-in from 127.0.0.1 failed: 1 times within this minute, 1 from all addresses"]
    assert "guess" not in caplog.text


async def test_who_is_signed_in_is_not_held_up_by_a_neighbour_who_guesses(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pilothouse.web.failed_sign_ins.is_loopback_host", lambda host: False)
    browser = await server.sign_in()
    good = {name: browser[name] for name in ("cookie", HALF)}
    assert (await server.http.get("/api/models", headers=good)).status_code == 200
    server.http.cookies.clear()
    guess = {"authorization": "Bearer wrong"}
    found = [(await server.http.get("/api/models", headers=guess)).status_code for _ in range(12)]
    assert found == [401] * limits.FAILED_SIGN_INS + [429] * 2
    async with httpx2.AsyncClient(base_url=server.listener.url, trust_env=False) as http:
        assert (await http.get("/api/models", headers=good)).status_code == 200
        assert (await http.get("/api/models", headers=BEARER)).status_code == 200
