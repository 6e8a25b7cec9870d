"""`pilothouse mcp sign-in` as a person uses it: a real terminal, a real listener, an issuer on this machine."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from pilothouse.cli.sign_in import _answer
from pilothouse.cli.sign_in_listener import listening
from pilothouse.cli.terminal import messages
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.sign_ins import SignInStarted
from tests.cli.conftest import Script, assert_told
from tests.support.commands import Screen, pilothouse
from tests.support.fake_issuer import Issuer, OneTool, Resource, start_protected_server
from tests.support.ports import free_port

# Most of these start a process.
pytestmark = pytest.mark.slow

PATIENCE = 20.0
Wanting = tuple[Resource, Issuer]
DOCUMENT = "https://ada.example/pilothouse.json"
ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+/authorize\?\S+)\s")


@pytest.fixture
def wanting() -> Iterator[tuple[Resource, Issuer]]:
    """A server that wants a sign-in, and its issuer, in a thread of their own."""
    made: list[tuple[Resource, Issuer]] = []
    ready, over = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with start_protected_server(OneTool) as both:
            made.append(both)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(PATIENCE)
    yield made[0]
    loop.call_soon_threadsafe(over.set)
    thread.join()
    loop.close()


def get(url: str) -> http.client.HTTPResponse:
    """Ask as a browser does, and follow nothing."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)
    connection.request("GET", f"{parts.path}?{parts.query}")
    return connection.getresponse()


def sent_back(screen: Screen) -> str:
    """Go where the screen says, and return where the issuer sends the browser."""
    screen.until("Or paste where you were sent back to")
    found = ADDRESS.search(screen.text)
    assert found is not None, screen.text
    return get(found[1]).headers["location"]


def added(home: Path, server: Resource) -> None:
    told = pilothouse(home, "mcp", "add", "--name", "One", server.mcp)
    assert (told.code, told.out) == (1, "one\n")
    assert "asks you to sign in" in told.err
    assert "Sign in: pilothouse mcp sign-in one" in told.err


@pytest.mark.case("AUT-21", "AUT-16")
def test_a_person_signs_in_from_a_terminal_and_out_again(home: Path, wanting: Wanting) -> None:
    server, issuer = wanting
    added(home, server)
    with Screen(home, ["mcp", "sign-in", "one", "--no-browser"]) as screen:
        screen.until("One asks you to sign in at 127.0.0.1:")
        screen.until("it may: read")
        assert "not asked for" not in screen.raw
        back = sent_back(screen)
        strange = get(back.replace("/oauth/callback", "/elsewhere"))
        assert strange.status == 404
        page = get(f"{back}&note=%3Cscript%3E").read().decode()
        assert "close this tab" in page
        assert "script" not in page
        screen.until("Signed in to One")
        screen.until("answers and offers 1 tool")
        assert screen.ended() == 0
        assert "(new)" not in screen.raw
    listed = pilothouse(home, "mcp", "list")
    assert "sign" not in listed.err
    assert pilothouse(home, "mcp", "call", "one.look").out == "seen\n"
    out = pilothouse(home, "mcp", "sign-out", "one")
    assert (out.code, out.err) == (0, "Signed out of One.\n")
    assert len(issuer.revoked) == 2
    assert_told(pilothouse(home, "mcp", "call", "one.look"), 1, "asks you to sign in.", "pilothouse mcp sign-in one")
    assert_told(pilothouse(home, "mcp", "sign-out", "one"), 2, "Nobody is signed in to One.")


@pytest.mark.case("AUT-25")
def test_on_a_machine_without_a_browser_the_address_is_pasted(home: Path, wanting: Wanting) -> None:
    server, _ = wanting
    added(home, server)
    with Screen(home, ["mcp", "sign-in", "one", "--no-browser"]) as screen:
        back = sent_back(screen)
        for wrong in ("http://127.0.0.1:1/oauth/callback?code=1&state=wrong", "nonsense"):
            screen.type(f"{wrong}\r")
            screen.until("That is not where this sign-in comes back to: paste the whole address of the tab.")
            screen.until("Or paste where you were sent back to")
        screen.type(f"{back}\r")
        screen.until("Signed in to One")
        assert screen.ended() == 0
    with Screen(home, ["mcp", "sign-in", "one", "--no-browser"]) as screen:
        screen.until("Or paste where you were sent back to")
        screen.type("\r")
        screen.until("Nobody signed in.")
        assert screen.ended() == 130
    assert pilothouse(home, "mcp", "call", "one.look").out == "seen\n"


