"""The local HTTP server under attack: who is let in, from where, and to what, each with its honest twin."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import stat
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from pilothouse.host.address import read_address
from pilothouse.types.address import ADDRESS_FILE
from pilothouse.types.errors import PilothouseError
from pilothouse.web.guard import HALF, PROTOCOL
from pilothouse.web.listening import listen
from pilothouse.web.routes import ROUTES
from pilothouse.web.routing import AnyRoute
from pilothouse.web.run import ServerOptions
from tests.support.in_process_server import BEARER, PATIENCE, TOKEN, RunningServer, run_server
from tests.support.sampling import pairs
from tests.web.samples import nothing_there, request_for

HTTP_ROUTES = [route for route in ROUTES if route.kind != "socket"]
PRIVATE = [route for route in HTTP_ROUTES if not route.public]
UNSAFE = [route for route in HTTP_ROUTES if route.method != "GET"]
OF_ALL = re.compile("/models/|/servers/|/registries/|/prompts/|/mini-prompts/|/web/")
TABLES = (
    "conversations",
    "events",
    "items",
    "runs",
    "parts",
    "sessions",
    "grants",
    "todos",
    "receipts",
    "file_changes",
)
EVIL = "https://attacker.example"


def named(route: AnyRoute) -> str:
    return f"{route.method} {route.path}"


def session_of(browser: dict[str, str]) -> dict[str, str]:
    """Return what signs a browser in, without what it says about where it asks from."""
    return {name: browser[name] for name in ("cookie", HALF)}


def kept(home: Path) -> list[str]:
    """Return what is kept: in the database, and in the files that people edit."""
    with closing(sqlite3.connect(home / "pilothouse.db")) as database:
        rows = [str(database.execute(f"SELECT * FROM {table}").fetchall()) for table in TABLES]
    return [*rows, *(file.read_text() for file in sorted(home.glob("*.json")) if file.name != ADDRESS_FILE)]


# --- WEB-01: a token is needed everywhere -----------------------------------------------------------


@pytest.mark.case("WEB-01")
async def test_no_route_answers_without_a_good_token(server: RunningServer) -> None:
    wrong: tuple[dict[str, str], ...] = (
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": "Bearer"},
        {"cookie": f"{server.cookie_name}=wrong"},
        {"cookie": f"{server.cookie_name}="},
    )
    for route, headers in pairs(PRIVATE, wrong, "wrong tokens"):
        answer = await server.http.request(**request_for(route), headers={**headers, "sec-fetch-site": "same-origin"})
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized"), (named(route), headers)
    assert server.host.calls == []


@pytest.mark.case("WEB-01")
async def test_every_route_answers_with_the_token(server: RunningServer) -> None:
    for route in PRIVATE:
        answer = await server.http.request(**request_for(route), headers=BEARER)
        assert answer.status_code in (route.status, nothing_there(route)), named(route)


@pytest.mark.case("WEB-01")
async def test_the_socket_needs_the_token_too(server: RunningServer) -> None:
    for headers in ({}, {"authorization": "Bearer wrong"}):
        with pytest.raises(InvalidStatus) as refused:
            async with server.socket(headers):
                pass
        assert refused.value.response.status_code == 401


@pytest.mark.case("WEB-01")
async def test_health_answers_anyone_and_says_only_that_it_is_up(server: RunningServer) -> None:
    assert (await server.http.get("/api/health")).json() == {"status": "up"}
    assert [route.path for route in HTTP_ROUTES if route.public] == ["/api/health", "/api/ready", "/api/session"]


@pytest.mark.case("WEB-01")
async def test_an_address_that_is_no_route_tells_a_stranger_nothing(server: RunningServer) -> None:
    assert (await server.http.get("/api/nothing")).status_code == 401
    answer = await server.http.get("/api/nothing", headers=BEARER)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    answer = await server.http.put("/api/health", headers=BEARER)
    assert (answer.status_code, answer.json()["code"]) == (405, "bad_request")


# --- WEB-02 to WEB-04: the name ---------------------------------------------------------------------


@pytest.mark.case("WEB-02")
async def test_no_route_answers_to_a_foreign_name(server: RunningServer) -> None:
    headers = {**BEARER, "host": f"attacker.example:{server.listener.port}"}
    for route in HTTP_ROUTES:
        answer = await server.http.request(**request_for(route), headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), named(route)
    assert server.host.calls == []


@pytest.mark.case("WEB-02", "WEB-03")
async def test_the_page_is_never_served_to_a_foreign_name(server: RunningServer) -> None:
    for path in ("/", "/c/c_1", "/settings", "/settings/models", "/index.html", "/assets/main-a1B2c3D4.js"):
        answer = await server.http.get(path, headers={"host": "attacker.example"})
        assert answer.status_code == 403
        assert "Pilothouse</title>" not in answer.text
        assert (await server.http.get(path)).status_code == 200


@pytest.mark.case("WEB-02")
async def test_the_socket_is_never_opened_under_a_foreign_name(server: RunningServer) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with server.socket({**BEARER, "host": "attacker.example"}):
            pass
    # The client adds its own Host as well; two of them are refused before any is believed.
    assert refused.value.response.status_code in (400, 403)


@pytest.mark.case("WEB-03")
async def test_the_page_holds_no_token_and_the_cookie_is_out_of_reach_for_scripts(server: RunningServer) -> None:
    document = (await server.http.get("/")).text
    address = read_address(server.home)
    assert address is not None
    assert not any(secret in document for secret in (TOKEN, address.token, server.ready.link.partition("#code=")[2]))
    code = server.ready.link.partition("#code=")[2]
    answer = await server.http.post("/api/session", json={"code": code})
    cookie, half = answer.headers["set-cookie"], answer.json()["half"]
    assert cookie.startswith(f"{server.cookie_name}=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert half not in cookie


@pytest.mark.case("WEB-12")
async def test_neither_half_of_a_session_is_one(server: RunningServer) -> None:
    whole = await server.sign_in()
    server.http.cookies.clear()
    server.host.calls.clear()
    for left_out in ("cookie", HALF):
        headers = {name: value for name, value in whole.items() if name != left_out}
        for path in ("/api/state", "/api/audit", "/api/items/i_1/parts/0"):
            assert (await server.http.get(path, headers=headers)).status_code == 401
        assert (await server.http.post("/api/conversations", json={}, headers=headers)).status_code == 401
        with pytest.raises(InvalidStatus) as refused:
            async with server.socket(headers):
                pass
        assert refused.value.response.status_code == 401
    twice = [*whole.items(), (HALF, whole[HALF])]
    assert (await server.http.get("/api/state", headers=twice)).status_code == 400
    assert server.host.calls == []
    assert (await server.http.get("/api/state", headers=whole)).status_code == 200


@pytest.mark.case("WEB-12")
async def test_a_script_gives_a_socket_its_half_as_a_protocol(server: RunningServer) -> None:
    whole = await server.sign_in()
    offering = [Subprotocol(PROTOCOL), Subprotocol(whole.pop(HALF))]
    async with server.socket(whole, offering) as socket:
        assert socket.subprotocol == PROTOCOL


@pytest.mark.case("WEB-12")
async def test_only_a_reader_of_events_gives_its_half_in_the_address(server: RunningServer) -> None:
    whole = await server.sign_in()
    half = whole.pop(HALF)
    events = {**whole, "accept": "text/event-stream"}
    for headers, found in ((whole, 401), (events, 200)):
        assert (await server.http.get("/api/state", params={"half": half}, headers=headers)).status_code == found
    server.http.cookies.clear()
    alone = {"accept": "text/event-stream"}
    assert (await server.http.get("/api/state", params={"half": half}, headers=alone)).status_code == 401


@pytest.mark.case("WEB-03")
async def test_a_link_signs_one_browser_in_once(server: RunningServer) -> None:
    code = server.ready.link.partition("#code=")[2]
    first = await server.http.post("/api/session", json={"code": code})
    second = await server.http.post("/api/session", json={"code": code})
    assert (first.status_code, second.status_code) == (200, 401)
    assert "already used" in second.json()["message"]
    session = {"cookie": first.headers["set-cookie"].partition(";")[0], HALF: first.json()["half"]}
    assert (await server.http.get("/api/models", headers=session)).status_code == 200


FOREIGN_HOSTS = (
    "",
    "localhost.",
    "localhost.attacker.example",
    "127.0.0.1.attacker.example",
    "attacker.example",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "127.1",
    "127.0.0.2",
    "0177.0.0.1",
    "0.0.0.0",
    "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:0:0:1]",
    "[::1%25lo]",
    "::1",
    "[::1",
    "user@localhost",
    "localhost@attacker.example",
    "localhost:80:80",
    "localhost:99999",
    "localhost:-1",
    "localhost/",
    "localhost#",
    "localhost, attacker.example",
    "localhost attacker.example",
    "local\u00adhost",
    "localhosţ",
    "lo" + "c" * 300,
)


def request_bytes(host_lines: str, path: str = "/api/models") -> bytes:
    return f"GET {path} HTTP/1.1\r\n{host_lines}Authorization: Bearer {TOKEN}\r\n\r\n".encode()


@pytest.mark.case("WEB-04")
async def test_only_an_exact_name_is_ours(server: RunningServer) -> None:
    doubled = "Host: localhost\r\nHost: localhost\r\n"
    for path, lines in product(("/api/models", "/"), ("", doubled, *(f"Host: {host}\r\n" for host in FOREIGN_HOSTS))):
        answer = await server.raw(request_bytes(lines, path))
        assert answer.status in (400, 403), lines
    assert (await server.raw(b"GET / HTTP/1.0\r\n\r\n")).status in (400, 403)
    assert server.host.calls == []


@pytest.mark.case("WEB-04")
async def test_every_way_to_say_this_machine_works(server: RunningServer) -> None:
    port = server.listener.port
    for host in ("localhost", f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", "LOCALHOST", "localhost:8022"):
        assert (await server.raw(request_bytes(f"Host: {host}\r\n"))).status == 200, host


# --- WEB-05 to WEB-07: other sites' pages -----------------------------------------------------------


@pytest.mark.case("WEB-05")
async def test_another_sites_page_changes_nothing(server: RunningServer) -> None:
    browser = await server.sign_in()
    cookie = session_of(browser)
    server.host.calls.clear()
    attacks: tuple[dict[str, str], ...] = (
        {"origin": EVIL},
        {"origin": "null"},
        {"origin": f"http://127.0.0.1:{server.listener.port + 1}"},
        {"origin": f"http://{server.authority}.attacker.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "origin": f"http://{server.authority}"},
    )
    for route, attack in pairs(UNSAFE, attacks, "attacks of other sites"):
        answer = await server.http.request(**request_for(route), headers={**cookie, **attack})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), (named(route), attack)
    assert server.host.calls == []


@pytest.mark.case("WEB-05")
async def test_a_body_that_a_form_could_send_is_refused(server: RunningServer) -> None:
    browser = await server.sign_in()
    server.host.calls.clear()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        headers = {**browser, "content-type": kind}
        answer = await server.http.post("/api/conversations", content=b'{"title":"x"}', headers=headers)
        assert answer.status_code == 400
    assert server.host.calls == []


@pytest.mark.case("WEB-05")
async def test_a_cookie_without_the_browsers_word_changes_nothing_and_a_bearer_token_needs_none(
    server: RunningServer,
) -> None:
    browser = await server.sign_in()
    only_cookie = session_of(browser)
    assert (await server.http.post("/api/conversations", json={}, headers=only_cookie)).status_code == 403
    assert (await server.http.post("/api/conversations", json={}, headers=browser)).status_code == 201
    assert (await server.http.post("/api/conversations", json={}, headers=BEARER)).status_code == 201
    origin_only = {**only_cookie, "origin": f"http://{server.authority}"}
    assert (await server.http.post("/api/conversations", json={}, headers=origin_only)).status_code == 201


@pytest.mark.case("WEB-05")
async def test_no_get_changes_anything(server: RunningServer) -> None:
    conversation = await server.new_conversation()
    before = kept(server.home)
    for route in HTTP_ROUTES:
        if route.method == "GET" and route.kind == "json":
            await server.http.request(**request_for(route, conversation), headers=BEARER)
    assert kept(server.home) == before


@pytest.mark.case("WEB-06")
async def test_a_foreign_page_opens_neither_socket_nor_stream(server: RunningServer) -> None:
    foreign = (EVIL, "null", "http://localhost.attacker.example", "file://", "http://127.0.0.1")
    conversation = await server.new_conversation()
    browser = await server.sign_in()
    server.host.calls.clear()
    for origin, credential in product(foreign, (BEARER, session_of(browser))):
        with pytest.raises(InvalidStatus) as refused:
            async with server.socket({**credential, "origin": origin}):
                pass
        assert refused.value.response.status_code == 403
        answer = await server.http.get(
            f"/api/conversations/{conversation}/events", headers={**credential, "origin": origin}
        )
        assert answer.status_code == 403
    with pytest.raises(InvalidStatus):
        async with server.socket(session_of(browser)):
            pass
    assert server.host.calls == []


@pytest.mark.case("WEB-06")
async def test_our_own_page_opens_the_socket(server: RunningServer) -> None:
    async with server.socket(await server.sign_in()) as socket, asyncio.timeout(PATIENCE):
        await socket.send("{}")
        assert json.loads(await socket.recv())["op"] == "problem"


@pytest.mark.case("WEB-07")
async def test_no_answer_ever_has_a_cors_header(server: RunningServer) -> None:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
    paths = sorted({route.path.replace("{id}", "x") for route in ROUTES} | {"/", "/c/x"})
    ways = list(product((EVIL, "null", "http://localhost:3000"), ({}, BEARER), ("OPTIONS", "GET")))
    for path, (origin, credential, method) in pairs(paths, ways, "requests of other origins"):
        answer = await server.http.request(method, path, headers={**asked, **credential, "origin": origin})
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert method == "GET" or answer.status_code >= 400


# --- WEB-08, WEB-15: who can reach it ---------------------------------------------------------------


@pytest.mark.case("WEB-08")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.7", "example.com", "127.0.0.1.nip.io"])
def test_a_bind_beyond_this_machine_is_refused(host: str) -> None:
    with pytest.raises(PilothouseError, match="network"):
        listen(host, 0)


@pytest.mark.case("WEB-08")
async def test_an_exposed_server_still_wants_a_token_and_a_name(tmp_path: Path) -> None:
    listener = listen("0.0.0.0", 0, expose_to_network=True)
    async with run_server(tmp_path, listener=listener) as server:
        assert (await server.http.get("/api/models")).status_code == 401
        assert (await server.http.get("/api/models", headers=BEARER)).status_code == 200
        foreign = {**BEARER, "host": "attacker.example"}
        assert (await server.http.get("/api/models", headers=foreign)).status_code == 403


@pytest.mark.case("WEB-08")
@pytest.mark.parametrize("token", ["short", "twenty-one-characters", "ab" * 20])
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
async def test_no_server_takes_a_token_that_can_be_guessed(tmp_path: Path, token: str, host: str) -> None:
    listener = listen(host, 0, expose_to_network=True)
    with pytest.raises(PilothouseError, match="PILOTHOUSE_TOKEN can be guessed"):
        async with run_server(tmp_path, listener=listener, options=ServerOptions(token=token)):
            pass
    assert listener.socket.fileno() == -1


@pytest.mark.case("WEB-15")
async def test_what_opens_the_server_is_readable_by_this_account_only(server: RunningServer) -> None:
    file = server.home / ADDRESS_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    address = read_address(server.home)
    assert address is not None
    assert (address.url, address.pid) == (server.listener.url, os.getpid())
    answer = await server.http.get("/api/models", headers={"authorization": f"Bearer {address.token}"})
    assert answer.status_code == 200


# --- WEB-10: other people's things ------------------------------------------------------------------


@pytest.mark.case("WEB-10")
async def test_what_belongs_to_someone_else_is_not_there(server: RunningServer) -> None:
    conversation = await server.new_conversation()
    accepted = await server.http.post(
        f"/api/conversations/{conversation}/messages", json={"text": "mine"}, headers=BEARER
    )
    stranger = await server.stranger(server.host.api.sessions)
    # Models, servers, registries and prompts belong to the installation, not to a person.
    of_people = [route for route in HTTP_ROUTES if "{id}" in route.path and not OF_ALL.search(route.path)]
    assert len(of_people) > 25
    for route in of_people:
        theirs = conversation if "/conversations/" in route.path else accepted.json()["runId"]
        answer = await server.http.request(**request_for(route, theirs), headers=stranger)
        missing = await server.http.request(**request_for(route, "c_missing"), headers=stranger)
        assert (answer.status_code, answer.content) == (404, missing.content), named(route)


@pytest.mark.case("WEB-10")
async def test_a_strangers_socket_and_cursor_get_nothing(server: RunningServer) -> None:
    conversation = await server.new_conversation()
    await server.host.say(conversation, "private")
    stranger = await server.stranger(server.host.api.sessions)
    async with server.socket(stranger) as socket, asyncio.timeout(PATIENCE):
        await socket.send(json.dumps({"op": "subscribe", "conversationId": conversation, "after": 0}))
        assert json.loads(await socket.recv())["code"] == "not_found"
    path = f"/api/conversations/{conversation}/events"
    answer = await server.http.get(path, headers={**stranger, "last-event-id": "0"})
    assert answer.status_code == 404
    state = await server.http.get("/api/state", params={"conversation": conversation}, headers=stranger)
    assert (state.status_code, state.json()["snapshot"]) == (200, None)


# --- WEB-12: one carrier ----------------------------------------------------------------------------


@pytest.mark.case("WEB-12")
async def test_a_token_in_an_address_is_refused_even_when_it_is_good(server: RunningServer) -> None:
    names = ("token", "access_token", "Authorization", "code", "api_key", "session", "BEARER")
    for name, headers in product(names, ({}, BEARER)):
        answer = await server.http.get("/api/models", params={name: TOKEN}, headers=headers)
        assert answer.status_code == 400
    assert server.host.calls == []


@pytest.mark.case("WEB-12")
async def test_a_token_in_another_place_is_not_looked_for(server: RunningServer) -> None:
    places = (
        {"x-api-key": TOKEN},
        {"x-auth-token": TOKEN},
        {"proxy-authorization": f"Bearer {TOKEN}"},
        {"cookie": f"token={TOKEN}"},
        {"cookie": f"pilothouse_{server.listener.port + 1}={TOKEN}"},
        {"authorization": TOKEN},
        {"authorization": f"Token {TOKEN}"},
    )
    for headers in places:
        assert (await server.http.get("/api/models", headers=headers)).status_code == 401, headers


@pytest.mark.case("WEB-12")
async def test_a_wrong_bearer_token_is_not_saved_by_a_good_cookie(server: RunningServer) -> None:
    browser = await server.sign_in()
    headers = {**browser, "authorization": "Bearer wrong"}
    assert (await server.http.get("/api/models", headers=headers)).status_code == 401


@pytest.mark.case("WEB-12")
async def test_each_token_is_good_for_its_own_carrier_only(server: RunningServer) -> None:
    browser = await server.sign_in()
    cookie = browser["cookie"].partition("=")[2]
    wrong = (
        {"cookie": f"{server.cookie_name}={TOKEN[:3]}", HALF: TOKEN[3:]},
        {"cookie": f"{server.cookie_name}={TOKEN}", HALF: browser[HALF]},
        {"authorization": f"Bearer {cookie}{browser[HALF]}"},
        {"authorization": f"Bearer {cookie} {server.listener.port} half {browser[HALF]}"},
    )
    server.http.cookies.clear()
    for headers in wrong:
        assert (await server.http.get("/api/models", headers=headers)).status_code == 401
    for carrier in (session_of(browser), BEARER):
        assert (await server.http.get("/api/models", headers=carrier)).status_code == 200
        refused = await server.http.get("/api/models", headers={**carrier, "origin": EVIL})
        assert refused.status_code == 403
    assert (await server.http.post("/api/conversations", json={}, headers=session_of(browser))).status_code == 403
