"""What can go wrong on the way to a token; each is one sentence and never holds a token or a code."""

from __future__ import annotations

from pilothouse.mcp.channel import ChannelError

# What the person reads when they were away to sign in and it came to nothing.
SIGN_IN_FAILED = "Authorization failed. Please try again."


class OAuthError(ChannelError):
    """A token could not be had; the request it was for was not sent."""

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message, fix=fix, sent=False, status=401)


class SignInNeeded(OAuthError):
    """Only a person can go on: what waits for the token should wait for them."""


class TokenRefused(OAuthError):
    """The token endpoint said no; `error` is its own code for why."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message)
        self.error = error
