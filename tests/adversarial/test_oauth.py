"""Servers and issuers that lie on the way to a token."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec
import pytest

from pilothouse.mcp.oauth.access import OAuthAccess
from pilothouse.mcp.oauth.addresses import checked
from pilothouse.mcp.oauth.challenge import Challenge
from pilothouse.mcp.oauth.credentials import SecretCredentials
from pilothouse.mcp.oauth.discovery import IssuerDocument, Place, discover
from pilothouse.mcp.oauth.errors import OAuthError
from pilothouse.mcp.oauth.registration import Identity
from pilothouse.mcp.oauth.signing_in import SignIn, begin, finish
from pilothouse.mcp.oauth.web import Web
from pilothouse.secrets.store import SecretStore
from pilothouse.types import limits
from tests.support.fake_issuer import Issuer, Resource, document
from tests.support.sign_ins import (
    REDIRECT,
    Attended,
    Guest,
    Person,
    Query,
    SignInSetting,
    ask,
    known_client,
    open_sign_in,
)
from tests.support.tiny_http import Answer, Request

BAD_ADDRESSES = [
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/html,<script>alert(1)</script>",
    "smb://host/share",
    "$(calc)",
    "http://issuer.example/authorize",
    "-a Calculator",
    "--renderer-cmd-prefix=calc",
    "https://issuer.example@evil.example/authorize",
    "https://issuer.example\\@evil.example/authorize",
    "https://issuer.example\n.evil.example/",
    "https://",
    "",
]


async def check_refused(setting: SignInSetting, words: str | None = None) -> None:
    """Check that nobody signs in, and that the reason is told in these words."""
    with pytest.raises(OAuthError, match=words):
        await ask(setting.access(), setting.resource.mcp)


async def check_not_sent(setting: SignInSetting, words: str | None = None) -> None:
    """Check that nobody is sent anywhere to sign in, and that the reason is told in these words."""
    await check_refused(setting, words)
    assert not setting.guest.sent_to


@pytest.mark.case("OAUTH-01")
@pytest.mark.parametrize("address", BAD_ADDRESSES)
async def test_nobody_is_sent_to_an_address_that_is_not_https(address: str) -> None:
    async with open_sign_in() as setting:
        setting.issuer.about = {"authorization_endpoint": address}
        await check_not_sent(setting, "only https")
        assert not setting.issuer.requests_to("/register")


@pytest.mark.case("OAUTH-02")
async def test_an_address_with_odd_characters_is_opened_in_the_form_that_was_checked() -> None:
    async with open_sign_in() as setting:
        odd = f"{setting.issuer.url}/authorize?a=`id`&b='x' \"y\"&c=%zz&d=$(calc)|more^<>"
        setting.issuer.about = {"authorization_endpoint": odd}
        assert await ask(setting.access(), setting.resource.mcp) == 200
        opened = setting.guest.sent_to[0].url
        assert not set(opened) & set(" `'\"|^<>\\{}")
        assert checked(opened, "address") == opened
        arrived = setting.issuer.requests_to("/authorize")[0].query
        assert (arrived["a"], arrived["b"], arrived["d"]) == ("`id`", "'x' \"y\"", "$(calc)|more^<>")


@pytest.mark.case("OAUTH-02")
async def test_an_address_cannot_set_what_is_ours_to_say() -> None:
    async with open_sign_in() as setting:
        there = f"{setting.issuer.url}/authorize?redirect_uri=https://evil.example"
        setting.issuer.about = {"authorization_endpoint": there}
        await check_not_sent(setting)


@pytest.mark.case("OAUTH-02")
@pytest.mark.parametrize(
    "endpoint",
    [
        "http://127.0.0.1:8080/authorize",
        "https://localhost/authorize",
        "http://[::1]:7420/",
        "https://10.0.0.1/authorize",
        "https://169.254.169.254/latest",
        "https://[fd00::1]/authorize",
        "https://0x7f.1/authorize",
        "https://2130706433/authorize",
    ],
)
async def test_a_remote_server_sends_nobody_to_a_place_inside(endpoint: str) -> None:
    guest = Guest()
    place = Place(
        server_url="https://203.0.113.7/mcp",
        resource="https://203.0.113.7/mcp",
        issuer=IssuerDocument(
            issuer="https://203.0.113.7",
            token_endpoint="https://203.0.113.7/token",
            authorization_endpoint=endpoint,
            code_challenge_methods_supported=("S256",),
        ),
        scopes=None,
    )
    grant = Person(Identity(redirect_uri="http://127.0.0.1:1/"), guest.authorize)
    with pytest.raises(OAuthError, match="nothing is sent there"):
        await grant.obtain(place, (), None)
    assert not guest.sent_to


@pytest.mark.case("OAUTH-02", "NET-01")
@pytest.mark.parametrize("endpoint", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
async def test_an_issuer_elsewhere_leads_nobody_to_this_machine_although_its_server_is_here(endpoint: str) -> None:
    guest, here = Guest(), "http://127.0.0.1:7420/"
    usual = {"authorization_endpoint": "authorize", "token_endpoint": "token", "registration_endpoint": "register"}
    named = {name: f"https://203.0.114.9/{path}" for name, path in usual.items()} | {endpoint: here}
    place = Place(
        server_url="http://127.0.0.1:9000/mcp",
        resource="http://127.0.0.1:9000/mcp",
        issuer=msgspec.convert(
            {"issuer": "https://203.0.114.9", "code_challenge_methods_supported": ["S256"], **named}, IssuerDocument
        ),
        scopes=None,
    )
    person = Person(Identity(redirect_uri="http://127.0.0.1:1/"), guest.authorize)
    with pytest.raises(OAuthError, match=r"nothing is sent there: 127\.0\.0\.1 is this machine"):
        await person.obtain(place, (), None)
    assert not guest.sent_to


@pytest.mark.case("OAUTH-13")
async def test_a_token_is_not_shown_to_this_machine_because_an_issuer_elsewhere_says_so() -> None:
    async with open_sign_in() as setting:
        await ask(setting.access(), setting.resource.mcp)
        moved = msgspec.structs.replace(setting.kept, issuer="https://203.0.113.7")
        await setting.credentials.keep(moved)
        assert not await setting.alone().sign_out()
        assert not setting.issuer.revoked
        assert not setting.memory.kept


@pytest.mark.case("OAUTH-03")
@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "javascript:alert(1)", "http://10.0.0.1/", "//169.254.169.254"]
)
async def test_a_description_that_leads_on_to_a_bad_place_is_not_followed(target: str) -> None:
    async with open_sign_in() as setting:
        well_known = "/.well-known/oauth-authorization-server"
        setting.issuer.instead[well_known] = Answer(302, b"", {"location": target})
        # Refused for what it is, and not because nobody answers there.
        await check_not_sent(setting, r"not a web address|is not valid|is a private address")


@pytest.mark.case("OAUTH-03")
async def test_a_description_may_lead_on_to_a_good_place() -> None:
    async with open_sign_in() as setting:
        moved = f"{setting.issuer.url}/about"
        setting.issuer.instead["/.well-known/oauth-authorization-server"] = Answer(302, b"", {"location": moved})
        setting.issuer.instead["/about"] = document(setting.issuer.document)
        assert await ask(setting.access(), setting.resource.mcp) == 200


@pytest.mark.case("OAUTH-04")
@pytest.mark.parametrize("methods", [None, [], ["plain"]])
async def test_nobody_signs_in_where_the_code_is_not_protected(methods: list[str] | None) -> None:
    async with open_sign_in() as setting:
        setting.issuer.about = {"code_challenge_methods_supported": methods}
        await check_not_sent(setting, "S256")
        assert not setting.issuer.requests_to("/token")


@pytest.mark.case("OAUTH-05")
async def test_an_issuer_that_speaks_for_another_is_refused() -> None:
    async with open_sign_in() as setting:
        setting.issuer.about = {"issuer": "https://accounts.example"}
        await check_not_sent(setting, "calls itself")


@pytest.mark.case("OAUTH-05")
@pytest.mark.parametrize(("promised", "told"), [(True, None), (True, "other"), (None, "other"), (True, "slash")])
async def test_a_code_from_another_issuer_goes_nowhere(promised: bool | None, told: str | None) -> None:
    async with open_sign_in() as setting:
        setting.issuer.about = {"authorization_response_iss_parameter_supported": promised}
        names = {"other": "https://evil.example", "slash": f"{setting.issuer.url}/"}
        setting.issuer.redirect_extra = {"iss": names[told]} if told else {}
        await check_refused(setting, "in the name of")
        assert setting.guest.sent_to
        assert not setting.issuer.requests_to("/token")


@pytest.mark.case("OAUTH-05")
async def test_a_code_from_the_right_issuer_is_exchanged() -> None:
    async with open_sign_in() as setting:
        setting.issuer.about = {"authorization_response_iss_parameter_supported": True}
        setting.issuer.redirect_extra = {"iss": setting.issuer.url}
        assert await ask(setting.access(), setting.resource.mcp) == 200


@pytest.mark.case("OAUTH-05")
async def test_the_client_of_one_issuer_is_never_shown_to_another() -> None:
    other = Issuer()
    async with open_sign_in() as setting, other:
        await ask(setting.access(), setting.resource.mcp)
        first = setting.issuer.requests_to("/authorize")[0].query["client_id"]
        setting.resource.issuer = other
        assert await ask(setting.access(), setting.resource.mcp) == 200
        assert setting.kept.issuer == other.url
        seen = [asked.query.get("client_id") or asked.form.get("client_id") for asked in other.requests]
        assert first not in seen


@pytest.mark.case("OAUTH-05")
async def test_a_given_client_stays_with_the_issuer_it_was_first_used_at() -> None:
    other = Issuer()
    async with open_sign_in() as setting, other:
        await ask(setting.access(client=known_client()), setting.resource.mcp)
        setting.resource.issuer = other
        with pytest.raises(OAuthError, match="belongs to"):
            await ask(setting.access(client=known_client()), setting.resource.mcp)
        assert not other.requests_to("/token")


def _without_state(query: Query) -> Query:
    return {name: value for name, value in query.items() if name != "state"}


@pytest.mark.case("OAUTH-06", "AUT-25")
@pytest.mark.parametrize("state", ["wrong", None])
async def test_a_redirect_with_a_wrong_or_missing_state_is_refused(state: str | None) -> None:
    async with open_sign_in() as setting:
        setting.guest.change = lambda query: {**query, "state": state} if state else _without_state(query)
        await check_refused(setting, "not one that waits")
        assert not setting.issuer.requests_to("/token")


@pytest.mark.case("OAUTH-06", "AUT-30")
async def test_an_answer_that_comes_too_late_or_from_the_future_is_refused() -> None:
    async with open_sign_in() as setting:
        place = await discover(setting.resource.mcp, Challenge(), Web(setting.resource.mcp))
        _, pending = await begin(place, Identity(redirect_uri=REDIRECT), (), None)
        for began in (time.time() - limits.SIGN_IN_SECONDS, time.time() + 60):
            moved = msgspec.structs.replace(pending, began=began)
            with pytest.raises(OAuthError, match="timed out after 2 minutes"):
                await finish(moved, {"state": pending.state, "code": "any"})
        assert not setting.issuer.requests_to("/token")


class Crossing(Guest):
    """Two people who get each other's redirects."""

    def __init__(self) -> None:
        super().__init__()
        self.both = asyncio.Event()

    async def authorize(self, sign_in: SignIn) -> Mapping[str, str]:
        await super().authorize(sign_in)
        mine = len(self.redirects) - 1
        if mine:
            self.both.set()
        await self.both.wait()
        return self.redirects[1 - mine]


