"""From what went wrong to one plain sentence, a code, and whether asking again may help."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from pilothouse.net.errors import NetError
from pilothouse.types import limits
from pilothouse.types.errors import ErrorCode
from pilothouse.types.stream import Failed

# How providers say that a request does not fit the model's window.
_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|prompt is too long|too many (input )?tokens|"
    r"input (token count|is too long|length)|exceeds? the (maximum|limit|available context)|request_too_large|"
    r"reduce the length|exceed_context_size|context_length_exceeded|tokens? (limit )?exceed|string_above_max_length",
    re.IGNORECASE,
)
# How they say that a model cannot call tools.
_NO_TOOLS = re.compile(
    r"(does not|doesn't|not) support(ed)? (for )?(tools?|function call|tool[ _]?(use|call|choice))|"
    r"tools?( calling| use| choice)? (is|are) not (supported|enabled|available)|"
    r"\"?auto\"? tool choice requires|no endpoints found that support tool use",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"insufficient[_ ](quota|balance|credit|funds)|credit balance", re.IGNORECASE)
_FILTERED = re.compile(r"content[_ ]?(filter|policy|management)|responsible ?ai", re.IGNORECASE)
_BAD_KEY = re.compile(
    r"api[_ ]key[_ ](not valid|invalid)|invalid[_ ](x-)?api[_ -]?key|authentication_error|API_KEY_INVALID",
    re.IGNORECASE,
)
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
    "not_found_error": 404,
    "timeout_error": 504,
    "RESOURCE_EXHAUSTED": 429,
    "UNAVAILABLE": 503,
    "INTERNAL": 500,
}
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_OVERLOADED = frozenset({429, 503, 529})
# Scripts and styles that nothing ends go on to the end, as in a browser.
_TAGS = re.compile(r"<(script|style)\b(?:.*?</\1>|.*+)|<[^>]*+>?", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")


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


class Refused(Exception):
    """The provider's content filter refused the request: an answer of its own kind, not a failure."""


class Teller:
    """Writes failures of one model: names its host, hides its secrets."""

    def __init__(self, place: str, secrets: Iterable[str], start_hint: str) -> None:
        self.place = place
        self._secrets = sorted((value for value in secrets if len(value) >= 4), key=len, reverse=True)
        self._start_hint = start_hint

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
        said = f": {words.rstrip('.')}." if words else "."
        if 300 <= status < 400:
            return self._final("model_refused", self._redirected(status), status)
        if status == 413 or (status in (400, 422, 500) and _TOO_LONG.search(f"{kind} {words}")):
            return self._final(
                "context_too_long", f"The conversation is too long for this model ({status}){said}", status
            )
        if 400 <= status < 500 and _NO_TOOLS.search(words):
            return self._final("tools_unsupported", f"This model cannot call tools ({status}){said}", status)
        if status in (401, 403) or (status == 400 and _BAD_KEY.search(words)):
            return self._final(
                "bad_key", f"The provider refused the key ({status}){said} Check the key in Settings, Models.", status
            )
        if status == 404:
            hint = "Check the model's name and base URL in Settings, Models."
            return self._final(
                "model_refused", f"{self.place} does not know this model or address (404){said} {hint}", 404
            )
        if status == 402 or (status == 429 and _NO_CREDIT.search(f"{kind} {words}")):
            return self._final("model_refused", f"The provider wants payment first ({status}){said}", status)
        if status in _RETRIED or status >= 500:
            return self._again(status, said)
        return self._final("model_refused", f"The provider refused the request ({status}){said}", status)

    def told(self, words: str, kind: str, status: int | None) -> Setback:
        """Return the setback for an error that came inside the stream."""
        if status is None or not 400 <= status < 600:
            status = _KIND_STATUS.get(kind, 400 if _TOO_LONG.search(f"{kind} {words}") else 500)
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

    def _final(self, code: ErrorCode, message: str, status: int | None = None) -> Setback:
        return Setback(Failed(code, message, False, status), tries=1)


def is_filtered(status: int, body: bytes) -> bool:
    """Return whether an error status is a content filter's refusal of the prompt."""
    return status in (400, 403) and bool(_FILTERED.search(body.decode("utf-8", "replace")))


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
            value = next((value[key] for key in ("error", "message", "detail", "msg") if value.get(key)), "")
        else:
            break
    return value if isinstance(value, str) else ""
