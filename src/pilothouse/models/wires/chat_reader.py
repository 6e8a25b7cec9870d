"""Reading chat completions: chunks of a stream, or an answer that came whole."""

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.pictures import add_picture
from pilothouse.models.wire import Unfinished, WireError, count, ending, merged, told_error
from pilothouse.models.wires.chat_proofs import IN_CONTENT, PROOFS, Proofs, fields_of_call, marked, words_of
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, an_object
from pilothouse.types.stream import Cited, StopReason, Usage

_REASONS: dict[str, StopReason] = {
    "stop": "end",
    "eos": "end",
    "tool_calls": "tool",
    "function_call": "tool",
    "length": "length",
    "content_filter": "refusal",
    # As gateways pass on what others say: Anthropic, Mistral and GLM, Cohere.
    "end_turn": "end",
    "tool_use": "tool",
    "max_tokens": "length",
    "model_length": "context",
    "model_context_window_exceeded": "context",
    "sensitive": "refusal",
    "refusal": "refusal",
}
# How servers say that they broke off what they were at: OpenRouter and Mistral, vLLM and SGLang, DeepSeek, GLM.
_BROKE_OFF = frozenset({"error", "abort", "insufficient_system_resource", "network_error"})


class _Delta(msgspec.Struct):
    content: str | list[JsonObject] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    refusal: str | None = None
    tool_calls: list[JsonObject] | None = None
    function_call: object = None
    annotations: object = None
    # Pictures that the model made, as gateways send them.
    images: list[JsonObject] | None = None
    # The proofs of gateways.
    reasoning_details: object = None
    thinking_blocks: object = None
    reasoning_opaque: object = None
    reasoning_signature: object = None
    extra_content: object = None
    provider_specific_fields: object = None


class _Choice(msgspec.Struct):
    index: object = 0
    delta: _Delta | None = None
    # In an answer that came whole.
    message: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    # What is odd about a count is no reason to lose the answer.
    usage: object = None
    error: object = None
    # What Perplexity and xAI found on the web: pages, or their addresses alone.
    search_results: object = None
    citations: object = None


_decode = msgspec.json.Decoder(_Chunk).decode