@pytest.mark.case("OAUTH-06")
async def test_two_sign_ins_at_once_do_not_cross() -> None:
    async with open_sign_in() as setting:
        second = Resource(setting.issuer)
        setting.guest = Crossing()
        async with second:
            one = setting.access()
            two = Attended(second.mcp, setting.credentials, one.person)
            got = await asyncio.gather(ask(one, setting.resource.mcp), ask(two, second.mcp), return_exceptions=True)
        assert all(isinstance(outcome, OAuthError) for outcome in got)
        assert not setting.issuer.requests_to("/token")


@pytest.mark.case("OAUTH-07")
async def test_a_stolen_code_is_useless_without_what_only_we_know() -> None:
    async with open_sign_in() as setting:
        stolen: list[Query] = []

        def steal(query: Query) -> Query:
            stolen.append(query)
            return query

        setting.guest.change = steal
        await ask(setting.access(), setting.resource.mcp)
        sent = setting.guest.sent_to[0].url
        verifier = setting.issuer.requests_to("/token")[0].form["code_verifier"]
        assert verifier not in sent
        assert verifier not in str(stolen)


@pytest.mark.case("OAUTH-08")
async def test_a_token_is_sent_to_its_own_server_only() -> None:
    async with open_sign_in() as setting:
        access = setting.access()
        await ask(access, setting.resource.mcp)
        assert await access.headers(setting.resource.mcp)
        assert await access.headers(f"{setting.issuer.url}/mcp") == {}
        neighbour = OAuthAccess(f"{setting.resource.url}/other", setting.credentials)
        assert await neighbour.headers(f"{setting.resource.url}/other") == {}


