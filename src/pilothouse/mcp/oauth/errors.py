"""What can go wrong on the way to a token; each is one sentence and never holds a token or a code."""

from __future__ import annotations

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.oauth.challenge import Challenge

# What the person reads when they were away to sign in and it came to nothing.
SIGN_IN_FAILED = "Authorization failed. Please try again."


class OAuthError(ChannelError):
    """A token could not be had; the request it was for was not sent."""

    def __init__(self, message: str, *, fix: str = "", wanted: Challenge | None = None) -> None:
        super().__init__(message, fix=fix, sent=False, status=401)
        # What the server said that it wants; None where it said nothing anew.
        self.wanted = wanted


class SignInNeeded(OAuthError):
    """Only a person can go on: what waits for the token should wait for them."""


class NoIssuer(OAuthError):
    """Nobody says how to get a token for the server: it wants a key, or something else."""


class ClientNeeded(OAuthError):
    """The issuer knows only programs that someone registered there by hand."""


class TokenRefused(OAuthError):
    """The token endpoint said no; `error` is its own code for why."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message, fix="Sign in again.")
        self.error = error
