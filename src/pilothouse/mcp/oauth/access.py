"""A server's tokens as its connections see them: put beside each request, renewed and widened when refused."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.client.channel import Refusal
from pilothouse.mcp.oauth import programs, tokens
from pilothouse.mcp.oauth.challenge import Challenge, parse_challenge
from pilothouse.mcp.oauth.credentials import Credential, Credentials, Tokens
from pilothouse.mcp.oauth.discovery import Place, discover
from pilothouse.mcp.oauth.errors import NoIssuer, OAuthError, SignInNeeded, TokenRefused
from pilothouse.mcp.oauth.finishing import to_its_end
from pilothouse.mcp.oauth.web import Web
from pilothouse.types import limits
from pilothouse.types.origins import origin_of

# The issuer does not know our registration any more.
_UNKNOWN_CLIENT = {"invalid_client", "unauthorized_client"}


class OAuthAccess:
    """Lets requests to one server in; implements `Access` of the channels. Who signs in is asked for elsewhere."""

    def __init__(self, server_url: str, credentials: Credentials) -> None:
        self._url = server_url
        self._credentials = credentials
        # How often this connection's server asked for more than it had.
        self._widened = 0

    async def headers(self, url: str) -> dict[str, str]:
        """Return the token for a request to the server, renewed before it ends; another place gets none."""
        if origin_of(url) != origin_of(self._url):
            return {}
        kept = await self._credentials.get(self._url)
        if kept is not None and kept.tokens is not None and not kept.tokens.is_fresh() and kept.can_renew():
            kept = await self._renew_in_time(kept, kept.tokens)
        if kept is None or kept.tokens is None:
            return {}
        return {"authorization": f"Bearer {kept.tokens.access}"}

    async def challenged(self, refusal: Refusal) -> bool:
        """Renew or widen the token that was refused; return whether the request should be tried again."""
        challenge = parse_challenge(refusal.www_authenticate)
        narrow = refusal.status == 403 and challenge.error == "insufficient_scope"
        if refusal.attempt > limits.TOKEN_TRIES or not (refusal.status == 401 or narrow):
            return False
        if origin_of(refusal.url) != origin_of(self._url):
            return False
        refused = refusal.sent.get("authorization", "").removeprefix("Bearer ")
        if not narrow and refused and refusal.attempt == 1:
            kept = await self._renew(refused)
            if kept is not None and kept.tokens is not None and kept.tokens.access != refused:
                return True
        return await self._obtain(challenge, refused, narrow)

    async def sign_out(self) -> bool:
        """Forget the server's tokens, and have them revoked where that is offered; return whether they were."""
        async with self._credentials.turn(self._url, shared=False):
            kept = await self._credentials.look(self._url)
            await self._credentials.forget(self._url)
            try:
                async with asyncio.timeout(limits.REVOKE_TIMEOUT):
                    return kept is not None and await tokens.revoke(kept)
            except (OAuthError, TimeoutError):
                return False

    async def _renew_in_time(self, kept: Credential, old: Tokens) -> Credential | None:
        try:
            return await self._renew(old.access)
        except OAuthError:
            if old.is_over():
                raise
            # The issuer is out of order, and the token is still good.
            return kept

    async def _renew(self, old: str) -> Credential | None:
        """Get new tokens once for all who hold the old one; return what is known afterwards."""
        async with self._credentials.turn(self._url):
            kept = await self._credentials.look(self._url)
            if kept is None or kept.tokens is None or kept.tokens.access != old or not kept.can_renew():
                return kept
            try:
                return await to_its_end(self._use_refresh(kept, kept.tokens))
            except TokenRefused as refused:
                await self._give_up(kept, refused)
                return await self._credentials.look(self._url)

    async def _use_refresh(self, kept: Credential, old: Tokens) -> Credential:
        new = await tokens.renewed(kept, old)
        await self._credentials.keep(new)
        return new

    async def _obtain(self, challenge: Challenge, refused: str, narrow: bool) -> bool:
        async with self._credentials.turn(self._url):
            kept = await self._credentials.look(self._url)
            if kept is not None and kept.tokens is not None and kept.tokens.access != refused:
                # Someone else got a new one meanwhile.
                return True
            place = await self._place(challenge, kept)
            if place is None:
                return False
            scopes = challenge.scopes or place.scopes or ()
            if narrow:
                had = kept.tokens.scopes if kept and kept.tokens else ()
                scopes = tuple(dict.fromkeys((*had, *scopes)))
                self._widened += 1
                if set(scopes) <= set(had) or self._widened > limits.SCOPE_STEPS:
                    return False
            if narrow and kept is not None and kept.client.kind == "program":
                await self._credentials.keep(await programs.obtain(place, kept.client, scopes, kept))
                return True
            why = "wants more rights for this" if narrow else f"asks you to sign in{' again' if kept else ''}"
            wanted = msgspec.structs.replace(challenge, scopes=scopes)
            raise SignInNeeded(f"{urlsplit(self._url).netloc} {why}.", fix="Sign in, then go on.", wanted=wanted)

    async def _place(self, challenge: Challenge, kept: Credential | None) -> Place | None:
        """Return where tokens come from; None where nobody says so, and nobody ever signed in: it wants a key."""
        try:
            return await discover(self._url, challenge, Web(self._url))
        except OAuthError as error:
            asked = kept is not None or challenge.resource_metadata
            if isinstance(error, NoIssuer) and not asked:
                return None
            # Whoever wants to sign in is led the same way, and told the same.
            raise OAuthError(error.message, fix=error.fix, wanted=challenge) from None

    async def _give_up(self, kept: Credential, refused: TokenRefused) -> None:
        """Drop what the issuer does not take any more: the next refusal leads to a new sign-in."""
        if refused.error in _UNKNOWN_CLIENT:
            await self._credentials.forget(self._url)
        else:
            await self._credentials.keep(msgspec.structs.replace(kept, tokens=None))
