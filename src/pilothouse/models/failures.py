"""From what went wrong to one plain sentence, a code, and whether asking again may help."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from pilothouse.net.errors import NetError
from pilothouse.types import limits
from pilothouse.types.errors import ErrorCode
from pilothouse.types.stream import Failed

# ruff: noqa: PLC0415 - most answers are no errors, and whoever only asks need not wait for their words.

# Kinds of in-stream errors, with the status the provider would have used before the stream.
_KIND_STATUS = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "authentication_error": 401,
    "permission_error": 403,
    "invalid_request_error": 400,
    "unsupported_parameter": 400,
    "unsupported_value": 400,
    "unknown_parameter": 400,
    "invalid_value": 400,
    "invalid_type": 400,
    "not_found_error": 404,
    "timeout_error": 504,
    "billing_error": 402,
    "request_too_large": 413,
    "unavailable_error": 503,
    "not_supported_error": 501,
    "throttlingException": 429,
    "validationException": 400,
    "INVALID_ARGUMENT": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "DEADLINE_EXCEEDED": 504,
    "UNAVAILABLE": 503,
    "INTERNAL": 500,
}
_RETRIED = frozenset({408, 409, 425, 429})
# What a server cannot do now it cannot do a second later: another method, another version of HTTP, and their kin.
_HOPELESS = frozenset({501, 505, 506, 510, 511})
_OVERLOADED = frozenset({429, 503, 529})
# Scripts and styles that nothing ends go on to the end, as in a browser.
_TAGS = re.compile(r"<(script|style)\b(?:.*?</\1>|.*+)|<[^>]*+>?", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")


AboutMedia = Literal["", "perhaps", "unsupported"]


class Setback(Exception):
    """One attempt's failure: what to tell, how long the provider asks to wait, how often to try at most."""

    def __init__(
        self, failed: Failed, *, retry_after: float | None = None, tries: int = limits.MODEL_TRIES, why: str = ""
    ) -> None:
        super().__init__(failed.message)
        self.failed = failed
        self.retry_after = retry_after
        self.tries = tries
        # The reason alone, for the line that counts down to the next try.
        self.why = why or failed.message
        # Whether it may be about pictures and sounds, or says that the model takes none.
        self.about_media: AboutMedia = ""
        # All that was said in a refusal inside of a stream, from which may be learned what to ask without.
        self.said = b""


class Refused(Exception):
    """The provider's content filter refused the request: an answer of its own kind, not a failure."""