@pytest.mark.case("AUT-25", "OAUTH-07")
def test_what_another_program_sends_to_the_listener_is_not_taken_for_the_answer(home: Path, wanting: Wanting) -> None:
    server, issuer = wanting
    added(home, server)
    with Screen(home, ["mcp", "sign-in", "one", "--no-browser"]) as screen:
        back = sent_back(screen)
        place = back.partition("?")[0]
        state = dict(parse_qsl(urlsplit(back).query))["state"]
        for wrong in (
            f"{place}?code=stolen&state=wrong",
            f"{place}?code=stolen&state={state[:-1]}",
            f"{place}?code=stolen",
            f"{place}?error=access_denied&error_description=%3Cscript%3E",
            f"{place}?code=stolen&state={state}&state={state}",
            place,
        ):
            answer = get(wrong)
            page = answer.read().decode()
            assert answer.status == 400
            assert "it goes on waiting" in page
            assert "script" not in page
        assert not issuer.requests_to("/token")
        assert "close this tab" in get(back).read().decode()
        screen.until("Signed in to One")
        assert screen.ended() == 0


@pytest.mark.case("AUT-21", "AUT-26")
def test_an_issuer_that_insists_on_one_port_is_signed_in_at_with_that_port(home: Path, wanting: Wanting) -> None:
    server, issuer = wanting
    added(home, server)
    issuer.about = {"registration_endpoint": None}
    needed = pilothouse(home, "mcp", "sign-in", "one", "--no-browser")
    assert_told(needed, 1, "only lets in programs that were registered there beforehand.")
    fixed = f"http://127.0.0.1:{limits.SIGN_IN_PORT}/oauth/callback"
    assert fixed in needed.err
    assert f"pilothouse mcp sign-in one --client-id ID --port {limits.SIGN_IN_PORT}" in needed.err
    port = free_port()
    issuer.clients["mine"] = [f"http://127.0.0.1:{port}/oauth/callback"]
    with socket.create_server(("127.0.0.1", port)):
        taken = pilothouse(home, "mcp", "sign-in", "one", "--no-browser", "--client-id", "mine", "--port", str(port))
        assert_told(taken, 1, f"Port {port} is taken by another program.")
        assert "--port" in taken.err
    with Screen(home, ["mcp", "sign-in", "one", "--no-browser", "--client-id", "mine", "--port", str(port)]) as screen:
        screen.until("Client secret, empty for none: ")
        screen.type("\r")
        back = sent_back(screen)
        assert back.startswith(f"http://127.0.0.1:{port}/oauth/callback?")
        get(back)
        screen.until("Signed in to One")
        assert screen.ended() == 0
    assert pilothouse(home, "mcp", "call", "one.look").out == "seen\n"


@pytest.mark.case("AUT-16", "AUT-26")
def test_a_program_signs_in_from_a_script_without_a_person(home: Path, wanting: Wanting) -> None:
    server, issuer = wanting
    added(home, server)
    command = ("mcp", "sign-in", "one", "--client-credentials")
    assert_told(pilothouse(home, *command), 2, "A program signs in with a client id: name it.")
    assert_told(pilothouse(home, *command, "--client-id", "robot"), 2, "The client secret is empty.")
    wrong = pilothouse(home, *command, "--client-id", "nobody", stdin="very-secret\n")
    assert_told(wrong, 1, "gave no token: invalid_client.")
    assert "Check the client id and its secret." in wrong.err
    told = pilothouse(home, *command, "--client-id", "robot", stdin="very-secret\n")
    assert told.code == 0, told.err
    assert "Signed in to One as robot." in told.out
    assert not issuer.requests_to("/authorize")
    assert pilothouse(home, "mcp", "call", "one.look").out == "seen\n"
    assert "very-secret" not in f"{wrong}{told}"


