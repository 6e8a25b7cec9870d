"""What happens to a sign-in and its tokens while someone is away, and afterwards: edits, races, expiry, theft."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pilothouse.types.servers import ServerInput, ServerTest, ToolTrial
from tests.behaviour.sign_in_host import NOT_OURS, client, follow_sign_in, open_sign_in_host, refusal_of
from tests.support.chats import ME
from tests.support.fake_issuer import OneTool
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow


async def test_a_sign_in_whose_browser_leaves_while_it_is_finished_is_finished(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        back = await follow_sign_in((await made.begin()).url)
        there: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        go_on = asyncio.Event()
        made.issuer.before["/token"] = (there, go_on)
        finishing = asyncio.create_task(made.finish(back))
        await there
        finishing.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await finishing
        # Nobody was told yet, but the tokens are there: the server lets us in.
        assert (await made.api.servers.test(ME, "One")).ok
        await made.api.servers.delete(ME, "One")
        assert not [path.name for path in (home / "secrets").iterdir() if path.name.startswith("mcp-")]


@pytest.mark.case("AUT-16")
@pytest.mark.parametrize("what", ["sign in", "sign out"])
async def test_what_a_person_does_is_not_spoilt_by_a_request_that_is_refused_meanwhile(home: Path, what: str) -> None:
    async with open_sign_in_host(home, signed_in=what == "sign out") as made:
        if what == "sign in":
            await made.until("needs_sign_in")
        back = await follow_sign_in((await made.begin()).url)
        made.issuer.forget_all()
        there: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        go_on = asyncio.Event()
        # Someone tries the server, and is about to be told that it wants a sign-in,
        made.server.before[made.server.described_at] = (there, go_on)
        trying = asyncio.create_task(made.api.servers.test(ME, "One") if what == "sign in" else made.call())
        await there
        doing = asyncio.create_task(made.finish(back) if what == "sign in" else made.api.servers.sign_out(ME, "One"))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not doing.done()
        # when the person is done.
        go_on.set()
        tried = await trying
        assert isinstance(tried, ServerTest | ToolTrial)
        assert tried.needs_sign_in
        assert (await doing).signed_in is not None or what == "sign out"


@pytest.mark.case("OAUTH-08", "AUT-27")
@pytest.mark.parametrize("when", ["away", "exchanging"])
@pytest.mark.parametrize("what", ["moved", "deleted"])
async def test_a_server_that_is_moved_or_deleted_meanwhile_gets_no_tokens(home: Path, when: str, what: str) -> None:
    async with open_sign_in_host(home) as made:
        back = await follow_sign_in((await made.begin()).url)
        elsewhere = f"{made.server.url}/elsewhere"
        loop = asyncio.get_running_loop()
        exchanging: asyncio.Future[None] = loop.create_future()
        go_on = asyncio.Event()

        async def change() -> None:
            if what == "moved":
                await made.api.servers.update(ME, "One", ServerInput(name="One", command_line=elsewhere))
            else:
                await made.api.servers.delete(ME, "One")

        if when == "away":
            await change()
            assert NOT_OURS in (await refusal_of(made.finish(back))).message
        else:
            made.issuer.before["/token"] = (exchanging, go_on)
            finishing = asyncio.create_task(made.finish(back))
            await exchanging
            changing = asyncio.create_task(change())

            async def changed() -> bool:
                return made.server.mcp not in [one.address for one in (await made.api.servers.list(ME)).servers]

            await eventually(changed, "the change to be seen")
            go_on.set()
            told = await refusal_of(finishing)
            assert told.message == "“One” was moved to another address or deleted while you signed in."
            await changing
            assert made.issuer.revoked
            assert not made.issuer.valid
        servers = (await made.api.servers.list(ME)).servers
        assert [(one.address, one.auth_type) for one in servers] == ([(elsewhere, "none")] if what == "moved" else [])
        assert not [path.name for path in (home / "secrets").iterdir() if path.name.startswith("mcp-")]


@pytest.mark.case("OAUTH-13")
async def test_a_server_that_is_deleted_has_its_tokens_revoked(home: Path) -> None:
    async with open_sign_in_host(home, signed_in=True) as made:
        await made.works()
        await made.api.servers.delete(ME, "One")
        assert len(made.issuer.revoked) == 2
        assert not made.issuer.valid


async def test_a_server_that_is_moved_in_the_file_meanwhile_gets_no_tokens(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        back = await follow_sign_in((await made.begin()).url)
        file = home / "config.json"
        moved = file.read_text().replace(made.server.mcp, f"{made.server.url}/elsewhere")
        await asyncio.to_thread(file.write_text, moved)

        async def seen() -> bool:
            return (await made.view()).address.endswith("/elsewhere")

        await eventually(seen, "the edit to be taken up")
        assert NOT_OURS in (await refusal_of(made.finish(back))).message
        assert not made.issuer.requests_to("/token")


async def test_two_servers_with_one_issuer_have_tokens_of_their_own(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        second = OneTool(made.issuer)
        async with second:
            await made.api.servers.add(ME, ServerInput(name="Two", command_line=second.mcp))
            one, two = await made.begin("One"), await made.begin("Two")
            # They may come back in any order, and neither takes the place of the other.
            await made.finish(await follow_sign_in(two.url))
            assert (await made.view("One")).signed_in is None
            await made.finish(await follow_sign_in(one.url))
            await made.works("One")
            await made.works("Two")
            used = [_tokens(server) for server in (made.server, second)]
            assert all(used)
            assert not used[0] & used[1]
            await made.api.servers.sign_out(ME, "One")
            assert (await made.view("Two")).signed_in is not None
            await made.works("Two")


def _tokens(server: OneTool) -> set[str]:
    return {asked.headers["authorization"] for asked in server.requests_to("/mcp") if "authorization" in asked.headers}


@pytest.mark.case("OAUTH-10", "AUT-23")
@pytest.mark.parametrize("ended", ["told by the server", "known by the clock"])
async def test_ten_calls_that_meet_one_expired_token_renew_it_once(home: Path, ended: str) -> None:
    async with open_sign_in_host(home) as made:
        if ended == "known by the clock":
            made.issuer.expires_in = 0
        await made.sign_in()
        await made.works()
        made.issuer.expires_in = 3600
        made.issuer.valid.clear()
        before = len(made.issuer.requests_to("/token"))
        came = await asyncio.gather(*(made.call() for _ in range(10)))
        assert [one.text for one in came] == ["seen"] * 10
        renewals = made.issuer.requests_to("/token")[before:]
        assert [asked.form["grant_type"] for asked in renewals] == ["refresh_token"]


@pytest.mark.case("F-25")
async def test_a_token_that_is_revoked_in_the_middle_asks_for_a_sign_in_and_goes_on_after_it(home: Path) -> None:
    async with open_sign_in_host(home, signed_in=True) as made:
        await made.works()
        made.issuer.forget_all()
        failed = await made.call()
        assert (failed.ok, "asks you to sign in again" in failed.text) == (False, True)
        assert not made.issuer.valid
        await made.sign_in()
        await made.works()


@pytest.mark.case("OAUTH-11")
async def test_more_rights_that_a_call_by_hand_meets_are_those_of_the_next_sign_in(home: Path) -> None:
    async with open_sign_in_host(home, signed_in=True) as made:
        await made.works()
        made.server.needs = {"write"}
        failed = await made.call()
        assert (failed.needs_sign_in, "wants more rights" in failed.text) == (True, True)
        begun = await made.begin()
        assert (begun.scopes, begun.added) == (("read", "write"), ("write",))


async def test_an_issuer_that_has_forgotten_its_clients_is_told_of_us_again_at_the_next_try(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        made.issuer.gives_refresh = False
        await made.sign_in()
        await made.sign_in()
        assert len(made.issuer.requests_to("/register")) == 1
        first = client(made)
        made.issuer.forget_all()
        del made.issuer.clients[first]
        # It shows the person a page about that, and they do not come back.
        with pytest.raises(KeyError, match="location"):
            await follow_sign_in((await made.begin()).url)
        assert client(made) == first
        await made.sign_in()
        assert client(made) != first
        await made.works()


async def test_a_stolen_refresh_token_costs_a_sign_in_and_nothing_else(home: Path) -> None:
    async with open_sign_in_host(home, signed_in=True) as made:
        await made.works()
        # The thief was first: what we hold is spent, and the issuer takes everything back.
        stolen = next(iter(made.issuer.refreshable))
        made.issuer.valid.clear()
        made.issuer._renewed(stolen)
        failed = await made.call()
        assert "asks you to sign in again" in failed.text
        await made.sign_in()
        await made.works()