class ChatReader:
    """Reads one answer."""

    def __init__(self, answer: Answer, home: str) -> None:
        self._answer = answer
        self._home = home
        self._usage: Usage | None = None
        self._stop: str | None = None
        self._done = False
        # The field that thinking comes in, until its block has ended; empty for thinking that only its details tell.
        self._field: str | None = None
        self._has_text = False
        self._proofs = Proofs()
        # By key of an open call: its name, the length of its arguments, and what the gateway added to it.
        self._names: dict[object, str] = {}
        self._sizes: dict[object, int] = {}
        self._added: dict[object, JsonObject] = {}
        self._cited: set[str] = set()
        # How many characters of arguments were looked at, to see whether they are whole.
        self._looked = 0

    def feed(self, data: bytes) -> None:
        """Take one chunk, or an answer that came whole."""
        try:
            chunk = _decode(data)
        except msgspec.DecodeError:
            if data.strip() != b"[DONE]":
                raise
            self._done = True
            return
        if chunk.error:
            raise told_error(chunk.error)
        usage = _counted(chunk.usage)
        self._usage = usage or self._usage
        self._answer.count(usage)
        if chunk.search_results or chunk.citations:
            self._cite(chunk.search_results)
            self._cite(chunk.citations)
        for choice in chunk.choices or ():
            if choice.index:
                # One answer was asked for; others beside it are no part of it.
                continue
            if delta := choice.delta:
                self._delta(delta, data)
            elif choice.message:
                # What came whole is complete, whether or not it says why it ended.
                self._done = True
                self._delta(choice.message, data)
            if choice.finish_reason:
                # A refusal ends with the ordinary word.
                self._stop = self._stop or choice.finish_reason

    def finish(self) -> None:
        """End what is open, add usage and the reason for the end."""
        if self._stop is None and not self._done:
            raise Unfinished
        if self._stop in _BROKE_OFF:
            raise WireError(f"it broke off ({self._stop})", "server_error")
        self._end_thinking()
        # What came beside calls or after the text belongs to the message; the first call or the text keeps it.
        rest = self._proofs.rest()
        for key in self._answer.open_keys():
            self._end(key, rest)
            rest = {}
        if rest and self._has_text:
            self._answer.end_text(marked(self._home, message=rest))
        ending(self._answer, self._usage, _REASONS.get(self._stop or "stop", "other"), self._stop)

    def _delta(self, delta: _Delta, data: bytes) -> None:
        if (
            delta.reasoning_details
            or delta.extra_content
            or delta.provider_specific_fields
            or delta.thinking_blocks
            or delta.reasoning_opaque
            or delta.reasoning_signature
        ):
            for name in PROOFS:
                self._proofs.take(name, getattr(delta, name), len(data))
        if delta.reasoning_content or delta.reasoning or delta.reasoning_details or delta.reasoning_text:
            self._think(delta)
        if delta.content:
            self._has_text = True
            if isinstance(delta.content, str):
                if self._field is not None:
                    self._end_thinking()
                self._answer.text(delta.content)
            else:
                self._parts(delta.content)
        if delta.tool_calls or delta.function_call or delta.refusal or delta.annotations or delta.images:
            self._more(delta)

    def _more(self, delta: _Delta) -> None:
        """Take what most chunks do not have."""
        for image in delta.images or ():
            self._end_thinking()
            self._picture(image)
        if delta.refusal:
            self._answer.text(delta.refusal)
            self._stop = "content_filter"
        for position, call in enumerate(delta.tool_calls or ()):
            self._end_thinking()
            index = call.get("index")
            self._call(index if isinstance(index, int) else position, call)
        if isinstance(delta.function_call, dict):
            self._end_thinking()
            self._call("function_call", {"function": delta.function_call})
        if delta.annotations:
            self._cite(delta.annotations)

    def _think(self, delta: _Delta) -> None:
        if thought := delta.reasoning_content:
            self._field = "reasoning_content"
        elif thought := delta.reasoning:
            self._field = "reasoning"
        elif thought := delta.reasoning_text:
            self._field = "reasoning_text"
        elif thought := words_of(delta.reasoning_details):
            self._field = self._field or ""
        if thought:
            self._answer.thinking(thought)

    def _parts(self, parts: list[JsonObject]) -> None:
        """Take content in parts: text, a picture, or thinking that is itself made of text parts."""
        for part in parts:
            if isinstance(inner := part.get("thinking"), list):
                self._field = IN_CONTENT
                self._answer.thinking("".join(str(piece.get("text", "")) for piece in inner if isinstance(piece, dict)))
            elif isinstance(text := part.get("text"), str):
                self._end_thinking()
                self._answer.text(text)
            elif "image_url" in part:
                self._picture(part)

    def _picture(self, image: JsonObject) -> None:
        """Add a picture; its address stands by itself or under a name."""
        where = image.get("image_url") or image.get("url")
        url = where.get("url") if isinstance(where, dict) else where
        add_picture(self._answer, url if isinstance(url, str) else "")

    def _cite(self, sources: object) -> None:
        """Tell each source once; some servers repeat all of them with every chunk."""
        for told in sources if isinstance(sources, list) else ():
            inner = told.get("url_citation", told) if isinstance(told, dict) else {"url": told}
            source = an_object(inner)
            url = source.get("url")
            if isinstance(url, str) and url not in self._cited:
                self._cited.add(url)
                quote = source.get("content") or source.get("snippet")
                self._answer.add(Cited(url, str(source.get("title") or ""), str(quote or "")))

    def _call(self, key: object, call: JsonObject) -> None:
        function = an_object(call.get("function"))
        id, name, arguments = str(call.get("id") or ""), str(function.get("name") or ""), function.get("arguments")
        known = self._answer.open_id(key)
        if known is not None and self._is_another(key, id, name, bool(arguments)):
            self._end(key)
            known = None
        if known is None:
            if not name and not arguments:
                # More about a call that has ended.
                return
            # Pieces of parallel calls may interleave, so an earlier call ends here only if it is complete.
            for other in self._answer.open_keys():
                if self._is_complete(other):
                    self._end(other)
            self._names[key] = name
            self._sizes[key] = 0
            self._answer.start(key, id, name)
        added = {"legacy": True} if key == "function_call" else fields_of_call(call)
        if added:
            self._added[key] = merged(self._added.get(key, {}), added)
        if arguments:
            piece = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
            self._sizes[key] += len(piece)
            self._answer.arguments(key, piece)

    def _is_another(self, key: object, id: str, name: str, has_arguments: bool) -> bool:
        """Return whether this begins a new call under the number of an open one: some servers number all of them 0."""
        if id:
            return id != self._answer.open_id(key)
        if not name:
            return False
        return name != self._names[key] or (has_arguments and self._is_complete(key))

    def _is_complete(self, key: object) -> bool:
        """Return whether an open call's arguments are whole, as long as looking has not taken too much."""
        self._looked += self._sizes[key]
        return self._looked <= limits.CALL_LOOKS_CHARS and self._answer.is_complete(key)

    def _end(self, key: object, message: JsonObject | None = None) -> None:
        self._names.pop(key, None)
        self._answer.end(key, marked(self._home, **self._added.pop(key, {}), message=message))

    def _end_thinking(self) -> None:
        if self._field is not None:
            if kept := marked(self._home, field=self._field, message=self._proofs.rest()):
                self._answer.opaque(kept)
            self._field = None


def _counted(usage: object) -> Usage | None:
    if not usage:
        return None
    asked, answered = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
    reasoning = count(usage, "completion_tokens_details", "reasoning_tokens")
    if count(usage, "total_tokens") == asked + answered + reasoning:
        # xAI counts thinking beside the answer, where others count it as a part of it.
        answered += reasoning
    return Usage(
        input=asked,
        output=answered,
        cache_read=count(usage, "prompt_tokens_details", "cached_tokens") or count(usage, "prompt_cache_hit_tokens"),
        cache_write=count(usage, "prompt_tokens_details", "cache_write_tokens"),
        reasoning=reasoning,
    )