@pytest.mark.case("OAUTH-08")
async def test_a_server_that_describes_another_is_refused() -> None:
    async with open_sign_in() as setting:
        setting.resource.about = {"resource": "https://bank.example/mcp"}
        await check_refused(setting, "another place")
        assert not setting.issuer.requests


@pytest.mark.case("OAUTH-08")
async def test_a_server_may_describe_all_of_its_host() -> None:
    async with open_sign_in() as setting:
        setting.resource.about = {"resource": setting.resource.url}
        assert await ask(setting.access(), setting.resource.mcp) == 200
        assert setting.issuer.requests_to("/token")[0].form["resource"] == setting.resource.url


@pytest.mark.case("OAUTH-08")
async def test_what_is_kept_for_an_address_is_not_found_for_another(tmp_path: object) -> None:
    async with open_sign_in() as setting:
        await ask(setting.access(), setting.resource.mcp)
        kept = setting.kept
        secrets = SecretStore(tmp_path / "secrets", find=lambda: None, environ={})  # type: ignore[operator]
        store = SecretCredentials(secrets)
        await store.set(kept)
        assert await store.get(kept.server_url) == kept
        assert await store.get(f"{kept.server_url}/2") is None
        await store.delete(kept.server_url)
        assert await store.get(kept.server_url) is None