class Teller:
    """Writes failures of one model: names its host, hides its secrets."""

    def __init__(self, place: str, secrets: Iterable[str], start_hint: str) -> None:
        self.place = place
        self._lasting = tuple(secrets)
        self._secrets: list[str] = []
        self.hide()
        self._start_hint = start_hint

    def hide(self, *passing: str) -> None:
        """Leave these out of what is told, too, until the next ones take their place."""
        known = {value for value in (*self._lasting, *passing) if len(value) >= limits.SECRET_BEGINNING}
        self._secrets = sorted(known, key=len, reverse=True)

    def own_words(self, body: bytes | str) -> str:
        """Return the provider's own message out of an error body: one line, bounded, without secrets."""
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        text = _message(text)
        for value in self._secrets:
            text = text.replace(value, "•••")
        text = _CONTROL.sub(" ", text).strip()
        if len(text) > limits.ERROR_TEXT_CHARS:
            text = text[: limits.ERROR_TEXT_CHARS].rstrip() + "…"
        return text

    def status(self, status: int, words: str, *, kind: str = "") -> Setback:
        """Return the setback for an error status."""
        from pilothouse.models import error_texts

        said = f": {words.rstrip('.')}." if words else "."
        if 300 <= status < 400:
            return self._final("model_refused", self._redirected(status), status)
        if _is_too_long(status, f"{kind} {words}"):
            return self._final(
                "context_too_long", f"The conversation is too long for this model ({status}){said}", status
            )
        if 400 <= status < 500 and error_texts.NO_TOOLS.search(words):
            return self._final("tools_unsupported", f"This model cannot call tools ({status}){said}", status)
        if status in (401, 403) or (status == 400 and error_texts.BAD_KEY.search(words)):
            return self._final(
                "bad_key", f"The provider refused the key ({status}){said} Check the key in Settings, Models.", status
            )
        if status != 429 and error_texts.NO_MEDIA.search(words):
            message = f"This model does not take what it was shown ({status}){said}"
            return self._final("model_refused", message, status, about_media="unsupported")
        if status == 402 or (status in (400, 429) and error_texts.NO_CREDIT.search(f"{kind} {words}")):
            return self._final("model_refused", f"The provider wants payment first ({status}){said}", status)
        return self._by_status(status, said, about_media="perhaps" if error_texts.MEDIA.search(words) else "")

    def _by_status(self, status: int, said: str, *, about_media: AboutMedia) -> Setback:
        if status == 404:
            hint = "Check the model's name and base URL in Settings, Models."
            return self._final(
                "model_refused", f"{self.place} does not know this model or address (404){said} {hint}", 404
            )
        if status in _HOPELESS:
            hint = "Check the model's name, base URL and provider in Settings, Models."
            return self._final("model_refused", f"{self.place} cannot do this ({status}){said} {hint}", status)
        if status in _RETRIED or status >= 500:
            return self._again(status, said)
        message = f"The provider refused the request ({status}){said}"
        return self._final("model_refused", message, status, about_media=about_media)

    def without_tools(self, refusal: Setback) -> Setback:
        """Return the setback of a model whose provider does not know what tools are."""
        return self._final("tools_unsupported", f"This model cannot call tools: {refusal}", refusal.failed.status)

    def told(self, words: str, kind: str, status: int | None) -> Setback:
        """Return the setback for an error that came inside the stream."""
        if status is None or not 400 <= status < 600:
            status = _KIND_STATUS.get(kind) or _status_of(f"{kind} {words}")
        return self.status(status, words, kind=kind)

    def net(self, error: NetError) -> Setback:
        """Return the setback for a connection that failed."""
        if error.problem == "url":
            return self._final(
                "model_refused", "The model's base URL or key is not valid. Correct it in Settings, Models."
            )
        if error.problem == "unreachable":
            message = f"Cannot reach {self.place}: {error.why}. {self._start_hint}"
            # A server that is just restarting deserves one more try; a person should not wait for an absent one.
            return Setback(Failed("model_unreachable", message, True), tries=2, why=f"cannot reach {self.place}")
        if error.problem == "silent":
            return self.stalled(error.why)
        if error.problem == "unreadable":
            hint = "Check the base URL, and what stands between this machine and the provider."
            return self._final("model_refused", f"The answer of {self.place} cannot be read: {error.why}. {hint}")
        if error.problem == "large":
            # Whoever sends so much without an end does it again.
            return self._final("answer_too_long", f"The answer of {self.place} was ended: {error.why}.")
        return self.broken(error.why)

    def stalled(self, why: str) -> Setback:
        """Return the setback for silence."""
        return Setback(Failed("model_stalled", f"{self.place} stopped answering: {why}.", True), why=why)

    def broken(self, why: str) -> Setback:
        """Return the setback for a stream that broke off or made no sense."""
        return Setback(Failed("stream_broken", f"{self.place} broke off its answer: {why}.", True), why=why)

    def misshapen(self) -> Setback:
        """Return the setback for an answer of another shape than this provider's, which it will have again."""
        hint = "Check the base URL and the provider in Settings, Models."
        return self._final("model_refused", f"{self.place} sent something that is not what this provider sends. {hint}")

    def not_a_stream(self, what: str) -> Setback:
        """Return the setback for a server that answers with something else."""
        hint = "Check the base URL and the provider in Settings, Models."
        return self._final("model_refused", f"{self.place} answered with {what}, not with a model's stream. {hint}")

    def _redirected(self, status: int) -> str:
        return (
            f"{self.place} sends requests elsewhere ({status}), which would hand the key on, so it was not followed. "
            "Set the final address as base URL in Settings, Models."
        )

    def _again(self, status: int, said: str) -> Setback:
        busy = status in _OVERLOADED
        code: ErrorCode = "model_overloaded" if busy else "model_failed"
        what = "is overloaded or limits your requests" if busy else "failed"
        why = f"{self.place} {what} ({status})"
        return Setback(Failed(code, f"{why}{said}", True, status), why=why)

    def _final(
        self, code: ErrorCode, message: str, status: int | None = None, *, about_media: AboutMedia = ""
    ) -> Setback:
        setback = Setback(Failed(code, message, False, status), tries=1)
        setback.about_media = about_media
        return setback


def _is_too_long(status: int, said: str) -> bool:
    """Return whether less to read would help; waiting does not where one request is more than a minute's share."""
    from pilothouse.models import error_texts

    if status == 413 or error_texts.never_fits(said):
        return True
    return (
        status in (400, 422, 500)
        and bool(error_texts.TOO_LONG.search(said))
        and not error_texts.RATE_LIMIT.search(said)
    )


def _status_of(said: str) -> int:
    """Return the status that an error inside of a stream would have had before it."""
    from pilothouse.models import error_texts

    return 429 if error_texts.RATE_LIMIT.search(said) else 400 if error_texts.TOO_LONG.search(said) else 500


def is_filtered(status: int, body: bytes) -> bool:
    """Return whether an error status is a content filter's refusal of the prompt."""
    from pilothouse.models import error_texts

    return status in (400, 403) and error_texts.FILTERED.search(body.decode("utf-8", "replace")) is not None


def _message(text: str) -> str:
    """Find the message in the shapes that providers use; anything else is shown as text."""
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        # Behind the last ">" no tag ends: what is before it is looked through once.
        tagged, end, rest = text.rpartition(">")
        return _TAGS.sub(" ", tagged + end) + rest
    for _ in range(4):
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, dict):
            value = next((value[key] for key in ("error", "message", "Message", "detail", "msg") if value.get(key)), "")
        else:
            break
    return value if isinstance(value, str) else ""