@pytest.mark.case("AUT-26")
def test_the_document_that_is_printed_is_the_one_that_an_issuer_takes(home: Path, wanting: Wanting) -> None:
    server, issuer = wanting
    added(home, server)
    asked = pilothouse(home, "mcp", "client-document")
    assert_told(asked, 2, "Say at which https address the document will be.")
    assert_told(pilothouse(home, "mcp", "client-document", "http://ada.example/x.json"), 2, "must begin with https://")
    assert_told(
        pilothouse(home, "mcp", "client-document", DOCUMENT, "--at", "http://h.example"), 2, "comes back to https"
    )
    told = pilothouse(home, "mcp", "client-document", DOCUMENT, "--at", "https://house.example/settings/mcp")
    assert f"pilothouse settings client_document {DOCUMENT}" in told.err
    document = json.loads(told.out)
    assert document["client_id"] == DOCUMENT
    assert "https://house.example/oauth/callback" in document["redirect_uris"]
    assert f"http://127.0.0.1:{limits.DEFAULT_PORT}/oauth/callback" in document["redirect_uris"]
    # An issuer that knows nobody but who put a document somewhere.
    issuer.about = {"client_id_metadata_document_supported": True, "registration_endpoint": None}
    issuer.documents[DOCUMENT] = document
    needed = pilothouse(home, "mcp", "sign-in", "one", "--no-browser")
    assert_told(needed, 1, "only lets in programs that were registered there beforehand.")
    assert "pilothouse mcp client-document --help" in needed.err
    assert_told(
        pilothouse(home, "settings", "client_document", "https://localhost/x.json"), 2, "cannot reach this machine"
    )
    assert DOCUMENT in pilothouse(home, "settings", "client_document", DOCUMENT).out
    # What is set need not be said again.
    assert json.loads(pilothouse(home, "mcp", "client-document").out)["client_id"] == DOCUMENT
    with Screen(home, ["mcp", "sign-in", "one", "--no-browser"]) as screen:
        get(sent_back(screen))
        screen.until("Signed in to One")
        assert screen.ended() == 0
    assert issuer.requests_to("/authorize")[-1].query["client_id"] == DOCUMENT
    assert pilothouse(home, "mcp", "call", "one.look").out == "seen\n"
    assert "not set" in pilothouse(home, "settings", "client_document", "default").out


@pytest.mark.case("AUT-16")
def test_a_run_in_a_terminal_signs_in_and_goes_on(home: Path, wanting: Wanting, script: Script) -> None:
    server, issuer = wanting
    added(home, server)
    with Screen(home, ["mcp", "sign-in", "one", "--no-browser"]) as screen:
        get(sent_back(screen))
        screen.until("Signed in to One")
        assert screen.ended() == 0
    issuer.valid.clear()
    issuer.refreshable.clear()
    model = script("- [{call: one__look, arguments: {}}]\n- It was seen.")
    with Screen(home, ["run", "--model", model, "--allow", "one.*", "Look"]) as screen:
        screen.until("asks you to sign in again")
        screen.until("1  Sign in")
        screen.type("1\r")
        get(sent_back(screen))
        screen.until("It was seen.")
        assert screen.ended() == 0


@pytest.mark.case("AUT-21")
async def test_the_listener_is_on_this_machine_alone_and_waits_for_the_state_before_it_answers() -> None:
    async with listening() as listener:
        port = urlsplit(listener.address).port
        # Whoever listens on all addresses is there at this one, too.
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.2", port)
        early = asyncio.create_task(asyncio.to_thread(get, f"{listener.address}?code=1&state=ours"))
        listener.expected.set_result("ours")
        assert (await early).status == 200
        assert await listener.arrived == "/oauth/callback?code=1&state=ours"


@pytest.mark.case("AUT-21", "AUT-30", "ERR-06")
async def test_the_listener_waits_as_long_as_the_sign_in_counts_and_says_so() -> None:
    begun = SignInStarted(url="", server="One", host="", scopes=(), added=(), seconds=0.06)
    nobody: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    with pytest.raises(PilothouseError, match=r"^Authorization timed out after 0\.001 minutes\.") as told:
        await _answer(nobody, begun, messages())
    assert told.value.fix == "Sign in again."
    assert limits.SIGN_IN_SECONDS == 120.0