@pytest.mark.case("OAUTH-11")
async def test_a_server_that_refuses_every_token_is_given_up() -> None:
    async with open_sign_in() as setting:
        setting.resource.instead["/mcp"] = Answer(401, headers={"www-authenticate": "Bearer"})
        assert await ask(setting.access(), setting.resource.mcp) == 401
        assert len(setting.guest.sent_to) <= limits.TOKEN_TRIES
        assert len(setting.resource.requests_to("/mcp")) <= limits.TOKEN_TRIES + 1


@pytest.mark.case("OAUTH-11")
async def test_more_rights_are_asked_for_once_and_shown_as_a_difference() -> None:
    async with open_sign_in() as setting:
        access = setting.access()
        await ask(access, setting.resource.mcp)
        setting.resource.needs = {"write"}

        def allow(asked: Request) -> Answer:
            token = asked.headers.get("authorization", "").removeprefix("Bearer ")
            wide = len(setting.guest.sent_to) > 1
            setting.resource.scopes[token] = {"read", "write"} if wide else {"read"}
            return setting.resource.answer(asked)

        setting.resource.instead["/mcp"] = allow
        assert await ask(access, setting.resource.mcp) == 200
        sign_in = setting.guest.sent_to[1]
        assert sign_in.scopes == ("read", "write")
        assert sign_in.added == ("write",)
        assert sign_in.host == urlsplit(setting.issuer.url).netloc


@pytest.mark.case("OAUTH-11")
async def test_a_server_that_wants_ever_more_rights_is_given_up() -> None:
    async with open_sign_in() as setting:
        access = setting.access()
        await ask(access, setting.resource.mcp)
        demands = iter(range(100))

        def wider(asked: Request) -> Answer:
            header = f'Bearer error="insufficient_scope", scope="right-{next(demands)}"'
            return Answer(403, headers={"www-authenticate": header})

        setting.resource.instead["/mcp"] = wider
        assert [await ask(access, setting.resource.mcp) for _ in range(5)] == [403] * 5
        assert len(setting.guest.sent_to) == 1 + limits.SCOPE_STEPS


@pytest.mark.case("OAUTH-11")
async def test_rights_that_the_token_has_already_are_not_asked_for_again() -> None:
    async with open_sign_in() as setting:
        access = setting.access()
        await ask(access, setting.resource.mcp)
        header = 'Bearer error="insufficient_scope", scope="read"'
        setting.resource.instead["/mcp"] = Answer(403, headers={"www-authenticate": header})
        assert await ask(access, setting.resource.mcp) == 403
        assert len(setting.guest.sent_to) == 1


@pytest.mark.case("OAUTH-12")
@pytest.mark.parametrize(
    "answer",
    [
        document({"client_id": "x", "redirect_uris": ["https://evil.example/callback"]}, 201),
        document({"client_id": "x", "padding": "y" * (limits.GUARDED_BYTES + 1)}, 201),
        document({"client_id": "x", "token_endpoint_auth_method": "client_secret_basic"}, 201),
        document({"client_id": "x", "token_endpoint_auth_method": "tls_client_auth"}, 201),
        Answer(201, b"<html>"),
        Answer(400),
    ],
    ids=["other redirect", "huge", "no secret", "unknown method", "html", "refused"],
)
async def test_a_registration_that_is_not_ours_is_refused(answer: Answer) -> None:
    async with open_sign_in() as setting:
        setting.issuer.instead["/register"] = answer
        await check_not_sent(setting)


@pytest.mark.case("OAUTH-12")
@pytest.mark.parametrize("endpoint", ["registration_endpoint", "token_endpoint"])
async def test_nothing_secret_goes_to_an_endpoint_without_encryption(endpoint: str) -> None:
    async with open_sign_in() as setting:
        setting.issuer.about = {endpoint: "http://issuer.example/here"}
        await check_refused(setting, "only https")
        assert not setting.memory.kept


@pytest.mark.case("NET-01")
@pytest.mark.parametrize("inside", ["http://127.0.0.1:9/x", "https://10.0.0.1/x", "https://169.254.169.254/x"])
async def test_a_server_out_in_the_open_cannot_lead_us_inside(inside: str) -> None:
    server = "https://203.0.114.9/mcp"
    with pytest.raises(OAuthError, match="could not be asked"):
        await discover(server, Challenge(resource_metadata=inside), Web(server))
