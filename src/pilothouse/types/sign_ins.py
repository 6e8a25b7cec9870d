"""Signing in to servers: what a person is told before and after, and what a browser brings back."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from pilothouse.types.json import Body, Frozen

# Where a browser is sent back to after a sign-in, on whichever host Pilothouse is.
SIGN_IN_CALLBACK = "/oauth/callback"


class ServerAccount(Frozen, frozen=True):
    """Who is signed in to a server: as whom, where, and for what; empty where the issuer does not say."""

    account: str
    host: str
    scopes: tuple[str, ...]
    # Epoch seconds: when the person was last there.
    since: float


class SignInStart(Body, frozen=True):
    """How a person signs in: where the browser is sent back to, and the client that they registered, if they did."""

    redirect_uri: str
    client_id: str = ""
    client_secret: str = ""


class SignInStarted(Frozen, frozen=True):
    """Where to sign in, and what to know before one leaves: the server, the host that asks, and the rights."""

    # To be opened exactly as it is.
    url: str
    server: str
    host: str
    scopes: tuple[str, ...]
    # Those of the rights that the server did not have before.
    added: tuple[str, ...]
    seconds: float
    # How many more rights were named, and are not asked for: nobody could read them.
    left_out: int = 0


class ProgramSignIn(Body, frozen=True):
    """How a program signs in by itself: the client that the person was given for it (client credentials)."""

    client_id: str
    client_secret: str


class SignInAnswer(Body, frozen=True):
    """The address that the browser was sent back to after a sign-in, whole or from its question mark on."""

    address: str


def answer_of(address: str) -> dict[str, str]:
    """Return what a browser was sent back with, by name; nothing if a name is there twice."""
    text = address.strip()
    try:
        query = urlsplit(text).query or text.lstrip("?")
    except ValueError:
        return {}
    pairs = parse_qsl(query, keep_blank_values=True)
    found = dict(pairs)
    return found if len(found) == len(pairs) else {}
